//! What a model says of rows, with the options of a run.

use crate::model::rule::{RowScore, best};
use crate::model::spread::{JudgeWork, RowJudge, Seen};
use crate::model::{Model, NO_SCORE};
use crate::params::check::check_weights;
use crate::score::score;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::matrix::Samples;
use obcut_core::observer::Observer;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// A figure of every cluster for every row.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterScores {
    /// Number of clusters, k.
    pub n_clusters: usize,
    /// N × k, row-major.
    pub values: Vec<f64>,
}

/// Rows and a model that labels them. [`Model::on`] makes one.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use obcut::{OBCut, synthetic};
///
/// let blobs = synthetic::blobs(300, 4, 3, 0.05, 1);
/// let fit = OBCut::new(3).fit(&blobs.matrix)?;
/// let cancel = AtomicBool::new(false);
/// let rows = fit.model().on(&blobs.matrix)?.threads(2).observer(&cancel).rows()?;
/// assert!(rows.iter().all(|row| row.confidence > 0.5));
/// # Ok::<(), obcut::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Prediction<'a> {
    pub(crate) model: &'a Model,
    pub(crate) samples: Samples<'a>,
    pub(crate) threads: usize,
    pub(crate) observer: &'a dyn Observer,
}

impl<'a> Prediction<'a> {
    /// Number of threads; 0, the default, uses all cores.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Follows the progress, and may cancel.
    #[must_use]
    pub fn observer(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }

    /// Label of every row.
    ///
    /// # Errors
    /// When the number of features differs, a value is not finite, or the observer cancels.
    pub fn labels(&self) -> Result<Vec<u32>, Error> {
        let label = |seen: &Seen<'_>, (): &(), _: &mut JudgeWork, out: &mut [u32]| {
            out[0] = best(seen.gains) as u32;
        };
        self.visit(0, 1, |_| (), label)
    }

    /// Label of every row, -1 where its outlier score is above the threshold of the model.
    ///
    /// # Errors
    /// As [`Self::labels`].
    #[cfg(feature = "front-ends")]
    pub fn labels_or_noise(&self) -> Result<Vec<i32>, Error> {
        if self.model.spread.threshold.is_none() {
            return Ok(self.labels()?.into_iter().map(|label| label as i32).collect());
        }
        Ok(self.rows()?.iter().map(RowScore::label_or_noise).collect())
    }

    /// Label, second-best cluster, margin, confidence and outlier score of every row, and whether it is noise.
    ///
    /// # Errors
    /// As [`Self::labels`].
    pub fn rows(&self) -> Result<Vec<RowScore>, Error> {
        let judge = |table: &Table<'_>| RowJudge::new(self.model, table);
        self.visit(NO_SCORE, 1, judge, |seen, judge, work, out| out[0] = judge.score(seen, work))
    }

    /// Probability of every cluster for every row: they sum to one, and the label has the largest. Inside a
    /// cluster they are the row's shares of the votes; far from all clusters they are close to 1/k.
    ///
    /// # Errors
    /// As [`Self::labels`].
    pub fn probabilities(&self) -> Result<ClusterScores, Error> {
        let judge = |table: &Table<'_>| RowJudge::new(self.model, table);
        let n_clusters = self.model.n_clusters();
        let values = self.visit(0.0, n_clusters, judge, |seen, judge, work, out| {
            judge.probabilities(seen, work, out);
        })?;
        Ok(ClusterScores { n_clusters, values })
    }

    /// Rows of the graph B: links to the anchors, weights that sum to one.
    ///
    /// # Errors
    /// As [`Self::labels`].
    pub fn graph(&self) -> Result<Graph, Error> {
        let context = Context::new(self.threads, self.observer)?;
        self.model.check(&self.samples, &context)?;
        self.samples.with_columns_of(self.model.columns.as_ref(), |samples| {
            let table = Table::new(*samples, &self.model.scaling);
            let points = table.points(self.model.anchors.clone());
            self.model.builder(&points).build(&table, &points, &context)
        })
    }

    /// The label-free score of the rows, between 0 and 1: the mean chance that a step from a row to an anchor
    /// and back ends in the cluster it began in, times the entropy of the cluster sizes over its
    /// largest value. With weights, if given.
    ///
    /// # Errors
    /// As [`Self::labels`], and when the weights cannot be used.
    pub fn score(&self, weights: Option<&[f64]>) -> Result<f64, Error> {
        check_weights(weights, self.samples.n_rows())?;
        let (labels, graph) = (self.labels()?, self.graph()?);
        let ones = vec![1.0; if weights.is_none() { labels.len() } else { 0 }];
        Ok(score(&graph, &labels, weights.unwrap_or(&ones), self.model.n_clusters()))
    }

    /// Hands what is known of every row to `visit`, with what `ready` made for the table and the row's
    /// `stride` values of the result.
    fn visit<T: Clone + Send, R: Sync>(
        &self,
        empty: T,
        stride: usize,
        ready: impl Fn(&Table<'_>) -> R,
        visit: impl Fn(&Seen<'_>, &R, &mut JudgeWork, &mut [T]) + Sync,
    ) -> Result<Vec<T>, Error> {
        let mut out = vec![empty; self.samples.n_rows() * stride];
        let context = Context::new(self.threads, self.observer)?;
        self.model.check(&self.samples, &context)?;
        if !out.is_empty() {
            self.samples.with_columns_of(self.model.columns.as_ref(), |samples| {
                let table = Table::new(*samples, &self.model.scaling);
                let ready = ready(&table);
                self.model.visit_table(&table, &context, &mut out, stride, |seen, work, out| {
                    visit(seen, &ready, work, out);
                })
            })?;
        }
        Ok(out)
    }
}

impl std::fmt::Debug for Prediction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shape = (self.samples.n_rows(), self.samples.n_cols());
        f.debug_struct("Prediction").field("shape", &shape).field("threads", &self.threads).finish()
    }
}
