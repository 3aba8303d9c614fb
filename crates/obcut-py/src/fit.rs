//! Fits of a table, and of a given graph.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use obcut::large::InMemory;
use obcut::{CutParams, RowScore};
use obcut_report::FitFacts;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{ArrayTable, labels};
use crate::errors::wrong;
use crate::model::PyModel;
use crate::page;
use crate::settings::{Arrays, params, worded};
use crate::table::PyTable;
use crate::watch::watched;

/// Clusters the rows of a table. Returns a dict of the results.
#[pyfunction]
#[pyo3(signature = (table, settings, *, paper=false, weights=None, init=None, anchors=None, names=None, listener=None))]
pub fn fit<'py>(
    py: Python<'py>,
    table: PyTable<'py>,
    settings: &str,
    paper: bool,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    init: Option<Vec<u32>>,
    anchors: Option<PyReadonlyArray2<'py, f64>>,
    names: Option<Vec<String>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = params(paper, settings, Arrays::new(init, anchors)?)?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let mut found = table.watched(
        py,
        listener,
        |samples, watch| obcut::fit(samples, weights, &params, watch),
        |source, watch| {
            let store = InMemory::new(source.n_rows());
            let found = obcut::fit_rows(source, weights, &params, watch, &store, None)?;
            Ok(found.with_rows(store.finish()))
        },
    )?;
    found.model_mut().set_feature_names(names.unwrap_or_default());
    outcome(py, found)
}

/// The results of a fit as a dict.
pub fn outcome<'py>(py: Python<'py>, found: obcut::Fit) -> PyResult<Bound<'py, PyDict>> {
    let warnings = worded(found.warnings(), found.model().feature_names());
    let texts = warnings.iter().map(|(text, _)| text.clone()).collect();
    let facts = page::to_json(&FitFacts { warnings: texts, ..FitFacts::from(&found) })?;
    let row_labels = found.labels_or_noise();
    let figure = |of: fn(&RowScore) -> f64| {
        PyArray1::from_vec(py, found.rows().iter().map(of).collect::<Vec<f64>>())
    };
    let trace = found.trace();
    let out = PyDict::new(py);
    let seconds = PyDict::new(py);
    trace.seconds.iter().try_for_each(|(stage, s)| seconds.set_item(stage, s))?;
    out.set_item("labels", PyArray1::from_vec(py, row_labels))?;
    out.set_item("margin", figure(|row| row.margin))?;
    out.set_item("confidence", figure(|row| row.confidence))?;
    out.set_item("outlier_scores", figure(|row| row.outlier))?;
    out.set_item("n_iter", trace.n_iter())?;
    out.set_item("converged", trace.stop.converged())?;
    out.set_item("objective", PyArray1::from_slice(py, &trace.objective))?;
    out.set_item("cut", PyArray1::from_slice(py, &trace.cut))?;
    out.set_item("seconds", seconds)?;
    out.set_item("warnings", warnings)?;
    out.set_item("facts", facts)?;
    out.set_item("large", trace.large.as_ref().map(page::to_json).transpose()?)?;
    out.set_item("model", PyModel(found.into_model()))?;
    Ok(out)
}

/// Cuts a given graph. Returns a dict of the results.
#[pyfunction]
#[pyo3(signature = (table, n_clusters, *, anchor_weights, normalize_rows, n_init, max_iter, seed, threads, listener=None))]
pub fn cut<'py>(
    py: Python<'py>,
    table: ArrayTable<'py>,
    n_clusters: usize,
    anchor_weights: &str,
    normalize_rows: bool,
    n_init: usize,
    max_iter: usize,
    seed: u64,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let anchor_weights = anchor_weights.parse().map_err(wrong)?;
    let params =
        CutParams { n_clusters, anchor_weights, normalize_rows, n_init, max_iter, seed, threads };
    let graph = table.samples()?;
    let found = watched(py, listener, |watch| obcut::cut(&graph, &params, watch))?;
    let out = PyDict::new(py);
    out.set_item("row_labels", labels(py, found.row_labels))?;
    out.set_item("column_labels", labels(py, found.column_labels))?;
    out.set_item("cut", PyArray1::from_vec(py, found.trace))?;
    out.set_item("converged", found.stop.converged())?;
    out.set_item("warnings", worded(&found.warnings, &[]))?;
    Ok(out)
}
