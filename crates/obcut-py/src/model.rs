//! The fitted model.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{Table, labels};
use crate::errors::raised;
use crate::settings::shown;
use crate::watch::watched;

/// Offsets, columns and values of sparse rows.
type Links<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>);

/// Labels rows; what a fit returns and a model file holds.
#[pyclass(frozen, module = "obcut._core")]
pub struct Model(pub obcut::Model);

#[pymethods]
impl Model {
    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        obcut::Model::from_bytes(bytes).map(Self).map_err(raised)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raised)?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let reader = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((reader, PyTuple::new(py, [self.to_bytes(py)?])?))
    }

    /// Writes the model file, whole or not at all.
    #[pyo3(signature = (path, *, overwrite))]
    fn save(&self, path: std::path::PathBuf, overwrite: bool) -> PyResult<()> {
        let bytes = self.0.to_bytes().map_err(raised)?;
        obcut_data::write_atomic(&path, overwrite, |file| std::io::Write::write_all(file, &bytes))
            .map_err(crate::data::unreadable)
    }

    /// All settings, as JSON.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(self.0.params())
            .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    /// The parameters of the estimator that the model was fitted with, as JSON.
    #[getter]
    fn parameters(&self) -> String {
        serde_json::Value::Object(shown(self.0.params())).to_string()
    }

    /// What was tried and what sets the clusters apart, as JSON.
    #[getter]
    fn explanation(&self) -> PyResult<String> {
        serde_json::to_string(self.0.explanation())
            .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    #[getter]
    fn version(&self) -> &str {
        self.0.version()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    #[getter]
    fn n_clusters(&self) -> usize {
        self.0.n_clusters()
    }

    #[getter]
    fn n_columns(&self) -> usize {
        self.0.n_columns()
    }

    #[getter]
    fn graph(&self) -> String {
        self.0.graph()
    }

    #[getter]
    fn scale(&self) -> &'static str {
        self.0.scale().name()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names().to_vec()
    }

    #[getter]
    fn cluster_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.cluster_sizes())
    }

    #[getter]
    fn anchors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (m, d) = (self.0.n_anchors(), self.0.n_features());
        PyArray1::from_vec(py, self.0.anchors()).reshape([m, d])
    }

    #[getter]
    fn anchor_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, self.0.anchor_labels())
    }

    /// Cluster of every column of `transform`.
    #[getter]
    fn column_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, self.0.column_labels())
    }

    /// The cluster of every row, -1 for noise.
    #[pyo3(signature = (table, threads=1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let samples = table.samples()?;
        let found = watched(py, None, |watch| self.0.predict_or_noise(&samples, threads, watch))?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// The confidence of every row.
    #[pyo3(signature = (table, threads=1))]
    fn confidence<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let samples = table.samples()?;
        let found = watched(py, None, |watch| self.0.explain(&samples, threads, watch))?;
        Ok(PyArray1::from_vec(py, found.into_iter().map(|row| row.confidence).collect()))
    }

    /// The outlier score of every row.
    #[pyo3(signature = (table, threads=1))]
    fn outlier_scores<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let samples = table.samples()?;
        let found = watched(py, None, |watch| self.0.explain(&samples, threads, watch))?;
        Ok(PyArray1::from_vec(py, found.into_iter().map(|row| row.outlier).collect()))
    }

    /// The probability of every cluster for every row, N × k.
    #[pyo3(signature = (table, threads=1))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = table.samples()?;
        let found = watched(py, None, |watch| self.0.predict_proba(&samples, threads, watch))?;
        PyArray1::from_vec(py, found.values).reshape([samples.n_rows(), found.n_clusters])
    }

    /// The outlier score above which a row is noise, if there is one.
    #[getter]
    fn noise_threshold(&self) -> Option<f64> {
        self.0.noise_threshold()
    }

    /// The label-free score of the rows.
    #[pyo3(signature = (table, weights=None, threads=1))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        threads: usize,
    ) -> PyResult<f64> {
        let samples = table.samples()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        watched(py, None, |watch| self.0.score(&samples, weights, threads, watch))
    }

    /// Coordinates of the rows in a plane, N × 2.
    #[pyo3(signature = (table, threads=1))]
    fn plane<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = table.samples()?;
        let n = samples.n_rows();
        let found = watched(py, None, |watch| self.0.layout_2d(&samples, threads, watch))?;
        PyArray1::from_vec(py, found).reshape([n, 2])
    }

    /// The rows of the bipartite graph: (indptr, indices, data), in the precision of the table.
    #[pyo3(signature = (table, threads=1))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        threads: usize,
    ) -> PyResult<Links<'py>> {
        let samples = table.samples()?;
        let graph = watched(py, None, |watch| self.0.transform(&samples, threads, watch))?;
        let offsets = graph.offsets.into_iter().map(|p| p as i64).collect();
        let columns = graph.columns.into_iter().map(|c| c as i32).collect();
        let values = if table.is_single() {
            PyArray1::from_vec(py, graph.values.into_iter().map(|v| v as f32).collect()).into_any()
        } else {
            PyArray1::from_vec(py, graph.values).into_any()
        };
        Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, columns), values))
    }
}
