//! Update of B with A, Y, H fixed: Eqs. `eq:upP`, `eq:upP1`, `eq:upP2`.
//!
//! | paper                | here     | shape                          |
//! |----------------------|----------|--------------------------------|
//! | B                    | `graph`  | N × M, sparse rows             |
//! | H^ = A'A             | `gram`   | M × M                          |
//! | f = 2A'x + lambda q^ | `f`      | M                              |
//! | lambda q^ of a row   | `pull`   | k × M, the row of its cluster  |
//!
//! Differs from print: rows are solved exactly by a warm-started active set. ALM, which the paper names,
//! and the accelerated projected gradient of the authors' program are options. On a local graph a row may
//! use its nearest anchors and those it uses already, so the objective cannot rise; there ALM gives way to
//! the active set.

use obcut_core::block::{BLOCK, Points, Scratch};
use std::ops::Range;

use crate::params::RowSolver;
use crate::update::anchors::{Gathering, LinkMoments};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::parallel::Context;
use obcut_core::simplex::{ActiveSet, AugmentedLagrangian, Gradient, Gram, PlaneGram};
use obcut_core::table::Table;

/// Which anchors a row may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    All,
    /// The nearest ones, and those the row uses already.
    Nearest(usize),
}

/// What the row problems share.
pub(crate) struct RowProblem<'a> {
    pub gram: &'a Gram,
    /// Of [`RowSolver::Alm`] alone; without it its rows are solved exactly.
    pub plane: Option<&'a PlaneGram>,
    /// lambda diag(w) h_j / sqrt(n_j) for every cluster j; zeros without the cut term.
    pub pull: &'a [f64],
    pub labels: &'a [u32],
    pub solver: RowSolver,
    pub support: Support,
}

/// Solves every row again, starting from the old one, and sums up what the anchors need: one reading of
/// the rows.
pub(crate) fn update(
    table: &Table<'_>,
    points: &Points,
    graph: &Graph,
    weights: &[f64],
    problem: &RowProblem<'_>,
    context: &Context<'_>,
) -> Result<(Graph, LinkMoments), Error> {
    let (m, d) = (points.n, table.d());
    let mut parts = Vec::new();
    let mut moments = Gathering::new(m, d);
    let solve = |range: Range<usize>| {
        let mut gathered = Gathering::new(m, d);
        let mut part = Graph::empty(m);
        let mut scratch = Scratch::default();
        let mut work = UpdateWork { f: vec![0.0; m], dense: vec![0.0; m], ..UpdateWork::default() };
        for start in range.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(range.end);
            let found = table.block(block.clone(), points, &mut scratch);
            let first = part.n_rows();
            for (r, i) in block.clone().enumerate() {
                found.products(r, 0..m, &mut work.f);
                let j = problem.labels[i] as usize;
                let pull = &problem.pull[j * m..(j + 1) * m];
                for a in 0..m {
                    work.f[a] = 2.0 * work.f[a] + pull[a];
                }
                let (columns, values) = graph.row(i);
                work.columns.clear();
                work.values.clear();
                work.columns.extend_from_slice(columns);
                work.values.extend_from_slice(values);
                match (problem.solver, problem.support, problem.plane) {
                    (RowSolver::Authors, ..) => work.authors(problem.gram),
                    (RowSolver::Alm, Support::All, Some(plane)) => work.alm(problem.gram, plane),
                    (_, Support::All, _) => {
                        let UpdateWork { active, f, columns, values, .. } = &mut work;
                        active.solve(problem.gram, f, columns, values);
                    }
                    (_, Support::Nearest(s), _) => {
                        found.few_nearest(r, 0..m, s.min(m), &mut work.near);
                        work.restricted(problem.gram);
                    }
                }
                part.push(&work.columns, &work.values);
            }
            let links = block.enumerate().map(|(r, i)| (part.row(first + r), weights[i]));
            gathered.add(&found.loaded, links);
        }
        (part, gathered)
    };
    context.fold_large(table.n(), solve, |(part, gathered)| {
        parts.push(part);
        moments.merge(gathered);
    })?;
    Ok((Graph::stack(parts, m), moments.finish(table)))
}

#[derive(Default)]
struct UpdateWork {
    f: Vec<f64>,
    dense: Vec<f64>,
    columns: Vec<u32>,
    values: Vec<f64>,
    near: Vec<u32>,
    small_gram: Vec<f64>,
    small_f: Vec<f64>,
    small_b: Vec<f64>,
    active: ActiveSet,
    gradient: Gradient,
    alm: AugmentedLagrangian,
}

impl UpdateWork {
    fn authors(&mut self, gram: &Gram) {
        self.gradient.solve(gram, &self.f, &mut self.dense);
        self.keep_dense();
    }

    fn alm(&mut self, gram: &Gram, plane: &PlaneGram) {
        self.dense.fill(0.0);
        self.columns.iter().zip(&self.values).for_each(|(&m, &b)| self.dense[m as usize] = b);
        self.alm.solve(gram, plane, &self.f, &mut self.dense);
        self.keep_dense();
    }

    /// The positive weights of the dense row.
    fn keep_dense(&mut self) {
        self.columns.clear();
        self.values.clear();
        for (m, &b) in self.dense.iter().enumerate() {
            if b > 0.0 {
                self.columns.push(m as u32);
                self.values.push(b);
            }
        }
    }

    /// The row problem on the nearest anchors joined with the present ones.
    fn restricted(&mut self, gram: &Gram) {
        let old = std::mem::take(&mut self.columns);
        let weights = std::mem::take(&mut self.values);
        let mut chosen: Vec<u32> = self.near.iter().chain(&old).copied().collect();
        chosen.sort_unstable();
        chosen.dedup();
        let s = chosen.len();
        self.small_gram.clear();
        self.small_f.clear();
        self.small_b.clear();
        for &a in &chosen {
            let row = gram.row(a as usize);
            self.small_gram.extend(chosen.iter().map(|&b| row[b as usize]));
            self.small_f.push(self.f[a as usize]);
            self.small_b.push(old.binary_search(&a).map_or(0.0, |p| weights[p]));
        }
        let Self { active, small_gram, small_f, small_b, .. } = self;
        active.solve_small(small_gram, s, small_f, gram.ridge(), small_b);
        for (&a, &b) in chosen.iter().zip(&self.small_b) {
            if b > 0.0 {
                self.columns.push(a);
                self.values.push(b);
            }
        }
    }
}

/// lambda diag(w) h_j / sqrt(n_j) for every cluster: k × M.
pub(crate) fn pulls(
    embedding: &[f64],
    anchor_weights: &[f64],
    sizes: &[f64],
    lambda: f64,
) -> Vec<f64> {
    let (k, m) = (sizes.len(), anchor_weights.len());
    let mut pulls = vec![0.0; k * m];
    for j in 0..k {
        let scale = if sizes[j] > 0.0 { lambda / sizes[j].sqrt() } else { 0.0 };
        for a in 0..m {
            pulls[j * m + a] = scale * anchor_weights[a] * embedding[a * k + j];
        }
    }
    pulls
}
