//! Labels as JSON: an object with a list per column, so all rows are kept until the end.

use std::io::{self, Write};

use super::{Out, RowLabels, Sink};

#[derive(Debug)]
struct Json {
    out: Out,
    rows: RowLabels,
}

/// Writes nothing yet.
pub fn begin(out: Out, _: usize, with_scores: bool) -> io::Result<Box<dyn Sink>> {
    Ok(Box::new(Json { out, rows: RowLabels::empty(with_scores) }))
}

impl Sink for Json {
    fn push(&mut self, rows: &RowLabels, _: usize) -> io::Result<()> {
        self.rows.extend(rows);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &self.rows)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}
