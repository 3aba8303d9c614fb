//! Descriptions of a result: the clusters in figures, rows that stand for them, and a map in two dimensions.

pub(crate) mod clusters;
mod layout_2d;
mod medoids;
