//! The other methods.

use obcut::Named;
use obcut_baselines::Run;
use obcut_baselines::{Method, Setting};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::arrays::{ArrayTable, labels};
use crate::errors::wrong;
use crate::settings::worded;
use crate::watch::watched;

/// Names and default values of the settings of a method.
#[pyfunction]
pub fn method_settings(method: &str) -> PyResult<Vec<(String, String)>> {
    let built = method.parse::<Method>().map_err(wrong)?.build();
    Ok(built.settings().into_iter().map(|s| (s.name.to_string(), s.value)).collect())
}

/// The other methods and their settings, as JSON.
#[pyfunction]
pub fn method_table() -> String {
    let setting = |setting: Setting| {
        let Setting { name, value, range, help, kind, .. } = setting;
        let kind = crate::settings::kind(kind);
        json!({ "name": name, "default": value, "range": range, "help": help, "values": kind })
    };
    let row = |method: &Method| {
        json!({
            "name": method.name(),
            "title": method.title(),
            "description": method.description(),
            "summary": method.summary(),
            "cost": method.cost(),
            "settings": method.build().settings().into_iter().map(setting).collect::<Vec<_>>(),
        })
    };
    let others = Method::ALL.iter().filter(|method| **method != Method::Obcut);
    Value::Array(others.map(row).collect()).to_string()
}

/// Clusters the rows of a table with another method. Returns a dict of the results.
#[pyfunction]
#[pyo3(signature = (table, method, n_clusters, settings, *, seed, threads, memory=None, listener=None))]
pub fn cluster<'py>(
    py: Python<'py>,
    table: ArrayTable<'py>,
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
    out.set_item("warnings", worded(&found.warnings, &[]))?;
    Ok(out)
}
