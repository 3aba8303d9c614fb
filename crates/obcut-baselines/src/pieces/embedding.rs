//! Embeddings: rows of eigenvectors and what is done to them.

use obcut::linalg::gemm::Real;

/// Below this a row has no direction.
const EPSILON: f64 = 2.2e-16;

/// Scales every row (of `width`) to unit length; zero rows stay zero.
pub(crate) fn unit_rows<T: Real>(values: &mut [T], width: usize) {
    for row in values.chunks_exact_mut(width.max(1)) {
        let norm = row.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt() + EPSILON;
        row.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / norm));
    }
}

/// Columns `from..` of an n × width matrix.
pub(crate) fn columns_from<T: Copy>(values: &[T], width: usize, from: usize) -> Vec<T> {
    values.chunks_exact(width).flat_map(|row| row[from.min(width)..].iter().copied()).collect()
}
