//! A small generator of random numbers: the same sequence on every machine.

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The dice of one execution: any one can be repeated without those before it.
    pub fn of_execution(seed: u64, execution: u64) -> Self {
        Self::new(Self::new(seed).draw() ^ Self::new(!execution).draw())
    }

    /// Seeded by bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(bytes.len() as u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.draw() % n as u64) as usize }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
