//! The distinct rows of positive weight.
//!
//! Equal rows are one unit whose weight is the sum of theirs, so an integer weight means exactly that
//! many copies and a weight of zero means absent. Everything random is chosen by the units' keys,
//! hashes of their content, so that nothing depends on the order of the file.

use crate::block::Scratch;
use crate::error::Error;
use crate::linalg::simd::vectorised;
use crate::parallel::Context;
use crate::sums::two_sum;
use crate::table::Table;

/// No unit: the row has weight zero.
pub const ABSENT: u32 = u32::MAX;

/// Distinct rows with their weights, in the order of their keys.
pub struct UniqueRows {
    /// First row of every unit.
    pub first: Vec<u32>,
    /// Sum of the weights of the equal rows.
    pub weight: Vec<f64>,
    /// Hash of the content.
    pub key: Vec<u64>,
    /// Unit of every row, or [`ABSENT`].
    pub of_row: Vec<u32>,
    /// Sum of all weights.
    pub total: f64,
}

impl UniqueRows {
    /// Merges the equal rows of a table.
    pub fn new(
        table: &Table<'_>,
        weights: Option<&[f64]>,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let n = table.n();
        let mut keys = vec![0u64; n];
        context.map_into(n, &mut keys, 1, |rows, out| {
            let mut scratch = Scratch::default();
            vectorised(
                #[inline(always)]
                || rows.zip(out).for_each(|(i, key)| *key = table.key(i, &mut scratch)),
            );
        })?;
        let present = |i: u32| weights.is_none_or(|w| w[i as usize] > 0.0);
        let mut order: Vec<u32> = (0..n as u32).filter(|&i| present(i)).collect();
        order.sort_unstable_by_key(|&i| (keys[i as usize], i));
        // The first row of the unit of every row. Equal keys are almost surely equal rows, but a
        // hash proves nothing: look.
        let mut leader = vec![ABSENT; n];
        let mut scratch = Scratch::default();
        for run in order.chunk_by(|&a, &b| keys[a as usize] == keys[b as usize]) {
            let mut leaders: Vec<u32> = vec![run[0]];
            leader[run[0] as usize] = run[0];
            for &i in &run[1..] {
                let same =
                    leaders.iter().find(|&&l| table.equal(l as usize, i as usize, &mut scratch));
                leader[i as usize] = same.copied().unwrap_or(i);
                if leader[i as usize] == i {
                    leaders.push(i);
                }
            }
        }
        let mut units = Self {
            first: Vec::new(),
            weight: Vec::new(),
            key: Vec::new(),
            of_row: vec![ABSENT; n],
            total: 0.0,
        };
        // What rounding took from the weights, so that the order of equal rows does not matter.
        let mut rests = Vec::new();
        for i in 0..n {
            if leader[i] == ABSENT {
                continue;
            }
            let weight = weights.map_or(1.0, |w| w[i]);
            if leader[i] as usize == i {
                units.of_row[i] = units.first.len() as u32;
                units.first.push(i as u32);
                units.weight.push(weight);
                rests.push(0.0);
                units.key.push(keys[i]);
            } else {
                let unit = units.of_row[leader[i] as usize];
                units.of_row[i] = unit;
                let (sum, rest) = (&mut units.weight[unit as usize], &mut rests[unit as usize]);
                (*sum, *rest) = two_sum((*sum, *rest), weight);
            }
        }
        units.weight.iter_mut().zip(rests).for_each(|(sum, rest)| *sum += rest);
        units.sort();
        Ok(units)
    }

    /// Brings the units into the order of their keys, so that no later sum or choice can follow the order
    /// of the rows.
    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.first.len() as u32).collect();
        order.sort_by_key(|&u| self.key[u as usize]);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &u)| place[u as usize] = at as u32);
        self.first = order.iter().map(|&u| self.first[u as usize]).collect();
        self.weight = order.iter().map(|&u| self.weight[u as usize]).collect();
        self.key = order.iter().map(|&u| self.key[u as usize]).collect();
        for unit in self.of_row.iter_mut().filter(|unit| **unit != ABSENT) {
            *unit = place[*unit as usize];
        }
        self.total = self.weight.iter().sum();
    }

    /// Number of distinct rows.
    pub fn n(&self) -> usize {
        self.first.len()
    }

    /// Whether the units are simply the rows, in their order.
    pub fn is_identity(&self) -> bool {
        self.first.len() == self.of_row.len() && self.first.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;

    #[test]
    fn copies_and_weights_give_the_same_units() {
        let context = Context::new(2, &Silent).unwrap();
        let scaling = Scaling::identity(2);
        let once = [0.0, 1.0, -0.0, 2.0, 5.0, 5.0];
        let copies = [0.0, 1.0, 0.0, 1.0, 0.0, 2.0];
        let a = Table::new(DenseRef::new(&once, 3, 2).unwrap().into(), &scaling);
        let b = Table::new(DenseRef::new(&copies, 3, 2).unwrap().into(), &scaling);
        let a = UniqueRows::new(&a, Some(&[2.0, 1.0, 0.0]), &context).unwrap();
        let b = UniqueRows::new(&b, None, &context).unwrap();
        assert_eq!((&a.weight, &a.key), (&b.weight, &b.key));
        let (first, second) = (a.of_row[0], a.of_row[1]);
        assert_eq!((first.min(second), first.max(second), a.of_row[2]), (0, 1, ABSENT));
        assert_eq!(b.of_row, [first, first, second]);
    }
}
