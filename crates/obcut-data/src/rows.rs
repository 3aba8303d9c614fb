//! Tables of any size that are read in pieces.
//!
//! | format             | rows are read                                                       |
//! |--------------------|---------------------------------------------------------------------|
//! | `.npy`             | from the file itself, at their position                             |
//! | Parquet, CSV, TSV  | from a scratch file of plain numbers, written once when it is opened |
//! | compressed `.npy`  | from a scratch file of the decompressed bytes                        |
//! | all others         | not at all: the table must be loaded                                |
//!
//! A clustering reads the rows many times. Decoding text or columns is much slower than reading binary
//! numbers, so it is done once.

mod builder;
mod expand;
mod measure;
mod opening;
mod raw;
mod scratch;
mod stamp;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use obcut::{Matrix, RowSource};

pub use expand::expand;
pub use measure::{Measure, measure};

use crate::columns::{ColumnList, check_shape};
use crate::error::Error;
use crate::source::Source;
use crate::values::Float;
use crate::{Dataset, Format, LoadOptions, Truth};
use builder::Builder;
use opening::{Body, Opening, opens_again};
use raw::Raw;
use stamp::Stamp;

/// A table that is read in pieces.
#[derive(Debug)]
pub struct RowTable {
    /// Names of the features, if a file has names.
    pub feature_names: Option<Vec<String>>,
    /// Columns of the first file that became features, if only some were chosen.
    pub feature_columns: Option<ColumnList>,
    /// True classes of all rows, if requested.
    pub truth: Option<Truth>,
    /// Weights of all rows, if requested.
    pub weights: Option<Vec<f64>>,
    /// The format of the first file.
    pub format: Format,
    /// One CSV file: line of the first row, from 1, if every row is one line.
    pub first_line: Option<u64>,
    n_rows: usize,
    n_cols: usize,
    single: bool,
    parts: Vec<Part>,
    /// Every file, as it was when it was opened.
    stamps: Vec<Stamp>,
    bytes_read: AtomicU64,
    scratch_bytes: u64,
}

/// One file of a table.
#[derive(Debug)]
struct Part {
    /// Index of its first row in the table.
    first: usize,
    raw: Raw,
}

impl Part {
    fn end(&self) -> usize {
        self.first + self.raw.grid.n_rows
    }
}

impl RowTable {
    /// Number of bytes read from files so far, including scratch files.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Number of bytes of the scratch files.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// When the rows cannot be read, or do not fit in memory.
    pub fn into_dataset(self) -> Result<Dataset, Error> {
        let matrix = self.piece(0..self.n_rows)?;
        let Self { feature_names, feature_columns, truth, weights, format, first_line, .. } = self;
        Ok(Dataset { matrix, feature_names, feature_columns, first_line, truth, weights, format })
    }

    /// The name of the table, for messages.
    fn name(&self) -> &str {
        self.parts.first().map_or("the table", |part| &part.raw.name)
    }

    fn piece(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        match self.single {
            true => self.piece_as::<f32>(rows),
            false => self.piece_as::<f64>(rows),
        }
    }

    fn piece_as<T: Float>(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        if rows.start > rows.end || rows.end > self.n_rows {
            return Err(self.outside());
        }
        let mut values: Vec<T> = self.room(rows.len())?;
        let begin = self.parts.partition_point(|part| part.end() <= rows.start);
        for part in self.parts[begin..].iter().take_while(|part| part.first < rows.end) {
            let from = rows.start.max(part.first) - part.first;
            let to = rows.end.min(part.end()) - part.first;
            part.raw
                .read(from..to, &self.bytes_read, &mut values)
                .map_err(|e| Error::reading(&part.raw.name, e))?;
        }
        Ok(T::matrix(values, rows.len(), self.n_cols))
    }

    fn some(&self, rows: &[u64]) -> Result<Matrix, Error> {
        match self.single {
            true => self.some_as::<f32>(rows),
            false => self.some_as::<f64>(rows),
        }
    }

    fn some_as<T: Float>(&self, rows: &[u64]) -> Result<Matrix, Error> {
        if rows.iter().any(|&row| row >= self.n_rows as u64) {
            return Err(self.outside());
        }
        let mut values: Vec<T> = self.room(rows.len())?;
        let mut left = rows;
        while let Some(&row) = left.first() {
            let part = &self.parts[self.parts.partition_point(|part| part.end() as u64 <= row)];
            let its = part.first as u64..part.end() as u64;
            let n = left.iter().take_while(|row| its.contains(row)).count();
            let (now, later) = left.split_at(n);
            part.raw
                .gather(now, its.start, &self.bytes_read, &mut values)
                .map_err(|e| Error::reading(&part.raw.name, e))?;
            left = later;
        }
        Ok(T::matrix(values, rows.len(), self.n_cols))
    }

    /// Allocates memory for some rows.
    fn room<T>(&self, n_rows: usize) -> Result<Vec<T>, Error> {
        let mut values = Vec::new();
        let reserved = n_rows.checked_mul(self.n_cols).map(|n| values.try_reserve_exact(n));
        match reserved {
            Some(Ok(())) => Ok(values),
            _ => {
                let problem = format!("{n_rows} rows do not fit in memory; read fewer at a time");
                Err(Error::unsupported(self.name(), problem))
            }
        }
    }

    /// A reading that failed: often the file has changed.
    fn failed(&self, rows: Range<usize>, error: Error) -> obcut::Error {
        match self.check_unchanged() {
            Ok(()) => obcut::Error::Read { rows, source: error.into() },
            Err(changed) => changed,
        }
    }

    fn outside(&self) -> Error {
        let problem =
            format!("the requested rows are not among the {} rows of the table", self.n_rows);
        Error::unsupported(self.name(), problem)
    }
}

impl RowSource for RowTable {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.n_cols
    }

    fn is_single(&self) -> bool {
        self.single
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, obcut::Error> {
        self.piece(rows.clone()).map_err(|error| self.failed(rows, error))
    }

    fn check_unchanged(&self) -> Result<(), obcut::Error> {
        self.stamps.iter().try_for_each(|stamp| match stamp.is_current() {
            true => Ok(()),
            false => Err(obcut::Error::Changed { name: stamp.name() }),
        })
    }

    fn gather(&self, rows: &[u64]) -> Result<Matrix, obcut::Error> {
        self.some(rows).map_err(|error| {
            let start = rows.first().map_or(0, |&row| row as usize);
            let end = rows.last().map_or(0, |&row| row as usize).saturating_add(1);
            self.failed(start..end, error)
        })
    }
}

/// Opens one table, or several tables with the same columns one below the other.
///
/// Scratch files are created in `scratch`, by default in the folder of temporary files. They have no name, so
/// they are removed even if the process is killed. If the default folder is in memory, choose one on a disk.
/// `progress` gets the number of rows read so far and can return `false` to stop.
///
/// If one file needs double precision, all rows are in double precision.
///
/// # Errors
/// When a file is missing, damaged or of a format that cannot be read in pieces, when the files
/// have different columns, when the scratch file cannot be written, or when `progress` stops the reading.
pub fn open_rows(
    sources: &[Source],
    options: &LoadOptions,
    scratch: Option<&Path>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<RowTable, Error> {
    let stamps: Vec<Stamp> = sources.iter().filter_map(Stamp::of).collect();
    let openings = open_all(sources, options)?;
    let single = options.single.unwrap_or_else(|| openings.iter().all(|one| one.fits_single));
    let mut builder = Builder::new(options, scratch, progress);
    let names = openings.iter().find_map(|one| one.names.clone());
    let first = openings.first().ok_or(Error::NoSource)?;
    let (name, columns) = (first.name.clone(), first.columns.clone());
    let (n_cols, format) = (first.n_features, first.format);
    for (source, opening) in sources.iter().zip(openings) {
        match single {
            true => builder.add::<f32>(source, opening)?,
            false => builder.add::<f64>(source, opening)?,
        }
    }
    check_shape(&name, builder.n_rows, n_cols)?;
    let parts = builder.parts()?;
    if let Some(stamp) = stamps.iter().find(|stamp| !stamp.is_current()) {
        return Err(Error::Changed { source_name: stamp.name() });
    }
    let Builder { roles, n_rows, bytes_read, scratch_bytes, first_line, .. } = builder;
    Ok(RowTable {
        feature_names: names,
        feature_columns: columns,
        truth: options.truth.as_ref().map(|_| roles.truth.finish(&name)).transpose()?,
        weights: options.weights.as_ref().map(|_| roles.weights),
        format,
        first_line: first_line.filter(|_| sources.len() == 1),
        n_rows,
        n_cols,
        single,
        parts,
        stamps,
        bytes_read,
        scratch_bytes,
    })
}

/// Reads the header of every source before any rows are read.
fn open_all(sources: &[Source], options: &LoadOptions) -> Result<Vec<Opening>, Error> {
    let mut openings: Vec<Opening> = Vec::with_capacity(sources.len());
    for source in sources {
        let mut opening = Opening::new(source, options)?;
        if let Some(first) = openings.first() {
            opening.check_below(first)?;
        }
        let is_array = matches!(opening.body, Body::Array { .. });
        if sources.len() > 1 && !is_array && opens_again(source) {
            opening.body = Body::Later;
        }
        openings.push(opening);
    }
    Ok(openings)
}
