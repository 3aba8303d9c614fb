//! What is known of every feature of a table, from one pass over its rows or two.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{SPARSE_COUNTS, Scaling};
use crate::error::{DataError, Error};
use crate::linalg::gemm::Real;
use crate::matrix::{CsrRef, DenseRef, Samples};
use crate::normalize::Scale;
use crate::sums::{Doubled, STRETCH, SumGrid, two_sum};

/// The entries of a row, zeros possibly left out.
pub trait Entries: Sync {
    /// Number of rows and columns.
    fn shape(&self) -> (usize, usize);
    /// Columns without entries that the last one stands for, beside itself.
    fn n_folded(&self) -> usize {
        0
    }
    /// Visits column and value of the entries of a row.
    fn entries(&self, row: usize, visit: impl FnMut(usize, f64));

    /// Takes a row into the columns at once, when it is stored whole and all of it is within the limit.
    fn add_whole(
        &self,
        _row: usize,
        _weight: f64,
        _limit: f64,
        _columns: &mut ColumnStatistics,
    ) -> bool {
        false
    }
}

impl<T: Real> Entries for DenseRef<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn entries(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        self.row(row).iter().enumerate().for_each(|(f, v)| visit(f, v.to_f64()));
    }

    #[inline(always)]
    fn add_whole(
        &self,
        row: usize,
        weight: f64,
        limit: f64,
        columns: &mut ColumnStatistics,
    ) -> bool {
        let x = self.row(row);
        let mut within = true;
        for v in x {
            // False for what is not finite.
            within &= v.to_f64().abs() <= limit;
        }
        if !within {
            return false;
        }
        let mut zeros = 0u32;
        for v in x {
            zeros += u32::from(v.to_f64() == 0.0);
        }
        columns.zeros += u64::from(zeros);
        columns.whole += 1;
        let ColumnStatistics { min, max, sum, present, .. } = columns;
        let mut fractions = false;
        for (f, v) in x.iter().enumerate() {
            let v = v.to_f64();
            fractions |= v != v.trunc();
            min[f] = if v < min[f] { v } else { min[f] };
            max[f] = if v > max[f] { v } else { max[f] };
            sum.add(f, weight * v);
            present.add(f, if v == 0.0 { 0.0 } else { weight });
        }
        columns.fractions |= fractions;
        true
    }
}

impl Entries for Samples<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn n_folded(&self) -> usize {
        Samples::n_folded(self)
    }
    fn entries(&self, row: usize, visit: impl FnMut(usize, f64)) {
        self.each(row, visit);
    }
}

impl<T: Real> Entries for CsrRef<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn n_folded(&self) -> usize {
        CsrRef::n_folded(self)
    }
    fn entries(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        self.each(row, |f, v| visit(f, v.to_f64()));
    }
}

/// One sum per column, in twice the precision: the order of the rows does not reach a double's last bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ColumnSums {
    sum: Vec<f64>,
    rest: Vec<f64>,
}

impl ColumnSums {
    fn new(d: usize) -> Self {
        Self { sum: vec![0.0; d], rest: vec![0.0; d] }
    }

    #[inline(always)]
    fn add(&mut self, f: usize, term: f64) {
        (self.sum[f], self.rest[f]) = two_sum((self.sum[f], self.rest[f]), term);
    }

    fn merge(&mut self, other: &Self) {
        for f in 0..self.sum.len() {
            self.add(f, other.sum[f]);
            self.add(f, other.rest[f]);
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.sum.iter().zip(&self.rest).map(|(sum, rest)| sum + rest)
    }
}

/// What one pass finds of every column: range, weighted sum, number of entries, values that cannot be used. Results of
/// parts of the rows can be merged in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The smallest stored value of every column.
    pub min: Vec<f64>,
    /// The largest stored value of every column.
    pub max: Vec<f64>,
    /// The weighted sum of every column.
    sum: ColumnSums,
    /// Number of stored values of every column.
    seen: Vec<u64>,
    /// Rows that were taken in whole, not counted in `seen`.
    whole: u64,
    /// Number of zeros among the stored values.
    zeros: u64,
    /// Weight of the rows whose value is not zero.
    present: ColumnSums,
    /// Whether a value is no whole number.
    fractions: bool,
    /// Columns without entries that the last one stands for, beside itself.
    folded: usize,
    /// Number of rows of positive weight.
    pub rows: u64,
    /// Sum of their weights.
    weight: Doubled,
    /// Number of values that are not finite.
    bad: u64,
    /// The first of them: row, column and value.
    first_bad: Option<(u64, u32, f64)>,
    /// The first value that is too large: row, column and value.
    large: Option<(u64, u32, f64)>,
}

impl ColumnStatistics {
    /// The figures of no rows, of a table in which the last of `d` columns stands for `folded` more.
    pub fn new(d: usize, folded: usize) -> Self {
        Self {
            min: vec![f64::INFINITY; d],
            max: vec![f64::NEG_INFINITY; d],
            sum: ColumnSums::new(d),
            seen: vec![0; d],
            whole: 0,
            zeros: 0,
            present: ColumnSums::new(d),
            fractions: false,
            folded,
            rows: 0,
            weight: Doubled::default(),
            bad: 0,
            first_bad: None,
            large: None,
        }
    }

    /// Adds row `i`, which is row `row` of the table. Values beyond `limit` are noted to be refused.
    #[inline(always)]
    pub fn add_row<E: Entries>(&mut self, x: &E, (i, row): (usize, u64), weight: f64, limit: f64) {
        self.rows += u64::from(weight > 0.0);
        self.weight.add(weight);
        if weight == 0.0 || !x.add_whole(i, weight, limit, self) {
            self.add_entries(x, (i, row), weight, limit);
        }
    }

    /// The same entry by entry, noting those that cannot be used.
    fn add_entries<E: Entries>(&mut self, x: &E, (i, row): (usize, u64), w: f64, limit: f64) {
        x.entries(i, |f, v| {
            if !v.is_finite() {
                self.bad += 1;
                self.first_bad = self.first_bad.or(Some((row, f as u32, v)));
            } else if v.abs() > limit {
                self.large = self.large.or(Some((row, f as u32, v)));
            } else if w > 0.0 {
                self.min[f] = self.min[f].min(v);
                self.max[f] = self.max[f].max(v);
                self.sum.add(f, w * v);
                self.seen[f] += 1;
                self.zeros += u64::from(v == 0.0);
                self.present.add(f, if v == 0.0 { 0.0 } else { w });
                self.fractions |= v != v.trunc();
            }
        });
    }

    /// Adds the figures of other rows.
    pub fn merge(&mut self, other: &Self) {
        for f in 0..self.min.len() {
            self.min[f] = self.min[f].min(other.min[f]);
            self.max[f] = self.max[f].max(other.max[f]);
            self.seen[f] += other.seen[f];
        }
        self.sum.merge(&other.sum);
        self.present.merge(&other.present);
        self.fractions |= other.fractions;
        self.folded = self.folded.max(other.folded);
        self.whole += other.whole;
        self.zeros += other.zeros;
        self.rows += other.rows;
        self.weight.merge(other.weight);
        self.bad += other.bad;
        self.first_bad = first(self.first_bad, other.first_bad);
        self.large = first(self.large, other.large);
    }

    /// Sum of the weights of all rows.
    pub fn weight(&self) -> f64 {
        self.weight.value()
    }

    /// Refuses what cannot be used and takes in the zeros that are not stored.
    pub fn settle(&mut self, limit: f64) -> Result<(), Error> {
        if let Some((row, col, value)) = self.first_bad {
            let (row, col) = (row as usize, col as usize);
            return Err(DataError::NotFinite { row, col, value, count: self.bad as usize }.into());
        }
        if let Some((row, col, value)) = self.large {
            let (row, col) = (row as usize, col as usize);
            return Err(DataError::TooLarge { row, col, value, limit }.into());
        }
        if self.rows == 0 {
            return Err(DataError::NoWeight.into());
        }
        for f in 0..self.min.len() {
            let seen = self.seen[f] + self.whole;
            if seen < self.rows {
                self.min[f] = self.min[f].min(0.0);
                self.max[f] = self.max[f].max(0.0);
                self.zeros += self.rows - seen;
            }
        }
        Ok(())
    }

    /// What the second pass of a scaling needs to know of every feature: its inverse document frequency
    /// where that counts, else its mean.
    pub fn known(&self, kind: Scale) -> Vec<f64> {
        if kind != Scale::Idf {
            return self.means();
        }
        // Not smoothed by another document: the unit of the weights must not matter.
        let weight = self.weight();
        let idf = |present: f64| if present > 0.0 { (weight / present).ln() + 1.0 } else { 1.0 };
        self.present.values().map(idf).collect()
    }

    /// Means of the features, rounded.
    fn means(&self) -> Vec<f64> {
        let weight = self.weight();
        let range = self.min.iter().zip(&self.max).map(|(min, max)| max - min);
        self.sum.values().zip(range).map(|(sum, range)| rounded(sum / weight, range)).collect()
    }

    /// The scaling that was asked for, or the one that suits.
    pub fn kind(&self, asked: Scale) -> Scale {
        let folded = self.folded as f64 * self.rows as f64;
        let cells = self.rows as f64 * self.min.len() as f64 + folded;
        let counts = self.min.iter().all(|&v| v >= 0.0)
            && self.zeros as f64 + folded > SPARSE_COUNTS * cells;
        match asked {
            Scale::Auto if counts && !self.fractions => Scale::Idf,
            Scale::Auto if counts => Scale::UnitRows,
            Scale::Auto => Scale::MinMax,
            named => named,
        }
    }

    /// The scaling, from what is [`known`](Self::known) and the sums of a second pass ([`second_terms`]) if
    /// it takes one.
    pub fn scaling(&self, kind: Scale, mean: Vec<f64>, second: &[f64]) -> Scaling {
        let (d, weight) = (mean.len(), self.weight());
        // The inverse of a subnormal range overflows; its rows still differ.
        let inverse = |range: f64| if range > 0.0 { (1.0 / range).min(f64::MAX) } else { 0.0 };
        let (shift, factor) = match kind {
            // The spans of robust columns are taken from quantiles afterwards.
            Scale::MinMax | Scale::Robust | Scale::Auto => {
                let factor = (0..d).map(|f| inverse(self.max[f] - self.min[f])).collect();
                (mean, factor)
            }
            Scale::None => (mean, vec![1.0; d]),
            Scale::Standard => {
                let factor = (0..d)
                    .map(|f| {
                        // Where every entry is stored nothing is absent, not even by rounding.
                        let is_full = self.seen[f] + self.whole >= self.rows;
                        let absent = if is_full { 0.0 } else { (weight - second[d + f]).max(0.0) };
                        let variance = (second[f] + absent * mean[f].powi(2)) / weight;
                        // The squares of subnormal numbers vanish: then the range takes the place of the deviation.
                        let range = self.max[f] - self.min[f];
                        let deviation = if variance > 0.0 { variance.sqrt() } else { range };
                        if range > 0.0 { inverse(rounded(deviation, deviation)) } else { 0.0 }
                    })
                    .collect();
                (mean, factor)
            }
            Scale::UnitRows => {
                let mean = second.iter().map(|s| rounded(s / weight, 1.0)).collect();
                (mean, vec![1.0; d])
            }
            Scale::Idf => {
                let shift = second.iter().map(|s| rounded(s / weight, 1.0)).collect();
                (shift, mean)
            }
        };
        Scaling { kind, shift, factor, double: false }
    }
}

/// The one that stands first in the table.
fn first(a: Option<(u64, u32, f64)>, b: Option<(u64, u32, f64)>) -> Option<(u64, u32, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The second pass of scalings that take one: sums over the rows, each in units of `size`. They do not depend on the
/// order of the rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecondPass {
    /// The scaling that takes it.
    pub kind: Scale,
    /// What is [`known`](ColumnStatistics::known) of the columns.
    pub mean: Vec<f64>,
    size: Vec<f64>,
    largest_weight: f64,
    grid: SumGrid,
}

impl SecondPass {
    /// For `n` rows with these figures.
    pub fn new(kind: Scale, columns: &ColumnStatistics, largest_weight: f64, n: usize) -> Self {
        let (mean, d) = (columns.known(kind), columns.min.len());
        let mut size = match kind {
            Scale::Standard => vec![1.0; 2 * d],
            Scale::UnitRows | Scale::Idf => vec![1.0; d],
            _ => Vec::new(),
        };
        if kind == Scale::Standard {
            for f in 0..d {
                // No value is farther from the mean, rounded as it is.
                let range = columns.max[f] - columns.min[f];
                let square = (1.001 * range).powi(2).max(f64::MIN_POSITIVE);
                // A constant column is ignored.
                size[f] = if range > 0.0 { square } else { f64::INFINITY };
            }
        }
        Self { kind, mean, size, largest_weight, grid: SumGrid::new(n) }
    }

    /// Whether the first pass tells all.
    pub fn is_empty(&self) -> bool {
        self.size.is_empty()
    }

    /// The sums over some rows.
    pub fn run<E: Entries>(
        &self,
        x: &E,
        rows: Range<usize>,
        weight: impl Fn(usize) -> f64,
    ) -> Vec<i64> {
        let mut total = vec![0; self.size.len()];
        let mut part = vec![0.0; self.size.len()];
        for start in rows.clone().step_by(STRETCH) {
            part.fill(0.0);
            for i in start..(start + STRETCH).min(rows.end) {
                let w = weight(i) / self.largest_weight;
                if w <= 0.0 {
                    continue;
                }
                second_terms(x, i, self.kind, &self.mean, |slot, term| {
                    part[slot] += self.grid.round(w * (term / self.size[slot]));
                });
            }
            self.grid.take(&part, &mut total);
        }
        total
    }

    /// The values of sums over all rows.
    pub fn values(&self, total: &[i64]) -> Vec<f64> {
        (total.iter().zip(&self.size))
            .map(|(&t, size)| match size.is_finite() {
                true => self.grid.value(t) * size * self.largest_weight,
                false => 0.0,
            })
            .collect()
    }
}

/// What a row adds to those sums, per unit of weight. Standard: per feature the square of a stored entry
/// about the mean, then one for being stored. Unit rows: the entries of the row at unit length, times their
/// inverse document frequencies where those count.
fn second_terms<E: Entries>(
    x: &E,
    i: usize,
    kind: Scale,
    mean: &[f64],
    mut visit: impl FnMut(usize, f64),
) {
    if kind == Scale::Standard {
        x.entries(i, |f, v| {
            visit(f, (v - mean[f]).powi(2));
            visit(mean.len() + f, 1.0);
        });
    } else {
        let factor = |f: usize| if kind == Scale::Idf { mean[f] } else { 1.0 };
        let mut norm = 0.0;
        x.entries(i, |f, v| norm += (v * factor(f)).powi(2));
        if norm > 0.0 {
            let inverse = 1.0 / norm.sqrt();
            x.entries(i, |f, v| visit(f, v * factor(f) * inverse));
        }
    }
}

/// Rounds to about a millionth of `range`. A sum's last bits depend on the order of the rows; without
/// them the scaled rows, and all that is chosen by their content, do not. Any shift will do.
fn rounded(value: f64, range: f64) -> f64 {
    let step = (range.log2().floor() - 20.0).exp2();
    if step.is_normal() { (value / step).round() * step } else { value }
}
