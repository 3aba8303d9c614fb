//! Sine and cosine of many angles at once.

use std::f64::consts::FRAC_2_PI;

use obcut_core::linalg::gemm::Real;
use obcut_core::linalg::simd::vectorised;

/// Up to this size an angle minus a multiple of a right angle keeps its digits.
const LARGEST: f64 = 1e5;
/// Adding this leaves a whole number in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// A right angle: 33 bits, so that products with small whole numbers are exact, and the rest.
const RIGHT: f64 = 1.570_796_326_734_125_6;
const RIGHT_REST: f64 = 6.077_100_506_506_192e-11;

/// Coefficients of the series on an eighth of a turn either way (those of fdlibm).
const SIN: [f64; 6] = [
    -1.666_666_666_666_663_2e-1,
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];
const COS: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];

/// `cos` and `sin` = `scale` times cosine and sine of `factor` times the angles.
pub(crate) fn waves<T: Real>(
    angles: &[f64],
    factor: f64,
    scale: impl Fn(usize) -> f64,
    cos: &mut [T],
    sin: &mut [T],
) {
    vectorised(
        #[inline(always)]
        || {
            let mut small = true;
            for angle in angles {
                small &= (angle * factor).abs() <= LARGEST;
            }
            let out = angles.iter().zip(cos.iter_mut().zip(sin));
            if small {
                for (i, (angle, (cos, sin))) in out.enumerate() {
                    let (s, c) = sin_cos(angle * factor);
                    (*cos, *sin) = (T::from_f64(scale(i) * c), T::from_f64(scale(i) * s));
                }
            } else {
                for (i, (angle, (cos, sin))) in out.enumerate() {
                    let (s, c) = (angle * factor).sin_cos();
                    (*cos, *sin) = (T::from_f64(scale(i) * c), T::from_f64(scale(i) * s));
                }
            }
        },
    );
}

/// Sine and cosine without a branch, so that a loop runs in vectors.
#[inline(always)]
fn sin_cos(x: f64) -> (f64, f64) {
    let turned = x * FRAC_2_PI + ROUND;
    let quarter = turned.to_bits();
    let count = turned - ROUND;
    let r = (x - count * RIGHT) - count * RIGHT_REST;
    let z = r * r;
    let tail = SIN[1] + z * (SIN[2] + z * (SIN[3] + z * (SIN[4] + z * SIN[5])));
    let sin = r + r * z * (SIN[0] + z * tail);
    let tail = COS[1] + z * (COS[2] + z * (COS[3] + z * (COS[4] + z * COS[5])));
    let cos = 1.0 - (0.5 * z - z * z * (COS[0] + z * tail));
    let (s, c) = if quarter & 1 == 1 { (cos, sin) } else { (sin, cos) };
    let sign = |value: f64, quarter: u64| f64::from_bits(value.to_bits() ^ ((quarter & 2) << 62));
    (sign(s, quarter), sign(c, quarter.wrapping_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::random::Stream;

    #[test]
    fn waves_equal_those_of_the_standard_library() {
        for size in [1e-3, 1.0, 10.0, 1e4, 9.9e4, 1e9] {
            let angles = Stream::new(2).values(1003);
            let (mut cos, mut sin) = (vec![0.0; 1003], vec![0.0; 1003]);
            waves(&angles, size, |i| 1.0 + i as f64, &mut cos, &mut sin);
            for (i, angle) in angles.iter().enumerate() {
                let (s, c) = (angle * size).sin_cos();
                let scale = 1.0 + i as f64;
                assert!((cos[i] / scale - c).abs() < 4e-16, "{angle} {size}");
                assert!((sin[i] / scale - s).abs() < 4e-16, "{angle} {size}");
            }
        }
    }

    #[test]
    fn right_angles_are_exact_to_rounding() {
        let angles: Vec<f64> = (-9..=9).map(|i| f64::from(i) * 0.5).collect();
        let (mut cos, mut sin) = (vec![0f32; 19], vec![0f32; 19]);
        waves(&angles, std::f64::consts::PI, |_| 1.0, &mut cos, &mut sin);
        for (i, quarter) in (-9i32..=9).enumerate() {
            let expected = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
            let (c, s) = expected[quarter.rem_euclid(4) as usize];
            assert!((cos[i] - c).abs() < 1e-7 && (sin[i] - s).abs() < 1e-7, "{quarter}");
        }
    }
}
