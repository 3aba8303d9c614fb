//! The spectral start: transfer cut on the anchors, embedding of the samples, k-means.
//!
//! The samples' normalized cut problem on B has the same spectrum as the M × M matrix
//! D^-1/2 (B' D_N^-1 B) D^-1/2 of the anchors, so only that one is factored. Rows of the embedding
//! are scaled to unit length before k-means.
//!
//! Fragments: pieces of the graph that are too small to be clusters would capture the leading
//! eigenvectors. Where anchors have coordinates, every fragment is tied to the nearest anchor of a
//! sizeable piece, which leaves true pieces apart; where they have none (a graph given as such), a
//! little weight is spread over all pairs of anchors.

use super::Graph;
use super::components::{Components, components, sizeable_piece};
use crate::error::Error;
use crate::kmeans::{self, Schedule, Seeding, Weighted};
use crate::linalg::eigen;
use crate::linalg::gemm::mirror;
use crate::linalg::simd::{axpy, squared_distance};
use crate::matrix::DenseRef;
use crate::normalize::Scaling;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::table::Table;

/// Up to this many anchors their affinity is formed; beyond, only multiplied with.
const DENSE_ANCHORS: usize = 3000;
/// Share of the mean degree that is spread over all anchors when fragments cannot be tied.
const SPREAD: f64 = 0.1;

/// k-means on the embedding.
pub const DISCRETISE: Schedule = Schedule {
    seeding: Seeding::PlusPlus,
    iterations: 50,
    restarts: 5,
    rows_per_restart: Some(32),
    rows_per_center: Some(256),
    more_iterations: 50,
    full_passes: 3,
    tol: 1e-4,
    plain: false,
};

/// Labels from the spectrum of a graph.
pub struct SpectralStart {
    /// Cluster of every row.
    pub labels: Vec<u32>,
    /// Pieces too small to be clusters.
    pub n_fragments: usize,
}

/// Where the columns of a graph lie: the coordinates of the anchors, and the anchor of every column.
#[derive(Clone, Copy)]
pub struct Coordinates<'a> {
    /// M × d.
    pub anchors: &'a [f64],
    /// Number of features.
    pub d: usize,
    /// Anchor of every column.
    pub of_column: &'a [u32],
}

impl<'a> Coordinates<'a> {
    fn of(&self, column: usize) -> &'a [f64] {
        let a = self.of_column[column] as usize;
        &self.anchors[a * self.d..(a + 1) * self.d]
    }
}

/// Clusters the rows of `graph` by its `k` leading eigenvectors. `anchors` say where its columns
/// lie, if they lie anywhere.
pub fn start(
    graph: &Graph,
    (weights, keys): (&[f64], &[u64]),
    k: usize,
    anchors: Option<Coordinates<'_>>,
    stream: Stream,
    context: &Context<'_>,
) -> Result<SpectralStart, Error> {
    let spectrum = spectrum(graph, weights, (k, k), anchors, stream.named("eigen"), context)?;
    let n_fragments = spectrum.n_fragments;
    let labels = spectrum.labels(graph, (weights, keys), (k, k), DISCRETISE, stream, context)?;
    Ok(SpectralStart { labels, n_fragments })
}

/// Leading eigenvectors of the anchors.
pub struct Spectrum {
    /// M × k, scaled so that B times them embeds the rows.
    vectors: Vec<f64>,
    k: usize,
    /// The eigenvalues, descending.
    pub values: Vec<f64>,
    /// Pieces too small to be clusters.
    pub n_fragments: usize,
}

/// The `q` leading eigenvectors of a graph that is cut into `k` clusters.
pub fn spectrum(
    graph: &Graph,
    weights: &[f64],
    (k, q): (usize, usize),
    anchors: Option<Coordinates<'_>>,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Spectrum, Error> {
    let m = graph.n_cols;
    let pieces = components(graph, weights);
    let smallest = sizeable_piece(&pieces, weights, k);
    let small: Vec<bool> = pieces.mass.iter().map(|&mass| mass < smallest).collect();
    let n_pieces = small.iter().filter(|s| !**s).count();
    let n_fragments = pieces.mass.iter().filter(|&&mass| mass > 0.0 && mass < smallest).count();
    if k == 1 {
        return Ok(Spectrum { vectors: vec![1.0; m], k: 1, values: vec![1.0], n_fragments });
    }
    let repair = match anchors {
        _ if n_fragments == 0 => Repair::None,
        Some(at) if n_pieces > 0 => Repair::Ties(ties(m, &pieces, &small, at)),
        _ => Repair::Spread(SPREAD * weights.iter().sum::<f64>() / (m as f64).powi(2)),
    };
    let scale = inverse_roots(graph, weights, &repair);
    let k = q;
    let (values, mut vectors) = if m <= DENSE_ANCHORS || !eigen::iterates(m, k) {
        let mut affinity = affinity(graph, weights, context)?;
        repair.apply(&mut affinity, m);
        for (row, a) in affinity.chunks_exact_mut(m).zip(&scale) {
            row.iter_mut().zip(&scale).for_each(|(v, b)| *v *= a * b);
        }
        eigen::largest(&affinity, m, k, stream, || context.check())?
    } else {
        let columns = graph.by_column();
        eigen::largest_of(
            m,
            k,
            stream,
            || context.check(),
            |x, width| product(graph, &columns, weights, (&scale, &repair), x, width, context),
        )?
    };
    for (row, a) in vectors.chunks_exact_mut(k).zip(&scale) {
        row.iter_mut().for_each(|v| *v *= a);
    }
    Ok(Spectrum { vectors, k, values, n_fragments })
}

impl Spectrum {
    /// The eigenvectors carried over to the rows: N × q.
    pub fn on_rows(&self, graph: &Graph) -> Vec<f64> {
        let q = self.k;
        let mut out = vec![0.0; graph.n_rows() * q];
        for (i, out) in out.chunks_exact_mut(q).enumerate() {
            let (columns, values) = graph.row(i);
            for (&m, &v) in columns.iter().zip(values) {
                axpy(v, &self.vectors[m as usize * q..(m as usize + 1) * q], out);
            }
        }
        out
    }

    /// Clusters the rows into `k` by the first `q` of the eigenvectors.
    pub fn labels(
        &self,
        graph: &Graph,
        (weights, keys): (&[f64], &[u64]),
        (k, q): (usize, usize),
        schedule: Schedule,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<u32>, Error> {
        let n = graph.n_rows();
        if k == 1 {
            return Ok(vec![0; n]);
        }
        let embedding = embed(graph, (&self.vectors, self.k), q, context)?;
        let scaling = Scaling::identity(q);
        let table = Table::new(DenseRef::new(&embedding, n, q)?.into(), &scaling);
        let rows = Weighted { table: &table, weights, keys };
        let stream = stream.named("discretise");
        let centers = kmeans::fit(&rows, k, schedule, stream, context, Stage::Start)?;
        let points = table.points(centers.values);
        kmeans::assign(&table, &points, context)
    }
}

/// B' D_N^-1 B, an anchor at a time: the sums run over ascending rows whoever computes them.
fn affinity(graph: &Graph, weights: &[f64], context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let m = graph.n_cols;
    let (offsets, entries) = graph.by_column();
    let degrees: Vec<f64> = (0..graph.n_rows()).map(|i| graph.row(i).1.iter().sum()).collect();
    let mut affinity = vec![0.0; m * m];
    context.each_into(&mut affinity, m, |a, out| {
        for &(i, at) in &entries[offsets[a]..offsets[a + 1]] {
            let (i, at) = (i as usize, at as usize);
            let (columns, values) = graph.row(i);
            let share = weights[i] * values[at] / degrees[i];
            // Columns ascend, and the other half is the same.
            for (&b, v) in columns[..=at].iter().zip(&values[..=at]) {
                out[b as usize] += share * v;
            }
        }
    })?;
    mirror(&mut affinity, m);
    Ok(affinity)
}

/// What is added to the affinity where fragments would capture the eigenvectors.
enum Repair {
    None,
    /// Edges between two anchors.
    Ties(Vec<(usize, usize, f64)>),
    /// A weight on every pair.
    Spread(f64),
}

impl Repair {
    fn apply(&self, affinity: &mut [f64], m: usize) {
        match self {
            Self::None => {}
            Self::Ties(ties) => {
                for &(a, b, weight) in ties {
                    affinity[a * m + b] += weight;
                    affinity[b * m + a] += weight;
                }
            }
            Self::Spread(add) => affinity.iter_mut().for_each(|v| *v += add),
        }
    }
}

/// 1 / sqrt(row sum of the affinity): the sums of B' D_N^-1 B are the anchors' degrees.
fn inverse_roots(graph: &Graph, weights: &[f64], repair: &Repair) -> Vec<f64> {
    let mut degrees = graph.degrees(weights);
    match repair {
        Repair::None => {}
        Repair::Ties(ties) => ties.iter().for_each(|&(a, b, weight)| {
            degrees[a] += weight;
            degrees[b] += weight;
        }),
        Repair::Spread(add) => degrees.iter_mut().for_each(|d| *d += add * graph.n_cols as f64),
    }
    degrees.iter().map(|&d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }).collect()
}

/// The scaled affinity times a block (M × width), from the edges alone.
fn product(
    graph: &Graph,
    (offsets, entries): &(Vec<usize>, Vec<(u32, u32)>),
    weights: &[f64],
    (scale, repair): (&[f64], &Repair),
    x: &[f64],
    width: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let (n, m) = (graph.n_rows(), graph.n_cols);
    let scaled: Vec<f64> = x.iter().enumerate().map(|(p, v)| v * scale[p / width]).collect();
    let row = |a: usize| &scaled[a * width..(a + 1) * width];
    // D_N^-1 B x, a row at a time, then B' of that, an anchor at a time.
    let mut middle = vec![0.0; n * width];
    context.map_into(n, &mut middle, width, |range, out| {
        for (i, out) in range.zip(out.chunks_exact_mut(width)) {
            let (columns, values) = graph.row(i);
            let share = weights[i] / values.iter().sum::<f64>();
            for (&a, &v) in columns.iter().zip(values) {
                axpy(share * v, row(a as usize), out);
            }
        }
    })?;
    let mut out = vec![0.0; m * width];
    let total: Vec<f64> = match repair {
        Repair::Spread(add) => {
            (0..width).map(|c| add * (0..m).map(|a| scaled[a * width + c]).sum::<f64>()).collect()
        }
        _ => vec![0.0; width],
    };
    context.map_into(m, &mut out, width, |range, out| {
        for (a, out) in range.zip(out.chunks_exact_mut(width)) {
            out.copy_from_slice(&total);
            for &(i, at) in &entries[offsets[a]..offsets[a + 1]] {
                let i = i as usize;
                axpy(graph.row(i).1[at as usize], &middle[i * width..(i + 1) * width], out);
            }
        }
    })?;
    if let Repair::Ties(ties) = repair {
        for &(a, b, weight) in ties {
            axpy(weight, row(b), &mut out[a * width..(a + 1) * width]);
            axpy(weight, row(a), &mut out[b * width..(b + 1) * width]);
        }
    }
    for (row, s) in out.chunks_exact_mut(width).zip(scale) {
        row.iter_mut().for_each(|v| *v *= s);
    }
    Ok(out)
}

/// An edge from every fragment to a sizeable piece, between their nearest anchors and as heavy as the
/// fragment.
fn ties(
    m: usize,
    pieces: &Components,
    small: &[bool],
    at: Coordinates<'_>,
) -> Vec<(usize, usize, f64)> {
    let is_small = |a: usize| small[pieces.of_anchor[a] as usize];
    let mut nearest = vec![(f64::INFINITY, 0usize, 0usize); small.len()];
    for a in (0..m).filter(|&a| is_small(a)) {
        let best = &mut nearest[pieces.of_anchor[a] as usize];
        for b in (0..m).filter(|&b| !is_small(b)) {
            let distance = squared_distance(at.of(a), at.of(b));
            if distance < best.0 {
                *best = (distance, a, b);
            }
        }
    }
    (nearest.iter().zip(&pieces.mass))
        .filter(|((distance, _, _), mass)| distance.is_finite() && **mass > 0.0)
        .map(|(&(_, a, b), &mass)| (a, b, mass))
        .collect()
}

/// Rows B V with the first `k` of the vectors, scaled to unit length.
fn embed(
    graph: &Graph,
    (vectors, stride): (&[f64], usize),
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
                let start = m as usize * stride;
                axpy(v, &vectors[start..start + k], &mut row);
            }
            let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            out.iter_mut().zip(&row).for_each(|(o, v)| *o = (v * inverse) as f32);
        }
    })?;
    Ok(embedding)
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

    fn labels(graph: &Graph, k: usize, anchors: Option<Coordinates<'_>>) -> SpectralStart {
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
        let of_column: Vec<u32> = (0..8).collect();
        let at = Coordinates { anchors: &anchors, d: 1, of_column: &of_column };
        let found = labels(&graph, 3, Some(at));
        assert_eq!(found.n_fragments, 1);
        assert!(follow(&found.labels[..200], 3));
        assert_eq!(found.labels[200], found.labels[1], "it goes with the group next to it");
    }

    #[test]
    fn products_from_the_edges_equal_those_of_the_matrix() {
        let graph = chain(60, 5, 0.1);
        let weights: Vec<f64> = (0..60).map(|i| 1.0 + f64::from(i % 3)).collect();
        let context = Context::new(2, &Silent).unwrap();
        let (m, width) = (graph.n_cols, 3);
        let x = Stream::new(4).values(m * width);
        for repair in
            [Repair::None, Repair::Spread(0.3), Repair::Ties(vec![(0, 7, 2.0), (3, 1, 1.0)])]
        {
            let scale = inverse_roots(&graph, &weights, &repair);
            let mut dense = affinity(&graph, &weights, &context).unwrap();
            repair.apply(&mut dense, m);
            for a in 0..m {
                let sum: f64 = dense[a * m..(a + 1) * m].iter().sum();
                assert!((scale[a] - 1.0 / sum.sqrt()).abs() < 1e-12);
            }
            let columns = graph.by_column();
            let found = product(&graph, &columns, &weights, (&scale, &repair), &x, width, &context)
                .unwrap();
            for a in 0..m {
                for c in 0..width {
                    let plain: f64 = (0..m)
                        .map(|b| scale[a] * dense[a * m + b] * scale[b] * x[b * width + c])
                        .sum();
                    assert!((found[a * width + c] - plain).abs() < 1e-12);
                }
            }
        }
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
