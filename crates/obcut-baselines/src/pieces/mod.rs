//! What several methods share.

pub(crate) mod affinity;
pub(crate) mod angles;
pub(crate) mod ascent;
pub(crate) mod embedding;
pub(crate) mod explicit;
pub(crate) mod features;
pub(crate) mod fourier;
pub(crate) mod links;
pub(crate) mod means;
pub(crate) mod natural;
pub(crate) mod normal;
pub(crate) mod paths;
pub(crate) mod rows;
