//! Rows as explicit features, computed again for every block, and what is summed over the blocks.

use std::ops::Range;

use obcut::Error;
use obcut_core::block::Scratch;
use obcut_core::linalg::gemm::{Real, times, times_transposed, transposed_times};
use obcut_core::linalg::simd::{axpy, vectorised};
use obcut_core::parallel::Context;

/// Rows in a block, at most and at least, and the numbers that a block is meant to hold.
const MOST_ROWS: usize = 512;
const FEWEST_ROWS: usize = 32;
const BLOCK_SIZE: usize = 1 << 20;
/// Columns that are multiplied at a time: what lies above the diagonal of panels is left out.
const PANEL: usize = 256;
/// Rows as explicit features.
pub(crate) trait Features: Sync {
    fn n(&self) -> usize;
    /// Features of a row.
    fn width(&self) -> usize;
    /// Writes the features of some rows, one row after the other.
    fn fill<T: Real>(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut [T]);
}

/// Rows in a block: a function of the width and nothing else.
fn block_rows(width: usize) -> usize {
    (BLOCK_SIZE / width.max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

/// Numbers in a block.
pub(crate) fn block_size(width: usize) -> usize {
    block_rows(width).saturating_mul(width)
}

/// Visits the features of a range of rows, block by block.
pub(crate) fn blocks<T: Real>(
    features: &impl Features,
    range: Range<usize>,
    mut visit: impl FnMut(Range<usize>, &[T]),
) {
    let (width, mut scratch, mut values) = (features.width(), Scratch::default(), Vec::new());
    let step = block_rows(width);
    for start in range.clone().step_by(step) {
        let rows = start..(start + step).min(range.end);
        values.resize(rows.len() * width, T::from_f64(0.0));
        features.fill(rows.clone(), &mut scratch, &mut values);
        visit(rows, &values);
    }
}

/// Sum of the features of all rows.
pub(crate) fn total<T: Real>(
    features: &impl Features,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let width = features.width();
    let mut sum = vec![0.0; width];
    context.fold(
        features.n(),
        |range| {
            let mut part = vec![0.0; width];
            blocks::<T>(features, range, |_, block| {
                vectorised(
                    #[inline(always)]
                    || block.chunks_exact(width).for_each(|row| axpy(1.0, row, &mut part)),
                );
            });
            part
        },
        |part| sum.iter_mut().zip(part).for_each(|(s, p)| *s += p),
    )?;
    Ok(sum)
}

/// Degrees of the rows of a block.
fn block_degrees<T: Real>(block: &[T], sum: &[f64], floor: f64, out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (row, out) in block.chunks_exact(sum.len()).zip(out) {
                *out = dot(row, sum).max(floor);
            }
        },
    );
}

/// Sum of products in eight lanes.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (x, y) in a8.iter().zip(b8) {
        for l in 0..8 {
            lanes[l] += x[l].to_f64() * y[l];
        }
    }
    let tail: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x.to_f64() * y).sum();
    lanes.iter().sum::<f64>() + tail
}

/// Degrees of all rows.
pub(crate) fn degrees<T: Real>(
    features: &impl Features,
    sum: &[f64],
    floor: f64,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let mut degrees = vec![0.0; features.n()];
    context.map_into(features.n(), &mut degrees, 1, |range, out| {
        blocks::<T>(features, range.clone(), |rows, block| {
            let out = &mut out[rows.start - range.start..rows.end - range.start];
            block_degrees(block, sum, floor, out);
        });
    })?;
    Ok(degrees)
}

/// D^-1/2 ΦΦ' D^-1/2 (N × N).
pub(crate) fn row_gram(
    features: &impl Features,
    degrees: &[f64],
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let (n, width) = (features.n(), features.width());
    let mut scaled = vec![0.0; n * width];
    context.map_into(n, &mut scaled, width, |range, out| {
        features.fill(range.clone(), &mut Scratch::default(), out);
        for (row, degree) in out.chunks_exact_mut(width).zip(&degrees[range]) {
            row.iter_mut().for_each(|v| *v /= degree.sqrt());
        }
    })?;
    let mut gram = vec![0.0; n * n];
    context.each_into(&mut gram, MOST_ROWS * n, |c, out| {
        let (rows, start) = (out.len() / n, c * MOST_ROWS);
        let part = &scaled[start * width..(start + rows) * width];
        times_transposed(part, &scaled, out, (rows, n, width));
    })?;
    Ok(gram)
}

/// Degrees, and Φ' D^-1 Φ (F × F).
pub(crate) fn column_gram<T: Real>(
    features: &impl Features,
    sum: &[f64],
    floor: f64,
    context: &Context<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let width = features.width();
    let (mut degrees, mut gram) = (vec![0.0; features.n()], vec![0.0; width * width]);
    context.fold_into(
        features.n(),
        &mut degrees,
        |range, out| {
            let (mut part, mut panels) = (vec![0.0; width * width], Panels::new(width));
            blocks::<T>(features, range.clone(), |rows, block| {
                let out = &mut out[rows.start - range.start..rows.end - range.start];
                block_degrees(block, sum, floor, out);
                panels.load(block, out);
                panels.add_gram(&mut part);
            });
            part
        },
        |part: Vec<f64>| gram.iter_mut().zip(part).for_each(|(g, p)| *g += p),
    )?;
    for i in 0..width {
        for j in i + 1..width {
            gram[i * width + j] = gram[j * width + i];
        }
    }
    Ok((degrees, gram))
}

/// A block of rows, a few columns at a time.
struct Panels<T> {
    width: usize,
    rows: usize,
    panels: Vec<Vec<T>>,
    product: Vec<T>,
}

impl<T: Real> Panels<T> {
    fn new(width: usize) -> Self {
        let panels = (0..width.div_ceil(PANEL)).map(|_| Vec::new()).collect();
        Self { width, rows: 0, panels, product: Vec::new() }
    }

    /// Takes in rows over the roots of their degrees.
    fn load(&mut self, block: &[T], degrees: &[f64]) {
        self.rows = degrees.len();
        for (p, panel) in self.panels.iter_mut().enumerate() {
            let columns = p * PANEL..((p + 1) * PANEL).min(self.width);
            panel.clear();
            vectorised(
                #[inline(always)]
                || {
                    for (row, degree) in block.chunks_exact(self.width).zip(degrees) {
                        let scale = 1.0 / degree.sqrt();
                        let scaled = |v: &T| T::from_f64(v.to_f64() * scale);
                        panel.extend(row[columns.clone()].iter().map(scaled));
                    }
                },
            );
        }
    }

    /// Adds the products of columns, panels on and below the diagonal.
    fn add_gram(&mut self, gram: &mut [f64]) {
        let Self { width, rows, panels, product } = self;
        for (p, a) in panels.iter().enumerate() {
            for (q, b) in panels[..=p].iter().enumerate() {
                let (height, breadth) = (a.len() / *rows, b.len() / *rows);
                product.resize(height * breadth, T::from_f64(0.0));
                transposed_times(a, b, product, (height, breadth, *rows));
                for (i, from) in product.chunks_exact(breadth).enumerate() {
                    let start = (p * PANEL + i) * *width + q * PANEL;
                    add(from, &mut gram[start..start + breadth]);
                }
            }
        }
    }
}

/// `out += from`.
fn add<T: Real>(from: &[T], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || axpy(1.0, from, out),
    );
}

/// Φ' D^-1 Φ x for a block x (F × count).
pub(crate) fn product<T: Real>(
    features: &impl Features,
    degrees: &[f64],
    x: &[f64],
    count: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let width = features.width();
    let x: Vec<T> = x.iter().map(|&v| T::from_f64(v)).collect();
    let mut out = vec![0.0; width * count];
    context.fold_large(
        features.n(),
        |range| {
            let mut part = vec![0.0; width * count];
            let mut image = vec![T::from_f64(0.0); width * count];
            blocks::<T>(features, range, |rows, block| {
                let mut y = vec![T::from_f64(0.0); rows.len() * count];
                times(block, &x, &mut y, (rows.len(), count, width));
                for (row, degree) in y.chunks_exact_mut(count).zip(&degrees[rows.clone()]) {
                    row.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / degree));
                }
                transposed_times(block, &y, &mut image, (width, count, rows.len()));
                add(&image, &mut part);
            });
            part
        },
        |part| add(&part, &mut out),
    )?;
    Ok(out)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use obcut::Silent;
    use obcut_core::random::Stream;

    /// Features that are given.
    pub(crate) struct Given {
        pub values: Vec<f64>,
        pub width: usize,
    }

    impl Features for Given {
        fn n(&self) -> usize {
            self.values.len() / self.width
        }
        fn width(&self) -> usize {
            self.width
        }
        fn fill<T: Real>(&self, rows: Range<usize>, _: &mut Scratch, out: &mut [T]) {
            let from = &self.values[rows.start * self.width..rows.end * self.width];
            out.iter_mut().zip(from).for_each(|(o, v)| *o = T::from_f64(*v));
        }
    }

    /// Positive features, so that degrees are.
    pub(crate) fn given(n: usize, width: usize) -> Given {
        let values = Stream::new(8).values(n * width).into_iter().map(|v| v + 1.1).collect();
        Given { values, width }
    }

    fn near(a: &[f64], b: &[f64], part: f64) -> bool {
        let size = b.iter().fold(0.0, |s: f64, v| s.max(v.abs()));
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= part * size)
    }

    /// Several chunks, panels and blocks, none of them full at the end.
    #[test]
    fn sums_over_blocks_equal_the_plain_loops() {
        let context = Context::new(2, &Silent).unwrap();
        for (n, width) in [(1, 1), (7, 3), (1300, PANEL + 5)] {
            let features = given(n, width);
            let row = |i: usize| &features.values[i * width..(i + 1) * width];
            let sum: Vec<f64> = (0..width).map(|f| (0..n).map(|i| row(i)[f]).sum()).collect();
            let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            let plain: Vec<f64> = (0..n).map(|i| inner(row(i), &sum)).collect();
            assert!(near(&total::<f64>(&features, &context).unwrap(), &sum, 1e-13));
            assert!(near(&degrees::<f64>(&features, &sum, 0.0, &context).unwrap(), &plain, 1e-13));
            let mut gram = vec![0.0; width * width];
            for i in 0..n {
                for f in 0..width {
                    let scale = row(i)[f] / plain[i];
                    axpy(scale, row(i), &mut gram[f * width..(f + 1) * width]);
                }
            }
            let (found, double) = column_gram::<f64>(&features, &sum, 0.0, &context).unwrap();
            let (_, single) = column_gram::<f32>(&features, &sum, 0.0, &context).unwrap();
            assert!(near(&found, &plain, 1e-13) && near(&double, &gram, 1e-12));
            assert!(near(&single, &gram, 1e-6));
            let x = Stream::new(1).values(width * 2);
            let mut expected = vec![0.0; width * 2];
            times(&gram, &x, &mut expected, (width, 2, width));
            assert!(near(
                &product::<f64>(&features, &plain, &x, 2, &context).unwrap(),
                &expected,
                1e-12
            ));
        }
    }

    #[test]
    fn degrees_are_floored() {
        let context = Context::new(1, &Silent).unwrap();
        let features = Given { values: vec![1.0, -1.0, 0.0], width: 1 };
        assert_eq!(degrees::<f64>(&features, &[0.5], 0.1, &context).unwrap(), [0.5, 0.1, 0.1]);
    }

    #[test]
    fn the_gram_of_the_rows_is_the_normalized_graph() {
        let context = Context::new(2, &Silent).unwrap();
        let (n, width) = (MOST_ROWS + 9, 4);
        let features = given(n, width);
        let degrees: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let gram = row_gram(&features, &degrees, &context).unwrap();
        for (i, j) in [(0, 0), (3, MOST_ROWS + 2), (MOST_ROWS + 8, 1), (n - 1, n - 1)] {
            let row = |i: usize| &features.values[i * width..(i + 1) * width];
            let plain: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
            let plain = plain / (degrees[i] * degrees[j]).sqrt();
            assert!((gram[i * n + j] - plain).abs() < 1e-13);
        }
    }
}
