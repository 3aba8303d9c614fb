//! Scores of labels against known classes. Labels and classes are integers from 0.

use numpy::{PyArray1, PyReadonlyArray1};
use obcut::metrics::{self, Average};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::ArrayTable;
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

/// The terms of the criterion of the cut, and its total.
#[pyfunction]
pub fn bipartite_cut<'py>(
    py: Python<'py>,
    graph: ArrayTable<'py>,
    rows: PyReadonlyArray1<'_, u32>,
    columns: PyReadonlyArray1<'_, u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let (rows, columns) = (rows.as_slice()?, columns.as_slice()?);
    let found = metrics::bipartite_cut(&graph.samples()?, rows, columns).map_err(raised)?;
    let out = PyDict::new(py);
    for (name, term) in [
        ("leaving", found.leaving),
        ("entering", found.entering),
        ("uneven", found.uneven),
        ("row_degrees", found.row_degrees),
        ("column_degrees", found.column_degrees),
    ] {
        out.set_item(name, PyArray1::from_vec(py, term))?;
    }
    out.set_item("total", found.total)?;
    Ok(out)
}
