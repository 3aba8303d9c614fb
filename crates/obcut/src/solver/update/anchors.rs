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

use crate::block::Scratch;
use crate::error::Error;
use crate::graph::Graph;
use crate::linalg::{factor, gemm, simd};
use crate::parallel::Context;
use crate::table::Table;

/// Sums over all rows that the anchors and the residual need.
pub(crate) struct Moments {
    pub s: Vec<f64>,
    pub r: Vec<f64>,
}

impl Moments {
    /// B'CB and B'CX, C the sample weights.
    pub fn new(
        table: &Table<'_>,
        graph: &Graph,
        weights: &[f64],
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let (m, d) = (graph.n_cols, table.d());
        let mut total = Self { s: vec![0.0; m * m], r: vec![0.0; m * d] };
        let mut degrees = vec![0.0; m];
        context.fold(
            table.n(),
            |range| {
                let mut part = Self { s: vec![0.0; m * m], r: vec![0.0; m * d] };
                let mut degrees = vec![0.0; m];
                let (mut scratch, mut row) = (Scratch::default(), vec![0.0; d]);
                for i in range {
                    let (columns, values) = graph.row(i);
                    if !table.is_sparse() {
                        table.row(i, &mut row);
                    }
                    for (&a, &v) in columns.iter().zip(values) {
                        let (a, v) = (a as usize, v * weights[i]);
                        degrees[a] += v;
                        let sum = &mut part.r[a * d..(a + 1) * d];
                        if table.is_sparse() {
                            table.add_row(i, v, sum, &mut scratch);
                        } else {
                            simd::axpy(v, &row, sum);
                        }
                        let products = &mut part.s[a * m..(a + 1) * m];
                        for (&b, &u) in columns.iter().zip(values) {
                            products[b as usize] += v * u;
                        }
                    }
                }
                (part, degrees)
            },
            |(part, part_degrees)| {
                total.s.iter_mut().zip(part.s).for_each(|(t, p)| *t += p);
                total.r.iter_mut().zip(part.r).for_each(|(t, p)| *t += p);
                degrees.iter_mut().zip(part_degrees).for_each(|(t, p)| *t += p);
            },
        )?;
        for (sum, &degree) in total.r.chunks_exact_mut(d).zip(&degrees) {
            table.finish_sum(degree, sum);
        }
        for a in 0..m {
            for b in 0..a {
                total.s[b * m + a] = total.s[a * m + b];
            }
        }
        Ok(total)
    }

    /// |X - AB'|^2 = V - 2 <A, B'X> + <A'A, B'B>, V the sum of |x|^2.
    pub fn residual(&self, anchors: &[f64], m: usize, d: usize, total_square: f64) -> f64 {
        let gram = gemm::gram(anchors, m, d);
        total_square - 2.0 * simd::dot(anchors, &self.r) + simd::dot(&gram, &self.s)
    }
}

/// Least squares with pseudo-inverse: A' = (B'B)^+ B'X.
pub(crate) fn least_squares(moments: &Moments, m: usize, d: usize) -> Result<Vec<f64>, Error> {
    factor::solve_semidefinite(&moments.s, &moments.r, m, d)
}

/// The minimiser of |X - AB'|^2 + pull |A - A0|^2.
pub(crate) fn proximal(
    moments: &Moments,
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
