//! Random choices that depend on a seed, a purpose and the *content* of rows, never on their order.
//!
//! A [`Stream`] is a seed joined with the name of a purpose. Choosing rows at random means ranking
//! them by a hash of (stream, row content): the same rows are chosen however the file is sorted, and
//! a row that stands twice is no likelier to be chosen twice. Plain sequences (random matrices) come
//! from ChaCha8, whose values do not change between versions.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// A named source of randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream(u64);

impl Stream {
    /// The root stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x6f62_6375_7401_u64))
    }

    /// An independent stream for one purpose.
    pub fn named(self, name: &str) -> Self {
        let mut state = self.0;
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        Self(state)
    }

    /// An independent stream for the `i`-th of several.
    pub fn nth(self, i: usize) -> Self {
        Self(mix(self.0 ^ mix(i as u64 ^ 0x5851_f42d_4c95_7f2d)))
    }

    /// A hash of a row's key in this stream.
    pub fn rank(self, key: u64) -> u64 {
        mix(self.0 ^ key)
    }

    /// A number in (0, 1) for a row's key in this stream.
    pub fn uniform(self, key: u64) -> f64 {
        ((self.rank(key) >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    /// A sequence of values in (-1, 1).
    pub fn values(self, n: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.0);
        (0..n)
            .map(|_| ((rng.next_u64() >> 11) as f64 + 0.5) * (2.0 / (1u64 << 53) as f64) - 1.0)
            .collect()
    }
}

/// Scrambles 64 bits (the finaliser of SplitMix64, one to one).
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Positions of the `count` smallest ranks of `keys` in `stream`, in the order of their ranks.
pub fn choose(keys: &[u64], count: usize, stream: Stream) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> =
        keys.iter().enumerate().map(|(i, &key)| (stream.rank(key), i as u32)).collect();
    if count < order.len() {
        order.select_nth_unstable(count);
        order.truncate(count);
    }
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

/// All positions in the order of their ranks.
pub fn shuffled(keys: &[u64], stream: Stream) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> =
        keys.iter().enumerate().map(|(i, &key)| (stream.rank(key), i as u32)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_the_content_and_not_the_order() {
        let keys: Vec<u64> = (0..500).map(mix).collect();
        let reversed: Vec<u64> = keys.iter().rev().copied().collect();
        let stream = Stream::new(3).named("anchors");
        let a: Vec<u64> = choose(&keys, 20, stream).iter().map(|&i| keys[i as usize]).collect();
        let b: Vec<u64> =
            choose(&reversed, 20, stream).iter().map(|&i| reversed[i as usize]).collect();
        assert_eq!(a, b);
    }

    #[test]
    fn streams_of_other_names_numbers_and_seeds_differ() {
        let root = Stream::new(0);
        let all =
            [root, Stream::new(1), root.named("a"), root.named("b"), root.nth(0), root.nth(1)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| b.rank(7) != a.rank(7)));
        }
    }

    #[test]
    fn uniform_values_fill_the_unit_interval() {
        let stream = Stream::new(9);
        let mean = (0..10_000).map(|i| stream.uniform(i)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let values = stream.values(10_000);
        assert!(values.iter().all(|v| v.abs() < 1.0));
    }
}
