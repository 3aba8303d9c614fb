//! The normalized cut of a graph whose weights are products of explicit features.
//!
//! With Φ (N × F) the features and s their sum, degrees are Φs and the eigenvectors of D^-1/2 ΦΦ' D^-1/2
//! are left singular vectors of D^-1/2 Φ. The N × N graph is never built: features are computed again for
//! every block of rows, and products go to the smaller Gram matrix, or to none when both are large.

use crate::Run;
use obcut::{DenseRef, Error, Samples};
use obcut_core::linalg::eigen;
use obcut_core::linalg::factor::symmetric_eigen;
use obcut_core::linalg::gemm::{Real, times};
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

use super::ascent::ascend;
use super::features::{
    Features, block_size, blocks, column_gram, degrees, product, row_gram, total,
};

/// Up to this size a matrix is decomposed whole: later eigenvalues are far below the first, and an
/// iteration that goes by the first would leave their vectors rough.
const WHOLE: usize = 1600;
/// Up to this size a Gram matrix is built.
const LARGEST: usize = 4096;
/// Numbers of the features of all rows that are held at once, at most.
const HELD: usize = 1 << 28;
/// Rows from which features are multiplied in single precision; sums are double.
pub(crate) const MANY_ROWS: usize = 5000;

obcut_core::choices! {
    /// How eigenvectors are found.
    Solver as "solver" {
        /// By the singular value decomposition, through the smaller Gram matrix.
        Svd = "svd",
        /// By ascent on the Stiefel manifold.
        Stiefel = "stiefel",
    }
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
    const NOISE: f64 = 1e-14;
    fn samples(rows: DenseRef<'_, Self>) -> Samples<'_> {
        rows.into()
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct CutTask {
    /// Eigenvectors.
    pub count: usize,
    /// Least degree.
    pub floor: f64,
    pub solver: Solver,
    pub stream: Stream,
}

/// The leading eigenvectors of the normalized graph.
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
    if n < width && n <= LARGEST && n.saturating_mul(width) <= HELD {
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
    let matrix = match side(n as usize, width as usize) {
        Side::Rows => n * width + 3.0 * n * n,
        Side::Columns => width * width * (threads + 3.0),
        Side::Products => width * count * (30.0 + 2.0 * threads),
    };
    8.0 * (matrix + 2.0 * block_size(width as usize) as f64 * threads + n * (2.0 * count + 4.0))
}

/// The leading eigenvectors of the normalized graph.
pub(crate) fn cut<T: Precision>(
    features: &impl Features,
    task: CutTask,
    context: &Context<'_>,
) -> Result<Cut<T>, Error> {
    let (n, width) = (features.n(), features.width());
    let sum = total::<T>(features, context)?;
    let task = CutTask { count: task.count.min(n).min(width), ..task };
    match side(n, width) {
        Side::Rows => {
            let degrees = degrees::<T>(features, &sum, task.floor, context)?;
            let gram = row_gram(features, &degrees, context)?;
            let (values, vectors) = leading(&gram, n, task, context)?;
            let (values, vectors) = without_noise::<T>(values, &vectors);
            // Once more through the graph: equal rows then have equal vectors to the last bit.
            let vectors = repeated(&gram, &values, &vectors, n);
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
            let CutTask { count, stream, solver, .. } = task;
            let found = match solver {
                Solver::Svd => eigen::largest_of(width, count, stream, || context.check(), apply)?,
                Solver::Stiefel => ascend(width, count, stream, || context.check(), apply)?,
            };
            embedded(features, found, degrees, context)
        }
    }
}

/// The largest eigenvalues of a matrix (n × n), descending, with their vectors (n × count).
fn leading(
    matrix: &[f64],
    n: usize,
    task: CutTask,
    context: &Context<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let CutTask { count, stream, solver, .. } = task;
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

/// A matrix (n × n) times its eigenvectors, over the eigenvalues.
fn repeated(matrix: &[f64], values: &[f64], vectors: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; vectors.len()];
    times(matrix, vectors, &mut out, (n, values.len(), n));
    for row in out.chunks_exact_mut(values.len()) {
        row.iter_mut().zip(values).for_each(|(v, l)| *v /= l.max(f64::MIN_POSITIVE));
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::features::tests::given;
    use obcut::Silent;

    fn task(count: usize, solver: Solver) -> CutTask {
        CutTask { count, floor: 0.0, solver, stream: Stream::new(1) }
    }

    #[test]
    fn the_smaller_matrix_is_decomposed_or_none_when_both_are_large() {
        assert_eq!(side(700, 2400), Side::Rows);
        assert_eq!(side(200_000, 1024), Side::Columns);
        assert_eq!(side(1_000_000, 60_000), Side::Products);
        assert_eq!(side(usize::MAX, usize::MAX), Side::Products);
    }

    /// Vectors of either side, of either solver and of single precision: one and the same subspace.
    #[test]
    fn vectors_are_orthonormal_and_the_first_is_the_root_of_the_degrees() {
        let context = Context::new(2, &Silent).unwrap();
        for (n, width, solver) in
            [(30, 90, Solver::Svd), (400, 20, Solver::Svd), (400, 20, Solver::Stiefel)]
        {
            let features = given(n, width);
            let cut = cut::<f64>(&features, task(4, solver), &context).unwrap();
            assert!((cut.values[0] - 1.0).abs() < 1e-9 && cut.values.len() == 4);
            for a in 0..4 {
                for b in 0..4 {
                    let product: f64 = cut.vectors.chunks_exact(4).map(|row| row[a] * row[b]).sum();
                    assert!((product - f64::from(u8::from(a == b))).abs() < 1e-6, "{a} {b}");
                }
            }
            let volume: f64 = cut.degrees.iter().sum();
            for (row, degree) in cut.vectors.chunks_exact(4).zip(&cut.degrees) {
                assert!((row[0].abs() - (degree / volume).sqrt()).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn products_alone_find_what_the_gram_matrix_does() {
        let context = Context::new(2, &Silent).unwrap();
        let features = given(900, 400);
        let whole = cut::<f64>(&features, task(3, Solver::Svd), &context).unwrap();
        let apply =
            |x: &[f64], count: usize| product::<f32>(&features, &whole.degrees, x, count, &context);
        let (values, _) = eigen::largest_of(400, 3, Stream::new(1), || Ok(()), apply).unwrap();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(values.iter().zip(&whole.values).all(near), "{values:?} {:?}", whole.values);
        let single = cut::<f32>(&features, task(3, Solver::Svd), &context).unwrap();
        assert!(single.values.iter().zip(&whole.values).all(near));
    }

    #[test]
    fn vectors_of_noise_are_left_out() {
        let context = Context::new(1, &Silent).unwrap();
        let features = crate::pieces::features::tests::Given { values: vec![1.0; 60], width: 3 };
        let cut = cut::<f64>(&features, task(3, Solver::Svd), &context).unwrap();
        assert_eq!(cut.values.len(), 1);
        assert_eq!(cut.vectors.len(), 20);
    }
}
