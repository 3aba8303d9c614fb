//! The loop body of Algorithm 1, one file per unknown.

pub(crate) mod anchors;
pub(crate) mod embedding;
pub(crate) mod graph;
pub(crate) mod labels;
