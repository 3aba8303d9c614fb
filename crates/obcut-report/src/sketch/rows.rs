//! Some rows of a table.

use obcut::{Csr, CsrRef, DataError, DenseRef, Matrix, Samples};

/// Numbers of at most about `most` rows, ascending: of every cluster a share by its size, at least a few, spread
/// evenly over the table.
pub fn spread(labels: &[u32], k: usize, most: usize) -> Vec<u32> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); k];
    for (i, &label) in labels.iter().enumerate() {
        members[label as usize].push(i as u32);
    }
    let total = labels.len();
    let least = (most / (4 * k.max(1))).clamp(1, 12);
    let mut chosen: Vec<u32> = Vec::with_capacity(most.min(total));
    for rows in &members {
        let n = rows.len();
        let wanted = if total <= most { n } else { (n * most / total).max(least).min(n) };
        for stretch in 0..wanted {
            let (start, end) = (stretch * n / wanted, (stretch + 1) * n / wanted);
            // One row of every stretch, at no fixed step: tables have periods.
            let step = (stretch as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            chosen.push(rows[start + step as usize % (end - start)]);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// A copy of some rows, sparse if the table is.
pub struct Picked(Matrix);

impl Picked {
    /// Copies rows.
    pub fn new(samples: &Samples<'_>, rows: &[u32]) -> Self {
        Self(match samples {
            Samples::Dense32(x) => {
                Matrix::Dense32 { values: dense(x, rows), n_rows: rows.len(), n_cols: x.n_cols() }
            }
            Samples::Dense64(x) => {
                Matrix::Dense64 { values: dense(x, rows), n_rows: rows.len(), n_cols: x.n_cols() }
            }
            Samples::Sparse32(x) => Matrix::Sparse32(sparse(x, rows)),
            Samples::Sparse64(x) => Matrix::Sparse64(sparse(x, rows)),
        })
    }

    /// Borrows them.
    pub fn samples(&self) -> Result<Samples<'_>, DataError> {
        self.0.samples()
    }
}

fn dense<T: Copy>(x: &DenseRef<'_, T>, rows: &[u32]) -> Vec<T> {
    rows.iter().flat_map(|&i| x.row(i as usize).iter().copied()).collect()
}

fn sparse<T: Copy>(x: &CsrRef<'_, T>, rows: &[u32]) -> Csr<T> {
    let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: x.n_cols() };
    for &i in rows {
        for (column, value) in x.row(i as usize) {
            out.columns.push(column as i64);
            out.values.push(value);
        }
        out.offsets.push(out.columns.len() as i64);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_there_and_rows_are_spread() {
        let labels: Vec<u32> = (0..100_000).map(|i| if i % 1000 == 7 { 1 } else { 0 }).collect();
        let rows = spread(&labels, 3, 3000);
        assert!(rows.len() <= 3012 && rows.is_sorted());
        assert!(rows.windows(2).all(|w| w[0] < w[1]), "no row twice");
        assert!(rows.iter().filter(|&&i| labels[i as usize] == 1).count() >= 12);
        let first_half = rows.iter().filter(|&&i| i < 50_000).count();
        assert!(first_half.abs_diff(rows.len() / 2) < 10);
        assert_eq!(spread(&labels[..500], 3, 3000), (0..500).collect::<Vec<u32>>());
    }

    #[test]
    fn a_hundred_clusters_stay_within_bounds() {
        let labels: Vec<u32> = (0..200_000u32).map(|i| i % 100).collect();
        assert!(spread(&labels, 100, 3000).len() <= 3100);
        let many: Vec<u32> = (0..200_000u32).map(|i| i % 50_000).collect();
        assert_eq!(spread(&many, 50_000, 3000).len(), 50_000, "a row of every cluster");
    }
}
