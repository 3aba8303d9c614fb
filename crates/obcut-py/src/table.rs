//! Tables as the package passes them: arrays in memory, or rows that are read in batches.

use std::ops::Range;

use numpy::PyArray1;
use obcut::{Error, Matrix, Observer, RowSource, Samples};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::ArrayTable;
use crate::files::RowFile;
use crate::watch::watched;

/// Numbers in a batch, about.
const BATCH: usize = 1 << 20;

/// Rows in memory, or rows that are read in batches.
#[derive(FromPyObject)]
pub enum PyTable<'py> {
    Arrays(ArrayTable<'py>),
    Rows(PyRowSource),
}

/// Rows that are read in batches. Those of a file are read without the interpreter.
#[derive(FromPyObject)]
pub enum PyRowSource {
    File(Py<RowFile>),
    Reader(RowReader),
}

/// Rows that a Python function reads: `read(start, stop)` returns an array, and `read(rows, None)` one of the rows
/// with these ascending numbers. The rest are the numbers of rows and columns, and whether the rows are of single
/// precision.
#[derive(FromPyObject)]
pub struct RowReader(Py<PyAny>, usize, usize, bool);

impl PyTable<'_> {
    /// Whether the rows are of single precision.
    pub fn is_single(&self) -> bool {
        match self {
            Self::Arrays(table) => table.is_single(),
            Self::Rows(source) => source.is_single(),
        }
    }

    /// Runs `on_samples` on rows in memory, and `on_source` on rows that are read in batches.
    pub fn watched<T: Send>(
        &self,
        py: Python<'_>,
        listener: Option<Py<PyAny>>,
        on_samples: impl FnOnce(&Samples<'_>, &dyn Observer) -> Result<T, Error> + Send,
        on_source: impl FnOnce(&dyn RowSource, &dyn Observer) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        match self {
            Self::Arrays(table) => {
                let samples = table.samples()?;
                watched(py, listener, |watch| on_samples(&samples, watch))
            }
            Self::Rows(source) => watched(py, listener, |watch| on_source(source.inner(), watch)),
        }
    }

    /// Runs `work` on the rows in their order: at once when they are in memory, else in batches.
    pub fn each_batch(
        &self,
        py: Python<'_>,
        work: &mut (dyn FnMut(&Samples<'_>, &dyn Observer) -> Result<(), Error> + Send),
    ) -> PyResult<()> {
        match self {
            Self::Arrays(table) => {
                let samples = table.samples()?;
                watched(py, None, |watch| work(&samples, watch))
            }
            Self::Rows(source) => watched(py, None, |watch| {
                let source = source.inner();
                let n_rows = source.n_rows();
                let step = (BATCH / source.n_cols().max(1)).max(1);
                for start in (0..n_rows).step_by(step) {
                    let rows = source.read(start..n_rows.min(start + step))?;
                    work(&rows.samples()?, watch)?;
                }
                Ok(())
            }),
        }
    }
}

impl PyRowSource {
    fn inner(&self) -> &dyn RowSource {
        match self {
            Self::File(file) => &file.get().0,
            Self::Reader(reader) => reader,
        }
    }

    fn is_single(&self) -> bool {
        self.inner().is_single()
    }
}

impl RowSource for RowReader {
    fn n_rows(&self) -> usize {
        self.1
    }

    fn n_cols(&self) -> usize {
        self.2
    }

    fn is_single(&self) -> bool {
        self.3
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        let read = Python::attach(|py| {
            let found = self.0.call1(py, (rows.start, rows.end))?;
            owned(found.extract(py)?)
        });
        read.map_err(|error: PyErr| Error::Read { rows, source: error.into() })
    }

    fn gather(&self, rows: &[u64]) -> Result<Matrix, Error> {
        let read = Python::attach(|py| {
            let list: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
            let found = self.0.call1(py, (PyArray1::from_vec(py, list), py.None()))?;
            owned(found.extract(py)?)
        });
        let range = || {
            rows.first().map_or(0, |&row| row as usize)..rows.last().map_or(0, |&row| row as usize)
        };
        read.map_err(|error: PyErr| Error::Read { rows: range(), source: error.into() })
    }
}

/// A copy of a dense table.
fn owned(table: ArrayTable<'_>) -> PyResult<Matrix> {
    match table.samples()? {
        Samples::Dense32(x) => Ok(Matrix::Dense32 {
            values: x.values().to_vec(),
            n_rows: x.n_rows(),
            n_cols: x.n_cols(),
        }),
        Samples::Dense64(x) => Ok(Matrix::Dense64 {
            values: x.values().to_vec(),
            n_rows: x.n_rows(),
            n_cols: x.n_cols(),
        }),
        _ => Err(PyValueError::new_err("rows that are read in batches must be dense")),
    }
}
