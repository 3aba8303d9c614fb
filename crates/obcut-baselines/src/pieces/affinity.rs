//! Symmetric sparse affinities between rows, and the spectrum of their normalized form S.
//!
//! The solver is given a power of (1 + S) / 2 rather than S: it has the same vectors in the same
//! order, no negative eigenvalues, and those near 1, which lie close together in weak graphs, are
//! farther apart.

use obcut::{Error, Graph};
use obcut_core::linalg::eigen;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

use super::links::times;

/// What is added to degrees, so that a row without edges does not divide by zero.
const EPSILON: f64 = 2.2e-16;
/// Up to this many rows the whole decomposition is cheap.
const SMALL: usize = 320;

/// How often (1 + S) / 2 is applied. Eigenvalues of S about 0 are then still told apart.
const POWER: usize = 8;

/// Weights between N rows: N × N, symmetric, no entry twice.
#[derive(Clone, Debug)]
pub(crate) struct Affinity {
    pub graph: Graph,
}

impl Affinity {
    /// A + A' of links A (N × N, no entry twice).
    pub fn of_links(links: &Graph) -> Self {
        let back = transposed(links);
        let mut graph = Graph::empty(links.n_cols);
        let (mut entries, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..links.n_rows() {
            entries.clear();
            for (columns, values) in [links.row(i), back.row(i)] {
                entries.extend(columns.iter().copied().zip(values.iter().copied()));
            }
            entries.sort_by_key(|entry: &(u32, f64)| entry.0);
            columns.clear();
            values.clear();
            for same in entries.chunk_by(|a, b| a.0 == b.0) {
                columns.push(same[0].0);
                // Two at most, so that the sum has the same bits on both sides of the diagonal.
                values.push(same.iter().map(|entry| entry.1).sum());
            }
            graph.push(&columns, &values);
        }
        Self { graph }
    }

    /// Sums of the rows.
    pub fn degrees(&self) -> Vec<f64> {
        (0..self.graph.n_rows()).map(|i| self.graph.row(i).1.iter().sum()).collect()
    }

    /// The largest eigenvalues of D^-1/2 W D^-1/2, descending, and their vectors (N × count); no
    /// more than there are rows.
    pub fn largest(
        &self,
        count: usize,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let graph = self.normalized();
        let n = graph.n_rows();
        let count = count.min(n);
        let check = || context.check();
        if n <= SMALL || !eigen::iterates(n, count) {
            return eigen::largest(&dense(&graph), n, count, stream, check);
        }
        let (_, vectors) = eigen::largest_of(n, count, stream, check, |x, width| {
            (0..POWER).try_fold(x.to_vec(), |x, _| halfway(&graph, x, width, context))
        })?;
        let images = times(&graph, &vectors, count, context)?;
        let values = (0..count)
            .map(|j| (0..n).map(|i| images[i * count + j] * vectors[i * count + j]).sum())
            .collect();
        Ok((values, vectors))
    }

    /// D^-1/2 W D^-1/2.
    fn normalized(&self) -> Graph {
        let scale: Vec<f64> =
            self.degrees().iter().map(|degree| 1.0 / (degree + EPSILON).sqrt()).collect();
        let mut graph = self.graph.clone();
        for i in 0..graph.n_rows() {
            let range = graph.offsets[i]..graph.offsets[i + 1];
            let (columns, values) = (&graph.columns[range.clone()], &mut graph.values[range]);
            // The product of the two scales first: it is the same on both sides of the diagonal.
            columns.iter().zip(values).for_each(|(&c, v)| *v *= scale[i] * scale[c as usize]);
        }
        graph
    }
}

/// (1 + S) / 2 times a matrix (N × width).
fn halfway(
    graph: &Graph,
    x: Vec<f64>,
    width: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let mut out = times(graph, &x, width, context)?;
    out.iter_mut().zip(&x).for_each(|(o, x)| *o = 0.5 * (*o + x));
    Ok(out)
}

/// Bytes that [`Affinity::largest`] takes for `count` vectors of `n` rows, and the affinity of
/// `edges` links before it.
pub(crate) fn spectrum_bytes(n: usize, count: usize, edges: f64) -> f64 {
    // As wide as the solver's basis: some more vectors than asked for, four blocks or 120 columns.
    let block = count + (count / 4).max(6);
    let basis = (4 * block).max(block + 120).min(n);
    let vectors = 8.0 * n as f64 * (2 * basis + 4 * block.min(n)) as f64;
    vectors + 60.0 * edges + 24.0 * n as f64
}

/// Columns become rows, their entries by ascending row.
fn transposed(links: &Graph) -> Graph {
    let mut next = vec![0usize; links.n_cols + 1];
    links.columns.iter().for_each(|&c| next[c as usize + 1] += 1);
    for c in 0..links.n_cols {
        next[c + 1] += next[c];
    }
    let mut back = Graph {
        offsets: next.clone(),
        columns: vec![0; links.columns.len()],
        values: vec![0.0; links.values.len()],
        n_cols: links.n_rows(),
    };
    for i in 0..links.n_rows() {
        let (columns, values) = links.row(i);
        for (&c, &v) in columns.iter().zip(values) {
            let at = next[c as usize];
            back.columns[at] = i as u32;
            back.values[at] = v;
            next[c as usize] += 1;
        }
    }
    back
}

fn dense(graph: &Graph) -> Vec<f64> {
    let n = graph.n_cols;
    let mut out = vec![0.0; graph.n_rows() * n];
    for (i, out) in out.chunks_exact_mut(n.max(1)).enumerate() {
        let (columns, values) = graph.row(i);
        columns.iter().zip(values).for_each(|(&c, v)| out[c as usize] += v);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut::Silent;
    use obcut_core::linalg::factor::symmetric_eigen;

    /// `per_row` links of every row, in rings of the same remainder.
    fn links(n: usize, per_row: usize, n_parts: usize) -> Graph {
        let weights = Stream::new(4).values(n * per_row);
        let mut graph = Graph::empty(n);
        for i in 0..n {
            let columns: Vec<u32> =
                (1..=per_row).map(|s| ((i + s * s * n_parts) % n) as u32).collect();
            let values: Vec<f64> =
                weights[i * per_row..(i + 1) * per_row].iter().map(|v| v.abs()).collect();
            graph.push(&columns, &values);
        }
        graph
    }

    #[test]
    fn the_sum_with_the_transposed_equals_the_dense_one_and_is_symmetric() {
        let links = links(40, 4, 1);
        let affinity = Affinity::of_links(&links);
        let (a, w) = (dense(&links), dense(&affinity.graph));
        for i in 0..40 {
            for j in 0..40 {
                assert_eq!(w[i * 40 + j], a[i * 40 + j] + a[j * 40 + i]);
            }
            assert!(affinity.graph.row(i).0.is_sorted());
        }
        let degrees = affinity.degrees();
        assert!(
            (0..40).all(|i| {
                (degrees[i] - w[i * 40..(i + 1) * 40].iter().sum::<f64>()).abs() < 1e-14
            })
        );
    }

    #[test]
    fn the_largest_eigenpairs_agree_with_the_whole_decomposition() {
        let context = Context::new(2, &Silent).unwrap();
        for (n, count) in [(60, 5), (800, 6)] {
            let affinity = Affinity::of_links(&links(n, 5, 4));
            let (values, vectors) = affinity.largest(count, Stream::new(1), &context).unwrap();
            let graph = affinity.normalized();
            let (all, _) = symmetric_eigen(&dense(&graph), n).unwrap();
            let image = times(&graph, &vectors, count, &context).unwrap();
            for j in 0..count {
                assert!((values[j] - all[n - 1 - j]).abs() < 1e-6, "{n} {j}: {}", values[j]);
                let off = (0..n)
                    .map(|i| (image[i * count + j] - values[j] * vectors[i * count + j]).powi(2));
                assert!(off.sum::<f64>().sqrt() < 1e-3);
            }
            // Rings of four remainders: four parts, each with the eigenvalue 1.
            assert!(values[..4].iter().all(|v| (v - 1.0).abs() < 1e-8), "{values:?}");
            assert!(values[4] < 1.0 - 1e-6);
        }
    }

    #[test]
    fn rows_without_edges_do_no_harm() {
        let mut links = Graph::empty(4);
        links.push(&[1], &[1.0]);
        (0..3).for_each(|_| links.push(&[], &[]));
        let context = Context::new(1, &Silent).unwrap();
        let (values, vectors) =
            Affinity::of_links(&links).largest(9, Stream::new(0), &context).unwrap();
        assert_eq!((values.len(), vectors.len()), (4, 16));
        assert!((values[0] - 1.0).abs() < 1e-12 && vectors.iter().all(|v| v.is_finite()));
    }
}
