//! Links of rows to their nearest landmarks, and the spectrum of those links through the landmarks.

use obcut::{Error, Graph};
use obcut_core::block::{BLOCK, Points, Scratch};
use obcut_core::linalg::eigen;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;

/// The `count` nearest landmarks of every row with the squared distances, nearest first, and the mean of
/// all squared distances.
pub(crate) fn nearest_landmarks(
    table: &Table<'_>,
    landmarks: &Points,
    count: usize,
    context: &Context<'_>,
) -> Result<(Graph, f64), Error> {
    let (n, p) = (table.n(), landmarks.n);
    let parts = context.map(n, |range| {
        let (mut scratch, mut graph) = (Scratch::default(), Graph::empty(p));
        let (mut chosen, mut distances, mut products) = (Vec::new(), Vec::new(), Vec::new());
        let mut norms = vec![0.0; range.len()];
        table.squared_norms(range.clone(), &mut norms);
        let landmark_norms: f64 = landmarks.norms.iter().sum();
        let mut total = 0.0;
        for start in range.clone().step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(range.end);
            let block = table.block(rows.clone(), landmarks, &mut scratch);
            for (r, i) in rows.enumerate() {
                block.few_nearest(r, 0..p, count, &mut chosen);
                block.distances(r, &chosen, &mut distances);
                graph.push(&chosen, &distances);
                block.products(r, 0..p, &mut products);
                let product: f64 = products.iter().sum();
                total += p as f64 * norms[i - range.start] - 2.0 * product + landmark_norms;
            }
        }
        (graph, total)
    })?;
    let total: f64 = parts.iter().map(|part| part.1).sum();
    let graph = Graph::stack(parts.into_iter().map(|part| part.0).collect(), p);
    Ok((graph, total / (n as f64 * p as f64)))
}

/// Sums of the columns.
pub(crate) fn column_sums(graph: &Graph) -> Vec<f64> {
    let mut sums = vec![0.0; graph.n_cols];
    graph.columns.iter().zip(&graph.values).for_each(|(&c, v)| sums[c as usize] += v);
    sums
}

/// Z'Z (M × M) of sparse rows.
pub(crate) fn column_gram(graph: &Graph, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let m = graph.n_cols;
    let mut sum = vec![0.0; m * m];
    context.fold_large(
        graph.n_rows(),
        |range| {
            let mut part: Vec<(u64, f64)> = Vec::new();
            for i in range {
                let (columns, values) = graph.row(i);
                for (&a, u) in columns.iter().zip(values) {
                    for (&b, v) in columns.iter().zip(values) {
                        part.push((u64::from(a) * m as u64 + u64::from(b), u * v));
                    }
                }
            }
            part
        },
        |part| part.into_iter().for_each(|(at, v)| sum[at as usize] += v),
    )?;
    Ok(sum)
}

/// The largest singular values of sparse rows Z with their right vectors (M × count), through Z'Z.
pub(crate) fn right_singular(
    graph: &Graph,
    count: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let gram = column_gram(graph, context)?;
    let count = count.min(graph.n_cols);
    let (values, vectors) = eigen::largest(&gram, graph.n_cols, count, stream, || context.check())?;
    Ok((values.into_iter().map(|v| v.max(0.0).sqrt()).collect(), vectors))
}

/// Sparse rows times a matrix (M × width): N × width.
pub(crate) fn times(
    graph: &Graph,
    matrix: &[f64],
    width: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let mut out = vec![0.0; graph.n_rows() * width];
    context.map_into(graph.n_rows(), &mut out, width, |range, out| {
        for (i, out) in range.zip(out.chunks_exact_mut(width)) {
            let (columns, values) = graph.row(i);
            for (&c, v) in columns.iter().zip(values) {
                let row = &matrix[c as usize * width..(c as usize + 1) * width];
                out.iter_mut().zip(row).for_each(|(o, m)| *o += v * m);
            }
        }
    })?;
    Ok(out)
}
