//! A round: all rows are labeled by the rule, and what the next rule is made of is added up.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::task::{Piece, add};
use crate::describe::clusters::FeatureMoments;
use crate::graph::bipartite::GraphBuilder;
use crate::model::Model;
use crate::model::rule::{DecisionRule, Labeller, RowScore, best};
use crate::model::spread::{JudgeWork, RowJudge, Seen};
use crate::score;
use obcut_core::Graph;
use obcut_core::block::{Points, Scratch};
use obcut_core::kmeans::nearest_point;
use obcut_core::linalg::gemm::Real;
use obcut_core::linalg::simd::vectorised;
use obcut_core::matrix::Samples;
use obcut_core::normalize::ColumnStatistics;
use obcut_core::sums::{STRETCH, SumGrid};
use obcut_core::table::Table;

/// What a round needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelPassTask {
    /// The model with the rule of this round.
    pub model: Model,
    pub scope: Scope,
}

/// What all rounds share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scope {
    pub grid: SumGrid,
    /// The largest weight, and the power of two near the mean that weights are measured in.
    pub largest_weight: f64,
    pub unit: f64,
    /// Middle and range of every feature.
    pub middle: Vec<f64>,
    pub range: Vec<f64>,
}

/// What a round finds. The sums are on the grid, in units of the largest weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelPass {
    /// B'Y, M × k.
    links: Vec<i64>,
    sizes: Vec<i64>,
    /// Rows of positive weight, and all rows.
    pub counts: Vec<u64>,
    rows: Vec<u64>,
    /// Sums of the features by cluster (k × d) and of their squares, in units of their ranges.
    sums: Vec<i64>,
    squares: Vec<i64>,
}

impl Scope {
    /// For the rows of a table. Sparse rows are seen from zero, so that zeros add nothing.
    pub fn new(
        columns: &ColumnStatistics,
        sparse: bool,
        (largest_weight, unit): (f64, f64),
        n: usize,
    ) -> Self {
        let both = || columns.min.iter().zip(&columns.max);
        let (middle, range) = if sparse {
            (vec![0.0; columns.min.len()], both().map(|(a, b)| a.abs().max(b.abs())).collect())
        } else {
            let middle = both().map(|(a, b)| 0.5 * a + 0.5 * b).collect();
            (middle, both().map(|(a, b)| b - a).collect())
        };
        Self { grid: SumGrid::new(n), largest_weight, unit, middle, range }
    }
}

impl LabelPass {
    fn new(task: &LabelPassTask) -> Self {
        let (k, d, m) = (task.model.n_clusters(), task.model.width(), task.model.n_columns());
        Self {
            links: vec![0; m * k],
            sizes: vec![0; k],
            counts: vec![0; k],
            rows: vec![0; k],
            sums: vec![0; k * d],
            squares: vec![0; d],
        }
    }

    pub fn merge(&mut self, other: &Self) {
        add(&mut self.links, &other.links);
        add(&mut self.sizes, &other.sizes);
        add(&mut self.sums, &other.sums);
        add(&mut self.squares, &other.squares);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a += b);
    }

    pub fn has_empty(&self) -> bool {
        self.counts.contains(&0)
    }

    fn weights(&self, sums: &[i64], scope: &Scope) -> Vec<f64> {
        let scale = scope.largest_weight / scope.unit;
        sums.iter().map(|&sum| scope.grid.value(sum) * scale).collect()
    }

    /// The rule by the votes of all rows.
    pub fn rule(&self, task: &LabelPassTask) -> DecisionRule {
        DecisionRule::of_links(self.weights(&self.links, &task.scope), task.model.n_clusters())
    }

    /// Puts sizes and facts about the clusters into the model.
    pub fn describe(&self, task: &LabelPassTask, model: &mut Model) {
        let Scope { grid, largest_weight, unit, middle, range } = &task.scope;
        let (k, d) = (model.n_clusters(), model.width());
        let sizes = self.weights(&self.sizes, &task.scope);
        let links = self.weights(&self.links, &task.scope);
        let association = score::joined_associations(&links, &sizes);
        let natural = |(at, &sum): (usize, &i64), power: i32| {
            grid.value(sum) * largest_weight * range[at % d].powi(power)
        };
        let moments = FeatureMoments {
            d,
            origin: middle.clone(),
            weights: sizes.iter().map(|n| n * unit).collect(),
            sums: self.sums.iter().enumerate().map(|sum| natural(sum, 1)).collect(),
            squares: self.squares.iter().enumerate().map(|sum| natural(sum, 2)).collect(),
        };
        let rows: Vec<usize> = (0..k).map(|j| self.rows[j] as usize).collect();
        let mut clusters = moments.clusters(&rows, &association);
        // The stability is that of the core.
        for (new, old) in clusters.iter_mut().zip(&model.explanation.clusters) {
            new.stability = old.stability;
        }
        model.explanation.clusters = clusters;
        model.sizes = moments.weights;
    }
}

/// A model prepared to label rows of one kind.
pub(crate) struct PassLabels<'m> {
    model: &'m Model,
    points: Points,
    builder: GraphBuilder,
    labeller: Labeller,
    /// Points whose nearest one labels a row, where the model has such.
    prototypes: Option<Points>,
    judge: RowJudge<'m>,
}

impl<'m> PassLabels<'m> {
    pub fn new(model: &'m Model, like: &Samples<'_>) -> Self {
        let table = Table::new(*like, &model.scaling);
        let points = table.points(model.anchors.clone());
        Self {
            model,
            builder: model.builder(&points),
            points,
            labeller: model.rule.labeller(),
            prototypes: model.prototypes.clone().map(|values| table.points(values)),
            judge: RowJudge::new(model, &table),
        }
    }

    /// Links of some rows.
    fn links(&self, table: &Table<'_>, rows: Range<usize>) -> Graph {
        self.builder.build_range(table, &self.points, rows)
    }

    /// Gains of a row, from its links.
    #[inline(always)]
    fn gains(
        &self,
        (table, i): (&Table<'_>, usize),
        links: (&[u32], &[f64]),
        gains: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) {
        match &self.prototypes {
            Some(points) => *gains = nearest_point(table, i, points),
            None => self.labeller.gains(links, gains),
        }
        if !self.model.exceptions.is_empty() {
            self.model.except(table.key(i, scratch), gains);
        }
    }

    /// All figures of the rows of a piece.
    pub fn of(&self, piece: &Piece<'_>) -> Vec<RowScore> {
        let table = Table::new(piece.samples, &self.model.scaling);
        let (mut gains, mut scratch) = (vec![0.0; self.model.n_clusters()], Scratch::default());
        let mut work = JudgeWork::default();
        let mut rows = Vec::with_capacity(piece.range.len());
        for stretch in piece.stretches(STRETCH) {
            let graph = self.links(&table, stretch.clone());
            vectorised(
                #[inline(always)]
                || {
                    for (r, i) in stretch.enumerate() {
                        let (row, links) = ((&table, i), graph.row(r));
                        self.gains(row, links, &mut gains, &mut scratch);
                        rows.push(self.judge.score(&Seen { row, links, gains: &gains }, &mut work));
                    }
                },
            );
        }
        rows
    }
}

/// A pass prepared for rows of one kind.
pub(crate) struct RoundReady<'t> {
    task: &'t LabelPassTask,
    labels: PassLabels<'t>,
}

/// Sums of a stretch of rows.
struct Stretch {
    links: Vec<f64>,
    sizes: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl LabelPassTask {
    pub fn ready<'t>(&'t self, like: &Samples<'_>) -> RoundReady<'t> {
        RoundReady { task: self, labels: PassLabels::new(&self.model, like) }
    }
}

impl RoundReady<'_> {
    pub fn run(&self, piece: &Piece<'_>, mut rows: Option<&mut Vec<RowScore>>) -> LabelPass {
        let LabelPassTask { model, scope, .. } = self.task;
        let table = Table::new(piece.samples, &model.scaling);
        let mut round = LabelPass::new(self.task);
        let mut sums = Stretch {
            links: vec![0.0; round.links.len()],
            sizes: vec![0.0; round.sizes.len()],
            sums: vec![0.0; round.sums.len()],
            squares: vec![0.0; round.squares.len()],
        };
        for stretch in piece.stretches(STRETCH) {
            let graph = self.labels.links(&table, stretch.clone());
            self.label(
                &table,
                piece,
                (stretch, &graph),
                &mut round,
                &mut sums,
                rows.as_deref_mut(),
            );
            for (from, to) in [
                (&mut sums.links, &mut round.links),
                (&mut sums.sizes, &mut round.sizes),
                (&mut sums.sums, &mut round.sums),
                (&mut sums.squares, &mut round.squares),
            ] {
                scope.grid.take(from, to);
                from.fill(0.0);
            }
        }
        round
    }

    fn label(
        &self,
        table: &Table<'_>,
        piece: &Piece<'_>,
        (stretch, graph): (Range<usize>, &Graph),
        round: &mut LabelPass,
        sums: &mut Stretch,
        mut rows: Option<&mut Vec<RowScore>>,
    ) {
        let LabelPassTask { model, scope, .. } = self.task;
        let (k, d, grid) = (model.n_clusters(), model.width(), scope.grid);
        let inverse: Vec<f64> =
            scope.range.iter().map(|&r| if r.is_normal() { 1.0 / r } else { 0.0 }).collect();
        let mut gains = vec![0.0; k];
        let (mut scratch, mut work) = (Scratch::default(), JudgeWork::default());
        vectorised(
            #[inline(always)]
            || {
                for (r, i) in stretch.enumerate() {
                    let links = graph.row(r);
                    self.labels.gains((table, i), links, &mut gains, &mut scratch);
                    let (j, w) = (best(&gains), piece.weight(i));
                    round.rows[j] += 1;
                    if let Some(rows) = &mut rows {
                        let seen = Seen { row: (table, i), links, gains: &gains };
                        rows.push(self.labels.judge.score(&seen, &mut work));
                    }
                    if w <= 0.0 {
                        continue;
                    }
                    round.counts[j] += 1;
                    let w = w / scope.largest_weight;
                    sums.sizes[j] += grid.round(w);
                    for (&m, v) in links.0.iter().zip(links.1) {
                        sums.links[m as usize * k + j] += grid.round(w * v);
                    }
                    let to = (&mut sums.sums[j * d..(j + 1) * d], &mut sums.squares[..]);
                    match &piece.samples {
                        Samples::Dense32(x) => add_row(x.row(i), scope, &inverse, w, to),
                        Samples::Dense64(x) => add_row(x.row(i), scope, &inverse, w, to),
                        sparse => add_stored(sparse, i, grid, &inverse, w, to),
                    }
                }
            },
        );
    }
}

/// Adds a row, seen from the middle and in units of the ranges.
#[inline(always)]
fn add_row<T: Real>(
    x: &[T],
    scope: &Scope,
    inverse: &[f64],
    w: f64,
    (sums, squares): (&mut [f64], &mut [f64]),
) {
    let grid = scope.grid;
    for ((((x, middle), inverse), sum), square) in
        x.iter().zip(&scope.middle).zip(inverse).zip(sums).zip(squares)
    {
        let v = (x.to_f64() - middle) * inverse;
        *sum += grid.round(w * v);
        *square += grid.round(w * v * v);
    }
}

/// The same for a sparse row.
fn add_stored(
    x: &Samples<'_>,
    i: usize,
    grid: SumGrid,
    inverse: &[f64],
    w: f64,
    (sums, squares): (&mut [f64], &mut [f64]),
) {
    x.each(i, |f, v| {
        let v = v * inverse[f];
        sums[f] += grid.round(w * v);
        squares[f] += grid.round(w * v * v);
    });
}
