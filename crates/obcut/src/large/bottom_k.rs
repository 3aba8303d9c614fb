//! The core of a large table: the distinct rows whose hashes are smallest.
//!
//! A hash decides by the content alone, so the same rows are chosen whatever their order and however
//! the table is cut into pieces; equal rows count once, with the sum of their weights.

use serde::{Deserialize, Serialize};

use obcut_core::sums::Doubled;

/// A chosen row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pick {
    pub rank: u64,
    /// The first of the rows that are equal to it.
    pub row: u64,
    pub weight: Doubled,
}

impl Pick {
    /// The weight, without the last bits: those may depend on the order of the terms.
    pub fn weight(&self) -> f64 {
        const LAST: u64 = 1 << 12;
        f64::from_bits((self.weight.value().to_bits() + LAST / 2) & !(LAST - 1))
    }
}

/// The `limit` smallest ranks so far, and those that were not sorted out yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BottomKSample {
    limit: usize,
    /// Ranks from here on are of no use.
    bound: u64,
    /// Whether a rank was passed over for the bound that it began with, not since there are enough.
    pub beyond: bool,
    cap: u64,
    picks: Vec<Pick>,
}

impl BottomKSample {
    /// Ranks up to `cap` only.
    pub fn new(limit: usize, cap: u64) -> Self {
        Self { limit, bound: u64::MAX, beyond: false, cap, picks: Vec::new() }
    }

    #[inline]
    pub fn add(&mut self, rank: u64, row: u64, weight: f64) {
        if rank > self.cap {
            self.beyond = true;
        } else if rank <= self.bound {
            let mut sum = Doubled::default();
            sum.add(weight);
            self.push(Pick { rank, row, weight: sum });
        }
    }

    fn push(&mut self, pick: Pick) {
        self.picks.push(pick);
        if self.picks.len() >= 2 * self.limit.max(1024) {
            self.tidy();
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.beyond |= other.beyond;
        for pick in other.picks {
            if pick.rank <= self.bound {
                self.push(pick);
            }
        }
    }

    /// Joins equal rows and keeps the smallest ranks, in ascending order.
    fn tidy(&mut self) {
        self.picks.sort_unstable_by_key(|pick| (pick.rank, pick.row));
        let mut joined: Vec<Pick> = Vec::with_capacity(self.picks.len().min(self.limit + 1));
        for pick in self.picks.drain(..) {
            let is_full = joined.len() == self.limit;
            match joined.last_mut() {
                Some(last) if last.rank == pick.rank => last.weight.merge(pick.weight),
                _ if is_full => break,
                _ => joined.push(pick),
            }
        }
        self.picks = joined;
        if self.picks.len() == self.limit {
            self.bound = self.picks.last().map_or(u64::MAX, |pick| pick.rank);
        }
    }

    /// Whether ranks beyond the cap must be looked at too.
    pub fn is_short(&mut self) -> bool {
        self.tidy();
        self.picks.len() < self.limit && self.beyond
    }

    /// The chosen rows, as they stand in the table.
    pub fn finish(mut self) -> Vec<Pick> {
        self.tidy();
        self.picks.sort_unstable_by_key(|pick| pick.row);
        self.picks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::random::mix;

    /// Sorts all rows.
    fn plain(ranks: &[u64], limit: usize) -> Vec<(u64, u64, f64)> {
        let mut distinct = ranks.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.truncate(limit);
        let of = |&rank: &u64| {
            let rows: Vec<usize> = (0..ranks.len()).filter(|&i| ranks[i] == rank).collect();
            (rank, rows[0] as u64, rows.len() as f64)
        };
        let mut picks: Vec<_> = distinct.iter().map(of).collect();
        picks.sort_by_key(|pick| pick.1);
        picks
    }

    #[test]
    fn pieces_in_any_order_give_the_smallest_ranks_with_their_copies() {
        let ranks: Vec<u64> = (0..6000).map(|i| mix(i % 4000)).collect();
        for limit in [10, 1500, 5000] {
            for cap in [u64::MAX, u64::MAX / 2] {
                let mut sketch = BottomKSample::new(limit, cap);
                for piece in (0..6).rev() {
                    let mut part = BottomKSample::new(limit, cap);
                    for i in piece * 1000..(piece + 1) * 1000 {
                        part.add(ranks[i], i as u64, 1.0);
                    }
                    sketch.merge(part);
                }
                if sketch.is_short() {
                    assert!(cap < u64::MAX && limit >= 1500);
                    continue;
                }
                let found: Vec<_> =
                    sketch.finish().iter().map(|p| (p.rank, p.row, p.weight())).collect();
                assert_eq!(found, plain(&ranks, limit));
            }
        }
    }
}
