//! Fits of a table, and of a given graph.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use obcut::front_ends::check_memory;
use obcut::{CutParams, OBCut, RowScore, StopReason, StoredFit};
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
    let mut clusterer = OBCut::from(params);
    if let Some(weights) = weights {
        clusterer = clusterer.weights(weights);
    }
    let found = table.watched(
        py,
        listener,
        |samples, watch| {
            // The rows are in memory already; what the fit needs beside them must not end the interpreter.
            check_memory(clusterer.params(), samples, obcut_cli::memory::limit(None))?;
            clusterer.clone().observer(watch).fit(samples)
        },
        |source, watch| clusterer.clone().observer(watch).fit_source(source),
    )?;
    let (rows, found) = found.into_parts();
    outcome(py, &rows, found, names.unwrap_or_default())
}

/// The results of a fit as a dict.
pub fn outcome<'py>(
    py: Python<'py>,
    rows: &[RowScore],
    found: StoredFit,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let StoredFit { mut model, trace, warnings, .. } = found;
    let warnings = worded(&warnings, &names);
    model.set_feature_names(names);
    let texts: Vec<String> = warnings.iter().map(|(text, _)| text.clone()).collect();
    // A fit whose rows are elsewhere cannot count them.
    let noise = (model.info().noise_threshold)
        .filter(|_| !rows.is_empty())
        .map(|_| rows.iter().filter(|row| row.noise).count());
    let facts = page::to_json(&FitFacts::new(&trace, &texts, noise))?;
    let row_labels: Vec<i32> = rows.iter().map(RowScore::label_or_noise).collect();
    let figure = |of: fn(&RowScore) -> f64| {
        PyArray1::from_vec(py, rows.iter().map(of).collect::<Vec<f64>>())
    };
    let out = PyDict::new(py);
    let seconds = PyDict::new(py);
    trace.seconds.iter().try_for_each(|(stage, s)| seconds.set_item(stage, s))?;
    out.set_item("labels", PyArray1::from_vec(py, row_labels))?;
    out.set_item("margin", figure(|row| row.margin))?;
    out.set_item("confidence", figure(|row| row.confidence))?;
    out.set_item("outlier_scores", figure(|row| row.outlier))?;
    out.set_item("n_iter", trace.n_iter())?;
    out.set_item("converged", trace.stop != StopReason::MaxIter)?;
    out.set_item("objective", PyArray1::from_slice(py, &trace.objective))?;
    out.set_item("cut", PyArray1::from_slice(py, &trace.cut))?;
    out.set_item("seconds", seconds)?;
    out.set_item("warnings", warnings)?;
    out.set_item("facts", facts)?;
    out.set_item("large", trace.large.as_ref().map(page::to_json).transpose()?)?;
    out.set_item("model", PyModel(model))?;
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
    out.set_item("converged", found.stop != StopReason::MaxIter)?;
    out.set_item("warnings", worded(&found.warnings, &[]))?;
    Ok(out)
}
