//! The largest eigenpairs of a symmetric positive semi-definite matrix.
//!
//! Small matrices are factored whole. Large ones go through a restarted block Krylov iteration: a
//! block, unlike a single Lanczos vector, finds repeated eigenvalues, and the eigenvalue 1 of a graph
//! with several components is repeated.

use super::factor::{orthonormal_rows, symmetric_eigen};
use super::gemm::{add_times, mirror, times, times_transposed, transposed, transposed_times};
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
/// Times that a block is made orthogonal to the basis at most; two are enough unless the space is exhausted,
const PASSES: usize = 8;
/// and so is what takes no more than this from unit vectors.
const LITTLE: f64 = 1e-3;
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
    // The matrix is its own transpose.
    largest_by_rows(n, k, Search::new(k), stream, &check, &|rows, count| {
        let mut out = vec![0.0; count * n];
        times(rows, a, &mut out, (count, n, n));
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
    largest_from(n, k, Search::new(k), stream, check, apply)
}

/// How eigenpairs are searched for.
pub struct Search {
    /// Columns of a block. Narrow blocks reach higher powers of the matrix with as many products, which
    /// close eigenvalues need; a block finds at most as many copies of an eigenvalue as it has columns.
    pub block: usize,
    /// Restarts at most.
    pub restarts: usize,
    /// Residual, relative to the largest eigenvalue, at which a pair has converged.
    pub tolerance: f64,
    /// Vectors that are near those sought, one after the other, or none.
    pub start: Vec<f64>,
}

impl Search {
    /// From nothing, for `k` pairs.
    pub fn new(k: usize) -> Self {
        Self { block: block_of(k), restarts: RESTARTS, tolerance: TOLERANCE, start: Vec::new() }
    }
}

/// The same with a search of one's own.
pub fn largest_from(
    n: usize,
    k: usize,
    search: Search,
    stream: Stream,
    check: impl Fn() -> Result<(), Error>,
    apply: impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let search = Search { block: search.block.clamp(1, kept_of(k)), ..search };
    largest_by_rows(n, k, search, stream, &check, &|rows, count| {
        Ok(transposed(&apply(&transposed(rows, count, n), count)?, n, count))
    })
}

/// The same for products with vectors that are rows (count × n).
fn largest_by_rows(
    n: usize,
    k: usize,
    mut search: Search,
    stream: Stream,
    check: &impl Fn() -> Result<(), Error>,
    apply: &impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let kept = kept_of(k);
    // A basis that fills the space has nothing to iterate for: the matrix itself is as small.
    if basis_of(kept, kept) + kept > n {
        let mut unit = vec![0.0; n * n];
        (0..n).for_each(|i| unit[i * n + i] = 1.0);
        check()?;
        let (values, vectors) = symmetric_eigen(&apply(&unit, n)?, n)?;
        return Ok(take_last(&values, &vectors, n, n, k));
    }
    loop {
        let found = iterate(n, k, &search, stream, check, apply)?;
        // A block finds at most as many copies of an eigenvalue as it has columns.
        if search.block >= kept || copies(&found.0) < search.block {
            return Ok(found);
        }
        search.block = (2 * search.block).min(kept);
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

/// Block Krylov with thick restarts: Ritz vectors are kept with their images, and the iteration continues from
/// what the last image adds to the basis. Vectors are rows here, so that a basis grows at its end.
fn iterate(
    n: usize,
    k: usize,
    search: &Search,
    stream: Stream,
    check: &impl Fn() -> Result<(), Error>,
    apply: &impl Fn(&[f64], usize) -> Result<Vec<f64>, Error>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (kept, block) = (kept_of(k), search.block);
    let full = basis_of(kept, block);
    let room = (full + block) * n;
    let (mut basis, mut images) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut next = if search.start.is_empty() {
        orthonormal_rows(stream.values(n * block), block, n)
    } else {
        // What is known, and what the matrix makes of it.
        let count = (search.start.len() / n).min(kept);
        let known = orthonormal_rows(search.start[..count * n].to_vec(), count, n);
        let image = apply(&known, count)?;
        // The last of them, which are the farthest from right.
        let few = count.min(block);
        let mut first = image[(count - few) * n..].to_vec();
        first.extend(stream.values(n * (block - few)));
        basis.extend_from_slice(&known);
        images.extend_from_slice(&image);
        new_part(first, &basis, n, block)
    };
    let mut result = (Vec::new(), Vec::new());
    for _ in 0..search.restarts {
        while basis.len() < full * n {
            check()?;
            let image = apply(&next, block)?;
            basis.extend_from_slice(&next);
            images.extend_from_slice(&image);
            next = new_part(image, &basis, n, block);
        }
        let width = basis.len() / n;
        let (values, rotation) = symmetric_eigen(&projected(&basis, &images, n), width)?;
        let (ritz, turn) = take_last(&values, &rotation, width, width, kept);
        let combined = |rows: &[f64]| {
            let mut out = vec![0.0; kept * n];
            transposed_times(&turn, rows, &mut out, (kept, n, width));
            out
        };
        let (vectors, image) = (combined(&basis), combined(&images));
        let residual = |j: usize| {
            let (v, image) = (&vectors[j * n..(j + 1) * n], &image[j * n..(j + 1) * n]);
            image.iter().zip(v).map(|(a, v)| (a - ritz[j] * v).powi(2)).sum::<f64>().sqrt()
        };
        let worst = (0..k).map(residual).fold(0.0, f64::max);
        result = (ritz[..k].to_vec(), transposed(&vectors[..k * n], k, n));
        if worst <= search.tolerance * ritz[0].abs().max(f64::MIN_POSITIVE) {
            break;
        }
        if !search.start.is_empty() {
            // The basis is no Krylov space of one block, so what is missing is not all in the next one:
            // the residuals that are largest say where to look.
            let mut order: Vec<usize> = (0..kept).collect();
            let lengths: Vec<f64> = order.iter().map(|&j| residual(j)).collect();
            order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]).then(a.cmp(&b)));
            let mut missing = Vec::with_capacity(block * n);
            for &j in order.iter().take(block) {
                let (v, image) = (&vectors[j * n..(j + 1) * n], &image[j * n..(j + 1) * n]);
                missing.extend(image.iter().zip(v).map(|(a, v)| a - ritz[j] * v));
            }
            next = new_part(missing, &vectors, n, block);
        }
        (basis, images) = (vectors, image);
    }
    Ok(result)
}

/// An orthonormal basis of what some rows (width × n) add to others. Of a nearly exhausted space only
/// rounding is left, which is made orthogonal again until little of it goes.
fn new_part(mut next: Vec<f64>, basis: &[f64], n: usize, width: usize) -> Vec<f64> {
    let count = basis.len() / n;
    let mut shared = vec![0.0; width * count];
    for pass in 0..PASSES {
        times_transposed(&next, basis, &mut shared, (width, count, n));
        add_times(-1.0, &shared, basis, &mut next, (width, n, count));
        next = orthonormal_rows(next, width, n);
        if pass > 0 && shared.iter().all(|v| v.abs() < LITTLE) {
            break;
        }
    }
    next
}

/// VAV' of a basis V and its images, exactly symmetric.
fn projected(basis: &[f64], images: &[f64], n: usize) -> Vec<f64> {
    let width = basis.len() / n;
    let mut small = vec![0.0; width * width];
    times_transposed(basis, images, &mut small, (width, width, n));
    mirror(&mut small, width);
    small
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::factor::orthonormal;
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

    #[test]
    fn a_start_near_the_vectors_saves_restarts() {
        let n = 700;
        let x = Stream::new(3).values(n * n);
        let q = orthonormal(&x, n, n);
        let values: Vec<f64> = (0..n).map(|i| 1.0 - i as f64 / 900.0).collect();
        let scaled: Vec<f64> =
            q.iter().enumerate().map(|(p, v)| v * values[p % n].sqrt()).collect();
        let a = gram(&scaled, n, n);
        let apply = |x: &[f64], width: usize| {
            let mut out = vec![0.0; n * width];
            times(&a, x, &mut out, (n, width, n));
            Ok(out)
        };
        // The true vectors, a little off.
        let noise = Stream::new(8).values(10 * n);
        let start: Vec<f64> = (0..10)
            .flat_map(|j| (0..n).map(move |i| (i, j)))
            .map(|(i, j)| q[i * n + j] + 1e-3 * noise[j * n + i])
            .collect();
        let error = |start: Vec<f64>, restarts: usize| {
            let search = Search { block: 4, restarts, tolerance: 1e-9, start };
            let found = largest_from(n, 10, search, Stream::new(1), || Ok(()), apply).unwrap().0;
            found.iter().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let (cold, warm) = (error(Vec::new(), 1), error(start.clone(), 1));
        assert!(warm < 0.3 * cold && warm < 1e-3, "{warm} {cold}");
        let far = error(start, 30);
        assert!(far < 1e-7, "{far}");
    }
}
