//! The report of a clustering.

mod cards;
mod process;
mod sections;
#[cfg(test)]
mod tests;

use obcut::Named;
use obcut::{Explanation, Fit, Model, StopReason, Trace, metrics};
use serde::{Deserialize, Serialize};

use crate::number::{count, percent, plural, seconds};
use crate::page::{Page, Section};
use crate::report_data::ReportData;

/// The facts of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusteringFacts {
    /// Title of the report; empty for the default.
    pub title: String,
    /// Version of the program.
    pub version: String,
    /// The data set.
    pub data: Data,
    /// Names of the features; empty if they have none.
    pub feature_names: Vec<String>,
    /// The graph: the kinds of its links, joined by a plus.
    pub graph: String,
    /// Number of anchors in all sets.
    pub n_anchors: usize,
    /// The clusters, the candidates, and the choice of k.
    pub explanation: Explanation,
    /// Number of rows that are marked as noise, if the fit marks them.
    pub noise: Option<usize>,
    /// The convergence of the fit; `None` for a model that was loaded.
    pub convergence: Option<Convergence>,
    /// Scores against true classes.
    pub scores: Option<ClassScores>,
    /// Seconds per stage, in order.
    pub seconds: Vec<(String, f64)>,
    /// Names and values of all settings.
    pub settings: Vec<(String, String)>,
    /// The command or the program that repeats the clustering.
    pub command: Option<String>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The data on rows; without it, the report has no charts of rows.
    pub rows: Option<ReportData>,
}

/// The data set that was clustered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// Name of the file, if there is one.
    pub name: Option<String>,
    /// Number of features.
    pub features: usize,
    /// Type and storage of the values, such as `float64, sparse`; may be empty.
    pub kind: String,
}

/// The facts that neither the model nor the rows hold. They are small, so a fitted estimator can keep them for
/// a later report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FitFacts {
    /// The values of the iterations and the reason why they stopped.
    pub convergence: Option<Convergence>,
    /// Seconds per stage, in order.
    pub seconds: Vec<(String, f64)>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// Number of rows that are marked as noise, if the fit marks them.
    pub noise: Option<usize>,
}

impl FitFacts {
    /// Creates the facts of a fit; `noise` is the number of noise rows.
    pub fn new(trace: &Trace, warnings: &[String], noise: Option<usize>) -> Self {
        Self {
            convergence: Some(trace.into()),
            seconds: trace.seconds.clone(),
            warnings: warnings.to_vec(),
            noise,
        }
    }
}

impl From<&Fit> for FitFacts {
    fn from(fit: &Fit) -> Self {
        let noise = (fit.model().info().noise_threshold)
            .map(|_| fit.rows().iter().filter(|row| row.noise).count());
        // A front end words them for its users.
        let warnings: Vec<String> = fit.warnings().iter().map(|w| w.to_string()).collect();
        Self::new(fit.trace(), &warnings, noise)
    }
}

/// The iterations of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Objective at the start and after every iteration; empty if only the cut was optimized.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub objective: Vec<f64>,
    /// First term of the objective at the same iterations.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub residual: Vec<f64>,
    /// Value of the cut after every iteration.
    #[serde(deserialize_with = "crate::number::or_nan")]
    pub cut: Vec<f64>,
    /// Why the iterations stopped.
    pub stop: StopReason,
    /// Number of iterations.
    pub n_iter: usize,
    /// Whether the result of learning was rejected.
    pub loop_rejected: bool,
    /// Number of connected components of the graph, without tiny ones.
    pub n_pieces: usize,
    /// Number of columns of the graph without links.
    pub n_idle: usize,
}

/// Scores against true classes, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassScores {
    /// Normalised mutual information.
    pub nmi: f64,
    /// Accuracy under the best matching.
    pub acc: f64,
    /// Purity.
    pub purity: f64,
    /// Adjusted Rand index.
    pub ari: f64,
}

impl From<metrics::Scores> for ClassScores {
    fn from(metrics::Scores { nmi, acc, purity, ari }: metrics::Scores) -> Self {
        Self { nmi, acc, purity, ari }
    }
}

impl From<&Trace> for Convergence {
    fn from(trace: &Trace) -> Self {
        Self {
            objective: trace.objective.clone(),
            residual: trace.residual.clone(),
            cut: trace.cut.clone(),
            stop: trace.stop,
            n_iter: trace.n_iter(),
            loop_rejected: trace.loop_rejected,
            n_pieces: trace.n_pieces,
            n_idle: trace.n_idle,
        }
    }
}

impl ClusteringFacts {
    /// Creates the facts of a model.
    pub fn of_model(model: &Model) -> Self {
        let info = model.info();
        let mut settings = vec![
            ("graph_used".to_string(), info.graph.clone()),
            ("anchors_used".to_string(), info.n_anchors.to_string()),
            ("anchor_sets_used".to_string(), info.n_anchor_sets.to_string()),
            ("scale_used".to_string(), info.scale.name().to_string()),
        ];
        let given = serde_json::to_value(model.params()).ok();
        if let Some(given) = given.as_ref().and_then(|value| value.as_object()) {
            settings.extend(given.iter().map(|(name, value)| (name.clone(), plain(value))));
        }
        Self {
            version: info.version.to_string(),
            data: Data { features: model.n_features(), ..Data::default() },
            feature_names: model.feature_names().to_vec(),
            graph: info.graph,
            n_anchors: info.n_anchors,
            explanation: model.explanation().clone(),
            settings,
            ..Self::default()
        }
    }

    /// Creates the facts of a model and of its fit.
    pub fn new(model: &Model, fit: FitFacts) -> Self {
        let FitFacts { convergence, seconds, warnings, noise } = fit;
        Self { convergence, seconds, warnings, noise, ..Self::of_model(model) }
    }

    /// Creates the facts of a fit.
    pub fn of_fit(fit: &Fit) -> Self {
        Self::new(fit.model(), fit.into())
    }

    /// Number of clusters.
    fn k(&self) -> usize {
        self.explanation.clusters.len()
    }

    /// Number of rows of the fit.
    fn n_rows(&self) -> usize {
        self.explanation.clusters.iter().map(|c| c.rows).sum()
    }

    /// Name of a feature.
    fn feature(&self, index: usize) -> String {
        let Some(name) = self.feature_names.get(index).filter(|name| !name.trim().is_empty())
        else {
            return format!("column {index}");
        };
        match self.feature_names.iter().filter(|other| *other == name).count() {
            1 => name.clone(),
            // Columns with the same name also get their index.
            _ => format!("{name} (column {index})"),
        }
    }
}

/// The value of a setting as text.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "not set".into(),
        serde_json::Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// Writes the report.
pub fn clustering(facts: &ClusteringFacts) -> String {
    let title = match facts.title.as_str() {
        "" => match &facts.data.name {
            Some(name) => format!("Clusters of {name}"),
            None => "Clusters".into(),
        },
        title => title.into(),
    };
    let sections: Vec<Section> = [
        sections::sizes(facts),
        sections::rows(facts),
        sections::certainty(facts),
        cards::differences(facts),
        process::course(facts),
        process::choices(facts),
        process::settings(facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    let page = Page {
        title,
        subtitle: subtitle(facts),
        tiles: tiles(facts),
        warnings: warnings(facts),
        sections,
        footer: format!("Written by obcut {}. This file works offline.", facts.version),
    };
    page.html()
}

fn subtitle(facts: &ClusteringFacts) -> String {
    let kind = match facts.data.kind.as_str() {
        "" => String::new(),
        kind => format!(" ({kind})"),
    };
    format!(
        "{} with {}{kind} in {} by one-step bipartite graph cut",
        plural(facts.n_rows(), "row"),
        plural(facts.data.features, "feature"),
        plural(facts.k(), "cluster"),
    )
}

fn tiles(facts: &ClusteringFacts) -> Vec<(String, String)> {
    let mut tiles = vec![
        ("Rows".to_string(), count(facts.n_rows())),
        ("Features".to_string(), count(facts.data.features)),
        ("Clusters".to_string(), count(facts.k())),
        ("Graph".to_string(), facts.graph.replace('+', " + ")),
        ("Anchors".to_string(), count(facts.n_anchors)),
    ];
    if let Some(noise) = facts.noise {
        tiles.insert(3, ("Noise rows".into(), count(noise)));
    }
    if let Some(c) = &facts.convergence {
        tiles.push(("Iterations".into(), count(c.n_iter)));
        let state = if c.stop != StopReason::MaxIter { "yes" } else { "no" };
        tiles.push(("Converged".into(), state.into()));
    }
    if let Some(ClassScores { nmi, acc, purity, ari }) = facts.scores {
        for (name, value) in [("NMI", nmi), ("Accuracy", acc), ("Purity", purity), ("ARI", ari)] {
            tiles.push((name.into(), percent(value)));
        }
    }
    let total: f64 = facts.seconds.iter().map(|stage| stage.1).sum();
    if total > 0.0 {
        tiles.push(("Time".into(), seconds(total)));
    }
    tiles
}

/// The warnings of the fit, and those that follow from the facts.
fn warnings(facts: &ClusteringFacts) -> Vec<String> {
    let mut all = facts.warnings.clone();
    if let Some(c) = &facts.convergence {
        if c.stop == StopReason::MaxIter && c.objective.is_empty() {
            all.push(format!(
                "the cut was still rising after {}; raise the maximum number of iterations to continue",
                plural(c.n_iter, "iteration")
            ));
        }
        if c.n_idle > 0 {
            let (have, are) = if c.n_idle == 1 { ("has", "is") } else { ("have", "are") };
            all.push(format!(
                "{} {have} no links to rows and {are} not used; fewer anchors give the same result",
                plural(c.n_idle, "anchor"),
            ));
        }
        // The fit itself warns of more components than clusters, and an equal number is ideal.
        if c.n_pieces > 1 && c.n_pieces < facts.k() {
            all.push(format!(
                "the graph is not connected: it has {} components, without tiny ones, and clusters follow them",
                c.n_pieces
            ));
        }
    }
    let alone: Vec<String> = (facts.explanation.clusters.iter().enumerate())
        .filter(|(_, c)| c.rows == 1)
        .map(|(j, _)| j.to_string())
        .collect();
    if !alone.is_empty() && facts.n_rows() > facts.k() {
        let few = alone.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
        let more = if alone.len() > 10 {
            format!(" and {} more", alone.len() - 10)
        } else {
            String::new()
        };
        all.push(format!("clusters with a single row: {few}{more}; a smaller k may fit better"));
    }
    all
}

/// Formats a share with three decimals, such as `0.930`.
fn share(value: f64) -> String {
    format!("{value:.3}")
}
