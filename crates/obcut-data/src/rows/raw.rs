//! Binary numbers in a file, with random access.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::values::{Float, Number, decode};

/// Number of bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Number of rows of a column-major table that are read at a time.
const STRETCH: usize = 1 << 14;

/// Rows with a gap of up to this many bytes are read together: the system reads whole pages anyway.
const GAP: usize = 1 << 12;

/// An open file that several threads read concurrently.
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
        // Every read seeks first, so a poisoned lock does no harm.
        let mut file = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}

/// The file of the bytes.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Open(Arc<Shared>),
    /// A file that is opened for every read, because a process can keep only a limited number open.
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

/// The layout of the numbers of a table in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Number of bytes before the first value.
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
    /// The name of the file, for messages.
    pub name: String,
    pub place: Place,
    pub grid: Grid,
    /// Columns to read, in this order; all columns if `None`.
    pub keep: Option<Vec<usize>>,
}

impl Raw {
    /// Number of columns to read.
    pub(crate) fn n_kept(&self) -> usize {
        self.keep.as_ref().map_or(self.grid.n_cols, Vec::len)
    }

    /// Appends consecutive rows. `taken` counts the bytes.
    pub(crate) fn read<T: Float>(
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

    /// Appends some rows, preferably in ascending order; `first` is the index of the first row of the table.
    pub(crate) fn gather<T: Float>(
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

    fn start<'a, T>(&'a self, taken: &'a AtomicU64) -> io::Result<RawReading<'a, T>> {
        let file = self.place.open()?;
        Ok(RawReading { raw: self, file, taken, bytes: Vec::new(), numbers: Vec::new() })
    }
}

/// A read, with a buffer for its bytes.
struct RawReading<'a, T> {
    raw: &'a Raw,
    file: Arc<Shared>,
    taken: &'a AtomicU64,
    bytes: Vec<u8>,
    numbers: Vec<T>,
}

impl<T: Float> RawReading<'_, T> {
    /// Reads bytes at an offset from the first value.
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

    /// Appends the chosen columns of whole rows. Decoding changes the byte order, so bytes must not be decoded
    /// twice.
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

/// Splits a list of rows into runs that are read at once: close to each other, and of limited length.
fn runs(rows: &[u64], stride: usize) -> Vec<Range<usize>> {
    let gap = (GAP / stride) as u64;
    let most = (CHUNK / stride).max(1) as u64;
    let mut runs = Vec::new();
    let mut start = 0;
    for i in 1..=rows.len() {
        // A repeated row would be decoded twice, so it starts a new run.
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
