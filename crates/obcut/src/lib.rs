//! Scalable graph clustering: one-step bipartite graph cut (OBCut).

pub mod error;
pub mod matrix;
pub mod metrics;
pub mod observer;
pub mod solver;
pub mod synthetic;

pub use error::{DataError, Error, ModelError, ParamError};
pub use matrix::{Csr, CsrRef, DenseRef, Ints, Matrix, Samples};
pub use observer::{Observer, Progress, Silent, Stage};
pub use solver::params::{
    AnchorUpdate, AnchorWeights, Formulation, GraphKind, Init, LambdaScale, Learn, Params, Reduce,
    RowSolver, Scale, SweepOrder,
};
