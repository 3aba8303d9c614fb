//! Bipartite graphs between samples and anchors, and their spectra.

pub(crate) mod bipartite;
pub(crate) mod components;
pub(crate) mod layout;
pub(crate) mod sparse;
pub(crate) mod spectral;

pub use sparse::Graph;
