//! ESCG, efficient spectral clustering on graphs: J. Liu, C. Wang, M. Danilevsky and J. Han,
//! "Large-Scale Spectral Clustering on Graphs", IJCAI 2013; with more than one round ESCG-R of the
//! same paper.
//!
//! A neighbor graph is compressed to supernodes, which grow from random seeds along shortest
//! paths, and the bipartite graph of rows and supernodes is cut. ESCG-R makes new supernodes from
//! the embedding.
//!
//! Differs from the published program: one search carries the seeds along instead of one search per
//! seed, with the same result; lengths come from exponents, so that tiny weights do not cut a path;
//! and rows that no seed reaches get supernodes of their own (at most as many more) instead of
//! joining the first.

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Graph, Observer, Samples, Scale, Stage, Warning};
use obcut_core::linalg::{eigen, gemm};
use obcut_core::random::{choose, mix};

use crate::configure::{require, settings};
use crate::job::{self, Job, Preparation, check_memory};
use crate::pieces::means::{Flavour, cluster_points};
use crate::pieces::paths;
use obcut_core::knn;

/// Distances are at least this.
const FLOOR: f64 = 1e-6;
/// Added to lengths, so that none is zero.
const STEP: f64 = 1e-9;
/// Squared singular values below this part of the largest are noise.
const NOISE: f64 = 1e-12;
/// Spread, as a part of the size, below which a column is constant.
const CONSTANT: f64 = 1e-12;

settings! {
    /// Settings of ESCG.
    Escg {
        /// Supernodes, at most as many as rows
        supernodes: usize = 50, "k or more";
        /// Neighbors that a row is linked to; as many as there are rows give the dense graph
        neighbors: usize = 50, "1 or more";
        /// Rounds: 1 is ESCG, 10 is ESCG-R as published
        rounds: usize = 1, "1 or more";
        /// Starts of the last k-means
        n_init: usize = 20, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for Escg {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let (n, d) = (samples.n_rows(), samples.width_at_most());
        let Self { supernodes, neighbors, rounds, n_init, scale } = *self;
        require(neighbors > 0, "neighbors", neighbors, "1 or more")?;
        require(rounds > 0, "rounds", rounds, "1 or more")?;
        require(n_init > 0, "n_init", n_init, "1 or more")?;
        let (supernodes, neighbors) = (supernodes.min(n), neighbors.min(n.saturating_sub(1)));
        let hint = "set it to the number of clusters or more";
        require(supernodes >= k || k > n, "supernodes", supernodes, hint)?;
        let edges = (n as f64) * neighbors as f64;
        let width = 2 * if rounds > 1 { supernodes.max(k) } else { supernodes };
        let needed = 60.0 * edges
            + knn::search_bytes(n, d, neighbors)
            + 8.0 * (n as f64 * (width + 3 * k) as f64 + 4.0 * (width * width) as f64);
        check_memory("escg", needed, n, run)?;
        let preparation = Preparation { scale, may_move: true, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| {
            self.work(job, supernodes, neighbors)
        })
    }
}

impl Escg {
    fn work(
        &self,
        job: &mut Job<'_>,
        supernodes: usize,
        neighbors: usize,
    ) -> Result<Vec<u32>, Error> {
        let k = job.k;
        let mut edges = job.time(Stage::Graph, |job| Edges::between(job, neighbors))?;
        let (groups, unreached) = job.time(Stage::Anchors, |job| {
            let keys: Vec<u64> = (0..job.n as u64).map(mix).collect();
            grow(job, &edges, &choose(&keys, supernodes, job.stream.named("seeds")))
        })?;
        if unreached > 0 {
            job.warnings.push(Warning::Method(format!(
                "{unreached} rows are not connected to any seed; each becomes its own supernode"
            )));
        }
        edges.weigh();
        let embedding = job.time(Stage::Spectrum, |job| {
            let mut embedding = cut(job, &edges.graph, &groups, k)?.1;
            for _ in 1..self.rounds {
                let Some(groups) = halves(&embedding, k) else { break };
                embedding = cut(job, &edges.graph, &groups, k)?.1;
            }
            Ok(embedding)
        })?;
        job.time(Stage::KMeans, |job| {
            let flavour = Flavour::lite(200, self.n_init);
            cluster_points(&embedding, k, k, flavour, job.stream, job.context)
        })
    }
}

/// The neighbor graph.
struct Edges {
    /// Lengths, then weights.
    graph: Graph,
    /// The smallest exponent: that of the largest weight.
    least: f64,
}

impl Edges {
    /// Edges between rows of which one is among the nearest of the other.
    fn between(job: &Job<'_>, neighbors: usize) -> Result<Self, Error> {
        let lists = knn::nearest(job.table, neighbors, job.context)?;
        Ok(Self::new(knn::union(lists, job.context)?))
    }

    /// Lengths from squared distances: the exponent d^2 / (2 m_i m_j), m the mean distance of a row
    /// to its neighbors, less the smallest exponent.
    fn new(mut graph: Graph) -> Self {
        graph.values.iter_mut().for_each(|v| *v = v.sqrt().max(FLOOR));
        let mean = |i| {
            let row = graph.row(i).1;
            row.iter().sum::<f64>() / row.len().max(1) as f64
        };
        let means: Vec<f64> = (0..graph.n_rows()).map(mean).collect();
        for i in 0..graph.n_rows() {
            let range = graph.offsets[i]..graph.offsets[i + 1];
            for (v, &j) in graph.values[range.clone()].iter_mut().zip(&graph.columns[range]) {
                *v = *v * *v / (2.0 * (means[i] * means[j as usize]));
            }
        }
        let least = graph.values.iter().copied().fold(f64::INFINITY, f64::min);
        graph.values.iter_mut().for_each(|v| *v = *v - least + STEP);
        Self { graph, least }
    }

    /// From lengths to weights.
    fn weigh(&mut self) {
        self.graph.values.iter_mut().for_each(|v| *v = (-(*v - STEP + self.least)).exp());
    }
}

/// Supernodes, by what rows belong to them.
struct Groups {
    /// N × width: the supernodes of every row.
    members: Vec<u32>,
    width: usize,
    /// Number of supernodes.
    count: usize,
}

/// Supernodes around seeds, and how many rows no seed reaches.
fn grow(job: &Job<'_>, edges: &Edges, seeds: &[u32]) -> Result<(Groups, usize), Error> {
    let found = paths::nearest_seeds(&edges.graph, seeds, job.context)?;
    let (part, n_parts) = paths::components(&edges.graph, |i| found[i].is_none());
    let (own, extra) = (seeds.len(), n_parts.min(seeds.len()));
    let members = found
        .iter()
        .zip(&part)
        .map(|(found, part)| match (found, part) {
            (Some((_, seed)), _) => *seed,
            (None, Some(part)) => (own + *part as usize % extra.max(1)) as u32,
            (None, None) => 0,
        })
        .collect();
    let unreached = found.iter().filter(|f| f.is_none()).count();
    Ok((Groups { members, width: 1, count: own + extra }, unreached))
}

/// 1 / sqrt, and 0 of nothing.
fn inverse_root(sum: f64) -> f64 {
    if sum > 0.0 { 1.0 / sum.sqrt() } else { 0.0 }
}

/// The largest singular values of the normalized links between rows and supernodes, and the
/// embedding of the rows (N × k), zero where there is nothing to embed.
fn cut(
    job: &Job<'_>,
    weights: &Graph,
    groups: &Groups,
    k: usize,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (n, m) = (job.n, groups.count);
    let (links, roots) = links(job, weights, groups)?;
    let mut gram = vec![0.0; m * m];
    job.context.fold_large(
        n,
        |range| {
            let rows = &links[range.start * m..range.end * m];
            let mut part = vec![0.0; m * m];
            gemm::transposed_times(rows, rows, &mut part, (m, m, range.len()));
            part
        },
        |part: Vec<f64>| gram.iter_mut().zip(part).for_each(|(g, p)| *g += p),
    )?;
    let (count, stream) = (k.min(m), job.stream.named("spectrum"));
    let (squares, vectors) = eigen::largest(&gram, m, count, stream, || job.context.check())?;
    let turn = turn(&squares, &vectors, k);
    let mut embedding = vec![0.0; n * k];
    job.context.map_into(n, &mut embedding, k, |range, out| {
        let rows = &links[range.start * m..range.end * m];
        gemm::times(rows, &turn, out, (range.len(), k, m));
        for (row, root) in out.chunks_exact_mut(k).zip(&roots[range]) {
            row.iter_mut().for_each(|v| *v *= root);
        }
    })?;
    Ok((squares.into_iter().map(|s| s.max(0.0).sqrt()).collect(), embedding))
}

/// Vectors over singular values, filled up with zeros to `k` columns.
fn turn(squares: &[f64], vectors: &[f64], k: usize) -> Vec<f64> {
    let count = squares.len();
    let scale: Vec<f64> = squares
        .iter()
        .map(|&s| if s > NOISE * squares[0] { inverse_root(s) } else { 0.0 })
        .collect();
    let mut turn = vec![0.0; vectors.len() / count.max(1) * k];
    for (out, row) in turn.chunks_exact_mut(k).zip(vectors.chunks_exact(count)) {
        for ((out, v), s) in out.iter_mut().zip(row).zip(&scale) {
            *out = v * s;
        }
    }
    turn
}

/// Weights between rows and supernodes (N × count) over the roots of both sums, and one over the
/// roots of the rows' sums.
fn links(job: &Job<'_>, weights: &Graph, groups: &Groups) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (n, m, width) = (job.n, groups.count, groups.width);
    let mut links = vec![0.0; n * m];
    let sums = job.context.map_into(n, &mut links, m, |range, out| {
        let mut sums = vec![0.0; m];
        for (j, out) in range.zip(out.chunks_exact_mut(m)) {
            let (columns, values) = weights.row(j);
            for (&i, w) in columns.iter().zip(values) {
                let members = &groups.members[i as usize * width..(i as usize + 1) * width];
                members.iter().for_each(|&s| out[s as usize] += w);
            }
            sums.iter_mut().zip(&*out).for_each(|(sum, v)| *sum += v);
        }
        sums
    })?;
    let mut total = vec![0.0; m];
    for part in sums {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
    }
    let scale: Vec<f64> = total.into_iter().map(inverse_root).collect();
    let mut roots = vec![0.0; n];
    job.context.map_into(n, &mut roots, 1, |range, roots| {
        for (j, root) in range.zip(roots) {
            *root = inverse_root(links[j * m..(j + 1) * m].iter().sum());
        }
    })?;
    job.context.map_into(n, &mut links, m, |range, out| {
        for (row, root) in out.chunks_exact_mut(m).zip(&roots[range]) {
            row.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s * root);
        }
    })?;
    Ok((links, roots))
}

/// Two supernodes for every column of an embedding: rows from the mean on, and rows below. Constant
/// columns give none; `None` when all are constant.
fn halves(embedding: &[f64], k: usize) -> Option<Groups> {
    let n = embedding.len() / k;
    let column = |c: usize| embedding.iter().skip(c).step_by(k).copied();
    let means: Vec<(usize, f64)> = (0..k)
        .filter(|&c| {
            let (low, high) = column(c)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            high - low > CONSTANT * low.abs().max(high.abs())
        })
        .map(|c| (c, column(c).sum::<f64>() / n as f64))
        .filter(|&(c, mean)| column(c).any(|v| v >= mean) && column(c).any(|v| v < mean))
        .collect();
    let side =
        |row: &[f64], p: usize, (c, mean): (usize, f64)| 2 * p as u32 + u32::from(row[c] < mean);
    let members = embedding
        .chunks_exact(k)
        .flat_map(|row| means.iter().enumerate().map(move |(p, &half)| side(row, p, half)))
        .collect();
    let width = means.len();
    (width > 0).then_some(Groups { members, width, count: 2 * width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, subset, with_job};
    use obcut::{Matrix, Silent};

    #[test]
    fn the_pieces_agree_with_the_reference() {
        let Some((matrix, _)) = subset("PenDigits", 16) else { return };
        with_job(&matrix, 10, Scale::None, true, |job| {
            let mut edges = Edges::between(job, 50)?;
            assert_eq!(edges.graph.columns.len(), 43282);
            let seeds: Vec<u32> = (0..job.n as u32).step_by(14).take(49).collect();
            let found = paths::nearest_seeds(&edges.graph, &seeds, job.context)?;
            let total: f64 = found.iter().flatten().map(|f| f.0).sum();
            assert!(near(total, 148.45682576, 1e-6), "{total}");
            let (groups, unreached) = grow(job, &edges, &seeds)?;
            assert_eq!(unreached, 0);
            let size = |s: u32| groups.members.iter().filter(|&&m| m == s).count();
            assert_eq!([0, 1, 2, 3, 4].map(size), [13, 2, 12, 5, 6]);
            edges.weigh();
            let weights = &edges.graph;
            assert!(near(weights.values.iter().sum(), 26337.757959, 1e-9));
            let most = weights.values.iter().copied().fold(0.0, f64::max);
            assert!(near(most, 0.99326302, 1e-8), "{most}");
            assert_eq!(weights.row(0).0.len(), 51);
            assert!(near(weights.row(0).1.iter().sum(), 30.90690108, 1e-9));
            let (values, _) = cut(job, weights, &groups, 10)?;
            let expected = [
                1.0, 0.96825274, 0.96002188, 0.92280667, 0.90092367, 0.8688467, 0.7634619,
                0.73475223, 0.6214872, 0.60762306,
            ];
            assert!(values.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-6)), "{values:?}");
            Ok(())
        });
    }

    /// Two groups of rows far apart.
    fn two_blobs() -> Matrix {
        let mut values = obcut_core::random::Stream::new(2).values(80 * 2);
        values.iter_mut().skip(80).for_each(|v| *v += 1e4);
        Matrix::Dense64 { values, n_rows: 80, n_cols: 2 }
    }

    #[test]
    fn rows_that_no_seed_reaches_get_a_supernode_of_their_own() {
        with_job(&two_blobs(), 2, Scale::None, true, |job| {
            let mut edges = Edges::between(job, 5)?;
            let (groups, unreached) = grow(job, &edges, &[1, 7, 30])?;
            assert_eq!(unreached, 40);
            assert!(groups.members[..40].iter().all(|&s| s < 3));
            assert!(groups.members[40..].iter().all(|&s| s == groups.members[40] && s >= 3));
            edges.weigh();
            let (values, embedding) = cut(job, &edges.graph, &groups, 2)?;
            assert!(values.iter().all(|v| near(*v, 1.0, 1e-9)), "{values:?}");
            assert!(embedding.iter().all(|v| v.is_finite()));
            Ok(())
        });
    }

    /// The embedding is D_c^-1/2 v with v the right singular vectors, which are orthonormal.
    #[test]
    fn the_embedding_times_the_roots_of_degrees_is_orthonormal() {
        let values = obcut_core::random::Stream::new(5).values(200 * 3);
        let matrix = Matrix::Dense64 { values, n_rows: 200, n_cols: 3 };
        with_job(&matrix, 4, Scale::None, true, |job| {
            let mut edges = Edges::between(job, 9)?;
            let seeds: Vec<u32> = (0..20).map(|s| s * 10).collect();
            let (groups, _) = grow(job, &edges, &seeds)?;
            edges.weigh();
            let (_, embedding) = cut(job, &edges.graph, &groups, 4)?;
            for a in 0..4 {
                for b in 0..4 {
                    let product: f64 = (0..200)
                        .map(|i| {
                            let degree: f64 = edges.graph.row(i).1.iter().sum();
                            embedding[i * 4 + a] * embedding[i * 4 + b] * degree
                        })
                        .sum();
                    assert!((product - f64::from(u8::from(a == b))).abs() < 1e-9, "{product}");
                }
            }
            Ok(())
        });
    }

    #[test]
    fn halves_leave_constant_columns_out() {
        let groups = halves(&[1.0, 0.0, 1.0, 4.0, 1.0, 2.0], 2).unwrap();
        assert_eq!((groups.width, groups.count), (1, 2));
        assert_eq!(groups.members, [1, 0, 0]);
        assert!(halves(&[1.0, 0.0, 1.0, 0.0], 2).is_none());
    }

    #[test]
    fn degenerate_rows_are_clustered_or_refused() {
        let run = Run::default();
        for rounds in [1, 10] {
            let escg = Escg { rounds, ..Escg::default() };
            let found = escg.cluster(&two_blobs().samples().unwrap(), 2, &run, &Silent).unwrap();
            assert_eq!(found.n_clusters, 2);
            for (values, n, k) in
                [(vec![3.0; 40], 20, 3), (vec![1.0, 2.0, 3.0, 9.0], 4, 4), (vec![0.0; 2], 2, 2)]
            {
                let d = values.len() / n;
                let matrix = Matrix::Dense64 { values, n_rows: n, n_cols: d };
                let found = escg.cluster(&matrix.samples().unwrap(), k, &run, &Silent).unwrap();
                assert_eq!(found.labels.len(), n);
            }
        }
        let labels = |threads| {
            let run = Run { threads, ..run };
            let matrix = obcut::synthetic::blobs(1500, 3, 4, 1.0, 1).matrix;
            let escg = Escg { rounds: 3, ..Escg::default() };
            escg.cluster(&matrix.samples().unwrap(), 4, &run, &Silent).unwrap().labels
        };
        assert_eq!(labels(1), labels(2));
        let few = Escg { supernodes: 2, ..Escg::default() };
        assert!(few.cluster(&two_blobs().samples().unwrap(), 3, &run, &Silent).is_err());
        let run = Run { memory: 1 << 20, ..run };
        let dense = Escg { neighbors: 1000, ..Escg::default() };
        assert!(dense.cluster(&two_blobs().samples().unwrap(), 3, &run, &Silent).is_err());
    }
}
