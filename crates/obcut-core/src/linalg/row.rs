//! Products of one row with many points, with the bits that the row has in a block of rows.
//!
//! The library's product sums every entry feature after feature by fused multiply-add, in stretches of 512 features
//! that are added up at the end. Here the same is done for one row, 32 points at a time. What the library does is its
//! own business and differs between processors, so it is tried out before it is relied on.
//! A last panel of one point, which the library multiplies as a vector, is left to the block.

use super::gemm::times_transposed;
use super::simd::vectorised;
use crate::random::Stream;

/// Points that are multiplied at a time: their sums stay in registers.
const LANES: usize = 32;
/// Features that are summed before the sum is added to that of the features before.
const STRETCH: usize = 512;

/// Points laid out for products with single rows.
pub struct RowProduct {
    /// For [`LANES`] points at a time, their values feature after feature.
    panels: Vec<f64>,
    d: usize,
}

impl RowProduct {
    /// Points (m × d) for products with single rows. `None` if a block of `n` rows is summed in another way on this
    /// processor: the products of random rows with these points must be the same to the bit.
    pub fn new(points: &[f64], (n, m, d): (usize, usize, usize)) -> Option<Self> {
        let mut panels = vec![0.0; m.div_ceil(LANES) * LANES * d];
        for (a, point) in points.chunks_exact(d).enumerate() {
            let panel = &mut panels[a / LANES * LANES * d..];
            point.iter().enumerate().for_each(|(f, &v)| panel[f * LANES + a % LANES] = v);
        }
        let this = Self { panels, d };
        let rows = Stream::new(n as u64).named("row product").values(n * d);
        let (mut block, mut alone) = (vec![0.0; n * m], vec![0.0; m]);
        times_transposed(&rows, points, &mut block, (n, m, d));
        let is_same = rows.chunks_exact(d).zip(block.chunks_exact(m)).all(|(row, expected)| {
            this.times(row, &mut alone);
            alone.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits())
        });
        is_same.then_some(this)
    }

    /// The products of a row with all points.
    pub fn times(&self, row: &[f64], out: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                let panels = self.panels.chunks_exact(LANES * self.d);
                for (panel, out) in panels.zip(out.chunks_mut(LANES)) {
                    let (panel, _) = panel.as_chunks::<LANES>();
                    // Loops and no closures: a closure that is not inlined is compiled without the vector units.
                    let mut sums = [0.0; LANES];
                    let stretches = row.chunks(STRETCH).zip(panel.chunks(STRETCH));
                    for (at, (x, a)) in stretches.enumerate() {
                        let more = stretch(x, a);
                        for l in 0..LANES {
                            sums[l] = if at == 0 { more[l] } else { sums[l] + more[l] };
                        }
                    }
                    out.copy_from_slice(&sums[..out.len()]);
                }
            },
        );
    }
}

#[inline(always)]
fn stretch(row: &[f64], panel: &[[f64; LANES]]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (&x, a) in row.iter().zip(panel) {
        for l in 0..LANES {
            sums[l] = x.mul_add(a[l], sums[l]);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes around every border that is known: of lanes, of the library's small products, of stretches.
    #[test]
    fn a_row_has_the_bits_of_a_block_or_is_not_multiplied_alone() {
        let mut refused = Vec::new();
        for m in [1, 2, 3, 5, 8, 16, 31, 32, 33, 63, 64, 65, 127, 200, 511, 512, 513, 1100] {
            for d in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100, 257, 511, 512, 513, 1030] {
                let points = Stream::new((m * 10_000 + d) as u64).values(m * d);
                let Some(product) = RowProduct::new(&points, (128, m, d)) else {
                    refused.push((m, d));
                    continue;
                };
                // Rows of other sizes than those that were tried out, at another place of the block.
                let scale = Stream::new(9).values(128 * d);
                let rows: Vec<f64> = (Stream::new(8).values(128 * d).iter())
                    .zip(&scale)
                    .map(|(v, s)| v * (30.0 * s).exp2())
                    .collect();
                let (mut block, mut alone) = (vec![0.0; 128 * m], vec![0.0; m]);
                times_transposed(&rows, &points, &mut block, (128, m, d));
                for i in [0, 1, 77, 127] {
                    product.times(&rows[i * d..(i + 1) * d], &mut alone);
                    assert_eq!(alone, block[i * m..(i + 1) * m], "{m} points, {d} features");
                }
            }
        }
        // A single point is multiplied in yet another way, and so is the last one of 512 and one.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("fma") {
            assert!(refused.iter().all(|(m, _)| m % 512 == 1), "{refused:?}");
        }
    }
}
