//! SSC-OMP: C. You, D. P. Robinson and R. Vidal, "Scalable Sparse Subspace Clustering by Orthogonal
//! Matching Pursuit", CVPR 2016.
//!
//! Every row is explained by a few others that are chosen one by one, each the most correlated with
//! what is left; the sizes of the coefficients are the affinity for spectral clustering. The
//! authors have two programs which differ: `form = matlab` chooses by unit rows, takes the affinity
//! as it is and the eigenvectors of D^-1 W; `form = python` chooses by the rows as they are, scales
//! the coefficients of a row to unit length, and takes the eigenvectors of D^-1/2 W D^-1/2.
//!
//! Differs from the published programs: the search does not end after half an hour of wall time; a
//! row that adds nothing to those chosen ends the search of that sample.

mod pursuit;
mod tiles;

use crate::{Clusterer, Clustering, Run};
use obcut::{DenseRef, Error, Graph, Observer, Samples, Scale, Stage};
use obcut_core::normalize::Scaling;
use obcut_core::table::Table;

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::affinity::{Affinity, spectrum_bytes};
use crate::pieces::embedding::unit_rows;
use crate::pieces::means::{Flavour, cluster_points};
use crate::pieces::rows::projected;
use pursuit::{Pursuit, group_len};

obcut_core::choices! {
    /// Which of the authors' programs is followed.
    WeightForm as "form" {
        /// The one of the paper.
        Matlab = "matlab",
        /// The later one.
        Python = "python",
    }
}

settings! {
    /// Settings of SSC-OMP.
    SscOmp {
        /// Others that a row is explained by, at most
        sparsity: usize = 5, "1 or more";
        /// Squared length of what is left at which the search for others ends
        threshold: f64 = 1e-6, "0 or more";
        /// Which of the authors' programs is followed
        form: WeightForm = WeightForm::Matlab, "matlab or python";
        /// Dimensions that the rows are projected to first
        project: usize = 0, "0 (no projection) or more";
        /// Starts of the last k-means
        n_init: usize = 20, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for SscOmp {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let fine = self.threshold.is_finite() && self.threshold >= 0.0;
        require(self.sparsity > 0, "sparsity", self.sparsity, "1 or more")?;
        require(fine, "threshold", self.threshold, "0 or more")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let n = samples.n_rows();
        check_memory("ssc-omp", self.bytes(n, samples.width_at_most(), k), n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: false, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| self.work(job))
    }
}

impl SscOmp {
    /// Bytes at the peak.
    fn bytes(&self, n: usize, d: usize, k: usize) -> f64 {
        let width = if self.project > 0 { self.project.min(d).min(n) } else { d };
        // More others than dimensions or rows cannot be independent.
        let sparsity = self.sparsity.min(width).min(n);
        let (len, most) = group_len(n, width, self.sparsity);
        // Cosines; residuals and bases; columns in two forms.
        let groups = 4.0 * (n + 128) as f64 * most.min(n) as f64
            + 8.0 * (len.min(n) * width * (sparsity + 4)) as f64
            + 12.0 * (most.min(n) * width) as f64;
        let projection = if self.project > 0 {
            let small = n.min(d) as f64;
            (n * width) as f64 + 3.0 * small * small + if d > n { (n * d) as f64 } else { 0.0 }
        } else {
            0.0
        };
        let edges = n as f64 * sparsity as f64;
        24.0 * edges + (groups + 8.0 * projection).max(spectrum_bytes(n, k, edges))
    }

    fn work(&self, job: &mut Job<'_>) -> Result<Vec<u32>, Error> {
        let affinity = job.time(Stage::Graph, |job| {
            let mut coefficients = self.coefficients(job)?;
            weigh(&mut coefficients, self.form);
            Ok(Affinity::of_links(&coefficients))
        })?;
        let embedding = job.time(Stage::Spectrum, |job| self.embed(job, &affinity))?;
        job.time(Stage::KMeans, |job| {
            let (width, flavour) = (embedding.len() / job.n, Flavour::plus_plus(1000, self.n_init));
            cluster_points(&embedding, width, job.k, flavour, job.stream, job.context)
        })
    }

    /// The coefficients of every row on the others chosen for it.
    fn coefficients(&self, job: &Job<'_>) -> Result<Graph, Error> {
        let &Self { sparsity, threshold, form, .. } = self;
        if self.project == 0 {
            return Pursuit { table: job.table, sparsity, threshold, form }
                .coefficients(job.context);
        }
        let stream = job.stream.named("projection");
        let (rows, width) = projected(job.table, self.project, stream, job.context)?;
        let scaling = Scaling::identity(width);
        let table = Table::new(DenseRef::new(&rows, job.n, width)?.into(), &scaling);
        Pursuit { table: &table, sparsity, threshold, form }.coefficients(job.context)
    }

    /// The k largest eigenvectors, rows of unit length.
    fn embed(&self, job: &Job<'_>, affinity: &Affinity) -> Result<Vec<f64>, Error> {
        let stream = job.stream.named("spectrum");
        let (values, mut vectors) = affinity.largest(job.k, stream, job.context)?;
        if self.form == WeightForm::Matlab {
            random_walk(&mut vectors, values.len(), &affinity.degrees());
        }
        unit_rows(&mut vectors, values.len());
        Ok(vectors)
    }
}

/// Coefficients to weights, in place.
fn weigh(coefficients: &mut Graph, form: WeightForm) {
    coefficients.values.iter_mut().for_each(|c| *c = c.abs());
    if form == WeightForm::Matlab {
        return;
    }
    for i in 0..coefficients.n_rows() {
        let range = coefficients.offsets[i]..coefficients.offsets[i + 1];
        let row = &mut coefficients.values[range];
        let length = row.iter().map(|c| c * c).sum::<f64>().sqrt();
        // Half of it, since the affinity is the mean of the two directions.
        row.iter_mut().for_each(|c| *c *= if length > 0.0 { 0.5 / length } else { 0.0 });
    }
}

/// From the eigenvectors (N × width) of D^-1/2 W D^-1/2 to those of D^-1 W, of unit length.
fn random_walk(vectors: &mut [f64], width: usize, degrees: &[f64]) {
    let mut lengths = vec![0.0; width];
    for (row, &degree) in vectors.chunks_exact_mut(width).zip(degrees) {
        let scale = if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 };
        for (v, length) in row.iter_mut().zip(&mut lengths) {
            *v *= scale;
            *length += *v * *v;
        }
    }
    for row in vectors.chunks_exact_mut(width) {
        row.iter_mut().zip(&lengths).for_each(|(v, l)| *v /= l.sqrt().max(f64::MIN_POSITIVE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{planes, with_job};
    use obcut::{Matrix, Silent};

    fn labels(settings: &SscOmp, matrix: &Matrix, k: usize, threads: usize) -> Vec<u32> {
        let run = Run { threads, ..Run::default() };
        settings.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap().labels
    }

    #[test]
    fn weights_are_sizes_or_directions_by_the_form() {
        let mut graph = Graph::empty(3);
        graph.push(&[1, 2], &[-3.0, 4.0]);
        graph.push(&[], &[]);
        graph.push(&[0], &[-0.1]);
        let mut other = graph.clone();
        weigh(&mut graph, WeightForm::Matlab);
        assert_eq!(graph.values, [3.0, 4.0, 0.1]);
        weigh(&mut other, WeightForm::Python);
        let off = other.values.iter().zip([0.3, 0.4, 0.5]).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-15);
    }

    #[test]
    fn the_vectors_are_those_of_the_random_walk_and_of_unit_length() {
        with_job(&planes(), 3, Scale::None, false, |job| {
            let mut coefficients = SscOmp::default().coefficients(job)?;
            weigh(&mut coefficients, WeightForm::Matlab);
            let affinity = Affinity::of_links(&coefficients);
            let (values, mut vectors) = affinity.largest(4, job.stream, job.context)?;
            let degrees = affinity.degrees();
            random_walk(&mut vectors, 4, &degrees);
            let image = crate::pieces::links::times(&affinity.graph, &vectors, 4, job.context)?;
            for j in 0..4 {
                let length: f64 = (0..60).map(|i| vectors[i * 4 + j].powi(2)).sum();
                assert!((length - 1.0).abs() < 1e-12);
                let off = (0..60).map(|i| {
                    (image[i * 4 + j] / degrees[i] - values[j] * vectors[i * 4 + j]).abs()
                });
                assert!(off.fold(0.0, f64::max) < 1e-9);
            }
            Ok(())
        });
    }

    #[test]
    fn a_projection_to_the_rank_of_the_rows_changes_nothing() {
        with_job(&planes(), 3, Scale::None, false, |job| {
            let whole = SscOmp::default().coefficients(job)?;
            let same = SscOmp { project: 8, ..SscOmp::default() }.coefficients(job)?;
            assert_eq!(whole.columns, same.columns);
            let off = whole.values.iter().zip(&same.values).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-9);
            Ok(())
        });
    }

    #[test]
    fn odd_tables_and_any_number_of_threads_are_fine() {
        let copies: Vec<f64> = (0..30).flat_map(|i| [f64::from(i % 3), 1.0, 0.0]).collect();
        let tables = [
            Matrix::Dense64 { values: copies, n_rows: 30, n_cols: 3 },
            Matrix::Dense64 { values: vec![0.0; 24], n_rows: 12, n_cols: 2 },
            Matrix::Dense64 { values: vec![1e140, -3e140, 2.0, 0.0], n_rows: 4, n_cols: 1 },
            Matrix::Dense64 { values: vec![1.0; 2], n_rows: 2, n_cols: 1 },
            Matrix::Dense64 {
                values: obcut_core::random::Stream::new(1).values(700 * 5),
                n_rows: 700,
                n_cols: 5,
            },
        ];
        for form in [WeightForm::Matlab, WeightForm::Python] {
            for (table, project) in tables.iter().flat_map(|table| [(table, 0), (table, 2)]) {
                let settings = SscOmp { form, project, n_init: 2, ..SscOmp::default() };
                for k in [1, 2, 4.min(table.n_rows()), table.n_rows().min(30)] {
                    let one = labels(&settings, table, k, 1);
                    assert_eq!(one, labels(&settings, table, k, 3));
                }
            }
        }
    }

    #[test]
    fn wrong_settings_are_refused_and_many_rows_need_little_memory() {
        let matrix = planes();
        for wrong in [
            SscOmp { sparsity: 0, ..SscOmp::default() },
            SscOmp { threshold: -1.0, ..SscOmp::default() },
            SscOmp { threshold: f64::NAN, ..SscOmp::default() },
            SscOmp { n_init: 0, ..SscOmp::default() },
        ] {
            let found = wrong.cluster(&matrix.samples().unwrap(), 3, &Run::default(), &Silent);
            assert!(found.is_err(), "{wrong:?}");
        }
        assert!(SscOmp::default().bytes(195_537, 512, 100) < 4e9);
    }
}
