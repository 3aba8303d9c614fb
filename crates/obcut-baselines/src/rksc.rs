//! RKSC, spectral clustering on a refined neighbor graph: M. Alshammari, J. Stavrakakis and M.
//! Takatsuka, "Refining a k-nearest neighbor graph for a computationally efficient spectral
//! clustering", Pattern Recognition 114, 2021.
//!
//! The neighbor list of a row ends where the running mean of its distances leaves a baseline;
//! edges are kept when both ends list each other. Of clusterings in embeddings of growing dimension
//! the one that cuts the least weight is kept.
//!
//! Distances count the row itself as the first, as the published program does. It breaks with more
//! than 30 clusters; here there are always as many eigenvectors as clusters. The scale of the
//! weights stays the seventh distance whatever the baseline. Lists are cut as they are found. In a
//! graph of several parts the vectors of the repeated eigenvalue are any basis; the trivial one is
//! made the first, since it is dropped. Rows without an edge go with their nearest row. k-means starts
//! from the better of several draws (greedy k-means++), as in the runs it is compared with.

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Graph, Observer, Samples, Scale, Stage};

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::affinity::Affinity;
use crate::pieces::embedding::{trivial_first, unit_rows};
use crate::pieces::means::{Flavour, cluster_points};
use obcut_core::knn::{self, Neighbor};

/// Eigenvalues this near to 1 are one value, repeated since the graph is in pieces.
const REPEATED: f64 = 1e-8;
/// Which distance, the row itself counted, scales the weights of a row.
const SCALE_AT: usize = 7;
/// Neighbors that are looked up first: most lists end before.
const FEW: usize = 256;
/// Keeps the scale of weights from zero.
const EPSILON: f64 = 2.2e-16;

settings! {
    /// Settings of RKSC.
    Rksc {
        /// Neighbors that a row may have at most
        max_neighbors: usize = 2000, "1 or more";
        /// Distances that make up the baseline of a row, the row itself counted
        baseline: usize = 7, "2 or more";
        /// Eigenvectors that the rows of the embedding are scaled over; at least k are taken
        vectors: usize = 30, "1 or more";
        /// Step between the dimensions that are tried
        stride: usize = 1, "1 or more";
        /// Starts of every k-means
        n_init: usize = 3, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for Rksc {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        let Self { max_neighbors, baseline, vectors, stride, n_init, scale } = *self;
        require(max_neighbors > 0, "max_neighbors", max_neighbors, "1 or more")?;
        require(baseline > 1, "baseline", baseline, "2 or more")?;
        require(vectors > 0, "vectors", vectors, "1 or more")?;
        require(stride > 0, "stride", stride, "1 or more")?;
        require(n_init > 0, "n_init", n_init, "1 or more")?;
        let vectors = vectors.max(k).min(n);
        // The program looks at all others but one.
        let count = max_neighbors.min(n.saturating_sub(2)).max(1);
        let needed = bytes(n, d, count, vectors, k);
        check_memory("rksc", needed, n, run)?;
        let preparation = Preparation { scale, may_move: true, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| self.work(job, count, vectors))
    }
}

/// Peak of memory when no threshold ends a list: lists and graph, or graph and eigenvectors.
fn bytes(n: usize, d: usize, count: usize, vectors: usize, k: usize) -> f64 {
    let lists = 12.0 * n as f64 * count as f64;
    // A block of vectors, and the basis and its image that are made of some blocks.
    let block = vectors + (vectors / 4).max(6);
    let spectrum = 16.0 * (4 * block).max(130) as f64 + 32.0 * block as f64 + 16.0 * k as f64;
    let search = knn::search_bytes(n, d, count).max(knn::search_bytes(n, d, FEW.min(count)));
    lists + lists.max(search).max(n as f64 * spectrum)
}

impl Rksc {
    fn work(&self, job: &mut Job<'_>, count: usize, vectors: usize) -> Result<Vec<u32>, Error> {
        let (affinity, nearest) = job.time(Stage::Graph, |job| graph(job, count, self.baseline))?;
        let embedding = job.time(Stage::Spectrum, |job| {
            let stream = job.stream.named("spectrum");
            let (values, mut embedding) = affinity.largest(vectors, stream, job.context)?;
            let trivial: Vec<f64> = affinity.degrees().iter().map(|d| d.sqrt()).collect();
            let block = values.iter().filter(|&&v| v > 1.0 - REPEATED).count();
            trivial_first(&mut embedding, vectors, block, &trivial);
            unit_rows(&mut embedding, vectors);
            Ok(embedding)
        })?;
        let mut labels =
            job.time(Stage::KMeans, |job| self.labels(job, &affinity, &embedding, vectors))?;
        // Rows without an edge have no place in the embedding: they go with their nearest row.
        let alone = |i: usize| affinity.graph.row(i).0.is_empty();
        for i in (0..job.n).filter(|&i| alone(i)) {
            if let Some(j) = nearest[i].map(|j| j as usize).filter(|&j| !alone(j)) {
                labels[i] = labels[j];
            }
        }
        Ok(labels)
    }

    /// The clustering that cuts the least weight over the dimensions tried; the first of equals.
    fn labels(
        &self,
        job: &Job<'_>,
        affinity: &Affinity,
        embedding: &[f64],
        vectors: usize,
    ) -> Result<Vec<u32>, Error> {
        let k = job.k;
        let flavour = Flavour::greedy(500, self.n_init);
        let mut best: Option<(f64, Vec<u32>)> = None;
        let tried = (2..k).step_by(self.stride).chain([k]);
        for r in tried {
            let points: Vec<f64> =
                embedding.chunks_exact(vectors).flat_map(|row| row[1..r].iter().copied()).collect();
            let stream = job.stream.named("dimension").nth(r);
            let labels = cluster_points(&points, r - 1, k, flavour, stream, job.context)?;
            let cut = cut_weight(&affinity.graph, &labels);
            if best.as_ref().is_none_or(|best| cut < best.0) {
                best = Some((cut, labels));
            }
        }
        Ok(best.map_or_else(|| vec![0; job.n], |best| best.1))
    }
}

/// Weight of the edges between clusters; if there are none, the smallest weight.
fn cut_weight(graph: &Graph, labels: &[u32]) -> f64 {
    let mut cut = 0.0;
    for (i, label) in labels.iter().enumerate() {
        let (columns, values) = graph.row(i);
        let others = columns.iter().zip(values).filter(|(j, _)| labels[**j as usize] != *label);
        cut += others.map(|(_, v)| v).sum::<f64>();
    }
    // Every edge was counted both ways.
    if cut > 0.0 { cut / 2.0 } else { graph.values.iter().copied().fold(f64::INFINITY, f64::min) }
}

/// The neighbors that a row keeps, by index, the nearest of them, and the scale of its weights.
struct Kept {
    nearest: Option<u32>,
    columns: Vec<u32>,
    squared: Vec<f64>,
    sigma: f64,
}

impl Kept {
    /// None when the list does not end and is not `whole`.
    fn new(list: &[Neighbor], baseline: usize, whole: bool) -> Option<Self> {
        let length = match kept_length(list, baseline) {
            Some(length) => length,
            None if whole => list.len(),
            None => return None,
        };
        // The row itself is the first distance.
        let at = (SCALE_AT - 1).min(list.len());
        let sigma = if at == 0 { 0.0 } else { list[at - 1].0.sqrt() };
        let mut kept: Vec<Neighbor> = list[..length].to_vec();
        kept.sort_unstable_by_key(|entry| entry.1);
        let (squared, columns) = kept.into_iter().unzip();
        Some(Self { nearest: list.first().map(|entry| entry.1), columns, squared, sigma })
    }

    fn lists(&self, i: usize) -> bool {
        self.columns.binary_search(&(i as u32)).is_ok()
    }
}

/// Neighbors up to and with the first whose running mean is above the baseline's mean and
/// deviation, if there is one.
fn kept_length(list: &[Neighbor], baseline: usize) -> Option<usize> {
    // The row itself counts with a distance of zero.
    let first = (baseline - 1).min(list.len());
    let count = (first + 1) as f64;
    let mut sum: f64 = list[..first].iter().map(|e| e.0.sqrt()).sum();
    let mean = sum / count;
    let spread =
        mean * mean + list[..first].iter().map(|e| (e.0.sqrt() - mean).powi(2)).sum::<f64>();
    let threshold = mean + (spread / (count - 1.0).max(1.0)).sqrt();
    for (j, entry) in list.iter().enumerate().skip(first) {
        sum += entry.0.sqrt();
        if sum / (j + 2) as f64 > threshold {
            return Some(j + 1);
        }
    }
    None
}

/// Weights between rows that list each other, and the nearest row of each. Rows of no distance
/// (duplicates) have no edge.
fn graph(
    job: &Job<'_>,
    count: usize,
    baseline: usize,
) -> Result<(Affinity, Vec<Option<u32>>), Error> {
    let count = count.min(job.n.saturating_sub(1));
    let few = FEW.max(baseline).max(SCALE_AT);
    let lists = knn::visit_twice(job.table, (few, count), job.context, |_, list| {
        Kept::new(list, baseline, list.len() >= count)
    })?;
    let lists: Vec<Kept> = lists.into_iter().flatten().collect();
    let parts = job.context.map(job.n, |range| {
        let mut part = Graph::empty(job.n);
        range.for_each(|i| push_mutual(&lists, i, &mut part));
        part
    })?;
    let graph = Graph::stack(parts, job.n);
    Ok((Affinity { graph }, lists.iter().map(|kept| kept.nearest).collect()))
}

/// Adds the edges of a row to rows that list it too.
fn push_mutual(lists: &[Kept], i: usize, part: &mut Graph) {
    let own = &lists[i];
    for (&j, &squared) in own.columns.iter().zip(&own.squared) {
        let other = &lists[j as usize];
        let weight = (-squared / (own.sigma * other.sigma + EPSILON)).exp();
        if squared > 0.0 && weight > 0.0 && other.lists(i) {
            part.columns.push(j);
            part.values.push(weight);
        }
    }
    part.offsets.push(part.columns.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::paths::components;
    use crate::testing::{near, subset, with_job};
    use obcut::{Matrix, Silent};
    use obcut_core::random::Stream;

    #[test]
    fn the_pieces_agree_with_the_reference() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let lengths = knn::visit(job.table, 685, job.context, |_, list| {
                kept_length(list, 7).unwrap_or(list.len())
            })?;
            assert_eq!(lengths[..5], [16, 25, 27, 24, 34]);
            let mean = lengths.iter().sum::<usize>() as f64 / 687.0;
            assert!(near(mean, 24.2504, 1e-5), "{mean}");
            let affinity = graph(job, 685, 7)?.0;
            assert_eq!(affinity.graph.columns.len(), 2 * 5043);
            let total = affinity.graph.values.iter().sum::<f64>() / 2.0;
            assert!(near(total, 1676.26006859, 1e-9), "{total}");
            let degrees = affinity.degrees();
            assert!(near(degrees[0], 5.70024929, 1e-8), "{}", degrees[0]);
            assert!((0..687).filter(|&i| degrees[i] == 0.0).eq([257]));
            assert_eq!(components(&affinity.graph, |_| true).1, 3);
            let (values, _) = affinity.largest(30, job.stream, job.context)?;
            let expected =
                [0.0, 0.0, 0.00048258, 0.00090197, 0.00140437, 0.00384191, 0.00753275, 0.00832989];
            for (value, expected) in values.iter().zip(expected) {
                assert!((1.0 - value - expected).abs() < 1e-7, "{values:?}");
            }
            Ok(())
        });
    }

    #[test]
    fn a_list_ends_at_the_first_mean_above_the_threshold() {
        let list = |distances: &[f64]| -> Vec<Neighbor> {
            distances.iter().enumerate().map(|(j, d)| (d * d, j as u32)).collect()
        };
        // 0, 1, 1, 1 | mean 0.75, deviation 0.5: means 0.8, 1.0, 1.29, so the seventh distance is
        // the last.
        assert_eq!(kept_length(&list(&[1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 9.0]), 4), Some(6));
        assert_eq!(kept_length(&list(&[1.0; 9]), 4), None);
        assert_eq!(kept_length(&list(&[1.0, 2.0]), 7), None);
        assert_eq!(kept_length(&[], 7), None);
    }

    #[test]
    fn a_duplicate_has_no_edge_to_its_twin_and_nothing_breaks() {
        let mut values = Stream::new(3).values(60 * 3);
        values.extend_from_within(..3);
        let matrix = Matrix::Dense64 { values, n_rows: 61, n_cols: 3 };
        with_job(&matrix, 3, Scale::None, true, |job| {
            let affinity = graph(job, 59, 7)?.0;
            assert!(!affinity.graph.row(60).0.contains(&0));
            for i in 0..61 {
                let (columns, values) = affinity.graph.row(i);
                assert!(values.iter().all(|v| v.is_finite()) && columns.is_sorted());
                for (&j, v) in columns.iter().zip(values) {
                    let (back, there) = affinity.graph.row(j as usize);
                    let at = back.binary_search(&(i as u32)).expect("both ways");
                    assert_eq!(there[at], *v);
                }
            }
            Ok(())
        });
    }

    #[test]
    fn the_cut_is_the_weight_between_clusters_or_the_smallest_edge() {
        let mut graph = Graph::empty(3);
        graph.push(&[1], &[0.5]);
        graph.push(&[0, 2], &[0.5, 0.25]);
        graph.push(&[1], &[0.25]);
        assert_eq!(cut_weight(&graph, &[0, 1, 1]), 0.5);
        assert_eq!(cut_weight(&graph, &[0, 1, 2]), 0.75);
        assert_eq!(cut_weight(&graph, &[4, 4, 4]), 0.25);
    }

    #[test]
    fn threads_do_not_change_the_labels() {
        let matrix = obcut::synthetic::blobs(1500, 3, 4, 1.0, 1).matrix;
        let labels = |threads| {
            let run = Run { threads, ..Run::default() };
            let found = Rksc::default().cluster(&matrix.samples().unwrap(), 4, &run, &Silent);
            found.unwrap().labels
        };
        assert_eq!(labels(1), labels(2));
    }

    #[test]
    fn degenerate_rows_and_many_clusters_are_clustered() {
        let some = Stream::new(6).values(90 * 2);
        for (values, n, k) in [
            (vec![3.0; 40], 20, 3),
            (vec![1.0, 2.0, 3.0, 9.0], 4, 4),
            (vec![0.0, 1.0], 2, 2),
            (some.clone(), 90, 40),
            (some, 90, 2),
        ] {
            let d = values.len() / n;
            let matrix = Matrix::Dense64 { values, n_rows: n, n_cols: d };
            let samples = matrix.samples().unwrap();
            for stride in [1, 7] {
                let rksc = Rksc { stride, ..Rksc::default() };
                let found = rksc.cluster(&samples, k, &Run::default(), &Silent).unwrap();
                assert_eq!(found.labels.len(), n);
            }
        }
    }
}
