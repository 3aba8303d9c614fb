//! Bipartite graphs between samples and anchors, and their spectra.

pub(crate) mod bipartite;
pub(crate) mod components;
pub(crate) mod layout;
pub(crate) mod neighbors;
pub(crate) mod sparse;
pub(crate) mod spectral;
pub(crate) mod tree;

pub use sparse::Graph;
