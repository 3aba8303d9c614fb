//! Threads that run the passes of a large fit, on rows in memory or read piece by piece.
//!
//! One thread reads ahead while the others work. Results are merged in the order of the pieces, so what
//! is merged at any moment belongs to the first so many pieces: that is what a saved state holds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::round::PassLabels;
use super::store::{InMemory, Store, lock};
use super::task::{Partial, Piece, ReadyTask, Task, from_bytes, sealed, to_bytes, unsealed};
use super::{Next, OutOfCoreFit, StoredFit};
use crate::model::Model;
use crate::model::rule::RowScore;
use crate::params::Params;
use crate::source::{self, RowSource};
use obcut_core::block::BLOCK;
use obcut_core::error::{DataError, Error, StateError};
use obcut_core::matrix::{Csr, DenseRef, Matrix, Samples};
use obcut_core::normalize;
use obcut_core::observer::{Observer, Progress, Silent, Stage};
use obcut_core::parallel::Context;
use obcut_core::random::mix;
use obcut_core::sums::STRETCH;

/// Pieces that wait to be worked on.
const AHEAD: usize = 2;
/// Numbers in a piece, about.
const PIECE: usize = 1 << 20;

/// Where the rows are.
enum Supply<'a> {
    Memory(Samples<'a>),
    Source(&'a dyn RowSource),
}

/// A run of passes.
struct Drive<'a> {
    supply: Supply<'a>,
    /// No rows, of the same kind.
    like: Samples<'a>,
    weights: Option<&'a [f64]>,
    n_rows: usize,
    piece_rows: usize,
    threads: usize,
    observer: &'a dyn Observer,
    store: &'a dyn Store,
}

/// A pass that is under way: the results of the first pieces.
#[derive(Default)]
struct Merged {
    due: usize,
    partial: Option<Partial>,
    waiting: BTreeMap<usize, Partial>,
}

impl<'a> Drive<'a> {
    fn new(
        supply: Supply<'a>,
        like: Samples<'a>,
        weights: Option<&'a [f64]>,
        threads: usize,
        observer: &'a dyn Observer,
        store: &'a dyn Store,
    ) -> Result<Self, Error> {
        let n_rows = match &supply {
            Supply::Memory(samples) => samples.n_rows(),
            Supply::Source(source) => source.n_rows(),
        };
        let wanted = (PIECE / like.n_cols().max(1)).next_multiple_of(BLOCK);
        Ok(Self {
            supply,
            like,
            weights,
            n_rows,
            piece_rows: wanted.clamp(BLOCK, STRETCH),
            // As many as a fit takes.
            threads: Context::new(threads, observer)?.n_threads(),
            observer,
            store,
        })
    }

    fn n_pieces(&self) -> usize {
        self.n_rows.div_ceil(self.piece_rows)
    }

    fn range(&self, piece: usize) -> Range<usize> {
        piece * self.piece_rows..((piece + 1) * self.piece_rows).min(self.n_rows)
    }

    /// Runs `work` on every piece from `start` on, in threads, while one more reads ahead. The first error
    /// ends it.
    fn each_piece(
        &self,
        start: usize,
        work: impl Fn(usize, &Piece<'_>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let stop = AtomicBool::new(false);
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let fail = |error: Error| {
            stop.store(true, Ordering::Relaxed);
            lock(&failure).get_or_insert(error);
        };
        let next = AtomicUsize::new(start);
        let (sender, receiver) = sync_channel(AHEAD);
        // The workers own it: when they are gone, whatever the reason, the reader does not wait for them.
        let receiver = Arc::new(Mutex::new(receiver));
        let (stop, fail, next, work) = (&stop, &fail, &next, &work);
        std::thread::scope(|scope| {
            if let Supply::Source(source) = self.supply {
                scope.spawn(move || self.read_ahead(source, start, sender, stop, fail));
            } else {
                drop(sender);
            }
            for _ in 0..self.threads.min(self.n_pieces() - start) {
                let receiver = Arc::clone(&receiver);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        if self.observer.cancelled() {
                            fail(Error::Cancelled);
                            break;
                        }
                        match self.with_next(next, &receiver, work) {
                            Ok(true) => {}
                            Ok(false) => break,
                            Err(error) => fail(error),
                        }
                    }
                });
            }
            drop(receiver);
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn read_ahead(
        &self,
        source: &dyn RowSource,
        start: usize,
        sender: SyncSender<(usize, Matrix)>,
        stop: &AtomicBool,
        fail: &impl Fn(Error),
    ) {
        for piece in start..self.n_pieces() {
            let read = source::read(source, self.range(piece));
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match read.map(|rows| sender.send((piece, rows))) {
                Ok(Ok(())) => {}
                // Nobody takes it when the others have failed.
                Ok(Err(_)) => return,
                Err(error) => return fail(error),
            }
        }
    }

    /// Runs `work` on the next piece; `false` when there is none.
    fn with_next(
        &self,
        next: &AtomicUsize,
        receiver: &Mutex<Receiver<(usize, Matrix)>>,
        work: &(impl Fn(usize, &Piece<'_>) -> Result<(), Error> + Sync),
    ) -> Result<bool, Error> {
        match &self.supply {
            Supply::Memory(samples) => {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= self.n_pieces() {
                    return Ok(false);
                }
                let (samples, weights, range) = (*samples, self.weights, self.range(piece));
                work(piece, &Piece { samples, weights, range, first: 0 })?;
            }
            Supply::Source(_) => {
                let Ok((piece, rows)) = lock(receiver).recv() else { return Ok(false) };
                let range = self.range(piece);
                let samples = rows.samples()?;
                let weights = self.weights.map(|weights| &weights[range.clone()]);
                let first = range.start as u64;
                work(piece, &Piece { samples, weights, range: 0..range.len(), first })?;
            }
        }
        Ok(true)
    }

    /// Fails when the rows are no longer those of the first reading.
    fn check_unchanged(&self) -> Result<(), Error> {
        match &self.supply {
            Supply::Memory(_) => Ok(()),
            Supply::Source(source) => source.check_unchanged(),
        }
    }

    /// One pass over all rows, from where it stood.
    fn pass(&self, large: &OutOfCoreFit, task: &Task, from: Merged) -> Result<Partial, Error> {
        self.check_unchanged()?;
        let ready = task.ready(&self.like);
        let start = from.due;
        let merged = Mutex::new(from);
        let result = self.each_piece(start, |piece, rows| {
            let partial = self.run_piece(&ready, task, rows)?;
            let mut merged = lock(&merged);
            merged.take(piece, partial)?;
            let stage = if task.labels() { Stage::Round } else { Stage::Scan };
            self.observer.progress(&Progress {
                stage,
                iteration: merged.due,
                max_iterations: self.n_pieces(),
                objective: None,
                restart: (large.passes(), 0),
            });
            if self.store.is_due() { self.save(large, &merged) } else { Ok(()) }
        });
        let merged = merged.into_inner().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => merged.partial.ok_or_else(damaged),
            Err(error) => {
                let saved = if self.store.keeps() { self.save(large, &merged) } else { Ok(()) };
                // What was asked for must be done; any other error says more than this one.
                Err(match (error, saved) {
                    (Error::Cancelled, Err(failed)) => failed,
                    (error, _) => error,
                })
            }
        }
    }

    fn run_piece(
        &self,
        ready: &ReadyTask<'_>,
        task: &Task,
        piece: &Piece<'_>,
    ) -> Result<Partial, Error> {
        if !task.labels() {
            return Ok(ready.run(piece, None));
        }
        let mut rows = Vec::with_capacity(piece.range.len());
        let partial = ready.run(piece, Some(&mut rows));
        self.store.rows(piece.first + piece.range.start as u64, &rows)?;
        Ok(partial)
    }

    fn save(&self, large: &OutOfCoreFit, merged: &Merged) -> Result<(), Error> {
        let (due, partial) = (merged.due, merged.partial.as_ref());
        let state = (large.to_bytes()?, self.piece_rows, due, partial, hash(self.weights));
        // The labels of this pass that the state counts as done.
        let labeled = if partial.is_some_and(Partial::labels) { self.range(due).start } else { 0 };
        self.store.save(&sealed(to_bytes(&state)?), labeled.min(self.n_rows) as u64)
    }

    /// The rows of a core.
    fn gather(&self, rows: &[u64]) -> Result<Matrix, Error> {
        match &self.supply {
            Supply::Memory(samples) => Ok(taken(samples, rows)),
            Supply::Source(source) => source::gather(*source, rows),
        }
    }

    /// All passes until the end.
    fn run(&self, mut large: OutOfCoreFit, mut from: Merged) -> Result<StoredFit, Error> {
        let mut seconds = [0.0; 2];
        loop {
            match large.next() {
                Next::Pass(task) => {
                    let (start, labels) = (Instant::now(), task.labels());
                    // The pass overwrites labels that the last state counts as done.
                    if labels && from.due == 0 && self.store.keeps() {
                        self.save(&large, &from)?;
                    }
                    let partial = self.pass(&large, task, std::mem::take(&mut from))?;
                    large.take(partial)?;
                    large.book(start.elapsed().as_secs_f64());
                    seconds[usize::from(labels)] += start.elapsed().as_secs_f64();
                }
                Next::Core(rows) => {
                    if self.store.keeps() {
                        self.save(&large, &Merged::default())?;
                    }
                    self.check_unchanged()?;
                    let core = self.gather(&rows)?;
                    large.take_core(&core.samples()?, self.observer)?;
                    if self.store.keeps() {
                        self.save(&large, &Merged::default())?;
                    }
                }
                Next::Done => break,
            }
        }
        self.check_unchanged()?;
        let mut fit = large.finish()?;
        fit.trace.seconds.insert(0, (Stage::Scan.name().into(), seconds[0]));
        fit.trace.seconds.push((Stage::Round.name().into(), seconds[1]));
        Ok(fit)
    }
}

impl Merged {
    fn take(&mut self, piece: usize, partial: Partial) -> Result<(), Error> {
        self.waiting.insert(piece, partial);
        while let Some(partial) = self.waiting.remove(&self.due) {
            match &mut self.partial {
                Some(all) => all.merge(partial)?,
                None => self.partial = Some(partial),
            }
            self.due += 1;
        }
        Ok(())
    }
}

fn damaged() -> Error {
    StateError::Damaged("the results of the first batches are missing".into()).into()
}

/// Tells weights apart.
fn hash(weights: Option<&[f64]>) -> u64 {
    weights.map_or(0, |weights| weights.iter().fold(1, |hash, w| mix(hash ^ w.to_bits())))
}

/// Some rows of a matrix in memory.
fn taken(samples: &Samples<'_>, rows: &[u64]) -> Matrix {
    fn dense<T: Copy>(x: &DenseRef<'_, T>, rows: &[u64]) -> Vec<T> {
        rows.iter().flat_map(|&i| x.row(i as usize)).copied().collect()
    }
    let (n_rows, n_cols) = (rows.len(), samples.n_cols());
    match samples {
        Samples::Dense32(x) => Matrix::Dense32 { values: dense(x, rows), n_rows, n_cols },
        Samples::Dense64(x) => Matrix::Dense64 { values: dense(x, rows), n_rows, n_cols },
        Samples::Sparse32(x) => {
            let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols };
            rows.iter().for_each(|&i| push(&mut out, x.row(i as usize)));
            Matrix::Sparse32(out)
        }
        Samples::Sparse64(x) => {
            let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols };
            rows.iter().for_each(|&i| push(&mut out, x.row(i as usize)));
            Matrix::Sparse64(out)
        }
    }
}

fn push<T>(out: &mut Csr<T>, row: impl Iterator<Item = (usize, T)>) {
    for (column, value) in row {
        out.columns.push(column as i64);
        out.values.push(value);
    }
    out.offsets.push(out.columns.len() as i64);
}

/// Clusters a large table in memory.
pub(crate) fn fit_samples(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<(Vec<RowScore>, StoredFit), Error> {
    let n = samples.n_rows();
    let store = InMemory::new(n);
    let supply = Supply::Memory(*samples);
    let drive = Drive::new(supply, *samples, weights, params.threads, observer, &store)?;
    let large = OutOfCoreFit::new(params, samples, n)?;
    let found = drive.run(large, Merged::default())?;
    Ok((store.finish(), found))
}

/// No rows of a source's kind.
fn like(source: &dyn RowSource) -> Result<Samples<'static>, Error> {
    let d = source.n_cols();
    Ok(if source.is_single() {
        Samples::Dense32(DenseRef::new(&[], 0, d)?)
    } else {
        Samples::Dense64(DenseRef::new(&[], 0, d)?)
    })
}

/// Clusters a large table that is read in batches, see [`crate::OBCut::fit_into`].
pub(crate) fn fit_source(
    source: &dyn RowSource,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
    store: &dyn Store,
) -> Result<StoredFit, Error> {
    let n = source.n_rows();
    let like = like(source)?;
    let supply = Supply::Source(source);
    let mut drive = Drive::new(supply, like, weights, params.threads, observer, store)?;
    let mut large = OutOfCoreFit::new(params, &like, n)?;
    let mut from = Merged::default();
    if let Some(saved) = store.saved() {
        let (state, piece_rows, due, partial, of): (Vec<u8>, usize, usize, _, u64) =
            from_bytes(unsealed(saved)?)?;
        if of != hash(weights) {
            return Err(StateError::OtherWeights.into());
        }
        large.resume(&state)?;
        drive.piece_rows = piece_rows.clamp(1, STRETCH);
        from = Merged { due: due.min(drive.n_pieces()), partial, ..Merged::default() };
    }
    drive.run(large, from)
}

impl Model {
    /// Label of every row of a source, which is read in batches, on all cores.
    ///
    /// # Errors
    /// As [`Model::predict`], and when rows cannot be read.
    pub fn predict_source(&self, source: &dyn RowSource) -> Result<Vec<u32>, Error> {
        let store = InMemory::new(source.n_rows());
        predict_rows(self, source, 0, &Silent, &store)?;
        Ok(store.finish().iter().map(|row| row.label).collect())
    }
}

/// Labels rows that are read piece by piece, in memory that does not grow with their number.
///
/// # Errors
/// As [`Model::predict`], and when rows cannot be read or the store fails.
pub fn predict_rows(
    model: &Model,
    source: &dyn RowSource,
    threads: usize,
    observer: &dyn Observer,
    store: &dyn Store,
) -> Result<(), Error> {
    let (found, expected) = (source.n_cols(), model.n_features());
    if found != expected {
        return Err(DataError::Features { found, expected }.into());
    }
    if source.n_rows() == 0 {
        return Ok(());
    }
    let like = like(source)?;
    let drive = Drive::new(Supply::Source(source), like, None, threads, observer, store)?;
    let labels = PassLabels::new(model, &like);
    let done = AtomicUsize::new(0);
    source.check_unchanged()?;
    drive.each_piece(0, |_, piece| {
        normalize::check_row_by_row(&piece.samples).map_err(|error| moved(error, piece.first))?;
        store.rows(piece.first, &labels.of(piece))?;
        observer.progress(&Progress {
            stage: Stage::Round,
            iteration: done.fetch_add(1, Ordering::Relaxed) + 1,
            max_iterations: drive.n_pieces(),
            objective: None,
            restart: (0, 0),
        });
        Ok(())
    })?;
    source.check_unchanged()
}

/// The same error with the row's number in the whole table.
fn moved(error: Error, first: u64) -> Error {
    let first = first as usize;
    match error {
        Error::Data(DataError::NotFinite { row, col, value, count }) => {
            DataError::NotFinite { row: row + first, col, value, count }.into()
        }
        Error::Data(DataError::TooLarge { row, col, value, limit }) => {
            DataError::TooLarge { row: row + first, col, value, limit }.into()
        }
        other => other,
    }
}
