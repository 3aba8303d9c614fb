//! Large tables: passes whose pieces Python hands out, and rows that Python reads.

use std::ops::Range;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use obcut::large::{self, InMemory, Next, Partial, Piece, Task};
use obcut::{DenseRef, Error, Matrix, Observer, RowSource, Samples};
use obcut_report::ReportData;
use obcut_report::report_data::Choice;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::Table;
use crate::errors::raised;
use crate::fit::outcome;
use crate::settings::{Arrays, params};
use crate::watch::watched;

/// Whether a table of this size is clustered by its core.
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
    Ok(large::is_large(&params, n_rows, n_cols))
}

/// Rows of the table, their weights, and the number of the first of them.
type Rows<'py> = (Table<'py>, Option<PyReadonlyArray1<'py, f64>>, u64);

/// Runs the task of a pass on some pieces of the table, and joins what comes of them.
#[pyfunction]
pub fn run_task<'py>(
    py: Python<'py>,
    task: &[u8],
    pieces: Vec<Rows<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = Task::from_bytes(task).map_err(raised)?;
    let mut ready = Vec::with_capacity(pieces.len());
    for (table, weights, first) in &pieces {
        let samples = table.samples()?;
        let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
        if weights.is_some_and(|weights| weights.len() != samples.n_rows()) {
            return Err(PyValueError::new_err("weights and rows differ in number"));
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

/// Joins what came of several pieces.
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

/// A fit of a large table, pass by pass.
#[pyclass(module = "obcut._core")]
pub struct Large(Option<large::Large>);

#[pymethods]
impl Large {
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
        Ok(Self(Some(large::Large::new(&params, &like, n_rows).map_err(raised)?)))
    }

    /// What comes next: ("pass", name, task), ("core", rows) or ("done",).
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

    /// Takes what came of all pieces of a pass, which took so many seconds.
    fn take(&mut self, py: Python<'_>, results: Vec<PyBackedBytes>, seconds: f64) -> PyResult<()> {
        let inner = self.inner_mut()?;
        py.detach(|| inner.take(joined(&results)?)).map_err(raised)?;
        inner.book(seconds);
        Ok(())
    }

    /// Passes over all rows so far.
    #[getter]
    fn passes(&self) -> PyResult<usize> {
        Ok(self.inner()?.passes())
    }

    /// Clusters the core, whose rows these are.
    #[pyo3(signature = (table, listener=None))]
    fn take_core<'py>(
        &mut self,
        py: Python<'py>,
        table: Table<'py>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let samples = table.samples()?;
        let inner = self.inner_mut()?;
        watched(py, listener, |watch| inner.take_core(&samples, watch))
    }

    /// A dict of what was found, without labels.
    #[pyo3(signature = (names=None))]
    fn finish<'py>(
        &mut self,
        py: Python<'py>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut found = match self.0.take() {
            Some(inner) => inner.finish().map_err(raised)?,
            None => return Err(over()),
        };
        found.model.set_feature_names(names.unwrap_or_default());
        outcome(py, obcut::Fit::of_rows(&[], found))
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the fit is over")
}

impl Large {
    fn inner(&self) -> PyResult<&large::Large> {
        self.0.as_ref().ok_or_else(over)
    }

    fn inner_mut(&mut self) -> PyResult<&mut large::Large> {
        self.0.as_mut().ok_or_else(over)
    }
}

/// Rows that a Python function reads: `read(start, stop)` gives an array.
struct Called {
    read: Py<PyAny>,
    n_rows: usize,
    n_cols: usize,
    single: bool,
}

impl RowSource for Called {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.n_cols
    }

    fn is_single(&self) -> bool {
        self.single
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        Python::attach(|py| {
            let found = self.read.call1(py, (rows.start, rows.end))?;
            owned(found.extract(py)?)
        })
        .map_err(|error: PyErr| Error::Read { rows, source: error.into() })
    }

    fn gather(&self, rows: &[u64]) -> Result<Matrix, Error> {
        let all = rows.first().map_or(0, |&r| r as usize)..rows.last().map_or(0, |&r| r as usize);
        Python::attach(|py| {
            let list: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
            let found = self.read.call1(py, (PyArray1::from_vec(py, list), py.None()))?;
            owned(found.extract(py)?)
        })
        .map_err(|error: PyErr| Error::Read { rows: all, source: error.into() })
    }
}

/// A copy of a dense table.
fn owned(table: Table<'_>) -> PyResult<Matrix> {
    match table.samples()? {
        Samples::Dense32(x) => Ok(Matrix::Dense32 {
            values: x.values().to_vec(),
            n_rows: x.n_rows(),
            n_cols: x.n_cols(),
        }),
        Samples::Dense64(x) => Ok(Matrix::Dense64 {
            values: x.values().to_vec(),
            n_rows: x.n_rows(),
            n_cols: x.n_cols(),
        }),
        _ => Err(PyValueError::new_err("rows that are read in pieces must be dense")),
    }
}

/// Clusters rows that `read(start, stop)` gives as arrays, and `read(rows, None)` for some of them.
#[pyfunction]
#[pyo3(signature = (read, n_rows, n_cols, settings, *, single, paper=false, weights=None, init=None, anchors=None, names=None, listener=None))]
pub fn fit_rows<'py>(
    py: Python<'py>,
    read: Py<PyAny>,
    n_rows: usize,
    n_cols: usize,
    settings: &str,
    single: bool,
    paper: bool,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    init: Option<Vec<u32>>,
    anchors: Option<PyReadonlyArray2<'py, f64>>,
    names: Option<Vec<String>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let params = params(paper, settings, Arrays::new(init, anchors)?)?;
    let source = Called { read, n_rows, n_cols, single };
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let store = InMemory::new(n_rows);
    let mut found = watched(py, listener, |watch| {
        obcut::fit_rows(&source, weights, &params, watch, &store, None)
    })?;
    found.model.set_feature_names(names.unwrap_or_default());
    outcome(py, obcut::Fit::of_rows(&store.finish(), found))
}

/// What a page shows of rows that are read in pieces.
fn sketch(
    model: &obcut::Model,
    source: &Called,
    labels: &[u32],
    weights: Option<&[f64]>,
    threads: usize,
    watch: &dyn Observer,
) -> Result<ReportData, Error> {
    let mut sizes = vec![0; model.n_clusters()];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    // No more than the core, which had to fit into memory as well.
    let core = large::core_rows(model.params(), source.n_cols);
    let mut choice = Choice::new(&sizes, ReportData::sample(source.n_cols).min(core));
    choice.take(labels);
    ReportData::of_source(model, source, &choice.rows(), weights, threads, watch)
}

/// Rows that Python reads, as it hands them over: `read`, rows, columns, and whether they are of single precision.
pub type Reader = (Py<PyAny>, usize, usize, bool);

/// Labels such rows, and sketches them for a page.
pub fn sketch_of_rows(
    py: Python<'_>,
    model: &obcut::Model,
    (read, n_rows, n_cols, single): Reader,
    weights: Option<&[f64]>,
    threads: usize,
) -> PyResult<ReportData> {
    let source = Called { read, n_rows, n_cols, single };
    let store = InMemory::new(n_rows);
    watched(py, None, |watch| {
        large::predict_rows(model, &source, threads, watch, &store)?;
        let labels: Vec<u32> = store.finish().iter().map(|row| row.label).collect();
        sketch(model, &source, &labels, weights, threads, watch)
    })
}

/// Labels (-1 for noise), confidence and outlier scores.
type Labelled<'py> =
    (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Labels, confidence and outlier scores of rows that are read in the same way.
#[pyfunction]
#[pyo3(signature = (model, read, n_rows, n_cols, *, single, threads=1))]
pub fn predict_rows<'py>(
    py: Python<'py>,
    model: &crate::model::Model,
    read: Py<PyAny>,
    n_rows: usize,
    n_cols: usize,
    single: bool,
    threads: usize,
) -> PyResult<Labelled<'py>> {
    let source = Called { read, n_rows, n_cols, single };
    let store = InMemory::new(n_rows);
    watched(py, None, |watch| large::predict_rows(&model.0, &source, threads, watch, &store))?;
    let rows = store.finish();
    let labels = rows.iter().map(obcut::RowScore::label_or_noise).collect();
    let figures = |figure: fn(&obcut::RowScore) -> f64| {
        PyArray1::from_vec(py, rows.iter().map(figure).collect())
    };
    let (confidence, outlier) = (figures(|row| row.confidence), figures(|row| row.outlier));
    Ok((PyArray1::from_vec(py, labels), confidence, outlier))
}
