//! Embeddings: rows of eigenvectors and what is done to them.

/// Below this a row has no direction.
const EPSILON: f64 = 2.2e-16;

/// Scales every row (of `width`) to unit length; zero rows stay zero.
pub(crate) fn unit_rows(values: &mut [f64], width: usize) {
    for row in values.chunks_exact_mut(width.max(1)) {
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt() + EPSILON;
        row.iter_mut().for_each(|v| *v /= norm);
    }
}

/// Columns `from..` of an n × width matrix.
pub(crate) fn columns_from(values: &[f64], width: usize, from: usize) -> Vec<f64> {
    values.chunks_exact(width).flat_map(|row| row[from.min(width)..].iter().copied()).collect()
}
