//! Tables in files, read in batches.

use std::path::PathBuf;

use obcut::RowSource;
use obcut_data::{Error, LoadOptions, RowTable, Source, visible};
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::arrays::dense_array;
use crate::errors::raised;
use crate::settings::Keywords;
use obcut::front_ends::spell;

/// A table in a file, in a folder or in the files of a pattern: NPY, Parquet or CSV. A slice of its rows is an array.
/// `needed` lists the names of the columns to read, in this order.
#[pyclass(frozen, module = "obcut._core")]
pub struct RowFile(pub(crate) RowTable);

#[pymethods]
impl RowFile {
    #[new]
    #[pyo3(signature = (path, needed=None))]
    fn new(py: Python<'_>, path: PathBuf, needed: Option<Vec<String>>) -> PyResult<Self> {
        let options = LoadOptions { needed: needed.unwrap_or_default(), ..LoadOptions::default() };
        // Reading text may take minutes, so signals are checked meanwhile.
        let mut proceeds = |_| Python::attach(|py| py.check_signals()).is_ok();
        let opened = py.detach(|| {
            let sources = obcut_data::expand(&Source::Path(path))?;
            obcut_data::open_rows(&sources, &options, None, &mut proceeds)
        });
        opened.map(Self).map_err(|error| match error {
            Error::Cancelled => PyKeyboardInterrupt::new_err(()),
            Error::NotFound { .. } => PyFileNotFoundError::new_err(
                visible(&spell(&error.to_string(), &Keywords)).into_owned(),
            ),
            other => {
                PyValueError::new_err(visible(&spell(&other.to_string(), &Keywords)).into_owned())
            }
        })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.n_rows(), self.0.n_cols())
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        if self.0.is_single() { "float32" } else { "float64" }
    }

    /// Names of the columns, if the file has them.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.0.feature_names.clone()
    }

    fn __len__(&self) -> usize {
        self.0.n_rows()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PySlice>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = rows.indices(self.0.n_rows() as isize)?;
        if at.step != 1 {
            return Err(PyTypeError::new_err("only consecutive rows can be read"));
        }
        let (start, end) = (at.start as usize, (at.start + at.slicelength as isize) as usize);
        dense_array(py, py.detach(|| self.0.read(start..end)).map_err(raised)?)
    }
}
