//! Files of models, and the states of fits of large tables.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use obcut::front_ends::{Next, OutOfCoreFit, Partial, Piece, Task};
use obcut::{
    Error, GraphKind, Matrix, Model, Named, OBCut, Params, RowScore, RowSource, Silent, StateError,
    Store, synthetic,
};

use super::check_message;
use crate::corpus::Specimen;

/// Columns beyond which a model is not asked for labels: the rows would be large, not the model.
const MOST_COLUMNS: usize = 1 << 12;

/// Rows and columns of the table that is clustered in pieces. It has several pieces of rows.
const ROWS: usize = 1500;
const COLUMNS: usize = 1 << 11;

/// Models of every kind of graph, and of a sparse table.
pub fn models() -> Vec<Specimen> {
    let blobs = synthetic::blobs(60, 3, 3, 0.1, 1);
    GraphKind::ALL
        .iter()
        .filter_map(|&graph| {
            let params = Params { graph, threads: 1, n_anchors: Some(12), ..Params::new(3) };
            let fit = OBCut::from(params).fit(&blobs.matrix).ok()?;
            Some(Specimen::measured("safetensors", &fit.model().to_bytes().ok()?))
        })
        .collect()
}

/// A model that is read labels rows, and is the same after it was written.
pub fn model(bytes: &[u8]) -> Result<bool, String> {
    let model = match Model::from_bytes(bytes) {
        Ok(model) => model,
        Err(error) => return check_message(&error.to_string()).map(|()| false),
    };
    let k = model.n_clusters();
    let n_cols = model.n_features();
    if n_cols <= MOST_COLUMNS {
        let kinds = [0.0, 1.0, -1.0, 0.3, 1e300, -1e30, 1e-300];
        let n_rows = kinds.len();
        let mut values: Vec<f64> = kinds.iter().flat_map(|&v| vec![v; n_cols]).collect();
        if let Some(one) = values.last_mut() {
            *one = 0.5;
        }
        let matrix = Matrix::Dense64 { values, n_rows, n_cols };
        match model.predict(&matrix) {
            Err(error) => check_message(&error.to_string())?,
            Ok(labels) if labels.iter().any(|&l| l as usize >= k) => {
                return Err(format!("labels {labels:?} of {k} clusters"));
            }
            Ok(labels) => one_by_one(&model, &matrix, &labels)?,
        }
    }
    let written = model.to_bytes().map_err(|e| format!("it cannot be written: {e}"))?;
    match Model::from_bytes(&written) {
        Ok(again) if again == model => Ok(true),
        Ok(_) => Err("it changes when it is written".into()),
        Err(error) => Err(format!("it is refused after it was written: {error}")),
    }
}

/// Single rows have the labels of the rows of a table.
fn one_by_one(model: &Model, matrix: &Matrix, labels: &[u32]) -> Result<(), String> {
    let Matrix::Dense64 { values, n_cols, .. } = matrix else { return Ok(()) };
    let Ok(predictor) = model.predictor() else { return Ok(()) };
    for (row, &label) in values.chunks_exact((*n_cols).max(1)).zip(labels) {
        match predictor.label(row) {
            Ok(single) if single != label => {
                return Err(format!("a row alone has the label {single}, in a table {label}"));
            }
            Ok(_) => {}
            Err(error) => return Err(format!("a row is refused only when it is alone: {error}")),
        }
    }
    Ok(())
}

/// The table, and the fit of it.
fn table() -> &'static Matrix {
    static TABLE: OnceLock<Matrix> = OnceLock::new();
    TABLE.get_or_init(|| synthetic::blobs(ROWS, COLUMNS, 3, 0.05, 1).matrix)
}

fn params() -> Params {
    let graph = GraphKind::Distance;
    Params { core_rows: Some(300), threads: 1, graph, n_anchors: Some(20), ..Params::new(3) }
}

impl RowSource for ReadRows {
    fn n_rows(&self) -> usize {
        ROWS
    }

    fn n_cols(&self) -> usize {
        COLUMNS
    }

    fn is_single(&self) -> bool {
        false
    }

    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
        let n_rows = rows.len();
        let values = match table() {
            Matrix::Dense64 { values, .. } => {
                values[rows.start * COLUMNS..rows.end * COLUMNS].to_vec()
            }
            _ => Vec::new(),
        };
        Ok(Matrix::Dense64 { values, n_rows, n_cols: COLUMNS })
    }
}

/// The rows of the table, read in pieces.
struct ReadRows;

/// A state with the number of labels that belong to it.
type SavedState = (Vec<u8>, u64);

/// Labels and states.
#[derive(Default)]
struct Saves {
    labels: Mutex<Vec<u32>>,
    states: Mutex<Vec<SavedState>>,
    saved: Option<Vec<u8>>,
}

impl Store for Saves {
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let end = first as usize + rows.len();
        let n = labels.len().max(end);
        labels.resize(n, u32::MAX);
        labels[first as usize..end].iter_mut().zip(rows).for_each(|(l, row)| *l = row.label);
        Ok(())
    }

    fn is_due(&self) -> bool {
        self.keeps()
    }

    fn keeps(&self) -> bool {
        self.saved.is_none()
    }

    fn save(&self, state: &[u8], n_labeled: u64) -> Result<(), Error> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.push((state.to_vec(), n_labeled));
        Ok(())
    }

    fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }
}

/// The states of an undisturbed fit, and its labels.
fn undisturbed() -> &'static (Vec<SavedState>, Vec<u32>) {
    static FIT: OnceLock<(Vec<SavedState>, Vec<u32>)> = OnceLock::new();
    FIT.get_or_init(|| {
        let store = Saves::default();
        OBCut::from(params()).fit_into(&ReadRows, &store).expect("blobs can be clustered");
        let labels = store.labels.into_inner().unwrap_or_else(PoisonError::into_inner);
        (store.states.into_inner().unwrap_or_else(PoisonError::into_inner), labels)
    })
}

pub fn checkpoints() -> Vec<Specimen> {
    let states = &undisturbed().0;
    states.iter().map(|(state, _)| Specimen::plain("checkpoint", state)).collect()
}

/// A checkpoint is refused, or the fit ends in the same labels.
pub fn checkpoint(bytes: &[u8]) -> Result<bool, String> {
    let (states, labels) = undisturbed();
    let store = Saves { saved: Some(bytes.to_vec()), ..Saves::default() };
    match OBCut::from(params()).fit_into(&ReadRows, &store) {
        Err(Error::State(StateError::Damaged(_))) => Ok(false),
        Err(error) => Err(format!("another error than that of damage: {error}")),
        Ok(_) => {
            // Rows before the state are not given again.
            let kept = states.iter().find(|(state, _)| state == bytes);
            let Some((_, done)) = kept else { return Err("damage was not noticed".into()) };
            let given = store.labels.into_inner().unwrap_or_else(PoisonError::into_inner);
            let is_whole = given.first().is_some_and(|&label| label != u32::MAX);
            let start = if is_whole { 0 } else { *done as usize };
            match given[start.min(given.len())..] == labels[start..] {
                true => Ok(true),
                false => Err("other labels than those of the undisturbed fit".into()),
            }
        }
    }
}

/// States of a small fit after every step, and the tasks and results between them.
pub fn states() -> Vec<Specimen> {
    small_steps().iter().map(|bytes| Specimen::plain("state", bytes)).collect()
}

fn small_table() -> Matrix {
    synthetic::blobs(400, 4, 3, 0.05, 1).matrix
}

fn small_fit(table: &Matrix) -> Result<OutOfCoreFit, Error> {
    let params = Params { core_rows: Some(100), ..params() };
    OutOfCoreFit::new(&params, &table.samples()?, table.n_rows())
}

fn small_steps() -> &'static Vec<Vec<u8>> {
    static STEPS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    STEPS.get_or_init(|| steps().expect("blobs can be clustered"))
}

fn steps() -> Result<Vec<Vec<u8>>, Error> {
    let table = small_table();
    let samples = table.samples()?;
    let mut large = small_fit(&table)?;
    let mut found = vec![large.to_bytes()?];
    loop {
        match large.next() {
            Next::Pass(task) => {
                found.push(task.to_bytes()?);
                let piece = Piece { samples, weights: None, range: 0..400, first: 0 };
                let partial = task.ready(&samples).run(&piece, None);
                found.push(partial.to_bytes()?);
                large.take(partial)?;
            }
            Next::Core(rows) => {
                let Matrix::Dense64 { values, n_cols, .. } = &table else { break };
                let row = |&row: &u64| values[row as usize * n_cols..][..*n_cols].to_vec();
                let core: Vec<f64> = rows.iter().flat_map(row).collect();
                let core = Matrix::Dense64 { values: core, n_rows: rows.len(), n_cols: *n_cols };
                large.take_core(&core.samples()?, &Silent)?;
            }
            Next::Done => break,
        }
        found.push(large.to_bytes()?);
    }
    Ok(found)
}

/// Bytes without a checksum are refused, or are a state, a task or a result that can be written again.
pub fn state(bytes: &[u8]) -> Result<bool, String> {
    static TABLE: OnceLock<Matrix> = OnceLock::new();
    let table = TABLE.get_or_init(small_table);
    let mut large = small_fit(table).map_err(|error| error.to_string())?;
    let errors = [
        large.resume(bytes).and_then(|()| large.to_bytes().map(drop)).err(),
        Task::from_bytes(bytes).and_then(|task| task.to_bytes().map(drop)).err(),
        Partial::from_bytes(bytes).and_then(|partial| partial.to_bytes().map(drop)).err(),
    ];
    errors.iter().flatten().try_for_each(|error| check_message(&error.to_string()))?;
    Ok(errors.iter().any(Option::is_none))
}
