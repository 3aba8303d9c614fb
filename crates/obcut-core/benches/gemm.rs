//! Which matrix product to call, on the shapes of this library: `cargo bench -p obcut-core --bench gemm`.
//!
//! One thread, best of several passes, GFLOP/s. The three candidates take turns on every shape.

use std::hint::black_box;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// One product: what it is for, rows, columns, depth.
const SHAPES: [(&str, usize, usize, usize); 8] = [
    ("X A, block of 128", 128, 300, 512),
    ("X A, block of 256", 256, 300, 512),
    ("X A, block of 512", 512, 300, 512),
    ("X A, many anchors", 256, 2500, 512),
    ("X A, few anchors", 256, 100, 512),
    ("X A, few features", 256, 300, 16),
    ("embedding, k-means", 256, 100, 100),
    ("B'X, dense B", 100, 512, 768),
];

/// Seconds of one call, best of the passes.
fn best(flops: f64, mut call: impl FnMut()) -> f64 {
    let passes = (2e9 / flops).clamp(3.0, 2000.0) as usize;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let clock = Instant::now();
        for _ in 0..passes {
            call();
        }
        best = best.min(clock.elapsed().as_secs_f64() / passes as f64);
    }
    best
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0).collect()
}

fn main() {
    println!(
        "{:<22} {:>6} {:>6} {:>6} {:>8} {:>8} {:>16}",
        "GFLOP/s, f32", "n", "m", "d", "faer", "gemm", "matrixmultiply"
    );
    for (name, n, m, d) in SHAPES {
        let flops = 2.0 * (n * m * d) as f64;
        // `B'X` reads its left factor by columns, `X A` its right one.
        let left_by_columns = name.starts_with("B'X");
        let (a, b, mut out) = (numbers(n * d), numbers(m * d), vec![0.0f32; n * m]);
        let (a_row, a_col) = if left_by_columns { (1, n) } else { (d, 1) };
        let (b_row, b_col) = if left_by_columns { (m, 1) } else { (1, d) };
        let faer = best(flops, || {
            let (a, b) = if left_by_columns {
                (
                    MatRef::from_row_major_slice(&a, d, n).transpose(),
                    MatRef::from_row_major_slice(&b, d, m),
                )
            } else {
                (
                    MatRef::from_row_major_slice(&a, n, d),
                    MatRef::from_row_major_slice(&b, m, d).transpose(),
                )
            };
            let out = MatMut::from_row_major_slice_mut(black_box(&mut out), n, m);
            matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
        });
        let gemm = best(flops, || {
            #[allow(unsafe_code)]
            // SAFETY: the strides are those of slices of n x d, m x d and n x m numbers.
            unsafe {
                gemm::gemm(
                    n,
                    m,
                    d,
                    black_box(&mut out).as_mut_ptr(),
                    1,
                    m as isize,
                    false,
                    a.as_ptr(),
                    a_col as isize,
                    a_row as isize,
                    b.as_ptr(),
                    b_col as isize,
                    b_row as isize,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
        });
        let plain = best(flops, || {
            #[allow(unsafe_code)]
            // SAFETY: as above.
            unsafe {
                matrixmultiply::sgemm(
                    n,
                    d,
                    m,
                    1.0,
                    a.as_ptr(),
                    a_row as isize,
                    a_col as isize,
                    b.as_ptr(),
                    b_row as isize,
                    b_col as isize,
                    0.0,
                    black_box(&mut out).as_mut_ptr(),
                    m as isize,
                    1,
                );
            }
        });
        let rate = |seconds: f64| flops / seconds / 1e9;
        println!(
            "{name:<22} {n:>6} {m:>6} {d:>6} {:>8.1} {:>8.1} {:>16.1}",
            rate(faer),
            rate(gemm),
            rate(plain)
        );
    }
}
