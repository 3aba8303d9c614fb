//! The graph of rows and their nearest rows: every row is its own anchor.
//!
//! | symbol | here | shape |
//! |--------|------|-------|
//! | B: b_ij ~ d_(s+1) - d_(j) over the s nearest other rows, squared distances | [`links`] | N × N |
//! | W = diag(w) B + B' diag(w) | [`symmetric`] | N × N |
//!
//! The weights are the closed form of the distance graph (`GraphKind::Distance` in `obcut`). A neighbor that is
//! as far as the first one left out gets no weight, so ties at the border do not matter.

use super::Graph;
use crate::error::Error;
use crate::knn;
use crate::linalg::eigen;
use crate::linalg::factor::symmetric_eigen;
use crate::linalg::gemm::transposed;
use crate::linalg::simd::{axpy, vectorised};
use crate::parallel::Context;
use crate::random::Stream;
use crate::table::Table;

/// Up to this many rows the whole spectrum is computed.
const DENSE: usize = 320;
/// Columns of a block of the eigenproblem, unless there are more components: an eigenvalue has as many
/// copies as there are components.
const BLOCK: usize = 8;
/// Restarts of the eigenproblem at most, of small graphs and of others, and the residual at which a vector
/// has converged.
const SMALL: usize = 5_000;
const RESTARTS: (usize, usize) = (8, 1);
const TOLERANCE: f64 = 1e-6;
/// The polynomial of the matrix is to grow by about e to this power from its bound to 1,
const GROWTH: f64 = 3.0;
/// with a degree within these.
const DEGREES: (f64, f64) = (4.0, 40.0);

/// The nearest other rows of every row.
#[derive(Clone, Debug)]
pub struct Neighbors {
    /// Neighbors of a row.
    pub count: usize,
    /// N × count squared distances and rows, the nearest first.
    pub lists: Vec<knn::Neighbor>,
}

impl Neighbors {
    /// The exact neighbors of all rows of a table.
    pub fn exact(table: &Table<'_>, count: usize, context: &Context<'_>) -> Result<Self, Error> {
        let count = count.min(table.n().saturating_sub(1));
        let lists = knn::nearest(table, count, context)?.concat();
        Ok(Self { count, lists })
    }

    /// Nearly all neighbors of all rows of a large table, see [`knn::nearest_by_cells`].
    pub fn by_cells(
        table: &Table<'_>,
        keys: &[u64],
        count: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let count = count.min(table.n().saturating_sub(1));
        let found = knn::nearest_by_cells(table, keys, count, context)?;
        Ok(Self { count, lists: found.lists })
    }

    /// The nearest `count` of the neighbors.
    pub fn first(&self, count: usize) -> Self {
        let count = count.min(self.count);
        let lists = (0..self.n()).flat_map(|i| &self.of(i)[..count]).copied().collect();
        Self { count, lists }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.lists.len().checked_div(self.count).unwrap_or(1)
    }

    /// The nearest rows of row `i`.
    pub fn of(&self, i: usize) -> &[knn::Neighbor] {
        &self.lists[i * self.count..(i + 1) * self.count]
    }
}

/// The rows of B on the `s` nearest rows; every row sums to one.
pub fn links(near: &Neighbors, s: usize) -> Graph {
    let n = near.n();
    let mut graph = Graph::empty(n);
    let mut row: Vec<(u32, f64)> = Vec::new();
    for i in 0..n {
        let list = near.of(i);
        let s = s.min(list.len().saturating_sub(1)).max(1).min(list.len());
        let border = list.last().map_or(0.0, |_| list[s.min(list.len() - 1)].0);
        let total: f64 = list[..s].iter().map(|e| border - e.0).sum();
        row.clear();
        for &(d, j) in &list[..s] {
            let b = if total > 0.0 { (border - d) / total } else { 1.0 / s as f64 };
            if b > 0.0 {
                row.push((j, b));
            }
        }
        row.sort_unstable_by_key(|e| e.0);
        graph.columns.extend(row.iter().map(|e| e.0));
        graph.values.extend(row.iter().map(|e| e.1));
        graph.offsets.push(graph.columns.len());
    }
    graph
}

/// diag(w) B + B' diag(w), with edges added: pairs of rows and their weight.
pub fn symmetric(links: &Graph, weights: &[f64], extra: &[(u32, u32, f64)]) -> Graph {
    let n = links.n_rows();
    let mut lengths = vec![0usize; n + 1];
    for i in 0..n {
        let (columns, _) = links.row(i);
        lengths[i + 1] += columns.len();
        columns.iter().for_each(|&j| lengths[j as usize + 1] += 1);
    }
    for &(a, b, _) in extra {
        lengths[a as usize + 1] += 1;
        lengths[b as usize + 1] += 1;
    }
    for i in 0..n {
        lengths[i + 1] += lengths[i];
    }
    let mut next = lengths.clone();
    let mut entries = vec![(0u32, 0.0f64); lengths[n]];
    let mut put = |from: usize, to: u32, value: f64| {
        entries[next[from]] = (to, value);
        next[from] += 1;
    };
    for i in 0..n {
        let (columns, values) = links.row(i);
        for (&j, &v) in columns.iter().zip(values) {
            put(i, j, weights[i] * v);
            put(j as usize, i as u32, weights[i] * v);
        }
    }
    for &(a, b, weight) in extra {
        put(a as usize, b, weight);
        put(b as usize, a, weight);
    }
    let mut graph = Graph::empty(n);
    for i in 0..n {
        let row = &mut entries[lengths[i]..lengths[i + 1]];
        row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let start = graph.columns.len();
        for &(j, v) in &*row {
            match graph.columns[start..].last() {
                Some(&last) if last == j => {
                    if let Some(value) = graph.values.last_mut() {
                        *value += v;
                    }
                }
                _ => {
                    graph.columns.push(j);
                    graph.values.push(v);
                }
            }
        }
        graph.offsets.push(graph.columns.len());
    }
    graph
}

/// Component of every row of a symmetric graph, numbered by their first row, and the weight of each.
pub fn components(graph: &Graph, weights: &[f64]) -> (Vec<u32>, Vec<f64>) {
    let n = graph.n_rows();
    let mut of_row = vec![u32::MAX; n];
    let (mut mass, mut stack) = (Vec::new(), Vec::new());
    for first in 0..n {
        if of_row[first] != u32::MAX {
            continue;
        }
        let number = mass.len() as u32;
        mass.push(0.0);
        of_row[first] = number;
        stack.push(first);
        while let Some(i) = stack.pop() {
            mass[number as usize] += weights[i];
            for &j in graph.row(i).0 {
                if of_row[j as usize] == u32::MAX {
                    of_row[j as usize] = number;
                    stack.push(j as usize);
                }
            }
        }
    }
    (of_row, mass)
}

/// Leading eigenvectors of a symmetric graph.
pub struct RowSpectrum {
    /// N × q, row-major: D^-1/2 times the eigenvectors of D^-1/2 W D^-1/2.
    pub vectors: Vec<f64>,
    /// Number of eigenvectors.
    pub q: usize,
}

/// The `q` leading eigenvectors of the normalized graph.
///
/// `start` holds vectors near those of the random walk on the graph (N × count, row-major), or none.
pub fn spectrum(
    graph: &Graph,
    q: usize,
    start: &[f64],
    stream: Stream,
    context: &Context<'_>,
) -> Result<RowSpectrum, Error> {
    let n = graph.n_rows();
    let q = q.min(n);
    let scale: Vec<f64> = (0..n)
        .map(|i| {
            let degree: f64 = graph.row(i).1.iter().sum();
            if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 }
        })
        .collect();
    let mut vectors = if n <= DENSE || !eigen::iterates(n, q) {
        let mut whole = vec![0.0; n * n];
        for i in 0..n {
            let (columns, weights) = graph.row(i);
            for (&j, &v) in columns.iter().zip(weights) {
                whole[i * n + j as usize] = scale[i] * v * scale[j as usize];
            }
        }
        let (_, basis) = symmetric_eigen(&whole, n)?;
        let mut vectors = vec![0.0; n * q];
        for i in 0..n {
            for j in 0..q {
                vectors[i * q + j] = basis[i * n + (n - 1 - j)];
            }
        }
        vectors
    } else {
        let (_, mass) = components(graph, &vec![1.0; n]);
        let count = start.len() / n;
        let mut known = transposed(start, n, count);
        for row in known.chunks_exact_mut(n) {
            row.iter_mut().zip(&scale).for_each(|(v, s)| *v = if *s > 0.0 { *v / s } else { 0.0 });
        }
        let block = BLOCK.max(mass.len() + 2);
        let walk = Walk { graph, scale: &scale };
        // One round says how far the eigenvalues go down,
        let search = eigen::Search { block, restarts: 1, tolerance: TOLERANCE, start: known };
        let check = || context.check();
        let (values, vectors) =
            eigen::largest_from(n, q, search, stream, check, |x, w| walk.lifted(x, w, context))?;
        let least = 2.0 * values.last().copied().unwrap_or(1.0) - 1.0;
        // and the others are on a polynomial of the matrix that keeps these apart.
        let filter = Filter::above(least);
        let search = eigen::Search {
            block,
            restarts: if n <= SMALL { RESTARTS.0 } else { RESTARTS.1 },
            tolerance: TOLERANCE,
            start: transposed(&vectors, n, q),
        };
        eigen::largest_from(n, q, search, stream, check, |x, w| filter.apply(&walk, x, w, context))?
            .1
    };
    for (row, s) in vectors.chunks_exact_mut(q).zip(&scale) {
        row.iter_mut().for_each(|v| *v *= s);
    }
    Ok(RowSpectrum { vectors, q })
}

/// The normalized matrix of a graph, A = D^-1/2 W D^-1/2.
struct Walk<'g> {
    graph: &'g Graph,
    scale: &'g [f64],
}

impl Walk<'_> {
    /// `by` A x + `keep` x + `add` y for blocks of vectors (N × width, row-major).
    fn combine(
        &self,
        (by, x): (f64, &[f64]),
        keep: f64,
        (add, y): (f64, &[f64]),
        width: usize,
        context: &Context<'_>,
    ) -> Result<Vec<f64>, Error> {
        let n = self.graph.n_rows();
        let mut out = vec![0.0; n * width];
        context.map_into(n, &mut out, width, |range, out| {
            vectorised(
                #[inline(always)]
                || {
                    for (i, out) in range.zip(out.chunks_exact_mut(width)) {
                        let (columns, weights) = self.graph.row(i);
                        let own = by * self.scale[i];
                        for (&j, &v) in columns.iter().zip(weights) {
                            let j = j as usize;
                            axpy(own * v * self.scale[j], &x[j * width..(j + 1) * width], out);
                        }
                        axpy(keep, &x[i * width..(i + 1) * width], out);
                        if add != 0.0 {
                            axpy(add, &y[i * width..(i + 1) * width], out);
                        }
                    }
                },
            );
        })?;
        Ok(out)
    }

    /// (A + I) / 2 times a block: positive semi-definite, with the same vectors as A.
    fn lifted(&self, x: &[f64], width: usize, context: &Context<'_>) -> Result<Vec<f64>, Error> {
        self.combine((0.5, x), 0.5, (0.0, &[]), width, context)
    }
}

/// The Chebyshev polynomial of A that is at most 1 in size below a bound and grows fast above it. Its vectors
/// are those of A, and the eigenvalues above the bound lie farther apart.
struct Filter {
    /// Middle and half width of the interval from -1 to the bound.
    middle: f64,
    half: f64,
    degree: usize,
}

impl Filter {
    /// For eigenvalues from `least` to 1.
    fn above(least: f64) -> Self {
        let bound = (least - 0.1 * (1.0 - least)).clamp(-0.9, 1.0 - 1e-9);
        let (middle, half) = ((bound - 1.0) / 2.0, (bound + 1.0) / 2.0);
        let top = (1.0 - middle) / half;
        let degree = (GROWTH / top.acosh()).ceil().clamp(DEGREES.0, DEGREES.1) as usize;
        Self { middle, half, degree }
    }

    fn apply(
        &self,
        walk: &Walk<'_>,
        x: &[f64],
        width: usize,
        context: &Context<'_>,
    ) -> Result<Vec<f64>, Error> {
        // T_0 = x, T_1 = L x, T_(j+1) = 2 L T_j - T_(j-1) with L = (A - middle) / half.
        let (by, keep) = (1.0 / self.half, -self.middle / self.half);
        let mut before = x.to_vec();
        let mut now = walk.combine((by, x), keep, (0.0, &[]), width, context)?;
        for _ in 1..self.degree {
            context.check()?;
            let next =
                walk.combine((2.0 * by, &now), 2.0 * keep, (-1.0, &before), width, context)?;
            before = std::mem::replace(&mut now, next);
        }
        Ok(now)
    }
}

impl RowSpectrum {
    /// The first `q` coordinates of every row, scaled to unit length.
    pub fn embedding(&self, q: usize) -> Vec<f32> {
        let q = q.min(self.q);
        let mut out = Vec::with_capacity(self.vectors.len() / self.q * q);
        for row in self.vectors.chunks_exact(self.q) {
            let row = &row[..q];
            let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            out.extend(row.iter().map(|v| (v * inverse) as f32));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;

    fn with_graph<R>(n: usize, d: usize, s: usize, work: impl Fn(&Graph, &Context<'_>) -> R) -> R {
        let x = Stream::new(3).values(n * d);
        let scaling = Scaling::identity(d);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let context = Context::new(2, &Silent).unwrap();
        let near = Neighbors::exact(&table, s + 1, &context).unwrap();
        let graph = symmetric(&links(&near, s), &vec![1.0; n], &[]);
        work(&graph, &context)
    }

    #[test]
    fn rows_of_links_sum_to_one_and_follow_the_closed_form() {
        let lists = [
            (1.0, 1),
            (2.0, 2),
            (4.0, 0),
            (1.0, 0),
            (3.0, 2),
            (3.0, 1),
            (2.0, 0),
            (3.0, 1),
            (9.0, 2),
        ];
        let near = Neighbors { count: 3, lists: lists.to_vec() };
        let graph = links(&near, 2);
        assert_eq!(graph.row(0), (&[1u32, 2][..], &[0.6, 0.4][..]));
        // The second neighbor is as far as the first that is left out.
        assert_eq!(graph.row(1), (&[0u32][..], &[1.0][..]));
        let w = symmetric(&graph, &[1.0, 2.0, 1.0], &[(1, 2, 0.5)]);
        for i in 0..3 {
            let (columns, values) = w.row(i);
            for (&j, v) in columns.iter().zip(values) {
                let (back, other) = w.row(j as usize);
                let at = back.iter().position(|&c| c as usize == i).unwrap();
                assert_eq!(other[at], *v);
            }
        }
        assert!((w.row(0).1.iter().sum::<f64>() - (0.6 + 0.4 + 2.0 + 7.0 / 13.0)).abs() < 1e-12);
    }

    #[test]
    fn the_spectrum_of_a_large_graph_agrees_with_the_whole_decomposition() {
        let (n, q) = (900, 12);
        with_graph(n, 2, 8, |graph, context| {
            let found = spectrum(graph, q, &[], Stream::new(1), context).unwrap();
            let scale: Vec<f64> =
                (0..n).map(|i| 1.0 / graph.row(i).1.iter().sum::<f64>().sqrt()).collect();
            let mut whole = vec![0.0; n * n];
            for i in 0..n {
                let (columns, values) = graph.row(i);
                for (&j, v) in columns.iter().zip(values) {
                    whole[i * n + j as usize] = scale[i] * v * scale[j as usize];
                }
            }
            let (values, vectors) = symmetric_eigen(&whole, n).unwrap();
            for c in 0..q {
                // The part of the vector found that lies in the space of the q true ones.
                let mine: Vec<f64> = (0..n).map(|i| found.vectors[i * q + c] / scale[i]).collect();
                let length: f64 = mine.iter().map(|v| v * v).sum();
                let inside: f64 = (0..q)
                    .map(|t| {
                        (0..n).map(|i| mine[i] * vectors[i * n + n - 1 - t]).sum::<f64>().powi(2)
                    })
                    .sum();
                assert!(inside / length > 0.999, "{c}: {} {}", inside / length, values[n - 1 - c]);
            }
        });
    }

    #[test]
    fn a_filter_is_the_chebyshev_polynomial() {
        with_graph(60, 2, 5, |graph, context| {
            let scale: Vec<f64> =
                (0..60).map(|i| 1.0 / graph.row(i).1.iter().sum::<f64>().sqrt()).collect();
            let walk = Walk { graph, scale: &scale };
            let filter = Filter { middle: -0.1, half: 0.9, degree: 5 };
            // The vector of eigenvalue 1.
            let x: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
            let found = filter.apply(&walk, &x, 1, context).unwrap();
            let expected = (5.0 * (1.1f64 / 0.9).acosh()).cosh();
            for (found, x) in found.iter().zip(&x) {
                assert!((found / x - expected).abs() < 1e-9, "{} {expected}", found / x);
            }
        });
    }

    #[test]
    fn components_of_a_graph_are_numbered_by_their_first_row() {
        let mut graph = Graph::empty(4);
        graph.push(&[2], &[1.0]);
        graph.push(&[], &[]);
        graph.push(&[0, 3], &[1.0, 1.0]);
        graph.push(&[2], &[1.0]);
        assert_eq!(components(&graph, &[1.0, 2.0, 4.0, 8.0]), (vec![0, 1, 0, 0], vec![13.0, 2.0]));
    }
}
