//! LSC, landmark spectral clustering: X. Chen and D. Cai, "Large Scale Spectral Clustering with
//! Landmark-Based Representation", AAAI 2011.
//!
//! Rows are linked to their r nearest of p landmarks by a Gaussian whose width is the mean *squared*
//! distance, as in the published program: on large numbers the weights of a row are all alike, and the
//! result depends on the scale of the features. `sigma = distance` takes the mean plain distance instead.
//!
//! Differs from the published program where the graph is in pieces: the vector that is dropped is the
//! trivial one, not whichever the solver returns first.

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Graph, Observer, Samples, Scale, Stage};
use obcut_core::table::Table;

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::embedding::{columns_from, trivial_first, unit_rows};
use crate::pieces::links::{column_sums, nearest_landmarks, right_singular, times};
use crate::pieces::means::{Flavour, centers, cluster_points};

/// Singular values this near to 1 are one value, repeated since the graph is in pieces.
const REPEATED: f64 = 1e-7;
/// Singular values below this part of the largest are noise (squared: 1e-10 of the largest).
const NOISE: f64 = 1e-5;

obcut_core::choices! {
    /// Where landmarks come from.
    Landmarks as "landmarks" {
        /// Centers of a few iterations of k-means (LSC-K).
        KMeans = "kmeans",
        /// Random rows (LSC-R).
        Random = "random",
    }
}

obcut_core::choices! {
    /// Width of the Gaussian.
    Width as "sigma" {
        /// Mean squared distance, as published.
        Squared = "squared",
        /// Mean distance, which does not depend on the scale.
        Distance = "distance",
    }
}

settings! {
    /// Settings of LSC.
    Lsc {
        /// Landmarks, at most as many as rows
        p: usize = 1000, "1 or more";
        /// Nearest landmarks that a row is linked to
        r: usize = 5, "1 to p";
        /// Where landmarks come from
        landmarks: Landmarks = Landmarks::KMeans, "kmeans or random";
        /// Width of the Gaussian
        sigma: Width = Width::Squared, "squared or distance";
        /// Starts of the last k-means
        n_init: usize = 10, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for Lsc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let n = samples.n_rows();
        let (p, r) = (self.p.min(n), self.r);
        require(p > 0, "p", p, "1 or more")?;
        require(r > 0 && (r <= p || p == n), "r", r, "1 to p")?;
        require(self.n_init > 0, "n_init", self.n_init, "1 or more")?;
        let needed =
            8.0 * (n * (2 * r + 2 * (k + 1)) + 3 * p * p + 2 * p * samples.width_at_most()) as f64;
        check_memory("lsc", needed, n, run)?;
        let preparation = Preparation { scale: self.scale, may_move: true, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| self.work(job, p, r.min(p)))
    }
}

impl Lsc {
    fn work(&self, job: &mut Job<'_>, p: usize, r: usize) -> Result<Vec<u32>, Error> {
        let k = job.k;
        let landmarks = job.time(Stage::Anchors, |job| self.landmarks(job, p))?;
        let links = job.time(Stage::Graph, |job| links(job, landmarks, r, self.sigma))?;
        let embedding = job.time(Stage::Spectrum, |job| embed(job, &links))?;
        let width = embedding.len() / job.n;
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::lite(100, self.n_init);
            cluster_points(&embedding, width, k, flavour, job.stream, job.context)
        })
    }

    /// p × d.
    fn landmarks(&self, job: &Job<'_>, p: usize) -> Result<Vec<f64>, Error> {
        let iterations = if self.landmarks == Landmarks::KMeans { 5 } else { 0 };
        let stream = job.stream.named("landmarks");
        centers(job.table, p, Flavour::lite(iterations, 1), stream, job.context, Stage::Anchors)
    }
}

/// Gaussian links to the r nearest landmarks, rows summing to one, columns over the roots of their sums.
fn links(job: &Job<'_>, landmarks: Vec<f64>, r: usize, width: Width) -> Result<Graph, Error> {
    let table: &Table<'_> = job.table;
    let points = table.points(landmarks);
    let (mut links, mean) = nearest_landmarks(table, &points, r, job.context)?;
    let sigma = match width {
        Width::Squared => mean,
        Width::Distance => mean.sqrt(),
    };
    weigh(&mut links, sigma);
    let scale: Vec<f64> = column_sums(&links).iter().map(|s| 1.0 / s.max(1e-12).sqrt()).collect();
    let Graph { columns, values, .. } = &mut links;
    columns.iter().zip(values).for_each(|(&c, v)| *v *= scale[c as usize]);
    Ok(links)
}

/// The trivial right singular vector: Z'1, of unit length.
fn trivial_of(links: &Graph) -> Vec<f64> {
    let mut trivial = column_sums(links);
    let norm = trivial.iter().map(|v| v * v).sum::<f64>().sqrt();
    trivial.iter_mut().for_each(|v| *v /= norm.max(f64::MIN_POSITIVE));
    trivial
}

/// Squared distances to Gaussian weights that sum to one in every row.
fn weigh(links: &mut Graph, sigma: f64) {
    for i in 0..links.n_rows() {
        let range = links.offsets[i]..links.offsets[i + 1];
        let row = &mut links.values[range];
        // The nearest first: its weight is the largest, and the same factor cancels in the row's sum.
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = |d: f64| {
            if sigma > 0.0 { (-(d - least) / (2.0 * sigma * sigma)).exp() } else { 1.0 }
        };
        row.iter_mut().for_each(|d| *d = weight(*d));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|w| *w /= sum);
    }
}

/// Left singular vectors but for the first, with unit rows.
fn embed(job: &Job<'_>, links: &Graph) -> Result<Vec<f64>, Error> {
    let stream = job.stream.named("spectrum");
    let (values, mut vectors) = right_singular(links, job.k + 1, stream, job.context)?;
    let width = values.len();
    let trivial = trivial_of(links);
    let block = values.iter().filter(|&&v| v > 1.0 - REPEATED).count();
    trivial_first(&mut vectors, width, block, &trivial);
    let usable = values.iter().filter(|&&v| v > NOISE * values[0]).count().max(2).min(width);
    for row in vectors.chunks_exact_mut(width) {
        row.iter_mut().zip(&values).for_each(|(v, s)| *v /= s.max(f64::MIN_POSITIVE));
    }
    let left = times(links, &vectors, width, job.context)?;
    let kept: Vec<f64> = left.chunks_exact(width).flat_map(|row| row[..usable].to_vec()).collect();
    let mut embedding = columns_from(&kept, usable, 1.min(usable - 1));
    unit_rows(&mut embedding, (usable - 1).max(1));
    Ok(embedding)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{near, subset, with_job};

    /// Rows 0, 7, 14, ... as landmarks.
    pub(crate) fn every_seventh(job: &Job<'_>) -> Vec<f64> {
        let mut row = vec![0.0; job.d];
        (0..job.n)
            .step_by(7)
            .flat_map(|i| {
                job.table.row(i, &mut row);
                row.clone()
            })
            .collect()
    }

    #[test]
    fn the_pieces_agree_with_the_reference() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let landmarks = every_seventh(job);
            let points = job.table.points(landmarks.clone());
            let (nearest, mean) = nearest_landmarks(job.table, &points, 5, job.context)?;
            assert!(near(mean, 29970.309955, 1e-9), "{mean}");
            assert_eq!(nearest.row(0).0, [0, 74, 19, 56, 82]);
            let mut weights = nearest.clone();
            weigh(&mut weights, mean);
            let expected = [0.20000034, 0.20000017, 0.2000001, 0.20000002, 0.19999937];
            let found = weights.row(0).1;
            assert!(found.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-7)), "{found:?}");
            let links = links(job, landmarks, 5, Width::Squared)?;
            let (values, _) = right_singular(&links, 12, job.stream, job.context)?;
            let expected = [
                1.0, 0.98962731, 0.98508175, 0.96897078, 0.96587296, 0.95138999, 0.94743252,
                0.92523573, 0.88015092, 0.87098779, 0.85417039, 0.84075416,
            ];
            assert!(values.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-6)), "{values:?}");
            Ok(())
        });
    }

    /// The published width is a squared distance, so the kernel sharpens when numbers shrink.
    #[test]
    fn the_kernel_depends_on_the_scale_as_published() {
        let values = obcut_core::random::Stream::new(1).values(300 * 4);
        let spread = |factor: f64, width: Width| {
            let values = values.iter().map(|v| v * factor).collect();
            let matrix = obcut::Matrix::Dense64 { values, n_rows: 300, n_cols: 4 };
            with_job(&matrix, 3, Scale::None, true, |job| {
                let points = job.table.points(every_seventh(job));
                let (mut nearest, mean) = nearest_landmarks(job.table, &points, 5, job.context)?;
                weigh(&mut nearest, if width == Width::Squared { mean } else { mean.sqrt() });
                let row = nearest.row(1).1;
                Ok(row[0] - row[4])
            })
        };
        assert!(spread(100.0, Width::Squared) < 1e-3);
        assert!(spread(0.01, Width::Squared) > 0.1);
        assert!(near(spread(100.0, Width::Distance), spread(0.01, Width::Distance), 1e-9));
    }
}
