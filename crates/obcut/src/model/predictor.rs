//! Labels for single rows.

use crate::graph::bipartite::GraphBuilder;
use crate::model::Model;
use crate::model::rule::{Labeller, RowScore, best};
use crate::model::spread::{JudgeWork, RowJudge, Seen};
use obcut_core::block::{BLOCK, Points, Scratch};
use obcut_core::error::{DataError, Error};
use obcut_core::kmeans::nearest_point;
use obcut_core::linalg::row::RowProduct;
use obcut_core::matrix::{DenseRef, Samples};
use obcut_core::normalize;
use obcut_core::table::Table;

/// Labels rows one at a time: what a model prepares for every call of [`Model::predict`] is prepared once, and no
/// threads are started. It may be shared by threads. The labels are those of `predict`, to the bit.
///
/// ```
/// use obcut::{OBCut, synthetic};
///
/// let blobs = synthetic::blobs(300, 2, 3, 0.05, 1);
/// let model = OBCut::new(3).fit(&blobs.matrix)?.into_model();
/// let predictor = model.predictor()?;
/// let label = predictor.label(&[0.5, 0.5])?;
/// assert_eq!(label, model.predict(&obcut::DenseRef::new(&[0.5, 0.5], 1, 2)?)?[0]);
/// # Ok::<(), obcut::Error>(())
/// ```
pub struct Predictor<'m> {
    model: &'m Model,
    points: Points,
    builder: Option<GraphBuilder>,
    /// Multiplies single rows with the anchors, where that gives the bits of a block.
    product: Option<RowProduct>,
    labeller: Labeller,
    judge: RowJudge<'m>,
}

impl<'m> Predictor<'m> {
    pub(super) fn new(model: &'m Model) -> Result<Self, Error> {
        let none = DenseRef::<f64>::new(&[], 0, model.width())?.into();
        let table = Table::new(none, &model.scaling);
        let points = table.points(model.prototypes.as_ref().unwrap_or(&model.anchors).clone());
        let builder = model.prototypes.is_none().then(|| model.builder(&points));
        let shape = (BLOCK, points.n, model.width());
        let product = builder.as_ref().and_then(|_| RowProduct::new(&points.values, shape));
        let judge = RowJudge::new(model, &table);
        Ok(Self { model, points, builder, product, labeller: model.rule.labeller(), judge })
    }

    /// The label of a row.
    ///
    /// # Errors
    /// When the number of features differs, or a value is not finite.
    pub fn label(&self, row: &[f64]) -> Result<u32, Error> {
        self.seen(row, |seen| best(seen.gains) as u32)
    }

    /// Label, second-best cluster, margin, confidence and outlier score of a row.
    ///
    /// # Errors
    /// As [`Self::label`].
    pub fn row(&self, row: &[f64]) -> Result<RowScore, Error> {
        self.seen(row, |seen| self.judge.score(seen, &mut JudgeWork::default()))
    }

    fn seen<R>(&self, row: &[f64], visit: impl FnOnce(&Seen<'_>) -> R) -> Result<R, Error> {
        let (found, expected) = (row.len(), self.model.n_features());
        if found != expected {
            return Err(DataError::Features { found, expected }.into());
        }
        let samples: Samples<'_> = DenseRef::new(row, 1, row.len())?.into();
        normalize::check_row_by_row(&samples)?;
        samples.with_columns_of(self.model.columns.as_ref(), |samples| self.visit(samples, visit))
    }

    /// Hands what is known of a row that was checked to `visit`.
    fn visit<R>(
        &self,
        samples: &Samples<'_>,
        visit: impl FnOnce(&Seen<'_>) -> R,
    ) -> Result<R, Error> {
        let table = Table::new(*samples, &self.model.scaling);
        let Some(builder) = &self.builder else {
            let gains = nearest_point(&table, 0, &self.points);
            return Ok(visit(&Seen { row: (&table, 0), links: (&[], &[]), gains: &gains }));
        };
        let graph = builder.build_one(&table, &self.points, self.product.as_ref());
        let mut gains = vec![0.0; self.model.n_clusters()];
        self.labeller.gains(graph.row(0), &mut gains);
        if !self.model.exceptions.is_empty() {
            self.model.except(table.key(0, &mut Scratch::default()), &mut gains);
        }
        Ok(visit(&Seen { row: (&table, 0), links: graph.row(0), gains: &gains }))
    }
}

impl std::fmt::Debug for Predictor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Predictor").field("n_features", &self.model.n_features()).finish()
    }
}
