//! Wide tables, d > N: an exact change of basis to N columns.
//!
//! Everything depends on the rows through inner products alone, so any matrix L with L L' = X X' may
//! stand for X. The Cholesky factor does; a tiny ridge (1e-12 of the mean diagonal) carries it over the
//! rank that centring takes away. Anchors are found in the small space and taken back as the same
//! combinations of rows.

use crate::block::{BLOCK, Scratch};
use crate::error::Error;
use crate::linalg::simd::vectorised;
use crate::linalg::{factor, gemm};
use crate::parallel::Context;
use crate::table::Table;

const RIDGE: f64 = 1e-12;
/// Combination weights below this are rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// The change of basis pays when a table has this many columns per row,
const WIDE: usize = 3;
/// and while the square matrix of inner products is small.
const REDUCED_ROWS: usize = 5000;

/// The rows in N columns.
pub struct Reduced {
    /// Rows, and columns.
    pub n: usize,
    /// L, n × n row-major, lower triangle.
    pub rows: Vec<f64>,
    /// Rows of zeros.
    empty: Vec<usize>,
}

impl Reduced {
    /// Whether a table is wide enough, dense, and of few rows.
    pub fn pays(table: &Table<'_>) -> bool {
        let (n, d) = (table.n(), table.d());
        d > WIDE * n && n <= REDUCED_ROWS && !table.is_sparse()
    }

    /// Bytes that the change takes for so many rows: products, in blocks and whole, and the factor.
    pub fn bytes(n: usize) -> f64 {
        3.0 * 8.0 * (n as f64) * n as f64
    }

    /// The small rows of a dense table with more columns than rows.
    pub fn new(table: &Table<'_>, context: &Context<'_>) -> Result<Self, Error> {
        let n = table.n();
        let mut gram = inner_products(table, context)?;
        let mean = (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64;
        let empty: Vec<usize> = (0..n).filter(|&i| gram[i * n + i] == 0.0).collect();
        (0..n).for_each(|i| gram[i * n + i] += RIDGE * mean + f64::MIN_POSITIVE);
        let rows = factor::cholesky(&gram, n).ok_or(Error::Numeric {
            stage: "reduction of a wide table",
            detail: "the matrix of inner products has no Cholesky factor".into(),
        })?;
        Ok(Self { n, rows, empty })
    }

    /// The small rows alone, n × n, for work that takes no points back. A row of zeros is one here too: it has no
    /// direction, though the ridge lends it one.
    pub fn into_rows(mut self) -> Vec<f64> {
        let n = self.n;
        self.empty.iter().for_each(|&i| self.rows[i * n..(i + 1) * n].fill(0.0));
        self.rows
    }

    /// Points of the small space (m × n) as points of the table (m × d).
    pub fn restore(
        &self,
        points: &[f64],
        table: &Table<'_>,
        context: &Context<'_>,
    ) -> Result<Vec<f64>, Error> {
        let (n, d) = (self.n, table.d());
        let weights = factor::solve_lower_right(points, &self.rows, points.len() / n, n);
        let restored = context.each(points.len() / n, |m| {
            let mut out = vec![0.0; d];
            let mut scratch = Scratch::default();
            for (i, &w) in weights[m * n..(m + 1) * n].iter().enumerate() {
                if w.abs() > NEGLIGIBLE {
                    table.add_row(i, w, &mut out, &mut scratch);
                }
            }
            out
        })?;
        Ok(restored.concat())
    }
}

/// X X' in f64, a pair of row blocks at a time.
fn inner_products(table: &Table<'_>, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let (n, d) = (table.n(), table.d());
    let n_blocks = n.div_ceil(BLOCK);
    let load = |block: usize, rows: &mut [f64]| {
        let taken = block * BLOCK..((block + 1) * BLOCK).min(n);
        rows[taken.len() * d..].fill(0.0);
        vectorised(
            #[inline(always)]
            || taken.zip(rows.chunks_exact_mut(d)).for_each(|(i, out)| table.row(i, out)),
        );
    };
    let strips = context.each(n_blocks, |a| {
        let (mut left, mut right) = (vec![0.0; BLOCK * d], vec![0.0; BLOCK * d]);
        load(a, &mut left);
        (0..=a)
            .map(|b| {
                let mut out = vec![0.0; BLOCK * BLOCK];
                if a == b {
                    gemm::times_transposed(&left, &left, &mut out, (BLOCK, BLOCK, d));
                } else {
                    load(b, &mut right);
                    gemm::times_transposed(&left, &right, &mut out, (BLOCK, BLOCK, d));
                }
                out
            })
            .collect::<Vec<_>>()
    })?;
    let mut gram = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let block = &strips[i / BLOCK][j / BLOCK];
            let value = block[i % BLOCK * BLOCK + j % BLOCK];
            gram[i * n + j] = value;
            gram[j * n + i] = value;
        }
    }
    Ok(gram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd;
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;
    use crate::random::Stream;

    #[test]
    fn inner_products_survive_and_points_come_back() {
        let (n, d) = (150, 400);
        let x = Stream::new(1).values(n * d);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let context = Context::new(2, &Silent).unwrap();
        let reduced = Reduced::new(&table, &context).unwrap();
        for (i, j) in [(0, 0), (3, 77), (149, 2), (130, 129)] {
            let full = simd::dot(&x[i * d..(i + 1) * d], &x[j * d..(j + 1) * d]);
            let small =
                simd::dot(&reduced.rows[i * n..(i + 1) * n], &reduced.rows[j * n..(j + 1) * n]);
            assert!((full - small).abs() < 1e-8, "{full} {small}");
        }
        // The mean of rows 3, 4 and 5.
        let mean = |rows: &[f64], d: usize| -> Vec<f64> {
            (0..d).map(|f| (3..6).map(|i| rows[i * d + f]).sum::<f64>() / 3.0).collect()
        };
        let back = reduced.restore(&mean(&reduced.rows, n), &table, &context).unwrap();
        assert!(back.iter().zip(mean(&x, d)).all(|(a, b)| (a - b).abs() < 1e-8));
    }
}
