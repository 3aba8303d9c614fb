//! The report of a model.

use std::path::PathBuf;

use obcut_report::{Clustering, Sketch, clustering};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::Table;
use crate::data::unreadable;
use crate::large::{Reader, sketch_of_rows};
use crate::model::Model;
use crate::watch::watched;

/// The facts of a fit as a string that an estimator keeps.
pub fn to_json(facts: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(facts).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Writes the page of a model, whole or not at all. `facts` are those of its fit, if they are known; a table, or
/// rows that are read in pieces, make the pictures of the rows anew.
#[pyfunction]
#[pyo3(signature = (model, path, *, overwrite, facts=None, table=None, rows=None, title=None, command=None, threads=1))]
pub fn report<'py>(
    py: Python<'py>,
    model: &Model,
    path: PathBuf,
    overwrite: bool,
    facts: Option<&str>,
    table: Option<Table<'py>>,
    rows: Option<Reader>,
    title: Option<String>,
    command: Option<String>,
    threads: usize,
) -> PyResult<()> {
    obcut_data::check_writable(&path, overwrite).map_err(unreadable)?;
    let mut page: Clustering = match facts {
        Some(facts) => serde_json::from_str(facts)
            .map_err(|error| PyValueError::new_err(format!("facts of the fit: {error}")))?,
        None => Clustering::of_model(&model.0),
    };
    if let Some(table) = table {
        let samples = table.samples()?;
        let work =
            |watch: &dyn obcut::Observer| Sketch::of_rows(&model.0, &samples, None, threads, watch);
        page.sketch = Some(watched(py, None, work)?);
    }
    if let Some(rows) = rows {
        page.sketch = Some(sketch_of_rows(py, &model.0, rows, threads)?);
    }
    page.title = title.unwrap_or_default();
    page.command = command;
    let html = clustering(&page);
    obcut_data::write_atomic(&path, overwrite, |file| file.write_all(html.as_bytes()))
        .map_err(unreadable)
}
