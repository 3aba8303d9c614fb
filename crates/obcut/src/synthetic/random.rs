//! Random numbers that are the same on every machine and in every version: ChaCha8 words, and our
//! own uniform and normal numbers from them, by operations that IEEE 754 rounds exactly. (The
//! system's `ln` and `cos` are not among them: they differ between platforms in the last bit.)

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, TAU};

/// What a stream of random numbers is for; streams of different use never overlap.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Which row gets which class.
    Order,
    /// Centers, bases, sizes.
    Shape,
    /// The values of one row.
    Row,
}

/// A stream of random numbers.
pub(super) struct NumberStream {
    words: ChaCha8Rng,
    /// The second normal number of the last pair.
    spare: Option<f64>,
}

impl NumberStream {
    /// The `index`-th stream for one use of a seed.
    pub fn new(seed: u64, purpose: Use, index: usize) -> Self {
        // The key is laid out here since `seed_from_u64` has changed between versions.
        let mut key = *b"........obcut synthetic rows 1..";
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[31] = purpose as u8;
        let mut words = ChaCha8Rng::from_seed(key);
        words.set_stream(index as u64);
        Self { words, spare: None }
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.words.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `0..n`, or 0 when `n` is 0; biased by less than n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.words.next_u64()) * n as u128) >> 64) as usize
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * ln(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Fills `values` with cheap, nearly normal numbers of unit variance: the sum of four uniform
    /// bytes, which ends at 3.45 standard deviations.
    pub fn fill_nearly_normal(&mut self, values: &mut [f32], bytes: &mut Vec<u8>) {
        // Mean and deviation of the sum: 4 × 255/2 and sqrt(4 × (256² - 1) / 12).
        const MEAN: f32 = 510.0;
        const INVERSE_DEVIATION: f32 = 0.006_765_875;
        bytes.resize(4 * values.len(), 0);
        self.words.fill_bytes(bytes);
        for (value, four) in values.iter_mut().zip(bytes.chunks_exact(4)) {
            let sum: u32 = four.iter().map(|&byte| u32::from(byte)).sum();
            *value = (sum as f32 - MEAN) * INVERSE_DEVIATION;
        }
    }
}

/// Natural logarithm of a positive normal number, to about one unit in the last place.
fn ln(x: f64) -> f64 {
    const EXPONENT_BIAS: i64 = 1023;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - EXPONENT_BIAS;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | (EXPONENT_BIAS as u64) << 52);
    if mantissa > 2.0 * FRAC_1_SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); |z| <= 0.172, so eleven terms reach 1e-19.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let mut series = 0.0;
    for power in (0..11).rev() {
        series = series * (z * z) + 1.0 / f64::from(2 * power + 1);
    }
    exponent as f64 * LN_2 + 2.0 * z * series
}

/// Cosine and sine of `turns` full turns, for `turns` in `[0, 1]`.
pub(super) fn direction(turns: f64) -> [f64; 2] {
    let quarter = (4.0 * turns).round();
    let angle = TAU * (turns - 0.25 * quarter); // within 1/8 turn: the series below reach 1e-18
    let square = angle * angle;
    let (mut cos, mut sin) = (1.0, 1.0);
    for n in (1..=9).rev() {
        let n = f64::from(n);
        cos = 1.0 - cos * square / ((2.0 * n - 1.0) * (2.0 * n));
        sin = 1.0 - sin * square / ((2.0 * n) * (2.0 * n + 1.0));
    }
    sin *= angle;
    match quarter as i64 % 4 {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: impl Iterator<Item = f64>) -> [f64; 4] {
        let values: Vec<f64> = values.collect();
        [1, 2, 3, 4].map(|p| values.iter().map(|v| v.powi(p)).sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn our_logarithm_and_circle_agree_with_the_system() {
        let mut stream = NumberStream::new(1, Use::Shape, 0);
        for _ in 0..10_000 {
            let x = stream.uniform();
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * (1.0 + x.ln().abs()), "ln {x}");
            let ([cos, sin], (s, c)) = (direction(x), (TAU * x).sin_cos());
            assert!((cos - c).abs() < 1e-15 && (sin - s).abs() < 1e-15, "turn {x}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(direction(0.5), [-1.0, 0.0]);
        assert_eq!(direction(1.0), [1.0, 0.0]);
    }

    #[test]
    fn normal_numbers_have_normal_moments() {
        let mut stream = NumberStream::new(2, Use::Row, 0);
        let [mean, variance, skew, fourth] = moments((0..200_000).map(|_| stream.normal()));
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01);
        assert!(skew.abs() < 0.03 && (fourth - 3.0).abs() < 0.1);
    }

    #[test]
    fn cheap_numbers_have_unit_variance_and_bounded_tails() {
        let (mut values, mut bytes) = (vec![0.0; 200_000], Vec::new());
        NumberStream::new(3, Use::Row, 0).fill_nearly_normal(&mut values, &mut bytes);
        let [mean, variance, skew, fourth] = moments(values.iter().map(|&v| f64::from(v)));
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01);
        assert!(skew.abs() < 0.03 && (fourth - 2.7).abs() < 0.1);
        assert!(values.iter().all(|v| v.abs() < 3.46));
    }

    #[test]
    fn streams_of_another_seed_use_or_index_differ() {
        let first = |seed, purpose, index| NumberStream::new(seed, purpose, index).words.next_u64();
        let base = first(1, Use::Row, 0);
        assert_eq!(base, first(1, Use::Row, 0));
        assert_ne!(base, first(2, Use::Row, 0));
        assert_ne!(base, first(1, Use::Order, 0));
        assert_ne!(base, first(1, Use::Row, 1));
    }

    #[test]
    fn whole_numbers_stay_below_their_bound() {
        let mut stream = NumberStream::new(4, Use::Order, 0);
        let mut seen = [0; 7];
        (0..7000).for_each(|_| seen[stream.below(7)] += 1);
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
    }
}
