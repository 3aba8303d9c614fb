//! Graphs and their spectra.

pub mod components;
pub mod neighbors;
mod sparse;
pub mod spectral;
pub mod tree;

pub use sparse::Graph;
