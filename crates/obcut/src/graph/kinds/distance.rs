//! Weights by the distances to the nearest anchors, in closed form: b_j ~ d_(s+1) - d_(j), squared distances. It
//! solves min <d, b> + g |b|^2 on the simplex with g such that exactly s anchors take part.

use std::ops::Range;

use crate::graph::kinds::{AnchorGraph, AnchorSet, LinkRow, RowLinks};
use crate::params::Params;
use obcut_core::block::Block;

/// Rows per anchor, at least.
const ROWS_PER_ANCHOR: usize = 4;

pub(super) struct Distance;

struct ReadyDistance {
    n_candidates: usize,
}

impl AnchorGraph for Distance {
    fn n_anchors(&self, n: usize) -> usize {
        (n / ROWS_PER_ANCHOR).min(1000)
    }

    fn prepare(&self, set: &AnchorSet<'_>, _: &Params) -> Box<dyn LinkRow> {
        Box::new(ReadyDistance { n_candidates: set.n_links.saturating_add(1).min(set.n) })
    }
}

impl LinkRow for ReadyDistance {
    fn link(&self, block: &Block<'_>, r: usize, anchors: Range<usize>, links: &mut RowLinks) {
        let RowLinks { anchors: chosen, weights, near, distances, .. } = links;
        block.few_nearest(r, anchors, self.n_candidates, chosen);
        block.distances(r, chosen, distances);
        near.clear();
        near.extend(distances.iter().copied().zip(chosen.iter().copied()));
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (last, s) = (near.len() - 1, (near.len() - 1).max(1));
        let total: f64 = near[..s].iter().map(|p| near[last].0 - p.0).sum();
        chosen.clear();
        weights.clear();
        for &(d, m) in &near[..s] {
            chosen.push(m);
            weights.push(if total > 0.0 { (near[last].0 - d) / total } else { 1.0 / s as f64 });
        }
    }
}
