//! Whether clusters stand apart: are their rims sparser than they are themselves?
//!
//! The rim of a cluster is the rows that have links to other clusters. Between two groups lies sparse ground,
//! so that rows of the rim are farther from their neighbors than other rows of the cluster. A group that
//! was cut in two has its rim where it is as dense as elsewhere, or denser.

use obcut_core::Graph;
use obcut_core::graph::neighbors::Neighbors;

/// What a cluster counts as that has next to no links to others; no cluster counts more.
pub(crate) const FREE: f64 = 3.0;
/// Share of its links up to which a cluster has next to none to others.
const NEXT_TO_NONE: f64 = 1e-3;
/// Weight of the smallest cluster.
const SMALLEST: f64 = 10.0;
/// Neighbors whose distances say how sparse the ground about a row is.
const ABOUT: usize = 10;

/// The logarithm of the mean squared distance of every row to its nearest.
pub(crate) fn sparsity(near: &Neighbors) -> Vec<f64> {
    let about = ABOUT.min(near.count);
    let mean = |i: usize| near.of(i)[..about].iter().map(|e| e.0).sum::<f64>() / about as f64;
    (0..near.n()).map(|i| (mean(i) + f64::MIN_POSITIVE).ln()).collect()
}

/// For every cluster, how much sparser the ground is at its rim than in all of it, in standard deviations
/// of the cluster and at most [`FREE`]. Rows of the rim count by their links to other clusters. A
/// cluster that is too small counts as -[`FREE`].
pub(crate) fn rims(
    graph: &Graph,
    sparsity: &[f64],
    labels: &[u32],
    weights: &[f64],
    k: usize,
) -> Vec<f64> {
    #[derive(Clone, Default)]
    struct RimSums {
        weight: f64,
        value: f64,
        square: f64,
        links: f64,
        rim: f64,
        rim_value: f64,
    }
    let mut sums = vec![RimSums::default(); k];
    for (i, (&label, &w)) in labels.iter().zip(weights).enumerate() {
        let (sum, value) = (&mut sums[label as usize], sparsity[i]);
        sum.weight += w;
        sum.value += w * value;
        sum.square += w * value * value;
        let (columns, values) = graph.row(i);
        for (&j, v) in columns.iter().zip(values) {
            sum.links += v;
            if labels[j as usize] != label {
                sum.rim += v;
                sum.rim_value += v * value;
            }
        }
    }
    let one = |sum: &RimSums| {
        if sum.weight < SMALLEST {
            return -FREE;
        }
        if sum.rim <= NEXT_TO_NONE * sum.links {
            return FREE;
        }
        let mean = sum.value / sum.weight;
        let deviation = (sum.square / sum.weight - mean * mean).max(0.0).sqrt();
        let more = sum.rim_value / sum.rim - mean;
        // Rows that are all alike have no sparser ground.
        if deviation > 1e-9 { (more / deviation).clamp(-FREE, FREE) } else { 0.0 }
    };
    sums.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::graph::neighbors::{links, symmetric};
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;
    use obcut_core::parallel::Context;
    use obcut_core::random::Stream;
    use obcut_core::table::Table;

    fn of(x: &[f64], labels: &[u32], weights: &[f64]) -> Vec<f64> {
        let n = labels.len();
        let scaling = Scaling::identity(2);
        let table = Table::new(DenseRef::new(x, n, 2).unwrap().into(), &scaling);
        let near = Neighbors::exact(&table, 11, &Context::new(1, &Silent).unwrap()).unwrap();
        let graph = symmetric(&links(&near, 10), weights, &[]);
        rims(&graph, &sparsity(&near), labels, weights, 2)
    }

    #[test]
    fn halves_of_one_group_have_no_sparse_rim_and_groups_apart_are_free() {
        let mut x = Stream::new(1).values(2 * 600);
        let halves: Vec<u32> = (0..600).map(|i| u32::from(x[2 * i] > 0.0)).collect();
        let found = of(&x, &halves, &[1.0; 600]);
        assert!(found.iter().all(|r| *r < 0.5), "{found:?}");
        for i in 0..600 {
            x[2 * i] += if halves[i] == 1 { 3.0 } else { 0.0 };
        }
        assert_eq!(of(&x, &halves, &[1.0; 600]), [FREE, FREE]);
        let few = of(&x, &halves, &[0.01; 600]);
        assert_eq!(few, [-FREE, -FREE], "three rows' weight is no cluster");
    }
}
