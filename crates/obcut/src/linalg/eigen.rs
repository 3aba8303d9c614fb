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
/// Widest block. Wider ones find more copies of an eigenvalue at once, narrower ones need fewer products.
const WIDEST: usize = 32;
/// Columns that a basis has at least.
const NARROW: usize = 120;
/// Restarts at most; ten are rarely needed.
const RESTARTS: usize = 30;
/// Residual, relative to the largest eigenvalue, at which a pair has converged. Eigenvalues are then
/// right to its square.
const TOLERANCE: f64 = 1e-4;
/// Eigenvalues closer than this, relative to the largest, are copies of one.
const EQUAL: f64 = 1e-6;

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
    2 * basis_of(kept_of(k), block_of(k)) <= n
}

/// Vectors kept at a restart: some more than asked for speed the last ones up.
fn kept_of(k: usize) -> usize {
    k + (k / 4).max(6)
}

fn block_of(k: usize) -> usize {
    kept_of(k).min(WIDEST)
}

/// Columns of a full basis: what is kept, and whole blocks of about one and a half times as many, or as many
/// as a narrow basis has room for: high powers tell close eigenvalues apart.
fn basis_of(kept: usize, block: usize) -> usize {
    let room = (kept + kept / 2).max(NARROW.saturating_sub(kept)).max(3 * block);
    kept + room.div_ceil(block) * block
}

/// The same for a matrix that is known by its products with blocks (n × width, row-major).
pub fn largest_of(
    n: usize,
    k: usize,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
    apply: impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let kept = kept_of(k);
    let mut block = block_of(k);
    // A basis that fills the space has nothing to iterate for: the matrix itself is as small.
    if basis_of(kept, kept) + kept > n {
        let mut unit = vec![0.0; n * n];
        (0..n).for_each(|i| unit[i * n + i] = 1.0);
        check()?;
        let (values, vectors) = symmetric_eigen(&apply(&unit, n)?, n)?;
        return Ok(take_last(&values, &vectors, n, n, k));
    }
    loop {
        let found = iterate(n, k, block, stream, &check, &apply)?;
        // A block finds at most as many copies of an eigenvalue as it has columns.
        if block >= kept || copies(&found.0) < block {
            return Ok(found);
        }
        block = (2 * block).min(kept);
    }
}

/// Length of the longest run of equal values.
fn copies(values: &[f64]) -> usize {
    let equal = EQUAL * values.first().map_or(0.0, |v| v.abs());
    let (mut longest, mut run) = (usize::from(!values.is_empty()), 1);
    for pair in values.windows(2) {
        run = if pair[0] - pair[1] <= equal { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest
}

/// Columns of the basis: n × width, row-major.
struct Block {
    values: Vec<f64>,
    width: usize,
}

/// Block Krylov with thick restarts: Ritz vectors are kept with their images, and the iteration goes on from
/// what the last image adds to the basis.
fn iterate(
    n: usize,
    k: usize,
    block: usize,
    stream: Stream,
    check: &impl Fn() -> Result<(), Error>,
    apply: &impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let kept = kept_of(k);
    let full = basis_of(kept, block);
    let (mut basis, mut images): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
    let mut next = orthonormal(&stream.values(n * block), n, block);
    let mut result = (Vec::new(), Vec::new());
    for _ in 0..RESTARTS {
        let mut width: usize = basis.iter().map(|b| b.width).sum();
        while width < full {
            check()?;
            let image = apply(&next, block)?;
            basis.push(Block { values: next, width: block });
            images.push(Block { values: image.clone(), width: block });
            width += block;
            // Twice, since what is left of a nearly exhausted space is rounding.
            next = (0..2).fold(image, |next, _| new_part(next, &basis, n, block));
        }
        let small = projected(&basis, &images, n, width);
        let (values, rotation) = symmetric_eigen(&small, width)?;
        let (ritz, turn) = take_last(&values, &rotation, width, width, kept);
        let vectors = combined(&basis, &turn, n, kept);
        let image = combined(&images, &turn, n, kept);
        let worst = (0..k)
            .map(|j| {
                (0..n)
                    .map(|i| (image[i * kept + j] - ritz[j] * vectors[i * kept + j]).powi(2))
                    .sum::<f64>()
                    .sqrt()
            })
            .fold(0.0, f64::max);
        result = (ritz[..k].to_vec(), columns(&vectors, n, kept, k));
        if worst <= TOLERANCE * ritz[0].abs().max(f64::MIN_POSITIVE) {
            break;
        }
        basis = vec![Block { values: vectors, width: kept }];
        images = vec![Block { values: image, width: kept }];
    }
    Ok(result)
}

/// An orthonormal basis of what a block (n × width) adds to others.
fn new_part(mut next: Vec<f64>, basis: &[Block], n: usize, width: usize) -> Vec<f64> {
    for v in basis {
        let mut shared = vec![0.0; v.width * width];
        transposed_times(&v.values, &next, &mut shared, (v.width, width, n));
        add_times(-1.0, &v.values, &shared, &mut next, (n, width, v.width));
    }
    orthonormal(&next, n, width)
}

/// V'AV for all pairs of blocks, symmetric.
fn projected(basis: &[Block], images: &[Block], n: usize, width: usize) -> Vec<f64> {
    let mut small = vec![0.0; width * width];
    let mut top = 0;
    for (a, v) in basis.iter().enumerate() {
        let mut left = 0;
        for image in &images[..=a] {
            let mut part = vec![0.0; v.width * image.width];
            transposed_times(&v.values, &image.values, &mut part, (v.width, image.width, n));
            for i in 0..v.width {
                for j in 0..image.width {
                    let (row, column) = (top + i, left + j);
                    if row >= column {
                        small[row * width + column] = part[i * image.width + j];
                        small[column * width + row] = part[i * image.width + j];
                    }
                }
            }
            left += image.width;
        }
        top += v.width;
    }
    small
}

/// The blocks, side by side, times a matrix with `columns` columns.
fn combined(blocks: &[Block], turn: &[f64], n: usize, columns: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * columns];
    let mut start = 0;
    for v in blocks {
        let part = &turn[start * columns..(start + v.width) * columns];
        add_times(1.0, &v.values, part, &mut out, (n, columns, v.width));
        start += v.width;
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
    fn many_pairs_agree_with_the_whole_decomposition() {
        // A slowly falling spectrum, as graphs have.
        let n = 700;
        let x = Stream::new(3).values(n * n);
        let q = orthonormal(&x, n, n);
        let values: Vec<f64> = (0..n).map(|i| (-(i as f64) / 90.0).exp()).collect();
        let scaled: Vec<f64> =
            q.iter().enumerate().map(|(p, v)| v * values[p % n].sqrt()).collect();
        let a = gram(&scaled, n, n);
        assert!(iterates(n, 100), "this is to be iterated");
        let (found, vectors) = largest(&a, n, 100, Stream::new(2), || Ok(())).unwrap();
        for j in 0..100 {
            assert!((found[j] - values[j]).abs() < 1e-6, "{j}: {} {}", found[j], values[j]);
            let product: f64 = (0..n).map(|i| vectors[i * 100 + j] * q[i * n + j]).sum();
            assert!(product.abs() > 0.999, "{j}: {product}");
        }
    }

    #[test]
    fn nearly_all_pairs_are_right_too() {
        let n = 420;
        let x = Stream::new(5).values(n * n);
        let a = gram(&x, n, n);
        let (all, _) = symmetric_eigen(&a, n).unwrap();
        for k in [60, 120, 419] {
            let apply = |x: &[f64], width: usize| {
                let mut out = vec![0.0; n * width];
                times(&a, x, &mut out, (n, width, n));
                Ok(out)
            };
            let (values, _) = largest_of(n, k, Stream::new(2), || Ok(()), apply).unwrap();
            for j in 0..k {
                assert!((values[j] - all[n - 1 - j]).abs() < 1e-6 * all[n - 1], "{k}: {j}");
            }
        }
    }

    #[test]
    fn more_copies_than_a_block_has_columns_are_all_found() {
        let n = 900;
        let (values, vectors) = largest(&blocks(n, 60), n, 70, Stream::new(2), || Ok(())).unwrap();
        assert!(values[..60].iter().all(|v| (v - 1.0).abs() < 1e-7), "{values:?}");
        assert!(values[60..].iter().all(|v| v.abs() < 1e-6), "{values:?}");
        for j in 0..60 {
            for l in 0..j {
                let product: f64 = (0..n).map(|i| vectors[i * 70 + j] * vectors[i * 70 + l]).sum();
                assert!(product.abs() < 1e-8);
            }
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
