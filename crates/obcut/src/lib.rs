//! Scalable graph clustering: one-step bipartite graph cut (OBCut).
//!
//! N samples are linked to M << N anchors, and that bipartite graph is cut into k balanced parts in
//! one step, in time linear in N. See [`fit`] for clustering a table, [`Model`] for labelling new
//! rows, [`cut`] for a graph you already have.
//!
//! The library is pure: arrays in, labels out; it reads no files and prints nothing. The same seed
//! and data give the same bits for any number of threads.
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![doc = ""]
#![doc = include_str!("../../../README.md")]

pub mod clusterer;
pub mod error;
pub mod graph;
pub mod large;
pub mod matrix;
pub mod metrics;
pub mod observer;
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

pub use clusterer::{Clusterer, Clustering, Run};
pub use cut::{BipartiteCut, CutParams, cut};
pub use error::{DataError, Error, ModelError, ParamError};
pub use graph::Graph;
pub use matrix::{Csr, CsrRef, DenseRef, Ints, Matrix, Samples};
pub use means::{KMeansFit, KMeansParams, k_means};
pub use observer::{Observer, Progress, Silent, Stage};
pub use solver::choose::Tried;
pub use solver::explain::{ClusterInfo, Explanation, FeatureInfo, Merge};
pub use solver::model::{ClusterScores, Model};
pub use solver::params::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, Params, Reduce, RowSolver, Scale, SweepOrder,
};
pub use solver::path::{KPath, KTried};
pub use solver::rule::RowScore;
pub use solver::trace::{LargeTrace, StopReason, Trace};
pub use solver::{Fit, fit};
pub use source::RowSource;
