//! What several methods share.

pub(crate) mod embedding;
pub(crate) mod links;
pub(crate) mod means;
