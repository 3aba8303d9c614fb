//! Data sets: the handwritten digits, and the generators.

use numpy::PyArray1;
use obcut::synthetic::{self, Labelled};
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;

use crate::arrays::{dense_array, labels};
use crate::settings::Keywords;
use obcut::front_ends::spell;

/// Rows and their classes.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i32>>);

/// The handwritten digits, 1,797 rows of 64 pixels.
#[pyfunction]
pub fn digits(py: Python<'_>) -> PyResult<Pair<'_>> {
    pair(py, obcut_data::digits())
}

/// Round clusters.
#[pyfunction]
pub fn blobs(
    py: Python<'_>,
    n: usize,
    n_features: usize,
    n_clusters: usize,
    spread: f64,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let found = py.detach(|| synthetic::blobs(n, n_features, n_clusters, spread, seed));
    pair(py, found)
}

/// Two interleaving half circles.
#[pyfunction]
pub fn moons(py: Python<'_>, n: usize, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    let found = py.detach(|| synthetic::moons(n, noise, seed));
    pair(py, found)
}

/// Concentric rings.
#[pyfunction]
pub fn rings(
    py: Python<'_>,
    n: usize,
    n_rings: usize,
    noise: f64,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let found = py.detach(|| synthetic::rings(n, n_rings, noise, seed));
    pair(py, found)
}

/// Rows in linear subspaces.
#[pyfunction]
pub fn subspaces(
    py: Python<'_>,
    n: usize,
    n_features: usize,
    n_clusters: usize,
    dimension: usize,
    noise: f64,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let found =
        py.detach(|| synthetic::subspaces(n, n_features, n_clusters, dimension, noise, seed));
    pair(py, found)
}

/// Clusters of different sizes and shapes, in single precision.
#[pyfunction]
pub fn mixture(
    py: Python<'_>,
    n: usize,
    n_features: usize,
    n_clusters: usize,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let found = py.detach(|| synthetic::mixture(n, n_features, n_clusters, seed));
    pair(py, found)
}

fn pair(py: Python<'_>, data: Labelled) -> PyResult<Pair<'_>> {
    Ok((dense_array(py, data.matrix)?, labels(py, data.labels)))
}

/// The exception for a file that cannot be read or written.
pub fn unreadable(error: obcut_data::Error) -> PyErr {
    let text = spell(&error.to_string(), &Keywords);
    match error {
        obcut_data::Error::OutputExists { .. } => PyFileExistsError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}
