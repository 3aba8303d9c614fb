//! Descriptions of a result: the clusters in figures, rows that stand for them, and a map in two dimensions.

pub(crate) mod clusters;
// What pictures show of the rows.
#[cfg(feature = "front-ends")]
mod layout_2d;
#[cfg(feature = "front-ends")]
mod medoids;
