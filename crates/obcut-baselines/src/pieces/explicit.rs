//! The normalised cut of a graph whose weights are products of explicit features.
//!
//! With Φ (N × F) the features and s their sum, degrees are Φs and the eigenvectors of D^-1/2 ΦΦ' D^-1/2
//! are left singular vectors of D^-1/2 Φ. The N × N graph is never built: features are made anew for
//! every block of rows, and products go to the smaller Gram matrix, or to none when both are large.

use std::ops::Range;

use obcut::block::Scratch;
use obcut::linalg::eigen;
use obcut::linalg::factor::symmetric_eigen;
use obcut::linalg::gemm::{Real, times, times_transposed, transposed_times};
use obcut::linalg::simd::{axpy, vectorised};
use obcut::normalize::Scaling;
use obcut::parallel::Context;
use obcut::random::Stream;
use obcut::table::Table;
use obcut::{DenseRef, Error, Run, Samples};

use super::ascent::ascend;
use super::means::{Flavour, cluster_rows};

/// Rows in a block, at most and at least, and the numbers that a block is meant to hold.
const MOST_ROWS: usize = 512;
const FEWEST_ROWS: usize = 32;
const BLOCK_SIZE: usize = 1 << 20;
/// Columns that are multiplied at a time: what lies above the diagonal of panels is left out.
const PANEL: usize = 256;
/// Up to this size a matrix is decomposed whole: later eigenvalues are far below the first, and an
/// iteration that goes by the first would leave their vectors rough.
const WHOLE: usize = 2048;
/// Up to this size a Gram matrix is built.
const LARGEST: usize = 8192;
/// Numbers of the features of all rows that are held at once, at most.
const HELD: usize = 1 << 28;
/// Rows from which features are multiplied in single precision; sums are double.
pub(crate) const MANY_ROWS: usize = 5000;

obcut::choices! {
    /// How eigenvectors are found.
    Solver as "solver" {
        /// By the singular value decomposition, through the smaller Gram matrix.
        Svd = "svd",
        /// By ascent on the Stiefel manifold.
        Stiefel = "stiefel",
    }
}

/// Rows as explicit features.
pub(crate) trait Features: Sync {
    fn n(&self) -> usize;
    /// Features of a row.
    fn width(&self) -> usize;
    /// Writes the features of some rows, one row after the other.
    fn fill<T: Real>(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut [T]);
}

/// A type that features are held in.
pub(crate) trait Precision: Real {
    /// Eigenvalues below this part of the largest are noise.
    const NOISE: f64;
    fn samples(rows: DenseRef<'_, Self>) -> Samples<'_>;
}

impl Precision for f32 {
    const NOISE: f64 = 1e-7;
    fn samples(rows: DenseRef<'_, Self>) -> Samples<'_> {
        rows.into()
    }
}

impl Precision for f64 {
    const NOISE: f64 = 1e-13;
    fn samples(rows: DenseRef<'_, Self>) -> Samples<'_> {
        rows.into()
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// Eigenvectors.
    pub count: usize,
    /// Least degree.
    pub floor: f64,
    pub solver: Solver,
    pub stream: Stream,
}

/// The leading eigenvectors of the normalised graph.
pub(crate) struct Cut<T> {
    /// Eigenvalues, descending, without those that are noise: at least one.
    pub values: Vec<f64>,
    /// N × as many, columns of unit length.
    pub vectors: Vec<T>,
    /// Floored.
    pub degrees: Vec<f64>,
}

/// The matrix that is decomposed.
#[derive(Debug, PartialEq)]
enum Side {
    /// N × N.
    Rows,
    /// F × F.
    Columns,
    /// F × F by its products alone.
    Products,
}

fn side(n: usize, width: usize) -> Side {
    if n < width && n <= LARGEST && n * width <= HELD {
        Side::Rows
    } else if width <= LARGEST {
        Side::Columns
    } else {
        Side::Products
    }
}

/// Bytes that [`cut`] needs, with the k-means on its result.
pub(crate) fn memory(n: usize, width: usize, count: usize, run: &Run) -> f64 {
    let machine = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if run.threads == 0 { machine() } else { run.threads }.min(64);
    let (n, width, count, threads) = (n as f64, width as f64, count as f64, threads as f64);
    let block = (FEWEST_ROWS as f64 * width).max(BLOCK_SIZE as f64);
    let matrix = match side(n as usize, width as usize) {
        Side::Rows => n * width + 3.0 * n * n,
        Side::Columns => width * width * (threads + 3.0),
        Side::Products => width * count * (30.0 + 2.0 * threads),
    };
    8.0 * (matrix + 2.0 * block * threads + n * (2.0 * count + 4.0))
}

/// Visits the features of a range of rows, block by block.
pub(crate) fn blocks<T: Real>(
    features: &impl Features,
    range: Range<usize>,
    mut visit: impl FnMut(Range<usize>, &[T]),
) {
    let (width, mut scratch, mut values) = (features.width(), Scratch::default(), Vec::new());
    let step = (BLOCK_SIZE / width.max(1)).clamp(FEWEST_ROWS, MOST_ROWS);
    for start in range.clone().step_by(step) {
        let rows = start..(start + step).min(range.end);
        values.resize(rows.len() * width, T::from_f64(0.0));
        features.fill(rows.clone(), &mut scratch, &mut values);
        visit(rows, &values);
    }
}

/// The leading eigenvectors of the normalised graph.
pub(crate) fn cut<T: Precision>(
    features: &impl Features,
    task: Task,
    context: &Context<'_>,
) -> Result<Cut<T>, Error> {
    let (n, width) = (features.n(), features.width());
    let sum = total::<T>(features, context)?;
    let task = Task { count: task.count.min(n).min(width), ..task };
    match side(n, width) {
        Side::Rows => {
            let degrees = degrees::<T>(features, &sum, task.floor, context)?;
            let gram = row_gram(features, &degrees, context)?;
            let (values, vectors) = leading(&gram, n, task, context)?;
            let (values, vectors) = without_noise::<T>(values, &vectors);
            let vectors = vectors.into_iter().map(T::from_f64).collect();
            Ok(Cut { values, vectors, degrees })
        }
        Side::Columns => {
            let (degrees, gram) = column_gram::<T>(features, &sum, task.floor, context)?;
            let found = leading(&gram, width, task, context)?;
            embedded(features, found, degrees, context)
        }
        Side::Products => {
            let degrees = degrees::<T>(features, &sum, task.floor, context)?;
            let apply =
                |x: &[f64], count: usize| product::<T>(features, &degrees, x, count, context);
            let Task { count, stream, solver, .. } = task;
            let found = match solver {
                Solver::Svd => eigen::largest_of(width, count, stream, || context.check(), apply)?,
                Solver::Stiefel => ascend(width, count, stream, || context.check(), apply)?,
            };
            embedded(features, found, degrees, context)
        }
    }
}

/// Sum of the features of all rows.
fn total<T: Real>(features: &impl Features, context: &Context<'_>) -> Result<Vec<f64>, Error> {
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

fn degrees<T: Real>(
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
fn row_gram(
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
fn column_gram<T: Real>(
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
fn product<T: Real>(
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

/// The largest eigenvalues of a matrix (n × n), descending, with their vectors (n × count).
fn leading(
    matrix: &[f64],
    n: usize,
    task: Task,
    context: &Context<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let Task { count, stream, solver, .. } = task;
    match solver {
        Solver::Svd if n <= WHOLE => {
            let (values, vectors) = symmetric_eigen(matrix, n)?;
            let last = |row: &[f64]| row.iter().rev().take(count).copied().collect::<Vec<_>>();
            Ok((last(&values), vectors.chunks_exact(n).flat_map(last).collect()))
        }
        Solver::Svd => eigen::largest(matrix, n, count, stream, || context.check()),
        Solver::Stiefel => ascend(
            n,
            count,
            stream,
            || context.check(),
            |x, width| {
                let mut out = vec![0.0; n * width];
                times(matrix, x, &mut out, (n, width, n));
                Ok(out)
            },
        ),
    }
}

/// Leaves out eigenvalues that are noise, and their columns.
fn without_noise<T: Precision>(values: Vec<f64>, vectors: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let count = values.len();
    let kept = values.iter().filter(|&&v| v > T::NOISE * values[0]).count().max(1);
    let vectors = vectors.chunks_exact(count).flat_map(|row| row[..kept].to_vec()).collect();
    (values[..kept].to_vec(), vectors)
}

/// From the vectors of the features' side to those of the rows: D^-1/2 Φ v over the root of the value.
fn embedded<T: Precision>(
    features: &impl Features,
    (values, vectors): (Vec<f64>, Vec<f64>),
    degrees: Vec<f64>,
    context: &Context<'_>,
) -> Result<Cut<T>, Error> {
    let (values, mut turn) = without_noise::<T>(values, &vectors);
    let (count, width) = (values.len(), features.width());
    for row in turn.chunks_exact_mut(count) {
        row.iter_mut().zip(&values).for_each(|(v, l)| *v /= l.max(f64::MIN_POSITIVE).sqrt());
    }
    let turn: Vec<T> = turn.into_iter().map(T::from_f64).collect();
    let mut vectors = vec![T::from_f64(0.0); features.n() * count];
    context.map_into(features.n(), &mut vectors, count, |range, out| {
        blocks::<T>(features, range.clone(), |rows, block| {
            let here = (rows.start - range.start) * count..(rows.end - range.start) * count;
            let out = &mut out[here];
            times(block, &turn, out, (rows.len(), count, width));
            for (row, degree) in out.chunks_exact_mut(count).zip(&degrees[rows]) {
                row.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / degree.sqrt()));
            }
        });
    })?;
    Ok(Cut { values, vectors, degrees })
}

/// Labels of the rows of an embedding (n × width).
pub(crate) fn cluster<T: Precision>(
    points: &[T],
    width: usize,
    k: usize,
    flavour: Flavour,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let scaling = Scaling::identity(width);
    let rows = DenseRef::new(points, points.len() / width.max(1), width)?;
    cluster_rows(&Table::new(T::samples(rows), &scaling), k, flavour, stream, context)
}
