//! Algorithm 1: Y, H, B, A alternate on the objective Eq. `eq:obj-final`.
//!
//! The value reported includes what our options add to the print: `ridge |B|^2` and, for the proximal
//! anchor update, `pull |A - A0|^2`; both are zero in the paper's settings. With the exact row solver
//! no half-step raises it.

use std::time::Instant;

use crate::params::{AnchorUpdate, RowSolver};
use crate::records::{StopReason, Trace};
use crate::update::anchors::{self, LinkMoments};
use crate::update::cutting::Visits;
use crate::update::graph::{RowProblem, Support};
use crate::update::{embedding, graph, labels};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::linalg::{gemm, simd};
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::simplex::{Gram, PlaneGram};
use obcut_core::table::Table;

/// The unknowns.
#[derive(Clone)]
pub(crate) struct LoopState {
    /// A', M × d.
    pub anchors: Vec<f64>,
    /// B.
    pub graph: Graph,
    /// Y.
    pub labels: Vec<u32>,
    /// H, M × k.
    pub embedding: Vec<f64>,
}

/// Settings of the loop in absolute units.
#[derive(Clone, Copy)]
pub(crate) struct Loop<'a> {
    pub n_clusters: usize,
    pub lambda: f64,
    pub learn_anchors: bool,
    /// Whether labels and embedding take part; without them this is the first of two steps.
    pub with_cut: bool,
    pub anchor_update: AnchorUpdate,
    pub pull: f64,
    pub solver: RowSolver,
    pub ridge: f64,
    pub support: Support,
    pub max_iter: usize,
    pub tol: f64,
    pub stop_on_labels: bool,
    pub anchor_weights: &'a [f64],
}

/// The parts of the objective, kept up to date through the half-steps.
struct Value {
    residual: f64,
    cut: f64,
    penalty: f64,
}

impl Loop<'_> {
    /// Runs the loop; the state ends at the last iterate. `watch` sees the objective after every
    /// half-step (Y, H, B, A in turn).
    pub fn run(
        &self,
        table: &Table<'_>,
        visits: Visits<'_>,
        state: &mut LoopState,
        trace: &mut Trace,
        context: &Context<'_>,
        mut watch: impl FnMut(&'static str, f64),
    ) -> Result<(), Error> {
        let (m, d) = (state.graph.n_cols, table.d());
        let first = state.anchors.clone();
        let total_square = total_square(table, visits.weights, context)?;
        let mut moments = LinkMoments::new(table, &state.graph, visits.weights, context)?;
        // The pull is fixed at the start, so that it is part of one objective.
        let mean_diagonal = (0..m).map(|a| moments.s[a * m + a]).sum::<f64>() / m as f64;
        let pull = match self.anchor_update {
            AnchorUpdate::Proximal if self.learn_anchors => self.pull * mean_diagonal,
            _ => 0.0,
        };
        let mut value = Value {
            residual: moments.residual(&state.anchors, m, d, total_square),
            cut: self.cut(state, visits, context)?,
            penalty: self.penalty(state, visits.weights, &first, pull),
        };
        let objective = |v: &Value| v.residual - self.lambda * v.cut + v.penalty;
        trace.objective.push(objective(&value));
        trace.residual.push(value.residual);
        trace.stop = StopReason::MaxIter;
        for iteration in 0..self.max_iter {
            let clock = Instant::now();
            context.report(
                Stage::Loop,
                iteration,
                self.max_iter,
                trace.objective.last().copied(),
            )?;
            let mut moved = 1;
            if self.with_cut {
                moved = self.labels(state, visits, &mut value, context)?; //     Y
                watch("Y", objective(&value));
                self.embedding(state, visits, &mut value)?; //                   H
                watch("H", objective(&value));
            }
            moments = self.graph(table, state, visits, context)?; //             B
            value.residual = moments.residual(&state.anchors, m, d, total_square);
            value.cut = self.cut(state, visits, context)?;
            value.penalty = self.penalty(state, visits.weights, &first, pull);
            watch("B", objective(&value));
            if self.learn_anchors {
                let learned = match self.anchor_update {
                    AnchorUpdate::LeastSquares => anchors::least_squares(&moments, m, d)?,
                    AnchorUpdate::Proximal => anchors::proximal(&moments, &first, pull, m, d)?,
                };
                let old = std::mem::replace(&mut state.anchors, learned); //     A
                let next = Value {
                    residual: moments.residual(&state.anchors, m, d, total_square),
                    penalty: self.penalty(state, visits.weights, &first, pull),
                    cut: value.cut,
                };
                if objective(&next) <= objective(&value) {
                    value = next;
                } else {
                    // Rounding in a nearly singular system: the old anchors are better.
                    state.anchors = old;
                }
                watch("A", objective(&value));
            }
            let last = *trace.objective.last().expect("pushed before the loop");
            let now = objective(&value);
            trace.objective.push(now);
            trace.residual.push(value.residual);
            trace.cut.push(value.cut);
            trace.iteration_seconds.push(clock.elapsed().as_secs_f64());
            let change = (last - now).abs();
            if change < self.tol || change < self.tol * last.abs() {
                trace.stop = StopReason::Objective;
                break;
            }
            // In the first iteration the labels have not seen a learned graph yet.
            if self.stop_on_labels && moved == 0 && iteration > 0 {
                trace.stop = StopReason::Labels;
                break;
            }
        }
        drop(moments);
        Ok(())
    }

    fn labels(
        &self,
        state: &mut LoopState,
        visits: Visits<'_>,
        value: &mut Value,
        context: &Context<'_>,
    ) -> Result<usize, Error> {
        let k = self.n_clusters;
        let LoopState { graph, labels, embedding: h, .. } = state;
        let weighted = embedding::weighted(h, self.anchor_weights, k);
        let (moved, cut) = labels::update(graph, &weighted, labels, k, visits, context)?;
        value.cut = cut;
        Ok(moved)
    }

    fn embedding(
        &self,
        state: &mut LoopState,
        visits: Visits<'_>,
        value: &mut Value,
    ) -> Result<(), Error> {
        let (k, m) = (self.n_clusters, state.graph.n_cols);
        let joined =
            embedding::joined(&state.graph, &state.labels, visits.weights, self.anchor_weights, k);
        state.embedding = obcut_core::linalg::factor::polar(&joined, m, k)?;
        value.cut = simd::dot(&joined, &state.embedding);
        Ok(())
    }

    fn graph(
        &self,
        table: &Table<'_>,
        state: &mut LoopState,
        visits: Visits<'_>,
        context: &Context<'_>,
    ) -> Result<LinkMoments, Error> {
        let (m, d) = (state.graph.n_cols, table.d());
        let gram = Gram::new(gemm::gram(&state.anchors, m, d), m, self.ridge);
        let plane = if self.solver == RowSolver::Alm { PlaneGram::new(&gram) } else { None };
        let mut sizes = vec![0.0; self.n_clusters];
        (state.labels.iter().zip(visits.weights)).for_each(|(&l, w)| sizes[l as usize] += w);
        let lambda = if self.with_cut { self.lambda } else { 0.0 };
        let problem = RowProblem {
            gram: &gram,
            plane: plane.as_ref(),
            pull: &graph::pulls(&state.embedding, self.anchor_weights, &sizes, lambda),
            labels: &state.labels,
            solver: self.solver,
            support: self.support,
        };
        let points = table.points(state.anchors.clone());
        let (graph, moments) =
            graph::update(table, &points, &state.graph, visits.weights, &problem, context)?;
        state.graph = graph;
        Ok(moments)
    }

    fn cut(
        &self,
        state: &LoopState,
        visits: Visits<'_>,
        context: &Context<'_>,
    ) -> Result<f64, Error> {
        if !self.with_cut {
            return Ok(0.0);
        }
        context.check()?;
        let k = self.n_clusters;
        let joined =
            embedding::joined(&state.graph, &state.labels, visits.weights, self.anchor_weights, k);
        Ok(simd::dot(&joined, &state.embedding))
    }

    fn penalty(&self, state: &LoopState, weights: &[f64], first: &[f64], pull: f64) -> f64 {
        let mut penalty = 0.0;
        if self.ridge > 0.0 {
            for (i, w) in weights.iter().enumerate() {
                let (_, values) = state.graph.row(i);
                penalty += self.ridge * w * values.iter().map(|v| v * v).sum::<f64>();
            }
        }
        if pull > 0.0 {
            penalty += pull * obcut_core::linalg::simd::squared_distance(&state.anchors, first);
        }
        penalty
    }
}

/// Weighted sum of |x|^2.
pub(crate) fn total_square(
    table: &Table<'_>,
    weights: &[f64],
    context: &Context<'_>,
) -> Result<f64, Error> {
    let mut total = 0.0;
    context.fold(
        table.n(),
        |range| {
            let mut norms = vec![0.0; range.len()];
            table.squared_norms(range.clone(), &mut norms);
            range.zip(norms).map(|(i, norm)| weights[i] * norm).sum::<f64>()
        },
        |part| total += part,
    )?;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::bipartite::GraphBuilder;
    use crate::graph::kinds;
    use crate::graph::layout::GraphLayout;
    use crate::params::Params;
    use obcut_core::choice::Named;
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;
    use obcut_core::random::Stream;

    /// Eq. obj-final with our penalties, term by term from its definition.
    fn naive(
        task: &Loop<'_>,
        x: &[f64],
        d: usize,
        weights: &[f64],
        state: &LoopState,
        first: &[f64],
        pull: f64,
    ) -> f64 {
        let (k, m) = (task.n_clusters, state.graph.n_cols);
        let mut sizes = vec![0.0; k];
        state.labels.iter().zip(weights).for_each(|(&l, w)| sizes[l as usize] += w);
        let mut value = 0.0;
        for (i, x) in x.chunks_exact(d).enumerate() {
            let (columns, values) = state.graph.row(i);
            let mut dense = vec![0.0; m];
            columns.iter().zip(values).for_each(|(&a, &v)| dense[a as usize] = v);
            for f in 0..d {
                let fitted: f64 = (0..m).map(|a| state.anchors[a * d + f] * dense[a]).sum();
                value += weights[i] * (x[f] - fitted).powi(2);
            }
            let j = state.labels[i] as usize;
            let q: f64 = (0..m)
                .map(|a| dense[a] * task.anchor_weights[a] * state.embedding[a * k + j])
                .sum();
            value -= task.lambda * weights[i] * q / sizes[j].sqrt();
            value += task.ridge * weights[i] * dense.iter().map(|b| b * b).sum::<f64>();
        }
        value + pull * state.anchors.iter().zip(first).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    }

    #[test]
    fn no_half_step_raises_the_objective_and_the_unknowns_keep_their_constraints() {
        let context = Context::new(2, &Silent).unwrap();
        for seed in 0..24u64 {
            // d above and below the number of anchors: unique rows and many solutions.
            let (n, d, m, k) = (60, [3, 25][seed as usize % 2], 12, 3);
            let stream = Stream::new(seed);
            let x = stream.values(n * d);
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
            let anchor_weights: Vec<f64> =
                stream.named("w").values(m).iter().map(|v| 1.0 + 0.5 * v).collect();
            let scaling = Scaling::identity(d);
            let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
            let graphs = kinds::all();
            let graph = graphs[seed as usize % graphs.len()];
            let params = Params { graph, ..Params::new(k) };
            let points = table.points(x[..m * d].to_vec());
            let first = points.values.clone();
            let b = GraphBuilder::new(&params, &GraphLayout::single(graph, m, 1), &points, 0.0)
                .build(&table, &points, &context)
                .unwrap();
            let labels: Vec<u32> = (0..n as u32).map(|i| i % k as u32).collect();
            let h = embedding::update(&b, &labels, &weights, &anchor_weights, k).unwrap();
            let mut state = LoopState { anchors: first.clone(), graph: b, labels, embedding: h };
            let task = Loop {
                n_clusters: k,
                lambda: [0.01, 0.3, 5.0][seed as usize / 2 % 3],
                learn_anchors: seed % 5 != 0,
                with_cut: true,
                anchor_update: AnchorUpdate::ALL[seed as usize / 3 % 2],
                pull: 0.05,
                solver: RowSolver::Exact,
                ridge: [0.0, 0.02][seed as usize / 4 % 2],
                support: if kinds::of(graph).unwrap().links_all_anchors() {
                    Support::All
                } else {
                    Support::Nearest(4)
                },
                max_iter: 12,
                tol: 0.0,
                stop_on_labels: false,
                anchor_weights: &anchor_weights,
            };
            let moments = LinkMoments::new(&table, &state.graph, &weights, &context).unwrap();
            let diagonal = (0..m).map(|a| moments.s[a * m + a]).sum::<f64>() / m as f64;
            let proximal = task.anchor_update == AnchorUpdate::Proximal && task.learn_anchors;
            let pull = if proximal { task.pull * diagonal } else { 0.0 };

            let start = naive(&task, &x, d, &weights, &state, &first, pull);
            let scale = total_square(&table, &weights, &context).unwrap();
            let visits = Visits { weights: &weights, order: None, max_sweeps: 10 };
            let (mut trace, mut last) = (Trace::new(), start);
            task.run(&table, visits, &mut state, &mut trace, &context, |step, value| {
                assert!(value <= last + 1e-10 * scale, "seed {seed}: {step} {last} -> {value}");
                last = value;
            })
            .unwrap();
            assert!((trace.objective[0] - start).abs() < 1e-10 * scale, "seed {seed}");
            let end = naive(&task, &x, d, &weights, &state, &first, pull);
            assert!((trace.objective[trace.n_iter()] - end).abs() < 1e-9 * scale, "seed {seed}");
            assert!(end < start);
            for i in 0..n {
                let (columns, values) = state.graph.row(i);
                assert!(columns.is_sorted() && values.iter().all(|v| *v > 0.0));
                assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
            let mut hh = vec![0.0; k * k];
            gemm::transposed_times(&state.embedding, &state.embedding, &mut hh, (k, k, m));
            for i in 0..k {
                for j in 0..k {
                    let expected = f64::from(u8::from(i == j));
                    assert!((hh[i * k + j] - expected).abs() < 1e-12);
                }
            }
            assert!((0..k as u32).all(|j| state.labels.contains(&j)));
        }
    }

    /// Rows between 0 and 1 as mixtures of anchors at 0 and 1e8: links of 1e-8, whose squares count as zero
    /// in the pseudo-inverse. Least squares would put both anchors in the middle.
    #[test]
    fn new_anchors_are_kept_only_where_the_objective_does_not_rise() {
        let (n, d, m, k) = (60, 1, 2, 2);
        let context = Context::new(1, &Silent).unwrap();
        let x = Stream::new(1).values(n).iter().map(|v| 0.2 + 0.6 * v.abs()).collect::<Vec<_>>();
        let (weights, ones) = (vec![1.0; n], vec![1.0; m]);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let first = vec![0.0, 1e8];
        let mut graph = Graph::empty(m);
        x.iter().for_each(|x| graph.push(&[0, 1], &[1.0 - x * 1e-8, x * 1e-8]));
        let labels: Vec<u32> = (0..n as u32).map(|i| i % k as u32).collect();
        let h = embedding::update(&graph, &labels, &weights, &ones, k).unwrap();
        let mut state = LoopState { anchors: first.clone(), graph, labels, embedding: h };
        let task = Loop {
            n_clusters: k,
            lambda: 1e-6,
            learn_anchors: true,
            with_cut: true,
            anchor_update: AnchorUpdate::LeastSquares,
            pull: 0.0,
            solver: RowSolver::Exact,
            ridge: 0.0,
            support: Support::All,
            max_iter: 3,
            tol: 0.0,
            stop_on_labels: false,
            anchor_weights: &ones,
        };
        let visits = Visits { weights: &weights, order: None, max_sweeps: 10 };
        let (mut last, mut worse) = (f64::INFINITY, 0.0_f64);
        task.run(&table, visits, &mut state, &mut Trace::new(), &context, |step, value| {
            if step == "A" {
                worse = worse.max(value - last);
            }
            last = value;
        })
        .unwrap();
        assert_eq!(worse, 0.0);
        assert_eq!(state.anchors, first);
        // What was turned down.
        let moments = LinkMoments::new(&table, &state.graph, &weights, &context).unwrap();
        let learned = anchors::least_squares(&moments, m, d).unwrap();
        let total = total_square(&table, &weights, &context).unwrap();
        assert!(moments.residual(&learned, m, d, total) > 1.0, "{learned:?}");
    }
}
