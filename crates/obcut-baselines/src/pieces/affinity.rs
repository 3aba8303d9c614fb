//! Symmetric sparse affinities and their spectrum.

use obcut::linalg::eigen;
use obcut::parallel::Context;
use obcut::random::Stream;
use obcut::{Error, Graph};

/// Added to degrees, so that isolated rows do not divide by zero.
const EPSILON: f64 = 2.2e-16;
/// Up to this size the matrix is filled up.
const DENSE: usize = 320;

/// A symmetric affinity between rows, N × N.
pub(crate) struct Affinity {
    /// Every edge both ways.
    pub graph: Graph,
}

impl Affinity {
    /// Sums of the rows.
    pub fn degrees(&self) -> Vec<f64> {
        (0..self.graph.n_rows()).map(|i| self.graph.row(i).1.iter().sum()).collect()
    }

    /// The largest eigenvalues of D^-1/2 W D^-1/2, descending, and the vectors (N × count).
    pub fn largest(
        &self,
        count: usize,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let n = self.graph.n_rows();
        let count = count.min(n);
        let roots: Vec<f64> = self.degrees().iter().map(|d| 1.0 / (d + EPSILON).sqrt()).collect();
        if n <= DENSE || !eigen::iterates(n, count) {
            return eigen::largest(&self.dense(&roots), n, count, stream, || context.check());
        }
        eigen::largest_of(
            n,
            count,
            stream,
            || context.check(),
            |x, width| self.times(&roots, x, width, context),
        )
    }

    fn dense(&self, roots: &[f64]) -> Vec<f64> {
        let n = self.graph.n_rows();
        let mut all = vec![0.0; n * n];
        for (i, row) in all.chunks_exact_mut(n.max(1)).enumerate() {
            let (columns, values) = self.graph.row(i);
            for (&j, v) in columns.iter().zip(values) {
                row[j as usize] += roots[i] * v * roots[j as usize];
            }
        }
        all
    }

    /// D^-1/2 W D^-1/2 times a block (N × width).
    fn times(
        &self,
        roots: &[f64],
        x: &[f64],
        width: usize,
        context: &Context<'_>,
    ) -> Result<Vec<f64>, Error> {
        let n = self.graph.n_rows();
        let mut out = vec![0.0; n * width];
        context.map_into(n, &mut out, width, |range, out| {
            for (i, out) in range.zip(out.chunks_exact_mut(width)) {
                let (columns, values) = self.graph.row(i);
                for (&j, v) in columns.iter().zip(values) {
                    let weight = roots[i] * v * roots[j as usize];
                    let row = &x[j as usize * width..(j as usize + 1) * width];
                    out.iter_mut().zip(row).for_each(|(o, x)| *o += weight * x);
                }
            }
        })?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut::Silent;

    /// A ring with chords, and one row without edges.
    fn ring(n: usize) -> Affinity {
        let mut graph = Graph::empty(n);
        let m = n - 1;
        for i in 0..m {
            let mut columns = [1, 5, m - 5, m - 1].map(|step| ((i + step) % m) as u32);
            columns.sort_unstable();
            let values = columns.map(|j| 1.0 + ((j as usize + i) % 3) as f64);
            graph.push(&columns, &values);
        }
        graph.push(&[], &[]);
        Affinity { graph }
    }

    #[test]
    fn products_and_the_filled_matrix_have_one_spectrum() {
        let context = Context::new(2, &Silent).unwrap();
        let affinity = ring(700);
        let (values, vectors) = affinity.largest(6, Stream::new(1), &context).unwrap();
        let roots: Vec<f64> =
            affinity.degrees().iter().map(|d| 1.0 / (d + EPSILON).sqrt()).collect();
        let dense = affinity.dense(&roots);
        let (all, _) = obcut::linalg::factor::symmetric_eigen(&dense, 700).unwrap();
        for (j, value) in values.iter().enumerate() {
            assert!((value - all[699 - j]).abs() < 1e-7, "{value} {}", all[699 - j]);
        }
        assert!((values[0] - 1.0).abs() < 1e-7);
        assert!(vectors.chunks_exact(6).all(|row| row.iter().all(|v| v.is_finite())));
    }
}
