//! FastESC, fast explicit spectral clustering: L. He, N. Ray, Y. Guan and H. Zhang, "Fast Large-Scale
//! Spectral Clustering via Explicit Feature Mapping", IEEE Trans. Cybernetics 2019.
//!
//! Random Fourier features make the Gaussian affinity a product of explicit features, of which some are
//! drawn by their importance; the normalised cut is then an eigenproblem of the features' size.
//!
//! Differs from the published programs: cosine and sine of one frequency are drawn together, where the
//! small form pairs those of different ones; a frequency that is drawn m times stands once, √m as large,
//! which gives the same affinity; the width of the Gaussian and the importances of the large form come
//! from random rows, not the first ones, as files may be sorted by class; degrees are floored at 1 in both
//! forms; the large form takes all rows into its eigenproblem. The programs end with the eigenvectors:
//! what is clustered is a setting, and rows of unit length come closest to the exact cut.

use std::ops::Range;

use obcut::block::{BLOCK, Points, Scratch};
use obcut::linalg::gemm::Real;
use obcut::parallel::Context;
use obcut::random::{Stream, choose, mix};
use obcut::table::Table;
use obcut::{Clusterer, Clustering, Error, Observer, Run, Samples, Scale, Stage};

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::angles::waves;
use crate::pieces::embedding::{columns_from, unit_rows};
use crate::pieces::explicit::{self, Cut, Features, MANY_ROWS, Precision, Solver, Task};
use crate::pieces::means::Flavour;
use crate::pieces::normal::normal;

/// Rows up to which the small form is taken.
const FEW_ROWS: usize = 5000;
/// Rows that the mean distance is taken over, at most.
const DISTANCE_ROWS: usize = 3000;
/// Rows that the importances of the large form are taken over, at most.
const IMPORTANCE_ROWS: usize = 1000;
/// Squared distances below this part of the squared lengths are rounding.
const ROUNDING: f64 = 1e-13;
/// A row is as near to itself as can be, so no degree is lower.
const FLOOR: f64 = 1.0;

obcut::choices! {
    /// Which of the two published programs is followed.
    Form as "form" {
        /// Features are drawn with weights, twice as many.
        Small = "small",
        /// Frequencies are drawn by some of the rows, weights are dropped.
        Large = "large",
        /// Small up to 5,000 rows, else large.
        Auto = "auto",
    }
}

obcut::choices! {
    /// What is clustered.
    Clustered as "rows" {
        /// Rows of the eigenvectors, scaled to unit length.
        Unit = "unit",
        /// Rows as they are.
        Raw = "raw",
        /// Rows as they are, without the first column, which is constant.
        Dropped = "dropped",
    }
}

settings! {
    /// Settings of FastESC.
    FastEsc {
        /// Which published program: small up to 5,000 rows, else large
        form: Form = Form::Auto, "small, large or auto";
        /// Features that are drawn, made even; the small form keeps twice as many
        features: usize = 500, "2 or more";
        /// Features beyond those to draw from
        oversampling: usize = 1000, "0 or more";
        /// Width of the Gaussian in mean distances
        sigma: f64 = 1.0, "above 0";
        /// What is clustered
        rows: Clustered = Clustered::Unit, "unit, raw or dropped";
        /// Starts of the last k-means
        n_init: usize = 5, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for FastEsc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, d) = (samples.n_rows(), samples.n_cols());
        require(self.features >= 2, "features", self.features, "2 or more")?;
        require(self.sigma > 0.0 && self.sigma.is_finite(), "sigma", self.sigma, "above 0")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let candidates = self.features.saturating_add(self.oversampling) as f64 / 2.0;
        let points = 3.0 * d as f64 * (candidates + n.min(DISTANCE_ROWS) as f64);
        check_memory("fastesc", 8.0 * points, n, run)?;
        let width = self.draw_from(n).width();
        check_memory("fastesc", explicit::memory(n, width, k, run) + 8.0 * points, n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: true };
        job::run(samples, k, run, observer, preparation, |job| {
            if job.n > MANY_ROWS { self.work::<f32>(job) } else { self.work::<f64>(job) }
        })
    }
}

impl FastEsc {
    fn work<T: Precision>(&self, job: &mut Job<'_>) -> Result<Vec<u32>, Error> {
        let (n, k) = (job.n, job.k);
        let features = job.time(Stage::Graph, |job| self.features(job))?;
        // All rows are equal.
        let Some(features) = features else { return Ok(vec![0; n]) };
        let cut: Cut<T> = job.time(Stage::Spectrum, |job| {
            let (solver, stream) = (Solver::Svd, job.stream.named("spectrum"));
            let task = Task { count: k, floor: FLOOR, solver, stream };
            explicit::cut(&features, task, job.context)
        })?;
        let (points, width) = points(cut, self.rows);
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::plus_plus(200, self.n_init);
            explicit::cluster(&points, width, k, flavour, job.stream, job.context)
        })
    }

    /// Features that the data and the seed call for; `None` when all distances are zero.
    fn features<'t>(&self, job: &Job<'t>) -> Result<Option<Fourier<'t>>, Error> {
        let sigma = self.sigma * mean_distance(job)?;
        if sigma <= 0.0 {
            return Ok(None);
        }
        let draw = self.draw_from(job.n);
        let mut frequencies = normal(draw.candidates * job.d, job.stream.named("frequencies"));
        frequencies.iter_mut().for_each(|w| *w /= sigma);
        let points = job.table.points(frequencies);
        let importances = if draw.weighted {
            importances(job.table, &points, job.context)?
        } else {
            let rows = some_rows(job.n, IMPORTANCE_ROWS, job.stream.named("importances"));
            importances(&job.table.subset(&rows), &points, job.context)?
        };
        let drawn = drawn(&importances, draw.count, job.stream.named("draw"));
        Ok(Some(Fourier::new(job.table, &points.values, &draw.kept(&drawn, &importances))))
    }

    fn draw_from(&self, n: usize) -> Draw {
        let weighted = match self.form {
            Form::Small => true,
            Form::Large => false,
            Form::Auto => n <= FEW_ROWS,
        };
        let pairs = self.features.div_ceil(2);
        let candidates = pairs.saturating_add(self.oversampling.div_ceil(2));
        Draw { candidates, count: if weighted { 2 * pairs } else { pairs }, weighted }
    }
}

/// How pairs of features are drawn.
struct Draw {
    /// Pairs to draw from.
    candidates: usize,
    /// Draws, with replacement.
    count: usize,
    /// Whether a pair is scaled up by how unlikely it was, as the small form does.
    weighted: bool,
}

impl Draw {
    /// Features at most.
    fn width(&self) -> usize {
        2 * self.count.min(self.candidates)
    }

    /// The pairs that were drawn, each once, and how large they stand.
    fn kept(&self, drawn: &[usize], importances: &[f64]) -> Vec<(usize, f64)> {
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
fn some_rows(n: usize, count: usize, stream: Stream) -> Vec<u32> {
    let keys: Vec<u64> = (0..n as u64).map(mix).collect();
    let mut rows = choose(&keys, count.min(n), stream);
    rows.sort_unstable();
    rows
}

/// The mean over all ordered pairs of some rows, a row with itself included.
fn mean_distance(job: &Job<'_>) -> Result<f64, Error> {
    let rows = some_rows(job.n, DISTANCE_ROWS, job.stream.named("distances"));
    let gathered = job.table.gather(&rows, job.context)?;
    let table = gathered.table()?;
    let (n, mut values) = (table.n(), vec![0.0; rows.len() * job.d]);
    values.chunks_exact_mut(job.d).enumerate().for_each(|(i, row)| table.row(i, row));
    let points = table.points(values);
    let all: Vec<u32> = (0..n as u32).collect();
    let mut sum = 0.0;
    job.context.fold(
        n,
        |range| {
            let (mut scratch, mut found, mut part) = (Scratch::default(), Vec::new(), 0.0);
            for start in range.clone().step_by(BLOCK) {
                let rows = start..(start + BLOCK).min(range.end);
                let block = table.block(rows.clone(), &points, &mut scratch);
                for (r, i) in rows.enumerate() {
                    block.distances(r, &all[i + 1..], &mut found);
                    part += distances(&found, points.norms[i], &points.norms[i + 1..]);
                }
            }
            part
        },
        |part| sum += part,
    )?;
    Ok(2.0 * sum / (n as f64 * n as f64))
}

/// Sum of the roots of squared distances, those that are rounding left out.
fn distances(squared: &[f64], norm: f64, norms: &[f64]) -> f64 {
    let part =
        |(d, other): (&f64, &f64)| if *d > ROUNDING * (norm + other) { d.sqrt() } else { 0.0 };
    squared.iter().zip(norms).map(part).sum()
}

/// Shares of the pairs by the size of cc' + ss', with c and s the columns of a pair.
fn importances(
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
fn drawn(shares: &[f64], count: usize, stream: Stream) -> Vec<usize> {
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
struct Fourier<'a> {
    table: &'a Table<'a>,
    points: Points,
    scales: Vec<f64>,
}

impl<'a> Fourier<'a> {
    fn new(table: &'a Table<'a>, candidates: &[f64], kept: &[(usize, f64)]) -> Self {
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

/// What is clustered, and its width.
fn points<T: Precision>(cut: Cut<T>, rows: Clustered) -> (Vec<T>, usize) {
    let Cut { values, mut vectors, degrees } = cut;
    let width = values.len();
    if rows == Clustered::Unit {
        unit_rows(&mut vectors, width);
        return (vectors, width);
    }
    for (row, degree) in vectors.chunks_exact_mut(width).zip(&degrees) {
        row.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / degree.sqrt()));
    }
    if rows == Clustered::Dropped && width > 1 {
        return (columns_from(&vectors, width, 1), width - 1);
    }
    (vectors, width)
}
