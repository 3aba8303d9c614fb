//! The updates of the unknowns of the paper, one file each, and the cut that alternates two of them.

pub(crate) mod anchors;
pub(crate) mod cutting;
pub(crate) mod embedding;
pub(crate) mod graph;
pub(crate) mod labels;
