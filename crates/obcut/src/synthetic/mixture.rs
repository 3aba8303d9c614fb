//! A large mixture shaped like face-video descriptors (YTF): uneven clusters, each a center, a
//! 12-dimensional subspace around it and noise, scaled to `[0, 1]`, in single precision.
//!
//! Row i follows from the seed, i and the settings alone, whatever the number of rows, so the rows
//! can be made piece by piece. Exact min-max scaling would need all rows at once; instead the
//! bounds of every feature are those of its clusters (center ± 3 deviations) and what falls
//! beyond, about one value in a thousand of the outermost cluster, is moved to the bound.

use super::random::{NumberStream, Use};
use super::{Labelled, ROWS_PER_TASK, possible_clusters, shuffle};
use crate::Matrix;
use rayon::prelude::*;

/// Dimension of the subspace of each cluster.
const DIMENSION: usize = 12;
/// Deviation of centers, per feature. With the next two, k-means reaches an NMI of
/// about 0.6 on 20,000 rows of 512 features in 100 clusters: not easy, not hopeless.
const CENTRE: f64 = 0.3;
/// Deviation along a cluster's subspace, per feature.
const SUBSPACE: f64 = 1.0;
/// Deviation of the noise, per feature.
const NOISE: f64 = 0.5;
/// Bounds of a cluster, in deviations.
const REACH: f64 = 3.0;

/// The settings of a mixture worked out, ready to make any of its rows.
#[derive(Clone, Debug)]
pub struct Mixture {
    n_features: usize,
    seed: u64,
    /// Share of clusters 0..=j of all rows.
    cumulative: Vec<f64>,
    /// The clusters of the first rows, each once.
    first: Vec<usize>,
    clusters: Vec<Cluster>,
    /// Deviation of the noise per feature, after scaling.
    noise: Vec<f32>,
}

#[derive(Clone, Debug)]
struct Cluster {
    center: Vec<f32>,
    /// [`DIMENSION`] vectors, one after the other.
    basis: Vec<f32>,
}

impl Mixture {
    /// Works out `n_clusters` clusters in `n_features` dimensions.
    pub fn new(n_features: usize, n_clusters: usize, seed: u64) -> Self {
        let k = n_clusters.max(1);
        let mut stream = NumberStream::new(seed, Use::Order, 0);
        // Sizes differ up to eightfold.
        let weights: Vec<f64> =
            (0..k).map(|_| 0.15 + stream.uniform() * stream.uniform()).collect();
        let mut first: Vec<usize> = (0..k).collect();
        shuffle(&mut first, &mut stream);

        let drawn: Vec<[Vec<f64>; 2]> =
            (0..k).into_par_iter().map(|j| draw_cluster(n_features, seed, j)).collect();
        let (mut low, mut high) = (vec![f64::MAX; n_features], vec![f64::MIN; n_features]);
        for [center, basis] in &drawn {
            for f in 0..n_features {
                let variance: f64 = basis.iter().skip(f).step_by(n_features).map(|b| b * b).sum();
                let reach = REACH * (variance + NOISE * NOISE).sqrt();
                low[f] = low[f].min(center[f] - reach);
                high[f] = high[f].max(center[f] + reach);
            }
        }
        let scale: Vec<f64> = low.iter().zip(&high).map(|(low, high)| 1.0 / (high - low)).collect();
        let clusters = drawn.into_iter().map(|[center, basis]| Cluster {
            center: (0..n_features).map(|f| ((center[f] - low[f]) * scale[f]) as f32).collect(),
            basis: basis.iter().zip(scale.iter().cycle()).map(|(b, s)| (b * s) as f32).collect(),
        });
        Self {
            n_features,
            seed,
            cumulative: cumulative_shares(&weights),
            first,
            clusters: clusters.collect(),
            noise: scale.iter().map(|s| (NOISE * s) as f32).collect(),
        }
    }

    /// Number of features, the length of a row.
    #[cfg(feature = "front-ends")]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Makes rows `start..` in parallel, as many as `labels` holds; `values` takes them row after
    /// row, and what is too long of either is left as it was.
    pub fn fill(&self, start: usize, values: &mut [f32], labels: &mut [u32]) {
        if self.n_features == 0 {
            for (i, label) in labels.iter_mut().enumerate() {
                *label = self.class(&mut self.stream(start.wrapping_add(i)), start.wrapping_add(i))
                    as u32;
            }
            return;
        }
        let rows = values.par_chunks_exact_mut(self.n_features).with_min_len(ROWS_PER_TASK);
        rows.zip(labels).enumerate().for_each_init(Vec::new, |bytes, (i, (row, label))| {
            *label = self.fill_row(start.wrapping_add(i), row, bytes);
        });
    }

    /// Writes row `i` and returns its class.
    fn fill_row(&self, i: usize, row: &mut [f32], bytes: &mut Vec<u8>) -> u32 {
        let mut stream = self.stream(i);
        let class = self.class(&mut stream, i);
        let cluster = &self.clusters[class];
        let coefficients: [f32; DIMENSION] = std::array::from_fn(|_| stream.normal() as f32);
        stream.fill_nearly_normal(row, bytes);
        for ((value, noise), center) in row.iter_mut().zip(&self.noise).zip(&cluster.center) {
            *value = center + noise * *value;
        }
        for (axis, z) in cluster.basis.chunks_exact(self.n_features).zip(coefficients) {
            for (value, b) in row.iter_mut().zip(axis) {
                *value += z * b;
            }
        }
        for value in row {
            *value = value.clamp(0.0, 1.0);
        }
        class as u32
    }

    fn stream(&self, i: usize) -> NumberStream {
        NumberStream::new(self.seed, Use::Row, i)
    }

    /// The class of row `i`: the first rows visit every cluster once, so that none is empty; the
    /// others follow the sizes.
    fn class(&self, stream: &mut NumberStream, i: usize) -> usize {
        let share = stream.uniform();
        let drawn = self.cumulative.partition_point(|&up_to| up_to <= share);
        self.first.get(i).copied().unwrap_or(drawn.min(self.clusters.len() - 1))
    }
}

/// Center and basis of cluster `j`, before scaling.
fn draw_cluster(n_features: usize, seed: u64, j: usize) -> [Vec<f64>; 2] {
    let mut stream = NumberStream::new(seed, Use::Shape, j);
    let center = (0..n_features).map(|_| CENTRE * stream.normal()).collect();
    let length = SUBSPACE / (DIMENSION as f64).sqrt();
    let basis = (0..DIMENSION * n_features).map(|_| length * stream.normal()).collect();
    [center, basis]
}

fn cumulative_shares(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let sums = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum / total)
    });
    sums.collect()
}

/// Uneven clusters of 12 dimensions each, with noise, in `[0, 1]` and single precision: the shape
/// of the largest data set of the paper is 195,537 × 512 with 100 clusters.
///
/// Row i is the same for every `n` of at least `n_clusters`.
pub fn mixture(n: usize, n_features: usize, n_clusters: usize, seed: u64) -> Labelled {
    let mixture = Mixture::new(n_features, possible_clusters(n, n_clusters), seed);
    let mut values = vec![0.0; n * n_features];
    let mut labels = vec![0; n];
    mixture.fill(0, &mut values, &mut labels);
    Labelled { matrix: Matrix::Dense32 { values, n_rows: n, n_cols: n_features }, labels }
}
