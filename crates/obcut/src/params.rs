//! The parameters of a fit, in one table.
//!
//! `Params::new(k)` has the defaults; `Params::paper(k)` is the method as the paper prints it. A new
//! parameter is a row of the table below and the code that uses it: the command, the Python class and
//! the documentation follow from the table.

mod builder;
pub(crate) mod check;
mod kinds;
#[cfg(feature = "front-ends")]
pub(crate) mod spell;
// Without front ends nobody reads the help texts.
#[cfg_attr(not(feature = "front-ends"), allow(dead_code))]
pub(crate) mod table;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use obcut_core::error::{Error, ParamError};

pub use builder::OBCut;
pub use kinds::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, Reduce, RowSolver, SweepOrder,
};
use obcut_core::choice::{Kind, Named};
pub use obcut_core::normalize::Scale;
use table::{Group, Parameter, Word};

const POSITIVE: Kind = Kind::Integer { min: 1 };
const NATURAL: Kind = Kind::Integer { min: 0 };
const NOT_NEGATIVE: Kind = Kind::Real { min: 0.0, max: f64::INFINITY, open: false };

/// A method of [`OBCut`] for a parameter of the first group.
macro_rules! setter {
    // The constructors take it.
    (Method () n_clusters: $($rest:tt)+) => {};
    (Method () $name:ident: $type:ty, $($help:literal),+) => {
        $(#[doc = $help])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.params.$name = $name;
            self
        }
    };
    (Method (into) $name:ident: $type:ty, $($help:literal),+) => {
        $(#[doc = $help])+
        #[must_use]
        pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.params.$name = $name.into();
            self
        }
    };
    ($group:ident $($rest:tt)+) => {};
}

/// Declares [`Params`] and its table. A row is
///
/// ```text
/// /// Help text, for the documentation, the command and Python alike.
/// name: Type = default, paper = value in the paper's preset;
///     Group "option" "VALUE_NAME" kind, [words];
/// ```
///
/// `name(into): Option<Type>` lets the method of [`OBCut`] take the value itself.
macro_rules! parameters {
    ($(#[$doc:meta])* $params:ident {$(
        $(#[doc = $help:literal])+
        $(#[serde($($serde:tt)+)])?
        $name:ident $(($into:ident))?: $type:ty = $default:expr $(, paper = $paper:expr)?;
        $group:ident $option:literal $value_name:literal $kind:expr, $words:expr;
    )+}) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct $params {
            $($(#[doc = $help])+ $(#[serde($($serde)+)])? pub $name: $type,)+
        }

        /// Every parameter, in the order of the fields of [`Params`].
        pub const PARAMETERS: &[Parameter] = &[$(Parameter {
            name: stringify!($name),
            option: $option,
            value_name: $value_name,
            group: Group::$group,
            kind: $kind,
            words: &$words,
            help: concat!($($help, "\n"),+),
        },)+];

        impl $params {
            /// The default parameters.
            pub fn new(n_clusters: usize) -> Self {
                Self { n_clusters, ..Self { $($name: $default,)+ } }
            }

            /// The method as the paper prints it, with what the authors' program adds to the print.
            pub fn paper(n_clusters: usize) -> Self {
                Self { $($($name: $paper,)?)+ ..Self::new(n_clusters) }
            }

            /// One value as JSON; null for a name that is no parameter.
            fn value(&self, name: &str) -> Value {
                match name {
                    $(stringify!($name) => serde_json::to_value(&self.$name).unwrap_or_default(),)+
                    _ => Value::Null,
                }
            }

            fn assign(&mut self, name: &str, value: Value) -> Result<(), ParamError> {
                let unreadable = |value: &Value, error: serde_json::Error| ParamError::Unreadable {
                    name: name.into(),
                    value: value.to_string(),
                    detail: error.to_string(),
                };
                match name {
                    $(stringify!($name) => {
                        self.$name = <$type>::deserialize(&value)
                            .map_err(|error| unreadable(&value, error))?;
                    })+
                    _ => {
                        let known = [$(stringify!($name)),+];
                        return Err(ParamError::Unknown { name: name.into(), near: nearest(name, &known) });
                    }
                }
                Ok(())
            }
        }

        /// Parameters that most people look at. The others are fields of [`Params`].
        impl OBCut<'_> {
            $(setter! { $group ($($into)?) $name: $type, $($help),+ })+
        }
    };
}

parameters! {
    /// All parameters of a fit.
    ///
    /// ```
    /// let params = obcut::Params { n_anchors: Some(200), seed: 7, ..obcut::Params::new(10) };
    /// assert_eq!(params.n_clusters, 10);
    ///
    /// let params: obcut::Params = serde_json::from_str(r#"{ "n_clusters": 5, "graph": "distance" }"#)?;
    /// assert_eq!(params.n_init, 1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    Params {
        /// Number of clusters; 'auto' or a range chooses it from the data
        ///
        /// The choice compares the table with one of the same size, mean and covariance that has no
        /// clusters. 1 means that no clusters were found. A warning says when the data do not determine
        /// the number clearly.
        n_clusters: usize = 8;
            Method "clusters" "K" Kind::Clusters, [Word::itself("auto")];
        /// Chooses the number of clusters from this range, both ends included. Without an upper end it
        /// follows from the number of rows.
        k_range: Option<(usize, Option<usize>)> = None;
            Hidden "" "" Kind::Range, [];
        /// How rows are linked
        graph: GraphKind = GraphKind::Auto, paper = GraphKind::Global;
            Method "graph" "KIND" Kind::Choice(GraphKind::CHOICES), [];
        /// How many candidates `graph=auto` tries
        effort: Effort = Effort::Auto;
            Method "effort" "LEVEL" Kind::Choice(Effort::CHOICES), [];
        /// Number of anchors in a set
        n_anchors(into): Option<usize> = None, paper = Some(100);
            Method "anchors" "M" POSITIVE, [Word::nothing("auto")];
        /// Number of independent anchor sets side by side; 'auto' is 5 for the global graph, else 1
        n_anchor_sets(into): Option<usize> = None, paper = Some(1);
            Method "anchor-sets" "SETS" POSITIVE, [Word::nothing("auto")];
        /// Table of anchors to use instead of learned ones, in the units of the data
        #[serde(skip_serializing_if = "Option::is_none")]
        anchors: Option<Vec<f64>> = None;
            Advanced "given-anchors" "FILE" Kind::Anchors, [];
        /// Number of anchors that a row is linked to
        n_neighbors: usize = 5;
            Method "neighbors" "S" POSITIVE, [];
        /// How features are scaled before clustering
        scale: Scale = Scale::Auto, paper = Scale::MinMax;
            Method "scale" "METHOD" Kind::Choice(Scale::CHOICES), [];
        /// Distance between rows
        metric: Metric = Metric::Euclidean;
            Method "metric" "NAME" Kind::Choice(Metric::CHOICES), [];
        /// Where the labels start
        init: Init = Init::Spectral, paper = Init::KMeans;
            Method "init" "START" Kind::Labels(Init::CHOICES), [];
        /// How much `graph=auto` favors clusters of equal size, from 0 (not at all) to 1
        balance: f64 = 0.25, paper = 1.0;
            Method "balance" "B" Kind::Real { min: 0.0, max: 1.0, open: false }, [];
        /// Mark outlying rows with the label -1: about this share of the rows, or as many as the scores suggest
        ///
        /// The rows with the largest outlier scores are marked. The clusters stay the same, and new rows
        /// are marked by the same threshold.
        noise(into): Option<Noise> = None;
            Method "noise" "SHARE" Kind::Real { min: 0.0, max: 1.0, open: true },
            [Word::itself("auto"), Word::nothing("none")];
        /// Number of resamples to measure the stability of the clusters on
        ///
        /// Each costs a clustering of four fifths of the distinct rows, at most 4,000. The labels stay
        /// the same.
        stability: usize = 0;
            Method "stability" "N" NATURAL, [];
        /// Weights of the anchors in the cut
        anchor_weights: AnchorWeights = AnchorWeights::Degree, paper = AnchorWeights::None;
            Advanced "anchor-weights" "HOW" Kind::Choice(AnchorWeights::CHOICES), [];
        /// Weight of the cut in the objective of the learning loop
        lambda: f64 = 1.0;
            Learning "lambda" "L" NOT_NEGATIVE, [];
        /// Unit of `lambda`
        lambda_scale: LambdaScale = LambdaScale::Relative, paper = LambdaScale::Absolute;
            Learning "lambda-scale" "UNIT" Kind::Choice(LambdaScale::CHOICES), [];
        /// What is learned together with the labels after the start
        learn: Learn = Learn::Nothing, paper = Learn::AnchorsAndGraph;
            Learning "learn" "WHAT" Kind::Choice(Learn::CHOICES), [];
        /// Whether the cut takes part in learning the graph
        formulation: Formulation = Formulation::Unified;
            Learning "formulation" "FORM" Kind::Choice(Formulation::CHOICES), [];
        /// How anchors are learned
        anchor_update: AnchorUpdate = AnchorUpdate::Proximal, paper = AnchorUpdate::LeastSquares;
            Learning "anchor-update" "HOW" Kind::Choice(AnchorUpdate::CHOICES), [];
        /// Strength of the pull of `anchor_update=proximal` towards the first anchors
        pull: f64 = 0.01;
            Learning "pull" "P" NOT_NEGATIVE, [];
        /// Solver of the problem that links a row to anchors
        row_solver: RowSolver = RowSolver::Exact;
            Advanced "row-solver" "NAME" Kind::Choice(RowSolver::CHOICES), [];
        /// Ridge penalty on the links of a row, relative to the mean squared distance to the center
        ridge: f64 = 0.0;
            Advanced "ridge" "R" NOT_NEGATIVE, [];
        /// Maximum number of iterations of the cut and of the learning loop
        max_iter: usize = 30;
            Advanced "max-iter" "N" POSITIVE, [];
        /// Stop the learning loop when the objective changes by less than this
        tol: f64 = 1e-5;
            Learning "tol" "T" NOT_NEGATIVE, [];
        /// Stop the learning loop also when no label changes
        stop_on_labels: bool = true, paper = false;
            Learning "stop-on-labels" "BOOL" Kind::Boolean, [];
        /// Maximum number of passes over the labels in an iteration
        max_sweeps: usize = 10;
            Advanced "max-sweeps" "N" POSITIVE, [];
        /// Order in which the label update visits the rows
        sweep_order: SweepOrder = SweepOrder::Shuffled;
            Advanced "sweep-order" "ORDER" Kind::Choice(SweepOrder::CHOICES), [];
        /// Number of restarts; the result with the best score is kept
        ///
        /// The score needs no labels. With 1, `graph=auto` starts tables of up to 1,000 distinct rows six
        /// times and those of up to 2,500 three times.
        n_init: usize = 1;
            Method "n-init" "N" POSITIVE, [];
        /// Number of rows per anchor that train the anchors
        rows_per_anchor: Option<usize> = Some(100), paper = None;
            Advanced "rows-per-anchor" "N" POSITIVE, [Word::nothing("all")];
        /// Coreset size: large tables are clustered on this many distinct rows first, then all rows are assigned
        ///
        /// 'auto' is 32,768 to 131,072 by the number of features, and more for many clusters or anchors,
        /// for tables with more than twice as many rows. 'all' clusters all rows at once.
        core_rows: Option<usize> = None, paper = Some(0);
            Advanced "core-rows" "N" POSITIVE, [Word::nothing("auto"), Word::zero("all")];
        /// Whether wide tables are rotated to fewer columns first, which keeps all distances
        reduce: Reduce = Reduce::Auto;
            Advanced "reduce" "WHEN" Kind::Choice(Reduce::CHOICES), [];
        /// Seed of all random choices
        seed: u64 = 0;
            Method "seed" "SEED" NATURAL, [];
        /// Number of threads; 0 uses all cores. The result does not depend on it
        threads: usize = 0;
            Method "threads" "T" NATURAL, [];
    }
}

/// The row of the table for a name.
pub fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

impl Params {
    /// The defaults, with the number of clusters chosen from the data; 1 where no clusters are found.
    pub fn auto() -> Self {
        Self { k_range: Some((1, None)), ..Self::new(0) }
    }

    /// Sets one parameter by name. The value is as JSON spells it; special words such as "auto" are
    /// understood.
    ///
    /// # Errors
    /// When no parameter has that name, or the value is out of range.
    ///
    /// ```
    /// let mut params = obcut::Params::new(3);
    /// params.set("lambda", &10.into())?;
    /// params.set("n_anchors", &"auto".into())?;
    /// assert!(params.set("n_neighbors", &0.into()).is_err());
    /// # Ok::<(), obcut::Error>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), Error> {
        Ok(self.put(name, value)?)
    }

    fn put(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        let Some(parameter) = parameter(name) else {
            return self.assign(name, value.clone());
        };
        if parameter.kind == Kind::Clusters {
            return self.set_clusters(parameter, value);
        }
        let stored = parameter.stored(value);
        // A model keeps no start labels of its fit.
        if !(parameter.name == "init" && value == "given") {
            parameter.check(&stored)?;
        }
        self.assign(name, stored)
    }

    /// A number, "auto", or a range as two numbers.
    fn set_clusters(&mut self, parameter: &Parameter, value: &Value) -> Result<(), ParamError> {
        let range: Option<(usize, Option<usize>)> = match value {
            Value::String(word) if word == "auto" => Some((1, None)),
            Value::Array(_) => Deserialize::deserialize(value).ok(),
            _ => None,
        };
        match (range, value.as_u64()) {
            (Some(range), _) => {
                self.k_range = Some(range);
                self.n_clusters = range.0;
            }
            (None, Some(k)) => self.n_clusters = k as usize,
            _ => return Err(parameter.out_of_range(&value.to_string())),
        }
        Ok(())
    }

    /// The same with some parameters replaced, see [`Params::set`].
    pub(crate) fn with_settings<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Self, ParamError> {
        let mut params = self.clone();
        given.into_iter().try_for_each(|(name, value)| params.put(name, value))?;
        Ok(params)
    }

    /// All parameters as a JSON object.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }

    /// The scaling that is asked for, with the metric taken into account.
    pub(crate) fn scaling(&self) -> Scale {
        match (self.metric, self.scale) {
            (Metric::Cosine, Scale::Auto) => Scale::UnitRows,
            (_, scale) => scale,
        }
    }
}

/// Missing parameters have their defaults; unknown names are refused.
impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = Map::deserialize(from)?;
        let given = given.iter().map(|(name, value)| (name.as_str(), value));
        Self::new(8).with_settings(given).map_err(D::Error::custom)
    }
}

/// The known name that shares the most letter pairs with one that is not known.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let pairs =
        |word: &str| -> Vec<(char, char)> { word.chars().zip(word.chars().skip(1)).collect() };
    let wanted = pairs(name);
    let shared = |word: &str| pairs(word).iter().filter(|pair| wanted.contains(pair)).count();
    let best = known
        .iter()
        .copied()
        .max_by_key(|word| 2 * shared(word) * 100 / (pairs(word).len() + wanted.len()).max(1))?;
    (2 * shared(best) >= wanted.len().max(2)).then_some(best)
}
