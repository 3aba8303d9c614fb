//! The kinds of graphs between rows and anchors: one file each, and a line in [`of`].

mod distance;
mod global;
mod local;

use std::ops::Range;

use crate::params::{GraphKind, Params};
use obcut_core::block::Block;
use obcut_core::simplex::{ActiveSet, AugmentedLagrangian, Gradient};

/// A kind of graph: how it is set up, and how it links rows.
pub(crate) trait AnchorGraph: Sync {
    /// Default number of anchors in a set for `n` distinct rows: as many as the graph bears, see
    /// `docs/anchors.md`.
    fn n_anchors(&self, n: usize) -> usize;

    /// Default number of anchor sets.
    fn n_sets(&self) -> usize {
        1
    }

    /// Whether the learning loop may link a row to any anchor, not only to its nearest ones.
    fn links_all_anchors(&self) -> bool {
        false
    }

    /// Makes an anchor set ready.
    fn prepare(&self, set: &AnchorSet<'_>, params: &Params) -> Box<dyn LinkRow>;
}

/// Anchors that rows are linked to.
pub(crate) struct AnchorSet<'a> {
    /// The anchors, one after the other.
    pub anchors: &'a [f64],
    /// Number of anchors.
    pub n: usize,
    /// Number of features.
    pub d: usize,
    /// Links of a row.
    pub n_links: usize,
    /// Absolute ridge of the row problem.
    pub ridge: f64,
}

/// Links rows to the anchors of a set.
pub(crate) trait LinkRow: Send + Sync {
    /// Finds the anchors that row `r` of the block is linked to, and their weights: `links.anchors` and
    /// `links.weights`. They depend on the row alone.
    fn link(&self, block: &Block<'_>, r: usize, anchors: Range<usize>, links: &mut RowLinks);
}

/// The links of a row, and buffers of one thread to find them.
pub(crate) struct RowLinks {
    pub anchors: Vec<u32>,
    pub weights: Vec<f64>,
    near: Vec<(f64, u32)>,
    distances: Vec<f64>,
    row: Vec<f64>,
    gram: Vec<f64>,
    linear: Vec<f64>,
    active: ActiveSet,
    gradient: Gradient,
    alm: AugmentedLagrangian,
}

impl RowLinks {
    pub fn new() -> Self {
        Self {
            anchors: Vec::new(),
            weights: Vec::new(),
            near: Vec::new(),
            distances: Vec::new(),
            row: Vec::new(),
            gram: Vec::new(),
            linear: Vec::new(),
            active: ActiveSet::new(),
            gradient: Gradient::new(),
            alm: AugmentedLagrangian::new(),
        }
    }
}

/// The names of the kinds.
#[cfg(test)]
pub(crate) fn all() -> Vec<GraphKind> {
    use obcut_core::choice::Named;
    GraphKind::ALL.iter().copied().filter(|&name| of(name).is_some()).collect()
}

/// The kind of a name; none for names that stand for a choice, or for links between rows.
pub(crate) fn of(kind: GraphKind) -> Option<&'static dyn AnchorGraph> {
    match kind {
        GraphKind::Global => Some(&global::Global),
        GraphKind::Local => Some(&local::Local),
        GraphKind::Distance => Some(&distance::Distance),
        GraphKind::Auto | GraphKind::Neighbors => None,
    }
}
