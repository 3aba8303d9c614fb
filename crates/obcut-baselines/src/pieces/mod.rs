//! What several methods share.

pub(crate) mod affinity;
pub(crate) mod embedding;
pub(crate) mod knn;
pub(crate) mod links;
pub(crate) mod means;
pub(crate) mod natural;
pub(crate) mod paths;
