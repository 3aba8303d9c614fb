//! A mixture of Gaussians, fitted by expectation-maximisation (EM) from given labels.
//!
//! Every cluster has a weight, a mean and a full covariance. One row's worth of the pooled covariance is
//! added to each, so that a small cluster has an invertible one. [`GaussianMixture::fit`] also measures whether
//! the rows follow the model: under it, the squared Mahalanobis distance of a row to its cluster has a
//! chi-squared distribution, and the Kolmogorov-Smirnov distance to that distribution is the misfit.

use obcut_core::error::Error;
use obcut_core::kmeans::Weighted;
use obcut_core::linalg::factor::cholesky;
use obcut_core::linalg::simd::dot;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// Iterations of EM at most, and the change of the mean log-likelihood that ends it.
const ITERATIONS: usize = 50;
const TOLERANCE: f64 = 1e-5;
/// Misfit from which a model is given up at once, and the same times the root of the number of rows.
const HOPELESS: f64 = 0.1;
const HOPELESS_ROOT: f64 = 3.0;
/// Rows' worth of the pooled covariance in that of every cluster.
const PRIOR: f64 = 1.0;
/// Share of the mean variance that is added to every variance.
const FLOOR: f64 = 1e-9;
/// Share of a row below which a cluster does not count for it.
const LEAST: f64 = 1e-6;
/// Bins of the distribution of the distances.
const BINS: usize = 512;

/// A mixture of Gaussians.
#[derive(Clone, Debug)]
pub(crate) struct GaussianMixture {
    d: usize,
    /// k × d.
    means: Vec<f64>,
    /// k inverse Cholesky factors of the covariances, d × d, lower triangles.
    whiteners: Vec<f64>,
    /// Logarithm of the weight over the root of the determinant, by cluster.
    levels: Vec<f64>,
    /// Mean log-likelihood of a row, up to a constant.
    pub likelihood: f64,
    /// Largest difference between the distribution of the distances and the chi-squared one.
    pub misfit: f64,
}

/// Sums over rows, each counted by its share in every cluster.
struct MixtureSums {
    mass: Vec<f64>,
    /// k × d, of the differences from the centers.
    first: Vec<f64>,
    /// k × d × d, lower triangles, of their products.
    second: Vec<f64>,
    likelihood: f64,
    /// Mass by the chi-squared quantile of the distance.
    bins: Vec<f64>,
}

impl MixtureSums {
    fn new(k: usize, d: usize) -> Self {
        Self {
            mass: vec![0.0; k],
            first: vec![0.0; k * d],
            second: vec![0.0; k * d * d],
            likelihood: 0.0,
            bins: vec![0.0; BINS],
        }
    }

    fn add(&mut self, other: &Self) {
        let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.mass, &other.mass);
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
        add(&mut self.bins, &other.bins);
        self.likelihood += other.likelihood;
    }

    /// Counts a row, given as its difference from the center of cluster `j`.
    fn count(&mut self, j: usize, mass: f64, difference: &[f64]) {
        let d = difference.len();
        self.mass[j] += mass;
        let first = &mut self.first[j * d..(j + 1) * d];
        let second = &mut self.second[j * d * d..(j + 1) * d * d];
        for a in 0..d {
            let part = mass * difference[a];
            first[a] += part;
            for b in 0..=a {
                second[a * d + b] += part * difference[b];
            }
        }
    }

    /// Largest difference between the distribution of the distances and the one that the model expects.
    fn misfit(&self) -> f64 {
        let total: f64 = self.bins.iter().sum();
        let (mut sum, mut worst) = (0.0, 0.0f64);
        for (at, mass) in self.bins.iter().enumerate() {
            sum += mass / total;
            worst = worst.max((sum - (at + 1) as f64 / BINS as f64).abs());
        }
        worst
    }
}

impl GaussianMixture {
    /// Fits a mixture to the rows from labels. `None` when a cluster vanishes or has no covariance, or when
    /// the model does not describe the rows at all.
    pub fn fit(
        rows: &Weighted<'_, '_>,
        labels: &[u32],
        k: usize,
        row_weight: f64,
        context: &Context<'_>,
    ) -> Result<Option<Self>, Error> {
        let d = rows.table.d();
        // Means first: second moments about them do not cancel.
        let zero = vec![0.0; k * d];
        let sums = by_labels(rows, labels, &zero, k, context)?;
        if sums.mass.iter().any(|&mass| mass <= 0.0) {
            return Ok(None);
        }
        let means: Vec<f64> = (0..k * d).map(|at| sums.first[at] / sums.mass[at / d]).collect();
        let sums = by_labels(rows, labels, &means, k, context)?;
        let Some(mut mixture) = Self::maximise(&sums, &means, d, row_weight) else {
            return Ok(None);
        };
        let total: f64 = rows.weights.iter().sum();
        let hopeless = HOPELESS.max(HOPELESS_ROOT * (row_weight / total).sqrt());
        let mut before = f64::NEG_INFINITY;
        for iteration in 0..ITERATIONS {
            let sums = mixture.expect(rows, context)?;
            mixture.likelihood = sums.likelihood / total;
            mixture.misfit = sums.misfit();
            if mixture.misfit > hopeless {
                return Ok(None);
            }
            if mixture.likelihood - before < TOLERANCE {
                break;
            }
            before = mixture.likelihood;
            if iteration + 1 < ITERATIONS {
                match Self::maximise(&sums, &mixture.means, d, row_weight) {
                    Some(next) => mixture = next,
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(mixture))
    }

    /// The likeliest mixture of sums about some centers.
    fn maximise(sums: &MixtureSums, centers: &[f64], d: usize, row_weight: f64) -> Option<Self> {
        let k = sums.mass.len();
        let total: f64 = sums.mass.iter().sum();
        if sums.mass.iter().any(|&mass| mass < row_weight) {
            return None;
        }
        let mut means = centers.to_vec();
        let mut scatter = sums.second.clone();
        let mut pooled = vec![0.0; d * d];
        for j in 0..k {
            let shift: Vec<f64> = (0..d).map(|a| sums.first[j * d + a] / sums.mass[j]).collect();
            for a in 0..d {
                means[j * d + a] += shift[a];
                for b in 0..=a {
                    let at = j * d * d + a * d + b;
                    scatter[at] -= sums.mass[j] * shift[a] * shift[b];
                    pooled[a * d + b] += scatter[at] / total;
                }
            }
        }
        let floor = FLOOR * (0..d).map(|a| pooled[a * d + a]).sum::<f64>() / d as f64;
        let mut whiteners = vec![0.0; k * d * d];
        let mut levels = Vec::with_capacity(k);
        for j in 0..k {
            let prior = PRIOR * row_weight;
            let mut covariance = vec![0.0; d * d];
            for a in 0..d {
                for b in 0..=a {
                    let value = (scatter[j * d * d + a * d + b] + prior * pooled[a * d + b])
                        / (sums.mass[j] + prior);
                    covariance[a * d + b] = value;
                    covariance[b * d + a] = value;
                }
                covariance[a * d + a] += floor;
            }
            let lower = cholesky(&covariance, d)?;
            let level: f64 = (0..d).map(|a| lower[a * d + a].ln()).sum();
            if !level.is_finite() {
                return None;
            }
            levels.push((sums.mass[j] / total).ln() - level);
            invert_lower(&lower, &mut whiteners[j * d * d..(j + 1) * d * d], d);
        }
        Some(Self { d, means, whiteners, levels, likelihood: 0.0, misfit: 1.0 })
    }

    /// The sums of all rows by their shares in the clusters.
    fn expect(&self, rows: &Weighted<'_, '_>, context: &Context<'_>) -> Result<MixtureSums, Error> {
        let (k, d) = (self.levels.len(), self.d);
        let gamma = ChiSquared::new(d);
        let mut all = MixtureSums::new(k, d);
        let part = |range: std::ops::Range<usize>| {
            let mut sums = MixtureSums::new(k, d);
            let mut work = MixtureWork::new(k, d);
            for i in range {
                rows.table.row(i, &mut work.row);
                let top = self.densities(&mut work);
                let total: f64 = work.densities.iter().map(|v| (v - top).exp()).sum();
                sums.likelihood += rows.weights[i] * (top + total.ln());
                for j in 0..k {
                    let share = (work.densities[j] - top).exp() / total;
                    if share < LEAST {
                        continue;
                    }
                    let mass = rows.weights[i] * share;
                    let quantile = gamma.below(work.squares[j]);
                    sums.bins[((quantile * BINS as f64) as usize).min(BINS - 1)] += mass;
                    let center = &self.means[j * d..(j + 1) * d];
                    for ((out, x), m) in work.difference.iter_mut().zip(&work.row).zip(center) {
                        *out = x - m;
                    }
                    sums.count(j, mass, &work.difference);
                }
            }
            sums
        };
        context.fold(rows.table.n(), part, |sums| all.add(&sums))?;
        Ok(all)
    }

    /// The likeliest cluster of every row of a table.
    pub fn labels(&self, table: &Table<'_>, context: &Context<'_>) -> Result<Vec<u32>, Error> {
        let mut labels = vec![0u32; table.n()];
        context.map_into(table.n(), &mut labels, 1, |range, out| {
            let mut work = MixtureWork::new(self.levels.len(), self.d);
            for (i, label) in range.zip(out) {
                table.row(i, &mut work.row);
                let top = self.densities(&mut work);
                let at = work.densities.iter().position(|&v| v == top);
                *label = at.unwrap_or(0) as u32;
            }
        })?;
        Ok(labels)
    }

    /// Log-densities and squared distances of the row in `work` by cluster; the largest density.
    fn densities(&self, work: &mut MixtureWork) -> f64 {
        let d = self.d;
        let mut top = f64::NEG_INFINITY;
        for (j, level) in self.levels.iter().enumerate() {
            let center = &self.means[j * d..(j + 1) * d];
            for ((out, x), m) in work.difference.iter_mut().zip(&work.row).zip(center) {
                *out = x - m;
            }
            let whitener = &self.whiteners[j * d * d..(j + 1) * d * d];
            let mut square = 0.0;
            for a in 0..d {
                square += dot(&whitener[a * d..a * d + a + 1], &work.difference[..=a]).powi(2);
            }
            work.squares[j] = square;
            work.densities[j] = level - 0.5 * square;
            top = top.max(work.densities[j]);
        }
        top
    }
}

/// Buffers for a row.
struct MixtureWork {
    row: Vec<f64>,
    difference: Vec<f64>,
    squares: Vec<f64>,
    densities: Vec<f64>,
}

impl MixtureWork {
    fn new(k: usize, d: usize) -> Self {
        let zeros = |n: usize| vec![0.0; n];
        Self { row: zeros(d), difference: zeros(d), squares: zeros(k), densities: zeros(k) }
    }
}

/// The sums of all rows about some centers, each row in its own cluster.
fn by_labels(
    rows: &Weighted<'_, '_>,
    labels: &[u32],
    centers: &[f64],
    k: usize,
    context: &Context<'_>,
) -> Result<MixtureSums, Error> {
    let d = rows.table.d();
    let mut all = MixtureSums::new(k, d);
    let part = |range: std::ops::Range<usize>| {
        let mut sums = MixtureSums::new(k, d);
        let mut row = vec![0.0; d];
        for i in range {
            let j = labels[i] as usize;
            rows.table.row(i, &mut row);
            row.iter_mut().zip(&centers[j * d..(j + 1) * d]).for_each(|(x, m)| *x -= m);
            sums.count(j, rows.weights[i], &row);
        }
        sums
    };
    context.fold(rows.table.n(), part, |sums| all.add(&sums))?;
    Ok(all)
}

/// The inverse of a lower triangle, row by row.
fn invert_lower(lower: &[f64], out: &mut [f64], d: usize) {
    for a in 0..d {
        for b in 0..=a {
            let unit = if a == b { 1.0 } else { 0.0 };
            let sum: f64 = (b..a).map(|c| lower[a * d + c] * out[c * d + b]).sum();
            out[a * d + b] = (unit - sum) / lower[a * d + a];
        }
    }
}

/// The chi-squared distribution.
struct ChiSquared {
    half: f64,
    /// Logarithm of the gamma function of `half` + 1.
    log_gamma: f64,
}

impl ChiSquared {
    fn new(degrees: usize) -> Self {
        // Γ(x + 1) = x Γ(x), from Γ(1/2) = √π or Γ(1) = 1.
        let start = if degrees.is_multiple_of(2) { 0.0 } else { 0.5 * std::f64::consts::PI.ln() };
        let first = if degrees.is_multiple_of(2) { 1.0 } else { 0.5 };
        let half = 0.5 * degrees as f64;
        let steps = (0..).map(|i| first + f64::from(i)).take_while(|&x| x <= half);
        Self { half, log_gamma: start + steps.map(f64::ln).sum::<f64>() }
    }

    /// Probability of a smaller value, by the series of the incomplete gamma function.
    fn below(&self, value: f64) -> f64 {
        let x = 0.5 * value;
        if x <= 0.0 {
            return 0.0;
        }
        // Far out the series is long and its sum is 1.
        if x > 2.0 * self.half + 40.0 {
            return 1.0;
        }
        let mut term = (self.half * x.ln() - x - self.log_gamma).exp();
        let (mut sum, mut at) = (0.0, self.half);
        // Terms rise up to x and fall beyond.
        while at < x || term > 1e-12 {
            sum += term;
            at += 1.0;
            term *= x / at;
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;

    /// Rows of a matrix with weights, for `work`.
    fn with_rows<R>(
        values: &[f64],
        d: usize,
        weights: &[f64],
        work: impl FnOnce(&Weighted<'_, '_>, &Context<'_>) -> R,
    ) -> R {
        let scaling = Scaling::identity(d);
        let n = values.len() / d;
        let table = Table::new(DenseRef::new(values, n, d).unwrap().into(), &scaling);
        let keys: Vec<u64> = (0..n as u64).collect();
        let context = Context::new(2, &Silent).unwrap();
        work(&Weighted { table: &table, weights, keys: &keys }, &context)
    }

    fn values(data: &synthetic::Labelled) -> Vec<f64> {
        match &data.matrix {
            crate::Matrix::Dense64 { values, .. } => values.clone(),
            _ => panic!("generated tables are dense"),
        }
    }

    /// Means of the classes.
    fn centers(x: &[f64], labels: &[u32], d: usize, k: usize) -> Vec<f64> {
        let (mut sums, mut counts) = (vec![0.0; k * d], vec![0.0; k]);
        for (row, &label) in x.chunks_exact(d).zip(labels) {
            counts[label as usize] += 1.0;
            row.iter().zip(&mut sums[label as usize * d..]).for_each(|(v, sum)| *sum += v);
        }
        sums.iter().enumerate().map(|(at, sum)| sum / counts[at / d]).collect()
    }

    /// Round groups whose centers are about four deviations apart.
    fn overlapping(data: &synthetic::Labelled, d: usize, k: usize) -> Vec<f64> {
        let mut x = values(data);
        let centers = centers(&x, &data.labels, d, k);
        for (row, &label) in x.chunks_exact_mut(d).zip(&data.labels) {
            row.iter_mut().zip(&centers[label as usize * d..]).for_each(|(v, c)| *v -= 0.65 * c);
        }
        x
    }

    #[test]
    fn the_chi_squared_distribution_has_its_known_values() {
        // One minus e^(-x/2) for two degrees; quantiles of the usual tables for others.
        let known = [
            (2, 1.0, 1.0 - (-0.5f64).exp()),
            (2, 30.0, 1.0 - (-15.0f64).exp()),
            (1, 3.841458820694124, 0.95),
            (3, 7.814727903251179, 0.95),
            (10, 18.30703805327515, 0.95),
            (10, 3.940299136116655, 0.05),
            (20, 10.850811394182585, 0.05),
        ];
        for (degrees, value, expected) in known {
            let found = ChiSquared::new(degrees).below(value);
            assert!((found - expected).abs() < 1e-9, "{degrees} {value}: {found} {expected}");
        }
        assert_eq!(ChiSquared::new(5).below(0.0), 0.0);
        assert_eq!(ChiSquared::new(5).below(1e9), 1.0);
    }

    #[test]
    fn an_inverse_times_its_triangle_is_the_identity() {
        let lower = [2.0, 0.0, 0.0, -1.0, 0.5, 0.0, 3.0, 4.0, 1.5];
        let mut inverse = vec![0.0; 9];
        invert_lower(&lower, &mut inverse, 3);
        for a in 0..3 {
            for b in 0..3 {
                let sum: f64 = (0..3).map(|c| lower[a * 3 + c] * inverse[c * 3 + b]).sum();
                assert!((sum - f64::from(u8::from(a == b))).abs() < 1e-12);
            }
        }
    }

    /// One step of EM in two dimensions, from formulas for 2 × 2 matrices.
    fn slow_step(
        x: &[f64],
        (means, covariances, shares): (&[[f64; 2]], &[[f64; 3]], &[f64]),
    ) -> (Vec<[f64; 2]>, Vec<f64>) {
        let k = means.len();
        let mut sums = vec![[0.0; 2]; k];
        let mut mass = vec![0.0; k];
        for row in x.chunks_exact(2) {
            let density = |j: usize| {
                let [a, b, c] = covariances[j];
                let (p, q) = (row[0] - means[j][0], row[1] - means[j][1]);
                let determinant = a * c - b * b;
                let square = (c * p * p - 2.0 * b * p * q + a * q * q) / determinant;
                shares[j] * (-0.5 * square).exp() / determinant.sqrt()
            };
            let all: f64 = (0..k).map(density).sum();
            for j in 0..k {
                let share = density(j) / all;
                mass[j] += share;
                sums[j][0] += share * row[0];
                sums[j][1] += share * row[1];
            }
        }
        let means = sums.iter().zip(&mass).map(|(s, m)| [s[0] / m, s[1] / m]).collect();
        (means, mass)
    }

    #[test]
    fn a_step_is_that_of_the_formulas() {
        let data = synthetic::blobs(300, 2, 3, 1.0, 3);
        let x = overlapping(&data, 2, 3);
        with_rows(&x, 2, &[1.0; 300], |rows, context| {
            let zero = vec![0.0; 6];
            let sums = by_labels(rows, &data.labels, &zero, 3, context).unwrap();
            let mixture = GaussianMixture::maximise(&sums, &zero, 2, 1e-9).unwrap();
            let covariance = |j: usize| {
                // The inverse of W'W.
                let w = &mixture.whiteners[4 * j..4 * j + 4];
                let (a, b, c) = (w[0] * w[0] + w[2] * w[2], w[2] * w[3], w[3] * w[3]);
                let determinant = a * c - b * b;
                [c / determinant, -b / determinant, a / determinant]
            };
            let covariances: Vec<[f64; 3]> = (0..3).map(covariance).collect();
            let means: Vec<[f64; 2]> =
                mixture.means.chunks_exact(2).map(|m| [m[0], m[1]]).collect();
            let shares: Vec<f64> = sums.mass.iter().map(|m| m / 300.0).collect();
            let (slow_means, slow_mass) = slow_step(&x, (&means, &covariances, &shares));
            let next = mixture.expect(rows, context).unwrap();
            for j in 0..3 {
                assert!((next.mass[j] - slow_mass[j]).abs() < 1e-3, "{j}");
                for a in 0..2 {
                    let mean = means[j][a] + next.first[2 * j + a] / next.mass[j];
                    assert!((mean - slow_means[j][a]).abs() < 1e-4, "{j} {a}");
                }
            }
        });
    }

    #[test]
    fn overlapping_groups_are_found_from_wrong_borders() {
        let data = synthetic::blobs(2000, 2, 4, 1.0, 1);
        let x = overlapping(&data, 2, 4);
        with_rows(&x, 2, &[1.0; 2000], |rows, context| {
            // Every row starts with the nearest of four centers that are off by a deviation.
            let centers = centers(&x, &data.labels, 2, 4);
            let distance = |row: &[f64], j: usize| {
                let shift = if j.is_multiple_of(2) { 1.0 } else { -1.0 };
                (row[0] - centers[2 * j] - shift).powi(2) + (row[1] - centers[2 * j + 1]).powi(2)
            };
            let nearest = |row: &[f64]| {
                let closer = |a: &usize, b: &usize| distance(row, *a).total_cmp(&distance(row, *b));
                (0..4).min_by(closer).unwrap() as u32
            };
            let start: Vec<u32> = x.chunks_exact(2).map(nearest).collect();
            let found = GaussianMixture::fit(rows, &start, 4, 1.0, context).unwrap().unwrap();
            let exact = GaussianMixture::fit(rows, &data.labels, 4, 1.0, context).unwrap().unwrap();
            assert!((found.likelihood - exact.likelihood).abs() < 1e-3);
            assert!(found.misfit < 0.03, "{}", found.misfit);
            let labels = found.labels(rows.table, context).unwrap();
            let ari = crate::metrics::scores(&labels, &data.labels).unwrap().ari;
            let first = crate::metrics::scores(&start, &data.labels).unwrap().ari;
            assert!(ari > first + 0.01 && ari > 0.9, "{first} {ari}");
        });
    }

    #[test]
    fn rows_that_are_not_gaussian_do_not_fit() {
        let data = synthetic::moons(1000, 0.05, 1);
        let x = values(&data);
        with_rows(&x, 2, &[1.0; 1000], |rows, context| {
            let found = GaussianMixture::fit(rows, &data.labels, 2, 1.0, context).unwrap();
            assert!(found.is_none_or(|m| m.misfit > 0.06));
        });
    }

    #[test]
    fn weights_are_copies() {
        let data = synthetic::blobs(200, 3, 2, 1.0, 2);
        let x = overlapping(&data, 3, 2);
        let weights: Vec<f64> = (0..200).map(|i| f64::from(1 + i % 3)).collect();
        let copies = |of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
            (0..200).flat_map(|i| of(i).repeat(1 + i % 3)).collect()
        };
        let copied = copies(&|i| x[3 * i..3 * i + 3].to_vec());
        let labels: Vec<u32> =
            copies(&|i| vec![f64::from(data.labels[i])]).iter().map(|&l| l as u32).collect();
        let fit = |x: &[f64], weights: &[f64], labels: &[u32]| {
            with_rows(x, 3, weights, |rows, context| {
                GaussianMixture::fit(rows, labels, 2, 1.0, context).unwrap().unwrap()
            })
        };
        let weighted = fit(&x, &weights, &data.labels);
        let plain = fit(&copied, &vec![1.0; labels.len()], &labels);
        assert!((weighted.likelihood - plain.likelihood).abs() < 1e-9);
        for (a, b) in weighted.means.iter().zip(&plain.means) {
            assert!((a - b).abs() < 1e-9);
        }
    }
}
