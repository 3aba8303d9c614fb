//! SSC, sparse subspace clustering: E. Elhamifar and R. Vidal, "Sparse Subspace Clustering:
//! Algorithm, Theory, and Applications", IEEE TPAMI 2013.
//!
//! Every row is written as a sparse combination of the others; the sizes of the coefficients are
//! the affinity for spectral clustering. Steps, defaults and stopping rules are those of the
//! published program; rows of unit length (`scale = unit`) are advised, and not the default there
//! either.
//!
//! Differs from the published program: matrices of N × N are not inverted, and of the five that it
//! holds one is left (see `admm`); a row that is orthogonal to all others, which would make a
//! penalty infinite there, does not take part in the choice of the penalty; the spectrum is taken
//! from the sparse affinity.

mod admm;

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Graph, Observer, Samples, Scale, Stage, Warning};

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::affinity::{Affinity, spectrum_bytes};
use crate::pieces::embedding::unit_rows;
use crate::pieces::means::{Flavour, cluster_points};
use crate::pieces::rows::{filled, projected};
use admm::{AdmmProblem, Solution};

/// Keeps a division by the largest coefficient from being one by zero.
const EPSILON: f64 = 2.2e-16;

obcut_core::choices! {
    /// What the coefficients must do.
    Variant as "variant" {
        /// Explain the row up to noise.
        Plain = "plain",
        /// The same, and sum to one.
        Affine = "affine",
        /// Explain the row but for a few gross errors.
        Outlier = "outlier",
    }
}

settings! {
    /// Settings of SSC.
    Ssc {
        /// Weight of the fit against sparsity, in units of the smallest that gives coefficients
        alpha: f64 = 20.0, "above 0, useful above 1";
        /// What the coefficients must do
        variant: Variant = Variant::Plain, "plain, affine or outlier";
        /// Part of a row's coefficients, by size, that the affinity keeps
        rho: f64 = 1.0, "above 0, up to 1";
        /// Dimensions that the rows are projected to first
        r: usize = 0, "0 (no projection) or more";
        /// Largest error at which the iteration ends
        tol: f64 = 2e-4, "0 or more";
        /// Updates at most
        updates: usize = 0, "0 (199, or 149 for outlier) or more";
        /// Starts of the last k-means
        n_init: usize = 20, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for Ssc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        require(positive(self.alpha), "alpha", self.alpha, "above 0, useful above 1")?;
        require(positive(self.rho) && self.rho <= 1.0, "rho", self.rho, "above 0, up to 1")?;
        require(self.tol.is_finite() && self.tol >= 0.0, "tol", self.tol, "0 or more")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        check_memory("ssc", self.bytes(n, d, k), n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: false, allow_rotation: false };
        job::run(samples, k, run, observer, preparation, |job| self.work(job))
    }
}

impl Ssc {
    /// Bytes at the peak.
    fn bytes(&self, n: usize, d: usize, k: usize) -> f64 {
        let (rows, columns) = (n as f64, d as f64);
        let q = if self.r > 0 { columns.min(self.r as f64) } else { columns };
        let width = if self.variant == Variant::Outlier { rows + 2.0 * q } else { rows };
        let small = rows.min(q);
        // Coefficients are few beside the N × N numbers that they come from: a tenth is much.
        let edges = 0.1 * rows * rows;
        8.0 * (rows * width + rows * columns + 3.0 * rows * q + 3.0 * small * small)
            + spectrum_bytes(n, k, edges)
    }

    fn work(&self, job: &mut Job<'_>) -> Result<Vec<u32>, Error> {
        let solution = job.time(Stage::Graph, |job| self.solve(job))?;
        if let Some(warning) = self.unsettled(&solution) {
            job.warnings.push(Warning::Method(warning));
        }
        let affinity = job.time(Stage::Graph, |job| {
            let coefficients = solution.coefficients(job.context)?;
            // The coefficients are few: the matrix that they come from makes room.
            drop(solution);
            Ok(Affinity::of_links(&links(coefficients, self.rho)))
        })?;
        let embedding = job.time(Stage::Spectrum, |job| embed(job, &affinity))?;
        job.time(Stage::KMeans, |job| {
            let (width, flavour) = (embedding.len() / job.n, Flavour::plus_plus(1000, self.n_init));
            cluster_points(&embedding, width, job.k, flavour, job.stream, job.context)
        })
    }

    /// A word when the updates ended before the errors were small.
    fn unsettled(&self, solution: &Solution) -> Option<String> {
        let Solution { updates, gap, violation, .. } = solution;
        let worst = gap.max(*violation);
        (worst > self.tol).then(|| {
            format!("the coefficients were {worst:.1e} from settled after {updates} updates")
        })
    }

    /// The coefficients of all rows.
    fn solve(&self, job: &Job<'_>) -> Result<Solution, Error> {
        let (x, d) = self.rows(job)?;
        let problem = AdmmProblem::new(x, job.n, d, self.variant, self.alpha, job.context)?;
        let max_iter = match (self.updates, self.variant) {
            (0, Variant::Outlier) => 149,
            (0, _) => 199,
            (count, _) => count,
        };
        problem.solve(self.tol, max_iter, job.context)
    }

    /// The rows to explain each other, and their width.
    fn rows(&self, job: &Job<'_>) -> Result<(Vec<f64>, usize), Error> {
        // More features than rows: coordinates in the span of the rows have the same inner
        // products, which is all that counts without gross errors.
        let compact = job.d > job.n && self.variant != Variant::Outlier;
        let width = match self.r {
            0 if compact => job.n,
            0 => return Ok((filled(job.table, job.context)?, job.d)),
            r => r,
        };
        projected(job.table, width, job.stream.named("projection"), job.context)
    }
}

/// Sizes of the largest coefficients of every row, in units of the largest.
fn links(coefficients: Vec<Vec<(u32, f64)>>, rho: f64) -> Graph {
    let mut links = Graph::empty(coefficients.len());
    for mut row in coefficients {
        row.iter_mut().for_each(|(_, c)| *c = c.abs());
        keep_largest(&mut row, rho);
        let most = row.iter().fold(0.0, |most: f64, (_, c)| most.max(*c)) + EPSILON;
        let (columns, values): (Vec<u32>, Vec<f64>) =
            row.into_iter().map(|(i, c)| (i, c / most)).unzip();
        links.push(&columns, &values);
    }
    links
}

/// Keeps the largest sizes until their sum reaches a part of the whole; the one that reaches it
/// stays.
fn keep_largest(row: &mut Vec<(u32, f64)>, part: f64) {
    if part >= 1.0 {
        return;
    }
    row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (whole, mut sum) = (row.iter().map(|entry| entry.1).sum::<f64>(), 0.0);
    let crossing = row.iter().position(|entry| {
        sum += entry.1;
        sum >= part * whole
    });
    row.truncate(crossing.map_or(row.len(), |at| at + 1));
}

/// The k largest eigenvectors, rows of unit length.
fn embed(job: &Job<'_>, affinity: &Affinity) -> Result<Vec<f64>, Error> {
    let stream = job.stream.named("spectrum");
    let (values, mut vectors) = affinity.largest(job.k, stream, job.context)?;
    unit_rows(&mut vectors, values.len());
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{planes, subset, with_job};
    use obcut::Named;
    use obcut::{Matrix, Silent};

    fn labels(settings: &Ssc, matrix: &Matrix, k: usize, threads: usize) -> Vec<u32> {
        let run = Run { threads, ..Run::default() };
        settings.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap().labels
    }

    #[test]
    fn the_entry_that_reaches_the_part_is_kept() {
        let row = [(0, 1.0), (3, 4.0), (5, 2.0), (6, 3.0)];
        let kept = |part: f64| {
            let mut row = row.to_vec();
            keep_largest(&mut row, part);
            row.iter().map(|entry| entry.0).collect::<Vec<_>>()
        };
        assert_eq!(kept(1.0), [0, 3, 5, 6]);
        assert_eq!(kept(0.7), [3, 6]);
        assert_eq!(kept(0.71), [3, 6, 5]);
        assert_eq!(kept(1e-9), [3]);
        let mut none = Vec::new();
        keep_largest(&mut none, 0.5);
        assert!(none.is_empty());
    }

    #[test]
    fn affinities_are_in_units_of_the_largest_coefficient() {
        let rows = vec![vec![(1, -2.0), (2, 1.0)], vec![], vec![(0, 0.5)]];
        let links = links(rows, 1.0);
        assert_eq!((&links.columns[..], &links.offsets[..]), (&[1, 2, 0][..], &[0, 2, 2, 3][..]));
        let off = links.values.iter().zip([1.0, 0.5, 1.0]).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-14);
    }

    #[test]
    fn a_projection_to_the_rank_of_the_rows_changes_nothing() {
        with_job(&planes(), 3, Scale::None, false, |job| {
            let whole = Ssc::default().solve(job)?.coefficients(job.context)?;
            let same = Ssc { r: 8, ..Ssc::default() }.solve(job)?.coefficients(job.context)?;
            assert_eq!(whole.len(), same.len());
            for (a, b) in whole.iter().flatten().zip(same.iter().flatten()) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-9, "{a:?} {b:?}");
            }
            Ok(())
        });
    }

    #[test]
    fn every_variant_takes_odd_tables_and_any_number_of_threads() {
        let copies: Vec<f64> = (0..30).flat_map(|i| [f64::from(i % 3), 1.0, 0.0]).collect();
        let mut apart = vec![0.0; 25];
        (0..4).for_each(|i| apart[i * 6] = 1.0);
        let tables = [
            Matrix::Dense64 { values: copies, n_rows: 30, n_cols: 3 },
            Matrix::Dense64 { values: vec![0.0; 24], n_rows: 12, n_cols: 2 },
            Matrix::Dense64 { values: apart, n_rows: 5, n_cols: 5 },
            Matrix::Dense64 { values: vec![1e140, -3e140, 2.0, 0.0], n_rows: 4, n_cols: 1 },
            Matrix::Dense64 { values: vec![1.0; 2], n_rows: 2, n_cols: 1 },
            Matrix::Dense64 { values: vec![2.0, 1.0, 0.0, 1.0, 3.0, 1.0], n_rows: 1, n_cols: 6 },
        ];
        for &variant in Variant::ALL {
            for (table, r) in tables.iter().flat_map(|table| [(table, 0), (table, 2)]) {
                let settings = Ssc { variant, r, rho: 0.7, ..Ssc::default() };
                for k in [1, 2, table.n_rows()] {
                    if k <= table.n_rows() {
                        let one = labels(&settings, table, k, 1);
                        assert_eq!(one, labels(&settings, table, k, 3));
                    }
                }
            }
        }
    }

    #[test]
    fn wrong_settings_and_too_many_rows_are_refused() {
        let matrix = planes();
        for wrong in [
            Ssc { alpha: 0.0, ..Ssc::default() },
            Ssc { alpha: f64::NAN, ..Ssc::default() },
            Ssc { rho: 0.0, ..Ssc::default() },
            Ssc { rho: 1.5, ..Ssc::default() },
            Ssc { tol: -1.0, ..Ssc::default() },
            Ssc { n_init: 0, ..Ssc::default() },
        ] {
            let found = wrong.cluster(&matrix.samples().unwrap(), 3, &Run::default(), &Silent);
            assert!(found.is_err(), "{wrong:?}");
        }
        assert!(Ssc::default().bytes(195_537, 512, 100) > 3e11);
    }

    /// Figures of the published program.
    #[test]
    fn three_faces_are_told_apart() {
        let Some((matrix, classes)) = subset("Yale", 3) else { return };
        let settings = Ssc { scale: Scale::UnitRows, n_init: 3, ..Ssc::default() };
        with_job(&matrix, 3, Scale::UnitRows, false, |job| {
            let solution = settings.solve(job)?;
            assert!(solution.updates.abs_diff(108) <= 1, "{}", solution.updates);
            let rows = solution.coefficients(job.context)?;
            let mean = rows.iter().map(Vec::len).sum::<usize>() as f64 / 585.0;
            assert!((mean - 6.57).abs() < 0.01, "{mean}");
            let (mut across, mut all) = (0.0, 0.0);
            for (i, &(j, c)) in
                rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |e| (i, e)))
            {
                all += c.abs();
                across += if classes[i] == classes[j as usize] { 0.0 } else { c.abs() };
            }
            assert!((across / all - 0.0023).abs() < 1e-4, "{}", across / all);
            Ok(())
        });
        let found = labels(&settings, &matrix, 3, 2);
        assert!(obcut::metrics::scores(&found, &classes).unwrap().nmi > 0.9999);
    }
}
