//! The report of a model.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use obcut_report::{Clustering, FitFacts, ReportData, clustering};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::Table;
use crate::data::unreadable;
use crate::large::{Reader, sketch_of_rows};
use crate::model::Model;
use crate::watch::watched;

/// The small facts of a fit as a string that an estimator keeps.
pub fn to_json(facts: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(facts).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Writes the page of a model, whole or not at all. `facts` are those of its fit, if they are known. The pictures
/// of the rows are computed from a table or from rows that are read in pieces; without both the page has none.
#[pyfunction]
#[pyo3(signature = (model, path, *, overwrite, facts=None, table=None, rows=None, weights=None, title=None, command=None, threads=1))]
pub fn report<'py>(
    py: Python<'py>,
    model: &Model,
    path: PathBuf,
    overwrite: bool,
    facts: Option<&str>,
    table: Option<Table<'py>>,
    rows: Option<Reader>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    title: Option<String>,
    command: Option<String>,
    threads: usize,
) -> PyResult<()> {
    obcut_data::check_writable(&path, overwrite).map_err(unreadable)?;
    // Pickles of older versions hold more than these facts; the rest is ignored.
    let facts: FitFacts = (facts.map(serde_json::from_str).transpose())
        .map_err(|error| PyValueError::new_err(format!("facts of the fit: {error}")))?
        .unwrap_or_default();
    let mut page = Clustering::new(&model.0, facts);
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    if let Some(table) = table {
        let samples = table.samples()?;
        let sketch = watched(py, None, |watch| {
            ReportData::of_rows(&model.0, &samples, weights, threads, watch)
        })?;
        page.rows = Some(sketch);
    }
    if let Some(rows) = rows {
        page.rows = Some(sketch_of_rows(py, &model.0, rows, weights, threads)?);
    }
    page.title = title.unwrap_or_default();
    page.command = command;
    let html = clustering(&page);
    obcut_data::write_atomic(&path, overwrite, |file| file.write_all(html.as_bytes()))
        .map_err(unreadable)
}
