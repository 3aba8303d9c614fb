//! FastESC, fast explicit spectral clustering: L. He, N. Ray, Y. Guan and H. Zhang, "Fast Large-Scale
//! Spectral Clustering via Explicit Feature Mapping", IEEE Trans. Cybernetics 2019.
//!
//! Random Fourier features make the Gaussian affinity a product of explicit features, of which some are
//! drawn by their importance; the normalized cut is then an eigenproblem of the features' size.
//!
//! Differs from the published programs: cosine and sine of one frequency are drawn together, where the
//! small form pairs those of different ones; a frequency that is drawn m times stands once, √m as large,
//! which gives the same affinity; the width of the Gaussian and the importances of the large form come
//! from random rows, not the first ones, as files may be sorted by class; degrees are floored at 1 in both
//! forms; the large form takes all rows into its eigenproblem. The programs end with the eigenvectors:
//! what is clustered is a setting, and rows of unit length come closest to the exact cut.

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Observer, Samples, Scale, Stage};

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::embedding::{columns_from, unit_rows};
use crate::pieces::explicit::{self, Cut, CutTask, MANY_ROWS, Precision, Solver};
use crate::pieces::fourier::{
    DISTANCE_ROWS, Draw, Fourier, drawn, importances, mean_distance, some_rows,
};
use crate::pieces::means::{Flavour, cluster_points};
use crate::pieces::normal::normal;

/// Rows up to which the small form is taken.
const FEW_ROWS: usize = 5000;
/// Rows that the importances of the large form are taken over, at most.
const IMPORTANCE_ROWS: usize = 1000;
/// A row is as near to itself as can be, so no degree is lower.
const FLOOR: f64 = 1.0;

obcut_core::choices! {
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

obcut_core::choices! {
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
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        require(self.features >= 2, "features", self.features, "2 or more")?;
        require(self.sigma > 0.0 && self.sigma.is_finite(), "sigma", self.sigma, "above 0")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let candidates = self.features.saturating_add(self.oversampling) as f64 / 2.0;
        let points = 3.0 * d as f64 * (candidates + n.min(DISTANCE_ROWS) as f64);
        check_memory("fastesc", 8.0 * points, n, run)?;
        let width = self.draw_from(n).width();
        check_memory("fastesc", explicit::memory(n, width, k, run) + 8.0 * points, n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: true, allow_rotation: true };
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
            let task = CutTask { count: k, floor: FLOOR, solver, stream };
            explicit::cut(&features, task, job.context)
        })?;
        let (points, width) = points(cut, self.rows);
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::plus_plus(200, self.n_init);
            cluster_points(&points, width, k, flavour, job.stream, job.context)
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
        Draw { candidates, count: if weighted { pairs.saturating_mul(2) } else { pairs }, weighted }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::features::Features;
    use crate::testing::{near, with_job};
    use obcut::{Csr, Matrix, Silent};
    use obcut_core::block::Scratch;
    use obcut_core::random::Stream;

    fn labels(method: &FastEsc, matrix: &Matrix, k: usize, threads: usize) -> Clustering {
        let run = Run { threads, ..Run::default() };
        method.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap()
    }

    fn dense(values: Vec<f64>, n_cols: usize) -> Matrix {
        Matrix::Dense64 { n_rows: values.len() / n_cols, values, n_cols }
    }

    #[test]
    fn every_row_has_unit_length_without_weights() {
        let matrix = dense(Stream::new(2).values(40 * 3), 3);
        let method = FastEsc { form: Form::Large, features: 51, ..FastEsc::default() };
        with_job(&matrix, 3, Scale::None, true, |job| {
            let features = method.features(job)?.expect("rows differ");
            let mut values = vec![0.0; features.n() * features.width()];
            features.fill(0..features.n(), &mut Scratch::default(), &mut values);
            for row in values.chunks_exact(features.width()) {
                assert!(near(row.iter().map(|v| v * v).sum(), 1.0, 1e-12));
            }
            Ok(())
        });
    }

    #[test]
    fn blobs_are_found_in_every_form_for_any_number_of_threads() {
        let blobs = obcut::synthetic::blobs(6000, 5, 4, 0.5, 1);
        for form in [Form::Small, Form::Large] {
            for rows in [Clustered::Unit, Clustered::Raw, Clustered::Dropped] {
                let method = FastEsc { form, rows, features: 300, ..FastEsc::default() };
                let found = labels(&method, &blobs.matrix, 4, 1);
                let score = obcut::metrics::scores(&found.labels, &blobs.labels).unwrap();
                assert!(score.nmi > 0.9, "{form} {rows}: {}", score.nmi);
                assert_eq!(found.labels, labels(&method, &blobs.matrix, 4, 3).labels);
            }
        }
    }

    #[test]
    fn sparse_rows_give_the_labels_of_dense_ones() {
        let values: Vec<f64> = (Stream::new(3).values(90 * 4).into_iter().enumerate())
            .map(|(p, v)| if v < 0.0 { 0.0 } else { v + f64::from((p / 120) as u8) * 4.0 })
            .collect();
        let mut csr = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: 4 };
        for row in values.chunks_exact(4) {
            for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                csr.columns.push(c as _);
                csr.values.push(*v);
            }
            csr.offsets.push(csr.columns.len() as _);
        }
        let method = FastEsc::default();
        let sparse = labels(&method, &Matrix::Sparse64(csr), 3, 2);
        assert_eq!(sparse.labels, labels(&method, &dense(values, 4), 3, 2).labels);
    }

    #[test]
    fn degenerate_rows_are_no_trouble() {
        let equal = labels(&FastEsc::default(), &dense(vec![0.3; 60], 3), 4, 1);
        assert!(equal.n_clusters == 1 && equal.warnings.len() == 1);
        let twins: Vec<f64> = (0..40).flat_map(|i| [f64::from(i % 2), 7.0]).collect();
        for rows in [Clustered::Unit, Clustered::Raw, Clustered::Dropped] {
            for form in [Form::Small, Form::Large] {
                let few =
                    FastEsc { form, rows, features: 2, oversampling: 0, ..FastEsc::default() };
                assert_eq!(
                    labels(&few, &dense(Stream::new(1).values(24), 2), 12, 1).labels.len(),
                    12
                );
                let method = FastEsc { form, rows, ..FastEsc::default() };
                let found = labels(&method, &dense(twins.clone(), 2), 5, 1).labels;
                assert!(found.iter().enumerate().all(|(i, l)| *l == found[i % 2]));
                assert_ne!(found[0], found[1]);
            }
        }
        let none = FastEsc { features: usize::MAX, ..FastEsc::default() };
        let matrix = dense(twins, 2);
        assert!(none.cluster(&matrix.samples().unwrap(), 2, &Run::default(), &Silent).is_err());
    }
}
