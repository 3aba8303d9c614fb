//! Rows filled up, and rows in fewer dimensions.

use std::ops::Range;

use obcut::Error;
use obcut_core::block::BLOCK;
use obcut_core::linalg::eigen;
use obcut_core::linalg::gemm::{gram, times, transposed_times};
use obcut_core::linalg::simd::vectorised;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;

/// All rows in full: N × d.
pub(crate) fn filled(table: &Table<'_>, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let d = table.d();
    let mut out = vec![0.0; table.n() * d];
    context.map_into(table.n(), &mut out, d, |range, out| fill(table, range, out))?;
    Ok(out)
}

fn fill(table: &Table<'_>, range: Range<usize>, out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (i, row) in range.zip(out.chunks_exact_mut(table.d())) {
                table.row(i, row);
            }
        },
    );
}

/// The rows in the directions of their `width` largest singular values, without centring: N ×
/// width, and the width, which is not above N and d.
pub(crate) fn projected(
    table: &Table<'_>,
    width: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<(Vec<f64>, usize), Error> {
    let (n, d) = (table.n(), table.d());
    let width = width.min(n).min(d);
    let check = || context.check();
    if d > n {
        // X = U S V', so that X V = U S: the smaller Gram matrix is enough.
        let products = gram(&filled(table, context)?, n, d);
        let (values, mut vectors) = eigen::largest(&products, n, width, stream, check)?;
        for row in vectors.chunks_exact_mut(width) {
            row.iter_mut().zip(&values).for_each(|(v, s)| *v *= s.max(0.0).sqrt());
        }
        return Ok((vectors, width));
    }
    let (_, directions) = eigen::largest(&moments(table, context)?, d, width, stream, check)?;
    let mut out = vec![0.0; n * width];
    context.map_into(n, &mut out, width, |range, out| {
        for_blocks(table, range, out, width, |rows, out| {
            times(rows, &directions, out, (rows.len() / d, width, d));
        });
    })?;
    Ok((out, width))
}

/// X'X: d × d.
fn moments(table: &Table<'_>, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let d = table.d();
    let mut sum = vec![0.0; d * d];
    context.fold_large(
        table.n(),
        |range| {
            let (mut part, mut product) = (vec![0.0; d * d], vec![0.0; d * d]);
            for_blocks(table, range, &mut [], 0, |rows, _| {
                transposed_times(rows, rows, &mut product, (d, d, rows.len() / d));
                part.iter_mut().zip(&product).for_each(|(s, p)| *s += p);
            });
            part
        },
        |part| sum.iter_mut().zip(part).for_each(|(s, p)| *s += p),
    )?;
    Ok(sum)
}

/// Hands over the rows of a range block by block, with their parts of `out` (`stride` items per
/// row).
fn for_blocks(
    table: &Table<'_>,
    range: Range<usize>,
    out: &mut [f64],
    stride: usize,
    mut work: impl FnMut(&[f64], &mut [f64]),
) {
    let mut rows = vec![0.0; BLOCK * table.d()];
    for start in range.clone().step_by(BLOCK) {
        let block = start..(start + BLOCK).min(range.end);
        let rows = &mut rows[..block.len() * table.d()];
        fill(table, block.clone(), rows);
        let at = (start - range.start) * stride;
        work(rows, &mut out[at..at + block.len() * stride]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_job;
    use obcut::{Matrix, Scale};

    #[test]
    fn all_directions_keep_every_inner_product_and_fewer_keep_the_largest() {
        for (n, d) in [(700, 9), (12, 30)] {
            let values = Stream::new(2).values(n * d);
            let matrix = Matrix::Dense64 { values: values.clone(), n_rows: n, n_cols: d };
            with_job(&matrix, 2, Scale::None, false, |job| {
                assert_eq!(filled(job.table, job.context)?, values);
                let (whole, width) = projected(job.table, 100, job.stream, job.context)?;
                assert_eq!(width, n.min(d));
                let (kept, given) = (gram(&whole, n, width), gram(&values, n, d));
                assert!(kept.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-10));
                let (some, width) = projected(job.table, 3, job.stream, job.context)?;
                assert_eq!((some.len(), width), (3 * n, 3));
                let lengths: Vec<f64> = (0..3)
                    .map(|j| (0..n).map(|i| some[i * 3 + j] * some[i * 3 + j]).sum())
                    .collect();
                assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
                Ok(())
            });
        }
    }
}
