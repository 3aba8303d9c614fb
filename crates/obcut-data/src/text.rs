//! Reads the lines of the two text formats that this crate parses itself, svmlight and MatrixMarket.

use std::io::{BufRead, Read};

use crate::error::Error;
use crate::message::shorten;
use crate::source::Input;

/// Lines with their numbers.
pub(crate) struct TextLines<'a> {
    pub source_name: &'a str,
    reader: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    max_line: u64,
    /// Number of the last line read, from 1.
    pub number: u64,
}

impl<'a> TextLines<'a> {
    pub(crate) fn new(input: &'a mut Input) -> Self {
        let max_line = input.max_line as u64;
        let (source_name, reader) = (&input.name, &mut input.reader);
        Self { source_name, reader, buffer: Vec::new(), max_line, number: 0 }
    }

    /// Reads the next line and trims it; `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<&str>, Error> {
        self.buffer.clear();
        let n = (&mut *self.reader)
            .take(self.max_line)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|e| Error::reading(self.source_name, e))?;
        if n == 0 {
            return Ok(None);
        }
        self.number += 1;
        if n as u64 == self.max_line {
            return Err(self.error("the line does not end; is it text?"));
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(line) => Ok(Some(line.trim())),
            Err(_) => Err(self.error("bytes that are not UTF-8 text")),
        }
    }

    /// The error for the last line read.
    pub(crate) fn error(&self, problem: impl Into<String>) -> Error {
        Error::line(self.source_name, self.number, problem)
    }
}

/// Parses a number in a line, or returns the problem.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("'{}' is not a number", shorten(text, 40)))
}
