//! One restart: anchors, graph, start, cut and learning.

use serde::{Deserialize, Serialize};

use crate::graph::bipartite::GraphBuilder;
use crate::graph::kinds;
use crate::graph::layout::GraphLayout;
use crate::params::{Formulation, Init, LambdaScale, Learn, Params, SweepOrder};
use crate::records::Trace;
use crate::score::{association, score};
use crate::solver::init;
use crate::solver::learn::{Loop, LoopState};
use crate::solver::plan::{AnchorCandidate, AnchorSets, CandidateKind, Plan, Start};
use crate::update::cutting::{self, Turns, Visits, cut};
use crate::update::embedding;
use crate::update::graph::Support;
use crate::update::labels::{fill_empty, median};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::graph::components::n_sizeable;
use obcut_core::graph::spectral::{self, Coordinates, DISCRETISE};
use obcut_core::graph::tree::Edge;
use obcut_core::kmeans::{self, Weighted};
use obcut_core::observer::Clock;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, shuffled};
use obcut_core::table::Table;

/// Association on a graph from which no link is cut.
const UNLINKED: f64 = 0.9999;
/// Iterations of the learning loop when it is only tried (`Learn::Auto`).
const TRIAL: usize = 5;

/// How labels came about.
#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub job: CandidateKind,
    /// Eigenvectors of the start; 0 when there are none, or as many as clusters.
    pub vectors: usize,
}

/// One restart's result.
pub(crate) struct FitCandidate {
    pub procedure: Procedure,
    pub layout: GraphLayout,
    /// The anchors that the layout uses.
    pub anchors: Vec<f64>,
    pub graph: Graph,
    pub anchor_weights: Vec<f64>,
    pub labels: Vec<u32>,
    pub score: f64,
    pub trace: Trace,
    pub n_fragments: usize,
    /// How the components of the graph of nearest rows lie in the clusters, where that graph was built.
    pub components: ComponentCounts,
    /// A minimum spanning tree of the rows, or of a part of them, where the graph of nearest rows was built.
    pub tree: Vec<Edge>,
}

impl FitCandidate {
    /// The trace of the fit that keeps this candidate.
    pub fn finished(self, weights: &[f64], n_clusters: usize, clock: Clock) -> Trace {
        let mut trace = self.trace;
        trace.seconds = clock.finish();
        trace.n_pieces = n_sizeable(&self.graph, weights, n_clusters);
        trace.n_idle = self.graph.degrees(weights).iter().filter(|&&d| d == 0.0).count();
        trace
    }
}

/// How the components of the graph of nearest rows lie in the clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ComponentCounts {
    /// Components that could be clusters.
    pub n: usize,
    /// Components that lie in several clusters.
    pub split: usize,
    /// Components that share their cluster with a larger one.
    pub merged: usize,
}

/// Labels of a finished cut.
pub(crate) struct Labeling {
    pub labels: Vec<u32>,
    pub n_fragments: usize,
    pub turns: Turns,
}

/// What all restarts share.
pub(crate) struct Problem<'p> {
    pub rows: &'p Weighted<'p, 'p>,
    pub plan: &'p Plan,
    pub params: &'p Params,
    /// Sum of the weights.
    pub total: f64,
    /// Weight of an ordinary row: the median of the distinct ones, so that neither the unit of the weights
    /// nor copies matter.
    pub row_weight: f64,
    /// V: weighted sum of |x - mean|^2.
    pub total_square: f64,
    /// Where every distinct row stands first in the file.
    pub first_rows: &'p [u32],
    pub start: Option<Vec<u32>>,
}

impl<'p> Problem<'p> {
    /// `total` is the sum of the weights, `total_square` is V.
    pub fn new(
        rows: &'p Weighted<'p, 'p>,
        plan: &'p Plan,
        params: &'p Params,
        (total, total_square): (f64, f64),
        first_rows: &'p [u32],
        start: Option<Vec<u32>>,
    ) -> Self {
        let row_weight = median(rows.weights);
        Self { rows, plan, params, total, row_weight, total_square, first_rows, start }
    }

    pub fn ridge(&self) -> f64 {
        self.params.ridge * self.total_square / self.total
    }

    fn lambda(&self) -> f64 {
        let Params { lambda, lambda_scale, n_clusters, .. } = self.params;
        match lambda_scale {
            LambdaScale::Absolute => *lambda,
            LambdaScale::Relative => {
                lambda * self.total_square / (*n_clusters as f64 * self.total).sqrt()
            }
        }
    }

    /// The rows of a graph on some anchors.
    pub fn build(
        &self,
        table: &Table<'_>,
        layout: &GraphLayout,
        anchors: &[f64],
        context: &Context<'_>,
    ) -> Result<Graph, Error> {
        context.report(Stage::Graph, 0, 0, None)?;
        let points = table.points(anchors.to_vec());
        GraphBuilder::new(self.params, layout, &points, self.ridge()).build(table, &points, context)
    }

    /// The best of all restarts.
    pub fn restarts(
        &self,
        given: Option<&[f64]>,
        context: &mut Context<'_>,
        clock: &mut Clock,
    ) -> Result<FitCandidate, Error> {
        let mut kept: Option<FitCandidate> = None;
        let mut scores = Vec::new();
        for restart in 0..self.plan.n_init {
            context.set_restart(restart, self.plan.n_init);
            let stream = Stream::new(self.params.seed).nth(restart);
            let mut candidate = self.solve(given, stream, context, clock)?;
            scores.push(candidate.score);
            if kept.as_ref().is_none_or(|best| candidate.score > best.score) {
                candidate.trace.kept = restart;
                kept = Some(candidate);
            }
        }
        context.set_restart(0, 1);
        let mut kept = kept.expect("n_init > 0 by check");
        kept.trace.scores = scores;
        Ok(kept)
    }

    /// Anchors, graphs, the choice among them, start, cut, learning: one restart.
    pub fn solve(
        &self,
        given: Option<&[f64]>,
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<FitCandidate, Error> {
        let anchors = clock.time(Stage::Anchors, || match given {
            Some(given) => Ok(given.to_vec()),
            None => init::anchors(self.rows, &self.plan.blocks, self.params, stream, context),
        })?;
        let mut candidate = match &self.plan.jobs[..] {
            [CandidateKind::Anchors(way)] => {
                self.run(way, None, &anchors, stream, context, clock)?
            }
            jobs if self.params.n_clusters == 1 => {
                let by_anchors = jobs.iter().find_map(|job| match job {
                    CandidateKind::Anchors(way) => Some(way.clone()),
                    _ => None,
                });
                let way = by_anchors.unwrap_or_else(|| self.plan.rule_candidate());
                self.run(&way, None, &anchors, stream, context, clock)?
            }
            _ => self.select(&anchors, stream, context, clock)?,
        };
        if self.loops() {
            clock.time(Stage::Loop, || self.learn(&mut candidate, stream, context))?;
        }
        Ok(candidate)
    }

    /// Goes one way on all rows, with as many eigenvectors as clusters unless told otherwise.
    pub fn run(
        &self,
        way: &AnchorCandidate,
        vectors: Option<usize>,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<FitCandidate, Error> {
        let table = self.rows.table;
        // Rows are multiplied with the anchors that the way uses, and with no others.
        let (layout, used) = self.plan.layout(way).compact(anchors, table.d());
        let graph = clock.time(Stage::Graph, || self.build(table, &layout, &used, context))?;
        let start = clock.time(Stage::Start, || {
            context.report(Stage::Start, 0, 0, None)?;
            let means = match way.start {
                Start::KMeans if self.anchors_are_means() => {
                    let points = table.points(anchors.to_vec());
                    Some(kmeans::assign(table, &points, context)?)
                }
                Start::KMeans => Some(init::k_means(self.rows, self.params, stream, context)?),
                _ => None,
            };
            match vectors.filter(|&q| q > 0) {
                Some(q) => self.spectral_start(&graph, way, q, anchors, stream, context),
                None => self.start(&graph, way, means.as_deref(), anchors, stream, context),
            }
        })?;
        let labeled = if self.learns_from_start() {
            Labeling { turns: Turns::none(), ..start }
        } else {
            clock.time(Stage::Cut, || self.cut(&graph, start, stream, context))?
        };
        let value = score(&graph, &labeled.labels, self.rows.weights, self.params.n_clusters);
        let mut candidate = self.candidate(way, anchors, graph, labeled, value);
        candidate.procedure.vectors = vectors.unwrap_or(0);
        Ok(candidate)
    }

    /// Whether k-means for the labels would repeat k-means for the anchors, as it does in the authors'
    /// program, where both start from the same seed: as many anchors as clusters, all rows.
    fn anchors_are_means(&self) -> bool {
        let Params { rows_per_anchor, anchors, n_clusters, .. } = self.params;
        let block = AnchorSets { per_set: *n_clusters, n_sets: 1 };
        rows_per_anchor.is_none() && anchors.is_none() && self.plan.blocks == [block]
    }

    pub fn candidate(
        &self,
        way: &AnchorCandidate,
        anchors: &[f64],
        graph: Graph,
        labeled: Labeling,
        score: f64,
    ) -> FitCandidate {
        let (layout, anchors) = self.plan.layout(way).compact(anchors, self.rows.table.d());
        let anchor_weights =
            cutting::anchor_weights(&graph, self.rows.weights, self.params.anchor_weights);
        let mut trace = Trace::new();
        let Labeling { labels, n_fragments, turns } = labeled;
        trace.cut = turns.values;
        trace.stop = turns.stop;
        FitCandidate {
            procedure: Procedure { job: CandidateKind::Anchors(way.clone()), vectors: 0 },
            layout,
            anchors,
            graph,
            anchor_weights,
            labels,
            score,
            trace,
            n_fragments,
            components: ComponentCounts::default(),
            tree: Vec::new(),
        }
    }

    /// The first labels of a way by `q` eigenvectors.
    fn spectral_start(
        &self,
        graph: &Graph,
        way: &AnchorCandidate,
        q: usize,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Labeling, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let stream = stream.named("labels");
        let of_column = self.plan.layout(way).anchor_of_column();
        let at = Coordinates { anchors, d: rows.table.d(), of_column: &of_column };
        let q = q.min(graph.n_cols);
        let eigen = stream.named("eigen");
        let found = spectral::spectrum(graph, rows.weights, (k, q), Some(at), eigen, context)?;
        let weighted = (rows.weights, rows.keys);
        let mut labels = found.labels(graph, weighted, (k, q), DISCRETISE, stream, context)?;
        fill_empty(&mut labels, rows.keys, k, stream.named("fill"));
        Ok(Labeling { labels, n_fragments: found.n_fragments, turns: Turns::none() })
    }

    /// The first labels of a way, every cluster non-empty. `means` are labels by k-means.
    pub fn start(
        &self,
        graph: &Graph,
        way: &AnchorCandidate,
        means: Option<&[u32]>,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Labeling, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let stream = stream.named("labels");
        let (mut labels, n_fragments) = match way.start {
            Start::Given => {
                (self.start.clone().expect("given labels are mapped to units by fit"), 0)
            }
            Start::KMeans => (means.expect("computed for such ways").to_vec(), 0),
            Start::Spectral => {
                let of_column = self.plan.layout(way).anchor_of_column();
                let at = Coordinates { anchors, d: rows.table.d(), of_column: &of_column };
                let weighted = (rows.weights, rows.keys);
                let found = spectral::start(graph, weighted, k, Some(at), stream, context)?;
                (found.labels, found.n_fragments)
            }
        };
        fill_empty(&mut labels, rows.keys, k, stream.named("fill"));
        Ok(Labeling { labels, n_fragments, turns: Turns::none() })
    }

    /// The cut from first labels.
    pub fn cut(
        &self,
        graph: &Graph,
        start: Labeling,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Labeling, Error> {
        let (params, weights) = (self.params, self.rows.weights);
        let k = params.n_clusters;
        // What nothing links is not split or merged for the sake of equal sizes.
        let spectral = matches!(params.init, Init::Spectral) && params.balance < 1.0 && k > 1;
        if spectral && association(graph, &start.labels, weights, k) >= UNLINKED {
            return Ok(Labeling { turns: Turns::none(), ..start });
        }
        let order = self.order(stream);
        let visits = Visits { weights, order: Some(&order), max_sweeps: params.max_sweeps };
        let anchor_weights = cutting::anchor_weights(graph, weights, params.anchor_weights);
        let mut labels = start.labels;
        let limits = (params.max_iter, params.tol);
        let turns = cut(graph, &anchor_weights, &mut labels, k, visits, limits, context)?;
        Ok(Labeling { labels, turns, ..start })
    }

    /// The order of the visits of a sweep. The distinct rows themselves lie in the order of their keys.
    fn order(&self, stream: Stream) -> Vec<u32> {
        match self.params.sweep_order {
            SweepOrder::Shuffled => shuffled(self.rows.keys, stream.named("sweep")),
            SweepOrder::Rows => {
                let mut order: Vec<u32> = (0..self.first_rows.len() as u32).collect();
                order.sort_unstable_by_key(|&i| self.first_rows[i as usize]);
                order
            }
        }
    }

    /// As printed, the loop starts from the first labels; ours starts from the finished cut.
    fn learns_from_start(&self) -> bool {
        self.loops() && self.params.learn != Learn::Auto
    }

    pub fn loops(&self) -> bool {
        self.params.learn != Learn::Nothing && self.params.n_clusters > 1
    }

    /// The learning loop, unified or in two steps, from the labels of a candidate. CandidateScore only
    /// (`Learn::Auto`), its labels are kept unless the score falls.
    pub fn learn(
        &self,
        candidate: &mut FitCandidate,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let (params, weights, k) = (self.params, self.rows.weights, self.params.n_clusters);
        let order = self.order(stream);
        let visits = Visits { weights, order: Some(&order), max_sweeps: params.max_sweeps };
        let mut trace = candidate.trace.clone();
        let learned = self.learned(candidate, visits, &mut trace, context)?;
        let before = score(&candidate.graph, &candidate.labels, weights, k);
        let after = score(&candidate.graph, &learned, weights, k);
        if params.learn == Learn::Auto && after < before {
            candidate.trace.loop_rejected = true;
        } else {
            // A score from several graphs stays as the choice among them found it.
            if candidate.trace.tried.is_empty() {
                candidate.score = after;
            }
            (candidate.labels, candidate.trace) = (learned, trace);
        }
        Ok(())
    }

    fn learned(
        &self,
        candidate: &FitCandidate,
        visits: Visits<'_>,
        trace: &mut Trace,
        context: &Context<'_>,
    ) -> Result<Vec<u32>, Error> {
        let (params, table, k) = (self.params, self.rows.table, self.params.n_clusters);
        let FitCandidate { layout, anchors, graph, anchor_weights, labels, .. } = candidate;
        let unified = params.formulation == Formulation::Unified;
        let h = embedding::update(graph, labels, visits.weights, anchor_weights, k)?;
        let mut state = LoopState {
            anchors: anchors.clone(),
            graph: graph.clone(),
            labels: labels.clone(),
            embedding: h,
        };
        let trial = params.learn == Learn::Auto;
        let task = Loop {
            n_clusters: k,
            lambda: self.lambda(),
            learn_anchors: params.learn != Learn::GraphOnly,
            with_cut: unified,
            anchor_update: params.anchor_update,
            pull: params.pull,
            solver: params.row_solver,
            ridge: self.ridge(),
            support: match kinds::of(layout.0[0].kind) {
                Some(kind) if kind.links_all_anchors() => Support::All,
                _ => Support::Nearest(params.n_neighbors),
            },
            max_iter: if trial { params.max_iter.min(TRIAL) } else { params.max_iter },
            tol: params.tol,
            stop_on_labels: params.stop_on_labels,
            anchor_weights,
        };
        task.run(table, visits, &mut state, trace, context, |_, _| ())?;
        if !unified {
            let weights =
                cutting::anchor_weights(&state.graph, visits.weights, params.anchor_weights);
            let limits = (params.max_iter, params.tol);
            let turns = cut(&state.graph, &weights, &mut state.labels, k, visits, limits, context)?;
            trace.cut = turns.values;
            trace.stop = turns.stop;
        }
        Ok(state.labels)
    }
}
