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
    fn from_f64(x: f64) -> Self;
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
    for i in 0..n {
        for j in 0..i {
            g[j * n + i] = g[i * n + j];
        }
    }
    g
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
