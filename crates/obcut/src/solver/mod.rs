//! OBCut itself: scale, check, start, cut, learn, and build the model.

mod check;
pub(crate) mod cutting;
mod file;
#[cfg(test)]
mod golden_tests;
mod init;
pub(crate) mod learn;
pub mod model;
pub mod params;
pub mod rule;
pub(crate) mod score;
pub mod trace;
pub(crate) mod update;

use crate::error::{DataError, Error, ParamError};
use crate::graph::Graph;
use crate::graph::bipartite::Builder;
use crate::kmeans::{self, Effort, Seeding, Weighted};
use crate::matrix::{CsrRef, Ints, Samples};
use crate::normalize::Scaling;
use crate::observer::{Observer, Stage};
use crate::parallel::Context;
use crate::random::{Stream, shuffled};
use crate::reduce::Reduced;
use crate::table::Table;
use crate::units::{ABSENT, Units};
use cutting::{Visits, anchor_weights, cut};
use learn::{Loop, State};
use model::Model;
use params::{Formulation, GraphKind, Init, LambdaScale, Learn, Params, Reduce, SweepOrder};
use rule::{Rule, best};
use score::score;
use trace::{Clock, Trace};
use update::embedding;
use update::graph::Support;

/// Iterations of the learning loop when it is only tried (`Learn::Auto`).
const TRIAL: usize = 5;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Cluster of every row; every cluster has a row.
    pub labels: Vec<u32>,
    /// Labels new rows, and repeats `labels` on the old ones.
    pub model: Model,
    /// Values, seconds, why it stopped.
    pub trace: Trace,
    /// What a user should know, in plain words.
    pub warnings: Vec<String>,
}

/// Clusters samples, with a weight for every row if given.
///
/// ```
/// use obcut::{Params, Silent, fit, synthetic};
///
/// let moons = synthetic::moons(500, 0.05, 1);
/// let samples = moons.matrix.samples()?;
/// let fit = fit(&samples, None, &Params::new(2), &Silent)?;
/// assert_eq!(fit.labels, fit.model.predict(&samples, 1, &Silent)?);
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
    check::check(params, samples, weights)?;
    // Entries given twice would be squared apart: add them up first (a copy, rarely needed).
    match samples {
        Samples::Sparse32(x) if !x.is_canonical() => {
            let own = x.canonical();
            let (offsets, columns) = (Ints::I64(&own.offsets), Ints::I64(&own.columns));
            let x = CsrRef::new(offsets, columns, &own.values, own.n_cols)?;
            fit_checked(&x.into(), weights, params, observer)
        }
        Samples::Sparse64(x) if !x.is_canonical() => {
            let own = x.canonical();
            let (offsets, columns) = (Ints::I64(&own.offsets), Ints::I64(&own.columns));
            let x = CsrRef::new(offsets, columns, &own.values, own.n_cols)?;
            fit_checked(&x.into(), weights, params, observer)
        }
        _ => fit_checked(samples, weights, params, observer),
    }
}

fn fit_checked(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<Fit, Error> {
    let mut context = Context::new(params.threads, observer)?;
    let mut clock = Clock::default();
    let (scaling, units) = clock.time(Stage::Prepare, || {
        context.report(Stage::Prepare, 0, 0, None)?;
        let scaling = Scaling::fit(samples, weights, params.scale, &context)?;
        let units = Units::new(&Table::new(*samples, &scaling), weights, &context)?;
        Ok::<_, Error>((scaling, units))
    })?;
    let (k, n_distinct) = (params.n_clusters, units.n());
    if n_distinct < k {
        return Err(DataError::TooFewDistinct {
            n_distinct,
            n_clusters: k,
        }
        .into());
    }
    let all = Table::new(*samples, &scaling);
    let full = if units.is_identity() {
        all.clone()
    } else {
        all.subset(&units.first)
    };
    let given = given_anchors(params, &scaling);
    let plan = Plan::new(params, n_distinct, full.d(), given.as_deref())?;

    let reduced = clock.time(Stage::Prepare, || {
        let wide = full.d() > n_distinct && !full.is_sparse() && given.is_none();
        let reduce = params.reduce == Reduce::Auto && wide;
        reduce.then(|| Reduced::new(&full, &context)).transpose()
    })?;
    let small_scaling = Scaling::identity(n_distinct);
    let small = match &reduced {
        Some(r) => {
            let rows = crate::matrix::DenseRef::new(&r.rows, r.n, r.n)?;
            Some(Table::new(rows.into(), &small_scaling))
        }
        None => None,
    };
    let table = small.as_ref().unwrap_or(&full);
    let rows = Weighted {
        table,
        weights: &units.weight,
        keys: &units.key,
    };
    let start = unit_labels(params, &units);
    let total_square = clock.time(Stage::Prepare, || {
        learn::total_square(table, &units.weight, &context)
    })?;
    let problem = Problem {
        rows: &rows,
        plan: &plan,
        params,
        total: units.total,
        total_square,
        start,
    };

    let mut kept: Option<Candidate> = None;
    let mut scores = Vec::new();
    for restart in 0..params.n_init {
        context.set_restart(restart, params.n_init);
        let stream = Stream::new(params.seed).nth(restart);
        let candidate = problem.solve(given.as_deref(), stream, &context, &mut clock)?;
        scores.push(candidate.score);
        if kept
            .as_ref()
            .is_none_or(|best| candidate.score > best.score)
        {
            let mut candidate = candidate;
            candidate.trace.kept = restart;
            kept = Some(candidate);
        }
    }
    let mut kept = kept.expect("n_init > 0 by check");

    let (labels, model) = clock.time(Stage::Finish, || {
        context.report(Stage::Finish, 0, 0, None)?;
        problem.finish(
            &mut kept,
            &scaling,
            &full,
            reduced.as_ref(),
            (&all, &units),
            &context,
        )
    })?;
    let mut trace = kept.trace;
    trace.scores = scores;
    trace.seconds = clock.finish();
    let warnings = warnings(&labels, k, kept.n_fragments, &model, &trace);
    Ok(Fit {
        labels,
        model,
        trace,
        warnings,
    })
}

/// Numbers that settings leave automatic.
struct Plan {
    n_anchors: usize,
    n_sets: usize,
}

impl Plan {
    fn new(params: &Params, n: usize, d: usize, given: Option<&[f64]>) -> Result<Self, Error> {
        let k = params.n_clusters;
        if let Some(given) = given {
            let n_sets = params.n_anchor_sets.unwrap_or(1);
            let n_anchors = given.len() / d;
            if n_anchors % n_sets != 0 {
                return Err(ParamError::Conflict(format!(
                    "{n_anchors} given anchors cannot be {n_sets} sets of equal size"
                ))
                .into());
            }
            return Ok(Self {
                n_anchors: n_anchors / n_sets,
                n_sets,
            });
        }
        let n_sets = params
            .n_anchor_sets
            .unwrap_or_else(|| init::auto_sets(params.graph));
        let n_anchors = match params.n_anchors {
            // The paper's 100 on a table with fewer rows: use what there is.
            Some(m)
                if m > n
                    && *params
                        == (Params {
                            n_anchors: Some(m),
                            ..Params::paper(k)
                        }) =>
            {
                n
            }
            Some(m) if m > n => {
                return Err(ParamError::TooManyAnchors {
                    n_anchors: m,
                    n_distinct: n,
                }
                .into());
            }
            Some(m) => m,
            None => init::auto_anchors(params.graph, n, k),
        };
        // With every distinct row an anchor, further sets would be copies.
        Ok(Self {
            n_anchors,
            n_sets: if n_anchors == n { 1 } else { n_sets },
        })
    }
}

/// One restart's result.
struct Candidate {
    anchors: Vec<f64>,
    graph: Graph,
    anchor_weights: Vec<f64>,
    labels: Vec<u32>,
    score: f64,
    trace: Trace,
    n_fragments: usize,
}

/// What all restarts share.
struct Problem<'p> {
    rows: &'p Weighted<'p, 'p>,
    plan: &'p Plan,
    params: &'p Params,
    /// Sum of the weights.
    total: f64,
    /// V: weighted sum of |x - mean|^2.
    total_square: f64,
    start: Option<Vec<u32>>,
}

impl Problem<'_> {
    fn ridge(&self) -> f64 {
        self.params.ridge * self.total_square / self.total
    }

    fn lambda(&self) -> f64 {
        let Params {
            lambda,
            lambda_scale,
            n_clusters,
            ..
        } = self.params;
        match lambda_scale {
            LambdaScale::Absolute => *lambda,
            LambdaScale::Relative => {
                lambda * self.total_square / (*n_clusters as f64 * self.total).sqrt()
            }
        }
    }

    /// Anchors, graph, start, cut, learning: one restart.
    fn solve(
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
                let Plan { n_anchors, n_sets } = *self.plan;
                init::anchors(self.rows, n_anchors, n_sets, params, stream, context)
            }
        })?;
        let graph = clock.time(Stage::Graph, || {
            context.report(Stage::Graph, 0, 0, None)?;
            let points = table.points(anchors.clone());
            let n_sets = self.plan.n_sets;
            Builder::new(
                params.graph,
                params.n_neighbors,
                params.row_solver,
                n_sets,
                &points,
                self.ridge(),
            )
            .build(table, &points, context)
        })?;
        let anchor_weights = anchor_weights(&graph, weights, params.anchor_weights);
        let init::Start {
            mut labels,
            n_fragments,
        } = clock.time(Stage::Start, || {
            context.report(Stage::Start, 0, 0, None)?;
            let given = self.start.as_deref();
            init::labels(self.rows, &graph, &anchors, given, params, stream, context)
        })?;
        let order = (params.sweep_order == SweepOrder::Shuffled)
            .then(|| shuffled(self.rows.keys, stream.named("sweep")));
        let visits = Visits {
            weights,
            order: order.as_deref(),
            max_sweeps: params.max_sweeps,
        };
        let mut trace = Trace::new();

        // As printed, the loop starts from the first labels; ours starts from the finished cut.
        if !self.loops() || params.learn == Learn::Auto {
            let turns = clock.time(Stage::Cut, || {
                let limits = (params.max_iter, params.tol);
                cut(
                    &graph,
                    &anchor_weights,
                    &mut labels,
                    k,
                    visits,
                    limits,
                    context,
                )
            })?;
            trace.cut = turns.values;
            trace.stop = turns.stop;
        }
        let mut value = score(&graph, &labels, weights, k);
        if self.loops() {
            let mut tried = trace.clone();
            let learned = clock.time(Stage::Loop, || {
                self.learn(
                    &anchors,
                    &graph,
                    &anchor_weights,
                    &labels,
                    visits,
                    &mut tried,
                    context,
                )
            })?;
            let learned_value = score(&graph, &learned, weights, k);
            if params.learn == Learn::Auto && learned_value < value {
                trace.loop_rejected = true;
            } else {
                (labels, value, trace) = (learned, learned_value, tried);
            }
        }
        Ok(Candidate {
            anchors,
            graph,
            anchor_weights,
            labels,
            score: value,
            trace,
            n_fragments,
        })
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
            max_iter: if trial {
                params.max_iter.min(TRIAL)
            } else {
                params.max_iter
            },
            tol: params.tol,
            stop_on_labels: params.stop_on_labels,
            anchor_weights,
        };
        task.run(table, visits, &mut state, trace, context, |_, _| ())?;
        if !unified {
            let weights =
                cutting::anchor_weights(&state.graph, visits.weights, params.anchor_weights);
            let limits = (params.max_iter, params.tol);
            let turns = cut(
                &state.graph,
                &weights,
                &mut state.labels,
                k,
                visits,
                limits,
                context,
            )?;
            trace.cut = turns.values;
            trace.stop = turns.stop;
        }
        Ok(state.labels)
    }

    /// The model, and the labels it gives to all rows.
    fn finish(
        &self,
        kept: &mut Candidate,
        scaling: &Scaling,
        full: &Table<'_>,
        reduced: Option<&Reduced>,
        (all, units): (&Table<'_>, &Units),
        context: &Context<'_>,
    ) -> Result<(Vec<u32>, Model), Error> {
        let (params, k, weights) = (self.params, self.params.n_clusters, self.rows.weights);
        let n_sets = self.plan.n_sets;
        if let Some(reduced) = reduced {
            kept.anchors = reduced.restore(&kept.anchors, full, context)?;
            let points = full.points(kept.anchors.clone());
            kept.graph = Builder::new(
                params.graph,
                params.n_neighbors,
                params.row_solver,
                n_sets,
                &points,
                self.ridge(),
            )
            .build(full, &points, context)?;
            kept.anchor_weights = anchor_weights(&kept.graph, weights, params.anchor_weights);
        }
        let settled = Rule::settle(
            &kept.graph,
            &kept.labels,
            weights,
            &kept.anchor_weights,
            k,
            context,
        )?;
        let (rule, unit_labels, prototypes) = match settled {
            Some((rule, labels)) => (rule, labels, None),
            None => {
                let prototypes = prototypes(full, self.rows, k, context)?;
                let points = full.points(prototypes.clone());
                let labels: Vec<u32> = context.each(full.n(), |i| {
                    best(&kmeans::nearest_point(full, i, &points)) as u32
                })?;
                if rule::has_empty(&labels, k) {
                    let n_distinct = distinct(&labels);
                    return Err(DataError::TooFewDistinct {
                        n_distinct,
                        n_clusters: k,
                    }
                    .into());
                }
                let rule = Rule::at(
                    &kept.graph,
                    &labels,
                    weights,
                    &kept.anchor_weights,
                    k,
                    context,
                )?;
                (rule, labels, Some(prototypes))
            }
        };
        let mut model = Model {
            params: Params {
                anchors: None,
                ..params.clone()
            },
            version: env!("CARGO_PKG_VERSION").into(),
            scaling: scaling.clone(),
            anchors: std::mem::take(&mut kept.anchors),
            n_sets,
            ridge: self.ridge(),
            rule,
            prototypes,
            sizes: Vec::new(),
            objective: kept.trace.objective.last().copied(),
            feature_names: Vec::new(),
        };
        model.params.threads = 0;
        if let Init::Given(labels) = &mut model.params.init {
            labels.clear();
        }
        let mut labels: Vec<u32> = (units.of_row.iter())
            .map(|&u| {
                if u == ABSENT {
                    0
                } else {
                    unit_labels[u as usize]
                }
            })
            .collect();
        // Rows of weight zero took no part; the model labels them like new ones.
        let absent: Vec<u32> = (0..labels.len() as u32)
            .filter(|&i| units.of_row[i as usize] == ABSENT)
            .collect();
        if !absent.is_empty() {
            let mut found = vec![0; absent.len()];
            model.visit_table(
                &all.subset(&absent),
                context,
                &mut found,
                1,
                |gains, out| {
                    out[0] = best(gains) as u32;
                },
            )?;
            absent
                .iter()
                .zip(found)
                .for_each(|(&i, l)| labels[i as usize] = l);
        }
        model.sizes = vec![0.0; k];
        unit_labels
            .iter()
            .zip(weights)
            .for_each(|(&l, w)| model.sizes[l as usize] += w);
        Ok((labels, model))
    }
}

/// k distinct rows, far apart.
fn prototypes(
    full: &Table<'_>,
    rows: &Weighted<'_, '_>,
    k: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let effort = Effort {
        seeding: Seeding::PlusPlus,
        iterations: 0,
        restarts: 1,
        rows_per_center: None,
        full_passes: 0,
    };
    let rows = Weighted {
        table: full,
        ..rows.clone()
    };
    Ok(kmeans::fit(
        &rows,
        k,
        effort,
        Stream::new(0).named("prototypes"),
        context,
        Stage::Finish,
    )?
    .values)
}

fn distinct(labels: &[u32]) -> usize {
    labels
        .iter()
        .collect::<std::collections::HashSet<_>>()
        .len()
}

fn given_anchors(params: &Params, scaling: &Scaling) -> Option<Vec<f64>> {
    params.anchors.as_ref().map(|anchors| {
        let mut anchors = anchors.clone();
        scaling.apply(&mut anchors);
        anchors
    })
}

/// Given labels by unit: those of its first row.
fn unit_labels(params: &Params, units: &Units) -> Option<Vec<u32>> {
    match &params.init {
        Init::Given(labels) => Some(units.first.iter().map(|&i| labels[i as usize]).collect()),
        _ => None,
    }
}

/// Plain words about what a user should know.
fn warnings(
    labels: &[u32],
    k: usize,
    n_fragments: usize,
    model: &Model,
    trace: &Trace,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut counts = vec![0usize; k];
    labels.iter().for_each(|&l| counts[l as usize] += 1);
    let tiny = counts
        .iter()
        .filter(|&&c| c * k * 50 < labels.len())
        .count();
    if tiny > 0 {
        warnings.push(format!(
            "{tiny} of {k} clusters hold less than 2 % of an average cluster; a smaller k may fit better"
        ));
    }
    if n_fragments > 0 {
        warnings.push(format!(
            "the graph has {n_fragments} fragment(s) too small to be clusters; they were tied to their nearest neighbours (fewer anchors or more neighbors avoid this)"
        ));
    }
    if model.prototypes.is_some() {
        warnings.push(
            "the graph cannot tell enough rows apart for this k; rows were labelled by their nearest of k typical rows".into(),
        );
    }
    if !trace.objective.is_empty() && !trace.stop.converged() {
        warnings.push(format!(
            "the objective was still falling after {} iterations; raise max-iter to go on",
            trace.n_iter()
        ));
    }
    warnings
}
