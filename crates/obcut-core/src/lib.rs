#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod block;
pub mod choice;
pub mod error;
pub mod graph;
pub mod kmeans;
pub mod knn;
pub mod linalg;
pub mod matrix;
pub mod means;
pub mod normalize;
pub mod observer;
pub mod parallel;
pub mod random;
pub mod reduce;
pub mod scaling;
pub mod simplex;
mod sparse;
pub mod stored_columns;
pub mod sums;
pub mod table;
pub mod unique_rows;

pub use error::{DataError, Error, ModelError, ParamError, StateError};
pub use graph::Graph;
pub use matrix::{Csr, CsrRef, DenseRef, Ints, Matrix, Rows, Samples};
pub use observer::{Observer, Progress, Silent, Stage};
