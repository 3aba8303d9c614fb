//! Clustering rows: the decision whether a table is clustered whole or by a coreset, and the result.

use crate::clusterer::{Clusterer, Clustering, Run};
use crate::large::{self, LargeFit, Store};
use crate::model::Model;
use crate::model::rule::RowScore;
use crate::params::check::check;
use crate::params::{OBCut, Params};
use crate::records::Trace;
use crate::solver::{Solved, fit_whole};
use crate::source::{self, RowSource};
use crate::warning::Warning;
use obcut_core::error::Error;
use obcut_core::matrix::{Rows, Samples};
use obcut_core::observer::Observer;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    rows: Vec<RowScore>,
    model: Model,
    trace: Trace,
    warnings: Vec<Warning>,
}

impl Fit {
    /// The same fit with these rows, for those who kept them in a store of their own.
    #[must_use]
    pub fn with_rows(self, rows: Vec<RowScore>) -> Self {
        Self { rows, ..self }
    }

    /// Label, second-best cluster, margin, confidence and outlier score of every row. Empty when they went to
    /// a [`Store`].
    pub fn rows(&self) -> &[RowScore] {
        &self.rows
    }

    /// Cluster of every row; every cluster has a row.
    pub fn labels(&self) -> Vec<u32> {
        self.rows.iter().map(|row| row.label).collect()
    }

    /// Cluster of every row, -1 where it is marked as noise. None is unless [`Params::noise`] asks for it.
    pub fn labels_or_noise(&self) -> Vec<i32> {
        self.rows.iter().map(RowScore::label_or_noise).collect()
    }

    /// Labels new rows, and repeats the labels of the fit on the old ones.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, to name its features.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// The model alone.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// Values and seconds of the fit, and why it stopped.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What a user should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// The rows of a large table are not kept.
impl From<LargeFit> for Fit {
    fn from(found: LargeFit) -> Self {
        let LargeFit { model, trace, warnings } = found;
        Self { rows: Vec::new(), model, trace, warnings }
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
/// assert_eq!(fit.labels(), fit.model().predict(&samples)?);
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
    // Given anchors have a value in every column.
    if params.anchors.is_some() {
        return samples.with_canonical(|samples| fit_folded(samples, weights, params, observer));
    }
    samples.with_stored_columns(weights, |samples, columns| {
        let mut fit = fit_folded(samples, weights, params, observer)?;
        if let Some(columns) = columns {
            fit.model.unfold(columns.clone());
        }
        Ok(fit)
    })
}

/// Clusters rows that were checked, and whose empty columns were folded into one.
fn fit_folded(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<Fit, Error> {
    if large::is_large(params, samples.n_rows(), samples.n_cols()) {
        let (rows, found) = large::fit_samples(samples, weights, params, observer)?;
        return Ok(Fit { rows, ..found.into() });
    }
    let Solved { rows, model, trace, notes } = fit_whole(samples, weights, None, params, observer)?;
    let warnings = notes.warnings(&model, &trace);
    Ok(Fit { rows, model, trace, warnings })
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
/// Labels go to the store. `saved` is a state that a store kept; the fit continues from it.
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
) -> Result<Fit, Error> {
    let (n_rows, n_cols) = (source.n_rows(), source.n_cols());
    check(params, (n_rows, n_cols), weights)?;
    if large::is_large(params, n_rows, n_cols) {
        return Ok(large::fit_source(source, weights, params, observer, store, saved)?.into());
    }
    let all = source::read(source, 0..n_rows)?;
    source.check_unchanged()?;
    let Solved { rows, model, trace, notes } =
        fit_whole(&all.samples()?, weights, None, params, observer)?;
    store.rows(0, &rows)?;
    let warnings = notes.warnings(&model, &trace);
    Ok(Fit { rows: Vec::new(), model, trace, warnings })
}

impl From<Fit> for Clustering {
    fn from(fit: Fit) -> Self {
        let (labels, n_clusters) = (fit.labels(), fit.model.n_clusters());
        Self { labels, n_clusters, seconds: fit.trace.seconds, warnings: fit.warnings }
    }
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
        Ok(fit(samples, None, &params, observer)?.into())
    }
}
