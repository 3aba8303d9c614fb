//! Random Fourier features of the Gaussian, and the draw of some of them by their importance.

use std::ops::Range;

use obcut::Error;
use obcut_core::block::{BLOCK, Points, Scratch};
use obcut_core::linalg::gemm::Real;
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, choose, mix};
use obcut_core::table::Table;

use super::angles::waves;
use super::features::Features;
use crate::job::Job;

/// Rows that the mean distance is taken over, at most.
pub(crate) const DISTANCE_ROWS: usize = 3000;
/// Squared distances below this part of the squared lengths are rounding.
const ROUNDING: f64 = 1e-13;
/// How pairs of features are drawn.
pub(crate) struct Draw {
    /// Pairs to draw from.
    pub candidates: usize,
    /// Draws, with replacement.
    pub count: usize,
    /// Whether a pair is scaled up by how unlikely it was, as the small form does.
    pub weighted: bool,
}

impl Draw {
    /// Features at most.
    pub fn width(&self) -> usize {
        self.count.min(self.candidates).saturating_mul(2)
    }

    /// The pairs that were drawn, each once, and how large they stand.
    pub fn kept(&self, drawn: &[usize], importances: &[f64]) -> Vec<(usize, f64)> {
        let mut times = vec![0.0; importances.len()];
        drawn.iter().for_each(|&i| times[i] += 1.0);
        let square = |i: usize| {
            // Each draw of a candidate has its share of the sum over all candidates.
            let share = times[i] / drawn.len() as f64;
            if self.weighted { share / (self.candidates as f64 * importances[i]) } else { share }
        };
        (0..times.len()).filter(|&i| times[i] > 0.0).map(|i| (i, square(i).sqrt())).collect()
    }
}

/// Rows drawn at random, ascending, or all.
pub(crate) fn some_rows(n: usize, count: usize, stream: Stream) -> Vec<u32> {
    let keys: Vec<u64> = (0..n as u64).map(mix).collect();
    let mut rows = choose(&keys, count.min(n), stream);
    rows.sort_unstable();
    rows
}

/// The mean over all ordered pairs of some rows, a row with itself included.
pub(crate) fn mean_distance(job: &Job<'_>) -> Result<f64, Error> {
    let rows = some_rows(job.n, DISTANCE_ROWS, job.stream.named("distances"));
    let gathered = job.table.gather(&rows, job.context)?;
    let table = gathered.table()?;
    let (n, mut values) = (table.n(), vec![0.0; rows.len() * job.d]);
    values.chunks_exact_mut(job.d).enumerate().for_each(|(i, row)| table.row(i, row));
    let points = table.points(values);
    let all: Vec<u32> = (0..n as u32).collect();
    let parts = job.context.each(n.div_ceil(BLOCK), |b| {
        let (mut scratch, mut found, mut part) = (Scratch::default(), Vec::new(), 0.0);
        let rows = b * BLOCK..((b + 1) * BLOCK).min(n);
        let block = table.block(rows.clone(), &points, &mut scratch);
        for (r, i) in rows.enumerate() {
            block.distances(r, &all[i + 1..], &mut found);
            part += distances(&found, points.norms[i], &points.norms[i + 1..]);
        }
        part
    })?;
    let sum: f64 = parts.iter().sum();
    Ok(2.0 * sum / (n as f64 * n as f64))
}

/// Sum of the roots of squared distances, those that are rounding left out.
fn distances(squared: &[f64], norm: f64, norms: &[f64]) -> f64 {
    let part =
        |(d, other): (&f64, &f64)| if *d > ROUNDING * (norm + other) { d.sqrt() } else { 0.0 };
    squared.iter().zip(norms).map(part).sum()
}

/// Shares of the pairs by the size of cc' + ss', with c and s the columns of a pair.
pub(crate) fn importances(
    table: &Table<'_>,
    points: &Points,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let m = points.n;
    let mut sums = vec![[0.0; 3]; m];
    context.fold(
        table.n(),
        |range| {
            let (mut part, mut scratch) = (vec![[0.0; 3]; m], Scratch::default());
            let mut pair = (vec![0.0; m], vec![0.0; m]);
            each_row(table, points, range, &mut scratch, |_, phases| {
                waves(phases, 1.0, |_| 1.0, &mut pair.0, &mut pair.1);
                for (sums, (c, s)) in part.iter_mut().zip(pair.0.iter().zip(&pair.1)) {
                    *sums = [sums[0] + c * c, sums[1] + s * s, sums[2] + c * s];
                }
            });
            part
        },
        |part| {
            for (sums, part) in sums.iter_mut().zip(part) {
                (0..3).for_each(|i| sums[i] += part[i]);
            }
        },
    )?;
    let size = |[cc, ss, cs]: &[f64; 3]| (cc * cc + ss * ss + 2.0 * cs * cs).sqrt();
    let sizes: Vec<f64> = sums.iter().map(size).collect();
    let total: f64 = sizes.iter().sum();
    Ok(sizes.into_iter().map(|s| s / total).collect())
}

/// Draws with replacement.
pub(crate) fn drawn(shares: &[f64], count: usize, stream: Stream) -> Vec<usize> {
    let mut sum = 0.0;
    let ends: Vec<f64> = shares
        .iter()
        .map(|share| {
            sum += share;
            sum
        })
        .collect();
    let place = |v: f64| ends.partition_point(|end| *end <= 0.5 * (v + 1.0) * sum);
    stream.values(count).into_iter().map(|v| place(v).min(ends.len() - 1)).collect()
}

/// Visits the phases of rows: their products with the frequencies.
fn each_row(
    table: &Table<'_>,
    points: &Points,
    range: Range<usize>,
    scratch: &mut Scratch,
    mut visit: impl FnMut(usize, &[f64]),
) {
    let mut phases = Vec::new();
    for start in range.clone().step_by(BLOCK) {
        let rows = start..(start + BLOCK).min(range.end);
        let block = table.block(rows.clone(), points, scratch);
        for (r, i) in rows.enumerate() {
            block.products(r, 0..points.n, &mut phases);
            visit(i, &phases);
        }
    }
}

/// Cosines of all frequencies, then sines.
pub(crate) struct Fourier<'a> {
    table: &'a Table<'a>,
    points: Points,
    scales: Vec<f64>,
}

impl<'a> Fourier<'a> {
    /// From all candidates (m × d), and those that are kept with their sizes.
    pub fn new(table: &'a Table<'a>, candidates: &[f64], kept: &[(usize, f64)]) -> Self {
        let d = table.d();
        let frequency = |&(i, _): &(usize, f64)| candidates[i * d..(i + 1) * d].to_vec();
        let points = table.points(kept.iter().flat_map(frequency).collect());
        Self { table, points, scales: kept.iter().map(|pair| pair.1).collect() }
    }
}

impl Features for Fourier<'_> {
    fn n(&self) -> usize {
        self.table.n()
    }

    fn width(&self) -> usize {
        2 * self.points.n
    }

    fn fill<T: Real>(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut [T]) {
        let (m, first) = (self.points.n, rows.start);
        each_row(self.table, &self.points, rows, scratch, |i, phases| {
            let row = &mut out[(i - first) * 2 * m..(i - first + 1) * 2 * m];
            let (cos, sin) = row.split_at_mut(m);
            waves(phases, 1.0, |j| self.scales[j], cos, sin);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::explicit::{self, CutTask, Solver};
    use crate::pieces::normal::normal;
    use crate::testing::{near, subset, with_job};
    use obcut::Scale;
    use obcut_core::linalg::factor::symmetric_eigen;

    fn filled(features: &Fourier<'_>) -> Vec<f64> {
        let mut values = vec![0.0; features.n() * features.width()];
        features.fill(0..features.n(), &mut Scratch::default(), &mut values);
        values
    }

    /// The Gaussian of all pairs.
    fn kernel(job: &Job<'_>, sigma: f64) -> Vec<f64> {
        let mut rows = vec![0.0; job.n * job.d];
        rows.chunks_exact_mut(job.d).enumerate().for_each(|(i, row)| job.table.row(i, row));
        let row = |i: usize| &rows[i * job.d..(i + 1) * job.d];
        let squared = |i: usize, j: usize| {
            row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        let pair = |p: usize| (-squared(p / job.n, p % job.n) / (2.0 * sigma * sigma)).exp();
        (0..job.n * job.n).map(pair).collect()
    }

    /// Features of all candidates, none left out.
    fn plain<'t>(job: &Job<'t>, features: usize, sigma: f64) -> Fourier<'t> {
        let pairs = features / 2;
        let mut frequencies = normal(pairs * job.d, job.stream.named("frequencies"));
        frequencies.iter_mut().for_each(|w| *w /= sigma);
        let all: Vec<(usize, f64)> = (0..pairs).map(|i| (i, (1.0 / pairs as f64).sqrt())).collect();
        Fourier::new(job.table, &frequencies, &all)
    }

    #[test]
    fn the_exact_kernel_has_the_spectrum_of_the_reference_and_features_come_near() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let sigma = mean_distance(job)?;
            assert!(near(sigma, 167.35137005, 1e-9), "{sigma}");
            let (n, exact) = (job.n, kernel(job, sigma));
            let degrees: Vec<f64> = exact.chunks_exact(n).map(|row| row.iter().sum()).collect();
            let root = |p: usize| (degrees[p / n] * degrees[p % n]).sqrt();
            let scaled: Vec<f64> = exact.iter().enumerate().map(|(p, v)| v / root(p)).collect();
            let (values, _) = symmetric_eigen(&scaled, n)?;
            let expected = [
                1.0,
                0.15900581,
                0.13073577,
                0.083454205,
                0.053134639,
                0.033214624,
                0.030596327,
                0.024315711,
                0.017040459,
                0.015927143,
            ];
            let found: Vec<f64> = values.into_iter().rev().take(10).collect();
            assert!(found.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-6)), "{found:?}");
            for (features, error) in [(500, 0.043), (1500, 0.026), (4000, 0.016)] {
                let fourier = plain(job, features, sigma);
                let (z, mut product) = (filled(&fourier), vec![0.0; n * n]);
                obcut_core::linalg::gemm::times_transposed(&z, &z, &mut product, (n, n, features));
                let size = |v: f64| v * v;
                let off: f64 = product.iter().zip(&exact).map(|(a, b)| size(a - b)).sum();
                let all: f64 = exact.iter().map(|v| size(*v)).sum();
                let found = (off / all).sqrt();
                assert!((found / error - 1.0).abs() < 0.25, "{features}: {found}");
            }
            let (solver, stream) = (Solver::Svd, job.stream);
            let task = CutTask { count: 10, floor: 1.0, solver, stream };
            let cut = explicit::cut::<f64>(&plain(job, 4000, sigma), task, job.context)?;
            assert!(cut.values.iter().zip(expected).all(|(a, b)| near(*a, b, 0.2)));
            assert!(near(cut.values[0], 1.0, 1e-9));
            Ok(())
        });
    }

    #[test]
    fn importances_are_nearly_alike_and_equal_the_plain_formula() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let sigma = mean_distance(job)?;
            let fourier = plain(job, 1500, sigma);
            let found = importances(job.table, &fourier.points, job.context)?;
            assert!(near(found.iter().sum(), 1.0, 1e-12));
            let most = found.iter().fold(0.0, |a: f64, &b| a.max(b));
            let least = found.iter().fold(1.0, |a: f64, &b| a.min(b));
            assert!((1.2..1.5).contains(&(most / least)), "{}", most / least);
            let z = filled(&fourier);
            let size = |i: usize| {
                let mut sum = 0.0;
                for a in z.chunks_exact(1500) {
                    for b in z.chunks_exact(1500) {
                        let entry: f64 = a[i] * b[i] + a[750 + i] * b[750 + i];
                        sum += entry * entry;
                    }
                }
                sum.sqrt()
            };
            assert!(near(found[3] / found[700], size(3) / size(700), 1e-10));
            Ok(())
        });
    }

    /// Three draws from six pairs: the mean of the products over all outcomes is the whole product.
    #[test]
    fn the_weighted_draw_is_unbiased() {
        let (pairs, n) = (6, 5);
        let z = Stream::new(5).values(n * 2 * pairs);
        let entry = |i: usize, j: usize, p: usize| {
            let (a, b) = (&z[i * 12..(i + 1) * 12], &z[j * 12..(j + 1) * 12]);
            a[p] * b[p] + a[pairs + p] * b[pairs + p]
        };
        let sizes = [0.1, 0.3, 0.2, 0.15, 0.05, 0.2];
        let draw = Draw { candidates: pairs, count: 3, weighted: true };
        let mut mean = vec![0.0; n * n];
        for outcome in 0..216 {
            let drawn = [outcome % 6, outcome / 6 % 6, outcome / 36];
            let chance: f64 = drawn.iter().map(|&i| sizes[i]).product();
            for (p, scale) in draw.kept(&drawn, &sizes) {
                for (at, mean) in mean.iter_mut().enumerate() {
                    *mean += chance * scale * scale * entry(at / n, at % n, p);
                }
            }
        }
        for (at, mean) in mean.iter().enumerate() {
            // All candidates together stand for their mean.
            let whole: f64 = (0..pairs).map(|p| entry(at / n, at % n, p)).sum::<f64>() / 6.0;
            assert!((mean - whole).abs() < 1e-12);
        }
    }

    #[test]
    fn draws_follow_the_shares() {
        let drawn = drawn(&[0.5, 0.0, 0.2, 0.3], 100_000, Stream::new(1));
        for (i, share) in [0.5, 0.0, 0.2, 0.3].into_iter().enumerate() {
            let found = drawn.iter().filter(|&&d| d == i).count() as f64 / 1e5;
            assert!((found - share).abs() < 0.01, "{i}: {found}");
        }
    }
}
