//! The spectral start: transfer cut on the anchors, embedding of the samples, k-means.
//!
//! The samples' normalised cut problem on B has the same spectrum as the M × M matrix
//! D^-1/2 (B' D_N^-1 B) D^-1/2 of the anchors, so only that one is factored. Rows of the embedding
//! are scaled to unit length before k-means.
//!
//! Fragments: pieces of the graph that are too small to be clusters would capture the leading
//! eigenvectors. Where anchors have coordinates, every fragment is tied to the nearest anchor of a
//! sizeable piece, which leaves true pieces apart; where they have none (a graph given as such), a
//! little weight is spread over all pairs of anchors.

use super::Graph;
use super::components::{Components, components};
use crate::error::Error;
use crate::kmeans::{self, Effort, Seeding, Weighted};
use crate::linalg::eigen;
use crate::matrix::DenseRef;
use crate::normalize::Scaling;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::table::{Table, squared_distance};

/// A piece with less than this share of an average cluster is a fragment.
const FRAGMENT: f64 = 0.1;
/// Share of the mean degree that is spread over all anchors when fragments cannot be tied.
const SPREAD: f64 = 0.1;

/// Labels from the spectrum of a graph.
pub(crate) struct SpectralStart {
    pub labels: Vec<u32>,
    /// Pieces too small to be clusters.
    pub n_fragments: usize,
}

/// Clusters the rows of `graph` by its `k` leading eigenvectors. `anchors` are the anchors'
/// coordinates (M × d) if they have any.
pub(crate) fn start(
    graph: &Graph,
    (weights, keys): (&[f64], &[u64]),
    k: usize,
    anchors: Option<(&[f64], usize)>,
    stream: Stream,
    context: &Context<'_>,
) -> Result<SpectralStart, Error> {
    let (n, m) = (graph.n_rows(), graph.n_cols);
    let pieces = components(graph, weights);
    let smallest = FRAGMENT * weights.iter().sum::<f64>() / k as f64;
    let small: Vec<bool> = pieces.mass.iter().map(|&mass| mass < smallest).collect();
    let n_pieces = small.iter().filter(|s| !**s).count();
    let n_fragments = pieces.mass.iter().filter(|&&mass| mass > 0.0 && mass < smallest).count();
    if k == 1 {
        return Ok(SpectralStart { labels: vec![0; n], n_fragments });
    }
    let mut affinity = affinity(graph, weights, context)?;
    if n_fragments > 0 {
        match anchors {
            Some((values, d)) if n_pieces > 0 => tie(&mut affinity, m, &pieces, &small, values, d),
            _ => spread(&mut affinity, m),
        }
    }
    let scale: Vec<f64> = affinity
        .chunks_exact(m)
        .map(|row| {
            let degree: f64 = row.iter().sum();
            if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 }
        })
        .collect();
    for (row, a) in affinity.chunks_exact_mut(m).zip(&scale) {
        row.iter_mut().zip(&scale).for_each(|(v, b)| *v *= a * b);
    }
    let (_, mut vectors) =
        eigen::largest(&affinity, m, k, stream.named("eigen"), || context.check())?;
    drop(affinity);
    for (row, a) in vectors.chunks_exact_mut(k).zip(&scale) {
        row.iter_mut().for_each(|v| *v *= a);
    }
    let embedding = embed(graph, &vectors, k, context)?;
    let labels = discretise(&embedding, n, k, (weights, keys), stream, context)?;
    Ok(SpectralStart { labels, n_fragments })
}

/// B' D_N^-1 B, an anchor at a time: the sums run over ascending rows whoever computes them.
fn affinity(graph: &Graph, weights: &[f64], context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let m = graph.n_cols;
    let (offsets, entries) = graph.by_column();
    let rows = context.each(m, |a| {
        let mut out = vec![0.0; m];
        for &(i, p) in &entries[offsets[a]..offsets[a + 1]] {
            let (columns, values) = graph.row(i as usize);
            let degree: f64 = values.iter().sum();
            let share = weights[i as usize] * graph.values[p] / degree;
            for (&b, v) in columns.iter().zip(values) {
                out[b as usize] += share * v;
            }
        }
        out
    })?;
    let mut affinity = rows.concat();
    // a b / degree and b a / degree round differently.
    for a in 0..m {
        for b in 0..a {
            affinity[b * m + a] = affinity[a * m + b];
        }
    }
    Ok(affinity)
}

/// Ties every fragment to a sizeable piece by an edge between their nearest anchors, as heavy as
/// the fragment.
fn tie(
    affinity: &mut [f64],
    m: usize,
    pieces: &Components,
    small: &[bool],
    anchors: &[f64],
    d: usize,
) {
    let is_small = |a: usize| small[pieces.of_anchor[a] as usize];
    let mut nearest = vec![(f64::INFINITY, 0usize, 0usize); small.len()];
    for a in (0..m).filter(|&a| is_small(a)) {
        let best = &mut nearest[pieces.of_anchor[a] as usize];
        for b in (0..m).filter(|&b| !is_small(b)) {
            let distance =
                squared_distance(&anchors[a * d..(a + 1) * d], &anchors[b * d..(b + 1) * d]);
            if distance < best.0 {
                *best = (distance, a, b);
            }
        }
    }
    for (piece, &(distance, a, b)) in nearest.iter().enumerate() {
        if distance.is_finite() && pieces.mass[piece] > 0.0 {
            affinity[a * m + b] += pieces.mass[piece];
            affinity[b * m + a] += pieces.mass[piece];
        }
    }
}

/// Spreads a share of the mean degree over all pairs.
fn spread(affinity: &mut [f64], m: usize) {
    let mean = affinity.iter().sum::<f64>() / m as f64;
    let add = SPREAD * mean / m as f64;
    affinity.iter_mut().for_each(|v| *v += add);
}

/// Rows B V, scaled to unit length.
fn embed(
    graph: &Graph,
    vectors: &[f64],
    k: usize,
    context: &Context<'_>,
) -> Result<Vec<f32>, Error> {
    let n = graph.n_rows();
    let mut embedding = vec![0.0f32; n * k];
    context.map_into(n, &mut embedding, k, |range, out| {
        let mut row = vec![0.0; k];
        for (i, out) in range.zip(out.chunks_exact_mut(k)) {
            row.fill(0.0);
            let (columns, values) = graph.row(i);
            for (&m, &v) in columns.iter().zip(values) {
                let m = m as usize;
                crate::linalg::gemm::axpy(v, &vectors[m * k..(m + 1) * k], &mut row);
            }
            let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            out.iter_mut().zip(&row).for_each(|(o, v)| *o = (v * inverse) as f32);
        }
    })?;
    Ok(embedding)
}

/// k-means on the rows of the embedding.
fn discretise(
    embedding: &[f32],
    n: usize,
    k: usize,
    (weights, keys): (&[f64], &[u64]),
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let scaling = Scaling::identity(k);
    let table = Table::new(DenseRef::new(embedding, n, k)?.into(), &scaling);
    let rows = Weighted { table: &table, weights, keys };
    let effort = Effort {
        seeding: Seeding::PlusPlus,
        iterations: 50,
        restarts: 5,
        rows_per_center: Some(256),
        full_passes: 3,
    };
    let centers = kmeans::fit(&rows, k, effort, stream.named("discretise"), context, Stage::Start)?;
    let points = table.points(centers.values);
    Ok(kmeans::assign(&rows, &points, context)?.labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    /// Rows of `n_groups` groups, each with two anchors of its own, joined by a weak chain.
    fn chain(n: usize, n_groups: u32, weak: f64) -> Graph {
        let mut graph = Graph::empty(2 * n_groups as usize);
        for i in 0..n as u32 {
            let a = 2 * (i % n_groups);
            let next = (a + 2) % (2 * n_groups);
            let mut row = vec![(a, 0.5 + 1e-3 * f64::from(i % 7)), (a + 1, 0.4), (next, weak)];
            row.retain(|e| e.1 > 0.0);
            row.sort_by_key(|e| e.0);
            let total: f64 = row.iter().map(|e| e.1).sum();
            let columns: Vec<u32> = row.iter().map(|e| e.0).collect();
            let values: Vec<f64> = row.iter().map(|e| e.1 / total).collect();
            graph.push(&columns, &values);
        }
        graph
    }

    fn labels(graph: &Graph, k: usize, anchors: Option<(&[f64], usize)>) -> SpectralStart {
        let n = graph.n_rows();
        let keys: Vec<u64> = (0..n as u64).map(crate::random::mix).collect();
        let context = Context::new(2, &Silent).unwrap();
        start(graph, (&vec![1.0; n], &keys), k, anchors, Stream::new(1), &context).unwrap()
    }

    fn follow(labels: &[u32], n_groups: usize) -> bool {
        let first = &labels[..n_groups];
        let distinct: std::collections::HashSet<&u32> = first.iter().collect();
        distinct.len() == n_groups
            && labels.iter().enumerate().all(|(i, l)| *l == first[i % n_groups])
    }

    #[test]
    fn weakly_joined_groups_and_true_pieces_are_told_apart() {
        for weak in [0.05, 0.0] {
            let found = labels(&chain(200, 4, weak), 4, None);
            assert!(follow(&found.labels, 4), "{weak}");
            assert_eq!(found.n_fragments, 0);
        }
    }

    #[test]
    fn a_fragment_is_no_cluster() {
        // One row alone with two anchors near the second group.
        let mut graph = chain(201, 3, 0.0);
        let last = graph.offsets[200]..graph.offsets[201];
        graph.columns.drain(last.clone());
        graph.values.drain(last);
        graph.offsets.truncate(201);
        graph.n_cols = 8;
        graph.push(&[6, 7], &[0.5, 0.5]);
        let anchors = [0.0, 0.1, 5.0, 5.1, 10.0, 10.1, 5.5, 5.6];
        let found = labels(&graph, 3, Some((&anchors, 1)));
        assert_eq!(found.n_fragments, 1);
        assert!(follow(&found.labels[..200], 3));
        assert_eq!(found.labels[200], found.labels[1], "it goes with the group next to it");
    }

    #[test]
    fn the_affinity_is_the_plain_product() {
        let graph = chain(30, 3, 0.2);
        let weights: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i % 3)).collect();
        let context = Context::new(1, &Silent).unwrap();
        let found = affinity(&graph, &weights, &context).unwrap();
        let m = graph.n_cols;
        let mut plain = vec![0.0; m * m];
        for i in 0..30 {
            let (columns, values) = graph.row(i);
            for (&a, u) in columns.iter().zip(values) {
                for (&b, v) in columns.iter().zip(values) {
                    plain[a as usize * m + b as usize] += weights[i] * u * v;
                }
            }
        }
        assert!(found.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
