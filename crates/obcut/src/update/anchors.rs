//! Update of A with B, Y, H fixed: Eqs. `eq:upA`, `eq:UpdateA`.
//!
//! | paper | here        | shape            |
//! |-------|-------------|------------------|
//! | A     | `anchors`   | M × d, row-major |
//! | B'B   | `moments.s` | M × M            |
//! | (XB)' | `moments.r` | M × d            |
//!
//! Differs from print: least squares leaves the data when B'B is nearly singular (entries of
//! hundreds on [0, 1] data); the proximal form pulls towards the first anchors and stays near them.

use obcut_core::Graph;
use obcut_core::block::{BLOCK, Loaded, LoadedRows, Scratch};
use obcut_core::error::Error;
use obcut_core::linalg::factor;
use obcut_core::linalg::gemm::{self, Real};
use obcut_core::linalg::simd::{self, vectorised};
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// Sums over all rows that the anchors and the residual need.
pub(crate) struct LinkMoments {
    pub s: Vec<f64>,
    pub r: Vec<f64>,
}

impl LinkMoments {
    fn zero(m: usize, d: usize) -> Self {
        Self { s: vec![0.0; m * m], r: vec![0.0; m * d] }
    }

    /// B'CB and B'CX, C the sample weights.
    pub fn new(
        table: &Table<'_>,
        graph: &Graph,
        weights: &[f64],
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let (m, d) = (graph.n_cols, table.d());
        let mut all = Gathering::new(m, d);
        context.fold_large(
            table.n(),
            |range| {
                let mut part = Gathering::new(m, d);
                let mut scratch = Scratch::default();
                for start in range.clone().step_by(BLOCK) {
                    let rows = start..(start + BLOCK).min(range.end);
                    let block = table.load(rows.clone(), &mut scratch);
                    part.add(&block, rows.map(|i| (graph.row(i), weights[i])));
                }
                part
            },
            |part| all.merge(part),
        )?;
        Ok(all.finish(table))
    }

    /// |X - AB'|^2 = V - 2 <A, B'X> + <A'A, B'B>, V the sum of |x|^2.
    pub fn residual(&self, anchors: &[f64], m: usize, d: usize, total_square: f64) -> f64 {
        let gram = gemm::gram(anchors, m, d);
        total_square - 2.0 * simd::dot(anchors, &self.r) + simd::dot(&gram, &self.s)
    }
}

/// Moments while they are summed up.
pub(crate) struct Gathering {
    moments: LinkMoments,
    degrees: Vec<f64>,
    dense: DenseLinks,
}

/// Links of a block in full (BLOCK × M), and what they add to B'X (M × d).
#[derive(Default)]
struct DenseLinks {
    b32: Vec<f32>,
    r32: Vec<f32>,
    b64: Vec<f64>,
    r64: Vec<f64>,
}

/// Mean number of links above which a block's share of B'X is a matrix product.
const DENSE_LINKS: usize = 4;

impl Gathering {
    pub fn new(m: usize, d: usize) -> Self {
        let dense = DenseLinks::default();
        Self { moments: LinkMoments::zero(m, d), degrees: vec![0.0; m], dense }
    }

    /// Takes in the rows of a block with their links and weights.
    pub fn add<'g>(
        &mut self,
        block: &Loaded<'_>,
        rows: impl Iterator<Item = ((&'g [u32], &'g [f64]), f64)> + Clone,
    ) {
        let (m, d) = (self.degrees.len(), block.table.d());
        let Self { moments: LinkMoments { s, r }, degrees, dense } = self;
        let (mut n_rows, mut n_links) = (0, 0);
        for ((columns, values), w) in rows.clone() {
            (n_rows, n_links) = (n_rows + 1, n_links + columns.len());
            for (&a, &v) in columns.iter().zip(values) {
                let (a, v) = (a as usize, v * w);
                degrees[a] += v;
                let products = &mut s[a * m..(a + 1) * m];
                for (&b, &u) in columns.iter().zip(values) {
                    products[b as usize] += v * u;
                }
            }
        }
        if n_links > DENSE_LINKS * n_rows {
            match &block.rows {
                LoadedRows::Single(x) => {
                    return add_product(x, rows, (&mut dense.b32, &mut dense.r32), r, (m, d));
                }
                LoadedRows::Double(x) => {
                    return add_product(x, rows, (&mut dense.b64, &mut dense.r64), r, (m, d));
                }
                LoadedRows::Sparse => {}
            }
        }
        block.add_links(rows, r);
    }

    pub fn merge(&mut self, part: Self) {
        let add = |to: &mut [f64], from: &[f64]| {
            vectorised(
                #[inline(always)]
                || to.iter_mut().zip(from).for_each(|(t, f)| *t += f),
            );
        };
        add(&mut self.moments.s, &part.moments.s);
        add(&mut self.moments.r, &part.moments.r);
        add(&mut self.degrees, &part.degrees);
    }

    pub fn finish(self, table: &Table<'_>) -> LinkMoments {
        let (m, d) = (self.degrees.len(), table.d());
        let mut moments = self.moments;
        for (sum, &degree) in moments.r.chunks_exact_mut(d).zip(&self.degrees) {
            table.finish_sum(degree, sum);
        }
        for a in 0..m {
            for b in 0..a {
                moments.s[b * m + a] = moments.s[a * m + b];
            }
        }
        moments
    }
}

/// `r += B'CX` of a block, as one product.
fn add_product<'g, T: Real>(
    x: &[T],
    rows: impl Iterator<Item = ((&'g [u32], &'g [f64]), f64)>,
    (b, product): (&mut Vec<T>, &mut Vec<T>),
    r: &mut [f64],
    (m, d): (usize, usize),
) {
    b.clear();
    b.resize(BLOCK * m, T::from_f64(0.0));
    product.resize(m * d, T::from_f64(0.0));
    for (row, ((columns, values), w)) in b.chunks_exact_mut(m).zip(rows) {
        for (&a, &v) in columns.iter().zip(values) {
            row[a as usize] = T::from_f64(v * w);
        }
    }
    gemm::transposed_times(b, x, product, (m, d, BLOCK));
    vectorised(
        #[inline(always)]
        || r.iter_mut().zip(&*product).for_each(|(r, p)| *r += p.to_f64()),
    );
}

/// Least squares with pseudo-inverse: A' = (B'B)^+ B'X.
pub(crate) fn least_squares(moments: &LinkMoments, m: usize, d: usize) -> Result<Vec<f64>, Error> {
    factor::solve_semidefinite(&moments.s, &moments.r, m, d)
}

/// The minimiser of |X - AB'|^2 + pull |A - A0|^2.
pub(crate) fn proximal(
    moments: &LinkMoments,
    first: &[f64],
    pull: f64,
    m: usize,
    d: usize,
) -> Result<Vec<f64>, Error> {
    let mut s = moments.s.clone();
    let mut r = moments.r.clone();
    (0..m).for_each(|a| s[a * m + a] += pull);
    simd::axpy(pull, first, &mut r);
    match factor::solve_definite(&s, &r, m, d) {
        Some(anchors) => Ok(anchors),
        None => factor::solve_semidefinite(&s, &r, m, d),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::random::Stream;

    /// Every anchor twice, each with half of the links: B'B is singular, and the solution of least norm
    /// gives both copies the place that the one anchor would have.
    #[test]
    fn least_squares_of_a_singular_system_stays_with_the_data() {
        let (n, m, d) = (40, 5, 3);
        for seed in 0..40 {
            let stream = Stream::new(seed);
            let (b, places) = (stream.named("b").values(n * m), stream.named("a").values(m * d));
            let (m2, mut s, mut r) = (2 * m, vec![0.0; 4 * m * m], vec![0.0; 2 * m * d]);
            for row in b.chunks_exact(m) {
                let halves: Vec<f64> = row.iter().chain(row).map(|v| 0.5 * v).collect();
                let x = |f: usize| (0..m).map(|a| row[a] * places[a * d + f]).sum::<f64>();
                for (a, v) in halves.iter().enumerate() {
                    halves.iter().enumerate().for_each(|(c, w)| s[a * m2 + c] += v * w);
                    (0..d).for_each(|f| r[a * d + f] += v * x(f));
                }
            }
            let found = least_squares(&LinkMoments { s, r }, m2, d).unwrap();
            let far = |copy: &[f64]| simd::squared_distance(copy, &places).sqrt();
            assert!(far(&found[..m * d]) < 1e-6 && far(&found[m * d..]) < 1e-6, "seed {seed}");
        }
    }

    /// The minimiser against the gradient: (B'B) A - B'X + pull (A - A0) = 0.
    #[test]
    fn the_pull_holds_anchors_that_the_rows_do_not() {
        let (m, d, pull) = (4, 2, 0.3);
        // Rank 1: three directions know nothing of the data.
        let s = vec![1.0; m * m];
        let r: Vec<f64> = (0..m).flat_map(|_| [2.0, -1.0]).collect();
        let first = Stream::new(3).values(m * d);
        let found = proximal(&LinkMoments { s, r }, &first, pull, m, d).unwrap();
        for a in 0..m {
            for f in 0..d {
                let sum: f64 = (0..m).map(|c| found[c * d + f]).sum();
                let slope = sum - [2.0, -1.0][f] + pull * (found[a * d + f] - first[a * d + f]);
                assert!(slope.abs() < 1e-12, "{slope:e}");
            }
        }
    }
}
