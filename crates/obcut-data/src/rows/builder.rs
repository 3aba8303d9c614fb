//! Building a table from several sources: arrays are read from their files, everything else is decoded into
//! one scratch file.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Part;
use super::opening::{Body, Opening};
use super::raw::{Grid, Place, Raw, Shared};
use super::scratch::ScratchFile;
use crate::LoadOptions;
use crate::columns::{Roles, Selection};
use crate::error::Error;
use crate::source::{Input, Source, open_file};
use crate::values::Float;

/// Maximum number of files that are kept open. Further files are opened for every read.
const MAX_OPEN: usize = 256;

/// Number of rows whose truth and weights are read at a time.
const BATCH: usize = 1 << 16;

/// A table while its sources are added.
pub(super) struct Builder<'a> {
    options: &'a LoadOptions,
    folder: Option<&'a Path>,
    progress: &'a mut dyn FnMut(u64) -> bool,
    /// The scratch file for decoded rows.
    scratch: Option<ScratchFile>,
    pieces: Vec<OpenedFile>,
    pub n_rows: usize,
    pub roles: Roles,
    pub first_line: Option<u64>,
    pub bytes_read: AtomicU64,
    pub scratch_bytes: u64,
}

/// A part whose scratch file may be unfinished.
struct OpenedFile {
    name: String,
    grid: Grid,
    keep: Option<Vec<usize>>,
    /// The file of the part; `None` for the scratch file.
    place: Option<Place>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        options: &'a LoadOptions,
        folder: Option<&'a Path>,
        progress: &'a mut dyn FnMut(u64) -> bool,
    ) -> Self {
        Self {
            options,
            folder,
            progress,
            scratch: None,
            pieces: Vec::new(),
            n_rows: 0,
            roles: Roles::default(),
            first_line: None,
            bytes_read: AtomicU64::new(0),
            scratch_bytes: 0,
        }
    }

    /// Adds the rows of a source.
    pub(super) fn add<T: Float>(&mut self, source: &Source, opening: Opening) -> Result<(), Error> {
        let Opening { name, body, n_features, .. } = opening;
        match body {
            Body::Later => {
                let again = Opening::new(source, self.options)?;
                if again.n_features != n_features || matches!(again.body, Body::Later) {
                    return Err(Error::Changed { source_name: name });
                }
                return self.add::<T>(source, again);
            }
            Body::Array { grid, selection, path } => {
                let place = match self.pieces.len() < MAX_OPEN {
                    true => Place::Open(Arc::new(Shared::new(open_file(&path)?))),
                    false => Place::Named(path),
                };
                self.add_array(name, place, grid, selection)?;
            }
            Body::Packed { grid, selection, input } => {
                let grid = Grid { start: 0, ..grid };
                let place = self.copy(input, grid)?;
                self.add_array(name, place, grid, selection)?;
            }
            Body::Text(mut rows) => {
                self.add_rows::<T>(&name, n_features, |values, roles| rows.batch(values, roles))?;
                self.count_bytes(rows.taken.load(Ordering::Relaxed));
                self.first_line = rows.first_line();
            }
            #[cfg(feature = "parquet")]
            Body::Parquet(mut rows) => {
                self.add_rows::<T>(&name, n_features, |values, roles| rows.batch(values, roles))?;
                self.count_bytes(rows.taken);
            }
        }
        Ok(())
    }

    fn count_bytes(&self, n_bytes: u64) {
        self.bytes_read.fetch_add(n_bytes, Ordering::Relaxed);
    }

    fn report(&mut self, n_rows: usize) -> Result<(), Error> {
        match (self.progress)(n_rows as u64) {
            true => Ok(()),
            false => Err(Error::Cancelled),
        }
    }

    /// Adds an array that stays in its file. Truth and weights are read now.
    fn add_array(
        &mut self,
        name: String,
        place: Place,
        grid: Grid,
        selection: Option<Selection>,
    ) -> Result<(), Error> {
        let mut keep = None;
        if let Some(Selection { features, truth, weights }) = selection {
            let columns: Vec<usize> = truth.into_iter().chain(weights).collect();
            if !columns.is_empty() {
                let raw =
                    Raw { name: name.clone(), place: place.clone(), grid, keep: Some(columns) };
                self.read_roles(&raw, truth.is_some(), weights.is_some())?;
            }
            // Without rows, the columns of a header need not be there.
            let is_all = features.is_all(grid.n_cols) || grid.n_rows == 0;
            keep = (!is_all).then(|| features.iter().collect());
        }
        self.push(OpenedFile { name, grid, keep, place: Some(place) })
    }

    fn read_roles(&mut self, raw: &Raw, truth: bool, weights: bool) -> Result<(), Error> {
        let mut values: Vec<f64> = Vec::new();
        for first in (0..raw.grid.n_rows).step_by(BATCH) {
            let rows = first..raw.grid.n_rows.min(first + BATCH);
            let end = rows.end;
            values.clear();
            raw.read(rows, &self.bytes_read, &mut values)
                .map_err(|e| Error::reading(&raw.name, e))?;
            let n_kept = raw.n_kept();
            if weights {
                self.roles.weights.extend(values.iter().skip(n_kept - 1).step_by(n_kept));
            }
            if truth {
                let classes: Vec<f64> = values.iter().copied().step_by(n_kept).collect();
                self.roles.truth.push_numbers(&raw.name, first, &classes)?;
            }
            self.report(self.n_rows + end)?;
        }
        Ok(())
    }

    /// Copies the decompressed bytes of an array.
    fn copy(&mut self, mut input: Input, grid: Grid) -> Result<Place, Error> {
        let mut scratch = ScratchFile::new(self.folder)?;
        // The shape in the header was checked for overflow.
        let mut left = grid.n_rows as u64 * grid.n_cols as u64 * grid.number.width() as u64;
        let mut buffer = vec![0; 1 << 18];
        while left > 0 {
            let n = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let bytes = &mut buffer[..n];
            input.reader.read_exact(bytes).map_err(|e| Error::reading(&input.name, e))?;
            scratch.bytes(bytes)?;
            left -= n as u64;
            self.report(self.n_rows)?;
        }
        self.count_bytes(input.taken.load(Ordering::Relaxed));
        self.scratch_bytes += scratch.n_bytes;
        scratch.finish()
    }

    /// Decodes all rows of a source into the scratch file.
    fn add_rows<T: Float>(
        &mut self,
        name: &str,
        n_cols: usize,
        mut batch: impl FnMut(&mut Vec<T>, &mut Roles) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let mut scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => ScratchFile::new(self.folder)?,
        };
        let start = scratch.n_bytes;
        let mut values: Vec<T> = Vec::new();
        let mut n_rows = 0;
        loop {
            values.clear();
            let n = batch(&mut values, &mut self.roles)?;
            if n == 0 {
                break;
            }
            scratch.numbers(&values)?;
            n_rows += n;
            self.report(self.n_rows + n_rows)?;
        }
        self.roles.truth.check(name)?;
        self.scratch_bytes += scratch.n_bytes - start;
        self.scratch = Some(scratch);
        let grid = Grid {
            start,
            number: T::NUMBER,
            big_endian: false,
            column_major: false,
            n_rows,
            n_cols,
        };
        self.push(OpenedFile { name: name.to_string(), grid, keep: None, place: None })
    }

    fn push(&mut self, piece: OpenedFile) -> Result<(), Error> {
        let n_rows = self.n_rows.checked_add(piece.grid.n_rows);
        self.n_rows = n_rows
            .ok_or_else(|| Error::unsupported(&piece.name, "the tables have too many rows"))?;
        // Programs that write tables in parts also write empty parts.
        if piece.grid.n_rows > 0 {
            self.pieces.push(piece);
        }
        self.report(self.n_rows)
    }

    /// Finishes the scratch file and sets the index of the first row of every part.
    pub(super) fn parts(&mut self) -> Result<Vec<Part>, Error> {
        let scratch = self.scratch.take().map(ScratchFile::finish).transpose()?;
        let mut parts = Vec::with_capacity(self.pieces.len());
        let mut first = 0;
        for OpenedFile { name, grid, keep, place } in self.pieces.drain(..) {
            let Some(place) = place.or_else(|| scratch.clone()) else {
                return Err(Error::damaged(&name, "its scratch file is missing"));
            };
            parts.push(Part { first, raw: Raw { name, place, grid, keep } });
            first += grid.n_rows;
        }
        Ok(parts)
    }
}
