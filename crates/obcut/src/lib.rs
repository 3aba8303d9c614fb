#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod large;
pub mod metrics;
pub mod params;
pub mod synthetic;

mod clusterer;
mod cut;
mod describe;
mod fit;
mod graph;
mod means;
mod mixture;
mod model;
mod records;
mod score;
mod solver;
mod source;
mod update;
mod warning;

pub use clusterer::{Clusterer, Clustering, Run};
pub use cut::{BipartiteCut, CutParams, cut};
pub use fit::{Fit, fit, fit_rows};
pub use means::{KMeansFit, KMeansParams, k_means};
pub use model::rule::RowScore;
pub use model::{ClusterScores, Model, Prediction, Predictor};
#[doc(no_inline)]
pub use obcut_core::{
    Csr, CsrRef, DataError, DenseRef, Error, Graph, Ints, Matrix, ModelError, Observer, ParamError,
    Progress, Rows, Samples, Silent, Stage, StateError,
};
#[doc(no_inline)]
pub use params::Scale;
pub use params::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, OBCut, Params, Reduce, RowSolver, SweepOrder,
};
pub use records::{
    CandidateScore, ClusterInfo, Explanation, FeatureInfo, KPath, KScore, LargeTrace, Merge,
    StopReason, Trace,
};
pub use source::RowSource;
pub use warning::Warning;
