//! The label-free score of a labeling, on graphs of nearest rows.
//!
//! score = balance(labels)^e / cut(labels)
//!
//! - cut: one minus the mean association of the clusters, the share of a cluster's links that stay inside
//!   it, plus a small number, on two graphs: the [`FEW`] nearest rows with weights of one width for all
//!   rows, so that links across sparse ground count little, and the [`SOME`] nearest rows with the
//!   weights of the closed form. The geometric mean of the two counts. A cluster with hardly more rows
//!   than neighbors is looked at with fewer of them: the links of ten rows to their twenty nearest must
//!   leave the cluster, however far it stands apart.
//! - balance: the entropy of the cluster sizes over its largest value.
//! - e: the setting `balance` where nothing is cut, and up to 1 + [`CROWDED`] times as much where clusters
//!   touch. There the links cannot tell a small cluster from a splinter of a large one.
//!
//! A labeling that cuts nothing wins whatever its sizes; among those that cut alike, the balanced one does.
//! Where even the best labeling cuts many links to the nearest rows, these are unreliable, as among
//! documents, and [`MANY`] neighbors judge alone.

use crate::score::{size_entropy, sizes};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::graph::neighbors::{Neighbors, links, symmetric};
use obcut_core::parallel::Context;

/// Neighbors for clusters of less than [`TINY_ROWS`].
const FEWEST: usize = 5;
/// Neighbors of the graph with one width, and of the closed form for clusters of less than [`SMALL_ROWS`].
pub(crate) const FEW: usize = 10;
/// Neighbors of the graph with the closed form.
pub(crate) const SOME: usize = 20;
/// Neighbors where few are unreliable.
pub(crate) const MANY: usize = 50;
/// Distinct rows below which a cluster is judged by fewer neighbors.
const TINY_ROWS: usize = 15;
const SMALL_ROWS: usize = 30;
/// The neighbor whose median distance is the width.
const WIDTH_AT: usize = 5;
/// Added to a cut: what a cut of nothing counts as.
const NOTHING: f64 = 1e-3;
/// Cut on the graph of one width from which clusters touch in a table of [`MANY_ROWS`] or more, and how much more
/// balance counts there. The fewer rows, the larger is the share of them that lies at a border.
const TOUCHING: f64 = 0.007;
const MANY_ROWS: f64 = 5_000.0;
const CROWDED: f64 = 66.0;
/// Association on the graph of one width from which clusters stand apart, and the share of a cluster's
/// links to its few nearest rows that may leave it.
const APART: (f64, f64) = (0.9985, 0.05);
/// The links to the few nearest rows are unreliable when every labeling cuts this share of them in the mean
/// of its clusters, and the best one this share of all.
const UNRELIABLE: (f64, f64) = (0.05, 0.03);

/// Graphs that judge.
pub(crate) struct Scorer {
    /// One width: few and fewest neighbors.
    width: [Graph; 2],
    /// The closed form: some, few and fewest neighbors.
    closed: [Graph; 3],
    many: Graph,
    weights: Vec<f64>,
    k: usize,
}

/// What the graphs say of a labeling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// Association on the graphs: one width, few, some and many neighbors.
    pub width: f64,
    pub few: f64,
    pub some: f64,
    pub many: f64,
    /// Association of the cluster that has least of it, on few neighbors.
    pub least: f64,
    /// Share of all links to the few nearest rows that are cut.
    pub links_cut: f64,
    pub balance: f64,
    /// How much clusters touch, from 0, where nothing is cut, to 1.
    pub touching: f64,
}

impl Scorer {
    /// From the [`MANY`] + 1 nearest rows of every row.
    pub fn new(
        near: &Neighbors,
        weights: &[f64],
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let build = |which: usize| {
            let links = match which {
                0 => one_width(near, FEW),
                1 => one_width(near, FEWEST),
                2 => links(near, SOME),
                3 => links(near, FEW),
                4 => links(near, FEWEST),
                _ => links(near, MANY),
            };
            symmetric(&links, weights, &[])
        };
        let mut graphs = context.each(6, build)?.into_iter();
        let mut next = || graphs.next().expect("six graphs are built");
        Ok(Self {
            width: [next(), next()],
            closed: [next(), next(), next()],
            many: next(),
            weights: weights.to_vec(),
            k,
        })
    }

    /// What the graphs say of the labels.
    pub fn verdict(&self, labels: &[u32]) -> Verdict {
        let k = self.k;
        let mut rows = vec![0usize; k];
        labels.iter().for_each(|&label| rows[label as usize] += 1);
        let on = |graph: &Graph| associations(graph, labels, k);
        let width = self.width.each_ref().map(on);
        let closed = self.closed.each_ref().map(on);
        let mean = |of: &dyn Fn(usize) -> f64| (0..k).map(of).sum::<f64>() / k as f64;
        let (few, many) = (&closed[1], on(&self.many));
        let width = mean(&|j| width[usize::from(rows[j] < TINY_ROWS)][j]);
        Verdict {
            width,
            few: mean(&|j| few[j]),
            some: mean(&|j| {
                closed[usize::from(rows[j] < SMALL_ROWS) + usize::from(rows[j] < TINY_ROWS)][j]
            }),
            many: mean(&|j| many[j]),
            least: few.iter().copied().fold(1.0, f64::min),
            links_cut: links_cut(&self.closed[1], labels),
            balance: size_entropy(&sizes(labels, &self.weights, k)),
            touching: touching(width, labels.len()),
        }
    }
}

/// How much clusters touch that have this association on the graph of one width, in a table of `n` rows.
fn touching(width: f64, n: usize) -> f64 {
    let limit = TOUCHING * (MANY_ROWS / n as f64).max(1.0);
    ((1.0 - width).max(0.0) / limit).min(1.0)
}

/// Whether the nearest rows are unreliable: the best of all labelings cuts many of the links to them.
pub(crate) fn unreliable(verdicts: &[Verdict], g: f64) -> bool {
    let best = verdicts.iter().max_by(|a, b| a.score(g, false).total_cmp(&b.score(g, false)));
    let least = verdicts.iter().map(|v| 1.0 - v.few).fold(f64::INFINITY, f64::min);
    least > UNRELIABLE.0 && best.is_some_and(|best| best.links_cut > UNRELIABLE.1)
}

impl Verdict {
    /// The score, the larger the better; `g` is the setting `balance`.
    pub fn score(&self, g: f64, unreliable: bool) -> f64 {
        self.score_with(g * (1.0 + CROWDED * self.touching), unreliable)
    }

    /// The score of clusters that are known not to be splinters: sizes count alike wherever they touch.
    pub fn score_of_groups(&self, g: f64) -> f64 {
        self.score_with(g, false)
    }

    fn score_with(&self, exponent: f64, unreliable: bool) -> f64 {
        let cut = |association: f64| (1.0 - association).max(0.0) + NOTHING;
        let cut =
            if unreliable { cut(self.many) } else { (cut(self.width) * cut(self.some)).sqrt() };
        self.balance.max(0.0).powf(exponent) / cut
    }

    /// Whether all clusters stand apart from each other.
    pub fn is_apart(&self) -> bool {
        self.width >= APART.0 && self.least >= 1.0 - APART.1
    }
}

/// Links of every row to its `s` nearest, e^(-d/2m) with m the median squared distance to the fifth.
fn one_width(near: &Neighbors, s: usize) -> Graph {
    let n = near.n();
    let at = WIDTH_AT.min(near.count).max(1) - 1;
    let mut fifth: Vec<f64> = (0..n).filter_map(|i| near.of(i).get(at).map(|e| e.0)).collect();
    let middle = fifth.len() / 2;
    let width = if fifth.is_empty() {
        1.0
    } else {
        2.0 * *fifth.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    let mut graph = Graph::empty(n);
    let mut row: Vec<(u32, f64)> = Vec::new();
    for i in 0..n {
        let list = near.of(i);
        row.clear();
        row.extend(
            list[..s.min(list.len())]
                .iter()
                .map(|&(d, j)| (j, if width > 0.0 { (-d / width).exp() } else { 1.0 })),
        );
        row.retain(|e| e.1 > 0.0);
        row.sort_unstable_by_key(|e| e.0);
        graph.columns.extend(row.iter().map(|e| e.0));
        graph.values.extend(row.iter().map(|e| e.1));
        graph.offsets.push(graph.columns.len());
    }
    graph
}

/// Share of the links of every cluster that stay inside it; a cluster without links has 0.
fn associations(graph: &Graph, labels: &[u32], k: usize) -> Vec<f64> {
    let (mut inside, mut all) = (vec![0.0; k], vec![0.0; k]);
    for (i, &label) in labels.iter().enumerate() {
        let (columns, values) = graph.row(i);
        for (&j, v) in columns.iter().zip(values) {
            all[label as usize] += v;
            if labels[j as usize] == label {
                inside[label as usize] += v;
            }
        }
    }
    let share = |(inside, all): (&f64, &f64)| if *all > 0.0 { inside / all } else { 0.0 };
    inside.iter().zip(&all).map(share).collect()
}

/// Share of the weight of all links whose ends are in two clusters.
fn links_cut(graph: &Graph, labels: &[u32]) -> f64 {
    let (mut cut, mut all) = (0.0, 0.0);
    for (i, label) in labels.iter().enumerate() {
        let (columns, values) = graph.row(i);
        for (&j, v) in columns.iter().zip(values) {
            all += v;
            if labels[j as usize] != *label {
                cut += v;
            }
        }
    }
    if all > 0.0 { cut / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;
    use obcut_core::random::Stream;
    use obcut_core::table::Table;

    #[test]
    fn a_small_group_that_stands_apart_beats_two_halves() {
        let mut x = Stream::new(1).values(2 * 400);
        let far = x.len() - 2 * 15;
        x[far..].iter_mut().for_each(|v| *v += 30.0);
        let scaling = Scaling::identity(2);
        let table = Table::new(DenseRef::new(&x, 400, 2).unwrap().into(), &scaling);
        let context = Context::new(1, &Silent).unwrap();
        let near = Neighbors::exact(&table, MANY + 1, &context).unwrap();
        let judge = Scorer::new(&near, &vec![1.0; 400], 2, &context).unwrap();
        let apart: Vec<u32> = (0..400).map(|i| u32::from(i >= 385)).collect();
        let halves: Vec<u32> = (0..400).map(|i| u32::from(x[2 * i] > 0.0)).collect();
        let (apart, halves) = (judge.verdict(&apart), judge.verdict(&halves));
        assert!(!unreliable(&[apart, halves], 0.5));
        assert!(apart.score(0.5, false) > 2.0 * halves.score(0.5, false), "{apart:?} {halves:?}");
        assert!(apart.balance < 0.3 && halves.balance > 0.9);
    }

    #[test]
    fn ten_rows_far_away_cut_nothing() {
        let mut x = Stream::new(4).values(2 * 300);
        let far = x.len() - 2 * 10;
        x[far..].iter_mut().for_each(|v| *v += 6.0);
        let scaling = Scaling::identity(2);
        let table = Table::new(DenseRef::new(&x, 300, 2).unwrap().into(), &scaling);
        let context = Context::new(1, &Silent).unwrap();
        let near = Neighbors::exact(&table, MANY + 1, &context).unwrap();
        let judge = Scorer::new(&near, &vec![1.0; 300], 2, &context).unwrap();
        let labels: Vec<u32> = (0..300).map(|i| u32::from(i >= 290)).collect();
        let verdict = judge.verdict(&labels);
        assert!(verdict.width > 1.0 - 1e-9 && verdict.some > 0.999, "{verdict:?}");
        // Links to the twenty nearest rows must lead elsewhere.
        let twenty =
            associations(&symmetric(&links(&near, SOME), &vec![1.0; 300], &[]), &labels, 2);
        assert!(twenty[1] < 0.99, "{twenty:?}");
        let halves: Vec<u32> = (0..300).map(|i| u32::from(x[2 * i] > 0.0)).collect();
        assert!(verdict.score(0.25, false) > judge.verdict(&halves).score(0.25, false));
    }

    #[test]
    fn balance_counts_more_where_clusters_touch() {
        let verdict = |width: f64, balance: f64| Verdict {
            width,
            few: width,
            some: width,
            many: width,
            least: width,
            links_cut: 0.0,
            balance,
            touching: touching(width, 10_000),
        };
        // Nothing is cut: a tenth of the balance costs little.
        let apart = verdict(1.0, 0.5).score(0.25, false) / verdict(1.0, 1.0).score(0.25, false);
        assert!((apart - 0.5f64.powf(0.25)).abs() < 1e-12);
        let crowded = verdict(0.95, 0.8).score(0.25, false) / verdict(0.95, 1.0).score(0.25, false);
        assert!((crowded - 0.8f64.powf(0.25 * (1.0 + CROWDED))).abs() < 1e-12);
        assert_eq!(verdict(0.95, 0.8).score(0.0, false), verdict(0.95, 1.0).score(0.0, false));
        // The same cut means less in a small table.
        assert!((touching(0.993, 5_000) - 1.0).abs() < 1e-9 && touching(0.9, 20_000) == 1.0);
        assert!((touching(0.993, 500) - 0.1).abs() < 1e-9 && touching(1.0, 500) == 0.0);
    }

    #[test]
    fn the_association_is_the_share_of_links_inside() {
        let mut graph = Graph::empty(3);
        graph.push(&[1, 2], &[3.0, 1.0]);
        graph.push(&[0], &[3.0]);
        graph.push(&[0], &[1.0]);
        // Cluster 0: 6 of 7; cluster 1: none of 1.
        let found = associations(&graph, &[0, 0, 1], 2);
        assert!((found[0] - 6.0 / 7.0).abs() < 1e-12 && found[1] == 0.0, "{found:?}");
        assert!((links_cut(&graph, &[0, 0, 1]) - 0.25).abs() < 1e-12);
    }
}
