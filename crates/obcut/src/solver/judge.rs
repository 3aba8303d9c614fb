//! The label-free score of a labelling, on graphs of nearest rows.
//!
//! score = balance(labels)^g / cut(labels)
//!
//! - cut: one minus the mean association of the clusters, the share of a cluster's links that stay inside
//!   it, plus a small number, on two graphs: the [`FEW`] nearest rows with weights of one width for all
//!   rows, so that links across sparse ground count little, and the [`SOME`] nearest rows with the
//!   weights of the closed form. The geometric mean of the two counts.
//! - balance: the entropy of the cluster sizes over its largest value.
//!
//! A labelling that cuts nothing wins whatever its sizes; among those that cut alike, the balanced one does.
//! Where even the best labelling cuts many links to the nearest rows, these are unreliable, as among
//! documents, and [`MANY`] neighbours judge alone.

use crate::error::Error;
use crate::graph::Graph;
use crate::graph::neighbors::{Neighbors, links, symmetric};
use crate::parallel::Context;
use crate::solver::score::{size_entropy, sizes};

/// Neighbours of the graph with one width.
pub(crate) const FEW: usize = 10;
/// Neighbours of the graph with the closed form.
pub(crate) const SOME: usize = 20;
/// Neighbours where few are unreliable.
pub(crate) const MANY: usize = 50;
/// The neighbour whose median distance is the width.
const WIDTH_AT: usize = 5;
/// Added to a cut: what a cut of nothing counts as.
const NOTHING: f64 = 1e-3;
/// The links to the few nearest rows are unreliable when every labelling cuts this share of them in the mean
/// of its clusters, and the best one this share of all.
const UNRELIABLE: (f64, f64) = (0.05, 0.03);

/// Graphs that judge.
pub(crate) struct Judge {
    width: Graph,
    few: Graph,
    some: Graph,
    many: Graph,
    weights: Vec<f64>,
    k: usize,
}

/// What the graphs say of a labelling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// Association on the graphs: one width, few, some and many neighbours.
    pub width: f64,
    pub few: f64,
    pub some: f64,
    pub many: f64,
    /// Share of all links to the few nearest rows that are cut.
    pub links_cut: f64,
    pub balance: f64,
}

impl Judge {
    /// From the [`MANY`] + 1 nearest rows of every row.
    pub fn new(
        near: &Neighbors,
        weights: &[f64],
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let build = |which: usize| match which {
            0 => symmetric(&one_width(near), weights, &[]),
            1 => symmetric(&links(near, FEW), weights, &[]),
            2 => symmetric(&links(near, SOME), weights, &[]),
            _ => symmetric(&links(near, MANY), weights, &[]),
        };
        let mut graphs = context.each(4, build)?.into_iter();
        let mut next = || graphs.next().expect("four graphs are built");
        Ok(Self {
            width: next(),
            few: next(),
            some: next(),
            many: next(),
            weights: weights.to_vec(),
            k,
        })
    }

    /// What the graphs say of the labels.
    pub fn verdict(&self, labels: &[u32]) -> Verdict {
        let on = |graph: &Graph| association(graph, labels, self.k);
        Verdict {
            width: on(&self.width),
            few: on(&self.few),
            some: on(&self.some),
            many: on(&self.many),
            links_cut: links_cut(&self.few, labels),
            balance: size_entropy(&sizes(labels, &self.weights, self.k)),
        }
    }
}

/// Whether the nearest rows are unreliable: the best of all labellings cuts many of the links to them.
pub(crate) fn unreliable(verdicts: &[Verdict], g: f64) -> bool {
    let best = verdicts.iter().max_by(|a, b| a.score(g, false).total_cmp(&b.score(g, false)));
    let least = verdicts.iter().map(|v| 1.0 - v.few).fold(f64::INFINITY, f64::min);
    least > UNRELIABLE.0 && best.is_some_and(|best| best.links_cut > UNRELIABLE.1)
}

impl Verdict {
    /// The score, the larger the better; `g` is the power of the balance.
    pub fn score(&self, g: f64, unreliable: bool) -> f64 {
        let cut = |association: f64| (1.0 - association).max(0.0) + NOTHING;
        let cut =
            if unreliable { cut(self.many) } else { (cut(self.width) * cut(self.some)).sqrt() };
        self.balance.max(0.0).powf(g) / cut
    }
}

/// Links of every row to its [`FEW`] nearest, e^(-d/2m) with m the median squared distance to the fifth.
fn one_width(near: &Neighbors) -> Graph {
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
            list[..FEW.min(list.len())]
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

/// Mean over the clusters of the share of their links that stay inside; a cluster without links has 0.
pub(crate) fn association(graph: &Graph, labels: &[u32], k: usize) -> f64 {
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
    inside.iter().zip(&all).map(share).sum::<f64>() / k as f64
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
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;
    use crate::random::Stream;
    use crate::table::Table;

    #[test]
    fn a_small_group_that_stands_apart_beats_two_halves() {
        let mut x = Stream::new(1).values(2 * 400);
        let far = x.len() - 2 * 15;
        x[far..].iter_mut().for_each(|v| *v += 30.0);
        let scaling = Scaling::identity(2);
        let table = Table::new(DenseRef::new(&x, 400, 2).unwrap().into(), &scaling);
        let context = Context::new(1, &Silent).unwrap();
        let near = Neighbors::exact(&table, MANY + 1, &context).unwrap();
        let judge = Judge::new(&near, &vec![1.0; 400], 2, &context).unwrap();
        let apart: Vec<u32> = (0..400).map(|i| u32::from(i >= 385)).collect();
        let halves: Vec<u32> = (0..400).map(|i| u32::from(x[2 * i] > 0.0)).collect();
        let (apart, halves) = (judge.verdict(&apart), judge.verdict(&halves));
        assert!(!unreliable(&[apart, halves], 0.5));
        assert!(apart.score(0.5, false) > 2.0 * halves.score(0.5, false), "{apart:?} {halves:?}");
        assert!(apart.balance < 0.3 && halves.balance > 0.9);
    }

    #[test]
    fn the_association_is_the_share_of_links_inside() {
        let mut graph = Graph::empty(3);
        graph.push(&[1, 2], &[3.0, 1.0]);
        graph.push(&[0], &[3.0]);
        graph.push(&[0], &[1.0]);
        // Cluster 0: 6 of 7; cluster 1: none of 1.
        let found = association(&graph, &[0, 0, 1], 2);
        assert!((found - 3.0 / 7.0).abs() < 1e-12, "{found}");
        assert!((links_cut(&graph, &[0, 0, 1]) - 0.25).abs() < 1e-12);
    }
}
