//! Update of H with A, B, Y fixed: Eqs. `eq:upH`, `eq:UpdateH`.
//!
//! | paper                | here        | shape |
//! |----------------------|-------------|-------|
//! | H                    | `embedding` | M × k |
//! | B'Y(Y'Y)^-1/2        | `joined`    | M × k |
//!
//! Anchor weights w (ours) stand for B diag(w) wherever the cut sees B.

use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::linalg::{factor, simd};

/// diag(w) B' Y (Y'Y)^-1/2.
pub(crate) fn joined(
    graph: &Graph,
    labels: &[u32],
    weights: &[f64],
    anchor_weights: &[f64],
    k: usize,
) -> Vec<f64> {
    let mut sizes = vec![0.0; k];
    labels.iter().zip(weights).for_each(|(&l, w)| sizes[l as usize] += w);
    let inverse: Vec<f64> =
        sizes.iter().map(|&n: &f64| if n > 0.0 { 1.0 / n.sqrt() } else { 0.0 }).collect();
    let mut joined = vec![0.0; graph.n_cols * k];
    for (i, (&label, w)) in labels.iter().zip(weights).enumerate() {
        let (columns, values) = graph.row(i);
        let j = label as usize;
        for (&m, v) in columns.iter().zip(values) {
            joined[m as usize * k + j] += w * v * inverse[j];
        }
    }
    for (row, a) in joined.chunks_exact_mut(k).zip(anchor_weights) {
        row.iter_mut().for_each(|v| *v *= a);
    }
    joined
}

/// The best H for the labels.
pub(crate) fn update(
    graph: &Graph,
    labels: &[u32],
    weights: &[f64],
    anchor_weights: &[f64],
    k: usize,
) -> Result<Vec<f64>, Error> {
    factor::polar(&joined(graph, labels, weights, anchor_weights, k), graph.n_cols, k)
}

/// diag(w) H.
pub(crate) fn weighted(embedding: &[f64], anchor_weights: &[f64], k: usize) -> Vec<f64> {
    let mut weighted = embedding.to_vec();
    for (row, a) in weighted.chunks_exact_mut(k).zip(anchor_weights) {
        row.iter_mut().for_each(|v| *v *= a);
    }
    weighted
}

/// q = b diag(w) H of one row.
#[inline(always)]
pub(crate) fn row_scores(
    (columns, values): (&[u32], &[f64]),
    weighted: &[f64],
    k: usize,
    out: &mut [f64],
) {
    // Four anchors at a time: the sums are loaded and stored once for all of them.
    let of = |m: u32| &weighted[m as usize * k..(m as usize + 1) * k];
    let (columns4, columns1) = columns.as_chunks::<4>();
    let (values4, values1) = values.as_chunks::<4>();
    out.fill(0.0);
    for (&[a, b, c, d], [u, v, w, x]) in columns4.iter().zip(values4) {
        let (a, b, c, d) = (of(a), of(b), of(c), of(d));
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out += (u * a + v * b) + (w * c + x * d);
        }
    }
    for (&m, &v) in columns1.iter().zip(values1) {
        simd::axpy(v, of(m), out);
    }
}
