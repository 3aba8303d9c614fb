#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod clusterer;
pub mod large;
pub mod metrics;
pub mod params;
pub mod solver;
pub mod source;
pub mod synthetic;

mod cut;
mod graph;
mod means;
mod mixture;
mod warning;

pub use clusterer::{Clusterer, Clustering, Run};
pub use cut::{BipartiteCut, CutParams, cut};
pub use means::{KMeansFit, KMeansParams, k_means};
pub use obcut_core::Graph;
pub use obcut_core::{Csr, CsrRef, DenseRef, Ints, Matrix, Rows, Samples};
pub use obcut_core::{DataError, Error, ModelError, ParamError, StateError};
pub use obcut_core::{Observer, Progress, Silent, Stage};
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
