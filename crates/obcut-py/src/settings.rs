//! Settings of a fit from Python: a JSON object of those that differ from a preset.

use obcut::{Init, Params};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

/// What JSON does not carry.
#[derive(Default)]
pub struct Arrays {
    /// The start of the labels.
    pub init: Option<Vec<u32>>,
    /// Given anchors, M × d.
    pub anchors: Option<Vec<f64>>,
}

/// The preset with the given settings put over it. `n_clusters` is among them.
pub fn params(paper: bool, given: &str, arrays: Arrays) -> PyResult<Params> {
    let preset = if paper { Params::paper(0) } else { Params::new(0) };
    let mut settings = serde_json::to_value(preset).map_err(wrong)?;
    let given: serde_json::Map<String, Value> = serde_json::from_str(given).map_err(wrong)?;
    for (name, value) in given {
        match settings.get_mut(&name) {
            Some(setting) => *setting = value,
            None => return Err(PyValueError::new_err(format!("unknown setting '{name}'"))),
        }
    }
    let mut params: Params = serde_json::from_value(settings).map_err(wrong)?;
    if let Some(labels) = arrays.init {
        params.init = Init::Given(labels);
    }
    params.anchors = arrays.anchors;
    Ok(params)
}

fn wrong(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("settings: {error}"))
}
