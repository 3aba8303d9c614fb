//! The first pass: ranges and sums of the columns, values that cannot be used, and the core.

use serde::{Deserialize, Serialize};

use super::bottom_k::BottomKSample;
use super::task::Piece;
use obcut_core::block::Scratch;
use obcut_core::error::{DataError, Error};
use obcut_core::linalg::simd::vectorised;
use obcut_core::matrix::Samples;
use obcut_core::normalize::{ColumnStatistics, Scaling};
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
    columns: ColumnStatistics,
    pub largest_weight: f64,
    /// The row that has it.
    pub heaviest: u64,
    bad_weight: Option<(u64, f64)>,
    pub sketch: BottomKSample,
}

impl ScanTask {
    pub fn run(&self, piece: &Piece<'_>) -> Scan {
        let samples = &piece.samples;
        let mut scan = Scan {
            columns: ColumnStatistics::new(samples.n_cols(), samples.n_folded()),
            largest_weight: 0.0,
            heaviest: u64::MAX,
            bad_weight: None,
            sketch: BottomKSample::new(self.core_rows, self.cap),
        };
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
                    let (columns, place) = (&mut scan.columns, (i, row));
                    match samples {
                        Samples::Dense32(x) => columns.add_row(x, place, w, self.limit),
                        Samples::Dense64(x) => columns.add_row(x, place, w, self.limit),
                        Samples::Sparse32(x) => columns.add_row(x, place, w, self.limit),
                        Samples::Sparse64(x) => columns.add_row(x, place, w, self.limit),
                    }
                    if w > scan.largest_weight {
                        (scan.largest_weight, scan.heaviest) = (w, row);
                    }
                    if w > 0.0 {
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
    pub fn merge(&mut self, other: Self) {
        self.columns.merge(&other.columns);
        if (other.largest_weight, self.heaviest) > (self.largest_weight, other.heaviest) {
            (self.largest_weight, self.heaviest) = (other.largest_weight, other.heaviest);
        }
        self.bad_weight = match (self.bad_weight, other.bad_weight) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
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
        let mut columns = self.columns.clone();
        columns.settle(limit)?;
        Ok(columns)
    }
}
