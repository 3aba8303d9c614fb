//! Scores of labels against known classes. Labels and classes are integers from 0.

use numpy::PyReadonlyArray1;
use obcut::metrics::{self, Average};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::raised;

/// NMI (over the larger entropy), accuracy, purity and adjusted Rand index.
#[pyfunction]
pub fn scores(
    truth: PyReadonlyArray1<'_, u32>,
    labels: PyReadonlyArray1<'_, u32>,
) -> PyResult<(f64, f64, f64, f64)> {
    let found = metrics::scores(labels.as_slice()?, truth.as_slice()?).map_err(raised)?;
    Ok((found.nmi, found.acc, found.purity, found.ari))
}

/// NMI over the given average of the two entropies.
#[pyfunction]
pub fn nmi(
    truth: PyReadonlyArray1<'_, u32>,
    labels: PyReadonlyArray1<'_, u32>,
    average: &str,
) -> PyResult<f64> {
    let average = match average {
        "max" => Average::Max,
        "arithmetic" => Average::Arithmetic,
        "geometric" => Average::Geometric,
        other => {
            let text = format!(
                "average_method '{other}' is unknown; choose one of max, arithmetic, geometric"
            );
            return Err(PyValueError::new_err(text));
        }
    };
    metrics::nmi(labels.as_slice()?, truth.as_slice()?, average).map_err(raised)
}

/// Adjusted mutual information.
#[pyfunction]
pub fn ami(truth: PyReadonlyArray1<'_, u32>, labels: PyReadonlyArray1<'_, u32>) -> PyResult<f64> {
    metrics::ami(labels.as_slice()?, truth.as_slice()?).map_err(raised)
}
