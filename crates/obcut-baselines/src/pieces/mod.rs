//! What several methods share.

pub(crate) mod affinity;
pub(crate) mod embedding;
pub(crate) mod links;
pub(crate) mod means;
pub(crate) mod rows;
