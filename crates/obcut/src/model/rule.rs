//! The rule that labels a row from its links to the anchors, and the labels that agree with it.
//!
//! Joining cluster j changes the cut by about q_j / sqrt(n_j) - s_j / (2 n_j^1.5) per unit of weight,
//! the derivative of s_j / sqrt(n_j) with H, the sums s and the sizes n frozen. A row goes where that is
//! largest. It is a function of the row alone, so a fit that ends with the labels this rule gives
//! has a model that repeats them.

use serde::{Deserialize, Serialize};

use crate::update::embedding;
use crate::update::labels::Clusters;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::linalg::simd::vectorised;
use obcut_core::parallel::Context;

/// A frozen state of the cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DecisionRule {
    pub n_clusters: usize,
    /// H, M × k.
    pub embedding: Vec<f64>,
    pub anchor_weights: Vec<f64>,
    pub sums: Vec<f64>,
    pub sizes: Vec<f64>,
    /// Added to the gains; non-zero only where a cluster would have stayed empty.
    pub boost: Vec<f64>,
}

/// A prepared rule.
pub(crate) struct Labeller {
    weighted: Vec<f64>,
    slope: Vec<f64>,
    level: Vec<f64>,
}

/// Cluster of a row, and how sure and how usual it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowScore {
    /// The cluster of the row.
    pub label: u32,
    /// The cluster it would join otherwise; the same one when there is only one cluster.
    pub second: u32,
    /// How much better the first is than the second: the difference of their gains in the cut times
    /// the root of the average cluster size. 0 on the border, about 1 for a row of a clear cluster.
    pub margin: f64,
    /// How sure the label is, from 0 on the border of two clusters to 1 inside one: the difference of the
    /// two largest probabilities ([`crate::Prediction::probabilities`]).
    pub confidence: f64,
    /// Distance to the other rows in units of what is usual in its cluster: about 1 for most rows,
    /// larger for outlying ones.
    pub outlier: f64,
    /// Whether the outlier score is above the threshold of the model, if it has one.
    pub noise: bool,
}

impl RowScore {
    /// The cluster of the row, or -1 if it is noise.
    pub fn label_or_noise(&self) -> i32 {
        if self.noise { -1 } else { self.label as i32 }
    }
}

impl DecisionRule {
    /// The rule at given labels.
    pub fn at(
        graph: &Graph,
        labels: &[u32],
        weights: &[f64],
        anchor_weights: &[f64],
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let h = embedding::update(graph, labels, weights, anchor_weights, k)?;
        let weighted = embedding::weighted(&h, anchor_weights, k);
        let clusters = Clusters::new(graph, &weighted, labels, weights, k, context)?;
        Ok(Self {
            n_clusters: k,
            embedding: h,
            anchor_weights: anchor_weights.to_vec(),
            sums: clusters.sums,
            sizes: clusters.sizes,
            boost: vec![0.0; k],
        })
    }

    /// The rule by votes: every anchor stands for the clusters of the rows that are linked to it, in the
    /// shares of their links, and a row goes where most of its links lead. The gains of a row are its
    /// shares of all clusters: not negative, and one in sum.
    pub fn votes(graph: &Graph, labels: &[u32], weights: &[f64], k: usize) -> Self {
        let mut links = vec![0.0; graph.n_cols * k];
        for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
            let (columns, values) = graph.row(i);
            for (&m, v) in columns.iter().zip(values) {
                links[m as usize * k + label as usize] += w * v;
            }
        }
        Self::of_links(links, k)
    }

    /// Share of the weight that the votes of all other rows would label otherwise: how the rule does on rows
    /// that it has not seen.
    pub fn left_out_error(graph: &Graph, labels: &[u32], weights: &[f64], k: usize) -> f64 {
        let mut links = vec![0.0; graph.n_cols * k];
        for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
            let (columns, values) = graph.row(i);
            for (&m, v) in columns.iter().zip(values) {
                links[m as usize * k + label as usize] += w * v;
            }
        }
        let degrees: Vec<f64> = links.chunks_exact(k).map(|row| row.iter().sum()).collect();
        let (mut wrong, mut total) = (0.0, 0.0);
        let mut gains = vec![0.0; k];
        for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
            let (columns, values) = graph.row(i);
            gains.fill(0.0);
            for (&m, v) in columns.iter().zip(values) {
                let (m, own) = (m as usize, w * v);
                let rest = degrees[m] - own;
                if rest > 1e-12 * degrees[m] {
                    let shares = &links[m * k..(m + 1) * k];
                    gains.iter_mut().zip(shares).for_each(|(g, s)| *g += v * s / rest);
                    gains[label as usize] -= v * own / rest;
                }
            }
            total += w;
            if best(&gains) != label as usize {
                wrong += w;
            }
        }
        if total > 0.0 { wrong / total } else { 0.0 }
    }

    /// The same from the links of every anchor to every cluster, B'Y (M × k).
    pub fn of_links(mut shares: Vec<f64>, k: usize) -> Self {
        let n_columns = shares.len() / k;
        for row in shares.chunks_exact_mut(k) {
            let total: f64 = row.iter().sum();
            // An anchor without rows stands for all clusters alike.
            row.iter_mut().for_each(|v| *v = if total > 0.0 { *v / total } else { 1.0 / k as f64 });
        }
        Self {
            n_clusters: k,
            embedding: shares,
            anchor_weights: vec![1.0; n_columns],
            sums: vec![0.0; k],
            sizes: vec![1.0; k],
            boost: vec![0.0; k],
        }
    }

    /// Whether gains are shares of votes; rules of old files are states of the cut.
    pub fn is_by_votes(&self) -> bool {
        self.sizes.iter().all(|&n| n == 1.0)
            && self.sums.iter().chain(&self.boost).all(|&v| v == 0.0)
            && self.anchor_weights.iter().all(|&w| w == 1.0)
    }

    pub fn labeller(&self) -> Labeller {
        let weighted = embedding::weighted(&self.embedding, &self.anchor_weights, self.n_clusters);
        let slope =
            self.sizes.iter().map(|&n| if n > 0.0 { 1.0 / n.sqrt() } else { 0.0 }).collect();
        let level = (0..self.n_clusters)
            .map(|j| {
                let n = self.sizes[j];
                let level = if n > 0.0 { self.sums[j] / (2.0 * n * n.sqrt()) } else { 0.0 };
                level - self.boost[j]
            })
            .collect();
        Labeller { weighted, slope, level }
    }

    pub fn label(&self, graph: &Graph, context: &Context<'_>) -> Result<Vec<u32>, Error> {
        let labeller = self.labeller();
        let mut labels = vec![0; graph.n_rows()];
        context.map_into(graph.n_rows(), &mut labels, 1, |range, out| {
            let mut gains = vec![0.0; self.n_clusters];
            vectorised(
                #[inline(always)]
                || {
                    for (i, out) in range.zip(out) {
                        labeller.gains(graph.row(i), &mut gains);
                        *out = best(&gains) as u32;
                    }
                },
            );
        })?;
        Ok(labels)
    }
}

impl Labeller {
    /// Gain of every cluster for a row of the graph.
    #[inline(always)]
    pub fn gains(&self, row: (&[u32], &[f64]), out: &mut [f64]) {
        embedding::row_scores(row, &self.weighted, out.len(), out);
        for (q, (slope, level)) in out.iter_mut().zip(self.slope.iter().zip(&self.level)) {
            *q = *q * slope - level;
        }
    }
}

/// The largest, ties to the lower index.
#[inline(always)]
pub(crate) fn best(values: &[f64]) -> usize {
    const LANES: usize = 8;
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] = if chunk[l] > lanes[l] { chunk[l] } else { lanes[l] };
        }
    }
    let top = lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    values.iter().position(|&v| v == top).unwrap_or(0)
}

/// Best, second best and their margin times `unit`; the other figures take more than gains.
pub(crate) fn top_two(values: &[f64], unit: f64) -> RowScore {
    let first = best(values);
    let mut second = first;
    for (j, v) in values.iter().enumerate() {
        if j != first && (second == first || *v > values[second]) {
            second = j;
        }
    }
    let margin = if second == first { 1.0 } else { (values[first] - values[second]) * unit };
    let (label, second) = (first as u32, second as u32);
    RowScore { label, second, margin, confidence: 0.0, outlier: 0.0, noise: false }
}

pub(crate) fn has_empty(labels: &[u32], k: usize) -> bool {
    let mut seen = vec![false; k];
    labels.iter().for_each(|&l| seen[l as usize] = true);
    seen.contains(&false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::observer::Silent;
    use obcut_core::random::Stream;

    fn some_graph(n: usize, m: usize) -> (Graph, Vec<u32>, Vec<f64>) {
        let draw = Stream::new(2).values(4 * n);
        let mut graph = Graph::empty(m);
        for i in 0..n {
            let a = (i * 7 % (m - 1)) as u32;
            let share = 0.25 + 0.25 * draw[i].abs();
            graph.push(&[a, a + 1], &[share, 1.0 - share]);
        }
        let labels = (0..n).map(|i| u32::from(draw[n + i] > 0.2) + u32::from(i % 5 == 0)).collect();
        let weights = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        (graph, labels, weights)
    }

    #[test]
    fn votes_are_the_shares_of_the_links_of_every_anchor() {
        let (graph, labels, weights) = some_graph(60, 9);
        let rule = DecisionRule::votes(&graph, &labels, &weights, 3);
        for m in 0..9u32 {
            let mut shares = [0.0; 3];
            for i in 0..60 {
                let (columns, values) = graph.row(i);
                if let Some(at) = columns.iter().position(|&c| c == m) {
                    shares[labels[i] as usize] += weights[i] * values[at];
                }
            }
            let total: f64 = shares.iter().sum();
            for j in 0..3 {
                let found = rule.embedding[m as usize * 3 + j];
                assert!((found - shares[j] / total).abs() < 1e-12);
            }
        }
        let (labeller, mut gains) = (rule.labeller(), vec![0.0; 3]);
        labeller.gains(graph.row(4), &mut gains);
        assert!((gains.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(gains.iter().all(|g| *g >= 0.0));
    }

    #[test]
    fn the_error_of_left_out_rows_is_that_of_rules_without_them() {
        let (graph, labels, weights) = some_graph(60, 9);
        let context = Context::new(1, &Silent).unwrap();
        let mut wrong = 0.0;
        for i in 0..60 {
            let without: Vec<f64> =
                weights.iter().enumerate().map(|(u, w)| if u == i { 0.0 } else { *w }).collect();
            let rule = DecisionRule::votes(&graph, &labels, &without, 3);
            if rule.label(&graph, &context).unwrap()[i] != labels[i] {
                wrong += weights[i];
            }
        }
        let plain = wrong / weights.iter().sum::<f64>();
        let found = DecisionRule::left_out_error(&graph, &labels, &weights, 3);
        assert!((found - plain).abs() < 1e-12 && plain > 0.0, "{found} {plain}");
    }
}
