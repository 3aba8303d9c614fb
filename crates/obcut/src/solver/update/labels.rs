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

use crate::random::{Stream, shuffled};

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
    pub fn new(scores: &[f64], labels: &[u32], weights: &[f64], k: usize) -> Self {
        let mut clusters = Self { sums: vec![0.0; k], sizes: vec![0.0; k], counts: vec![0; k] };
        for (i, (&label, &w)) in labels.iter().zip(weights).enumerate() {
            clusters.add(label as usize, scores[i * k + label as usize], w);
        }
        clusters
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

    /// What the cut gains when a sample outside of all clusters joins j (Delta_ij).
    fn gain(&self, j: usize, q: f64, w: f64) -> f64 {
        (self.sums[j] + w * q) / (self.sizes[j] + w).sqrt() - self.sums[j] / self.sizes[j].sqrt()
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

/// One pass over the samples in the order given; returns how many moved. Never lowers the cut.
pub(crate) fn sweep(
    scores: &[f64],
    labels: &mut [u32],
    weights: &[f64],
    order: impl Iterator<Item = usize>,
    clusters: &mut Clusters,
) -> usize {
    let k = clusters.sums.len();
    let mut moved = 0;
    for i in order {
        let from = labels[i] as usize;
        if clusters.counts[from] == 1 {
            continue;
        }
        let (q, w) = (&scores[i * k..(i + 1) * k], weights[i]);
        clusters.remove(from, q[from], w);
        let mut best = (clusters.gain(from, q[from], w), from);
        for j in 0..k {
            // A tie is no reason to move, so equal samples do not wander.
            let gain = clusters.gain(j, q[j], w);
            if gain > best.0 {
                best = (gain, j);
            }
        }
        clusters.add(best.1, q[best.1], w);
        if best.1 != from {
            labels[i] = best.1 as u32;
            moved += 1;
        }
    }
    moved
}

/// Sweeps until nothing moves, at most `max_sweeps` times. Returns the number of moves and the cut.
pub(crate) fn update(
    scores: &[f64],
    labels: &mut [u32],
    weights: &[f64],
    k: usize,
    order: Option<&[u32]>,
    max_sweeps: usize,
) -> (usize, f64) {
    let mut clusters = Clusters::new(scores, labels, weights, k);
    let mut moves = 0;
    for _ in 0..max_sweeps {
        let moved = match order {
            Some(order) => {
                let order = order.iter().map(|&i| i as usize);
                sweep(scores, labels, weights, order, &mut clusters)
            }
            None => sweep(scores, labels, weights, 0..labels.len(), &mut clusters),
        };
        moves += moved;
        if moved == 0 {
            break;
        }
    }
    // Rounding gathers in sums that are added to and taken from: start afresh for the value.
    (moves, Clusters::new(scores, labels, weights, k).cut())
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

    /// The cut from its definition, for the naive twin below.
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

    #[test]
    fn a_sweep_equals_the_naive_recomputation_and_never_lowers_the_cut() {
        for seed in 0..40 {
            let (n, k) = (30, 4);
            let stream = Stream::new(seed);
            let scores = stream.values(n * k);
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
            let mut fast: Vec<u32> = (0..n).map(|i| (stream.rank(i as u64) % 4) as u32).collect();
            fill_empty(&mut fast, &(0..n as u64).collect::<Vec<_>>(), k, stream);
            let mut slow = fast.clone();
            let before = cut(&scores, &slow, &weights, k);
            let mut clusters = Clusters::new(&scores, &fast, &weights, k);
            sweep(&scores, &mut fast, &weights, 0..n, &mut clusters);
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
            let after = cut(&scores, &fast, &weights, k);
            assert!(after >= before - 1e-12);
            assert!((clusters.cut() - after).abs() < 1e-10);
        }
    }

    #[test]
    fn the_last_sample_of_a_cluster_stays() {
        let scores = [1.0, 0.0, 1.0, -5.0];
        let mut labels = [0, 1];
        update(&scores, &mut labels, &[1.0, 1.0], 2, None, 10);
        assert_eq!(labels, [0, 1]);
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
