//! Products of row-major matrices.

use faer::linalg::matmul::matmul;
use faer::reborrow::ReborrowMut;
use faer::traits::RealField;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns that are multiplied at a time: more would leave the cache.
const PANEL: usize = 512;

/// The two float types that data come in.
pub trait Real:
    RealField + Copy + Send + Sync + PartialOrd + std::ops::Sub<Output = Self> + 'static
{
    /// Rounds a number in double precision.
    fn from_f64(x: f64) -> Self;
    /// The number in double precision.
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// `out` (n × m) = `a` (n × d) · `b` (m × d)ᵀ, all row-major.
pub fn times_transposed<T: Real>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    (n, m, d): (usize, usize, usize),
) {
    let a = MatRef::from_row_major_slice(a, n, d);
    let b = MatRef::from_row_major_slice(b, m, d).transpose();
    let mut out = MatMut::from_row_major_slice_mut(out, n, m);
    for start in (0..m).step_by(PANEL) {
        let width = PANEL.min(m - start);
        let out = out.rb_mut().subcols_mut(start, width);
        matmul(out, Accum::Replace, a, b.subcols(start, width), T::from_f64(1.0), Par::Seq);
    }
}

/// `out` (n × m) = `a` (n × d) · `b` (d × m), all row-major.
pub fn times<T: Real>(a: &[T], b: &[T], out: &mut [T], (n, m, d): (usize, usize, usize)) {
    matmul(
        MatMut::from_row_major_slice_mut(out, n, m),
        Accum::Replace,
        MatRef::from_row_major_slice(a, n, d),
        MatRef::from_row_major_slice(b, d, m),
        T::from_f64(1.0),
        Par::Seq,
    );
}

/// `out` (n × m) += `factor` · `a` (n × d) · `b` (d × m), all row-major.
pub fn add_times(
    factor: f64,
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
    (n, m, d): (usize, usize, usize),
) {
    matmul(
        MatMut::from_row_major_slice_mut(out, n, m),
        Accum::Add,
        MatRef::from_row_major_slice(a, n, d),
        MatRef::from_row_major_slice(b, d, m),
        factor,
        Par::Seq,
    );
}

/// `out` (n × m) = `a` (d × n)ᵀ · `b` (d × m), all row-major.
pub fn transposed_times<T: Real>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    (n, m, d): (usize, usize, usize),
) {
    matmul(
        MatMut::from_row_major_slice_mut(out, n, m),
        Accum::Replace,
        MatRef::from_row_major_slice(a, d, n).transpose(),
        MatRef::from_row_major_slice(b, d, m),
        T::from_f64(1.0),
        Par::Seq,
    );
}

/// `x xᵀ` for row-major `x` (n × d): the n × n Gram matrix, exactly symmetric.
pub fn gram(x: &[f64], n: usize, d: usize) -> Vec<f64> {
    let mut g = vec![0.0; n * n];
    times_transposed(x, x, &mut g, (n, n, d));
    mirror(&mut g, n);
    g
}

/// Rows and columns of the squares that are turned at a time: more would leave the cache.
const SQUARE: usize = 16;

/// Copies the lower triangle of a square matrix (n × n) to the upper one.
pub fn mirror(a: &mut [f64], n: usize) {
    for top in (0..n).step_by(SQUARE) {
        for left in (0..=top).step_by(SQUARE) {
            for i in top..(top + SQUARE).min(n) {
                for j in left..(left + SQUARE).min(i) {
                    a[j * n + i] = a[i * n + j];
                }
            }
        }
    }
}

/// The transpose (m × n) of `a` (n × m), both row-major.
pub fn transposed(a: &[f64], n: usize, m: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * m];
    for top in (0..n).step_by(SQUARE) {
        for left in (0..m).step_by(SQUARE) {
            for i in top..(top + SQUARE).min(n) {
                for j in left..(left + SQUARE).min(m) {
                    out[j * n + i] = a[i * m + j];
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn products_equal_the_plain_triple_loop() {
        let (n, m, d) = (7, 5, 11);
        let a = Stream::new(1).values(n * d);
        let b = Stream::new(2).values(m * d);
        let mut out = vec![0.0; n * m];
        times_transposed(&a, &b, &mut out, (n, m, d));
        for i in 0..n {
            for j in 0..m {
                let plain: f64 = (0..d).map(|l| a[i * d + l] * b[j * d + l]).sum();
                assert!((out[i * m + j] - plain).abs() < 1e-14);
            }
        }
        let bt: Vec<f64> = (0..d * m).map(|p| b[(p % m) * d + p / m]).collect();
        let at: Vec<f64> = (0..d * n).map(|p| a[(p % n) * d + p / n]).collect();
        let mut again = vec![0.0; n * m];
        times(&a, &bt, &mut again, (n, m, d));
        assert!(out.iter().zip(&again).all(|(x, y)| (x - y).abs() < 1e-14));
        add_times(-1.0, &a, &bt, &mut again, (n, m, d));
        assert!(again.iter().all(|x| x.abs() < 1e-14));
        transposed_times(&at, &bt, &mut again, (n, m, d));
        assert!(out.iter().zip(&again).all(|(x, y)| (x - y).abs() < 1e-14));
    }

    #[test]
    fn a_transpose_and_a_mirror_image_are_right_for_any_size() {
        for (n, m) in [(1, 1), (3, 40), (16, 16), (17, 33), (50, 7)] {
            let a = Stream::new(1).values(n * m);
            let t = transposed(&a, n, m);
            assert!((0..n).all(|i| (0..m).all(|j| t[j * n + i] == a[i * m + j])));
            let mut g = Stream::new(2).values(m * m);
            let before = g.clone();
            mirror(&mut g, m);
            for i in 0..m {
                for j in 0..m {
                    assert_eq!(g[i * m + j], before[i.max(j) * m + i.min(j)]);
                }
            }
        }
    }

    /// What lets predict repeat the bits of the fit: with the shape fixed, a row's product does not
    /// depend on where in the block the row stands or on what stands around it.
    #[test]
    fn a_row_of_a_product_does_not_depend_on_its_place() {
        fn check<T: Real + std::fmt::Debug>() {
            let (n, m, d) = (128, 37, 53);
            let a: Vec<T> = Stream::new(1).values(n * d).into_iter().map(T::from_f64).collect();
            let b: Vec<T> = Stream::new(2).values(m * d).into_iter().map(T::from_f64).collect();
            let mut whole = vec![T::from_f64(0.0); n * m];
            times_transposed(&a, &b, &mut whole, (n, m, d));
            for place in [0, 1, 5, 64, 127] {
                for row in [0, 3, 77, 127] {
                    let mut alone = vec![T::from_f64(0.0); n * d];
                    alone[place * d..(place + 1) * d].copy_from_slice(&a[row * d..(row + 1) * d]);
                    let mut out = vec![T::from_f64(0.0); n * m];
                    times_transposed(&alone, &b, &mut out, (n, m, d));
                    assert_eq!(out[place * m..(place + 1) * m], whole[row * m..(row + 1) * m]);
                }
            }
        }
        check::<f32>();
        check::<f64>();
    }
}
