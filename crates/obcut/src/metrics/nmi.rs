//! Normalized mutual information, with natural logarithms.

use super::contingency::CountCells;

/// What the mutual information is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Average {
    /// The larger entropy, as the paper reports.
    #[default]
    Max,
    /// The mean of the two entropies, scikit-learn's default.
    Arithmetic,
    /// The root of their product.
    Geometric,
}

/// Mutual information over the average entropy, in `0..=1`.
pub(super) fn of(cells: &CountCells, average: Average) -> f64 {
    // Equal partitions score exactly 1, which the quotient below may miss by a rounding; this
    // includes one cluster against one class, where it would be 0 / 0.
    if cells.is_one_to_one() {
        return 1.0;
    }
    let n = cells.n_samples as f64;
    let clusters = entropy(&cells.row_sums, n);
    let classes = entropy(&cells.col_sums, n);
    let divisor = match average {
        Average::Max => clusters.max(classes),
        Average::Arithmetic => 0.5 * (clusters + classes),
        Average::Geometric => (clusters * classes).sqrt(),
    };
    if divisor <= 0.0 {
        return 0.0; // one side is a single group and knows nothing of the other
    }
    (mutual_information(cells) / divisor).clamp(0.0, 1.0)
}

pub(super) fn mutual_information(cells: &CountCells) -> f64 {
    let n = cells.n_samples as f64;
    let terms = cells.list.iter().map(|cell| {
        let count = cell.count as f64;
        let (row, col) = (cells.row_sums[cell.row], cells.col_sums[cell.col]);
        // Both products are exact below 2^53, so independent labels score 0 without residue.
        count / n * ((count * n) / (row as f64 * col as f64)).ln()
    });
    terms.sum()
}

pub(super) fn entropy(sums: &[u64], n: f64) -> f64 {
    let terms = sums.iter().map(|&sum| {
        let share = sum as f64 / n;
        -share * share.ln()
    });
    terms.sum()
}
