//! Loops compiled for the vector units of the machine they run on.
//!
//! The program is built for the oldest processors; what runs inside [`vectorised`] is compiled once
//! more for those with wide vectors, and the choice is made at run time. Only what is inlined takes
//! part, so kernels are marked `#[inline(always)]`. Lanes are written out in the loops, no operation is
//! fused or reordered: the results are the same bits with and without.

use super::gemm::Real;

/// Runs `work`, compiled for the widest vectors there are.
#[inline(always)]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Sum of products, in eight lanes so that it runs in registers.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for l in 0..8 {
            lanes[l] += x[l] * y[l];
        }
    }
    lanes.iter().sum::<f64>() + tail
}

/// Sum of squared differences in eight lanes.
#[inline(always)]
pub fn squared_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let square = |x: &T, y: &T| (x.to_f64() - y.to_f64()) * (x.to_f64() - y.to_f64());
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| square(x, y)).sum();
    for (x, y) in a8.zip(b8) {
        for l in 0..8 {
            lanes[l] += square(&x[l], &y[l]);
        }
    }
    lanes.iter().sum::<f64>() + tail
}

/// `y += a x`.
#[inline(always)]
pub fn axpy<T: Real>(a: f64, x: &[T], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x.to_f64();
    }
}

/// Index of the largest `values - offsets`, ties to the lower: one pass for the value and one to find
/// it, both without branches in their inner loops. 0 when nothing can be compared.
#[inline(always)]
pub fn largest_difference<T: Real>(values: &[T], offsets: &[T]) -> usize {
    const LANES: usize = 16;
    let lowest = T::from_f64(f64::NEG_INFINITY);
    let mut lanes = [lowest; LANES];
    let (v16, v_rest) = values.as_chunks::<LANES>();
    let (o16, o_rest) = offsets.as_chunks::<LANES>();
    let mut top = lowest;
    for (v, o) in v_rest.iter().zip(o_rest) {
        let this = *v - *o;
        top = if this > top { this } else { top };
    }
    for (v, o) in v16.iter().zip(o16) {
        for l in 0..LANES {
            let this = v[l] - o[l];
            lanes[l] = if this > lanes[l] { this } else { lanes[l] };
        }
    }
    for lane in lanes {
        top = if lane > top { lane } else { top };
    }
    for (c, (v, o)) in v16.iter().zip(o16).enumerate() {
        let mut found = false;
        for l in 0..LANES {
            found |= v[l] - o[l] == top;
        }
        if found {
            let at = (0..LANES).find(|&l| v[l] - o[l] == top);
            return c * LANES + at.unwrap_or(0);
        }
    }
    let at = v_rest.iter().zip(o_rest).position(|(v, o)| *v - *o == top);
    at.map_or(0, |at| v16.len() * LANES + at)
}

/// Indices of the `count` largest `values - offsets`, the largest first, ties to the lower index.
///
/// First the largest of every stretch, then a look into those stretches alone that can hold one of the
/// `count`: the `count`-th largest of the stretches' largest is a bound for them.
#[inline(always)]
pub fn few_largest<T: Real>(values: &[T], offsets: &[T], count: usize, out: &mut Vec<u32>) {
    const LANES: usize = 16;
    const STRETCHES: usize = 128;
    let lowest = T::from_f64(f64::NEG_INFINITY);
    let mut tops = [lowest; STRETCHES];
    // The few found so far, the largest first.
    let mut found: [(T, u32); 16] = [(lowest, u32::MAX); 16];
    let count = count.min(values.len());
    if count > found.len() || values.len() > LANES * STRETCHES {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        let value = |i: u32| (values[i as usize] - offsets[i as usize]).to_f64();
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
        out.extend_from_slice(&order[..count]);
        return;
    }
    let (v16, v_rest) = values.as_chunks::<LANES>();
    let (o16, o_rest) = offsets.as_chunks::<LANES>();
    for (top, (v, o)) in tops.iter_mut().zip(v16.iter().zip(o16)) {
        let mut lanes = [lowest; LANES];
        for l in 0..LANES {
            lanes[l] = v[l] - o[l];
        }
        for width in [8, 4, 2, 1] {
            for l in 0..width {
                lanes[l] = if lanes[l + width] > lanes[l] { lanes[l + width] } else { lanes[l] };
            }
        }
        *top = lanes[0];
    }
    for (v, o) in v_rest.iter().zip(o_rest) {
        let (top, this) = (&mut tops[v16.len()], *v - *o);
        *top = if this > *top { this } else { *top };
    }
    let n_stretches = values.len().div_ceil(LANES);
    for &top in &tops[..n_stretches] {
        insert(&mut found[..count], top, 0);
    }
    let bound = found[count - 1].0;
    found = [(lowest, u32::MAX); 16];
    for (c, &top) in tops[..n_stretches].iter().enumerate() {
        if top >= bound {
            let end = ((c + 1) * LANES).min(values.len());
            for i in c * LANES..end {
                insert(&mut found[..count], values[i] - offsets[i], i as u32);
            }
        }
    }
    out.extend(found[..count].iter().map(|f| f.1));
}

/// Keeps a list of the largest values, the largest first; of equal ones the first stays before.
#[inline(always)]
fn insert<T: Real>(found: &mut [(T, u32)], value: T, index: u32) {
    let last = found.len() - 1;
    let enters = found[last].1 == u32::MAX || value > found[last].0;
    if !enters {
        return;
    }
    let mut at = last;
    while at > 0 && (found[at - 1].1 == u32::MAX || value > found[at - 1].0) {
        found[at] = found[at - 1];
        at -= 1;
    }
    found[at] = (value, index);
}

/// The largest `level + slope * x`, and the largest and smallest `x`.
#[inline(always)]
pub fn largest_sum(level: &[f64], slope: &[f64], x: &[f64]) -> (f64, f64, f64) {
    const LANES: usize = 4;
    let (level, slope) = (&level[..x.len()], &slope[..x.len()]);
    let (x4, x_rest) = x.as_chunks::<LANES>();
    let (level4, level_rest) = level.as_chunks::<LANES>();
    let (slope4, slope_rest) = slope.as_chunks::<LANES>();
    let mut top = [f64::NEG_INFINITY; LANES];
    let mut high = [f64::NEG_INFINITY; LANES];
    let mut low = [f64::INFINITY; LANES];
    for ((x, level), slope) in x4.iter().zip(level4).zip(slope4) {
        let mut this = [0.0; LANES];
        for i in 0..LANES {
            this[i] = level[i] + slope[i] * x[i];
        }
        for i in 0..LANES {
            top[i] = if this[i] > top[i] { this[i] } else { top[i] };
        }
        for i in 0..LANES {
            high[i] = if x[i] > high[i] { x[i] } else { high[i] };
        }
        for i in 0..LANES {
            low[i] = if x[i] < low[i] { x[i] } else { low[i] };
        }
    }
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let smaller = |a: f64, b: f64| if b < a { b } else { a };
    let mut found = (
        top.into_iter().fold(f64::NEG_INFINITY, larger),
        high.into_iter().fold(f64::NEG_INFINITY, larger),
        low.into_iter().fold(f64::INFINITY, smaller),
    );
    for ((x, level), slope) in x_rest.iter().zip(level_rest).zip(slope_rest) {
        found.0 = larger(found.0, level + slope * x);
        found.1 = larger(found.1, *x);
        found.2 = smaller(found.2, *x);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn vectors_change_no_bit() {
        for n in [0, 1, 7, 8, 9, 31, 64, 100] {
            let (a, b) = (Stream::new(1).values(n), Stream::new(2).values(n));
            assert_eq!(
                vectorised(
                    #[inline(always)]
                    || dot(&a, &b)
                )
                .to_bits(),
                dot(&a, &b).to_bits()
            );
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-14 * (1 + n) as f64);
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
            assert!((squared_distance(&a, &b) - plain).abs() < 1e-13 * (1 + n) as f64);
            let fast = vectorised(
                #[inline(always)]
                || squared_distance(&a, &b),
            );
            assert_eq!(fast.to_bits(), squared_distance(&a, &b).to_bits());
            let (mut y, mut z) = (b.clone(), b.clone());
            vectorised(
                #[inline(always)]
                || axpy(0.3, &a, &mut y),
            );
            axpy(0.3, &a, &mut z);
            assert_eq!(y, z);
        }
    }

    #[test]
    fn the_largest_difference_is_found_first_of_equals() {
        for n in [1, 5, 16, 17, 40, 100] {
            for seed in 0..20 {
                // Whole numbers, so that there are ties.
                let round = |v: Vec<f64>| -> Vec<f32> {
                    v.iter().map(|v| (v * 3.0).round() as f32).collect()
                };
                let a = round(Stream::new(seed).values(n));
                let b = round(Stream::new(seed + 100).values(n));
                let mut plain = 0;
                for i in 0..n {
                    if a[i] - b[i] > a[plain] - b[plain] {
                        plain = i;
                    }
                }
                assert_eq!(
                    vectorised(
                        #[inline(always)]
                        || largest_difference(&a, &b)
                    ),
                    plain
                );
            }
        }
        assert_eq!(largest_difference(&[f64::NAN; 3], &[0.0; 3]), 0);
        for (n, count) in
            [(1, 1), (5, 5), (16, 3), (17, 6), (300, 6), (1000, 16), (2500, 5), (40, 20)]
        {
            for seed in 0..10 {
                let a: Vec<f64> =
                    Stream::new(seed).values(n).iter().map(|v| (v * 50.0).round()).collect();
                let b = vec![0.5; n];
                let mut plain: Vec<u32> = (0..n as u32).collect();
                plain.sort_by(|&i, &j| a[j as usize].total_cmp(&a[i as usize]).then(i.cmp(&j)));
                let mut found = Vec::new();
                few_largest(&a, &b, count, &mut found);
                assert_eq!(found, plain[..count], "{n} {count}");
            }
        }
        for n in [1, 7, 8, 21] {
            let (a, b) = (Stream::new(5).values(n), Stream::new(6).values(n));
            let x = Stream::new(7).values(n);
            let value = |j: usize| a[j] + b[j] * x[j];
            let most = |f: &dyn Fn(usize) -> f64| (0..n).map(f).fold(f64::NEG_INFINITY, f64::max);
            let plain = (most(&value), most(&|j| x[j]), -most(&|j| -x[j]));
            assert_eq!(vectorised(|| largest_sum(&a, &b, &x)), plain);
        }
    }
}
