//! The rule that labels a row from its links to the anchors, and the labels that agree with it.
//!
//! Joining cluster j changes the cut by about q_j / sqrt(n_j) - s_j / (2 n_j^1.5) per unit of weight,
//! the derivative of s_j / sqrt(n_j) with H, the sums s and the sizes n frozen. A row goes where that is
//! largest. It is a function of the row alone, so a fit that ends with the labels this rule gives
//! has a model that repeats them.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::graph::Graph;
use crate::linalg::simd::vectorised;
use crate::parallel::Context;
use crate::solver::update::embedding;
use crate::solver::update::labels::Clusters;

/// Rounds of labelling by the rule and making the rule from the labels.
const ROUNDS: usize = 20;

/// A frozen state of the cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub n_clusters: usize,
    /// H, M × k.
    pub embedding: Vec<f64>,
    pub anchor_weights: Vec<f64>,
    pub sums: Vec<f64>,
    pub sizes: Vec<f64>,
    /// Added to the gains; non-zero only where a cluster would have stayed empty.
    pub boost: Vec<f64>,
}

/// A rule made ready for use.
pub(crate) struct Labeller {
    weighted: Vec<f64>,
    slope: Vec<f64>,
    level: Vec<f64>,
}

/// Best and second-best cluster of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowScore {
    /// The cluster of the row.
    pub label: u32,
    /// The cluster it would join otherwise; the same one when there is only one cluster.
    pub second: u32,
    /// How much better the first is than the second: the difference of their gains in the cut times
    /// the root of the average cluster size. 0 on the border, about 1 for a row of a clear cluster.
    pub margin: f64,
}

impl Rule {
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

    /// Rounds of rule and labels until they agree; the labels are always those of the rule. `None`
    /// when no rule keeps all clusters non-empty.
    pub fn settle(
        graph: &Graph,
        start: &[u32],
        weights: &[f64],
        anchor_weights: &[f64],
        k: usize,
        context: &Context<'_>,
    ) -> Result<Option<(Self, Vec<u32>)>, Error> {
        let mut labels = start.to_vec();
        for round in 0..ROUNDS {
            let mut rule = Self::at(graph, &labels, weights, anchor_weights, k, context)?;
            let mut next = rule.label(graph, context)?;
            if has_empty(&next, k) {
                return Ok(rule.fill(graph, &mut next, context)?.then_some((rule, next)));
            }
            if next == labels || round + 1 == ROUNDS {
                return Ok(Some((rule, next)));
            }
            labels = next;
        }
        unreachable!("the last round returns")
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

    /// Raises the boost of empty clusters until each takes the row that needs the least.
    fn fill(
        &mut self,
        graph: &Graph,
        labels: &mut Vec<u32>,
        context: &Context<'_>,
    ) -> Result<bool, Error> {
        let k = self.n_clusters;
        for _ in 0..2 * k {
            let mut counts = vec![0u32; k];
            labels.iter().for_each(|&l| counts[l as usize] += 1);
            let Some(empty) = counts.iter().position(|&c| c == 0) else {
                return Ok(true);
            };
            let labeller = self.labeller();
            let mut gains = vec![0.0; k];
            let mut least = f64::INFINITY;
            for i in 0..graph.n_rows() {
                let own = labels[i] as usize;
                if counts[own] > 1 {
                    labeller.gains(graph.row(i), &mut gains);
                    least = least.min(gains[own] - gains[empty]);
                }
            }
            if !least.is_finite() {
                return Ok(false);
            }
            // A little more than needed, so that rounding cannot undo it.
            self.boost[empty] += least + 1e-12 * (1.0 + least.abs());
            *labels = self.label(graph, context)?;
        }
        Ok(!has_empty(labels, k))
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

/// Best, second best and their margin times `unit`.
pub(crate) fn top_two(values: &[f64], unit: f64) -> RowScore {
    let first = best(values);
    let mut second = first;
    for (j, v) in values.iter().enumerate() {
        if j != first && (second == first || *v > values[second]) {
            second = j;
        }
    }
    let margin = if second == first { 1.0 } else { (values[first] - values[second]) * unit };
    RowScore { label: first as u32, second: second as u32, margin }
}

pub(crate) fn has_empty(labels: &[u32], k: usize) -> bool {
    let mut seen = vec![false; k];
    labels.iter().for_each(|&l| seen[l as usize] = true);
    seen.contains(&false)
}
