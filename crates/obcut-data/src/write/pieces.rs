//! Labels that come in pieces: a whole file or none all the same.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{
    Has, LabelFormat, LabelTable, check_lengths, check_target, failed, is_special, settle,
    temporary, write_csv_header, write_csv_rows, write_npy_header, write_npy_labels,
};
use crate::error::Error;

/// Writes labels piece by piece, to the bytes that [`write_labels`](crate::write_labels) gives
/// for the whole. They go to a temporary file beside the output, which [`finish`](Self::finish)
/// renames; dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct LabelWriter {
    path: PathBuf,
    force: bool,
    n_rows: usize,
    n_written: usize,
    has: Has,
    body: Body,
    /// None for a device or a pipe, which is written directly.
    temporary: Option<NamedTempFile>,
}

#[derive(Debug)]
enum Body {
    Npy(BufWriter<File>),
    Csv(BufWriter<File>),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet::LabelRows<BufWriter<File>>>),
}

impl LabelWriter {
    /// Starts an output of `n_rows` labels: `.npy`, `.csv` or `.parquet`. With `with_margins`
    /// every piece has all columns of a [`LabelTable`]; `.npy` keeps only the labels.
    ///
    /// # Errors
    /// When the suffix is unknown or `.json`, the file exists without `force`, or its folder
    /// cannot be written.
    pub fn new(path: &Path, force: bool, n_rows: usize, with_margins: bool) -> Result<Self, Error> {
        let fail = |cause| failed(path, cause);
        let format = LabelFormat::from_path(path)?;
        if let LabelFormat::Json = format {
            return Err(Error::OutputInPieces { path: path.display().to_string() });
        }
        let (file, temporary) = if is_special(path) {
            (OpenOptions::new().write(true).open(path).map_err(fail)?, None)
        } else {
            check_target(path, force)?;
            let temporary = temporary(path)?;
            (temporary.as_file().try_clone().map_err(fail)?, Some(temporary))
        };
        let out = BufWriter::with_capacity(1 << 18, file);
        let has = Has::all(with_margins);
        let body = Body::new(format, out, n_rows, has).map_err(fail)?;
        let path = path.to_path_buf();
        Ok(Self { path, force, n_rows, n_written: 0, has, body, temporary })
    }

    /// Adds the labels of the next rows.
    ///
    /// # Errors
    /// When writing fails, or the table is not what was announced.
    pub fn push(&mut self, table: &LabelTable<'_>) -> Result<(), Error> {
        check_lengths(&self.path, table)?;
        if table.has() != self.has {
            let problem = "the columns of a piece are not those that were announced";
            return Err(failed(&self.path, io::Error::other(problem)));
        }
        let n_written = self.n_written.saturating_add(table.labels.len());
        if n_written > self.n_rows {
            return Err(self.miscounted(n_written));
        }
        let written = match &mut self.body {
            Body::Npy(out) => write_npy_labels(out, table.labels),
            Body::Csv(out) => write_csv_rows(out, table, self.n_written),
            #[cfg(feature = "parquet")]
            Body::Parquet(rows) => rows.push(table),
        };
        written.map_err(|cause| failed(&self.path, cause))?;
        self.n_written = n_written;
        Ok(())
    }

    /// Gives the output its name.
    ///
    /// # Errors
    /// When labels are missing, or writing fails; then nothing is left.
    pub fn finish(self) -> Result<(), Error> {
        if self.n_written != self.n_rows {
            return Err(self.miscounted(self.n_written));
        }
        let flushed = match self.body {
            Body::Npy(mut out) | Body::Csv(mut out) => out.flush(),
            #[cfg(feature = "parquet")]
            Body::Parquet(rows) => rows.finish().and_then(|mut out| out.flush()),
        };
        flushed.map_err(|cause| failed(&self.path, cause))?;
        match self.temporary {
            Some(file) => settle(file, &self.path, self.force),
            None => Ok(()),
        }
    }

    fn miscounted(&self, found: usize) -> Error {
        let problem = format!("{found} labels where {} were announced", self.n_rows);
        failed(&self.path, io::Error::other(problem))
    }
}

impl Body {
    fn new(
        format: LabelFormat,
        mut out: BufWriter<File>,
        n_rows: usize,
        has: Has,
    ) -> io::Result<Self> {
        match format {
            LabelFormat::Npy => {
                write_npy_header(&mut out, n_rows)?;
                Ok(Self::Npy(out))
            }
            LabelFormat::Csv => {
                write_csv_header(&mut out, has)?;
                Ok(Self::Csv(out))
            }
            LabelFormat::Json => Err(io::Error::other("JSON is written whole")),
            #[cfg(feature = "parquet")]
            LabelFormat::Parquet => {
                let rows = crate::parquet::LabelRows::new(out, has)?;
                Ok(Self::Parquet(Box::new(rows)))
            }
        }
    }
}
