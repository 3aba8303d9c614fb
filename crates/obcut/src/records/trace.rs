//! What happened during a fit: values, seconds, and why it stopped.

use serde::{Deserialize, Serialize};

use super::explanation::CandidateScore;

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// No label changed in an iteration.
    Labels,
    /// The objective changed by less than the tolerance.
    Objective,
    /// The maximum number of iterations was reached.
    MaxIter,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Labels => "labels stopped changing",
            Self::Objective => "objective stopped changing",
            Self::MaxIter => "maximum number of iterations reached",
        })
    }
}

/// Values and times of one fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Objective (Eq. obj-final) at the start and after every outer iteration; empty when the loop
    /// did not run.
    pub objective: Vec<f64>,
    /// First term of the objective, the squared distance of the rows to the mixtures of anchors that
    /// stand for them, at the same times.
    #[serde(default)]
    pub residual: Vec<f64>,
    /// Value of the cut (the trace of Eq. relax-OBCut) after every iteration.
    pub cut: Vec<f64>,
    /// Seconds of every outer iteration.
    pub iteration_seconds: Vec<f64>,
    /// Seconds per stage, in the order of their first appearance, over all restarts.
    pub seconds: Vec<(String, f64)>,
    /// Why the loop (or the cut, when there was no loop) ended.
    pub stop: StopReason,
    /// Label-free score of every restart.
    pub scores: Vec<f64>,
    /// Which restart was kept.
    pub kept: usize,
    /// Graphs and starts that the automatic choice tried, for the restart that was kept; empty when
    /// the graph was named.
    pub tried: Vec<CandidateScore>,
    /// Whether the learning loop ran but its labels were not kept, as the score fell.
    pub loop_rejected: bool,
    /// Pieces of some size that the first graph falls into.
    #[serde(default)]
    pub n_pieces: usize,
    /// Columns of the first graph that no row is linked to.
    #[serde(default)]
    pub n_idle: usize,
    /// How a large table was read, if it was; the rest of the trace is about its core.
    #[serde(default)]
    pub large: Option<LargeTrace>,
}

/// How a large table was clustered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LargeTrace {
    /// Distinct rows of the core.
    pub core_rows: usize,
    /// Times that all rows were read.
    pub passes: usize,
    /// After every round of labeling all rows, the share of the core that the next rule would move.
    pub moved: Vec<f64>,
    /// After every round, the part by which the next rule would raise the cut of the core.
    pub gain: Vec<f64>,
    /// Seconds of every pass.
    pub pass_seconds: Vec<f64>,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self {
            objective: Vec::new(),
            residual: Vec::new(),
            cut: Vec::new(),
            iteration_seconds: Vec::new(),
            seconds: Vec::new(),
            stop: StopReason::MaxIter,
            scores: Vec::new(),
            kept: 0,
            tried: Vec::new(),
            loop_rejected: false,
            n_pieces: 0,
            n_idle: 0,
            large: None,
        }
    }

    /// Outer iterations of the loop, or of the cut when there was no loop.
    pub fn n_iter(&self) -> usize {
        if self.objective.is_empty() { self.cut.len() } else { self.objective.len() - 1 }
    }
}
