//! The largest eigenpairs of a symmetric positive semi-definite matrix.
//!
//! Small matrices are factored whole. Large ones go through a restarted block Krylov iteration: a
//! block, unlike a single Lanczos vector, finds repeated eigenvalues, and the eigenvalue 1 of a graph
//! with several components is repeated.

use super::factor::{orthonormal, symmetric_eigen};
use super::gemm::{add_times, times, transposed_times};
use crate::error::Error;
use crate::random::Stream;

/// Up to this size the whole decomposition is cheap.
const DENSE: usize = 320;
/// Blocks beside the first in a Krylov basis, at least,
const FEWEST_POWERS: usize = 3;
/// and at most, when blocks are narrow: high powers tell close eigenvalues apart.
const MOST_POWERS: usize = 12;
/// Columns that a basis of narrow blocks is filled up to.
const NARROW: usize = 120;
/// Restarts at most; ten are rarely needed.
const RESTARTS: usize = 30;
/// Residual, relative to the largest eigenvalue, at which a pair has converged. Eigenvalues are then
/// right to its square.
const TOLERANCE: f64 = 1e-4;

/// The `k` largest eigenvalues, descending, and their vectors (n × k, row-major).
///
/// `check` is asked before every product and may end the iteration.
pub fn largest(
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
pub fn iterates(n: usize, k: usize) -> bool {
    let block = width_of(k);
    2 * block * (powers_of(block) + 1) <= n
}

/// Vectors in a block: some more than asked for speed the last ones up.
fn width_of(k: usize) -> usize {
    k + (k / 4).max(6)
}

fn powers_of(block: usize) -> usize {
    (NARROW / block).clamp(FEWEST_POWERS, MOST_POWERS)
}

/// The same for a matrix that is known by its products with blocks (n × width, row-major).
pub fn largest_of(
    n: usize,
    k: usize,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
    apply: impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let block = width_of(k);
    let n_blocks = powers_of(block) + 1;
    let width = block * n_blocks;
    let mut first = orthonormal(&stream.values(n * block), n, block);
    let mut result = (Vec::new(), Vec::new());
    for _ in 0..RESTARTS {
        check()?;
        // Orthonormal blocks V, each the part of A times the last that is new, and their images AV.
        let (mut basis, mut images) = (vec![first], Vec::new());
        loop {
            check()?;
            let last = &basis[basis.len() - 1];
            let image = apply(last, block)?;
            if basis.len() == n_blocks {
                images.push(image);
                break;
            }
            // Twice, since what is left of a nearly exhausted space is rounding.
            let next = (0..2).fold(image.clone(), |next, _| new_part(next, &basis, n, block));
            images.push(image);
            basis.push(next);
        }
        let small = projected(&basis, &images, n, block);
        let (values, rotation) = symmetric_eigen(&small, width)?;
        let (ritz, turn) = take_last(&values, &rotation, width, width, block);
        let vectors = combined(&basis, &turn, n, block);
        let images = combined(&images, &turn, n, block);
        let worst = (0..k)
            .map(|j| {
                (0..n)
                    .map(|i| (images[i * block + j] - ritz[j] * vectors[i * block + j]).powi(2))
                    .sum::<f64>()
                    .sqrt()
            })
            .fold(0.0, f64::max);
        result = (ritz[..k].to_vec(), columns(&vectors, n, block, k));
        if worst <= TOLERANCE * ritz[0].abs().max(f64::MIN_POSITIVE) {
            break;
        }
        first = vectors;
    }
    Ok(result)
}

/// An orthonormal basis of what a block (n × width) adds to others.
fn new_part(mut next: Vec<f64>, basis: &[Vec<f64>], n: usize, width: usize) -> Vec<f64> {
    let mut shared = vec![0.0; width * width];
    for v in basis {
        transposed_times(v, &next, &mut shared, (width, width, n));
        add_times(-1.0, v, &shared, &mut next, (n, width, width));
    }
    orthonormal(&next, n, width)
}

/// V'AV for all pairs of blocks, symmetric.
fn projected(basis: &[Vec<f64>], images: &[Vec<f64>], n: usize, block: usize) -> Vec<f64> {
    let width = block * basis.len();
    let mut small = vec![0.0; width * width];
    let mut part = vec![0.0; block * block];
    for (a, v) in basis.iter().enumerate() {
        for (b, image) in images.iter().enumerate().take(a + 1) {
            transposed_times(v, image, &mut part, (block, block, n));
            for i in 0..block {
                for j in 0..block {
                    let (row, column) = (a * block + i, b * block + j);
                    if row >= column {
                        small[row * width + column] = part[i * block + j];
                        small[column * width + row] = part[i * block + j];
                    }
                }
            }
        }
    }
    small
}

/// The blocks, side by side, times a matrix with `block` columns.
fn combined(blocks: &[Vec<f64>], turn: &[f64], n: usize, block: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * block];
    for (v, part) in blocks.iter().zip(turn.chunks_exact(block * block)) {
        add_times(1.0, v, part, &mut out, (n, block, block));
    }
    out
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
