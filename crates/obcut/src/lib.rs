#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

#[cfg(feature = "front-ends")]
pub mod front_ends;
pub mod metrics;
pub mod synthetic;

mod cut;
mod describe;
mod fit;
mod graph;
mod large;
mod mixture;
mod model;
mod params;
mod records;
mod score;
mod solver;
mod source;
mod update;
mod warning;

pub use cut::{BipartiteCut, CutParams, cut};
pub use fit::Fit;
pub use large::{Store, StoredFit};
pub use model::rule::RowScore;
pub use model::{ClusterScores, Model, ModelInfo, Prediction, Predictor};
#[doc(no_inline)]
pub use obcut_core::{
    Csr, CsrRef, DataError, DenseRef, Error, Graph, Ints, Matrix, ModelError, Observer, ParamError,
    Progress, Rows, Samples, Silent, Stage, StateError, choice::Named, normalize::Scale,
};
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
