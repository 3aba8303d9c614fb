//! What is known of every feature of a table, from one pass over its rows or two.

use super::{SPARSE_COUNTS, Scaling};
use crate::error::{DataError, Error};
use crate::linalg::gemm::Real;
use crate::matrix::{CsrRef, DenseRef, Samples};
use crate::normalize::Scale;

/// The entries of a row, zeros possibly left out.
pub trait Entries: Sync {
    fn shape(&self) -> (usize, usize);
    /// Columns without entries that the last one stands for, beside itself.
    fn n_folded(&self) -> usize {
        0
    }
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
        for ((((v, min), max), sum), present) in x.iter().zip(min).zip(max).zip(sum).zip(present) {
            let v = v.to_f64();
            fractions |= v != v.trunc();
            *present += if v == 0.0 { 0.0 } else { weight };
            *min = if v < *min { v } else { *min };
            *max = if v > *max { v } else { *max };
            *sum += weight * v;
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

/// Per feature: range, weighted sum, number of entries seen.
pub struct ColumnStatistics {
    /// The smallest stored value of every column.
    pub min: Vec<f64>,
    /// The largest stored value of every column.
    pub max: Vec<f64>,
    /// The weighted sum of every column.
    pub sum: Vec<f64>,
    /// Number of stored values of every column.
    pub seen: Vec<u64>,
    /// Rows that were taken in whole, not counted in `seen`.
    pub whole: u64,
    /// Number of zeros among the stored values.
    pub zeros: u64,
    /// Weight of the rows whose value is not zero.
    pub present: Vec<f64>,
    /// Whether a value is no whole number.
    pub fractions: bool,
    /// Columns without entries that the last one stands for, beside itself.
    pub folded: usize,
    /// Number of rows.
    pub rows: u64,
    /// Sum of their weights.
    pub weight: f64,
    /// Number of values that are not finite.
    pub bad: u64,
    /// The first of them: row, column and value.
    pub first_bad: Option<(usize, usize, f64)>,
    /// The first value that is too large: row, column and value.
    pub large: Option<(usize, usize, f64)>,
}

impl ColumnStatistics {
    /// The figures of no rows.
    pub fn new(d: usize) -> Self {
        Self {
            min: vec![f64::INFINITY; d],
            max: vec![f64::NEG_INFINITY; d],
            sum: vec![0.0; d],
            seen: vec![0; d],
            whole: 0,
            zeros: 0,
            present: vec![0.0; d],
            fractions: false,
            folded: 0,
            rows: 0,
            weight: 0.0,
            bad: 0,
            first_bad: None,
            large: None,
        }
    }

    /// Adds the figures of further rows.
    pub fn merge(&mut self, other: Self) {
        for f in 0..self.min.len() {
            self.min[f] = self.min[f].min(other.min[f]);
            self.max[f] = self.max[f].max(other.max[f]);
            self.sum[f] += other.sum[f];
            self.seen[f] += other.seen[f];
            self.present[f] += other.present[f];
        }
        self.fractions |= other.fractions;
        self.whole += other.whole;
        self.zeros += other.zeros;
        self.rows += other.rows;
        self.weight += other.weight;
        self.bad += other.bad;
        self.first_bad = self.first_bad.or(other.first_bad);
        self.large = self.large.or(other.large);
    }

    /// Refuses what cannot be used and takes in the zeros that are not stored.
    pub fn settle(&mut self, limit: f64) -> Result<(), Error> {
        if let Some((row, col, value)) = self.first_bad {
            return Err(DataError::NotFinite { row, col, value, count: self.bad as usize }.into());
        }
        if let Some((row, col, value)) = self.large {
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
        let idf = |present: &f64| {
            if *present > 0.0 { (self.weight / present).ln() + 1.0 } else { 1.0 }
        };
        self.present.iter().map(idf).collect()
    }

    /// Means of the features, rounded.
    fn means(&self) -> Vec<f64> {
        (0..self.min.len())
            .map(|f| rounded(self.sum[f] / self.weight, self.max[f] - self.min[f]))
            .collect()
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
        let d = mean.len();
        let inverse = |range: f64| {
            if range > 0.0 && (1.0 / range).is_finite() { 1.0 / range } else { 0.0 }
        };
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
                        let absent = (self.weight - second[d + f]).max(0.0);
                        let variance = (second[f] + absent * mean[f].powi(2)) / self.weight;
                        let deviation = variance.sqrt();
                        let constant = self.max[f] <= self.min[f];
                        if constant { 0.0 } else { inverse(rounded(deviation, deviation)) }
                    })
                    .collect();
                (mean, factor)
            }
            Scale::UnitRows => {
                let mean = second.iter().map(|s| rounded(s / self.weight, 1.0)).collect();
                (mean, vec![1.0; d])
            }
            Scale::Idf => {
                let shift = second.iter().map(|s| rounded(s / self.weight, 1.0)).collect();
                (shift, mean)
            }
        };
        Scaling { kind, shift, factor, double: false }
    }
}

/// Sums that a second pass makes; none when the first tells all.
pub fn second_len(kind: Scale, d: usize) -> usize {
    match kind {
        Scale::Standard => 2 * d,
        Scale::UnitRows | Scale::Idf => d,
        _ => 0,
    }
}

/// What a row adds to those sums, per unit of weight. Standard: per feature the square of a stored entry
/// about the mean, then one for being stored. Unit rows: the entries of the row at unit length, times their
/// inverse document frequencies where those count.
pub fn second_terms<E: Entries>(
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

/// Takes the entries of a row into the columns one by one, and notes those that cannot be used.
pub(super) fn add_entries<E: Entries>(
    x: &E,
    i: usize,
    w: f64,
    limit: f64,
    part: &mut ColumnStatistics,
) {
    x.entries(i, |f, v| {
        if !v.is_finite() {
            part.bad += 1;
            part.first_bad = part.first_bad.or(Some((i, f, v)));
        } else if v.abs() > limit {
            part.large = part.large.or(Some((i, f, v)));
        } else if w > 0.0 {
            part.min[f] = part.min[f].min(v);
            part.max[f] = part.max[f].max(v);
            part.sum[f] += w * v;
            part.seen[f] += 1;
            part.zeros += u64::from(v == 0.0);
            part.present[f] += if v == 0.0 { 0.0 } else { w };
            part.fractions |= v != v.trunc();
        }
    });
}

/// Rounds to about a millionth of `range`. A sum's last bits depend on the order of the rows; without
/// them the scaled rows, and all that is chosen by their content, do not. Any shift will do.
fn rounded(value: f64, range: f64) -> f64 {
    let step = (range.log2().floor() - 20.0).exp2();
    if step.is_normal() { (value / step).round() * step } else { value }
}
