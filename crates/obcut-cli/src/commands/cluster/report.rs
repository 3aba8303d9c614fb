//! The facts of `obcut cluster`, as JSON and as a summary.

use obcut::Named;
use std::path::PathBuf;

use obcut::{Model, Params, StopReason, Trace};
use obcut_data::RowLabels;
use serde::Serialize;

use crate::args::Targets;
use crate::input::InputFacts;
use crate::output::{Summary, number, plural};
use crate::report::{
    self, ClusterFacts, ExplanationFacts, PassFacts, ScoreFacts, TimeFacts, WeightFacts,
};

/// The facts of a run. The names in JSON are stable.
#[derive(Serialize)]
pub struct ClusterReport<'a> {
    pub input: InputFacts,
    pub settings: ClusterSettings<'a>,
    pub clusters: ClusterFacts,
    pub explanation: ExplanationFacts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightFacts>,
    pub objective: Option<f64>,
    pub cut: Option<f64>,
    pub iterations: usize,
    pub stopped: StopReason,
    pub trace: TraceFacts<'a>,
    pub seconds: TimeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoreFacts>,
    pub output: ClusterOutput<'a>,
    pub warnings: &'a [String],
    #[serde(flatten)]
    pub labels: Option<&'a RowLabels>,
}

/// The settings that were used.
#[derive(Serialize)]
pub struct ClusterSettings<'a> {
    #[serde(flatten)]
    params: &'a Params,
    graph_used: String,
    anchors_used: usize,
    anchor_sets_used: usize,
    scale_used: &'static str,
    threads_used: usize,
}

/// How the fit converged.
#[derive(Serialize)]
pub struct TraceFacts<'a> {
    objective: &'a [f64],
    cut: &'a [f64],
    restart_scores: &'a [f64],
    restart_kept: usize,
    loop_rejected: bool,
}

/// The files that were written.
#[derive(Serialize)]
pub struct ClusterOutput<'a> {
    labels: Option<&'a PathBuf>,
    model: Option<&'a PathBuf>,
    report: Option<&'a PathBuf>,
}

impl<'a> ClusterSettings<'a> {
    /// Collects the settings of a fitted model.
    pub fn new(model: &'a Model, threads: usize) -> Self {
        let info = model.info();
        Self {
            params: model.params(),
            graph_used: info.graph,
            anchors_used: info.n_anchors,
            anchor_sets_used: info.n_anchor_sets,
            scale_used: info.scale.name(),
            threads_used: report::threads(threads),
        }
    }
}

impl<'a> TraceFacts<'a> {
    /// Collects the values of a trace.
    pub fn new(trace: &'a Trace) -> Self {
        Self {
            objective: &trace.objective,
            cut: &trace.cut,
            restart_scores: &trace.scores,
            restart_kept: trace.kept,
            loop_rejected: trace.loop_rejected,
        }
    }
}

impl<'a> ClusterOutput<'a> {
    /// Collects the files of a run.
    pub fn new(targets: &'a Targets) -> Self {
        let Targets { labels, second, report, .. } = targets;
        Self { labels: labels.as_ref(), model: second.as_ref(), report: report.as_ref() }
    }

    fn named(&self) -> [(&'static str, Option<&'a PathBuf>); 3] {
        [("labels", self.labels), ("model", self.model), ("report", self.report)]
    }
}

impl ClusterReport<'_> {
    /// Writes the summary, with the explanation if requested.
    pub fn summary(&self, explain: bool) -> Summary {
        let params = self.settings.params;
        let mut summary = Summary::new(self.input.text("feature"));
        let mut method = match self.explanation.kept() {
            Some(kept) if kept.start == kept.graph => kept.graph.clone(),
            Some(kept) => format!("{} from {}", kept.graph, kept.start),
            None => format!("{} from {}", self.settings.graph_used, params.init),
        };
        let n_tried = self.explanation.tried.len();
        if n_tried > 1 {
            method += &format!(", the best of {n_tried} candidates");
        }
        method += &format!("; scale {}", self.settings.scale_used);
        if params.n_init > 1 {
            method += &format!(", best of {} runs", params.n_init);
        }
        summary.line("method", method);
        summary.line(
            "anchors",
            format!(
                "{}, {} links per row ({})",
                self.settings.anchors_used, params.n_neighbors, self.settings.graph_used
            ),
        );
        summary.line(
            "run",
            format!("seed {}, {}", params.seed, plural(self.settings.threads_used, "thread")),
        );
        self.explanation.write_path(&mut summary);
        if let Some(passes) = &self.passes {
            passes.write(&mut summary);
        }
        self.clusters.write("clusters", &mut summary);
        self.explanation.write_stability(params.stability, &mut summary);
        if let Some(weights) = &self.weights {
            weights.write(&mut summary);
        }
        let steps = format!("after {} ({})", plural(self.iterations, "iteration"), self.stopped);
        match (self.objective, self.cut) {
            (Some(objective), Some(cut)) => summary
                .line("objective", format!("{} {steps}, cut {}", number(objective), number(cut))),
            (Some(objective), None) => {
                summary.line("objective", format!("{} {steps}", number(objective)));
            }
            (None, Some(cut)) => summary.line("cut", format!("{} {steps}", number(cut))),
            (None, None) => {}
        }
        if self.trace.loop_rejected {
            summary.line("", "learning anchors and graph scored worse, so the first cut is kept");
        }
        if let Some(scores) = &self.scores {
            scores.write(&mut summary);
        }
        self.seconds.write(&mut summary);
        summary.paths(&self.output.named());
        if explain {
            self.explanation.write(&mut summary);
        }
        summary.warnings(self.warnings);
        summary
    }
}
