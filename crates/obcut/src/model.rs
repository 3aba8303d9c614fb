//! The fitted model: labels for any rows, by the graph of the first anchors and the frozen cut.
//!
//! The paper has no prediction. Learned anchors drift away from the data, so the model keeps the
//! first ones; the rule is made from them at the final labels. Where a learning loop left training rows
//! with other labels than the rule gives, the model remembers those rows by their content.

mod file;
mod prediction;
mod predictor;
pub(crate) mod rule;
pub(crate) mod spread;

use crate::graph::bipartite::GraphBuilder;
use crate::graph::layout::GraphLayout;
use crate::model::rule::{DecisionRule, RowScore, best};
use crate::model::spread::{JudgeWork, RowJudge, Seen, Spread};
use crate::params::{Params, Scale};
use crate::records::Explanation;
use obcut_core::Graph;
use obcut_core::block::{Points, Scratch};
use obcut_core::error::{DataError, Error};
use obcut_core::kmeans::nearest_point;
use obcut_core::matrix::{Rows, Samples};
use obcut_core::normalize::{self, Scaling};
use obcut_core::observer::Silent;
use obcut_core::parallel::Context;
use obcut_core::stored_columns::StoredColumns;
use obcut_core::table::Table;

pub use prediction::{ClusterScores, Prediction};
pub use predictor::Predictor;

/// Everything that is needed to label new rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) params: Params,
    pub(crate) version: String,
    /// The columns that hold entries, where a sparse table has others. The model then sees those, and one more.
    pub(crate) columns: Option<StoredColumns>,
    pub(crate) scaling: Scaling,
    /// First anchors, M × d in the scaled space, one set after the other.
    pub(crate) anchors: Vec<f64>,
    pub(crate) layout: GraphLayout,
    /// Absolute ridge of the row problem.
    pub(crate) ridge: f64,
    pub(crate) rule: DecisionRule,
    /// Training rows that the learning loop put elsewhere than the rule would: their keys, ascending,
    /// and labels. Empty unless anchors or graph were learned.
    pub(crate) exceptions: Vec<(u64, u32)>,
    /// k points (scaled space) whose nearest one labels a row, where no cut keeps k clusters.
    pub(crate) prototypes: Option<Vec<f64>>,
    /// Weight of the training rows in every cluster. The rule keeps its own sizes: those of the
    /// labels that it was made from.
    pub(crate) sizes: Vec<f64>,
    pub(crate) objective: Option<f64>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) explanation: Explanation,
    /// What is usual among the fitted rows.
    pub(crate) spread: Spread,
}

/// Figures of a model, see [`Model::info`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo<'m> {
    /// Version of the program that fitted the model.
    pub version: &'m str,
    /// The graph in use: the kinds of its links, joined by a plus.
    pub graph: String,
    /// The scaling in use; never `Auto`.
    pub scale: Scale,
    /// Number of anchors over all sets.
    pub n_anchors: usize,
    /// Number of anchor sets.
    pub n_anchor_sets: usize,
    /// Number of columns of [`Prediction::graph`]. A union of two graphs has a column for every kind of link
    /// to an anchor, so they may be more than the anchors.
    pub n_columns: usize,
    /// Weight of the training rows in every cluster.
    pub cluster_sizes: &'m [f64],
    /// Cluster of every anchor: the one that an edge to it speaks for most.
    pub anchor_labels: Vec<u32>,
    /// Cluster of every column of [`Prediction::graph`].
    pub column_labels: Vec<u32>,
    /// Last value of the objective, if the learning loop ran.
    pub objective: Option<f64>,
    /// The outlier score above which a row is noise, if the fit was asked to mark such rows.
    pub noise_threshold: Option<f64>,
}

/// Bytes of anchors that are laid out at most.
const ANCHOR_BYTES: u64 = 4 << 30;

/// The score of a row that was not looked at.
pub(crate) const NO_SCORE: RowScore =
    RowScore { label: 0, second: 0, margin: 0.0, confidence: 0.0, outlier: 0.0, noise: false };

impl Model {
    /// Figures of the model, with the choices that a fit made itself.
    pub fn info(&self) -> ModelInfo<'_> {
        ModelInfo {
            version: &self.version,
            graph: self.layout.name(),
            scale: self.scaling.kind,
            n_anchors: self.n_anchors(),
            n_anchor_sets: self.layout.n_sets(),
            n_columns: self.n_columns(),
            cluster_sizes: &self.sizes,
            anchor_labels: self.anchor_labels(),
            column_labels: column_labels(&self.rule),
            objective: self.objective,
            noise_threshold: self.spread.threshold,
        }
    }

    /// Settings of the fit.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Number of features a row must have.
    pub fn n_features(&self) -> usize {
        self.columns.as_ref().map_or(self.width(), StoredColumns::n_cols)
    }

    /// Number of columns that the model sees.
    pub(crate) fn width(&self) -> usize {
        self.scaling.shift.len()
    }

    /// Number of clusters.
    pub fn n_clusters(&self) -> usize {
        self.rule.n_clusters
    }

    /// Number of anchors over all sets.
    pub(crate) fn n_anchors(&self) -> usize {
        self.anchors.len() / self.width()
    }

    /// Number of columns of the graph.
    pub(crate) fn n_columns(&self) -> usize {
        self.rule.anchor_weights.len()
    }

    /// Names of the features, empty when they have none.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// What the fit found: its clusters, what was tried, and how the numbers of clusters scored.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Names the features.
    pub fn set_feature_names(&mut self, names: Vec<String>) {
        self.feature_names = names;
    }

    /// Anchors in the units of the data, M × d row-major.
    ///
    /// # Errors
    /// When a sparse table has so many columns without entries that the anchors would take more than 4 GiB.
    pub fn anchors(&self) -> Result<Vec<f64>, Error> {
        let mut anchors = self.anchors.clone();
        self.scaling.undo(&mut anchors);
        match &self.columns {
            Some(columns) => columns.unfold(&anchors, ANCHOR_BYTES),
            None => Ok(anchors),
        }
    }

    /// Tells a model of a folded table of the columns of the table itself.
    pub(crate) fn unfold(&mut self, columns: StoredColumns) {
        for cluster in &mut self.explanation.clusters {
            for feature in &mut cluster.features {
                feature.index = columns.stored().get(feature.index).copied().unwrap_or_default();
            }
        }
        self.columns = Some(columns);
    }

    /// Cluster of every anchor: the one that an edge to it speaks for most.
    pub(crate) fn anchor_labels(&self) -> Vec<u32> {
        self.anchor_votes()
            .chunks_exact(self.n_clusters())
            .map(|votes| best(votes) as u32)
            .collect()
    }

    /// What edges to every anchor speak for, M × k.
    pub(crate) fn anchor_votes(&self) -> Vec<f64> {
        let k = self.n_clusters();
        let gains = column_gains(&self.rule);
        let mut sums = vec![0.0; self.n_anchors() * k];
        for (gains, a) in gains.chunks_exact(k).zip(self.layout.anchor_of_column()) {
            let sums = &mut sums[a as usize * k..(a as usize + 1) * k];
            sums.iter_mut().zip(gains).for_each(|(s, g)| *s += g);
        }
        sums
    }

    /// Label of every row, on all cores.
    ///
    /// ```
    /// use obcut::{DenseRef, OBCut};
    ///
    /// let values = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2];
    /// let fit = OBCut::new(2).fit(&DenseRef::new(&values, 6, 1)?)?;
    /// let new = DenseRef::new(&[0.15, 5.15], 2, 1)?;
    /// assert_eq!(fit.model().predict(&new)?, [fit.labels()[0], fit.labels()[5]]);
    /// # Ok::<(), obcut::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the number of features differs, or a value is not finite.
    pub fn predict(&self, rows: &impl Rows) -> Result<Vec<u32>, Error> {
        self.on(rows)?.labels()
    }

    /// What labels single rows: prepared once, without threads.
    ///
    /// # Errors
    /// When the model cannot be prepared.
    pub fn predictor(&self) -> Result<Predictor<'_>, Error> {
        Predictor::new(self)
    }

    /// All that the model can say of rows, with options.
    ///
    /// # Errors
    /// When the rows cannot be viewed.
    pub fn on<'a>(&'a self, rows: &'a impl Rows) -> Result<Prediction<'a>, Error> {
        let samples = rows.samples()?;
        Ok(Prediction { model: self, samples, threads: 0, observer: &Silent })
    }

    /// Whether a row with this outlier score is noise.
    pub(crate) fn is_noise(&self, outlier_score: f64) -> bool {
        self.spread.threshold.is_some_and(|threshold| outlier_score > threshold)
    }

    /// The labels and figures of the rows of a table that is checked and scaled.
    pub(crate) fn explain_table(
        &self,
        table: &Table<'_>,
        context: &Context<'_>,
    ) -> Result<Vec<RowScore>, Error> {
        let mut rows = vec![NO_SCORE; table.n()];
        let judge = RowJudge::new(self, table);
        self.visit_table(table, context, &mut rows, 1, |seen, work, out| {
            out[0] = judge.score(seen, work);
        })?;
        Ok(rows)
    }

    /// All figures of rows whose part of the graph is known, with their keys.
    pub(crate) fn score_rows(
        &self,
        graph: &Graph,
        (table, keys): (&Table<'_>, &[u64]),
        context: &Context<'_>,
    ) -> Result<Vec<RowScore>, Error> {
        if self.prototypes.is_some() {
            return self.explain_table(table, context);
        }
        let (judge, labeller) = (RowJudge::new(self, table), self.rule.labeller());
        let mut rows = vec![NO_SCORE; graph.n_rows()];
        context.map_into(graph.n_rows(), &mut rows, 1, |range, out| {
            let (mut gains, mut work) = (vec![0.0; self.n_clusters()], JudgeWork::default());
            for (i, out) in range.zip(out) {
                labeller.gains(graph.row(i), &mut gains);
                self.except(keys[i], &mut gains);
                let seen = Seen { row: (table, i), links: graph.row(i), gains: &gains };
                *out = judge.score(&seen, &mut work);
            }
        })?;
        Ok(rows)
    }

    /// What margins are measured in.
    pub(crate) fn unit(&self) -> f64 {
        (self.rule.sizes.iter().sum::<f64>() / self.n_clusters() as f64).sqrt()
    }

    /// Brings all weights back to the unit in which they were given.
    pub(crate) fn scale_weights(&mut self, unit: f64) {
        self.sizes.iter_mut().for_each(|size| *size *= unit);
        self.explanation.clusters.iter_mut().for_each(|cluster| cluster.weight *= unit);
    }

    pub(crate) fn builder(&self, points: &Points) -> GraphBuilder {
        GraphBuilder::new(&self.params, &self.layout, points, self.ridge)
    }

    pub(crate) fn check(&self, samples: &Samples<'_>, context: &Context<'_>) -> Result<(), Error> {
        let (found, expected) = (samples.n_cols(), self.n_features());
        if found != expected {
            return Err(DataError::Features { found, expected }.into());
        }
        normalize::check_finite(samples, context)
    }

    /// Hands what is known of every row of a table to `visit`, with the row's part of `out`. The table is checked and
    /// scaled.
    pub(crate) fn visit_table<T: Send>(
        &self,
        table: &Table<'_>,
        context: &Context<'_>,
        out: &mut [T],
        stride: usize,
        visit: impl Fn(&Seen<'_>, &mut JudgeWork, &mut [T]) + Sync,
    ) -> Result<(), Error> {
        let k = self.n_clusters();
        if let Some(prototypes) = &self.prototypes {
            let points = table.points(prototypes.clone());
            context.map_into(table.n(), out, stride, |range, out| {
                let mut work = JudgeWork::default();
                for (i, out) in range.zip(out.chunks_exact_mut(stride)) {
                    let gains = nearest_point(table, i, &points);
                    visit(
                        &Seen { row: (table, i), links: (&[], &[]), gains: &gains },
                        &mut work,
                        out,
                    );
                }
            })?;
            return Ok(());
        }
        let points = table.points(self.anchors.clone());
        let builder = self.builder(&points);
        let labeller = self.rule.labeller();
        context.map_into(table.n(), out, stride, |range, out| {
            let part = builder.build_range(table, &points, range.clone());
            let (mut gains, mut scratch) = (vec![0.0; k], Scratch::default());
            let mut work = JudgeWork::default();
            for (i, out) in out.chunks_exact_mut(stride).enumerate() {
                labeller.gains(part.row(i), &mut gains);
                if !self.exceptions.is_empty() {
                    self.except(table.key(range.start + i, &mut scratch), &mut gains);
                }
                let row = (table, range.start + i);
                visit(&Seen { row, links: part.row(i), gains: &gains }, &mut work, out);
            }
        })?;
        Ok(())
    }

    /// Gives the largest gain to the cluster that a training row was put into.
    pub(crate) fn except(&self, key: u64, gains: &mut [f64]) {
        if let Ok(at) = self.exceptions.binary_search_by_key(&key, |e| e.0) {
            let (label, first) = (self.exceptions[at].1 as usize, best(gains));
            gains.swap(label, first);
            gains[label] = gains[label].next_up();
        }
    }
}

/// Cluster of every column of the graph: the largest gain that an edge to it brings.
pub(crate) fn column_labels(rule: &DecisionRule) -> Vec<u32> {
    column_gains(rule).chunks_exact(rule.n_clusters).map(|gains| best(gains) as u32).collect()
}

/// What an edge to a column gains for every cluster: H over the root of the cluster's size.
fn column_gains(rule: &DecisionRule) -> Vec<f64> {
    let slope: Vec<f64> =
        rule.sizes.iter().map(|&n| if n > 0.0 { 1.0 / n.sqrt() } else { 0.0 }).collect();
    (rule.embedding.chunks_exact(rule.n_clusters))
        .flat_map(|row| row.iter().zip(&slope).map(|(h, s)| h * s))
        .collect()
}
