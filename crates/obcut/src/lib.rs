//! Scalable graph clustering: one-step bipartite graph cut (OBCut).
//!
//! N samples are linked to M << N anchors, and that bipartite graph is cut into k balanced parts in
//! one step, in time linear in N. See [`fit`] for clustering a table, [`Model`] for labelling new
//! rows, [`cut`] for a graph you already have.
//!
//! The library is pure: arrays in, labels out; it reads no files and prints nothing. The same seed
//! and data give the same bits for any number of threads.
#![doc = ""]
#![doc = include_str!("../../../README.md")]

pub mod error;
pub mod graph;
pub mod matrix;
pub mod metrics;
pub mod observer;
// Public for this crate's own tests and bench; its arguments are asserted, not checked.
#[doc(hidden)]
pub mod simplex;
pub mod solver;
pub mod synthetic;

mod block;
mod cut;
mod kmeans;
mod linalg;
mod means;
mod normalize;
mod parallel;
mod random;
mod reduce;
mod table;
mod units;

pub use cut::{BipartiteCut, CutParams, cut};
pub use error::{DataError, Error, ModelError, ParamError};
pub use graph::Graph;
pub use matrix::{Csr, CsrRef, DenseRef, Ints, Matrix, Samples};
pub use means::{KMeansFit, KMeansParams, k_means};
pub use observer::{Observer, Progress, Silent, Stage};
pub use solver::choose::Tried;
pub use solver::explain::{ClusterInfo, Explanation, FeatureInfo};
pub use solver::model::{ClusterScores, Model};
pub use solver::params::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Params,
    Reduce, RowSolver, Scale, SweepOrder,
};
pub use solver::path::{KPath, KTried};
pub use solver::rule::RowScore;
pub use solver::trace::{StopReason, Trace};
pub use solver::{Fit, fit};
