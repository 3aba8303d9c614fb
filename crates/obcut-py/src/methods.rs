//! The other methods.

use obcut::Run;
use obcut_baselines::Method;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Table, labels};
use crate::watch::watched;

fn wrong(error: obcut::ParamError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Names and default values of the settings of a method.
#[pyfunction]
pub fn method_settings(method: &str) -> PyResult<Vec<(String, String)>> {
    let built = method.parse::<Method>().map_err(wrong)?.build();
    Ok(built.settings().into_iter().map(|s| (s.name.to_string(), s.value)).collect())
}

/// Clusters the rows of a table by another method. Returns a dict of what was found.
#[pyfunction]
#[pyo3(signature = (table, method, n_clusters, settings, *, seed, threads, memory=None, listener=None))]
pub fn cluster<'py>(
    py: Python<'py>,
    table: Table<'py>,
    method: &str,
    n_clusters: usize,
    settings: Vec<(String, String)>,
    seed: u64,
    threads: usize,
    memory: Option<u64>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut built = method.parse::<Method>().map_err(wrong)?.build();
    for (name, value) in &settings {
        built.set(name, value).map_err(wrong)?;
    }
    let run = Run { seed, threads, memory: memory.unwrap_or(Run::default().memory) };
    let samples = table.samples()?;
    let found = watched(py, listener, |watch| built.cluster(&samples, n_clusters, &run, watch))?;
    let out = PyDict::new(py);
    let seconds = PyDict::new(py);
    found.seconds.iter().try_for_each(|(stage, s)| seconds.set_item(stage, s))?;
    out.set_item("labels", labels(py, found.labels))?;
    out.set_item("n_clusters", found.n_clusters)?;
    out.set_item("seconds", seconds)?;
    out.set_item("warnings", found.warnings)?;
    Ok(out)
}
