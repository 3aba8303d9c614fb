//! Fits of large tables whose partitions Python hands out.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use obcut::front_ends::{self, Next, OutOfCoreFit, Partial, Piece, Task};
use obcut::{DenseRef, Error, Samples};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::ArrayTable;
use crate::errors::raised;
use crate::fit::outcome;
use crate::settings::{Arrays, params};
use crate::watch::watched;

/// Whether a table of this size is clustered by a coreset.
#[pyfunction]
#[pyo3(signature = (settings, n_rows, n_cols, *, paper=false, anchors=None))]
pub fn is_large(
    settings: &str,
    n_rows: usize,
    n_cols: usize,
    paper: bool,
    anchors: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<bool> {
    let params = params(paper, settings, Arrays::new(None, anchors)?)?;
    Ok(front_ends::is_large(&params, n_rows, n_cols))
}

/// Rows of a partition, their weights, and the number of the first row in the table.
type PartitionArgs<'py> = (ArrayTable<'py>, Option<PyReadonlyArray1<'py, f64>>, u64);

/// Runs the task of a pass on some partitions, and merges the results.
#[pyfunction]
pub fn run_task<'py>(
    py: Python<'py>,
    task: &[u8],
    pieces: Vec<PartitionArgs<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = Task::from_bytes(task).map_err(raised)?;
    let mut ready = Vec::with_capacity(pieces.len());
    for (table, weights, first) in &pieces {
        let samples = table.samples()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        if weights.is_some_and(|weights| weights.len() != samples.n_rows()) {
            return Err(PyValueError::new_err("the numbers of weights and rows differ"));
        }
        ready.push(Piece { samples, weights, range: 0..samples.n_rows(), first: *first });
    }
    let found = py.detach(|| {
        let mut all: Option<Partial> = None;
        let task = ready.first().map(|piece| task.ready(&piece.samples));
        for (piece, task) in ready.iter().zip(task.iter().cycle()) {
            let found = task.run(piece, None);
            match &mut all {
                Some(all) => all.merge(found)?,
                None => all = Some(found),
            }
        }
        all.ok_or_else(nothing)?.to_bytes()
    });
    Ok(PyBytes::new(py, &found.map_err(raised)?))
}

/// Merges results of several partitions.
#[pyfunction]
pub fn merge<'py>(py: Python<'py>, results: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
    let joined = py.detach(|| joined(&results)?.to_bytes()).map_err(raised)?;
    Ok(PyBytes::new(py, &joined))
}

fn joined(results: &[PyBackedBytes]) -> Result<Partial, Error> {
    let mut all: Option<Partial> = None;
    for result in results {
        let found = Partial::from_bytes(result)?;
        match &mut all {
            Some(all) => all.merge(found)?,
            None => all = Some(found),
        }
    }
    all.ok_or_else(nothing)
}

fn nothing() -> Error {
    obcut::StateError::Nothing.into()
}

/// A fit of a large table in partitions, pass by pass.
#[pyclass(module = "obcut._core")]
pub struct PartitionedFit(Option<OutOfCoreFit>);

#[pymethods]
impl PartitionedFit {
    #[new]
    #[pyo3(signature = (settings, n_rows, n_cols, *, single, paper=false, init=None, anchors=None))]
    fn new(
        settings: &str,
        n_rows: usize,
        n_cols: usize,
        single: bool,
        paper: bool,
        init: Option<Vec<u32>>,
        anchors: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let params = params(paper, settings, Arrays::new(init, anchors)?)?;
        let like: Samples<'_> = if single {
            DenseRef::<f32>::new(&[], 0, n_cols).map_err(raised)?.into()
        } else {
            DenseRef::<f64>::new(&[], 0, n_cols).map_err(raised)?.into()
        };
        Ok(Self(Some(OutOfCoreFit::new(&params, &like, n_rows).map_err(raised)?)))
    }

    /// The next step: ("pass", name, task), ("core", rows) or ("done",).
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.inner()?.next() {
            Next::Pass(task) => {
                let bytes = PyBytes::new(py, &task.to_bytes().map_err(raised)?);
                ("pass", task.name(), bytes).into_pyobject(py)
            }
            Next::Core(rows) => {
                let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
                ("core", PyArray1::from_vec(py, rows)).into_pyobject(py)
            }
            Next::Done => ("done",).into_pyobject(py),
        }
    }

    /// Takes the results of a pass over all partitions, and its seconds.
    fn take(&mut self, py: Python<'_>, results: Vec<PyBackedBytes>, seconds: f64) -> PyResult<()> {
        let inner = self.inner_mut()?;
        py.detach(|| inner.take(joined(&results)?)).map_err(raised)?;
        inner.book(seconds);
        Ok(())
    }

    /// Number of passes over all rows so far.
    #[getter]
    fn passes(&self) -> PyResult<usize> {
        Ok(self.inner()?.passes())
    }

    /// Clusters the coreset; `table` has its rows.
    #[pyo3(signature = (table, listener=None))]
    fn take_core<'py>(
        &mut self,
        py: Python<'py>,
        table: ArrayTable<'py>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let samples = table.samples()?;
        let inner = self.inner_mut()?;
        watched(py, listener, |watch| inner.take_core(&samples, watch))
    }

    /// The results of the fit as a dict, without labels.
    #[pyo3(signature = (names=None))]
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let found = match self.0.take() {
            Some(inner) => inner.finish().map_err(raised)?,
            None => return Err(over()),
        };
        outcome(py, &[], found, names.unwrap_or_default())
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the fit has finished")
}

impl PartitionedFit {
    fn inner(&self) -> PyResult<&OutOfCoreFit> {
        self.0.as_ref().ok_or_else(over)
    }

    fn inner_mut(&mut self) -> PyResult<&mut OutOfCoreFit> {
        self.0.as_mut().ok_or_else(over)
    }
}
