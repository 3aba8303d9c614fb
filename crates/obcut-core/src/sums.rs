//! Sums that do not depend on the order of their terms, so that neither threads nor files nor machines
//! change a bit.

use serde::{Deserialize, Serialize};

/// Rows whose terms may be added up as floating-point numbers before they are taken over as integers.
pub const STRETCH: usize = 1 << 15;

/// A sum in twice the precision: what order does to it is far below a double's last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Doubled {
    sum: f64,
    rest: f64,
}

impl Doubled {
    /// Adds a term.
    #[inline(always)]
    pub fn add(&mut self, term: f64) {
        (self.sum, self.rest) = two_sum((self.sum, self.rest), term);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.add(other.sum);
        self.add(other.rest);
    }

    /// The sum, rounded once.
    pub fn value(self) -> f64 {
        self.sum + self.rest
    }
}

/// Adds a term to a sum and what rounding took from it to the rest.
#[inline(always)]
pub fn two_sum((sum, rest): (f64, f64), term: f64) -> (f64, f64) {
    let total = sum + term;
    let part = total - sum;
    (total, rest + ((sum - (total - part)) + (term - part)))
}

/// A grid that terms between -1 and 1 are rounded to, so fine that it does not matter and so coarse
/// that sums over all rows are exact: whole numbers of 64 bits, and doubles over a stretch of rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumGrid {
    unit: f64,
    /// Added and taken off again, this rounds to a multiple of the unit.
    magic: f64,
}

impl SumGrid {
    /// For sums over `n` rows.
    pub fn new(n: usize) -> Self {
        let bits = 61 - n.max(2).next_power_of_two().ilog2() as i32;
        let unit = 2f64.powi(-bits.min(52 - STRETCH.ilog2() as i32 - 1));
        Self { unit, magic: 1.5 * 2f64.powi(52) * unit }
    }

    /// The multiple of the unit that is nearest to a term.
    #[inline(always)]
    pub fn round(self, term: f64) -> f64 {
        (term + self.magic) - self.magic
    }

    /// Takes over the sums of a stretch.
    pub fn take(self, from: &[f64], to: &mut [i64]) {
        to.iter_mut().zip(from).for_each(|(t, f)| *t += (f / self.unit) as i64);
    }

    /// The value of a sum.
    pub fn value(self, sum: i64) -> f64 {
        sum as f64 * self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn the_order_of_terms_changes_no_bit() {
        let n = 3 * STRETCH;
        let terms = Stream::new(1).values(n);
        let grid = SumGrid::new(n);
        let sum = |terms: &[f64], pieces: usize| {
            let mut total = [0i64];
            for piece in terms.chunks(pieces) {
                let mut part = 0.0;
                piece.iter().for_each(|t| part += grid.round(*t));
                grid.take(&[part], &mut total);
            }
            total[0]
        };
        let mut turned = terms.clone();
        turned.reverse();
        let whole = sum(&terms, STRETCH);
        assert!(whole == sum(&turned, STRETCH) && whole == sum(&terms, 77));
        let plain: f64 = terms.iter().sum();
        assert!((grid.value(whole) - plain).abs() < 1e-6, "{} {plain}", grid.value(whole));
    }

    #[test]
    fn a_doubled_sum_keeps_what_a_plain_one_loses() {
        let mut parts = [Doubled::default(); 2];
        for i in 0..1000 {
            let term = if i % 2 == 0 { 1e16 } else { -1e16 };
            parts[i % 3 / 2].add(term + 0.0);
            parts[i % 2].add(0.1);
        }
        let mut all = parts[0];
        all.merge(parts[1]);
        assert!((all.value() - 100.0).abs() < 1e-12, "{}", all.value());
    }
}
