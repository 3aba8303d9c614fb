//! The largest eigenpairs by ascent on the Stiefel manifold.

use obcut::Error;
use obcut_core::linalg::factor::{orthonormal, polar, symmetric_eigen};
use obcut_core::linalg::gemm::{times, transposed_times};
use obcut_core::random::Stream;

/// Steps at most.
const STEPS: usize = 1000;
/// Growth of the trace, as a part of it, below which a step is the last.
const GROWTH: f64 = 1e-13;

/// The `k` largest eigenvalues, descending, and their vectors (n × k, row-major) of a positive
/// semi-definite matrix that is known by its products with blocks.
///
/// Maximises tr(X'AX) over orthonormal X. The trace is convex, so the whole gradient may be followed: the
/// polar factor of AX never lowers it, and no length of step is to be chosen.
pub(crate) fn ascend(
    n: usize,
    k: usize,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
    apply: impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut x = orthonormal(&stream.values(n * k), n, k);
    let mut image = apply(&x, k)?;
    let mut last = trace(&x, &image);
    for _ in 0..STEPS {
        check()?;
        x = polar(&image, n, k)?;
        image = apply(&x, k)?;
        let value = trace(&x, &image);
        let done = value - last <= GROWTH * value.abs();
        last = value;
        if done {
            break;
        }
    }
    turned(&x, &image, n, k)
}

fn trace(x: &[f64], image: &[f64]) -> f64 {
    x.iter().zip(image).map(|(a, b)| a * b).sum()
}

/// X turned so that X'AX is diagonal.
fn turned(x: &[f64], image: &[f64], n: usize, k: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut small = vec![0.0; k * k];
    transposed_times(x, image, &mut small, (k, k, n));
    let (values, turn) = symmetric_eigen(&small, k)?;
    let reversed: Vec<f64> =
        turn.chunks_exact(k).flat_map(|row| row.iter().rev().copied()).collect();
    let mut vectors = vec![0.0; n * k];
    times(x, &reversed, &mut vectors, (n, k, k));
    Ok((values.into_iter().rev().collect(), vectors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::linalg::gemm::gram;

    #[test]
    fn the_ascent_reaches_the_largest_eigenvalues() {
        let (n, k) = (40, 5);
        let a = gram(&Stream::new(1).values(n * 30), n, 30);
        let apply = |x: &[f64], width: usize| {
            let mut out = vec![0.0; n * width];
            times(&a, x, &mut out, (n, width, n));
            Ok(out)
        };
        let (values, vectors) = ascend(n, k, Stream::new(2), || Ok(()), apply).unwrap();
        let (all, _) = symmetric_eigen(&a, n).unwrap();
        for (j, value) in values.iter().enumerate() {
            assert!((value - all[n - 1 - j]).abs() < 1e-8 * all[n - 1], "{j}");
        }
        let image = apply(&vectors, k).unwrap();
        for (row, image) in vectors.chunks_exact(k).zip(image.chunks_exact(k)) {
            let near = |j: usize| (image[j] - values[j] * row[j]).abs() < 1e-3 * values[0];
            assert!((0..k).all(near));
        }
    }

    #[test]
    fn a_matrix_of_lower_rank_than_asked_for_is_no_trouble() {
        let apply = |x: &[f64], width: usize| {
            Ok(x.iter().enumerate().map(|(p, v)| if p < width { *v } else { 0.0 }).collect())
        };
        let (values, vectors) = ascend(6, 3, Stream::new(2), || Ok(()), apply).unwrap();
        assert!((values[0] - 1.0).abs() < 1e-9 && values[1].abs() < 1e-9);
        assert!(vectors.iter().all(|v| v.is_finite()));
    }
}
