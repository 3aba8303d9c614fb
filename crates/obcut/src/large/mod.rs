//! Tables that are large: larger than memory, or than one machine.
//!
//! A table with many more rows than a graph needs to show its clusters is clustered by its *core*, distinct
//! rows chosen by a hash of their content, and then all rows take part: round by round they are
//! labeled by the rule of the cut, and the rule is computed again from all labels, until that would hardly
//! change the core any more.
//! What is known of a row fits into the pass that reads it, so nothing grows with N but the labels.
//!
//! | pass   | does                                                     | brings together             |
//! |--------|----------------------------------------------------------|-----------------------------|
//! | scan   | ranges and means of the columns; hashes choose the core   | a few numbers per column    |
//! | scale  | only for scalings that need the means first              | the same                    |
//! | round  | links to the anchors, labels, sums for the next rule      | M × k + k × d numbers       |
//!
//! [`OutOfCoreFit`] says what comes next, a [`Task`] does it with one piece of the rows, and [`Partial`]s are
//! merged. Who runs the tasks is left open: threads (`fit_samples`), files ([`crate::OBCut::fit_source`]), other
//! machines. Merging is exact (`sums.rs`), so they all give the same bits, in any order and for any
//! cut into pieces.

mod bottom_k;
mod drive;
#[cfg(feature = "front-ends")]
mod memory;
mod round;
mod scan;
mod store;
mod task;

use serde::{Deserialize, Serialize};

#[cfg(feature = "front-ends")]
pub use drive::predict_rows;
pub(crate) use drive::{fit_samples, fit_source};
#[cfg(feature = "front-ends")]
pub use memory::{TableSize, check_memory};
pub use store::{InMemory, Store};
pub use task::{Partial, Task};
#[cfg(feature = "front-ends")]
pub use task::{Piece, ReadyTask};

use crate::model::Model;
use crate::model::rule::DecisionRule;
use crate::params::check::check;
use crate::params::{Init, Params};
use crate::records::{LargeTrace, Trace};
use crate::solver::finish::Notes;
use crate::solver::{fit_whole, power_of_two};
use crate::update::embedding;
use crate::warning::Warning;
use obcut_core::Graph;
use obcut_core::error::{DataError, Error, ParamError, StateError};
use obcut_core::linalg::{factor, simd};
use obcut_core::matrix::Samples;
use obcut_core::normalize::{self, ColumnStatistics, Scaling, SecondPass};
use obcut_core::observer::{Observer, Silent};
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, mix};
use round::{LabelPassTask, Scope};
use scan::ScanTask;
use task::{PassResult, TaskKind, mixed};

/// Numbers in a core, and rows, by default.
const CORE_NUMBERS: usize = 1 << 27;
const CORE_ROWS: (usize, usize) = (1 << 15, 1 << 17);
/// Times the rows of a core up to which a table is clustered whole.
const WHOLE: usize = 2;
/// Rows of a core per cluster and per anchor, at least.
const PER_CLUSTER: usize = 100;
const PER_ANCHOR: usize = 20;

/// Rounds end when the next rule would move no more than this share of the core,
const STILL: f64 = 1e-3;
/// or raise the cut of the core by no more than this part of it,
const TOL: f64 = 1e-4;
/// and after so many.
const ROUNDS: usize = 10;

/// The largest weight is no more than this many times the mean of the others, or they would vanish beside it.
const HEAVIEST: f64 = 1e7;

/// Hashes are looked at up to this many times the share that makes a core, first.
const MARGIN: f64 = 2.0;

/// Distinct rows that a table is clustered by.
pub fn core_rows(params: &Params, n_cols: usize) -> usize {
    match params.core_rows {
        Some(0) => usize::MAX,
        Some(rows) => rows,
        None => {
            let k = most_clusters(params);
            let given = params.anchors.as_ref().map(|anchors| anchors.len() / n_cols.max(1));
            let anchors = given.or(params.n_anchors).unwrap_or(0);
            (CORE_NUMBERS / n_cols.max(1))
                .clamp(CORE_ROWS.0, CORE_ROWS.1)
                .max(k.saturating_mul(PER_CLUSTER))
                .max(anchors.saturating_mul(PER_ANCHOR))
        }
    }
}

/// Clusters that may be asked for.
fn most_clusters(params: &Params) -> usize {
    params.k_range.map_or(params.n_clusters, |(low, high)| high.unwrap_or(low))
}

/// Rows up to which a table is clustered whole. By default they are a few more than those of a core: passes
/// over all rows cost more than they save when the core is most of them.
pub fn whole_rows(params: &Params, n_cols: usize) -> usize {
    let core = core_rows(params, n_cols);
    if params.core_rows.is_none() { core.saturating_mul(WHOLE) } else { core }
}

/// Whether a table of this size is clustered by its core.
pub fn is_large(params: &Params, n_rows: usize, n_cols: usize) -> bool {
    n_rows > whole_rows(params, n_cols)
}

/// A fit of a large table, pass by pass.
///
/// ```
/// use obcut::front_ends::{Next, OutOfCoreFit, Piece};
/// use obcut::{Params, Silent, synthetic};
///
/// let blobs = synthetic::blobs(3000, 4, 3, 0.05, 1);
/// let samples = blobs.matrix.samples()?;
/// let params = Params { core_rows: Some(500), ..Params::new(3) };
/// let mut large = OutOfCoreFit::new(&params, &samples, 3000)?;
/// let piece = |range| Piece { samples, weights: None, range, first: 0 };
/// loop {
///     match large.next() {
///         Next::Pass(task) => {
///             let ready = task.ready(&samples);
///             let mut partial = ready.run(&piece(0..1500), None);
///             partial.merge(ready.run(&piece(1500..3000), None))?;
///             large.take(partial)?;
///         }
///         Next::Core(rows) => {
///             let mut values: Vec<f64> = Vec::new();
///             if let obcut::Matrix::Dense64 { values: all, .. } = &blobs.matrix {
///                 rows.iter().for_each(|&r| values.extend(&all[r as usize * 4..r as usize * 4 + 4]));
///             }
///             let core = obcut::DenseRef::new(&values, rows.len(), 4)?.into();
///             large.take_core(&core, &Silent)?;
///         }
///         Next::Done => break,
///     }
/// }
/// let fit = large.finish()?;
/// assert_eq!(fit.model.n_clusters(), 3);
/// # Ok::<(), obcut::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutOfCoreFit {
    params: Params,
    n_rows: usize,
    n_cols: usize,
    single: bool,
    sparse: bool,
    state: FitState,
}

/// What a fit of a large table needs next.
#[derive(Debug)]
pub enum Next<'l> {
    /// This task, on all rows; then [`OutOfCoreFit::take`].
    Pass(&'l Task),
    /// These rows, ascending; then [`OutOfCoreFit::take_core`].
    Core(Vec<u64>),
    /// Nothing: [`OutOfCoreFit::finish`].
    Done,
}

/// What is known so far; it can be kept as bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FitState {
    step: Step,
    passes: usize,
    /// Links and weights of the core, to see what a new rule would change.
    core: (Graph, Vec<f64>),
    moved: Vec<f64>,
    gain: Vec<f64>,
    pass_seconds: Vec<f64>,
    /// After the core: what warnings are made of.
    notes: Notes,
    trace: Trace,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Step {
    Pass(Task),
    /// The second pass of a scaling comes first, if there is a task for it.
    Second {
        task: Task,
        scan: Facts,
    },
    Core {
        scaling: Scaling,
        scan: Facts,
    },
    /// With the rule of the round before.
    LabelPass {
        task: Task,
        before: Option<DecisionRule>,
        is_last: bool,
    },
    Done(Box<Model>),
    /// A pass could not be taken; there is nothing to finish.
    Failed,
}

/// What the scan found.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Facts {
    columns: ColumnStatistics,
    largest_weight: f64,
    unit: f64,
    rows: Vec<u64>,
    weights: Vec<f64>,
}

/// The result of a fit whose rows went to a [`Store`], see [`crate::OBCut::fit_into`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredFit {
    /// Labels new rows, and repeats the labels of the fit on the old ones.
    pub model: Model,
    /// Values and seconds of the fit, and why it stopped.
    pub trace: Trace,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl OutOfCoreFit {
    /// A fit of `n_rows` rows like those given, of which there may be none.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(params: &Params, like: &Samples<'_>, n_rows: usize) -> Result<Self, Error> {
        let n_cols = like.n_cols();
        check(params, (n_rows, n_cols), None)?;
        let single = matches!(like, Samples::Dense32(_));
        let core_rows = core_rows(params, n_cols).min(n_rows);
        let k = most_clusters(params);
        if core_rows < k {
            let (name, value) = ("core_rows", core_rows.to_string());
            let expected = format!("at least the number of clusters, {k}");
            return Err(ParamError::Range { name, value, expected }.into());
        }
        let share = MARGIN * core_rows as f64 / n_rows as f64;
        let cap = if share < 1.0 { (share * 2f64.powi(64)) as u64 } else { u64::MAX };
        let task = Task(TaskKind::Scan(ScanTask {
            limit: normalize::limit(single, params.scaling()),
            core_rows,
            cap,
            stream: Stream::new(params.seed).named("core"),
        }));
        let state = FitState {
            step: Step::Pass(task),
            passes: 0,
            core: (Graph::empty(0), Vec::new()),
            moved: Vec::new(),
            gain: Vec::new(),
            pass_seconds: Vec::new(),
            notes: Notes::default(),
            trace: Trace::new(),
        };
        let sparse = like.is_sparse();
        Ok(Self { params: params.clone(), n_rows, n_cols, single, sparse, state })
    }

    /// What comes next.
    pub fn next(&self) -> Next<'_> {
        match &self.state.step {
            Step::Pass(task) | Step::Second { task, .. } | Step::LabelPass { task, .. } => {
                Next::Pass(task)
            }
            Step::Core { scan, .. } => Next::Core(scan.rows.clone()),
            Step::Done(_) | Step::Failed => Next::Done,
        }
    }

    /// Passes over all rows so far.
    pub fn passes(&self) -> usize {
        self.state.passes
    }

    /// Books the seconds of the last pass.
    pub fn book(&mut self, seconds: f64) {
        self.state.pass_seconds.push(seconds);
    }

    /// Takes what a pass over all rows found.
    ///
    /// # Errors
    /// When the rows cannot be used, or a factorization fails.
    pub fn take(&mut self, partial: Partial) -> Result<(), Error> {
        self.state.passes += 1;
        let step = std::mem::replace(&mut self.state.step, Step::Failed);
        self.state.step = match (step, partial.0) {
            (Step::Pass(Task(TaskKind::Scan(task))), PassResult::Scan(scan)) => {
                self.scanned(task, *scan)?
            }
            (
                Step::Second { task: Task(TaskKind::Second(task)), scan },
                PassResult::Second(sums),
            ) => {
                let second = task.values(&sums);
                let scaling = scan.columns.scaling(task.kind, task.mean, &second);
                Step::Core { scaling, scan }
            }
            (
                Step::LabelPass { task: Task(TaskKind::LabelPass(task)), before, is_last },
                PassResult::LabelPass(round),
            ) => self.labeled(*task, before, is_last, &round)?,
            _ => return Err(mixed()),
        };
        Ok(())
    }

    fn scanned(&self, task: ScanTask, mut scan: scan::Scan) -> Result<Step, Error> {
        let columns = scan.columns(task.limit)?;
        if scan.sketch.is_short() {
            // Many rows are equal: the core needs more of the hashes.
            return Ok(Step::Pass(Task(TaskKind::Scan(ScanTask { cap: u64::MAX, ..task }))));
        }
        let kind = columns.kind(self.params.scaling());
        let largest_weight = scan.largest_weight;
        let mean = columns.weight() / largest_weight / self.n_rows as f64;
        let others = (columns.weight() / largest_weight - 1.0) / (columns.rows.max(2) - 1) as f64;
        if columns.rows > 1 && others * HEAVIEST < 1.0 {
            let row = scan.heaviest as usize;
            return Err(DataError::WeightRange { row, weight: largest_weight }.into());
        }
        let unit = power_of_two(largest_weight, mean);
        let second = SecondPass::new(kind, &columns, largest_weight, self.n_rows);
        let picks = scan.sketch.finish();
        let facts = Facts {
            columns: columns.clone(),
            largest_weight,
            unit,
            rows: picks.iter().map(|pick| pick.row).collect(),
            weights: picks.iter().map(|pick| pick.weight() / unit).collect(),
        };
        Ok(if second.is_empty() {
            Step::Core { scaling: columns.scaling(kind, second.mean, &[]), scan: facts }
        } else {
            Step::Second { task: Task(TaskKind::Second(second)), scan: facts }
        })
    }

    /// Clusters the core, whose rows these are.
    ///
    /// # Errors
    /// When they cannot be clustered, or the observer cancels.
    pub fn take_core(&mut self, rows: &Samples<'_>, observer: &dyn Observer) -> Result<(), Error> {
        let Step::Core { scaling, scan } = &self.state.step else { return Err(mixed()) };
        let mut params = self.params.clone();
        let k = params.k_range.map_or(params.n_clusters, |(low, _)| low);
        if rows.n_rows() < k {
            let n_distinct = rows.n_rows();
            return Err(DataError::TooFewDistinct { n_distinct, n_clusters: k }.into());
        }
        if let Init::Given(labels) = &mut params.init {
            *labels = scan.rows.iter().map(|&i| labels[i as usize]).collect();
            if let Some(j) = (0..k as u32).find(|j| !labels.contains(j)) {
                return Err(ParamError::CoresetLabel { label: j }.into());
            }
        }
        check(&params, (rows.n_rows(), rows.n_cols()), Some(&scan.weights))?;
        let mut scaling = scaling.clone();
        let mut slivers = Vec::new();
        if scaling.needs_quantiles(rows) {
            let context = Context::new(params.threads, observer)?;
            let found = normalize::quantiles(rows, Some(&scan.weights), &context)?;
            let range = (&scan.columns.min[..], &scan.columns.max[..]);
            slivers = scaling.take_quantiles(params.scaling(), &found, range);
        }
        let mut fit = fit_whole(rows, Some(&scan.weights), Some(&scaling), &params, observer)?;
        fit.notes.slivers = slivers;
        let weights = (scan.largest_weight, scan.unit);
        let scope = Scope::new(&scan.columns, self.sparse, weights, self.n_rows);
        let core = fit.model.on(rows)?.threads(self.params.threads).observer(observer).graph()?;
        self.state.core = (core, scan.weights.clone());
        let task = LabelPassTask { model: fit.model, scope };
        self.state.notes = fit.notes;
        self.state.trace = fit.trace;
        self.state.trace.large =
            Some(LargeTrace { core_rows: scan.rows.len(), ..LargeTrace::default() });
        let is_last = task.model.prototypes.is_some();
        let task = Task(TaskKind::LabelPass(Box::new(task)));
        self.state.step = Step::LabelPass { task, before: None, is_last };
        Ok(())
    }

    fn labeled(
        &mut self,
        task: LabelPassTask,
        before: Option<DecisionRule>,
        is_last: bool,
        round: &round::LabelPass,
    ) -> Result<Step, Error> {
        let again = |model: Model, before: Option<DecisionRule>, is_last: bool| Step::LabelPass {
            task: Task(TaskKind::LabelPass(Box::new(LabelPassTask {
                model,
                scope: task.scope.clone(),
            }))),
            before,
            is_last,
        };
        if let (Some(rule), true) = (&before, round.has_empty()) {
            // The rule before keeps all clusters.
            return Ok(again(Model { rule: rule.clone(), ..task.model.clone() }, None, true));
        }
        let rule = round.rule(&task);
        let (moved, gain) = self.change(&task.model.rule, &rule)?;
        self.state.moved.push(moved);
        self.state.gain.push(gain);
        let is_still = moved <= STILL || gain <= TOL;
        if is_last || is_still || self.state.moved.len() >= ROUNDS {
            let mut model = task.model.clone();
            round.describe(&task, &mut model);
            return Ok(Step::Done(Box::new(model)));
        }
        let old = task.model.rule.clone();
        Ok(again(Model { rule, ..task.model.clone() }, Some(old), false))
    }

    /// What a new rule would change in the core: the share of its rows that move, and the rise of its cut.
    fn change(&self, old: &DecisionRule, new: &DecisionRule) -> Result<(f64, f64), Error> {
        let context = Context::new(self.params.threads, &Silent)?;
        let (graph, weights) = &self.state.core;
        let (a, b) = (old.label(graph, &context)?, new.label(graph, &context)?);
        let moved = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        let (k, anchor_weights) = (old.n_clusters, &old.anchor_weights);
        // The cut with the best H for the labels.
        let cut = |labels: &[u32]| {
            let joined = embedding::joined(graph, labels, weights, anchor_weights, k);
            let h = factor::polar(&joined, graph.n_cols, k)?;
            Ok::<_, Error>(simd::dot(&h, &joined))
        };
        let (before, after) = (cut(&a)?, cut(&b)?);
        let gain = (after - before) / before.abs().max(f64::MIN_POSITIVE);
        Ok((moved as f64 / a.len().max(1) as f64, gain))
    }

    /// The model, when all is done.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(self) -> Result<StoredFit, Error> {
        let Step::Done(mut model) = self.state.step else { return Err(mixed()) };
        let mut trace = self.state.trace;
        if let Some(large) = &mut trace.large {
            large.passes = self.state.passes;
            large.moved = self.state.moved;
            large.gain = self.state.gain;
            large.pass_seconds = self.state.pass_seconds;
        }
        model.params.core_rows = self.params.core_rows;
        let warnings = self.state.notes.warnings(&model, &trace);
        Ok(StoredFit { model: *model, trace, warnings })
    }

    /// What is known so far, as bytes: with the same settings and rows, [`Self::resume`] continues from
    /// there.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        task::to_bytes(&(self.fingerprint(), &self.state))
    }

    /// Goes on from what was known, as far as it is of the same settings and size of table.
    ///
    /// # Errors
    /// When the bytes are damaged, or of other settings or another table.
    pub fn resume(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let (fingerprint, state): (String, FitState) = task::from_bytes(bytes)?;
        if fingerprint != self.fingerprint() {
            return Err(StateError::OtherFit.into());
        }
        self.state = state;
        Ok(())
    }

    /// Settings and size in words; given arrays by a hash. Threads change nothing and may differ.
    fn fingerprint(&self) -> String {
        let mut hash = 0;
        let mut params = Params { threads: 0, ..self.params.clone() };
        for v in params.anchors.take().into_iter().flatten() {
            hash = mix(hash ^ v.to_bits());
        }
        if let Init::Given(labels) = &mut params.init {
            labels.drain(..).for_each(|label| hash = mix(hash ^ u64::from(label)));
        }
        let Self { n_rows, n_cols, single, sparse, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        format!("{version} {n_rows} {n_cols} {single} {sparse} {hash} {params:?}")
    }
}
