//! Settings of a fit from Python: a JSON object of those that differ from a preset.

use numpy::PyReadonlyArray2;
use obcut::{Init, Params};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

/// What JSON does not carry.
pub struct Arrays {
    /// The start of the labels.
    init: Option<Vec<u32>>,
    /// Given anchors, M × d.
    anchors: Option<Vec<f64>>,
}

impl Arrays {
    /// As Python has them.
    pub fn new(
        init: Option<Vec<u32>>,
        anchors: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let anchors = anchors.map(|a| a.as_slice().map(<[f64]>::to_vec)).transpose()?;
        Ok(Self { init, anchors })
    }
}

/// The preset with the given settings put over it. `n_clusters` is among them.
pub fn params(paper: bool, given: &str, arrays: Arrays) -> PyResult<Params> {
    let preset = if paper { Params::paper(0) } else { Params::new(0) };
    let given: serde_json::Map<String, Value> = serde_json::from_str(given)
        .map_err(|error| PyValueError::new_err(format!("settings: {error}")))?;
    let mut params = preset
        .with_settings(given.iter().map(|(name, value)| (name.as_str(), value)))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    if let Some(labels) = arrays.init {
        params.init = Init::Given(labels);
    }
    params.anchors = arrays.anchors;
    Ok(params)
}
