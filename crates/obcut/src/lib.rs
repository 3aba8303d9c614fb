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
pub use model::{ClusterScores, Model, Prediction};
pub use obcut_core::Graph;
pub use obcut_core::{Csr, CsrRef, DenseRef, Ints, Matrix, Rows, Samples};
pub use obcut_core::{DataError, Error, ModelError, ParamError, StateError};
pub use obcut_core::{Observer, Progress, Silent, Stage};
pub use params::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, OBCut, Params, Reduce, RowSolver, Scale, SweepOrder,
};
pub use records::{
    CandidateScore, ClusterInfo, Explanation, FeatureInfo, KPath, KScore, LargeTrace, Merge,
    StopReason, Trace,
};
pub use source::RowSource;
pub use warning::Warning;
