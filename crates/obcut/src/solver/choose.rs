//! The automatic choice among graphs and starts, without labels.
//!
//! Every way is cut on the same rows, and its labels are judged on all graphs alike: the product of
//! their associations (see [`super::score`]) times the entropy of the cluster sizes. A graph of
//! nearest anchors that falls into exactly k sizeable pieces needs no judgement: only labels that cut (next
//! to) none of its edges are admitted then.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::graph::Graph;
use crate::graph::components::n_sizeable;
use crate::graph::layout::join;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::solver::init;
use crate::solver::params::GraphKind;
use crate::solver::plan::{Way, WayStart};
use crate::solver::problem::{Labelled, Problem};
use crate::solver::score::{association, size_entropy, sizes};

/// Association above which labels count as cutting no edge.
const UNCUT: f64 = 0.999;

/// Scores that differ by less, as a part, are those of the same labels but for a few rows.
const SAME: f64 = 2e-3;

/// A way that was tried, with what the choice went by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Kinds of links, joined by a plus.
    pub graph: String,
    /// Where the labels started.
    pub start: String,
    /// The label-free score, the larger the better.
    pub score: f64,
    /// Association of the labels with themselves on every graph that judges: its kind and a number
    /// up to 1, which means that no edge is cut.
    pub association: Vec<(String, f64)>,
    /// Entropy of the cluster sizes, 1 when they are equal.
    pub balance: f64,
    /// Whether it was ruled out since a graph falls into exactly k pieces that it cuts.
    pub ruled_out: bool,
    /// Whether it was kept.
    pub kept: bool,
}

/// The outcome of a trial.
pub(crate) struct Choice {
    /// Position of the way that is kept.
    pub way: usize,
    pub labelled: Labelled,
    pub tried: Vec<Tried>,
    pub score: f64,
}

impl Problem<'_> {
    /// Tries all ways, with the graphs of all sources.
    pub fn choose(
        &self,
        sources: &[Graph],
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Choice, Error> {
        let (ways, rows) = (&self.plan.ways, self.rows);
        let means = if ways.iter().any(|w| w.start == WayStart::KMeans) {
            Some(init::k_means(rows, self.params, stream, context)?)
        } else {
            None
        };
        let (quiet, done) = (context.quietly(), AtomicUsize::new(0));
        let judged = context.each(ways.len(), |w| {
            let graph = self.join(&ways[w], sources);
            let start = self.start(&graph, &ways[w], means.as_deref(), anchors, stream, &quiet)?;
            let labelled = self.cut(&graph, start, stream, &quiet)?;
            let tried = self.judge(&ways[w], &labelled.labels, rows.weights, sources);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            context.report(Stage::Choose, done, ways.len(), None)?;
            Ok::<_, Error>((labelled, tried))
        })?;
        let (mut labelled, mut tried): (Vec<Labelled>, Vec<Tried>) =
            judged.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        self.rule_out(&mut tried, sources, rows.weights);
        let mut way = 0;
        for (w, other) in tried.iter().enumerate() {
            let best = &tried[way];
            if (!other.ruled_out, other.score) > (!best.ruled_out, best.score) {
                way = w;
            }
        }
        // What was tried on a part of the rows goes on with all of them: of ways that find the same, the
        // cheapest is gone. They stand in that order.
        if rows.table.n() < self.plan.n_units {
            let enough = tried[way].score * (1.0 - SAME);
            let best = &tried[way];
            let as_good = |t: &Tried| t.ruled_out == best.ruled_out && t.score >= enough;
            way = tried.iter().position(as_good).unwrap_or(way);
        }
        tried[way].kept = true;
        let score = tried[way].score;
        Ok(Choice { way, labelled: labelled.swap_remove(way), tried, score })
    }

    /// The graph of a way.
    pub fn join<'g>(&self, way: &Way, sources: &'g [Graph]) -> Cow<'g, Graph> {
        match way.sources[..] {
            [one] => Cow::Borrowed(&sources[one]),
            _ => {
                let graphs: Vec<&Graph> = way.sources.iter().map(|&s| &sources[s]).collect();
                Cow::Owned(join(&graphs, way.share()))
            }
        }
    }

    fn judge(&self, way: &Way, labels: &[u32], weights: &[f64], sources: &[Graph]) -> Tried {
        let k = self.params.n_clusters;
        let association: Vec<(String, f64)> = (self.plan.sources.iter().zip(sources))
            .map(|(part, graph)| {
                (part.kind.name().to_string(), association(graph, labels, weights, k))
            })
            .collect();
        let balance = size_entropy(&sizes(labels, weights, k));
        Tried {
            graph: self.plan.layout(way).name(),
            start: way.start.name().into(),
            score: association.iter().map(|a| a.1).product::<f64>() * balance,
            association,
            balance,
            ruled_out: false,
            kept: false,
        }
    }

    /// Rules out what cuts a graph that is in exactly k pieces, unless that would leave nothing.
    fn rule_out(&self, tried: &mut [Tried], sources: &[Graph], weights: &[f64]) {
        let k = self.params.n_clusters;
        for (s, (part, graph)) in self.plan.sources.iter().zip(sources).enumerate() {
            if part.kind == GraphKind::Global || k == 1 {
                continue;
            }
            if n_sizeable(graph, weights, k) == k
                && tried.iter().any(|t| !t.ruled_out && t.association[s].1 >= UNCUT)
            {
                tried.iter_mut().for_each(|t| t.ruled_out |= t.association[s].1 < UNCUT);
            }
        }
    }
}
