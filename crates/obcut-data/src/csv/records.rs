//! Records of delimited text, of bounded length: a quote that is never closed, or a packed file of a few kilobytes
//! that holds one endless cell, must not fill the memory.

use std::io::BufRead;
use std::ops::Index;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::Error;

/// Maximum number of bytes of a cell.
const MAX_CELL: usize = 1 << 24;

/// The cells of a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    /// End of every cell in the bytes.
    ends: Vec<usize>,
    n_cells: usize,
    /// The line where the record starts, from 1.
    pub line: u64,
    /// Number of bytes before the record.
    pub start: u64,
}

impl Record {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.n_cells
    }

    /// The cells in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.n_cells).map(|j| &self[j])
    }
}

impl Index<usize> for Record {
    type Output = [u8];

    fn index(&self, j: usize) -> &[u8] {
        let start = if j == 0 { 0 } else { self.ends[j - 1] };
        &self.bytes[start..self.ends[j]]
    }
}

/// A cell or a record that is too long.
#[derive(Debug)]
pub(super) enum TooLong {
    /// The cell in this column, from 0.
    Cell(usize),
    /// The record, after this column.
    Record(usize),
}

/// Reads records one after the other.
pub(super) struct Records {
    reader: Box<dyn BufRead>,
    core: Reader,
    limit: usize,
    /// Number of bytes read so far.
    pub position: u64,
}

impl Records {
    /// Reads with a delimiter and the maximum number of bytes of a record.
    pub fn new(reader: Box<dyn BufRead>, delimiter: u8, limit: usize) -> Self {
        let core = ReaderBuilder::new().delimiter(delimiter).build();
        Self { reader, core, limit, position: 0 }
    }

    /// Reads the next record and returns whether there is one. Empty lines are skipped.
    ///
    /// `name` is the source and `refuse` the error for a record that is too long, by its line.
    pub fn read(
        &mut self,
        record: &mut Record,
        name: &str,
        refuse: impl FnOnce(u64, TooLong) -> Error,
    ) -> Result<bool, Error> {
        self.skip_line_ends(name)?;
        (record.line, record.start, record.n_cells) = (self.core.line(), self.position, 0);
        let (mut n_bytes, mut n_cells) = (0, 0);
        loop {
            let input = self.reader.fill_buf().map_err(|e| Error::reading(name, e))?;
            let (result, n_in, n_out, n_ends) = self.core.read_record(
                input,
                &mut record.bytes[n_bytes..],
                &mut record.ends[n_cells..],
            );
            self.reader.consume(n_in);
            self.position += n_in as u64;
            n_bytes += n_out;
            n_cells += n_ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    let start = if n_cells == 0 { 0 } else { record.ends[n_cells - 1] };
                    if n_bytes.saturating_sub(start) > MAX_CELL {
                        return Err(refuse(record.line, TooLong::Cell(n_cells)));
                    }
                    if n_bytes + size_of::<usize>() * n_cells > self.limit {
                        return Err(refuse(record.line, TooLong::Record(n_cells)));
                    }
                    if let ReadRecordResult::OutputFull = result {
                        record.bytes.resize((2 * n_bytes).max(1 << 10), 0);
                    } else {
                        record.ends.resize((2 * n_cells).max(1 << 5), 0);
                    }
                }
                ReadRecordResult::Record => {
                    record.n_cells = n_cells;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// Moves to the line where the next record starts, so that its number is what an editor shows.
    fn skip_line_ends(&mut self, name: &str) -> Result<(), Error> {
        loop {
            let input = self.reader.fill_buf().map_err(|e| Error::reading(name, e))?;
            let ends = input.iter().take_while(|&&b| b == b'\n' || b == b'\r').count();
            let lines = input[..ends].iter().filter(|&&b| b == b'\n').count();
            if ends == 0 {
                return Ok(());
            }
            self.core.set_line(self.core.line() + lines as u64);
            self.reader.consume(ends);
            self.position += ends as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Cursor};

    /// Line and cells of every record, or the line and the name of a refusal.
    type Found = Result<Vec<(u64, Vec<String>)>, (u64, String)>;

    /// All records of a text, with their lines; `buffer` is the number of bytes that are seen at a time.
    fn records(text: &str, buffer: usize, limit: usize) -> Found {
        let reader = BufReader::with_capacity(buffer, Cursor::new(text.as_bytes().to_vec()));
        let mut records = Records::new(Box::new(reader), b',', limit);
        let (mut record, mut found, mut refused) = (Record::default(), Vec::new(), None);
        loop {
            let refuse = |line, what| {
                refused = Some((line, format!("{what:?}")));
                Error::damaged("t", "too long")
            };
            match records.read(&mut record, "t", refuse) {
                Ok(true) => {
                    let cells = record.iter().map(|c| String::from_utf8_lossy(c).into_owned());
                    found.push((record.line, cells.collect()));
                }
                Ok(false) => return Ok(found),
                Err(_) => return Err(refused.expect("the only error")),
            }
        }
    }

    #[test]
    fn records_and_lines_do_not_depend_on_the_buffer() {
        let text = "a,b\r\n\r\n\"1\n\"\"x\",2\n\n\n3,\r4,5";
        let expected = [(1, ["a", "b"]), (3, ["1\n\"x", "2"]), (7, ["3", ""]), (7, ["4", "5"])];
        for buffer in [3, 4, 7, 100] {
            let found = records(text, buffer, 1 << 28).unwrap();
            let found: Vec<_> = found.iter().map(|(l, c)| (*l, [&c[0][..], &c[1][..]])).collect();
            assert_eq!(found, expected, "{buffer}");
        }
    }

    #[test]
    fn cells_and_records_without_end_are_refused() {
        let long = format!("a,b\n1,\"{}", "x".repeat(MAX_CELL * 5 / 2));
        assert_eq!(records(&long, 1 << 16, 1 << 28), Err((2, "Cell(1)".into())));
        let wide = format!("a,b\n{}", "1,".repeat(10_000));
        let (line, what) = records(&wide, 1 << 16, 20_000).unwrap_err();
        assert!(line == 2 && what.starts_with("Record("), "{what}");
        assert_eq!(records(&wide, 1 << 16, 1 << 28).unwrap()[1].1.len(), 10_001);
    }
}
