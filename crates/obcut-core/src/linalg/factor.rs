//! Factorisations of small dense matrices.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatMut, MatRef, Side};

use super::gemm::{gram, times, times_transposed, transposed_times};
use crate::error::Error;

/// Square of the condition number up to which the polar factor is taken from the small Gram matrix.
const CONDITION: f64 = 1e8;

/// The orthonormal polar factor U Vᵀ of `z` (m × k, row-major, m >= k): the maximiser of Tr(Hᵀ Z).
///
/// Z (ZᵀZ)^-1/2 costs a k × k decomposition; a step of Newton and Schulz takes away what the squared
/// condition number adds to rounding. Nearly singular ones are left to the singular value decomposition.
pub fn polar(z: &[f64], m: usize, k: usize) -> Result<Vec<f64>, Error> {
    let mut gram = vec![0.0; k * k];
    transposed_times(z, z, &mut gram, (k, k, m));
    let (values, vectors) = symmetric_eigen(&gram, k)?;
    let largest = values.last().copied().unwrap_or(0.0);
    let well = values.first().is_some_and(|&least| least * CONDITION > largest);
    if !(well && largest.is_finite()) {
        return polar_by_svd(z, m, k);
    }
    let mut scaled = vectors.clone();
    for row in scaled.chunks_exact_mut(k) {
        row.iter_mut().zip(&values).for_each(|(v, value)| *v /= value.sqrt());
    }
    let mut root = vec![0.0; k * k];
    times_transposed(&scaled, &vectors, &mut root, (k, k, k));
    let mut h = vec![0.0; m * k];
    times(z, &root, &mut h, (m, k, k));
    // H (3 - HᵀH) / 2.
    transposed_times(&h, &h, &mut gram, (k, k, m));
    for (p, v) in gram.iter_mut().enumerate() {
        *v = if p.is_multiple_of(k + 1) { 1.5 - 0.5 * *v } else { -0.5 * *v };
    }
    let mut polished = vec![0.0; m * k];
    times(&h, &gram, &mut polished, (m, k, k));
    Ok(polished)
}

fn polar_by_svd(z: &[f64], m: usize, k: usize) -> Result<Vec<f64>, Error> {
    let svd = MatRef::from_row_major_slice(z, m, k)
        .thin_svd()
        .map_err(|e| Error::Numeric { stage: "update of H", detail: format!("{e:?}") })?;
    let h = svd.U() * svd.V().transpose();
    Ok(row_major(h.as_ref()))
}

/// Eigenvalues, ascending, and eigenvectors (columns of a row-major n × n) of a symmetric matrix.
///
/// The iteration may fail on matrices that are nearly singular. Moved by a multiple of the identity they keep their
/// vectors, and it takes another way.
pub fn symmetric_eigen(a: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let size = a.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
    let first = eigen_moved(a, n, 0.0);
    if size.is_finite() {
        SHIFTS.iter().fold(first, |found, part| found.or_else(|_| eigen_moved(a, n, part * size)))
    } else {
        first
    }
}

/// Parts of the largest entry that a matrix is moved by when its decomposition fails.
const SHIFTS: [f64; 4] = [1.0, 0.1, 3.0, 1e-3];

/// The decomposition by way of `a` + `shift`.
fn eigen_moved(a: &[f64], n: usize, shift: f64) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut moved = a.to_vec();
    moved.iter_mut().step_by(n + 1).for_each(|v| *v += shift);
    let eigen = MatRef::from_row_major_slice(&moved, n, n)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|e| Error::Numeric { stage: "eigenvectors", detail: format!("{e:?}") })?;
    let values = (0..n).map(|i| eigen.S()[i] - shift).collect();
    Ok((values, row_major(eigen.U())))
}

/// An orthonormal basis (n × m, row-major) of the columns of `a` (n × m, n >= m).
pub fn orthonormal(a: &[f64], n: usize, m: usize) -> Vec<f64> {
    row_major(MatRef::from_row_major_slice(a, n, m).qr().compute_thin_Q().as_ref())
}

/// Ratio of the least to the largest pivot down to which rows are made orthonormal by their Gram matrix.
const WELL: f64 = 1e-4;

/// An orthonormal basis (m × n, row-major) of the rows of `a` (m × n, n >= m), exact to rounding where the
/// rows are nearly orthonormal already, else to the square of their condition number (at most 1e-8) of it.
pub fn orthonormal_rows(mut a: Vec<f64>, m: usize, n: usize) -> Vec<f64> {
    // X = LQ with LL' = XX': a few products. Nearly dependent rows are left to Householder's reflections.
    let pivot = |lower: &[f64], i: usize| lower[i * m + i];
    let lower = cholesky(&gram(&a, m, n), m).filter(|lower| {
        let largest = (0..m).map(|i| pivot(lower, i)).fold(0.0, f64::max);
        largest.is_finite() && (0..m).all(|i| pivot(lower, i) > WELL * largest)
    });
    match lower {
        Some(lower) => {
            faer::linalg::triangular_solve::solve_lower_triangular_in_place(
                MatRef::from_row_major_slice(&lower, m, m),
                MatMut::from_row_major_slice_mut(&mut a, m, n),
                faer::Par::Seq,
            );
            a
        }
        None => {
            let q = MatRef::from_row_major_slice(&a, m, n).transpose().qr().compute_thin_Q();
            row_major(q.transpose())
        }
    }
}

/// Solves S Z = R for symmetric positive semi-definite S (n × n) and R (n × d), least norm where S is
/// singular: eigenvalues below `n * eps * largest` count as zero.
pub fn solve_semidefinite(s: &[f64], r: &[f64], n: usize, d: usize) -> Result<Vec<f64>, Error> {
    let (values, vectors) = symmetric_eigen(s, n)?;
    let floor = n as f64 * f64::EPSILON * values.last().copied().unwrap_or(0.0).max(0.0);
    let u = MatRef::from_row_major_slice(&vectors, n, n);
    let mut t: Mat<f64> = u.transpose() * MatRef::from_row_major_slice(r, n, d);
    for i in 0..n {
        let inverse = if values[i] > floor { 1.0 / values[i] } else { 0.0 };
        for j in 0..d {
            t[(i, j)] *= inverse;
        }
    }
    Ok(row_major((u * t).as_ref()))
}

/// Solves S Z = R for symmetric positive definite S; `None` when S is not.
pub fn solve_definite(s: &[f64], r: &[f64], n: usize, d: usize) -> Option<Vec<f64>> {
    let factor = MatRef::from_row_major_slice(s, n, n).llt(Side::Lower).ok()?;
    Some(row_major(factor.solve(MatRef::from_row_major_slice(r, n, d)).as_ref()))
}

/// The lower Cholesky factor L of a symmetric positive definite matrix; `None` when it is not.
pub fn cholesky(s: &[f64], n: usize) -> Option<Vec<f64>> {
    let factor = MatRef::from_row_major_slice(s, n, n).llt(Side::Lower).ok()?;
    let mut lower = row_major(factor.L());
    for i in 0..n {
        lower[i * n + i + 1..(i + 1) * n].fill(0.0);
    }
    Some(lower)
}

/// Solves W L = P for lower triangular L (n × n) and P (m × n).
pub fn solve_lower_right(p: &[f64], lower: &[f64], m: usize, n: usize) -> Vec<f64> {
    let mut w: Mat<f64> = MatRef::from_row_major_slice(p, m, n).transpose().to_owned();
    faer::linalg::triangular_solve::solve_upper_triangular_in_place(
        MatRef::from_row_major_slice(lower, n, n).transpose(),
        w.as_mut(),
        faer::Par::Seq,
    );
    row_major(w.transpose())
}

fn row_major(a: MatRef<'_, f64>) -> Vec<f64> {
    let mut out = Vec::with_capacity(a.nrows() * a.ncols());
    for i in 0..a.nrows() {
        for j in 0..a.ncols() {
            out.push(a[(i, j)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn the_polar_factor_is_orthonormal_and_beats_any_other() {
        let (m, k) = (9, 4);
        let z = Stream::new(1).values(m * k);
        let h = polar(&z, m, k).unwrap();
        let mut hh = vec![0.0; k * k];
        transposed_times(&h, &h, &mut hh, (k, k, m));
        for i in 0..k {
            for j in 0..k {
                assert!((hh[i * k + j] - f64::from(u8::from(i == j))).abs() < 1e-13);
            }
        }
        let twin = polar_by_svd(&z, m, k).unwrap();
        assert!(h.iter().zip(&twin).all(|(a, b)| (a - b).abs() < 1e-13));
        let trace = |h: &[f64]| h.iter().zip(&z).map(|(a, b)| a * b).sum::<f64>();
        for other in 2..50 {
            let q = orthonormal(&Stream::new(other).values(m * k), m, k);
            assert!(trace(&q) <= trace(&h) + 1e-12);
        }
    }

    #[test]
    fn a_moved_matrix_has_the_same_pairs() {
        // Of rank 7, and of eigenvalues that differ much.
        let n = 12;
        let mut x = Stream::new(6).values(n * 7);
        x.iter_mut().enumerate().for_each(|(p, v)| *v *= 3f64.powi(-((p % 7) as i32)));
        let a = gram(&x, n, 7);
        let size = a.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
        let (plain, _) = symmetric_eigen(&a, n).unwrap();
        for part in SHIFTS {
            let (values, vectors) = eigen_moved(&a, n, part * size).unwrap();
            assert!(values.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-13 * size));
            for j in 0..n {
                for i in 0..n {
                    let image: f64 = (0..n).map(|l| a[i * n + l] * vectors[l * n + j]).sum();
                    assert!((image - values[j] * vectors[i * n + j]).abs() < 1e-13 * size);
                }
            }
        }
    }

    #[test]
    fn rows_become_an_orthonormal_basis_of_their_span() {
        let (m, n) = (6, 40);
        let plain = Stream::new(4).values(m * n);
        // Of full rank, nearly dependent, dependent, and all zero.
        for (size, times) in [(1.0, 2), (1e-9, 1), (0.0, 1)] {
            let mut a = plain.clone();
            let (head, tail) = a.split_at_mut((m - 1) * n);
            tail.iter_mut().zip(head).for_each(|(t, h)| *t = size * *t + *h);
            let q = (0..times).fold(a.clone(), |rows, _| orthonormal_rows(rows, m, n));
            let products = gram(&q, m, n);
            for (p, v) in products.iter().enumerate() {
                let wanted = f64::from(u8::from(p.is_multiple_of(m + 1)));
                assert!((v - wanted).abs() < 1e-13, "{size}: {v}");
            }
            // Every row is the sum of its projections.
            let mut parts = vec![0.0; m * m];
            times_transposed(&a, &q, &mut parts, (m, m, n));
            let mut again = vec![0.0; m * n];
            super::times(&parts, &q, &mut again, (m, n, m));
            assert!(a.iter().zip(&again).all(|(x, y)| (x - y).abs() < 1e-12), "{size}");
        }
        assert!(orthonormal_rows(vec![0.0; m * n], m, n).iter().all(|v| v.is_finite()));
    }

    #[test]
    fn a_badly_conditioned_polar_factor_is_as_good_as_that_of_the_svd() {
        let (m, k) = (40, 5);
        for size in [1e-2, 1e-3, 2e-4, 1e-6] {
            let mut z = Stream::new(3).values(m * k);
            z.iter_mut().skip(k - 1).step_by(k).for_each(|v| *v *= size);
            let (h, twin) = (polar(&z, m, k).unwrap(), polar_by_svd(&z, m, k).unwrap());
            assert!(h.iter().zip(&twin).all(|(a, b)| (a - b).abs() < 1e-9), "{size}");
            let mut hh = vec![0.0; k * k];
            transposed_times(&h, &h, &mut hh, (k, k, m));
            let off = |p: usize| f64::from(u8::from(p.is_multiple_of(k + 1)));
            assert!(hh.iter().enumerate().all(|(p, v)| (v - off(p)).abs() < 1e-13), "{size}");
        }
    }

    #[test]
    fn a_rank_deficient_polar_factor_is_still_orthonormal() {
        let h = polar(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 3, 2).unwrap();
        let mut hh = vec![0.0; 4];
        transposed_times(&h, &h, &mut hh, (2, 2, 3));
        assert!((hh[0] - 1.0).abs() < 1e-13 && hh[1].abs() < 1e-13 && (hh[3] - 1.0).abs() < 1e-13);
    }

    #[test]
    fn singular_systems_get_the_least_squares_solution() {
        let (n, d) = (6, 3);
        let x = Stream::new(4).values(n * 2); // rank 2
        let s = gram(&x, n, 2);
        let truth = Stream::new(5).values(n * d);
        let mut r = vec![0.0; n * d];
        times(&s, &truth, &mut r, (n, d, n));
        let z = solve_semidefinite(&s, &r, n, d).unwrap();
        let mut back = vec![0.0; n * d];
        times(&s, &z, &mut back, (n, d, n));
        assert!(back.iter().zip(&r).all(|(a, b)| (a - b).abs() < 1e-10));
        assert!(solve_definite(&s, &r, n, d).is_none() || z.iter().all(|v| v.is_finite()));
    }
}
