//! The clusters of a fit in figures: how they hold together, what sets them apart, and how they merge.

use crate::records::{ClusterInfo, FeatureInfo, Merge};
use obcut_core::error::Error;
use obcut_core::graph::tree::{Edge, Sets};
use obcut_core::linalg::gemm::Real;
use obcut_core::linalg::simd::vectorised;
use obcut_core::matrix::Samples;
use obcut_core::parallel::Context;

/// Features listed for a cluster.
const FEATURES: usize = 5;

/// The merges of the clusters along a tree of the rows, the shortest edge first. None where the tree does not
/// reach all clusters.
pub(crate) fn merges(tree: &[Edge], labels: &[u32], k: usize) -> Vec<Merge> {
    let mut sets = Sets::new(k);
    let mut node: Vec<u32> = (0..k as u32).collect();
    let mut found = Vec::new();
    for edge in tree {
        let (a, b) = (labels[edge.a as usize], labels[edge.b as usize]);
        let (a, b) = (sets.root(a), sets.root(b));
        if let Some(root) = sets.join(a, b) {
            let sides = (node[a as usize], node[b as usize]);
            node[root as usize] = (k + found.len()) as u32;
            found.push(Merge {
                a: sides.0.min(sides.1),
                b: sides.0.max(sides.1),
                distance: edge.length.max(0.0).sqrt(),
            });
        }
    }
    if found.len() + 1 == k { found } else { Vec::new() }
}

/// The clusters of a fit: labels and weights of the rows, and the association of clusters with clusters, k × k (see
/// [`crate::score::associations`]).
pub(crate) fn clusters(
    samples: &Samples<'_>,
    (labels, weights, association): (&[u32], Option<&[f64]>, &[f64]),
    k: usize,
    context: &Context<'_>,
) -> Result<Vec<ClusterInfo>, Error> {
    let moments = FeatureMoments::new(samples, labels, weights, k, context)?;
    let mut rows = vec![0; k];
    labels.iter().for_each(|&l| rows[l as usize] += 1);
    Ok(moments.clusters(&rows, association))
}

impl FeatureMoments {
    /// The clusters, with their numbers of rows.
    pub fn clusters(&self, rows: &[usize], association: &[f64]) -> Vec<ClusterInfo> {
        let k = rows.len();
        let of_cluster = |j: usize| {
            let shares = &association[j * k..(j + 1) * k];
            let others = (0..k).filter(|&l| l != j && shares[l] > 0.0);
            let nearest = others.max_by(|&a, &b| shares[a].total_cmp(&shares[b]).then(b.cmp(&a)));
            ClusterInfo {
                rows: rows[j],
                weight: self.weights[j],
                cohesion: shares[j].min(1.0),
                nearest: nearest.map(|l| l as u32),
                nearest_share: nearest.map_or(0.0, |l| shares[l]),
                features: self.features(j),
                stability: None,
            }
        };
        (0..k).map(of_cluster).collect()
    }
}

/// Weighted sums of the features, by cluster and squared over all.
pub(crate) struct FeatureMoments {
    pub d: usize,
    /// Taken off every value before it is squared, so that a large offset does not drown the spread:
    /// the first row of a dense table.
    pub origin: Vec<f64>,
    pub weights: Vec<f64>,
    /// k × d.
    pub sums: Vec<f64>,
    pub squares: Vec<f64>,
}

impl FeatureMoments {
    fn new(
        samples: &Samples<'_>,
        labels: &[u32],
        weights: Option<&[f64]>,
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let d = samples.n_cols();
        let mut origin = vec![0.0; d];
        if !samples.is_sparse() {
            samples.each(0, |f, v| origin[f] = v);
        }
        let empty = || Self {
            d,
            origin: Vec::new(),
            weights: vec![0.0; k],
            sums: vec![0.0; k * d],
            squares: vec![0.0; d],
        };
        let mut all = empty();
        context.fold(
            samples.n_rows(),
            |range| {
                let mut part = empty();
                vectorised(
                    #[inline(always)]
                    || {
                        for i in range {
                            let (j, w) = (labels[i] as usize, weights.map_or(1.0, |w| w[i]));
                            part.weights[j] += w;
                            let to = (&mut part.sums[j * d..(j + 1) * d], &mut part.squares[..]);
                            match samples {
                                Samples::Dense32(x) => add_row(x.row(i), &origin, w, to),
                                Samples::Dense64(x) => add_row(x.row(i), &origin, w, to),
                                // The origin of sparse rows is zero.
                                _ => samples.each(i, |f, v| {
                                    to.0[f] += w * v;
                                    to.1[f] += w * v * v;
                                }),
                            }
                        }
                    },
                );
                part
            },
            |part| {
                let add = |to: &mut [f64], from: &[f64]| {
                    to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
                };
                add(&mut all.weights, &part.weights);
                add(&mut all.sums, &part.sums);
                add(&mut all.squares, &part.squares);
            },
        )?;
        all.origin = origin;
        Ok(all)
    }

    /// The features of a cluster that differ most, of those that vary at all.
    fn features(&self, j: usize) -> Vec<FeatureInfo> {
        let (d, k) = (self.d, self.weights.len());
        let total: f64 = self.weights.iter().sum();
        if self.weights[j] <= 0.0 || k < 2 {
            return Vec::new();
        }
        let mut found: Vec<FeatureInfo> = (0..d)
            .filter_map(|f| {
                let overall = (0..k).map(|l| self.sums[l * d + f]).sum::<f64>() / total;
                let variance = self.squares[f] / total - overall * overall;
                let mean = self.sums[j * d + f] / self.weights[j];
                let difference = (mean - overall) / variance.max(0.0).sqrt();
                // Rounding leaves a little variance in a constant column.
                let varies = variance > 1e-12 * (overall * overall).max(f64::MIN_POSITIVE);
                let (mean, overall) = (mean + self.origin[f], overall + self.origin[f]);
                (varies && difference.is_finite()).then_some(FeatureInfo {
                    index: f,
                    mean,
                    overall,
                    difference,
                })
            })
            .collect();
        let order = |a: &FeatureInfo, b: &FeatureInfo| {
            b.difference.abs().total_cmp(&a.difference.abs()).then(a.index.cmp(&b.index))
        };
        if found.len() > FEATURES {
            found.select_nth_unstable_by(FEATURES, order);
            found.truncate(FEATURES);
        }
        found.sort_by(order);
        found
    }
}

#[inline(always)]
fn add_row<T: Real>(x: &[T], origin: &[f64], w: f64, (sums, squares): (&mut [f64], &mut [f64])) {
    for (((x, origin), sum), square) in x.iter().zip(origin).zip(sums).zip(squares) {
        let v = x.to_f64() - origin;
        *sum += w * v;
        *square += w * v * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::matrix::DenseRef;
    use obcut_core::observer::Silent;

    #[test]
    fn clusters_are_told_apart_by_the_features_that_differ() {
        // The second feature separates the clusters, the first does not, the third never changes.
        let x = [0.0, 10.0, 7.0, 1.0, 10.0, 7.0, 0.0, 20.0, 7.0, 1.0, 20.0, 7.0];
        let samples: Samples<'_> = DenseRef::new(&x, 4, 3).unwrap().into();
        let context = Context::new(2, &Silent).unwrap();
        let association = [0.9, 0.1, 0.3, 0.7];
        let found = clusters(&samples, (&[0, 0, 1, 1], None, &association), 2, &context).unwrap();
        assert_eq!((found[0].rows, found[0].nearest), (2, Some(1)));
        assert_eq!((found[1].cohesion, found[1].nearest_share), (0.7, 0.3));
        let features: Vec<usize> = found[0].features.iter().map(|f| f.index).collect();
        assert_eq!(features, [1, 0]);
        let first = &found[0].features[0];
        assert_eq!((first.mean, first.overall, first.difference), (10.0, 15.0, -1.0));
    }

    #[test]
    fn weights_count_as_copies() {
        let (once, twice) = ([0.0, 1.0, 5.0], [0.0, 1.0, 5.0, 5.0]);
        let context = Context::new(1, &Silent).unwrap();
        let of = |x: &[f64], labels: &[u32], weights: Option<&[f64]>| {
            let samples: Samples<'_> = DenseRef::new(x, x.len(), 1).unwrap().into();
            clusters(&samples, (labels, weights, &[1.0, 0.0, 0.0, 1.0]), 2, &context).unwrap()
        };
        let a = of(&once, &[0, 0, 1], Some(&[1.0, 1.0, 2.0]));
        let b = of(&twice, &[0, 0, 1, 1], None);
        assert_eq!(a[1].features, b[1].features);
        assert_eq!((a[1].weight, b[1].weight, a[1].rows), (2.0, 2.0, 1));
    }
}
