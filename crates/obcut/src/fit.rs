//! Clustering rows: the decision whether a table is clustered whole or by a coreset, and the result.

use crate::large::{self, InMemory, Store, StoredFit};
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
    stored: StoredFit,
}

impl Fit {
    /// Label, second-best cluster, margin, confidence and outlier score of every row.
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
        &self.stored.model
    }

    /// The model alone.
    pub fn into_model(self) -> Model {
        self.stored.model
    }

    /// Values and seconds of the fit, and why it stopped.
    pub fn trace(&self) -> &Trace {
        &self.stored.trace
    }

    /// What a user should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.stored.warnings
    }

    /// The rows, and everything else.
    pub fn into_parts(self) -> (Vec<RowScore>, StoredFit) {
        (self.rows, self.stored)
    }
}

impl From<Solved> for Fit {
    fn from(Solved { rows, model, trace, notes }: Solved) -> Self {
        let warnings = notes.warnings(&model, &trace);
        Self { rows, stored: StoredFit { model, trace, warnings } }
    }
}

/// Clusters samples, with a weight for every row if given.
pub(crate) fn fit(
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
            fit.stored.model.unfold(columns.clone());
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
        return Ok(Fit { rows, stored: found });
    }
    Ok(fit_whole(samples, weights, None, params, observer)?.into())
}

impl OBCut<'_> {
    /// Clusters rows.
    ///
    /// # Errors
    /// When a parameter or the data cannot be used, or the observer cancels.
    pub fn fit(&self, rows: &impl Rows) -> Result<Fit, Error> {
        fit(&rows.samples()?, self.weights, &self.params, self.observer)
    }

    /// Clusters rows that are read in batches: the same bits as [`OBCut::fit`] gives for them in memory.
    ///
    /// # Errors
    /// As [`OBCut::fit_into`].
    pub fn fit_source(&self, source: &dyn RowSource) -> Result<Fit, Error> {
        let store = InMemory::new(source.n_rows());
        let stored = self.fit_into(source, &store)?;
        Ok(Fit { rows: store.finish(), stored })
    }

    /// Clusters rows that are read in batches, and hands their labels to a store while it runs. It continues
    /// from the state that the store kept, if it has one ([`Store::saved`]).
    ///
    /// A table is read whole unless it is large: unless it has more than twice the rows of a coreset
    /// ([`Params::core_rows`]).
    ///
    /// # Errors
    /// When a parameter or the data cannot be used, rows cannot be read, the store fails, the state is of
    /// another fit, or the observer cancels.
    pub fn fit_into(&self, source: &dyn RowSource, store: &dyn Store) -> Result<StoredFit, Error> {
        let Self { params, weights, observer } = self;
        let (n_rows, n_cols) = (source.n_rows(), source.n_cols());
        check(params, (n_rows, n_cols), *weights)?;
        if large::is_large(params, n_rows, n_cols) {
            return large::fit_source(source, *weights, params, *observer, store);
        }
        let all = source::read(source, 0..n_rows)?;
        source.check_unchanged()?;
        let found = fit_whole(&all.samples()?, *weights, None, params, *observer)?;
        store.rows(0, &found.rows)?;
        Ok(Fit::from(found).stored)
    }
}
