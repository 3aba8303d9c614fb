//! Embeddings: rows of eigenvectors and what is done to them.

use obcut_core::linalg::gemm::Real;

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

/// Turns the first `block` of `width` orthonormal columns, which share one eigenvalue, so that the first of
/// them is the known trivial vector. Of a graph in pieces a solver returns any basis of that space, and
/// to drop its first vector would lose a piece.
pub(crate) fn trivial_first(vectors: &mut [f64], width: usize, block: usize, trivial: &[f64]) {
    let mut share = vec![0.0; block];
    for (row, t) in vectors.chunks_exact(width).zip(trivial) {
        share.iter_mut().zip(row).for_each(|(s, v)| *s += t * v);
    }
    let norm = share.iter().map(|s| s * s).sum::<f64>().sqrt();
    if norm == 0.0 || block < 2 {
        return;
    }
    // A reflection that takes the share to the first axis.
    let sign = if share[0] < 0.0 { -1.0 } else { 1.0 };
    share[0] += sign * norm;
    let length: f64 = share.iter().map(|s| s * s).sum();
    for row in vectors.chunks_exact_mut(width) {
        let dot: f64 = row.iter().zip(&share).map(|(v, s)| v * s).sum();
        row.iter_mut().zip(&share).for_each(|(v, s)| *v -= 2.0 * dot / length * s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trivial_vector_comes_first_and_the_space_stays() {
        // Two axes of three, turned; the trivial vector is their diagonal; a third column is left alone.
        let (c, s) = (0.6, 0.8);
        let mut vectors = [c, -s, 7.0, s, c, 8.0, 0.0, 0.0, 9.0];
        let trivial = [0.5f64.sqrt(), 0.5f64.sqrt(), 0.0];
        trivial_first(&mut vectors, 3, 2, &trivial);
        for i in 0..3 {
            assert!((vectors[3 * i].abs() - trivial[i]).abs() < 1e-12);
            assert_eq!(vectors[3 * i + 2], [7.0, 8.0, 9.0][i]);
        }
        let dot: f64 = (0..3).map(|i| vectors[3 * i] * vectors[3 * i + 1]).sum();
        assert!(dot.abs() < 1e-12);
    }
}
