//! Clustering rows: the decision whether a table is clustered whole or by a coreset, and the result.

use crate::clusterer::{Clusterer, Clustering, Run};
use crate::large::{self, LargeFit, Store};
use crate::model::Model;
use crate::model::rule::RowScore;
use crate::params::check::check;
use crate::params::{OBCut, Params};
use crate::records::Trace;
use crate::solver::{Solved, fit_whole};
use crate::source::RowSource;
use crate::warning::Warning;
use obcut_core::error::Error;
use obcut_core::matrix::{Rows, Samples};
use obcut_core::observer::Observer;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Cluster of every row; every cluster has a row.
    pub labels: Vec<u32>,
    /// Margin of every row over its second-best cluster, as [`Model::explain`] gives it.
    pub margins: Vec<f64>,
    /// How sure every label is, from 0 on the border of two clusters to 1 inside one.
    pub confidence: Vec<f64>,
    /// How outlying every row is: about 1 for usual ones, larger for others.
    pub outlier_scores: Vec<f64>,
    /// Whether every row is marked as noise; none is unless [`Params::noise`] asks for it.
    pub noise: Vec<bool>,
    /// Labels new rows, and repeats `labels` on the old ones.
    pub model: Model,
    /// Values, seconds, why it stopped.
    pub trace: Trace,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl Fit {
    /// The result of a table whose rows got these labels.
    pub fn of_rows(rows: &[RowScore], found: LargeFit) -> Self {
        let LargeFit { model, trace, warnings } = found;
        Self {
            labels: rows.iter().map(|row| row.label).collect(),
            margins: rows.iter().map(|row| row.margin).collect(),
            confidence: rows.iter().map(|row| row.confidence).collect(),
            outlier_scores: rows.iter().map(|row| row.outlier).collect(),
            noise: rows.iter().map(|row| row.noise).collect(),
            model,
            trace,
            warnings,
        }
    }

    /// Cluster of every row, -1 where it is marked as noise.
    pub fn labels_or_noise(&self) -> Vec<i32> {
        let label = |(&label, &noise): (&u32, &bool)| if noise { -1 } else { label as i32 };
        self.labels.iter().zip(&self.noise).map(label).collect()
    }
}

/// Clusters samples, with a weight for every row if given.
///
/// ```
/// use obcut::{Params, Silent, fit, synthetic};
///
/// let moons = synthetic::moons(500, 0.05, 1);
/// let samples = moons.matrix.samples()?;
/// let fit = fit(&samples, None, &Params::new(2), &Silent)?;
/// assert_eq!(fit.labels, fit.model.predict_with(&samples, 1, &Silent)?);
/// # Ok::<(), obcut::Error>(())
/// ```
///
/// # Errors
/// When a setting or the data cannot be used, or the observer cancels.
pub fn fit(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<Fit, Error> {
    check(params, (samples.n_rows(), samples.n_cols()), weights)?;
    // Entries given twice would be squared apart: they are added up first.
    samples.with_canonical(|samples| {
        let (rows, found) = if large::is_large(params, samples.n_rows(), samples.n_cols()) {
            large::fit_samples(samples, weights, params, observer)?
        } else {
            let Solved { rows, model, trace, notes } =
                fit_whole(samples, weights, None, params, observer)?;
            let warnings = notes.warnings(&model, &trace);
            (rows, LargeFit { model, trace, warnings })
        };
        Ok(Fit::of_rows(&rows, found))
    })
}

impl OBCut<'_> {
    /// Clusters rows.
    ///
    /// # Errors
    /// When a parameter or the data cannot be used, or the observer cancels.
    pub fn fit(&self, rows: &impl Rows) -> Result<Fit, Error> {
        fit(&rows.samples()?, self.weights, &self.params, self.observer)
    }
}

/// Clusters rows that are read piece by piece: the same bits as [`crate::fit`] gives for them in memory.
/// Labels go to the store. `saved` is a state that a store kept, to go on from.
///
/// A table that is not large (see [`large::is_large`]) is read whole.
///
/// # Errors
/// When a setting or the data cannot be used, rows cannot be read, the store fails, the state is of another
/// fit, or the observer cancels.
pub fn fit_rows(
    source: &dyn RowSource,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
    store: &dyn Store,
    saved: Option<&[u8]>,
) -> Result<LargeFit, Error> {
    let (n_rows, n_cols) = (source.n_rows(), source.n_cols());
    check(params, (n_rows, n_cols), weights)?;
    if large::is_large(params, n_rows, n_cols) {
        return large::fit_source(source, weights, params, observer, store, saved);
    }
    let all = source.read(0..n_rows)?;
    let Solved { rows, model, trace, notes } =
        fit_whole(&all.samples()?, weights, None, params, observer)?;
    store.rows(0, &rows)?;
    let warnings = notes.warnings(&model, &trace);
    Ok(LargeFit { model, trace, warnings })
}

impl Clusterer for Params {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        n_clusters: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let params = Self { n_clusters, seed: run.seed, threads: run.threads, ..self.clone() };
        let found = fit(samples, None, &params, observer)?;
        Ok(Clustering {
            n_clusters: found.model.n_clusters(),
            labels: found.labels,
            seconds: found.trace.seconds,
            warnings: found.warnings,
        })
    }
}
