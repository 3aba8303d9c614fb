//! Who takes labels and states while a fit or a prediction runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::NO_SCORE;
use crate::model::rule::RowScore;
use obcut_core::error::Error;

/// Takes what a fit or a prediction gives while it runs.
pub trait Store: Sync {
    /// Labels and figures of rows that follow each other, from row `first` on. Rows may come more than
    /// once, in any order and from any thread; what comes last holds.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        let _ = (first, rows);
        Ok(())
    }

    /// Whether the state should be saved now; asked after every piece.
    fn is_due(&self) -> bool {
        false
    }

    /// Whether states are kept at all.
    fn keeps(&self) -> bool {
        false
    }

    /// Keeps a state that a fit can continue from, with all rows given so far. The state holds a checksum of its own. A
    /// fit that continues from it does not give the first `n_labeled` rows again in the pass that was interrupted, so
    /// the store must still have them.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn save(&self, state: &[u8], n_labeled: u64) -> Result<(), Error> {
        let _ = (state, n_labeled);
        Ok(())
    }

    /// The last state that [`Self::save`] kept, for a fit that continues.
    fn saved(&self) -> Option<&[u8]> {
        None
    }
}

/// Keeps labels and figures of all rows in memory.
#[derive(Debug)]
pub struct InMemory(Mutex<Vec<RowScore>>);

impl InMemory {
    /// For `n` rows.
    pub fn new(n: usize) -> Self {
        Self(Mutex::new(vec![NO_SCORE; n]))
    }

    /// Labels and figures of all rows.
    pub fn finish(self) -> Vec<RowScore> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for InMemory {
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        let first = first as usize;
        lock(&self.0)[first..first + rows.len()].copy_from_slice(rows);
        Ok(())
    }
}

/// What a thread that panicked held is as good as ever here.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
