//! The report of a model.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use obcut::front_ends;
use obcut_report::report_data::RowChoice;
use obcut_report::{ClusteringFacts, FitFacts, ReportData, clustering};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::data::unreadable;
use crate::model::{self, PyModel};
use crate::table::PyTable;

/// Facts of a fit as JSON, which an estimator keeps.
pub fn to_json(facts: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(facts).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Computes what a page shows of rows.
fn report_data(
    py: Python<'_>,
    model: &obcut::Model,
    table: &PyTable<'_>,
    weights: Option<&[f64]>,
    threads: usize,
) -> PyResult<ReportData> {
    table.watched(
        py,
        None,
        |samples, watch| ReportData::of_rows(model, samples, weights, threads, watch),
        |source, watch| {
            let scored = model::scored(model, source, threads, watch)?;
            let labels: Vec<u32> = scored.iter().map(|row| row.label).collect();
            let mut sizes = vec![0; model.n_clusters()];
            labels.iter().for_each(|&label| sizes[label as usize] += 1);
            // Not more rows than the coreset, which fits in memory.
            let core = front_ends::core_rows(model.params(), source.n_cols());
            let mut choice = RowChoice::new(&sizes, ReportData::sample(source.n_cols()).min(core));
            choice.take(&labels);
            ReportData::of_source(model, source, &choice.rows(), weights, threads, watch)
        },
    )
}

/// Writes the page of a model, completely or not at all. `facts` are those of its fit, if they are known. The
/// pictures of the rows are computed from `table`; without it the page has none.
#[pyfunction]
#[pyo3(signature = (model, path, *, overwrite, facts=None, table=None, weights=None, title=None, command=None, threads=1))]
pub fn report<'py>(
    py: Python<'py>,
    model: &PyModel,
    path: PathBuf,
    overwrite: bool,
    facts: Option<&str>,
    table: Option<PyTable<'py>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    title: Option<String>,
    command: Option<String>,
    threads: usize,
) -> PyResult<()> {
    obcut_data::check_writable(&path, overwrite).map_err(unreadable)?;
    // Pickles of older versions contain more facts; these are ignored.
    let facts: FitFacts = (facts.map(serde_json::from_str).transpose())
        .map_err(|error| PyValueError::new_err(format!("facts of the fit: {error}")))?
        .unwrap_or_default();
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let mut page = ClusteringFacts::new(&model.0, facts);
    page.rows =
        table.map(|table| report_data(py, &model.0, &table, weights, threads)).transpose()?;
    page.title = title.unwrap_or_default();
    page.command = command;
    let html = clustering(&page);
    obcut_data::write_atomic(&path, overwrite, |file| file.write_all(html.as_bytes()))
        .map_err(unreadable)
}
