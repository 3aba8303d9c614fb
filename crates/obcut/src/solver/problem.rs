//! One restart: anchors, graph, start, cut and learning.

use crate::error::{Error, ParamError};
use crate::graph::Graph;
use crate::graph::bipartite::Builder;
use crate::kmeans::Weighted;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::{Stream, shuffled};
use crate::solver::cutting::{self, Visits, anchor_weights, cut};
use crate::solver::init;
use crate::solver::learn::{Loop, State};
use crate::solver::params::{Formulation, GraphKind, LambdaScale, Learn, Params, SweepOrder};
use crate::solver::score::score;
use crate::solver::trace::{Clock, Trace};
use crate::solver::update::embedding;
use crate::solver::update::graph::Support;
use crate::table::Points;

/// Iterations of the learning loop when it is only tried (`Learn::Auto`).
const TRIAL: usize = 5;

/// Numbers that settings leave automatic.
pub(crate) struct Plan {
    pub n_anchors: usize,
    pub n_sets: usize,
    /// Anchors asked for, when they are more than the distinct rows.
    pub capped: Option<usize>,
    /// Distinct rows.
    pub n_units: usize,
}

impl Plan {
    pub fn new(params: &Params, n: usize, d: usize, given: Option<&[f64]>) -> Result<Self, Error> {
        let k = params.n_clusters;
        if let Some(given) = given {
            let n_sets = params.n_anchor_sets.unwrap_or(1);
            let n_anchors = given.len() / d;
            if !n_anchors.is_multiple_of(n_sets) {
                return Err(ParamError::Conflict(format!(
                    "{n_anchors} given anchors cannot be {n_sets} sets of equal size"
                ))
                .into());
            }
            return Ok(Self { n_anchors: n_anchors / n_sets, n_sets, capped: None, n_units: n });
        }
        let n_sets = params.n_anchor_sets.unwrap_or_else(|| init::auto_sets(params.graph));
        let wanted = params.n_anchors.unwrap_or_else(|| init::auto_anchors(params.graph, n, k));
        let n_anchors = wanted.min(n);
        let capped = (n_anchors < wanted).then_some(wanted);
        // With every distinct row an anchor, further sets would be copies.
        let n_sets = if n_anchors == n { 1 } else { n_sets };
        Ok(Self { n_anchors, n_sets, capped, n_units: n })
    }
}

/// One restart's result.
pub(crate) struct Candidate {
    pub anchors: Vec<f64>,
    pub graph: Graph,
    pub anchor_weights: Vec<f64>,
    pub labels: Vec<u32>,
    pub score: f64,
    pub trace: Trace,
    pub n_fragments: usize,
}

/// What all restarts share.
pub(crate) struct Problem<'p> {
    pub rows: &'p Weighted<'p, 'p>,
    pub plan: &'p Plan,
    pub params: &'p Params,
    /// Sum of the weights.
    pub total: f64,
    /// V: weighted sum of |x - mean|^2.
    pub total_square: f64,
    pub start: Option<Vec<u32>>,
}

impl Problem<'_> {
    /// Makes rows of the first graph from anchors.
    pub fn builder(&self, points: &Points) -> Builder {
        Builder::new(self.params, self.plan.n_sets, points, self.ridge())
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

    /// Anchors, graph, start, cut, learning: one restart.
    pub fn solve(
        &self,
        given: Option<&[f64]>,
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<Candidate, Error> {
        let (params, table, weights) = (self.params, self.rows.table, self.rows.weights);
        let k = params.n_clusters;
        let anchors = clock.time(Stage::Anchors, || match given {
            Some(given) => Ok(given.to_vec()),
            None => {
                let Plan { n_anchors, n_sets, .. } = *self.plan;
                init::anchors(self.rows, n_anchors, n_sets, params, stream, context)
            }
        })?;
        let graph = clock.time(Stage::Graph, || {
            context.report(Stage::Graph, 0, 0, None)?;
            let points = table.points(anchors.clone());
            self.builder(&points).build(table, &points, context)
        })?;
        let anchor_weights = anchor_weights(&graph, weights, params.anchor_weights);
        let init::Start { mut labels, n_fragments } = clock.time(Stage::Start, || {
            context.report(Stage::Start, 0, 0, None)?;
            let given = self.start.as_deref();
            init::labels(self.rows, &graph, &anchors, given, params, stream, context)
        })?;
        let order = (params.sweep_order == SweepOrder::Shuffled)
            .then(|| shuffled(self.rows.keys, stream.named("sweep")));
        let visits = Visits { weights, order: order.as_deref(), max_sweeps: params.max_sweeps };
        let mut trace = Trace::new();

        // As printed, the loop starts from the first labels; ours starts from the finished cut.
        if !self.loops() || params.learn == Learn::Auto {
            let turns = clock.time(Stage::Cut, || {
                let limits = (params.max_iter, params.tol);
                cut(&graph, &anchor_weights, &mut labels, k, visits, limits, context)
            })?;
            trace.cut = turns.values;
            trace.stop = turns.stop;
        }
        let mut value = score(&graph, &labels, weights, k);
        if self.loops() {
            let mut tried = trace.clone();
            let learned = clock.time(Stage::Loop, || {
                self.learn(&anchors, &graph, &anchor_weights, &labels, visits, &mut tried, context)
            })?;
            let learned_value = score(&graph, &learned, weights, k);
            if params.learn == Learn::Auto && learned_value < value {
                trace.loop_rejected = true;
            } else {
                (labels, value, trace) = (learned, learned_value, tried);
            }
        }
        Ok(Candidate { anchors, graph, anchor_weights, labels, score: value, trace, n_fragments })
    }

    fn loops(&self) -> bool {
        self.params.learn != Learn::Nothing && self.params.n_clusters > 1
    }

    /// The learning loop, unified or in two steps.
    fn learn(
        &self,
        anchors: &[f64],
        graph: &Graph,
        anchor_weights: &[f64],
        labels: &[u32],
        visits: Visits<'_>,
        trace: &mut Trace,
        context: &Context<'_>,
    ) -> Result<Vec<u32>, Error> {
        let (params, table, k) = (self.params, self.rows.table, self.params.n_clusters);
        let unified = params.formulation == Formulation::Unified;
        let h = embedding::update(graph, labels, visits.weights, anchor_weights, k)?;
        let mut state = State {
            anchors: anchors.to_vec(),
            graph: graph.clone(),
            labels: labels.to_vec(),
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
            support: match params.graph {
                GraphKind::Global => Support::All,
                GraphKind::Local | GraphKind::Distance => Support::Nearest(params.n_neighbors),
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
