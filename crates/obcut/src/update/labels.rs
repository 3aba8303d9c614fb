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

use std::borrow::Cow;
use std::ops::Range;

use crate::update::cutting::Visits;
use crate::update::embedding::row_scores;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::linalg::simd::{largest_sum, vectorised};
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, shuffled};

/// Samples that are looked at side by side before they are visited one by one.
const BATCH: usize = 1024;
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
    /// The same for samples of the cluster, taken out and put back: (level, slope).
    stay: Vec<(f64, f64)>,
    /// Since every sweep began.
    ranges: Vec<Ranges>,
    /// What the moves since the last call of [`Self::rises`] can have added to a gain.
    flight: Rise,
}

/// The extremes of the lines over some time.
struct Ranges {
    lowest: Vec<f64>,
    flattest: Vec<f64>,
    steepest: Vec<f64>,
}

/// How far the lines of any cluster have risen at most: a gain at score q by no more than
/// `level + q steeper`, or `level - q flatter` when q is negative.
#[derive(Clone, Copy, Default)]
struct Rise {
    level: f64,
    steeper: f64,
    flatter: f64,
}

impl Gains {
    fn new(clusters: &Clusters, w: f64) -> Self {
        let k = clusters.sums.len();
        let mut gains = Self {
            w,
            level: vec![0.0; k],
            slope: vec![0.0; k],
            stay: vec![(0.0, 0.0); k],
            ranges: Vec::new(),
            flight: Rise::default(),
        };
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
        let (more, root, less) =
            (1.0 / (n + self.w).sqrt(), 1.0 / n.sqrt(), 1.0 / (n - self.w).max(0.0).sqrt());
        let (level, slope) = (s * (more - root), self.w * more);
        self.stay[j] = (s * (root - less), self.w * less);
        self.flight.level += (level - self.level[j]).max(0.0);
        self.flight.steeper += (slope - self.slope[j]).max(0.0);
        self.flight.flatter += (self.slope[j] - slope).max(0.0);
        (self.level[j], self.slope[j]) = (level, slope);
        for range in &mut self.ranges {
            range.lowest[j] = range.lowest[j].min(level);
            range.flattest[j] = range.flattest[j].min(slope);
            range.steepest[j] = range.steepest[j].max(slope);
        }
    }

    /// A sweep begins.
    fn begin(&mut self) {
        self.ranges.push(Ranges {
            lowest: self.level.clone(),
            flattest: self.slope.clone(),
            steepest: self.slope.clone(),
        });
    }

    /// For every sweep so far: the rise from any moment since its beginning until now.
    fn rises(&mut self) -> Vec<Rise> {
        self.flight = Rise::default();
        let most = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).fold(0.0, f64::max);
        let rise = |range: &Ranges| Rise {
            level: most(&self.level, &range.lowest),
            steeper: most(&self.slope, &range.flattest),
            flatter: most(&range.steepest, &self.slope),
        };
        self.ranges.iter().map(rise).collect()
    }
}

/// What is known of a sample from its last visit, to pass it over while nothing can draw it away.
#[derive(Clone, Copy)]
struct Known {
    /// Its score in its own cluster.
    own: f64,
    /// The best gain elsewhere.
    rival: f64,
    /// The largest and the smallest score elsewhere, or 0.
    high: f32,
    low: f32,
    /// The sweep of the visit.
    sweep: u32,
}

impl Known {
    const NOTHING: Self = Self { own: 0.0, rival: f64::INFINITY, high: 0.0, low: 0.0, sweep: 0 };

    /// From the score in the own cluster, and the best gain, highest and lowest score elsewhere.
    #[inline(always)]
    fn new(own: f64, (rival, high, low): (f64, f64, f64), sweep: u32) -> Self {
        // A little outward, so that rounding to single precision keeps the bound.
        let outward = |v: f64| (v * (1.0 + 1e-6)) as f32;
        Self { own, rival, high: outward(high.max(0.0)), low: outward(low.min(0.0)), sweep }
    }
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
    let gains = Gains::new(&clusters, median(weights));
    let other = Gains::new(&clusters, 1.0);
    let order = match order {
        Some(order) => Cow::Borrowed(order),
        None => Cow::Owned((0..n as u32).collect()),
    };
    // What belongs to a sample lies in the order of the visits.
    let mut sweeps = Sweeps {
        graph,
        weighted,
        order: &order,
        labels: order.iter().map(|&i| labels[i as usize]).collect(),
        weights: order.iter().map(|&i| weights[i as usize]).collect(),
        known: vec![Known::NOTHING; n],
        k,
        clusters,
        gains,
        other,
        sweep: 0,
    };
    let mut moves = 0;
    for _ in 0..max_sweeps {
        context.check()?;
        sweeps.gains.begin();
        let mut moved = 0;
        for start in (0..n).step_by(BATCH) {
            moved += sweeps.batch(start..(start + BATCH).min(n), context)?;
        }
        moves += moved;
        sweeps.sweep += 1;
        if moved == 0 {
            break;
        }
    }
    order.iter().zip(&sweeps.labels).for_each(|(&i, &l)| labels[i as usize] = l);
    // Rounding gathers in sums that are added to and taken from: start afresh for the value.
    let cut = Clusters::new(graph, weighted, labels, weights, k, context)?.cut();
    Ok((moves, cut))
}

/// The weight in the middle.
pub(crate) fn median(weights: &[f64]) -> f64 {
    let mut sorted = weights.to_vec();
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        return 1.0;
    }
    *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The state of the sweeps of one update.
struct Sweeps<'a> {
    graph: &'a Graph,
    weighted: &'a [f64],
    /// The sample of every visit.
    order: &'a [u32],
    labels: Vec<u32>,
    weights: Vec<f64>,
    known: Vec<Known>,
    k: usize,
    clusters: Clusters,
    /// For samples of the usual weight, which alone are passed over, and for others, made anew at each.
    gains: Gains,
    other: Gains,
    sweep: u32,
}

impl Sweeps<'_> {
    /// Makes some visits in turn; returns how many samples moved.
    ///
    /// Samples that may move are looked at side by side first, with the clusters as they are before the
    /// batch; what the few moves of the batch can change is bounded, and only samples within the bound
    /// are looked at again in their turn.
    fn batch(&mut self, visits: Range<usize>, context: &Context<'_>) -> Result<usize, Error> {
        let since = self.gains.rises();
        let none = Rise::default();
        let open: Vec<usize> = visits.clone().filter(|&v| !self.stays(v, &since)).collect();
        let mut fresh = vec![Known::NOTHING; open.len()];
        context.map_into(open.len(), &mut fresh, 1, |range, out| {
            vectorised(
                #[inline(always)]
                || self.look(&open[range], out),
            );
        })?;
        let mut next = open.iter().zip(fresh).peekable();
        let mut moved = 0;
        let mut q = vec![0.0; self.k];
        for v in visits {
            let stays = match next.next_if(|(open, _)| **open == v) {
                Some((_, known)) => {
                    self.known[v] = known;
                    self.holds(v, &none)
                }
                None => self.stays(v, &since),
            };
            if !stays {
                let row = self.graph.row(self.order[v] as usize);
                row_scores(row, self.weighted, self.k, &mut q);
                moved += usize::from(self.visit(v, &q));
            }
        }
        Ok(moved)
    }

    /// What is to be known of some samples, with the clusters as they are.
    #[inline(always)]
    fn look(&self, visits: &[usize], out: &mut [Known]) {
        let mut q = vec![0.0; self.k];
        let mut level = self.gains.level.clone();
        for (&v, out) in visits.iter().zip(out) {
            if self.weights[v] != self.gains.w {
                continue;
            }
            row_scores(self.graph.row(self.order[v] as usize), self.weighted, self.k, &mut q);
            let own = self.labels[v] as usize;
            level[own] = f64::NEG_INFINITY;
            let found = largest_sum(&level, &self.gains.slope, &q);
            level[own] = self.gains.level[own];
            *out = Known::new(q[own], found, self.sweep);
        }
    }

    /// Whether no rival can have overtaken a sample since its last visit.
    #[inline]
    fn stays(&self, v: usize, since: &[Rise]) -> bool {
        self.holds(v, &since[self.known[v].sweep as usize])
    }

    /// Whether a sample's own cluster gains more, as it is now, than the best other can: its gain at the
    /// last look and what can have been added to it since.
    #[inline]
    fn holds(&self, v: usize, then: &Rise) -> bool {
        let (known, flight) = (self.known[v], &self.gains.flight);
        let rise = (then.level + flight.level)
            + f64::from(known.high) * (then.steeper + flight.steeper)
            - f64::from(known.low) * (then.flatter + flight.flatter);
        let rival = known.rival + rise;
        let (level, slope) = self.gains.stay[self.labels[v] as usize];
        let stay = level + slope * known.own;
        stay > rival + SLACK * (stay.abs() + rival.abs())
    }

    /// Puts a sample where it gains most and returns whether it moved. A tie is no reason to move, so
    /// equal samples do not wander.
    fn visit(&mut self, v: usize, q: &[f64]) -> bool {
        let (from, w) = (self.labels[v] as usize, self.weights[v]);
        if self.clusters.counts[from] == 1 {
            return false;
        }
        let usual = w == self.gains.w;
        if !usual && w != self.other.w {
            self.other.set(&self.clusters, w);
        }
        let gains = if usual { &mut self.gains } else { &mut self.other };
        let own = gains.stay[from].0 + gains.stay[from].1 * q[from];
        let Gains { level, slope, .. } = gains;
        let level_from = std::mem::replace(&mut level[from], f64::NEG_INFINITY);
        let found = vectorised(
            #[inline(always)]
            || largest_sum(level, slope, q),
        );
        let rival = found.0;
        let to = if rival > own {
            (0..self.k).find(|&j| level[j] + slope[j] * q[j] == rival)
        } else {
            None
        };
        level[from] = level_from;
        let known = match to {
            Some(to) => {
                self.clusters.remove(from, q[from], w);
                self.clusters.add(to, q[to], w);
                for j in [from, to] {
                    self.gains.update(&self.clusters, j);
                    self.other.update(&self.clusters, j);
                }
                self.labels[v] = to as u32;
                Known { sweep: self.sweep, ..Known::NOTHING }
            }
            None if !usual => Known::NOTHING,
            None => Known::new(q[from], found, self.sweep),
        };
        self.known[v] = known;
        to.is_some()
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
        let context = Context::new(2, &obcut_core::observer::Silent).unwrap();
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
            // Most samples have a clear favorite, as after a good start, others none.
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
