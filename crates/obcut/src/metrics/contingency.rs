//! The table of clusters against classes: dense for callers, its non-empty cells for the scores.

use super::hungarian;
use crate::{DataError, Error, ParamError};

/// Most cells a dense table may have (1 GiB of counts); the scores themselves have no such limit.
const MAX_CELLS: usize = 1 << 27;

/// How many samples of each cluster are in each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contingency {
    /// Number of distinct clusters.
    pub n_rows: usize,
    /// Number of distinct classes.
    pub n_cols: usize,
    /// Samples per cluster (row) and class (column), row after row.
    pub counts: Vec<u64>,
    /// The label of every row, rising.
    pub row_values: Vec<u32>,
    /// The class of every column, rising.
    pub col_values: Vec<u32>,
}

impl Contingency {
    /// Counts the samples of every pair of a label and a class.
    ///
    /// # Errors
    /// When there are no samples, the two slices differ in length, or the table would have more
    /// than 2^27 cells.
    pub fn new(labels: &[u32], truth: &[u32]) -> Result<Self, Error> {
        let cells = CountCells::count(labels, truth)?;
        let (n_rows, n_cols) = (cells.row_values.len(), cells.col_values.len());
        let size =
            n_rows.checked_mul(n_cols).filter(|&size| size <= MAX_CELLS).ok_or_else(|| {
                ParamError::Range {
                    name: "clusters x classes",
                    value: format!("{n_rows} x {n_cols}"),
                    expected: "at most 2^27 cells".into(),
                }
            })?;
        let mut counts = vec![0; size];
        for cell in &cells.list {
            counts[cell.row * n_cols + cell.col] = cell.count;
        }
        Ok(Self {
            n_rows,
            n_cols,
            counts,
            row_values: cells.row_values,
            col_values: cells.col_values,
        })
    }

    /// The column matched with every row under the one-to-one matching that covers most samples;
    /// `None` for a row left over.
    pub fn matching(&self) -> Vec<Option<usize>> {
        // The fields are public: no shape they may be given leads out of bounds.
        let n_rows = self.n_rows.min(self.counts.len());
        let n_cols = self.n_cols.clamp(1, self.counts.len().max(1));
        let rows = self.counts.chunks(n_cols).take(n_rows);
        let list: Vec<CountCell> = rows
            .enumerate()
            .flat_map(|(row, counts)| {
                let cells = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                cells.map(move |(col, &count)| CountCell { row, col, count })
            })
            .collect();
        hungarian::matching(n_rows, n_cols, &list)
    }
}

/// One non-empty cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountCell {
    pub row: usize,
    pub col: usize,
    pub count: u64,
}

/// The non-empty cells in row-major order, with the sums of rows and columns.
pub(super) struct CountCells {
    pub list: Vec<CountCell>,
    pub row_values: Vec<u32>,
    pub col_values: Vec<u32>,
    pub row_sums: Vec<u64>,
    pub col_sums: Vec<u64>,
    pub n_samples: u64,
}

impl CountCells {
    /// Sorts the pairs and counts the runs: label values may be any, and no table is laid out.
    pub fn count(labels: &[u32], truth: &[u32]) -> Result<Self, Error> {
        if labels.len() != truth.len() {
            return Err(ParamError::Length {
                name: "truth",
                found: truth.len(),
                expected: labels.len(),
            }
            .into());
        }
        if labels.is_empty() {
            return Err(DataError::Empty { n_rows: 0, n_cols: 1 }.into());
        }
        let mut pairs: Vec<u64> = labels
            .iter()
            .zip(truth)
            .map(|(&label, &class)| u64::from(label) << 32 | u64::from(class))
            .collect();
        pairs.sort_unstable();

        let mut col_values = truth.to_vec();
        col_values.sort_unstable();
        col_values.dedup();

        let mut cells = Self {
            list: Vec::new(),
            row_values: Vec::new(),
            row_sums: Vec::new(),
            col_sums: vec![0; col_values.len()],
            col_values,
            n_samples: labels.len() as u64,
        };
        for run in pairs.chunk_by(|a, b| a == b) {
            cells.push((run[0] >> 32) as u32, run[0] as u32, run.len() as u64);
        }
        Ok(cells)
    }

    /// Appends a cell; labels must come in rising order.
    fn push(&mut self, label: u32, class: u32, count: u64) {
        if self.row_values.last() != Some(&label) {
            self.row_values.push(label);
            self.row_sums.push(0);
        }
        let row = self.row_values.len() - 1;
        let col = self.col_values.partition_point(|&value| value < class);
        self.row_sums[row] += count;
        self.col_sums[col] += count;
        self.list.push(CountCell { row, col, count });
    }

    /// Whether clusters and classes are the same partition under other names.
    pub fn is_one_to_one(&self) -> bool {
        self.list.len() == self.row_values.len() && self.list.len() == self.col_values.len()
    }
}
