//! The largest eigenpairs of a symmetric positive semi-definite matrix.
//!
//! Small matrices are factored whole. Large ones go through a restarted block Krylov iteration: a
//! block, unlike a single Lanczos vector, finds repeated eigenvalues, and the eigenvalue 1 of a graph
//! with several components is repeated.

use super::factor::{orthonormal, symmetric_eigen};
use super::gemm::{times, transposed_times};
use crate::error::Error;
use crate::random::Stream;

/// Up to this size the whole decomposition is cheap.
const DENSE: usize = 320;
/// Powers of the matrix in one Krylov block.
const POWERS: usize = 4;
/// Restarts at most; ten are rarely needed.
const RESTARTS: usize = 30;
/// Residual, relative to the largest eigenvalue, at which a pair has converged. Eigenvalues are then
/// right to its square.
const TOLERANCE: f64 = 1e-4;

/// The `k` largest eigenvalues, descending, and their vectors (n × k, row-major).
///
/// `check` is asked between restarts and may end the iteration.
pub(crate) fn largest(
    a: &[f64],
    n: usize,
    k: usize,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    if n <= DENSE || !iterates(n, k) {
        let (values, vectors) = symmetric_eigen(a, n)?;
        return Ok(take_last(&values, &vectors, n, n, k));
    }
    largest_of(n, k, stream, check, |x, width| {
        let mut out = vec![0.0; n * width];
        times(a, x, &mut out, (n, width, n));
        Ok(out)
    })
}

/// Whether a Krylov basis for `k` pairs is well below the size of the matrix, so that iterating pays.
pub(crate) fn iterates(n: usize, k: usize) -> bool {
    width_of(k) * (POWERS + 1) * 3 <= n
}

/// Vectors in a block: some more than asked for speed the last ones up.
fn width_of(k: usize) -> usize {
    k + (k / 4).max(6)
}

/// The same for a matrix that is known by its products with blocks (n × width, row-major).
pub(crate) fn largest_of(
    n: usize,
    k: usize,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
    apply: impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let block = width_of(k);
    let mut basis = orthonormal(&stream.values(n * block), n, block);
    let mut result = (Vec::new(), Vec::new());
    for _ in 0..RESTARTS {
        check()?;
        let width = block * (POWERS + 1);
        let mut krylov = vec![0.0; n * width];
        place(&mut krylov, &basis, n, width, 0, block);
        let mut power = basis;
        for p in 1..=POWERS {
            // Orthonormal powers keep the small directions above rounding.
            power = orthonormal(&apply(&power, block)?, n, block);
            place(&mut krylov, &power, n, width, p * block, block);
        }
        let q = orthonormal(&krylov, n, width);
        let aq = apply(&q, width)?;
        let mut small = vec![0.0; width * width];
        transposed_times(&q, &aq, &mut small, (width, width, n));
        let (values, rotation) = symmetric_eigen(&small, width)?;
        let (ritz, turn) = take_last(&values, &rotation, width, width, block);
        let (mut vectors, mut images) = (vec![0.0; n * block], vec![0.0; n * block]);
        times(&q, &turn, &mut vectors, (n, block, width));
        times(&aq, &turn, &mut images, (n, block, width));
        let worst = (0..k)
            .map(|j| {
                (0..n)
                    .map(|i| (images[i * block + j] - ritz[j] * vectors[i * block + j]).powi(2))
                    .sum::<f64>()
                    .sqrt()
            })
            .fold(0.0, f64::max);
        basis = vectors;
        result = (ritz[..k].to_vec(), columns(&basis, n, block, k));
        if worst <= TOLERANCE * ritz[0].abs().max(f64::MIN_POSITIVE) {
            break;
        }
    }
    Ok(result)
}

/// The last `k` of `m` columns in reverse: from ascending to descending eigenvalues.
fn take_last(
    values: &[f64],
    vectors: &[f64],
    n: usize,
    m: usize,
    k: usize,
) -> (Vec<f64>, Vec<f64>) {
    let top = values.iter().rev().take(k).copied().collect();
    let mut out = vec![0.0; n * k];
    for i in 0..n {
        for j in 0..k {
            out[i * k + j] = vectors[i * m + (m - 1 - j)];
        }
    }
    (top, out)
}

fn columns(a: &[f64], n: usize, m: usize, k: usize) -> Vec<f64> {
    (0..n).flat_map(|i| a[i * m..i * m + k].iter().copied()).collect()
}

fn place(out: &mut [f64], part: &[f64], n: usize, width: usize, at: usize, block: usize) {
    for i in 0..n {
        out[i * width + at..i * width + at + block]
            .copy_from_slice(&part[i * block..(i + 1) * block]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gemm::gram;

    /// A matrix of `n_blocks` disconnected parts, each with eigenvalue 1.
    fn blocks(n: usize, n_blocks: usize) -> Vec<f64> {
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                if i % n_blocks == j % n_blocks {
                    a[i * n + j] = n_blocks as f64 / n as f64;
                }
            }
        }
        a
    }

    #[test]
    fn the_iteration_agrees_with_the_whole_decomposition() {
        let n = 500;
        let x = Stream::new(1).values(n * 80);
        let a = gram(&x, n, 80);
        let (values, vectors) = largest(&a, n, 8, Stream::new(2), || Ok(())).unwrap();
        let (all, _) = symmetric_eigen(&a, n).unwrap();
        for j in 0..8 {
            assert!((values[j] - all[n - 1 - j]).abs() < 1e-7 * all[n - 1]);
            let norm: f64 = (0..n).map(|i| vectors[i * 8 + j].powi(2)).sum();
            assert!((norm - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn repeated_eigenvalues_are_all_found() {
        let n = 600;
        let (values, _) = largest(&blocks(n, 12), n, 13, Stream::new(2), || Ok(())).unwrap();
        assert!(values[..12].iter().all(|v| (v - 1.0).abs() < 1e-7), "{values:?}");
        assert!(values[12].abs() < 1e-6);
    }
}
