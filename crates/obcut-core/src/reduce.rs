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
use crate::matrix::DenseRef;
use crate::parallel::Context;
use crate::scaling::Scaling;
use crate::table::Table;
use crate::unique_rows::UniqueRows;

const RIDGE: f64 = 1e-12;
/// Combination weights below this are rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// The change of basis pays when a table has this many columns per row,
const WIDE: usize = 3;
/// and while the square matrix of inner products is small.
const REDUCED_ROWS: usize = 5000;

/// The rows in N columns.
pub struct RankReduced {
    /// Rows, and columns.
    pub n: usize,
    /// L, n × n row-major, lower triangle.
    pub rows: Vec<f64>,
    /// Rows of zeros.
    empty: Vec<usize>,
    /// Largest over smallest squared length of the others.
    spread: f64,
    /// The rows need no scaling.
    unscaled: Scaling,
}

/// Squared lengths that differ by more than this: the ridge, which goes by their mean, is no longer small for the
/// shortest rows.
const SPREAD: f64 = 1e8;

/// The rows of a wide table in as many columns as there are distinct rows, and that number: for methods that go by
/// distances or inner products and take no points back. Equal rows stay equal, and rows of zeros are zeros. `None`
/// where rounding would show.
pub fn rotated(
    table: &Table<'_>,
    context: &Context<'_>,
) -> Result<Option<(Vec<f64>, usize)>, Error> {
    let units = UniqueRows::new(table, None, context)?;
    let mut reduced = match RankReduced::new(&table.subset(&units.first), context) {
        Ok(reduced) if reduced.spread <= SPREAD => reduced,
        Ok(_) | Err(Error::Numeric { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let m = reduced.n;
    // A row of zeros has no direction, though the ridge lends it one.
    reduced.empty.iter().for_each(|&i| reduced.rows[i * m..(i + 1) * m].fill(0.0));
    if units.is_identity() {
        return Ok(Some((reduced.rows, m)));
    }
    let row = |&unit: &u32| &reduced.rows[unit as usize * m..(unit as usize + 1) * m];
    Ok(Some((units.of_row.iter().flat_map(row).copied().collect(), m)))
}

impl RankReduced {
    /// Whether a table is wide enough, dense, and of few rows.
    pub fn pays(table: &Table<'_>) -> bool {
        let (n, d) = (table.n(), table.d());
        d > WIDE * n && n <= REDUCED_ROWS && !table.is_sparse()
    }

    /// Bytes that the change takes: products, in blocks and whole, and the factor; and two blocks of rows for
    /// every thread.
    pub fn bytes(table: &Table<'_>, threads: usize) -> f64 {
        let (n, d) = (table.n() as f64, table.d() as f64);
        8.0 * (3.0 * n * n + 2.0 * BLOCK as f64 * d * threads as f64)
    }

    /// The small rows of a dense table with more columns than rows.
    pub fn new(table: &Table<'_>, context: &Context<'_>) -> Result<Self, Error> {
        let n = table.n();
        let mut gram = inner_products(table, context)?;
        let mean = (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64;
        let lengths = || (0..n).map(|i| gram[i * n + i]).filter(|&square| square > 0.0);
        let longest = lengths().fold(0.0, f64::max);
        let spread = longest / lengths().fold(longest, f64::min);
        let empty = (0..n).filter(|&i| gram[i * n + i] == 0.0).collect();
        (0..n).for_each(|i| gram[i * n + i] += RIDGE * mean + f64::MIN_POSITIVE);
        let rows = factor::cholesky(&gram, n).ok_or(Error::Numeric {
            stage: "reduction of a wide table",
            detail: "the matrix of inner products has no Cholesky factor".into(),
        })?;
        Ok(Self { n, rows, empty, spread, unscaled: Scaling::identity(n) })
    }

    /// The rows as a table.
    pub fn table(&self) -> Result<Table<'_>, Error> {
        Ok(Table::new(DenseRef::new(&self.rows, self.n, self.n)?.into(), &self.unscaled))
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
    use crate::observer::Silent;
    use crate::random::Stream;

    #[test]
    fn inner_products_survive_and_points_come_back() {
        let (n, d) = (150, 400);
        let x = Stream::new(1).values(n * d);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let context = Context::new(2, &Silent).unwrap();
        let reduced = RankReduced::new(&table, &context).unwrap();
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

    #[test]
    fn copies_and_empty_rows_stay_what_they_are() {
        let (n, d) = (30, 200);
        let mut x = Stream::new(1).values(n * d);
        x.copy_within(0..3 * d, 10 * d);
        x[7 * d..8 * d].fill(0.0);
        let scaling = Scaling::identity(d);
        let context = Context::new(2, &Silent).unwrap();
        let of = |x: &[f64]| {
            let table = Table::new(DenseRef::new(x, n, d).unwrap().into(), &scaling);
            rotated(&table, &context).unwrap()
        };
        let (rows, m) = of(&x).unwrap();
        assert_eq!(m, n - 3);
        let row = |i: usize| &rows[i * m..(i + 1) * m];
        assert!((0..3).all(|i| row(i) == row(10 + i)) && row(7).iter().all(|&v| v == 0.0));
        for (i, j) in [(0, 0), (3, 7), (12, 2), (29, 11), (20, 21)] {
            let full = simd::dot(&x[i * d..(i + 1) * d], &x[j * d..(j + 1) * d]);
            assert!((full - simd::dot(row(i), row(j))).abs() < 1e-8, "{i} {j}");
        }
        // Beside a huge row the ridge is no longer small.
        x[4 * d..5 * d].iter_mut().for_each(|v| *v *= 1e8);
        assert!(of(&x).is_none());
    }
}
