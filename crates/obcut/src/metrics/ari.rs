//! Adjusted Rand index, from the four kinds of pairs as scikit-learn counts them.

use super::contingency::CountCells;

/// The index: 1 for equal partitions (also when both are trivial), about 0 for random labels.
pub(super) fn of(cells: &CountCells) -> f64 {
    // Ordered pairs of samples; u128 because squares of 2^32 and more samples pass u64.
    let together = squares(cells.list.iter().map(|cell| cell.count));
    let same_cluster = squares(cells.row_sums.iter().copied());
    let same_class = squares(cells.col_sums.iter().copied());
    let n = u128::from(cells.n_samples);

    let both = together - n;
    let cluster_only = same_cluster - together;
    let class_only = same_class - together;
    let neither = n * n + together - same_cluster - same_class;
    // Equal partitions; the quotient would be 0 / 0 when they are trivial.
    if cluster_only == 0 && class_only == 0 {
        return 1.0;
    }
    let [both, cluster_only, class_only, neither] =
        [both, cluster_only, class_only, neither].map(|pairs| pairs as f64);
    let agreement = both * neither - cluster_only * class_only;
    let expected = (both + class_only) * (class_only + neither)
        + (both + cluster_only) * (cluster_only + neither);
    2.0 * agreement / expected
}

fn squares(counts: impl Iterator<Item = u64>) -> u128 {
    counts.map(|count| u128::from(count) * u128::from(count)).sum()
}
