//! Labels as a NumPy array of int32, without scores.

use std::io::{self, Write};

use super::{Out, RowLabels, Sink};
use crate::npy::header_bytes;
use crate::write::write_each;

#[derive(Debug)]
struct Npy(Out);

/// Writes the header.
pub fn begin(mut out: Out, n_rows: usize, _: bool) -> io::Result<Box<dyn Sink>> {
    out.write_all(&header_bytes("<i4", &[n_rows]))?;
    Ok(Box::new(Npy(out)))
}

impl Sink for Npy {
    fn push(&mut self, rows: &RowLabels, _: usize) -> io::Result<()> {
        write_each(&mut self.0, rows.labels(), i32::to_le_bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}
