//! EulerSC, Euler spectral clustering: J.-S. Wu, W.-S. Zheng, J.-H. Lai and C. Y. Suen, "Euler Clustering
//! on Large-Scale Dataset", IEEE Trans. Big Data 2018. **Reconstructed**: neither the program nor the full
//! text was at hand, and published scores are not reproduced.
//!
//! Every feature becomes a point on the complex circle, the real part of the inner product is the
//! similarity, and the normalized cut is solved with those explicit features; a weighted k-means on them,
//! which never raises the cut, refines the labels.
//!
//! Known are the kernel with its one parameter, that a condition on it makes similarities positive, the
//! gradient method on the Stiefel manifold and the weighted k-means. Uncertain, and chosen here: features
//! are scaled to [0, 1]; the angle is α π x, so that similarities are positive up to α = 1/2, the default;
//! labels start from k-means on the eigenvectors' rows of unit length; the gradient is followed whole,
//! each time to the nearest orthonormal matrix; a cluster that runs empty stays empty.

use std::f64::consts::PI;
use std::ops::{Range, RangeInclusive};

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Observer, Samples, Scale, Stage, Warning};
use obcut_core::block::Scratch;
use obcut_core::linalg::gemm::{Real, times_transposed};
use obcut_core::linalg::simd::{axpy, vectorised};
use obcut_core::parallel::Context;
use obcut_core::table::Table;

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::angles::waves;
use crate::pieces::embedding::unit_rows;
use crate::pieces::explicit::{self, Cut, CutTask, MANY_ROWS, Precision, Solver};
use crate::pieces::features::{Features, blocks};
use crate::pieces::means::{Flavour, cluster_points};

/// Least degree, as a part of the number of rows.
const FLOOR: f64 = 1e-12;
/// Iterations of the refinement at most.
const ITERATIONS: usize = 100;
/// Alphas for which single precision will do: below, all rows are nearly alike; above, a degree may be
/// floored, and its row then outweighs the others by many digits.
const SINGLE: RangeInclusive<f64> = 0.1..=0.5;

settings! {
    /// Settings of EulerSC.
    EulerSc {
        /// Half turns that the range of a feature is mapped to
        alpha: f64 = 0.5, "above 0";
        /// Whether the labels are refined by weighted k-means
        refine: bool = true, "true or false";
        /// How eigenvectors are found
        solver: Solver = Solver::Svd, "svd or stiefel";
        /// Starts of the k-means on the eigenvectors
        n_init: usize = 5, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::MinMax, "none, minmax, standard or unit";
    }
}

impl Clusterer for EulerSc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, width) = (samples.n_rows(), 2 * samples.width_at_most());
        require(self.alpha > 0.0 && self.alpha.is_finite(), "alpha", self.alpha, "above 0")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let centers = 8.0 * 4.0 * k as f64 * width as f64;
        check_memory("eulersc", explicit::memory(n, width, k, run) + centers, n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: false, allow_rotation: false };
        job::run(samples, k, run, observer, preparation, |job| {
            let single = job.n > MANY_ROWS && SINGLE.contains(&self.alpha);
            if single { self.work::<f32>(job) } else { self.work::<f64>(job) }
        })
    }
}

impl EulerSc {
    fn work<T: Precision>(&self, job: &mut Job<'_>) -> Result<Vec<u32>, Error> {
        let (n, k) = (job.n, job.k);
        let features = Euler { table: job.table, alpha: self.alpha };
        let floor = FLOOR * n as f64;
        let Cut { values, mut vectors, degrees } = job.time(Stage::Spectrum, |job| {
            let stream = job.stream.named("spectrum");
            let task = CutTask { count: k, floor, solver: self.solver, stream };
            explicit::cut::<T>(&features, task, job.context)
        })?;
        let floored = degrees.iter().filter(|&&degree| degree <= floor).count();
        if floored > 0 {
            job.warnings.push(Warning::Method(format!(
                "{floored} rows have a degree that is not positive; \
                 with alpha up to 0.5 and features in [0, 1] there are none"
            )));
        }
        unit_rows(&mut vectors, values.len());
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::plus_plus(100, self.n_init);
            let (stream, context) = (job.stream, job.context);
            let labels = cluster_points(&vectors, values.len(), k, flavour, stream, context)?;
            if self.refine {
                Ok(refine::<T>(&features, &degrees, labels, k, job.context)?.0)
            } else {
                Ok(labels)
            }
        })
    }
}

/// Cosines of all features' angles, then sines; a row has unit length.
struct Euler<'a> {
    table: &'a Table<'a>,
    alpha: f64,
}

impl Features for Euler<'_> {
    fn n(&self) -> usize {
        self.table.n()
    }

    fn width(&self) -> usize {
        2 * self.table.d()
    }

    fn fill<T: Real>(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut [T]) {
        let d = self.table.d();
        let folded = self.table.n_folded() as f64;
        let scale = 1.0 / (d as f64 + folded).sqrt();
        // Columns without entries were folded into the last.
        let last = scale * (1.0 + folded).sqrt();
        scratch.row.resize(d, 0.0);
        for (i, out) in rows.zip(out.chunks_exact_mut(2 * d)) {
            let row = &mut scratch.row;
            vectorised(
                #[inline(always)]
                || self.table.row(i, row),
            );
            let (cos, sin) = out.split_at_mut(d);
            if folded == 0.0 {
                waves(row, self.alpha * PI, |_| scale, cos, sin);
            } else {
                let scale = |f: usize| if f + 1 == d { last } else { scale };
                waves(row, self.alpha * PI, scale, cos, sin);
            }
        }
    }
}

/// Clusters of the weighted k-means: sums of features, and of degrees.
struct EulerClusters {
    /// k × 2d.
    sums: Vec<f64>,
    degrees: Vec<f64>,
}

impl EulerClusters {
    fn new(k: usize, width: usize) -> Self {
        Self { sums: vec![0.0; k * width], degrees: vec![0.0; k] }
    }

    fn add(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.degrees.iter_mut().zip(&other.degrees).for_each(|(a, b)| *a += b);
    }

    /// Takes in a row.
    #[inline(always)]
    fn add_row<T: Real>(&mut self, label: u32, row: &[T], degree: f64) {
        let at = label as usize * row.len();
        axpy(1.0, row, &mut self.sums[at..at + row.len()]);
        self.degrees[label as usize] += degree;
    }

    /// The normalized cut: k less the clusters' shares of their own degrees.
    fn value(&self) -> f64 {
        let width = self.sums.len() / self.degrees.len();
        let inner = |(sum, degree): (&[f64], &f64)| {
            if *degree > 0.0 { sum.iter().map(|v| v * v).sum::<f64>() / degree } else { 0.0 }
        };
        self.degrees.len() as f64
            - self.sums.chunks_exact(width).zip(&self.degrees).map(inner).sum::<f64>()
    }
}

/// Centers of the points "features over degree" with the degrees as weights, ready for products.
struct EulerCenters<T> {
    /// k × 2d.
    values: Vec<T>,
    /// |c|^2 / 2; infinite for empty clusters, which no row is nearest to.
    half_norms: Vec<f64>,
}

impl<T: Real> EulerCenters<T> {
    fn of(clusters: &EulerClusters) -> Self {
        let width = clusters.sums.len() / clusters.degrees.len();
        let (mut values, mut half_norms) = (Vec::new(), Vec::new());
        for (sum, &degree) in clusters.sums.chunks_exact(width).zip(&clusters.degrees) {
            let scale = if degree > 0.0 { 1.0 / degree } else { 0.0 };
            let norm = sum.iter().map(|v| (v * scale) * (v * scale)).sum::<f64>();
            values.extend(sum.iter().map(|v| T::from_f64(v * scale)));
            half_norms.push(if degree > 0.0 { 0.5 * norm } else { f64::INFINITY });
        }
        Self { values, half_norms }
    }

    /// The nearest center: largest q.c - |c|^2 / 2 with q the features over the degree; ties go to the
    /// lower index.
    fn nearest(&self, products: &[T], degree: f64) -> u32 {
        let mut best = (f64::NEG_INFINITY, 0);
        for (j, (product, half)) in products.iter().zip(&self.half_norms).enumerate() {
            let score = product.to_f64() / degree - half;
            if score > best.0 {
                best = (score, j as u32);
            }
        }
        best.1
    }
}

/// Weighted k-means from given labels: the last labels, and the cut before every iteration.
fn refine<T: Real>(
    features: &Euler<'_>,
    degrees: &[f64],
    mut labels: Vec<u32>,
    k: usize,
    context: &Context<'_>,
) -> Result<(Vec<u32>, Vec<f64>), Error> {
    let mut clusters = pass::<T>(features, degrees, &mut labels, None, k, context)?.0;
    let mut values = vec![clusters.value()];
    for iteration in 0..ITERATIONS {
        context.report(Stage::KMeans, iteration, ITERATIONS, values.last().copied())?;
        let (mut next, centers) = (labels.clone(), EulerCenters::of(&clusters));
        let found = pass::<T>(features, degrees, &mut next, Some(&centers), k, context)?;
        let value = found.0.value();
        // Rounding may move rows that are equally near to two centers, to and fro.
        if found.1 == 0 || value >= values[iteration] {
            break;
        }
        values.push(value);
        (labels, clusters) = (next, found.0);
    }
    Ok((labels, values))
}

/// Moves every row to its nearest center, when there are centers, and sums the clusters up; with the
/// number of rows that moved.
fn pass<T: Real>(
    features: &Euler<'_>,
    degrees: &[f64],
    labels: &mut [u32],
    centers: Option<&EulerCenters<T>>,
    k: usize,
    context: &Context<'_>,
) -> Result<(EulerClusters, usize), Error> {
    let width = features.width();
    let mut all = (EulerClusters::new(k, width), 0);
    context.fold_into(
        features.n(),
        labels,
        |range, labels| {
            let (mut part, mut moved) = (EulerClusters::new(k, width), 0);
            let mut products = Vec::new();
            blocks::<T>(features, range.clone(), |rows, block| {
                let labels = &mut labels[rows.start - range.start..rows.end - range.start];
                let degrees = &degrees[rows];
                if let Some(centers) = centers {
                    products.resize(labels.len() * k, T::from_f64(0.0));
                    let shape = (labels.len(), k, width);
                    times_transposed(block, &centers.values, &mut products, shape);
                    for (i, label) in labels.iter_mut().enumerate() {
                        let near = centers.nearest(&products[i * k..(i + 1) * k], degrees[i]);
                        moved += usize::from(near != *label);
                        *label = near;
                    }
                }
                vectorised(
                    #[inline(always)]
                    || {
                        let rows = block.chunks_exact(width).zip(degrees);
                        for (&label, (row, &degree)) in labels.iter().zip(rows) {
                            part.add_row(label, row, degree);
                        }
                    },
                );
            });
            (part, moved)
        },
        |part| {
            all.0.add(&part.0);
            all.1 += part.1;
        },
    )?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, planes, subset, with_job};
    use obcut::{Matrix, Silent};
    use obcut_core::random::Stream;

    fn labels(method: &EulerSc, matrix: &Matrix, k: usize, threads: usize) -> Clustering {
        let run = Run { threads, ..Run::default() };
        method.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap()
    }

    fn dense(values: Vec<f64>, n_cols: usize) -> Matrix {
        Matrix::Dense64 { n_rows: values.len() / n_cols, values, n_cols }
    }

    fn task(job: &Job<'_>, solver: Solver) -> CutTask {
        CutTask { count: 10, floor: FLOOR, solver, stream: job.stream }
    }

    #[test]
    fn degrees_and_spectrum_agree_with_the_prototype_for_both_solvers() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::MinMax, false, |job| {
            let features = Euler { table: job.table, alpha: 0.5 };
            let cut = explicit::cut::<f64>(&features, task(job, Solver::Svd), job.context)?;
            assert!(near(cut.degrees[0], 520.20553265, 1e-9), "{}", cut.degrees[0]);
            let least = cut.degrees.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            let most = cut.degrees.iter().fold(0.0, |a: f64, &b| a.max(b));
            assert!((least - 459.436).abs() < 5e-4 && (most - 578.262).abs() < 5e-4);
            let expected = [
                1.0, 0.07724252, 0.06002746, 0.03824309, 0.02243076, 0.01537937, 0.01163347,
                0.00887901, 0.00666332, 0.00527622,
            ];
            let values = &cut.values;
            assert!(values.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-6)), "{values:?}");
            let other = explicit::cut::<f64>(&features, task(job, Solver::Stiefel), job.context)?;
            let sum = |cut: &Cut<f64>| cut.values.iter().sum::<f64>();
            assert!(near(sum(&other), sum(&cut), 1e-8), "{} {}", sum(&other), sum(&cut));
            let single = explicit::cut::<f32>(&features, task(job, Solver::Svd), job.context)?;
            assert!(single.values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
            Ok(())
        });
    }

    #[test]
    fn refinement_lowers_the_cut_to_that_of_the_prototype_and_never_raises_it() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::MinMax, false, |job| {
            let features = Euler { table: job.table, alpha: 0.5 };
            let mut cut = explicit::cut::<f64>(&features, task(job, Solver::Svd), job.context)?;
            unit_rows(&mut cut.vectors, 10);
            for seed in 0..5 {
                let (flavour, stream) = (Flavour::plus_plus(100, 5), Stream::new(seed));
                let start = cluster_points(&cut.vectors, 10, 10, flavour, stream, job.context)?;
                let values = refine::<f64>(&features, &cut.degrees, start, 10, job.context)?.1;
                assert!(values.windows(2).all(|pair| pair[1] <= pair[0]), "{values:?}");
                assert!((8.822..8.832).contains(&values[0]), "{}", values[0]);
                assert!((8.815..8.820).contains(&values[values.len() - 1]));
            }
            Ok(())
        });
    }

    /// On the planes: similarities by their formula, the cut by its definition, centers by distances.
    #[test]
    fn features_cut_and_centers_equal_the_plain_formulas() {
        with_job(&planes(), 3, Scale::MinMax, false, |job| {
            let (n, d) = (job.n, job.d);
            let features = Euler { table: job.table, alpha: 0.5 };
            let mut x = vec![0.0; n * d];
            x.chunks_exact_mut(d).enumerate().for_each(|(i, row)| job.table.row(i, row));
            assert!(x.iter().all(|v| (0.0..=1.0).contains(v)));
            let mut phi = vec![0.0; n * 2 * d];
            features.fill(0..n, &mut Scratch::default(), &mut phi);
            let similarity = |i: usize, j: usize| {
                (0..d).map(|q| (0.5 * PI * (x[i * d + q] - x[j * d + q])).cos()).sum::<f64>()
                    / d as f64
            };
            let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let row = |i: usize| &phi[i * 2 * d..(i + 1) * 2 * d];
            for i in 0..n {
                for j in 0..n {
                    assert!(similarity(i, j) >= 0.0);
                    assert!((similarity(i, j) - inner(row(i), row(j))).abs() < 1e-14);
                }
            }
            let degree = |i: usize| (0..n).map(|j| similarity(i, j)).sum::<f64>();
            let degrees: Vec<f64> = (0..n).map(degree).collect();
            let mut labels: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
            let clusters = pass::<f64>(&features, &degrees, &mut labels, None, 4, job.context)?.0;
            let mut plain = 1.0;
            for j in 0..3 {
                let inside: Vec<usize> = (0..n).filter(|&i| labels[i] == j).collect();
                let volume: f64 = inside.iter().map(|&i| degrees[i]).sum();
                let outside = |i: usize| {
                    (0..n).filter(|&o| labels[o] != j).map(|o| similarity(i, o)).sum::<f64>()
                };
                plain += inside.iter().map(|&i| outside(i)).sum::<f64>() / volume;
            }
            assert!(near(clusters.value(), plain, 1e-12), "{} {plain}", clusters.value());
            let centers = EulerCenters::<f64>::of(&clusters);
            let mut next = labels.clone();
            pass(&features, &degrees, &mut next, Some(&centers), 4, job.context)?;
            for i in 0..n {
                let distance = |j: usize| {
                    let center = &centers.values[j * 2 * d..(j + 1) * 2 * d];
                    let pairs = row(i).iter().zip(center);
                    pairs.map(|(p, c)| (p / degrees[i] - c).powi(2)).sum::<f64>()
                };
                let best = (0..3).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                assert_eq!(Some(next[i] as usize), best);
            }
            Ok(())
        });
    }

    #[test]
    fn blobs_are_found_by_both_solvers_for_any_number_of_threads() {
        let blobs = obcut::synthetic::blobs(6000, 5, 4, 0.5, 1);
        for solver in [Solver::Svd, Solver::Stiefel] {
            for refine in [false, true] {
                let method = EulerSc { solver, refine, ..EulerSc::default() };
                let found = labels(&method, &blobs.matrix, 4, 1);
                let score = obcut::metrics::scores(&found.labels, &blobs.labels).unwrap();
                assert!(score.nmi > 0.9, "{solver} {refine}: {}", score.nmi);
                assert!(found.warnings.is_empty());
                assert_eq!(found.labels, labels(&method, &blobs.matrix, 4, 3).labels);
            }
        }
    }

    #[test]
    fn degenerate_rows_and_any_alpha_are_no_trouble() {
        let equal = labels(&EulerSc::default(), &dense(vec![0.3; 60], 3), 4, 1);
        assert!(equal.n_clusters == 1 && equal.warnings.len() == 1);
        let twins: Vec<f64> = (0..40).flat_map(|i| [f64::from(i % 2), 7.0]).collect();
        for solver in [Solver::Svd, Solver::Stiefel] {
            for alpha in [1e-5, 0.1, 0.5, 1.0, 1.9, 1e5] {
                let method = EulerSc { alpha, solver, ..EulerSc::default() };
                let all = labels(&method, &dense(Stream::new(1).values(24), 2), 12, 1);
                assert_eq!(all.labels.len(), 12);
                let found = labels(&method, &dense(twins.clone(), 2), 5, 1).labels;
                assert!(found.iter().enumerate().all(|(i, l)| *l == found[i % 2]), "{alpha}");
            }
        }
        let zero = EulerSc { alpha: 0.0, ..EulerSc::default() };
        let matrix = dense(twins, 2);
        assert!(zero.cluster(&matrix.samples().unwrap(), 2, &Run::default(), &Silent).is_err());
    }

    /// The one row then has by far the largest eigenvalue; the others' must not drown in its rounding.
    #[test]
    fn a_row_of_floored_degree_leaves_the_others_their_clusters() {
        let mut values: Vec<f64> = Stream::new(4).values(6000).iter().map(|v| v * 0.02).collect();
        values.iter_mut().step_by(2).for_each(|v| *v += 0.3);
        values.push(1.0);
        let method = EulerSc { alpha: 1.0, ..EulerSc::default() };
        let found = labels(&method, &dense(values, 1), 3, 2);
        assert_eq!(found.n_clusters, 3);
        assert_ne!(found.labels[0], found.labels[1]);
        assert_eq!(found.warnings.len(), 1);
    }

    /// Two opposite points on the circle are unlike each other as much as each is like itself.
    #[test]
    fn degrees_that_are_not_positive_are_told() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
        let method = EulerSc { alpha: 1.0, ..EulerSc::default() };
        let found = labels(&method, &dense(values, 1), 2, 1);
        assert!(
            found.warnings.iter().any(|w| w.to_string().contains("alpha")),
            "{:?}",
            found.warnings
        );
    }
}
