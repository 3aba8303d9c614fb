//! Progress and cancellation. The library prints nothing; it reports to an [`Observer`].

use std::time::Instant;

/// A step of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Reading, checking and scaling the rows.
    Prepare,
    /// Trying numbers of clusters.
    Path,
    /// Learning anchors.
    Anchors,
    /// Building the bipartite graph.
    Graph,
    /// The automatic choice among several graphs.
    Choose,
    /// The start of the labels: k-means or the spectral embedding.
    Start,
    /// The one-step cut on a fixed graph.
    Cut,
    /// Learning anchors, graph and labels alternately (Algorithm 1).
    Loop,
    /// Eigenvectors of a graph.
    Spectrum,
    /// k-means on an embedding.
    KMeans,
    /// Building the model and labeling the rows with it.
    Finish,
    /// Clustering resamples, where the stability of the clusters is asked for.
    Stability,
    /// The first reading of a large table.
    Scan,
    /// Labeling a large table, and improving the rule that labels it.
    Round,
}

impl Stage {
    /// A short lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Path => "path",
            Self::Anchors => "anchors",
            Self::Graph => "graph",
            Self::Choose => "choose",
            Self::Start => "start",
            Self::Cut => "cut",
            Self::Loop => "loop",
            Self::Spectrum => "spectrum",
            Self::KMeans => "kmeans",
            Self::Finish => "finish",
            Self::Stability => "stability",
            Self::Scan => "scan",
            Self::Round => "round",
        }
    }
}

/// The progress of a fit.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The step it is in.
    pub stage: Stage,
    /// Iteration of that step, from 0.
    pub iteration: usize,
    /// Maximum number of iterations of the step; 0 when it has none.
    pub max_iterations: usize,
    /// Value of the objective (loop) or of the cut (cut), once there is one.
    pub objective: Option<f64>,
    /// Which restart, from 0, and how many there are.
    pub restart: (usize, usize),
}

/// Watches a fit. Both methods may be called from any thread.
///
/// ```
/// use std::sync::Mutex;
/// use obcut_core::{Observer, Progress, Stage};
///
/// /// Keeps the stages that a fit has entered, in their order.
/// struct Stages(Mutex<Vec<Stage>>);
///
/// impl Observer for Stages {
///     fn progress(&self, progress: &Progress) {
///         let mut stages = self.0.lock().unwrap_or_else(|held| held.into_inner());
///         if stages.last() != Some(&progress.stage) {
///             stages.push(progress.stage);
///         }
///     }
/// }
///
/// let stages = Stages(Mutex::default());
/// obcut_core::parallel::Context::new(1, &stages)?.report(Stage::Graph, 0, 0, None)?;
/// assert_eq!(stages.0.into_inner().unwrap_or_default(), [Stage::Graph]);
/// # Ok::<(), obcut_core::Error>(())
/// ```
pub trait Observer: Sync {
    /// Called at the start of every stage and after every iteration.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// Asked many times a second; `true` ends the fit with [`crate::Error::Cancelled`].
    fn cancelled(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// A flag that cancels the fit when it is true.
impl Observer for std::sync::atomic::AtomicBool {
    fn cancelled(&self) -> bool {
        self.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Adds up seconds per stage.
#[derive(Default)]
pub struct Clock {
    seconds: Vec<(Stage, f64)>,
}

impl Clock {
    /// Runs `work` and books its time under `stage`.
    pub fn time<R>(&mut self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.book(stage, start.elapsed().as_secs_f64());
        result
    }

    fn book(&mut self, stage: Stage, seconds: f64) {
        match self.seconds.iter_mut().find(|(s, _)| *s == stage) {
            Some((_, total)) => *total += seconds,
            None => self.seconds.push((stage, seconds)),
        }
    }

    /// The seconds of every stage, in the order of their first appearance.
    pub fn finish(self) -> Vec<(String, f64)> {
        self.seconds.into_iter().map(|(s, t)| (s.name().to_string(), t)).collect()
    }
}
