//! The choices that parameters offer.

use serde::{Deserialize, Serialize};

use obcut_core::choice::Choice;
use obcut_core::choices;
use obcut_core::error::ParamError;

choices! {
    /// How rows are linked.
    GraphKind as "graph" {
        /// try several graphs, trees and k-means, keep the best by a score that needs no labels
        Auto = "auto",
        /// best mixture of all anchors, largest entries kept (the paper)
        Global = "global",
        /// best mixture of the nearest anchors
        Local = "local",
        /// by the distances to the nearest anchors, in closed form
        Distance = "distance",
        /// by the distances to the nearest rows, in closed form: every row is its own anchor
        Neighbors = "neighbors",
    }
}

choices! {
    /// How many candidates the automatic choice of the graph tries.
    Effort as "effort" {
        /// graphs between rows and anchors, trees and k-means, compared on 10,000 rows
        Fast = "fast",
        /// graphs of nearest rows as well, compared on 20,000 rows
        Auto = "auto",
        /// more graphs and anchor sets, compared on 100,000 rows
        Thorough = "thorough",
    }
}

choices! {
    /// The distance between rows.
    Metric as "metric" {
        /// Euclidean distance between the scaled rows
        Euclidean = "euclidean",
        /// angle between rows: every row is scaled to length 1
        Cosine = "cosine",
    }
}

choices! {
    /// Weights of the anchors in the cut.
    AnchorWeights as "anchor_weights" {
        /// all equal (the paper)
        None = "none",
        /// the inverse square root of the degree, bounded, so that no anchor dominates
        Degree = "degree",
    }
}

choices! {
    /// What is learned together with the labels after the start: the paper's ablation.
    Learn as "learn" {
        /// learn anchors and graph, keep the result if its score is better
        Auto = "auto",
        /// anchors and graph (the paper, LA+LG)
        AnchorsAndGraph = "anchors-and-graph",
        /// the graph alone (FA+LG)
        GraphOnly = "graph-only",
        /// nothing: only cut the first graph (FA+FG)
        Nothing = "nothing",
    }
}

choices! {
    /// Whether the cut takes part in learning the graph.
    Formulation as "formulation" {
        /// one objective for graph and cut (the paper)
        Unified = "unified",
        /// learn the graph first, then cut it
        TwoStep = "two-step",
    }
}

choices! {
    /// Solver of the problem that links a row to anchors.
    RowSolver as "row_solver" {
        /// exact, by an active set
        Exact = "exact",
        /// the accelerated projected gradient of the authors' program, which often stops early
        Authors = "authors",
        /// the augmented Lagrangian method that the paper names, optimal to about 1e-5 and slow
        Alm = "alm",
    }
}

choices! {
    /// How anchors are learned.
    AnchorUpdate as "anchor_update" {
        /// least squares with a pseudo-inverse (the paper)
        LeastSquares = "least-squares",
        /// least squares with a pull towards the first anchors
        Proximal = "proximal",
    }
}

choices! {
    /// The unit of lambda.
    LambdaScale as "lambda_scale" {
        /// relative to the variance of the data, so that 1 suits any table
        Relative = "relative",
        /// as in the objective of the paper
        Absolute = "absolute",
    }
}

choices! {
    /// Order in which the label update visits the rows.
    SweepOrder as "sweep_order" {
        /// a random order that depends on the content of the rows and the seed, never on the file
        Shuffled = "shuffled",
        /// the order of the file, which reveals the classes of a sorted file; for comparisons only
        Rows = "rows",
    }
}

choices! {
    /// Whether wide tables are rotated to fewer columns first, which keeps all distances.
    Reduce as "reduce" {
        /// when a dense table has more columns than rows
        Auto = "auto",
        /// never
        Never = "never",
    }
}

/// Where the labels start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// k-means on the spectral embedding of the graph.
    Spectral,
    /// k-means on the scaled rows, as in the paper.
    KMeans,
    /// These labels, `0..k`, one for every row.
    Given(Vec<u32>),
}

impl Init {
    /// The starts that have a name.
    pub(crate) const CHOICES: &'static [Choice] = &[
        Choice { name: "spectral", help: "k-means on the spectral embedding of the graph" },
        Choice { name: "kmeans", help: "k-means on the scaled rows (the paper)" },
    ];

    /// The word that names the choice.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Spectral => "spectral",
            Self::KMeans => "kmeans",
            Self::Given(_) => "given",
        }
    }
}

impl std::fmt::Display for Init {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

// The word, or the labels. A model keeps no labels of its fit, so "given" may stand alone.
impl Serialize for Init {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Given(labels) if !labels.is_empty() => labels.serialize(to),
            other => to.serialize_str(other.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Init {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Labels(Vec<u32>),
            Word(String),
        }
        match Given::deserialize(from)? {
            Given::Labels(labels) => Ok(Self::Given(labels)),
            Given::Word(word) => match word.as_str() {
                "spectral" => Ok(Self::Spectral),
                "kmeans" => Ok(Self::KMeans),
                "given" => Ok(Self::Given(Vec::new())),
                _ => Err(serde::de::Error::custom(format!("unknown init '{word}'"))),
            },
        }
    }
}

/// Which rows are marked as noise: those with the largest outlier scores. The clusters do not change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Noise {
    /// The threshold follows from the distribution of the scores.
    Auto,
    /// About this share of the rows, between 0 and 1.
    Share(f64),
}

impl std::fmt::Display for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl std::str::FromStr for Noise {
    type Err = ParamError;

    fn from_str(word: &str) -> Result<Self, ParamError> {
        match (word, word.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(share)) => Ok(Self::Share(share)),
            _ => Err(ParamError::Choice {
                name: "noise",
                value: word.into(),
                choices: "auto, a share between 0 and 1".into(),
            }),
        }
    }
}

impl Serialize for Noise {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => to.serialize_str("auto"),
            Self::Share(share) => to.serialize_f64(*share),
        }
    }
}

impl<'de> Deserialize<'de> for Noise {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Share(f64),
            Word(String),
        }
        match Given::deserialize(from)? {
            Given::Share(share) => Ok(Self::Share(share)),
            Given::Word(word) => word.parse().map_err(serde::de::Error::custom),
        }
    }
}
