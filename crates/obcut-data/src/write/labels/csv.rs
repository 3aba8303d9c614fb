//! Labels as CSV: a numbered line per row.

use std::io::{self, Write};

use super::{COLUMNS, Out, RowLabels, Sink};

#[derive(Debug)]
struct Csv(Out);

/// Writes the header.
pub fn begin(mut out: Out, _: usize, with_scores: bool) -> io::Result<Box<dyn Sink>> {
    let names = if with_scores { format!(",{}", COLUMNS.join(",")) } else { String::new() };
    writeln!(out, "row,label{names}")?;
    Ok(Box::new(Csv(out)))
}

impl Sink for Csv {
    fn push(&mut self, rows: &RowLabels, first: usize) -> io::Result<()> {
        rows.write_lines(&mut self.0, Some(first))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}
