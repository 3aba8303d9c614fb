//! Graphs and their spectra.

pub mod components;
pub mod neighbors;
pub mod spectral;
pub mod tree;

pub use crate::sparse::Graph;
