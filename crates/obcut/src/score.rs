//! The label-free score that chooses among restarts: association times size entropy.
//!
//! assoc = (1/k) sum_j |D^-1/2 B' y_j|^2 / n_j is 1 when no edge leaves its cluster; the entropy of the
//! cluster sizes over log k is 1 when they are equal. Association alone prefers one giant cluster.

use obcut_core::Graph;

/// The score of labels on a graph, between 0 and 1.
pub(crate) fn score(graph: &Graph, labels: &[u32], weights: &[f64], k: usize) -> f64 {
    association(graph, labels, weights, k) * size_entropy(&sizes(labels, weights, k))
}

/// Weight of every cluster.
pub(crate) fn sizes(labels: &[u32], weights: &[f64], k: usize) -> Vec<f64> {
    let mut sizes = vec![0.0; k];
    labels.iter().zip(weights).for_each(|(&l, w)| sizes[l as usize] += w);
    sizes
}

/// Mean association of the clusters with themselves, up to 1.
pub(crate) fn association(graph: &Graph, labels: &[u32], weights: &[f64], k: usize) -> f64 {
    let all = associations(graph, labels, weights, k);
    (0..k).map(|j| all[j * k + j]).sum::<f64>() / k as f64
}

/// Association of every cluster with every one, k × k: the chance that a step from a row of the first
/// to an anchor and back to a row ends in the second. Rows of clusters that are not empty sum to 1.
pub(crate) fn associations(graph: &Graph, labels: &[u32], weights: &[f64], k: usize) -> Vec<f64> {
    let sizes = sizes(labels, weights, k);
    let mut joined = vec![0.0; graph.n_cols * k];
    for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
        let (columns, values) = graph.row(i);
        for (&m, v) in columns.iter().zip(values) {
            joined[m as usize * k + label as usize] += w * v;
        }
    }
    joined_associations(&joined, &sizes)
}

/// The same from the links of every anchor to every cluster, B'Y (M × k), and the sizes of the clusters.
pub(crate) fn joined_associations(joined: &[f64], sizes: &[f64]) -> Vec<f64> {
    let k = sizes.len();
    let mut all = vec![0.0; k * k];
    for row in joined.chunks_exact(k) {
        let degree: f64 = row.iter().sum();
        if degree > 0.0 {
            for (a, &v) in row.iter().enumerate().filter(|(_, v)| **v > 0.0) {
                let share = v / (degree * sizes[a]);
                row.iter().zip(&mut all[a * k..(a + 1) * k]).for_each(|(u, out)| *out += share * u);
            }
        }
    }
    all
}

/// Entropy of the shares over log k; 1 for a single cluster.
pub(crate) fn size_entropy(sizes: &[f64]) -> f64 {
    let total: f64 = sizes.iter().sum();
    if sizes.len() < 2 || total <= 0.0 {
        return 1.0;
    }
    let entropy: f64 =
        sizes.iter().filter(|&&n| n > 0.0).map(|n| -(n / total) * (n / total).ln()).sum();
    entropy / (sizes.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_balanced_cut_scores_one_and_a_wrong_one_less() {
        let mut graph = Graph::empty(4);
        for i in 0..8u32 {
            let half = i / 4 * 2;
            graph.push(&[half, half + 1], &[0.5, 0.5]);
        }
        let weights = vec![1.0; 8];
        let clean = score(&graph, &[0, 0, 0, 0, 1, 1, 1, 1], &weights, 2);
        let mixed = score(&graph, &[0, 1, 0, 1, 0, 1, 0, 1], &weights, 2);
        let uneven = score(&graph, &[0, 0, 0, 0, 0, 0, 0, 1], &weights, 2);
        assert!((clean - 1.0).abs() < 1e-12);
        let all = associations(&graph, &[0, 0, 1, 1, 1, 1, 2, 2], &weights, 3);
        let expected = [0.5, 0.5, 0.0, 0.25, 0.5, 0.25, 0.0, 0.5, 0.5];
        assert!(all.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{all:?}");
        assert!(mixed < 0.6 && uneven < 0.6, "{mixed} {uneven}");
    }
}
