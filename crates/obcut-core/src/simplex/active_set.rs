//! Exact primal active set for the row problem.
//!
//! The row stays feasible throughout. On its support P the equality problem is solved through a
//! Cholesky factor ([`super::factor`]); an anchor whose weight reaches zero on the way leaves (Givens
//! rotations), and once the support is solved the anchor with the largest violation of the gradient
//! enters (one more row of L). Every move goes along a descent direction, so the objective falls.
//!
//! Three things differ from the textbook form:
//!
//! * **Moves, not solutions.** What is solved for is the move `p` from the present row:
//!   `K p = d + nu 1`, `sum(p) = 0`, with `d` the residual `f/2 - K b` on P up to a constant.
//!   After an entry `d` is zero but for the new anchor, after a move cut short at `alpha` it is
//!   `(1 - alpha) d`, so `z_d = L^-1 d` costs nothing to keep; large terms common to all of `f`
//!   never enter, and a residual left by rounding is simply moved away in one more step.
//! * **A shifted matrix.** `K = G + ridge I + shift 11'`. On the simplex the shift is a constant, but
//!   with it a pivot is small only for anchors that are affinely dependent, the case that
//!   matters; d + 1 anchors in d dimensions are factored without loss.
//! * **A tolerance above the tiny ridge.** An anchor enters when its violation exceeds
//!   [`TOLERANCE`] of the scale of the gradient, ten times what the tiny ridge can cause. So a
//!   row inside the hull stops at a corner of its minimisers rather than at the dense row of least norm.

use super::factor::{Factor, dot};
use super::{Gram, mean, tiny_ridge};
use crate::linalg::simd::{largest_difference, vectorised};

/// Violations below this part of the gradient's scale count as zero.
const TOLERANCE: f64 = 1e-9;
/// Unequal gradients on a solved support, as a part of the tolerance, that call for one more step.
const UNEVEN: f64 = 0.01;
const REFINEMENTS: usize = 3;
/// One more anchor may enter at a time for every so many in the support.
const ENTER_PART: usize = 8;
/// Violation, as a part of the largest, from which others enter together with it.
const ENTER_ABOVE: f64 = 0.5;

/// Exact solver with its workspace: after warm-up a row allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct ActiveSet {
    factor: Factor,
    /// The support in order of entry, and the weights on it.
    index: Vec<u32>,
    b: Vec<f64>,
    /// L^-1 1 and L^-1 d.
    z_one: Vec<f64>,
    z_d: Vec<f64>,
    step: Vec<f64>,
    column: Vec<f64>,
    /// f/2 - (G + ridge) b, over all anchors.
    residual: Vec<f64>,
    /// Anchors that rounding keeps out of this row.
    banned: Vec<u32>,
    order: Vec<(u32, f64)>,
    small: Small,
}

/// Buffers of [`ActiveSet::solve_small`].
#[derive(Clone, Debug, Default)]
struct Small {
    diagonal: Vec<f64>,
    support: Vec<u32>,
    weights: Vec<f64>,
}

/// What a row is solved against.
#[derive(Clone, Copy)]
struct SimplexProblem<'a> {
    n: usize,
    values: &'a [f64],
    diagonal: &'a [f64],
    mean_diagonal: f64,
    ridge: f64,
    f: &'a [f64],
}

impl SimplexProblem<'_> {
    #[inline(always)]
    fn row(&self, m: u32) -> &[f64] {
        &self.values[m as usize * self.n..][..self.n]
    }

    /// Multiple of 11' that makes affinely independent anchors independent.
    #[inline(always)]
    fn shift(&self) -> f64 {
        self.mean_diagonal
    }

    #[inline(always)]
    fn best_single(&self) -> u32 {
        largest_difference(self.f, self.diagonal) as u32
    }
}

impl ActiveSet {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves the row problem over all anchors of `gram`.
    ///
    /// In: the warm start, indices with positive weights that sum to 1; nothing for a cold start at
    /// the best single anchor. Out: the solution, indices ascending, weights positive with sum 1. Its
    /// value is never above that of the warm start (to 1e-14 of the terms' size).
    pub fn solve(
        &mut self,
        gram: &Gram,
        f: &[f64],
        support: &mut Vec<u32>,
        weights: &mut Vec<f64>,
    ) {
        assert!(gram.n > 0 && f.len() == gram.n, "f has one entry per anchor");
        let problem = SimplexProblem {
            n: gram.n,
            values: &gram.values,
            diagonal: &gram.diagonal,
            mean_diagonal: gram.mean_diagonal,
            ridge: gram.ridge,
            f,
        };
        self.row(problem, support, weights);
    }

    /// Solves the small problem of a local row: `k` is the s x s Gram, row-major.
    ///
    /// `b` holds a warm start or zeros, and is replaced by the solution.
    pub fn solve_small(&mut self, k: &[f64], s: usize, f: &[f64], ridge: f64, b: &mut [f64]) {
        assert!(s > 0 && k.len() == s * s && f.len() == s && b.len() == s, "one entry per anchor");
        let mut small = std::mem::take(&mut self.small);
        small.diagonal.clear();
        small.diagonal.extend((0..s).map(|m| k[m * s + m]));
        small.support.clear();
        small.weights.clear();
        for (m, w) in b.iter_mut().enumerate() {
            if *w > 0.0 {
                small.support.push(m as u32);
                small.weights.push(*w);
            }
            *w = 0.0;
        }
        let mean_diagonal = mean(&small.diagonal);
        let problem = SimplexProblem {
            n: s,
            values: k,
            diagonal: &small.diagonal,
            mean_diagonal,
            ridge: ridge + tiny_ridge(mean_diagonal),
            f,
        };
        self.row(problem, &mut small.support, &mut small.weights);
        for (&m, &w) in small.support.iter().zip(&small.weights) {
            b[m as usize] = w;
        }
        self.small = small;
    }

    fn row(&mut self, problem: SimplexProblem, support: &mut Vec<u32>, weights: &mut Vec<f64>) {
        let total: f64 = weights.iter().sum();
        if support.is_empty() || !(total > 0.0 && total.is_finite()) {
            support.clear();
            weights.clear();
            support.push(problem.best_single());
            weights.push(1.0);
        } else if total != 1.0 {
            weights.iter_mut().for_each(|w| *w /= total);
        }
        let (before, (after, size)) = vectorised(
            #[inline(always)]
            || (self.begin(problem, support, weights), self.descend(problem)),
        );
        // By construction the value falls; this holds it to that in the face of rounding, overflow
        // and NaN, none of which may leave here.
        if after <= before + 1e-14 * size {
            self.write(support, weights);
        }
    }

    /// Factors the warm start, sets up its move, and returns its value.
    #[inline(always)]
    fn begin(&mut self, problem: SimplexProblem, support: &[u32], weights: &[f64]) -> f64 {
        let p = support.len();
        self.banned.clear();
        self.index.clear();
        self.index.extend_from_slice(support);
        self.b.clear();
        self.b.extend_from_slice(weights);
        let shift = problem.shift();
        self.factor.prepare(p);
        // (G + ridge) b on the support, from the entries that the factor needs anyway.
        let product = &mut self.step;
        product.clear();
        product.resize(p, 0.0);
        for j in 0..p {
            let (row, w) = (problem.row(support[j]), weights[j]);
            let column = &mut self.factor.column(j, p)[..p - j];
            for (entry, &i) in column.iter_mut().zip(&support[j..]) {
                *entry = row[i as usize];
            }
            column[0] += problem.ridge;
            product[j] += dot(column, &weights[j..]);
            for (sum, entry) in product[j + 1..].iter_mut().zip(&column[1..]) {
                *sum += entry * w;
            }
            column.iter_mut().for_each(|entry| *entry += shift);
        }
        let mut value = 0.0;
        let mut mean = 0.0;
        for ((sum, &m), &w) in product.iter_mut().zip(support).zip(weights) {
            let f = problem.f[m as usize];
            value += w * (*sum - f);
            *sum = 0.5 * f - *sum;
            mean += w * *sum;
        }
        for j in 0..p {
            let column = self.factor.column(j, p);
            column[p - j] = 1.0;
            column[p - j + 1] = product[j] - mean;
        }
        // L^-1 applies to the right-hand sides as further rows of the matrix.
        if !self.factor.factor(p, &mut self.z_one, &mut self.z_d) {
            self.begin_with_independent(problem, support, weights);
        }
        value
    }

    /// The rare end of [`Self::begin`]: continues with the anchors that can be factored.
    #[cold]
    fn begin_with_independent(
        &mut self,
        problem: SimplexProblem,
        support: &[u32],
        weights: &[f64],
    ) {
        self.index.clear();
        self.b.clear();
        self.z_one.clear();
        let shift = problem.shift();
        for (&m, &w) in support.iter().zip(weights) {
            let row = problem.row(m);
            self.column.clear();
            self.column.extend(self.index.iter().map(|&i| row[i as usize] + shift));
            let own = problem.diagonal[m as usize] + problem.ridge + shift;
            if let Some(pivot) = self.factor.append(&mut self.column, own) {
                self.z_one.push((1.0 - dot(&self.column, &self.z_one)) / pivot);
                self.index.push(m);
                self.b.push(w);
            }
        }
        self.normalize();
        self.set_residual(problem);
        self.aim_at_even_residual();
    }

    /// Moves until no anchor wants to enter. Returns the value reached and the size of its terms.
    #[inline(always)]
    fn descend(&mut self, problem: SimplexProblem) -> (f64, f64) {
        if self.index.is_empty() {
            return (f64::INFINITY, 0.0);
        }
        let (low, high) = range(problem.f);
        let spread = 0.5 * (high - low);
        let largest = 0.5 * low.abs().max(high.abs());
        let mut moving = self.index.len() > 1;
        let mut entered = None;
        let mut refinements = 0;
        let (mut last, mut one_by_one) = (f64::INFINITY, false);
        let limit = 100 + 20 * problem.n;
        for _ in 0..limit {
            if moving {
                let (alpha, blocking) = self.find_step();
                for (w, p) in self.b.iter_mut().zip(&self.step) {
                    *w = (*w + alpha * p).max(0.0);
                }
                if let Some(k) = blocking {
                    if entered == Some(self.index[k]) && alpha == 0.0 {
                        self.banned.push(self.index[k]); // rounding turned its direction round
                    }
                    self.z_d.iter_mut().for_each(|z| *z *= 1.0 - alpha);
                    self.factor.remove(k, &mut self.z_one, &mut self.z_d);
                    self.index.remove(k);
                    self.b.remove(k);
                    moving = self.index.len() > 1;
                    if moving {
                        continue;
                    }
                }
            }
            self.normalize();
            self.set_residual(problem);
            let (mean, uneven, diagonal) = self.inspect(problem);
            let scale = spread + diagonal;
            let noise = 8.0 * f64::EPSILON * (largest + diagonal);
            let tolerance = (TOLERANCE * scale).max(noise);
            if uneven > (UNEVEN * tolerance).max(noise) && refinements < REFINEMENTS {
                refinements += 1;
                self.aim_at_even_residual();
                entered = None;
                moving = true;
                continue;
            }
            let reached = (self.reached(problem), 2.0 * largest + diagonal);
            // Where several together gained nothing that can be seen, one at a time.
            one_by_one |= reached.0 >= last;
            last = reached.0;
            let count = self.enter(problem, mean, tolerance, one_by_one);
            if count == 0 {
                return reached;
            }
            entered = (count == 1).then(|| self.index[self.index.len() - 1]);
            refinements = 0;
            moving = true;
        }
        // Out of patience, perhaps in the middle of a move: the row is feasible and no worse.
        self.normalize();
        self.set_residual(problem);
        (self.reached(problem), 2.0 * largest + self.inspect(problem).2)
    }

    /// Solves for the move and returns how much of it is feasible, and who stops it.
    #[inline(always)]
    fn find_step(&mut self) -> (f64, Option<usize>) {
        let nu = -dot(&self.z_one, &self.z_d) / dot(&self.z_one, &self.z_one);
        self.step.clear();
        self.step.extend(self.z_d.iter().zip(&self.z_one).map(|(d, one)| d + nu * one));
        self.factor.backward(&mut self.step);
        let mut alpha = 1.0;
        let mut blocking = None;
        for (k, (w, p)) in self.b.iter().zip(&self.step).enumerate() {
            if w + alpha * p < 0.0 {
                alpha = w / -p;
                blocking = Some(k);
            }
        }
        (alpha, blocking)
    }

    /// Lets the anchor with the largest violation in, with weight 0, and with a large support
    /// others that violate nearly as much. Returns how many.
    ///
    /// Of several, those that the joint move would make negative leave at once with no harm done;
    /// the move has a positive slope, which only the entered ones contribute to, so one of them stays.
    #[inline(always)]
    fn enter(
        &mut self,
        problem: SimplexProblem,
        mean: f64,
        tolerance: f64,
        one_by_one: bool,
    ) -> usize {
        for &m in &self.banned {
            self.residual[m as usize] = f64::NEG_INFINITY;
        }
        let before = self.index.len();
        let limit = if one_by_one { 1 } else { 1 + before / ENTER_PART };
        self.z_d.clear();
        self.z_d.resize(before, 0.0);
        let mut bar = mean + tolerance;
        loop {
            let top = largest(&self.residual);
            let violates = top > bar; // false for NaN
            if !violates {
                break;
            }
            let Some(m) = position(&self.residual, top) else {
                break;
            };
            self.residual[m] = f64::NEG_INFINITY;
            let m = m as u32;
            // Already inside and still uneven after every refinement.
            if self.index.contains(&m) {
                continue;
            }
            let row = problem.row(m);
            let shift = problem.shift();
            self.column.clear();
            self.column.extend(self.index.iter().map(|&i| row[i as usize] + shift));
            let own = problem.diagonal[m as usize] + problem.ridge + shift;
            let Some(pivot) = self.factor.append(&mut self.column, own) else {
                self.banned.push(m);
                continue;
            };
            self.z_d.push((top - mean - dot(&self.column, &self.z_d)) / pivot);
            self.z_one.push((1.0 - dot(&self.column, &self.z_one)) / pivot);
            self.index.push(m);
            self.b.push(0.0);
            if self.index.len() - before == limit {
                break;
            }
            bar = bar.max(mean + ENTER_ABOVE * (top - mean));
        }
        self.index.len() - before
    }

    /// Weighted mean of the residual on the support, its largest deviation, the largest diagonal.
    #[inline(always)]
    fn inspect(&self, problem: SimplexProblem) -> (f64, f64, f64) {
        let mut mean = 0.0;
        for (&m, w) in self.index.iter().zip(&self.b) {
            mean += w * self.residual[m as usize];
        }
        let (mut uneven, mut diagonal) = (0.0_f64, problem.mean_diagonal);
        for &m in &self.index {
            uneven = uneven.max((self.residual[m as usize] - mean).abs());
            diagonal = diagonal.max(problem.diagonal[m as usize]);
        }
        (mean, uneven, diagonal)
    }

    /// Sets up the move that evens out the residual as it is now.
    #[inline(always)]
    fn aim_at_even_residual(&mut self) {
        self.z_d.clear();
        let mut mean = 0.0;
        for (&m, w) in self.index.iter().zip(&self.b) {
            mean += w * self.residual[m as usize];
        }
        self.z_d.extend(self.index.iter().map(|&m| self.residual[m as usize] - mean));
        self.factor.forward(&mut self.z_d);
    }

    #[inline(always)]
    fn normalize(&mut self) {
        let total: f64 = self.b.iter().sum();
        if total != 1.0 {
            let inverse = 1.0 / total;
            self.b.iter_mut().for_each(|w| *w *= inverse);
        }
    }

    /// residual = f/2 - (G + ridge) b: rows of G, four at a time.
    #[inline(always)]
    fn set_residual(&mut self, problem: SimplexProblem) {
        self.residual.resize(problem.n, 0.0);
        let r = &mut self.residual[..];
        r.iter_mut().zip(problem.f).for_each(|(r, f)| *r = 0.5 * f);
        let (index4, index1) = self.index.as_chunks::<4>();
        let (b4, b1) = self.b.as_chunks::<4>();
        for (i, w) in index4.iter().zip(b4) {
            let [g0, g1, g2, g3] = i.map(|m| problem.row(m));
            for ((((r, g0), g1), g2), g3) in r.iter_mut().zip(g0).zip(g1).zip(g2).zip(g3) {
                *r -= (w[0] * g0 + w[1] * g1) + (w[2] * g2 + w[3] * g3);
            }
        }
        for (&m, w) in index1.iter().zip(b1) {
            for (r, g) in r.iter_mut().zip(problem.row(m)) {
                *r -= w * g;
            }
        }
        for (&m, w) in self.index.iter().zip(&self.b) {
            r[m as usize] -= problem.ridge * w;
        }
    }

    /// The objective, from the residual: `b'Kb - f'b = -b'(r + f/2)`.
    #[inline(always)]
    fn reached(&self, problem: SimplexProblem) -> f64 {
        let mut sum = 0.0;
        for (&m, w) in self.index.iter().zip(&self.b) {
            sum -= w * (self.residual[m as usize] + 0.5 * problem.f[m as usize]);
        }
        sum
    }

    fn write(&mut self, support: &mut Vec<u32>, weights: &mut Vec<f64>) {
        self.order.clear();
        self.order.extend(
            self.index.iter().zip(&self.b).filter(|(_, w)| **w > 0.0).map(|(&m, &w)| (m, w)),
        );
        self.order.sort_unstable_by_key(|&(m, _)| m);
        support.clear();
        support.extend(self.order.iter().map(|&(m, _)| m));
        weights.clear();
        weights.extend(self.order.iter().map(|&(_, w)| w));
    }
}

/// Smallest and largest entry.
#[inline(always)]
fn range(values: &[f64]) -> (f64, f64) {
    let mut low = [f64::INFINITY; 4];
    let mut high = [f64::NEG_INFINITY; 4];
    let (chunks, rest) = values.as_chunks::<4>();
    for chunk in chunks {
        for l in 0..4 {
            low[l] = if chunk[l] < low[l] { chunk[l] } else { low[l] };
            high[l] = if chunk[l] > high[l] { chunk[l] } else { high[l] };
        }
    }
    for &v in rest {
        low[0] = if v < low[0] { v } else { low[0] };
        high[0] = if v > high[0] { v } else { high[0] };
    }
    (
        low.into_iter().fold(f64::INFINITY, f64::min),
        high.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Where a value stands first.
#[inline(always)]
fn position(values: &[f64], value: f64) -> Option<usize> {
    let (chunks, rest) = values.as_chunks::<16>();
    for (c, chunk) in chunks.iter().enumerate() {
        let mut found = false;
        for v in chunk {
            found |= *v == value;
        }
        if found {
            return chunk.iter().position(|&v| v == value).map(|at| 16 * c + at);
        }
    }
    rest.iter().position(|&v| v == value).map(|at| 16 * chunks.len() + at)
}

/// Largest entry.
#[inline(always)]
fn largest(values: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for l in 0..8 {
            lanes[l] = if chunk[l] > lanes[l] { chunk[l] } else { lanes[l] };
        }
    }
    for &v in rest {
        lanes[0] = if v > lanes[0] { v } else { lanes[0] };
    }
    lanes.into_iter().fold(f64::NEG_INFINITY, f64::max)
}
