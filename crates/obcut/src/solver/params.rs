//! Settings of a fit: plain data with names and defaults, judged once against the data.
//!
//! `Params::new(k)` is what a user gets; `Params::paper(k)` is the method as printed. Both columns
//! are listed in `docs/deviations.md`.

use serde::{Deserialize, Serialize};

use crate::error::ParamError;

/// Declares an enum of named choices with `name`, `ALL`, `FromStr` and `Display`.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    ($(#[$doc:meta])* $type:ident as $label:literal { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        pub enum $type {
            $($(#[$vdoc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// Every choice.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word that names the choice in files, options and messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::ParamError;

            fn from_str(word: &str) -> Result<Self, $crate::ParamError> {
                Self::ALL.iter().copied().find(|c| c.name() == word).ok_or_else(|| $crate::ParamError::Choice {
                    name: $label,
                    value: word.into(),
                    choices: Self::ALL.iter().map(|c| c.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

choices! {
    /// How a row of the bipartite graph B is made from the anchors.
    GraphKind as "graph" {
        /// Tries the others and their unions, keeps the best by the label-free score.
        Auto = "auto",
        /// The paper's row problem over all anchors, the largest entries kept.
        Global = "global",
        /// The same problem on the nearest anchors only.
        Local = "local",
        /// Closed form from the distances to the nearest anchors.
        Distance = "distance",
        /// Closed form from the distances to the nearest rows: every row is its own anchor.
        Neighbors = "neighbors",
    }
}

impl GraphKind {
    /// The kinds of links between a row and anchors.
    pub const NAMED: [Self; 3] = [Self::Global, Self::Local, Self::Distance];
}

choices! {
    /// How much is tried by the automatic choice of the graph.
    Effort as "effort" {
        /// Two graphs and their union, on few rows.
        Fast = "fast",
        /// Three graphs, two unions, two starts.
        Auto = "auto",
        /// More anchor sets and unions, judged on more rows.
        Thorough = "thorough",
    }
}

choices! {
    /// What is done to the features first. Fitted on the training rows, reused by predict.
    Scale as "scale" {
        /// For sparse counts (non-negative, more than 95 % zeros) unit rows, after inverse document
        /// frequencies when they are whole numbers; else min-max, by the span of most values where a
        /// column has a few far away.
        Auto = "auto",
        /// Every feature to [0, 1]; a constant feature has no say.
        MinMax = "minmax",
        /// Every feature to mean 0 and standard deviation 1; a constant feature becomes 0.
        Standard = "standard",
        /// Every feature about its median, in units of the distance between its quartiles.
        Robust = "robust",
        /// Every row to length 1; a zero row stays zero.
        UnitRows = "unit",
        /// Counts times inverse document frequencies, then every row to length 1.
        Idf = "idf",
        /// Nothing.
        None = "none",
    }
}

impl Scale {
    /// Whether rows are brought to length 1.
    pub(crate) fn is_unit(self) -> bool {
        matches!(self, Self::UnitRows | Self::Idf)
    }
}

choices! {
    /// What distance means.
    Metric as "metric" {
        /// The Euclidean distance of the scaled rows.
        Euclidean = "euclidean",
        /// The angle between rows: every row is brought to length 1.
        Cosine = "cosine",
    }
}

choices! {
    /// Weights of the anchors in the cut.
    AnchorWeights as "anchor weights" {
        /// All alike, as printed.
        None = "none",
        /// By the inverse root of the degree, floored, so that no anchor dominates.
        Degree = "degree",
    }
}

choices! {
    /// Which unknowns the loop learns after the start (the paper's ablation).
    Learn as "learn" {
        /// Learn anchors and graph from the cut, keep the labels when the label-free score does not fall.
        Auto = "auto",
        /// Anchors and graph: LA+LG.
        AnchorsAndGraph = "anchors-and-graph",
        /// The graph alone: FA+LG.
        GraphOnly = "graph-only",
        /// Neither, only the cut: FA+FG.
        Nothing = "nothing",
    }
}

choices! {
    /// Whether the cut takes part in learning the graph.
    Formulation as "formulation" {
        /// One objective for graph and cut.
        Unified = "unified",
        /// Learn the graph without the cut term, then cut it.
        TwoStep = "two-step",
    }
}

choices! {
    /// How the row problem is solved.
    RowSolver as "row solver" {
        /// Exactly, by an active set.
        Exact = "exact",
        /// The authors' accelerated projected gradient, which often stops early.
        Authors = "authors",
    }
}

choices! {
    /// How the anchors are learned.
    AnchorUpdate as "anchor update" {
        /// Least squares with a pseudo-inverse, as printed.
        LeastSquares = "least-squares",
        /// Least squares with a pull towards the first anchors.
        Proximal = "proximal",
    }
}

choices! {
    /// Whether trade-off numbers are measured in units of the data.
    LambdaScale as "lambda scale" {
        /// `lambda * V / sqrt(k N)` with V the total variance: 1 suits any data.
        Relative = "relative",
        /// The number as it stands in the paper's objective.
        Absolute = "absolute",
    }
}

choices! {
    /// Order in which the rows are visited by the label update.
    SweepOrder as "sweep order" {
        /// A random order that depends on the rows' content and the seed, never on the file.
        Shuffled = "shuffled",
        /// As the rows come. Leaks the order of a sorted file; for comparisons only.
        Rows = "rows",
    }
}

choices! {
    /// Whether wide tables are rotated to fewer columns first (exact: inner products are kept).
    Reduce as "reduce" {
        /// When a dense table has more columns than rows.
        Auto = "auto",
        /// Never.
        Never = "never",
    }
}

/// Where the labels start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// k-means on the spectral embedding of the graph.
    #[serde(rename = "spectral")]
    Spectral,
    /// k-means on the scaled rows, as printed.
    #[serde(rename = "kmeans")]
    KMeans,
    /// These labels, `0..k`, one for every row.
    #[serde(rename = "given")]
    Given(#[serde(skip)] Vec<u32>),
}

impl Init {
    /// The word that names the choice.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Spectral => "spectral",
            Self::KMeans => "kmeans",
            Self::Given(_) => "given",
        }
    }
}

/// Which rows are marked as noise: those whose outlier score is above a threshold. The clusters do not change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// The threshold follows from the spread of the scores: most tables of clear clusters have few such rows.
    Auto,
    /// About this share of the rows, between 0 and 1: those with the largest scores.
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

// The word or the number where people read it, a number elsewhere.
impl Serialize for Noise {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto if to.is_human_readable() => to.serialize_str("auto"),
            Self::Auto => to.serialize_f64(f64::NAN),
            Self::Share(share) => to.serialize_f64(*share),
        }
    }
}

impl<'de> Deserialize<'de> for Noise {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if !from.is_human_readable() {
            let share = f64::deserialize(from)?;
            return Ok(if share.is_nan() { Self::Auto } else { Self::Share(share) });
        }
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

/// All settings of a fit.
///
/// ```
/// let params = obcut::Params { n_anchors: Some(200), seed: 7, ..obcut::Params::new(10) };
/// assert_eq!(params.n_clusters, 10);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Number of clusters, k. With a `k_range` this is what the choice found.
    pub n_clusters: usize,
    /// Chooses k from this range, both ends included; without an upper end it follows from the rows. With 1 in
    /// the range, 1 is the answer where no clusters are found.
    #[serde(default)]
    pub k_range: Option<(usize, Option<usize>)>,
    /// How a row of B is made.
    pub graph: GraphKind,
    /// How much the automatic choice of the graph tries.
    #[serde(default = "usual")]
    pub effort: Effort,
    /// Anchors in a set, M; `None` chooses by the number of distinct rows.
    pub n_anchors: Option<usize>,
    /// Independent anchor sets side by side; `None` is 5 for the global graph, else 1.
    pub n_anchor_sets: Option<usize>,
    /// Given anchors, M × d row-major in the units of the data, instead of learned ones.
    #[serde(skip)]
    pub anchors: Option<Vec<f64>>,
    /// Entries kept in a row of the first graph, s.
    pub n_neighbors: usize,
    /// What is done to the features first.
    pub scale: Scale,
    /// What distance means. `cosine` brings rows to length 1.
    #[serde(default = "usual_metric")]
    pub metric: Metric,
    /// Where the labels start.
    pub init: Init,
    /// How much equal cluster sizes count in the automatic choice, from 0 (not at all) to 1.
    #[serde(default = "usual_balance")]
    pub balance: f64,
    /// Marks rows as noise; `None` marks none.
    #[serde(default)]
    pub noise: Option<Noise>,
    /// Resamples that the stability of the clusters is measured on, see [`crate::Explanation::stability`]; 0 does
    /// not measure it.
    #[serde(default)]
    pub stability: usize,
    /// Weights of the anchors in the cut.
    pub anchor_weights: AnchorWeights,
    /// Weight of the cut in the objective.
    pub lambda: f64,
    /// What `lambda` is measured in.
    pub lambda_scale: LambdaScale,
    /// What the loop learns.
    pub learn: Learn,
    /// Whether the cut takes part in learning the graph.
    pub formulation: Formulation,
    /// How the anchors are learned.
    pub anchor_update: AnchorUpdate,
    /// Pull of the proximal anchor update, relative to the mean of diag(B'B).
    pub pull: f64,
    /// How the row problem is solved.
    pub row_solver: RowSolver,
    /// Ridge on the rows of B, in units of the mean squared distance to the centre (V/N).
    pub ridge: f64,
    /// Most outer iterations of the loop.
    pub max_iter: usize,
    /// Stop when the objective changes by less than this, absolute or relative.
    pub tol: f64,
    /// Stop also when an iteration changes no label.
    pub stop_on_labels: bool,
    /// Most label sweeps in one outer iteration.
    pub max_sweeps: usize,
    /// Order of the label sweeps.
    pub sweep_order: SweepOrder,
    /// Restarts; the best by the label-free score is kept.
    pub n_init: usize,
    /// Rows per anchor that train the anchors; `None` uses all rows.
    pub rows_per_anchor: Option<usize>,
    /// Distinct rows that a table with more is clustered by, chosen at random, before all rows take
    /// part (see `docs/scaling.md`). `None` chooses by the number of columns and clusters tables with no
    /// more than twice as many whole; 0 takes all rows.
    #[serde(default)]
    pub core_rows: Option<usize>,
    /// Whether wide tables are rotated first.
    pub reduce: Reduce,
    /// Seed of every random choice.
    pub seed: u64,
    /// Threads; 0 uses what the machine allows. Does not change the result.
    pub threads: usize,
}

/// The metric of models that were written before there was a choice.
fn usual_metric() -> Metric {
    Metric::Euclidean
}

/// The balance of models that were written before there was a choice.
fn usual_balance() -> f64 {
    1.0
}

/// The effort of models that were written before there was a choice.
fn usual() -> Effort {
    Effort::Auto
}

impl Params {
    /// What a user gets who says nothing but the number of clusters.
    pub fn new(n_clusters: usize) -> Self {
        Self {
            n_clusters,
            k_range: None,
            graph: GraphKind::Auto,
            effort: Effort::Auto,
            n_anchors: None,
            n_anchor_sets: None,
            anchors: None,
            n_neighbors: 5,
            scale: Scale::Auto,
            metric: Metric::Euclidean,
            init: Init::Spectral,
            balance: 0.25,
            noise: None,
            stability: 0,
            anchor_weights: AnchorWeights::Degree,
            lambda: 1.0,
            lambda_scale: LambdaScale::Relative,
            learn: Learn::Nothing,
            formulation: Formulation::Unified,
            anchor_update: AnchorUpdate::Proximal,
            pull: 0.01,
            row_solver: RowSolver::Exact,
            ridge: 0.0,
            max_iter: 30,
            tol: 1e-5,
            stop_on_labels: true,
            max_sweeps: 10,
            sweep_order: SweepOrder::Shuffled,
            n_init: 1,
            rows_per_anchor: Some(100),
            core_rows: None,
            reduce: Reduce::Auto,
            seed: 0,
            threads: 0,
        }
    }

    /// The same, with k chosen from the data as well; 1 where no clusters are found.
    pub fn auto() -> Self {
        Self { k_range: Some((1, None)), ..Self::new(0) }
    }

    /// The method as the paper prints it, with what the authors' program adds to the print.
    pub fn paper(n_clusters: usize) -> Self {
        Self {
            graph: GraphKind::Global,
            n_anchors: Some(100),
            n_anchor_sets: Some(1),
            scale: Scale::MinMax,
            init: Init::KMeans,
            balance: 1.0,
            anchor_weights: AnchorWeights::None,
            lambda: 1.0,
            lambda_scale: LambdaScale::Absolute,
            learn: Learn::AnchorsAndGraph,
            anchor_update: AnchorUpdate::LeastSquares,
            stop_on_labels: false,
            rows_per_anchor: None,
            core_rows: Some(0),
            ..Self::new(n_clusters)
        }
    }

    /// The scaling that is asked for, with the metric taken into account.
    pub(crate) fn scaling(&self) -> Scale {
        match (self.metric, self.scale) {
            (Metric::Cosine, Scale::Auto) => Scale::UnitRows,
            (_, scale) => scale,
        }
    }

    /// The same with some settings replaced, by name and as JSON spells their values.
    ///
    /// ```
    /// let given = serde_json::json!({ "lambda": 10, "graph": "distance" });
    /// let given = given.as_object().into_iter().flatten();
    /// let params = obcut::Params::new(3).with_settings(given.map(|(name, value)| (name.as_str(), value)))?;
    /// assert_eq!(params.lambda, 10.0);
    /// # Ok::<(), obcut::ParamError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no setting of that name, or its value cannot be read.
    pub fn with_settings<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a serde_json::Value)>,
    ) -> Result<Self, ParamError> {
        let unreadable =
            |error: serde_json::Error| ParamError::Conflict(format!("settings: {error}"));
        let mut settings = serde_json::to_value(self).map_err(unreadable)?;
        let mut read = self.clone();
        for (name, value) in given {
            match settings.get_mut(name) {
                Some(setting) => *setting = value.clone(),
                None => return Err(ParamError::Conflict(format!("unknown setting '{name}'"))),
            }
            // One by one, so that the one at fault is known.
            read = serde_json::from_value(settings.clone())
                .map_err(|error| ParamError::Conflict(format!("setting '{name}': {error}")))?;
        }
        // What JSON does not carry.
        let (anchors, init) = (self.anchors.clone(), self.init.clone());
        let init = if let Init::Given(_) = read.init { init } else { read.init.clone() };
        Ok(Self { anchors, init, ..read })
    }
}
