//! Numbers as they lie in a file, read at any place of it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::values::{Number, Real, decode};

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// Rows of a column-major table read at a time: long enough stretches of every column.
const STRETCH: usize = 1 << 14;

/// Rows this many bytes apart are read with what lies between them: the system reads whole pages
/// anyway.
const GAP: usize = 1 << 12;

/// An open file that several threads read at once.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Shared(File);

#[cfg(unix)]
impl Shared {
    pub(crate) fn new(file: File) -> Self {
        Self(file)
    }

    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, at)
    }
}

/// An open file that several threads read in turn.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Shared(std::sync::Mutex<File>);

#[cfg(not(unix))]
impl Shared {
    pub(crate) fn new(file: File) -> Self {
        Self(std::sync::Mutex::new(file))
    }

    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        // Every read seeks first, so nothing is lost with a reader that gave up.
        let mut file = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}

/// Where the bytes are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Open(Arc<Shared>),
    /// Opened for every reading: a process may keep only so many files open.
    Named(PathBuf),
}

impl Place {
    fn open(&self) -> io::Result<Arc<Shared>> {
        match self {
            Self::Open(file) => Ok(file.clone()),
            Self::Named(path) => Ok(Arc::new(Shared::new(File::open(path)?))),
        }
    }
}

/// How the numbers of a table lie in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Bytes before the first number.
    pub start: u64,
    pub number: Number,
    pub big_endian: bool,
    pub column_major: bool,
    pub n_rows: usize,
    pub n_cols: usize,
}

/// A table of numbers in a file.
#[derive(Debug)]
pub(crate) struct Raw {
    /// The file as messages name it.
    pub name: String,
    pub place: Place,
    pub grid: Grid,
    /// Columns that are read, in this order; all if none.
    pub keep: Option<Vec<usize>>,
}

impl Raw {
    /// Number of columns that are read.
    pub(crate) fn n_kept(&self) -> usize {
        self.keep.as_ref().map_or(self.grid.n_cols, Vec::len)
    }

    /// Appends rows that follow each other. `taken` counts the bytes.
    pub(crate) fn read<T: Real>(
        &self,
        rows: Range<usize>,
        taken: &AtomicU64,
        out: &mut Vec<T>,
    ) -> io::Result<()> {
        let mut reading = self.start(taken)?;
        if self.grid.column_major {
            for first in rows.clone().step_by(STRETCH) {
                let last = rows.end.min(first + STRETCH);
                let numbers: Vec<u64> = (first as u64..last as u64).collect();
                reading.columns(&numbers, 0, out)?;
            }
            return Ok(());
        }
        let most = (CHUNK / self.row_bytes()).max(1);
        for first in rows.clone().step_by(most) {
            reading.span(first, rows.end.min(first + most) - first)?;
            reading.decode_rows(0..reading.bytes.len(), out);
        }
        Ok(())
    }

    /// Appends some rows, best in ascending order; `first` is the number of the table's row 0.
    pub(crate) fn gather<T: Real>(
        &self,
        rows: &[u64],
        first: u64,
        taken: &AtomicU64,
        out: &mut Vec<T>,
    ) -> io::Result<()> {
        let mut reading = self.start(taken)?;
        if self.grid.column_major {
            return reading.columns(rows, first, out);
        }
        let stride = self.row_bytes();
        for run in runs(rows, stride) {
            let run = &rows[run];
            let from = run[0] - first;
            let n_rows = run[run.len() - 1] - run[0] + 1;
            reading.span(from as usize, n_rows as usize)?;
            for row in run {
                let at = (row - run[0]) as usize * stride;
                reading.decode_rows(at..at + stride, out);
            }
        }
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.grid.n_cols * self.grid.number.width()
    }

    fn start<'a, T>(&'a self, taken: &'a AtomicU64) -> io::Result<Reading<'a, T>> {
        let file = self.place.open()?;
        Ok(Reading { raw: self, file, taken, bytes: Vec::new(), numbers: Vec::new() })
    }
}

/// One reading, with room for what was read last.
struct Reading<'a, T> {
    raw: &'a Raw,
    file: Arc<Shared>,
    taken: &'a AtomicU64,
    bytes: Vec<u8>,
    numbers: Vec<T>,
}

impl<T: Real> Reading<'_, T> {
    /// Reads bytes, counted from the first number on.
    fn fill(&mut self, at: u64, n_bytes: usize) -> io::Result<()> {
        self.bytes.resize(n_bytes, 0);
        self.file.read_exact_at(&mut self.bytes, self.raw.grid.start + at)?;
        self.taken.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads whole rows of a row-major table.
    fn span(&mut self, first: usize, n_rows: usize) -> io::Result<()> {
        let stride = self.raw.row_bytes();
        self.fill(first as u64 * stride as u64, n_rows * stride)
    }

    /// Appends the kept columns of whole rows among the bytes. Rows that were decoded before
    /// must not be decoded again: their byte order is turned.
    fn decode_rows(&mut self, at: Range<usize>, out: &mut Vec<T>) {
        let Grid { number, big_endian, n_cols, .. } = self.raw.grid;
        let Some(keep) = &self.raw.keep else {
            return decode(number, big_endian, &mut self.bytes[at], out);
        };
        self.numbers.clear();
        decode(number, big_endian, &mut self.bytes[at], &mut self.numbers);
        for row in self.numbers.chunks_exact(n_cols) {
            out.extend(keep.iter().map(|&j| row[j]));
        }
    }

    /// Appends rows of a column-major table, column by column.
    fn columns(&mut self, rows: &[u64], first: u64, out: &mut Vec<T>) -> io::Result<()> {
        let Grid { number, big_endian, n_rows, .. } = self.raw.grid;
        let width = number.width();
        let n_kept = self.raw.n_kept();
        for run in runs(rows, width) {
            let run = &rows[run];
            let from = run[0] - first;
            let n_bytes = (run[run.len() - 1] - run[0] + 1) as usize * width;
            let base = out.len();
            out.resize(base + run.len() * n_kept, T::default());
            for place in 0..n_kept {
                let j = self.raw.keep.as_ref().map_or(place, |keep| keep[place]);
                self.fill((j as u64 * n_rows as u64 + from) * width as u64, n_bytes)?;
                self.numbers.clear();
                decode(number, big_endian, &mut self.bytes, &mut self.numbers);
                let cells = out[base + place..].iter_mut().step_by(n_kept);
                for (cell, row) in cells.zip(run) {
                    *cell = self.numbers[(row - run[0]) as usize];
                }
            }
        }
        Ok(())
    }
}

/// Parts of a list of rows that are read at once: near each other, and not too many bytes.
fn runs(rows: &[u64], stride: usize) -> Vec<Range<usize>> {
    let gap = (GAP / stride) as u64;
    let most = (CHUNK / stride).max(1) as u64;
    let mut runs = Vec::new();
    let mut start = 0;
    for i in 1..=rows.len() {
        // A row given twice would be decoded twice, so it starts a new run.
        let goes_on = i < rows.len()
            && rows[i] > rows[i - 1]
            && rows[i] - rows[i - 1] <= gap + 1
            && rows[i] - rows[start] < most;
        if !goes_on {
            runs.push(start..i);
            start = i;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_at_once() {
        assert_eq!(runs(&[], 4), []);
        assert_eq!(runs(&[5, 6, 9], CHUNK), [0..1, 1..2, 2..3]);
        assert_eq!(runs(&[5, 6, 9, 10, 10, 3], GAP + 1), [0..2, 2..4, 4..5, 5..6]);
        // Up to a page lies between them.
        assert_eq!(runs(&[0, 1025, 2051], 4), [0..2, 2..3]);
    }
}
