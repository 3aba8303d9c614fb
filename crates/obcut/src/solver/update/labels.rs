//! Update of Y with A, B, H fixed: Eqs. `eq:upY`, `eq:upY1`, `eq:UpdateY`.
//!
//! | paper  | here     | shape                 |
//! |--------|----------|-----------------------|
//! | Y      | `labels` | N, each in `0..k`     |
//! | Q = BH | `scores` | N × k, row-major      |
//! | y'y    | `sizes`  | k, sums of weights    |
//!
//! Differs from print: the equation for Delta_ij adds `q_ij y_ij` in its second numerator; taking a
//! sample out of its cluster must subtract it, as the authors' program does. The last sample of a
//! cluster stays where it is, so no cluster is ever emptied. A sample of weight w moves as one.

use std::ops::Range;

use crate::error::Error;
use crate::graph::Graph;
use crate::linalg::simd::{largest_sum, vectorised};
use crate::parallel::Context;
use crate::random::{Stream, shuffled};
use crate::solver::cutting::Visits;
use crate::solver::update::embedding::row_scores;

/// Samples whose scores are computed at a time, side by side, before they are visited one by one.
const BATCH: usize = 2048;
/// Relative slack of the bounds that let samples be passed over: well above rounding.
const SLACK: f64 = 1e-9;

/// Sums of scores and sizes of all clusters.
#[derive(Clone, Debug)]
pub(crate) struct Clusters {
    /// Weighted sum of q_ij over the members of j.
    pub sums: Vec<f64>,
    /// Sum of the members' weights.
    pub sizes: Vec<f64>,
    /// Number of members.
    pub counts: Vec<u32>,
}

impl Clusters {
    /// The sums at given labels, with scores Q = B `weighted` (`weighted` is diag(w)H, M × k).
    pub fn new(
        graph: &Graph,
        weighted: &[f64],
        labels: &[u32],
        weights: &[f64],
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let mut all = Self { sums: vec![0.0; k], sizes: vec![0.0; k], counts: vec![0; k] };
        context.fold(
            graph.n_rows(),
            |range| {
                let mut part = Self { sums: vec![0.0; k], sizes: vec![0.0; k], counts: vec![0; k] };
                for i in range {
                    let j = labels[i] as usize;
                    let (columns, values) = graph.row(i);
                    let own =
                        columns.iter().zip(values).map(|(&m, v)| v * weighted[m as usize * k + j]);
                    part.add(j, own.sum(), weights[i]);
                }
                part
            },
            |part| {
                for j in 0..k {
                    all.sums[j] += part.sums[j];
                    all.sizes[j] += part.sizes[j];
                    all.counts[j] += part.counts[j];
                }
            },
        )?;
        Ok(all)
    }

    fn add(&mut self, j: usize, q: f64, w: f64) {
        self.sums[j] += w * q;
        self.sizes[j] += w;
        self.counts[j] += 1;
    }

    fn remove(&mut self, j: usize, q: f64, w: f64) {
        self.sums[j] -= w * q;
        self.sizes[j] -= w;
        self.counts[j] -= 1;
    }

    /// The cut: Tr((Y'Y)^-1/2 Y'BH).
    pub fn cut(&self) -> f64 {
        self.sums
            .iter()
            .zip(&self.sizes)
            .map(|(s, n)| if *n > 0.0 { s / n.sqrt() } else { 0.0 })
            .sum()
    }
}

/// What a sample of weight w gains in every cluster, as a straight line in its score:
/// Delta_ij = s/sqrt(n + w) - s/sqrt(n) + q w/sqrt(n + w). Two lines change when a sample moves.
struct Gains {
    w: f64,
    level: Vec<f64>,
    slope: Vec<f64>,
    /// By how much the gain in a cluster may have risen so far, for any score.
    risen: Vec<f64>,
    /// A bound of the scores.
    largest: f64,
}

impl Gains {
    fn new(clusters: &Clusters, w: f64, largest: f64) -> Self {
        let k = clusters.sums.len();
        let mut gains =
            Self { w, level: vec![0.0; k], slope: vec![0.0; k], risen: vec![0.0; k], largest };
        gains.set(clusters, w);
        gains
    }

    /// All lines for samples of weight `w`.
    fn set(&mut self, clusters: &Clusters, w: f64) {
        self.w = w;
        (0..self.level.len()).for_each(|j| self.update(clusters, j));
    }

    fn update(&mut self, clusters: &Clusters, j: usize) {
        let (s, n) = (clusters.sums[j], clusters.sizes[j]);
        let root = 1.0 / (n + self.w).sqrt();
        // A cluster that lost its last sample for a moment has no level.
        let level = if clusters.counts[j] > 0 { s * (root - 1.0 / n.sqrt()) } else { 0.0 };
        let slope = self.w * root;
        let rise = (level - self.level[j]).max(0.0) + self.largest * (slope - self.slope[j]).abs();
        self.risen[j] += rise;
        (self.level[j], self.slope[j]) = (level, slope);
    }
}

/// What is known of a sample from its last visit, to pass it over while nothing can draw it away.
#[derive(Clone, Copy)]
struct Known {
    /// Its score in its own cluster.
    own: f64,
    /// The best gain elsewhere.
    rival: f64,
    /// The sweep of the visit.
    sweep: u32,
}

/// What a sample gains by staying: taken out and put back.
fn stay(clusters: &Clusters, j: usize, q: f64, w: f64) -> f64 {
    let (s, n) = (clusters.sums[j], clusters.sizes[j]);
    s / n.sqrt() - (s - w * q) / (n - w).sqrt()
}

/// Sweeps until nothing moves, at most `max_sweeps` times; the cut never falls. `weighted` is diag(w)H.
/// Returns the number of moves and the cut.
///
/// The samples are visited one by one in the order given. All that is done side by side, or not at all
/// for samples that a bound shows to stay, changes none of the labels.
pub(crate) fn update(
    graph: &Graph,
    weighted: &[f64],
    labels: &mut [u32],
    k: usize,
    visits: Visits<'_>,
    context: &Context<'_>,
) -> Result<(usize, f64), Error> {
    let Visits { weights, order, max_sweeps } = visits;
    let n = labels.len();
    let clusters = Clusters::new(graph, weighted, labels, weights, k, context)?;
    let uniform = weights.windows(2).all(|w| w[0] == w[1]);
    let largest = weighted.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    let widest = (0..n).map(|i| graph.row(i).1.iter().sum::<f64>()).fold(0.0, f64::max);
    let gains = Gains::new(&clusters, weights.first().copied().unwrap_or(1.0), largest * widest);
    let mut sweeps = Sweeps {
        graph,
        weighted,
        weights,
        k,
        clusters,
        gains,
        known: vec![
            Known { own: 0.0, rival: f64::INFINITY, sweep: 0 };
            if uniform { n } else { 0 }
        ],
        risen_at: Vec::new(),
        sweep: 0,
    };
    let mut moves = 0;
    for _ in 0..max_sweeps {
        context.check()?;
        sweeps.risen_at.push(sweeps.gains.risen.clone());
        let mut moved = 0;
        for start in (0..n).step_by(BATCH) {
            let batch = start..(start + BATCH).min(n);
            moved += match order {
                Some(order) => sweeps.batch(&order[batch], labels, context)?,
                None => {
                    let rows: Vec<u32> = batch.map(|i| i as u32).collect();
                    sweeps.batch(&rows, labels, context)?
                }
            };
        }
        moves += moved;
        sweeps.sweep += 1;
        if moved == 0 {
            break;
        }
    }
    // Rounding gathers in sums that are added to and taken from: start afresh for the value.
    let cut = Clusters::new(graph, weighted, labels, weights, k, context)?.cut();
    Ok((moves, cut))
}

/// The state of the sweeps of one update.
struct Sweeps<'a> {
    graph: &'a Graph,
    weighted: &'a [f64],
    weights: &'a [f64],
    k: usize,
    clusters: Clusters,
    gains: Gains,
    /// Empty when weights differ: the bounds are for one weight.
    known: Vec<Known>,
    /// How far gains had risen when every sweep began.
    risen_at: Vec<Vec<f64>>,
    sweep: u32,
}

impl Sweeps<'_> {
    /// Visits some samples in turn; returns how many moved.
    fn batch(
        &mut self,
        rows: &[u32],
        labels: &mut [u32],
        context: &Context<'_>,
    ) -> Result<usize, Error> {
        let k = self.k;
        // Per sweep of the last visit: how much any rival's gain may have risen since.
        let risen = &self.gains.risen;
        let since: Vec<f64> = (self.risen_at.iter())
            .map(|then| risen.iter().zip(then).map(|(a, b)| a - b).fold(0.0, f64::max))
            .collect();
        let is_open = |this: &Self, i: usize| match this.known.get(i) {
            Some(known) => !this.stays(*known, labels[i] as usize, &since, 0.0),
            None => true,
        };
        let open: Vec<u32> = rows.iter().copied().filter(|&i| is_open(self, i as usize)).collect();
        let mut scores = vec![0.0; open.len() * k];
        let (graph, weighted) = (self.graph, self.weighted);
        context.map_into(open.len(), &mut scores, k, |range: Range<usize>, out| {
            vectorised(
                #[inline(always)]
                || {
                    for (&i, out) in open[range].iter().zip(out.chunks_exact_mut(k)) {
                        row_scores(graph.row(i as usize), weighted, k, out);
                    }
                },
            );
        })?;
        let mut next = open.iter().zip(scores.chunks_exact(k)).peekable();
        let (mut moved, mut flight) = (0, 0.0);
        let mut late = vec![0.0; k];
        for &i in rows {
            let q = match next.next_if(|(open, _)| **open == i) {
                Some((_, q)) => q,
                None => {
                    let known = self.known[i as usize];
                    if self.stays(known, labels[i as usize] as usize, &since, flight) {
                        continue;
                    }
                    row_scores(graph.row(i as usize), weighted, k, &mut late);
                    &late
                }
            };
            if let Some(rise) = self.visit(i as usize, q, labels) {
                moved += 1;
                flight += rise;
            }
        }
        Ok(moved)
    }

    /// Whether no rival can have overtaken a sample's own cluster.
    fn stays(&self, known: Known, own: usize, since: &[f64], flight: f64) -> bool {
        let rival = known.rival + since[known.sweep as usize] + flight;
        let stay = stay(&self.clusters, own, known.own, self.gains.w);
        stay > rival + SLACK * (stay.abs() + rival.abs())
    }

    /// Puts a sample where it gains most. A tie is no reason to move, so equal samples do not wander.
    /// Returns how far gains have risen by its move, or nothing when it stays.
    fn visit(&mut self, i: usize, q: &[f64], labels: &mut [u32]) -> Option<f64> {
        let (from, w) = (labels[i] as usize, self.weights[i]);
        if self.clusters.counts[from] == 1 {
            return None;
        }
        if self.gains.w != w {
            self.gains.set(&self.clusters, w);
        }
        let own = stay(&self.clusters, from, q[from], w);
        let Gains { level, slope, .. } = &mut self.gains;
        let level_from = std::mem::replace(&mut level[from], f64::NEG_INFINITY);
        let (mut rival, to) = vectorised(
            #[inline(always)]
            || largest_sum(level, slope, q),
        );
        self.gains.level[from] = level_from;
        let mut now = from;
        let mut rise = None;
        if rival > own {
            let before = self.gains.risen[from] + self.gains.risen[to];
            self.clusters.remove(from, q[from], w);
            self.clusters.add(to, q[to], w);
            self.gains.update(&self.clusters, from);
            self.gains.update(&self.clusters, to);
            labels[i] = to as u32;
            rise = Some(self.gains.risen[from] + self.gains.risen[to] - before);
            // Its best rival now is not known exactly: nothing gains more than it did elsewhere.
            now = to;
            rival = f64::INFINITY;
        }
        if let Some(known) = self.known.get_mut(i) {
            *known = Known { own: q[now], rival, sweep: self.sweep };
        }
        rise
    }
}

/// Fills empty clusters, each with one sample of the cluster that has the most.
pub(crate) fn fill_empty(labels: &mut [u32], keys: &[u64], k: usize, stream: Stream) {
    let mut counts = vec![0usize; k];
    labels.iter().for_each(|&l| counts[l as usize] += 1);
    if !counts.contains(&0) {
        return;
    }
    let order = shuffled(keys, stream);
    for j in 0..k {
        if counts[j] == 0 {
            let largest = (0..k).max_by_key(|&l| (counts[l], k - l)).expect("k > 0");
            let found = order.iter().find(|&&i| labels[i as usize] as usize == largest);
            if let (Some(&i), true) = (found, counts[largest] > 1) {
                labels[i as usize] = j as u32;
                counts[largest] -= 1;
                counts[j] = 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cut from its definition, for the naive twins below.
    fn cut(scores: &[f64], labels: &[u32], weights: &[f64], k: usize) -> f64 {
        (0..k)
            .map(|j| {
                let members = || (0..labels.len()).filter(|&i| labels[i] as usize == j);
                let size: f64 = members().map(|i| weights[i]).sum();
                let sum: f64 = members().map(|i| weights[i] * scores[i * k + j]).sum();
                if size > 0.0 { sum / size.sqrt() } else { 0.0 }
            })
            .sum()
    }

    /// A graph whose scores are any numbers: every sample has an anchor of its own.
    fn own_anchors(n: usize) -> Graph {
        let mut graph = Graph::empty(n);
        (0..n as u32).for_each(|i| graph.push(&[i], &[1.0]));
        graph
    }

    fn swept(
        scores: &[f64],
        labels: &[u32],
        weights: &[f64],
        k: usize,
        max_sweeps: usize,
    ) -> Vec<u32> {
        let mut labels = labels.to_vec();
        let context = Context::new(2, &crate::observer::Silent).unwrap();
        let visits = Visits { weights, order: None, max_sweeps };
        update(&own_anchors(labels.len()), scores, &mut labels, k, visits, &context).unwrap();
        labels
    }

    fn random_labels(n: usize, k: usize, stream: Stream) -> Vec<u32> {
        let mut labels: Vec<u32> =
            (0..n).map(|i| (stream.rank(i as u64) % k as u64) as u32).collect();
        fill_empty(&mut labels, &(0..n as u64).collect::<Vec<_>>(), k, stream);
        labels
    }

    #[test]
    fn a_sweep_equals_the_naive_recomputation_and_never_lowers_the_cut() {
        for seed in 0..40 {
            let (n, k) = (30, 4);
            let stream = Stream::new(seed);
            let scores = stream.values(n * k);
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
            let start = random_labels(n, k, stream);
            let fast = swept(&scores, &start, &weights, k, 1);
            let mut slow = start.clone();
            for i in 0..n {
                if slow.iter().filter(|&&l| l == slow[i]).count() == 1 {
                    continue;
                }
                let value = |j: usize| {
                    let mut tried = slow.clone();
                    tried[i] = j as u32;
                    cut(&scores, &tried, &weights, k)
                };
                let stay = slow[i] as usize;
                let best = (0..k).max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
                if value(best) > value(stay) + 1e-12 {
                    slow[i] = best as u32;
                }
            }
            assert_eq!(fast, slow, "seed {seed}");
            let before = cut(&scores, &start, &weights, k);
            assert!(cut(&scores, &fast, &weights, k) >= before - 1e-12);
        }
    }

    /// The same sweeps without batches, lines and bounds.
    fn plain(scores: &[f64], labels: &mut [u32], weights: &[f64], k: usize, max_sweeps: usize) {
        let (mut sums, mut sizes) = (vec![0.0; k], vec![0.0; k]);
        for (i, &l) in labels.iter().enumerate() {
            sums[l as usize] += weights[i] * scores[i * k + l as usize];
            sizes[l as usize] += weights[i];
        }
        for _ in 0..max_sweeps {
            let mut moved = false;
            for i in 0..labels.len() {
                let (from, w, q) = (labels[i] as usize, weights[i], &scores[i * k..(i + 1) * k]);
                if labels.iter().filter(|&&l| l as usize == from).nth(1).is_none() {
                    continue;
                }
                sums[from] -= w * q[from];
                sizes[from] -= w;
                let gain = |j: usize| {
                    (sums[j] + w * q[j]) / (sizes[j] + w).sqrt() - sums[j] / sizes[j].sqrt()
                };
                let mut best = from;
                for j in 0..k {
                    if gain(j) > gain(best) {
                        best = j;
                    }
                }
                sums[best] += w * q[best];
                sizes[best] += w;
                moved |= best != from;
                labels[i] = best as u32;
            }
            if !moved {
                break;
            }
        }
    }

    #[test]
    fn samples_that_are_passed_over_would_have_stayed() {
        for seed in 0..6 {
            let (n, k) = (BATCH + 900, 7);
            let stream = Stream::new(seed);
            // Most samples have a clear favourite, as after a good start, others none.
            let mut scores = stream.values(n * k);
            for i in 0..n {
                let clear = if i % 5 == 0 { 0.0 } else { 2.0 };
                scores[i * k + i % k] += clear;
            }
            let weights: Vec<f64> =
                (0..n).map(|i| if seed % 2 == 0 { 1.5 } else { 1.0 + (i % 3) as f64 }).collect();
            let mut slow = random_labels(n, k, stream);
            let fast = swept(&scores, &slow, &weights, k, 10);
            plain(&scores, &mut slow, &weights, k, 10);
            assert_eq!(fast, slow, "seed {seed}");
        }
    }

    #[test]
    fn the_last_sample_of_a_cluster_stays() {
        let scores = [1.0, 0.0, 1.0, -5.0];
        assert_eq!(swept(&scores, &[0, 1], &[1.0, 1.0], 2, 10), [0, 1]);
    }

    #[test]
    fn empty_clusters_are_filled() {
        let mut labels = vec![2; 6];
        fill_empty(&mut labels, &[5, 4, 3, 2, 1, 0], 4, Stream::new(1));
        for j in 0..4 {
            assert!(labels.contains(&j));
        }
    }
}
