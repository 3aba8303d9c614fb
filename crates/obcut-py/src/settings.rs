//! Parameters in Python: names, values, and the table for the generator of the signature.

use numpy::PyReadonlyArray2;
use obcut::front_ends::{Choice, Group, Kind, PARAMETERS, Parameter, Vocabulary, spell};
use obcut::{Init, Params, Warning};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::raised;

/// Words parameters as keyword arguments: `max_iter`, `graph="auto"`.
pub struct Keywords;

impl Vocabulary for Keywords {
    fn parameter(&self, name: &str) -> String {
        python_name(name).into()
    }

    fn assignment(&self, name: &str, value: &str) -> String {
        let is_number = value.parse::<f64>().is_ok();
        match (name, value) {
            ("method", "obcut") => "OBCut".into(),
            (_, "true") => format!("{}=True", self.parameter(name)),
            (_, "none") => format!("{}=None", self.parameter(name)),
            _ if is_number => format!("{}={value}", self.parameter(name)),
            _ => format!("{}=\"{value}\"", self.parameter(name)),
        }
    }
}

/// The name in Python: `lambda` is a keyword, and scikit-learn has its own names for seed and threads.
fn python_name(name: &str) -> &str {
    match name {
        "lambda" => "lam",
        "lambda_scale" => "lam_scale",
        "seed" => "random_state",
        "threads" => "n_jobs",
        _ => name,
    }
}

/// Warnings worded for Python, each with whether it is about convergence.
pub fn worded(warnings: &[Warning], names: &[String]) -> Vec<(String, bool)> {
    let word = |warning: &Warning| {
        let text = warning.clone().with_names(names).to_string();
        (spell(&text, &Keywords), matches!(warning, Warning::NotConverged { .. }))
    };
    warnings.iter().map(word).collect()
}

/// Parameters that are not passed as JSON.
pub struct Arrays {
    /// Initial labels.
    init: Option<Vec<u32>>,
    /// Given anchors, M × d.
    anchors: Option<Vec<f64>>,
}

impl Arrays {
    /// Copies the arrays of Python.
    pub fn new(
        init: Option<Vec<u32>>,
        anchors: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let anchors = anchors.map(|a| a.as_slice().map(<[f64]>::to_vec)).transpose()?;
        Ok(Self { init, anchors })
    }
}

/// The parameters of the preset, replaced by the given ones. Names and values are those of Python; `n_clusters` is
/// among them.
pub fn params(paper: bool, given: &str, arrays: Arrays) -> PyResult<Params> {
    let mut params = if paper { Params::paper(0) } else { Params::new(0) };
    let given: Map<String, Value> = serde_json::from_str(given)
        .map_err(|error| PyValueError::new_err(format!("parameters: {error}")))?;
    for (name, value) in &given {
        let engine = PARAMETERS.iter().map(|p| p.name).find(|engine| python_name(engine) == name);
        params.set(engine.unwrap_or(name), value).map_err(raised)?;
    }
    if let Some(labels) = arrays.init {
        params.init = Init::Given(labels);
    }
    params.anchors = arrays.anchors;
    Ok(params)
}

/// The parameters of a model with the names and values of Python, without arrays.
pub fn shown(params: &Params) -> Map<String, Value> {
    let mut shown: Map<String, Value> = (PARAMETERS.iter())
        .filter(|parameter| parameter.group != Group::Hidden && parameter.kind != Kind::Anchors)
        .filter(|parameter| parameter.name != "threads")
        .map(|parameter| (python_name(parameter.name).into(), python_value(parameter, params)))
        .collect();
    if let Init::Given(_) = params.init {
        shown.insert("init".into(), "spectral".into());
    }
    shown
}

/// The value of a parameter. `none` becomes None.
fn python_value(parameter: &Parameter, params: &Params) -> Value {
    match parameter.shown(params) {
        Value::String(word) if word == "none" && parameter.name != "scale" => Value::Null,
        value => value,
    }
}

fn choices(choices: &[Choice]) -> Vec<Value> {
    choices.iter().map(|choice| json!({ "name": choice.name, "help": choice.help })).collect()
}

/// The kind of a parameter for the generator of the signature.
pub fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Clusters => json!({ "kind": "clusters" }),
        Kind::Integer { min } => json!({ "kind": "integer", "min": min }),
        Kind::Real { min, max, open } => {
            json!({ "kind": "real", "min": min, "max": max.is_finite().then_some(max), "open": open })
        }
        Kind::Boolean => json!({ "kind": "boolean" }),
        Kind::Choice(all) => json!({ "kind": "choice", "choices": choices(all) }),
        Kind::Labels(all) => json!({ "kind": "labels", "choices": choices(all) }),
        Kind::Anchors => json!({ "kind": "anchors" }),
        _ => json!({ "kind": "other" }),
    }
}

/// The table of parameters as JSON, in the order of the documentation.
#[pyfunction]
pub fn parameter_table() -> String {
    let mut listed: Vec<&Parameter> =
        PARAMETERS.iter().filter(|parameter| parameter.group != Group::Hidden).collect();
    listed.sort_by_key(|parameter| parameter.group);
    let (usual, paper) = (Params::new(8), Params::paper(8));
    let row = |parameter: &&Parameter| {
        json!({
            "name": python_name(parameter.name),
            "engine": parameter.name,
            "option": parameter.option,
            "group": format!("{:?}", parameter.group),
            "values": kind(parameter.kind),
            "words": parameter.words.iter().map(|word| word.name).collect::<Vec<_>>(),
            "default": python_value(parameter, &usual),
            "paper": python_value(parameter, &paper),
            "summary": spell(parameter.summary(), &Keywords),
            "details": spell(&parameter.details(), &Keywords),
        })
    };
    Value::Array(listed.iter().map(row).collect()).to_string()
}
