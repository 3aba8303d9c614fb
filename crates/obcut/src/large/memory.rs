//! The memory that a fit needs, estimated from the size of the table.

use super::{core_rows, is_large};
use crate::params::Params;
use obcut_core::block::BLOCK;
use obcut_core::error::{DataError, Error};
use obcut_core::matrix::Samples;

/// Bytes that every run needs.
const BASE: u64 = 64 << 20;
/// Bytes per row of the coreset in addition to its features: links, embedding, labels.
const PER_CORE_ROW: u64 = 900;
/// Bytes per column: statistics, scaling, quantiles, name.
const PER_COLUMN: u64 = 200;
/// Anchors of all sets together, about.
const ANCHORS: u64 = 2500;

/// The size of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableSize {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns; of a sparse table those that hold entries.
    pub cols: u64,
    /// Number of stored entries of a sparse table.
    pub stored: Option<u64>,
    /// Bytes of a value: 4 or 8.
    pub value_bytes: u64,
}

impl TableSize {
    /// Bytes of the features.
    pub fn bytes(&self) -> u64 {
        match self.stored {
            // Every value has a column index of 8 bytes.
            Some(stored) => stored.saturating_mul(self.value_bytes + 8),
            None => self.rows.saturating_mul(self.cols).saturating_mul(self.value_bytes),
        }
    }

    /// Bytes that a fit needs in addition to the table.
    pub fn fit_bytes(&self, params: &Params) -> u64 {
        let large = is_large(params, self.rows as usize, self.cols as usize);
        let core = core_rows(params, self.cols as usize) as u64;
        let at_once = if large { core.min(self.rows) } else { self.rows };
        // A coreset is a copy of rows; without one, the table itself is clustered.
        let copied = if large { self.bytes() / self.rows.max(1) } else { 0 };
        // Rows of more columns than there are rows are rotated to fewer.
        let width = self.cols.min(at_once);
        let rotated = if self.cols > at_once { at_once.saturating_mul(width) * 8 } else { 0 };
        let threads = match params.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            n => n as u64,
        };
        // Dense rows are multiplied in padded blocks, one per thread.
        let blocks = match self.stored {
            None => threads.min(at_once.div_ceil(BLOCK as u64)) * BLOCK as u64 * 8,
            Some(_) => 0,
        };
        let anchors = at_once.min(ANCHORS).saturating_mul(width).saturating_mul(2 * 8);
        (BASE + PER_COLUMN)
            .saturating_add(at_once.saturating_mul(copied + PER_CORE_ROW))
            .saturating_add(self.cols.saturating_mul(PER_COLUMN + blocks))
            .saturating_add(anchors)
            .saturating_add(rotated)
    }
}

/// Refuses a fit of rows in memory that would need more than `limit` bytes in addition to them.
///
/// # Errors
/// [`DataError::Memory`], with both numbers.
pub fn check_memory(params: &Params, samples: &Samples<'_>, limit: u64) -> Result<(), Error> {
    let is_sparse = samples.is_sparse();
    let is_single = matches!(samples, Samples::Dense32(_) | Samples::Sparse32(_));
    let stored = samples.n_stored() as u64;
    let size = TableSize {
        rows: samples.n_rows() as u64,
        // No more columns than entries hold any.
        cols: (samples.n_cols() as u64).min(if is_sparse { stored } else { u64::MAX }),
        stored: is_sparse.then_some(stored),
        value_bytes: if is_single { 4 } else { 8 },
    };
    let needed = size.fit_bytes(params);
    if needed > limit { Err(DataError::Memory { needed, limit }.into()) } else { Ok(()) }
}
