//! The first pass: ranges and sums of the columns, values that cannot be used, and the core.

use serde::{Deserialize, Serialize};

use super::bottom_k::BottomKSample;
use super::sums::{Doubled, STRETCH, SumGrid, two_sum};
use super::task::Piece;
use crate::params::Scale;
use obcut_core::block::Scratch;
use obcut_core::error::{DataError, Error};
use obcut_core::linalg::gemm::Real;
use obcut_core::linalg::simd::vectorised;
use obcut_core::matrix::Samples;
use obcut_core::normalize::{ColumnStatistics, Scaling, second_len, second_terms};
use obcut_core::random::Stream;
use obcut_core::table::Table;

/// Weights that can be added up and multiplied with values.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// What the first pass needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScanTask {
    /// Largest magnitude that is accepted.
    pub limit: f64,
    pub core_rows: usize,
    /// Ranks beyond are not looked at.
    pub cap: u64,
    pub stream: Stream,
}

/// What it finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scan {
    min: Vec<f64>,
    max: Vec<f64>,
    sum: Vec<f64>,
    rest: Vec<f64>,
    /// Entries seen; of dense tables all are.
    seen: Vec<u64>,
    zeros: u64,
    /// Weight of the rows whose value is not zero, as a sum and what it lost.
    present: Vec<(f64, f64)>,
    fractions: bool,
    /// Columns without entries that the last one stands for.
    folded: usize,
    /// Rows of positive weight.
    rows: u64,
    weight: Doubled,
    pub largest_weight: f64,
    /// The row that has it.
    pub heaviest: u64,
    bad: u64,
    first_bad: Option<(u64, u32, f64)>,
    large: Option<(u64, u32, f64)>,
    bad_weight: Option<(u64, f64)>,
    pub sketch: BottomKSample,
}

impl ScanTask {
    pub fn run(&self, piece: &Piece<'_>) -> Scan {
        let samples = &piece.samples;
        let mut scan = Scan { folded: samples.n_folded(), ..Scan::new(samples.n_cols(), self) };
        let identity = Scaling::identity(samples.n_cols());
        let table = Table::new(*samples, &identity);
        let mut scratch = Scratch::default();
        vectorised(
            #[inline(always)]
            || {
                for i in piece.range.clone() {
                    let (w, row) = (piece.weight(i), piece.first + i as u64);
                    if !(w == 0.0 || WEIGHTS.contains(&w)) {
                        scan.bad_weight = scan.bad_weight.or(Some((row, w)));
                        continue;
                    }
                    let whole = match samples {
                        Samples::Dense32(x) => scan.add(x.row(i), w, self.limit),
                        Samples::Dense64(x) => scan.add(x.row(i), w, self.limit),
                        Samples::Sparse32(_) | Samples::Sparse64(_) => false,
                    };
                    if !whole {
                        scan.add_entries(samples, i, row, w, self.limit);
                    }
                    scan.weight.add(w);
                    if w > scan.largest_weight {
                        (scan.largest_weight, scan.heaviest) = (w, row);
                    }
                    if w > 0.0 {
                        scan.rows += 1;
                        let rank = self.stream.rank(table.key(i, &mut scratch));
                        scan.sketch.add(rank, row, w);
                    }
                }
            },
        );
        scan
    }
}

impl Scan {
    fn new(d: usize, task: &ScanTask) -> Self {
        Self {
            min: vec![f64::INFINITY; d],
            max: vec![f64::NEG_INFINITY; d],
            sum: vec![0.0; d],
            rest: vec![0.0; d],
            seen: vec![0; d],
            zeros: 0,
            present: vec![(0.0, 0.0); d],
            fractions: false,
            folded: 0,
            rows: 0,
            weight: Doubled::default(),
            largest_weight: 0.0,
            heaviest: u64::MAX,
            bad: 0,
            first_bad: None,
            large: None,
            bad_weight: None,
            sketch: BottomKSample::new(task.core_rows, task.cap),
        }
    }

    /// Takes in a dense row of positive weight, when all of it can be used.
    #[inline(always)]
    fn add<T: Real>(&mut self, x: &[T], w: f64, limit: f64) -> bool {
        let mut within = w > 0.0;
        for v in x {
            // False for what is not finite.
            within &= v.to_f64().abs() <= limit;
        }
        if !within {
            return false;
        }
        let mut zeros = 0u32;
        for (f, v) in x.iter().enumerate() {
            let v = v.to_f64();
            zeros += u32::from(v == 0.0);
            self.min[f] = if v < self.min[f] { v } else { self.min[f] };
            self.max[f] = if v > self.max[f] { v } else { self.max[f] };
            (self.sum[f], self.rest[f]) = two_sum((self.sum[f], self.rest[f]), w * v);
            self.seen[f] += 1;
            self.fractions |= v != v.trunc();
            if v != 0.0 {
                self.present[f] = two_sum(self.present[f], w);
            }
        }
        self.zeros += u64::from(zeros);
        true
    }

    /// The same entry by entry, noting those that cannot be used.
    fn add_entries(&mut self, samples: &Samples<'_>, i: usize, row: u64, w: f64, limit: f64) {
        samples.each(i, |f, v| {
            if !v.is_finite() {
                self.bad += 1;
                self.first_bad = self.first_bad.or(Some((row, f as u32, v)));
            } else if v.abs() > limit {
                self.large = self.large.or(Some((row, f as u32, v)));
            } else if w > 0.0 {
                self.min[f] = self.min[f].min(v);
                self.max[f] = self.max[f].max(v);
                (self.sum[f], self.rest[f]) = two_sum((self.sum[f], self.rest[f]), w * v);
                self.seen[f] += 1;
                self.zeros += u64::from(v == 0.0);
                self.fractions |= v != v.trunc();
                if v != 0.0 {
                    self.present[f] = two_sum(self.present[f], w);
                }
            }
        });
    }

    pub fn merge(&mut self, other: Self) {
        for f in 0..self.min.len() {
            self.min[f] = self.min[f].min(other.min[f]);
            self.max[f] = self.max[f].max(other.max[f]);
            for term in [other.sum[f], other.rest[f]] {
                (self.sum[f], self.rest[f]) = two_sum((self.sum[f], self.rest[f]), term);
            }
            self.seen[f] += other.seen[f];
            for term in [other.present[f].0, other.present[f].1] {
                self.present[f] = two_sum(self.present[f], term);
            }
        }
        self.fractions |= other.fractions;
        self.folded = self.folded.max(other.folded);
        self.zeros += other.zeros;
        self.rows += other.rows;
        self.weight.merge(other.weight);
        if (other.largest_weight, self.heaviest) > (self.largest_weight, other.heaviest) {
            (self.largest_weight, self.heaviest) = (other.largest_weight, other.heaviest);
        }
        self.bad += other.bad;
        self.first_bad = first(self.first_bad, other.first_bad, |bad| bad.0);
        self.large = first(self.large, other.large, |bad| bad.0);
        self.bad_weight = first(self.bad_weight, other.bad_weight, |bad| bad.0);
        self.sketch.merge(other.sketch);
    }

    /// The columns, if all can be used.
    pub fn columns(&self, limit: f64) -> Result<ColumnStatistics, Error> {
        if let Some((row, weight)) = self.bad_weight {
            let row = row as usize;
            return Err(if weight.is_finite() && weight > 0.0 {
                DataError::WeightRange { row, weight }.into()
            } else {
                DataError::Weight { row, weight }.into()
            });
        }
        let place =
            |bad: Option<(u64, u32, f64)>| bad.map(|(row, f, v)| (row as usize, f as usize, v));
        let mut columns = ColumnStatistics {
            min: self.min.clone(),
            max: self.max.clone(),
            sum: self.sum.iter().zip(&self.rest).map(|(s, r)| s + r).collect(),
            seen: self.seen.clone(),
            whole: 0,
            zeros: self.zeros,
            present: self.present.iter().map(|(s, r)| s + r).collect(),
            fractions: self.fractions,
            folded: self.folded,
            rows: self.rows,
            weight: self.weight.value(),
            bad: self.bad,
            first_bad: place(self.first_bad),
            large: place(self.large),
        };
        columns.settle(limit)?;
        Ok(columns)
    }
}

/// The one that stands first in the table.
fn first<T: Copy>(a: Option<T>, b: Option<T>, row: impl Fn(&T) -> u64) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if row(&b) < row(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The second pass of scalings that take one: sums of [`second_terms`], each in units of `size`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SecondTask {
    pub kind: Scale,
    pub mean: Vec<f64>,
    pub size: Vec<f64>,
    pub largest_weight: f64,
    pub grid: SumGrid,
}

impl SecondTask {
    pub fn new(kind: Scale, columns: &ColumnStatistics, largest_weight: f64, n: usize) -> Self {
        let (mean, d) = (columns.known(kind), columns.min.len());
        let mut size = vec![1.0; second_len(kind, d)];
        if kind == Scale::Standard {
            for f in 0..d {
                // No value is farther from the mean, rounded as it is.
                let range = columns.max[f] - columns.min[f];
                let square = (1.001 * range).powi(2).max(f64::MIN_POSITIVE);
                // A constant column has no say.
                size[f] = if range > 0.0 { square } else { f64::INFINITY };
            }
        }
        Self { kind, mean, size, largest_weight, grid: SumGrid::new(n) }
    }

    pub fn run(&self, piece: &Piece<'_>) -> Vec<i64> {
        let mut total = vec![0; self.size.len()];
        let mut part = vec![0.0; self.size.len()];
        for stretch in piece.stretches(STRETCH) {
            part.fill(0.0);
            for i in stretch {
                let w = piece.weight(i) / self.largest_weight;
                if w <= 0.0 {
                    continue;
                }
                second_terms(&piece.samples, i, self.kind, &self.mean, |slot, term| {
                    part[slot] += self.grid.round(w * (term / self.size[slot]));
                });
            }
            self.grid.take(&part, &mut total);
        }
        total
    }

    /// The sums.
    pub fn values(&self, total: &[i64]) -> Vec<f64> {
        (total.iter().zip(&self.size))
            .map(|(&t, size)| match size.is_finite() {
                true => self.grid.value(t) * size * self.largest_weight,
                false => 0.0,
            })
            .collect()
    }
}
