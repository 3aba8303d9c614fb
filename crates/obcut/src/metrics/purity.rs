//! Purity: every cluster votes for its largest class.

use super::contingency::CountCells;

/// Share of samples in the largest class of their cluster.
pub(super) fn of(cells: &CountCells) -> f64 {
    let by_cluster = cells.list.chunk_by(|a, b| a.row == b.row);
    let largest = by_cluster.filter_map(|row| row.iter().map(|cell| cell.count).max());
    largest.sum::<u64>() as f64 / cells.n_samples as f64
}
