//! The best mixture of all anchors of a set: argmin |x - A b|^2 on the simplex, paper Eq. `eq:Subspace`.

use std::ops::Range;

use crate::graph::kinds::{AnchorGraph, AnchorSet, LinkRow, RowLinks};
use crate::params::{Params, RowSolver};
use obcut_core::block::Block;
use obcut_core::linalg::gemm::gram;
use obcut_core::simplex::{Gram, PlaneGram};

/// Rows per anchor, at least: with fewer the graph falls apart into fragments.
const ROWS_PER_ANCHOR: usize = 10;

pub(super) struct Global;

struct ReadyGlobal {
    gram: Gram,
    /// Of [`RowSolver::Alm`] alone.
    plane: Option<PlaneGram>,
    solver: RowSolver,
}

impl AnchorGraph for Global {
    fn n_anchors(&self, n: usize) -> usize {
        (n / ROWS_PER_ANCHOR).min(300)
    }

    fn n_sets(&self) -> usize {
        5
    }

    fn links_all_anchors(&self) -> bool {
        true
    }

    fn prepare(&self, set: &AnchorSet<'_>, params: &Params) -> Box<dyn LinkRow> {
        let gram = Gram::new(gram(set.anchors, set.n, set.d), set.n, set.ridge);
        let solver = params.row_solver;
        let plane = if solver == RowSolver::Alm { PlaneGram::new(&gram) } else { None };
        Box::new(ReadyGlobal { gram, plane, solver })
    }
}

impl LinkRow for ReadyGlobal {
    fn link(&self, block: &Block<'_>, r: usize, anchors: Range<usize>, links: &mut RowLinks) {
        let RowLinks { anchors: chosen, weights, linear, active, gradient, alm, .. } = links;
        let start = anchors.start as u32;
        block.products(r, anchors, linear);
        linear.iter_mut().for_each(|f| *f *= 2.0);
        chosen.clear();
        weights.clear();
        let m = linear.len();
        match (self.solver, &self.plane) {
            (RowSolver::Authors, _) => {
                weights.resize(m, 0.0);
                gradient.solve(&self.gram, linear, weights);
                chosen.extend((0..m as u32).map(|m| m + start));
            }
            (RowSolver::Alm, Some(plane)) => {
                weights.resize(m, 1.0 / m as f64);
                alm.solve(&self.gram, plane, linear, weights);
                chosen.extend((0..m as u32).map(|m| m + start));
            }
            // Also where the Gram matrix could not be decomposed.
            (RowSolver::Exact | RowSolver::Alm, _) => {
                active.solve(&self.gram, linear, chosen, weights);
                chosen.iter_mut().for_each(|m| *m += start);
            }
        }
    }
}
