//! Clustering accuracy: clusters renamed to classes, one to one, in the best possible way.

use super::contingency::CountCells;
use super::hungarian;

/// Share of samples covered by the best matching.
pub(super) fn of(cells: &CountCells) -> f64 {
    let matched = hungarian::matching(cells.row_values.len(), cells.col_values.len(), &cells.list);
    let covered = cells.list.iter().filter(|cell| matched[cell.row] == Some(cell.col));
    covered.map(|cell| cell.count).sum::<u64>() as f64 / cells.n_samples as f64
}
