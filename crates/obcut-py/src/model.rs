//! The fitted model.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use obcut::Named;
use obcut::front_ends::{self, InMemory};
use obcut::{Error, Observer, RowScore, RowSource};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{ArrayTable, labels};
use crate::errors::raised;
use crate::settings::shown;
use crate::table::PyTable;
use crate::watch::watched;

/// Offsets, columns and values of sparse rows.
type CsrArrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>);

/// A fitted model: labels rows, and is saved in a model file.
#[pyclass(frozen, name = "Model", module = "obcut._core")]
pub struct PyModel(pub obcut::Model);

#[pymethods]
impl PyModel {
    /// A model from the bytes of a model file.
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

    /// Writes the model file, completely or not at all.
    #[pyo3(signature = (path, *, overwrite))]
    fn save(&self, path: std::path::PathBuf, overwrite: bool) -> PyResult<()> {
        let bytes = self.0.to_bytes().map_err(raised)?;
        obcut_data::write_atomic(&path, overwrite, |file| std::io::Write::write_all(file, &bytes))
            .map_err(crate::data::unreadable)
    }

    /// All parameters of the engine, as JSON.
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

    /// The explanation of the clusters and of the candidates, as JSON.
    #[getter]
    fn explanation(&self) -> PyResult<String> {
        serde_json::to_string(self.0.explanation())
            .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    #[getter]
    fn version(&self) -> &str {
        self.0.info().version
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
        self.0.info().n_columns
    }

    #[getter]
    fn graph(&self) -> String {
        self.0.info().graph
    }

    #[getter]
    fn scale(&self) -> &'static str {
        self.0.info().scale.name()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names().to_vec()
    }

    #[getter]
    fn cluster_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.info().cluster_sizes)
    }

    #[getter]
    fn anchors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (m, d) = (self.0.info().n_anchors, self.0.n_features());
        let anchors = self.0.anchors().map_err(raised)?;
        PyArray1::from_vec(py, anchors).reshape([m, d])
    }

    #[getter]
    fn anchor_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, self.0.info().anchor_labels)
    }

    /// Cluster of every column of `transform`.
    #[getter]
    fn column_labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, self.0.info().column_labels)
    }

    /// The outlier score above which a row is noise, if noise is marked.
    #[getter]
    fn noise_threshold(&self) -> Option<f64> {
        self.0.info().noise_threshold
    }

    /// The cluster of every row, -1 for noise.
    #[pyo3(signature = (table, threads=1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: PyTable<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let labels = table.watched(
            py,
            None,
            |samples, watch| self.0.on(samples)?.threads(threads).observer(watch).labels_or_noise(),
            |source, watch| {
                let rows = scored(&self.0, source, threads, watch)?;
                Ok(rows.iter().map(RowScore::label_or_noise).collect())
            },
        )?;
        Ok(PyArray1::from_vec(py, labels))
    }

    /// The confidence of every row.
    #[pyo3(signature = (table, threads=1))]
    fn confidence<'py>(
        &self,
        py: Python<'py>,
        table: PyTable<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.figures(py, &table, threads, |row| row.confidence)
    }

    /// The outlier score of every row.
    #[pyo3(signature = (table, threads=1))]
    fn outlier_scores<'py>(
        &self,
        py: Python<'py>,
        table: PyTable<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.figures(py, &table, threads, |row| row.outlier)
    }

    /// The probability of every cluster for every row, N × k.
    #[pyo3(signature = (table, threads=1))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        table: PyTable<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut values = Vec::new();
        table.each_batch(py, &mut |samples, watch| {
            append(
                &mut values,
                self.0.on(samples)?.threads(threads).observer(watch).probabilities()?.values,
            );
            Ok(())
        })?;
        let k = self.0.n_clusters();
        let n_rows = values.len() / k;
        PyArray1::from_vec(py, values).reshape([n_rows, k])
    }

    /// The score of the rows without known classes.
    #[pyo3(signature = (table, weights=None, threads=1))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        table: ArrayTable<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        threads: usize,
    ) -> PyResult<f64> {
        let samples = table.samples()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        watched(py, None, |watch| {
            self.0.on(&samples)?.threads(threads).observer(watch).score(weights)
        })
    }

    /// Coordinates of the rows in the plane, N × 2.
    #[pyo3(signature = (table, threads=1))]
    fn plane<'py>(
        &self,
        py: Python<'py>,
        table: ArrayTable<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = table.samples()?;
        let n = samples.n_rows();
        let found = watched(py, None, |watch| {
            self.0.on(&samples)?.threads(threads).observer(watch).layout_2d()
        })?;
        PyArray1::from_vec(py, found).reshape([n, 2])
    }

    /// The rows of the bipartite graph: (indptr, indices, data), in the precision of the table.
    #[pyo3(signature = (table, threads=1))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        table: PyTable<'py>,
        threads: usize,
    ) -> PyResult<CsrArrays<'py>> {
        let (mut offsets, mut columns) = (vec![0i64], Vec::new());
        let (mut single, mut double) = (Vec::new(), Vec::new());
        let is_single = table.is_single();
        table.each_batch(py, &mut |samples, watch| {
            let graph = self.0.on(samples)?.threads(threads).observer(watch).graph()?;
            let before = columns.len();
            offsets.extend(graph.offsets[1..].iter().map(|&end| (before + end) as i64));
            columns.extend(graph.columns.into_iter().map(|c| c as i32));
            match is_single {
                true => single.extend(graph.values.into_iter().map(|v| v as f32)),
                false => append(&mut double, graph.values),
            }
            Ok(())
        })?;
        let values = match is_single {
            true => PyArray1::from_vec(py, single).into_any(),
            false => PyArray1::from_vec(py, double).into_any(),
        };
        Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, columns), values))
    }
}

/// Label, confidence and outlier score of every row of a source.
pub fn scored(
    model: &obcut::Model,
    source: &dyn RowSource,
    threads: usize,
    watch: &dyn Observer,
) -> Result<Vec<RowScore>, Error> {
    let store = InMemory::new(source.n_rows());
    front_ends::predict_rows(model, source, threads, watch, &store)?;
    Ok(store.finish())
}

impl PyModel {
    /// One figure for every row.
    fn figures<'py>(
        &self,
        py: Python<'py>,
        table: &PyTable<'py>,
        threads: usize,
        figure: impl Fn(&RowScore) -> f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let rows = table.watched(
            py,
            None,
            |samples, watch| self.0.on(samples)?.threads(threads).observer(watch).rows(),
            |source, watch| scored(&self.0, source, threads, watch),
        )?;
        Ok(PyArray1::from_vec(py, rows.iter().map(figure).collect()))
    }
}

/// Adds the values of a batch; those of the first are not copied.
fn append(all: &mut Vec<f64>, mut batch: Vec<f64>) {
    if all.is_empty() {
        *all = batch;
    } else {
        all.append(&mut batch);
    }
}
