#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod clusterer;
pub mod error;
pub mod graph;
pub mod large;
pub mod matrix;
pub mod metrics;
pub mod observer;
pub mod params;
// Public for this crate's own tests and bench; its arguments are asserted, not checked.
#[doc(hidden)]
pub mod simplex;
pub mod solver;
pub mod source;
pub mod synthetic;

// The box of pieces that the other methods of this workspace share: public for them, with no promise.
#[doc(hidden)]
pub mod block;
#[doc(hidden)]
pub mod kmeans;
#[doc(hidden)]
pub mod knn;
#[doc(hidden)]
pub mod linalg;
#[doc(hidden)]
pub mod normalize;
#[doc(hidden)]
pub mod parallel;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod reduce;
#[doc(hidden)]
pub mod table;

mod cut;
mod means;
mod mixture;
mod units;
mod warning;

pub use clusterer::{Clusterer, Clustering, Run};
pub use cut::{BipartiteCut, CutParams, cut};
pub use error::{DataError, Error, ModelError, ParamError, StateError};
pub use graph::Graph;
pub use matrix::{Csr, CsrRef, DenseRef, Ints, Matrix, Rows, Samples};
pub use means::{KMeansFit, KMeansParams, k_means};
pub use observer::{Observer, Progress, Silent, Stage};
pub use params::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, OBCut, Params, Reduce, RowSolver, Scale, SweepOrder,
};
pub use solver::choose::Tried;
pub use solver::explain::{ClusterInfo, Explanation, FeatureInfo, Merge};
pub use solver::model::{ClusterScores, Model};
pub use solver::path::{KPath, KTried};
pub use solver::rule::RowScore;
pub use solver::trace::{LargeTrace, StopReason, Trace};
pub use solver::{Fit, fit};
pub use source::RowSource;
pub use warning::Warning;
