//! The best mixture of the nearest anchors: min b'Kb + ridge |b|^2 on the simplex, K the Gram matrix of the
//! anchors seen from the row.

use std::ops::Range;

use crate::graph::kinds::{AnchorGraph, AnchorSet, LinkRow, RowLinks};
use crate::params::Params;
use obcut_core::block::Block;

/// Rows per anchor, at least: with fewer the graph falls apart into fragments.
const ROWS_PER_ANCHOR: usize = 10;
/// Ridge, relative to the mean of the diagonal of K.
const RIDGE: f64 = 1e-3;

pub(super) struct Local;

struct ReadyLocal {
    n_links: usize,
}

impl AnchorGraph for Local {
    fn n_anchors(&self, n: usize) -> usize {
        (n / ROWS_PER_ANCHOR).min(500)
    }

    fn prepare(&self, set: &AnchorSet<'_>, _: &Params) -> Box<dyn LinkRow> {
        Box::new(ReadyLocal { n_links: set.n_links })
    }
}

impl LinkRow for ReadyLocal {
    fn link(&self, block: &Block<'_>, r: usize, anchors: Range<usize>, links: &mut RowLinks) {
        let RowLinks { anchors: chosen, weights, row, gram, linear, active, .. } = links;
        block.few_nearest(r, anchors, self.n_links, chosen);
        block.local_gram(r, chosen, row, gram);
        let s = chosen.len();
        let mean = (0..s).map(|p| gram[p * s + p]).sum::<f64>() / s as f64;
        weights.clear();
        if mean > 0.0 {
            weights.resize(s, 0.0);
            linear.clear();
            linear.resize(s, 0.0);
            active.solve_small(gram, s, linear, RIDGE * mean, weights);
        } else {
            weights.resize(s, 1.0 / s as f64);
        }
    }
}
