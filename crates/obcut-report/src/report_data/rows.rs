//! Sampling and copying rows of a table.

use obcut::{Csr, CsrRef, DenseRef, Error, Matrix, Samples};

/// Chooses rows by labels that are passed in order and in batches. Every cluster gets a share by its size, at least
/// a few rows, and the rows are spread evenly over the table.
#[derive(Clone, Debug)]
pub struct RowChoice {
    clusters: Vec<Stretches>,
    chosen: Vec<u64>,
    n_seen: u64,
}

/// The rows of a cluster in as many stretches as rows are wanted: one row of each stretch is chosen.
#[derive(Clone, Debug)]
struct Stretches {
    n_rows: usize,
    wanted: usize,
    /// Number of rows and stretches so far.
    n_seen: usize,
    stretch: usize,
}

impl Stretches {
    /// The next row to choose, counted within the cluster.
    fn next(&self) -> Option<usize> {
        let Self { n_rows: n, wanted, stretch, .. } = *self;
        (stretch < wanted).then(|| {
            let (start, end) = (stretch * n / wanted, (stretch + 1) * n / wanted);
            // The step varies, since tables can be periodic.
            let step = (stretch as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            start + step as usize % (end - start)
        })
    }
}

impl RowChoice {
    /// Chooses about `most` rows from clusters of these sizes.
    pub fn new(sizes: &[usize], most: usize) -> Self {
        let total: usize = sizes.iter().sum();
        let least = (most / (4 * sizes.len().max(1))).clamp(1, 12);
        let stretches = |&n: &usize| {
            let share = (n as u128 * most as u128 / total.max(1) as u128) as usize;
            let wanted = if total <= most { n } else { share.max(least).min(n) };
            Stretches { n_rows: n, wanted, n_seen: 0, stretch: 0 }
        };
        Self { clusters: sizes.iter().map(stretches).collect(), chosen: Vec::new(), n_seen: 0 }
    }

    /// Takes the labels of the next rows.
    pub fn take(&mut self, labels: &[u32]) {
        for &label in labels {
            if let Some(cluster) = self.clusters.get_mut(label as usize) {
                if cluster.next() == Some(cluster.n_seen) {
                    cluster.stretch += 1;
                    self.chosen.push(self.n_seen);
                }
                cluster.n_seen += 1;
            }
            self.n_seen += 1;
        }
    }

    /// Returns the indices of the chosen rows in ascending order.
    pub fn rows(self) -> Vec<u64> {
        self.chosen
    }
}

/// Chooses rows of a table in memory in the same way.
pub fn spread(labels: &[u32], k: usize, most: usize) -> Vec<u32> {
    let mut sizes = vec![0; k];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let mut choice = RowChoice::new(&sizes, most);
    choice.take(labels);
    choice.rows().iter().map(|&row| row as u32).collect()
}

/// A copy of some rows, sparse if the table is sparse.
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

    /// Borrows the rows.
    pub fn samples(&self) -> Result<Samples<'_>, Error> {
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
    fn labels_may_come_in_any_portions() {
        let labels: Vec<u32> = (0..50_000u32).map(|i| (i / 7 + i % 13) % 5).collect();
        let whole = spread(&labels, 5, 400);
        let mut sizes = vec![0; 5];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        for portion in [1, 999, 65_536] {
            let mut choice = RowChoice::new(&sizes, 400);
            labels.chunks(portion).for_each(|part| choice.take(part));
            assert!(choice.rows().iter().copied().eq(whole.iter().map(|&row| u64::from(row))));
        }
        assert!(whole.len() >= 396 && whole.len() <= 400, "{}", whole.len());
    }

    #[test]
    fn a_hundred_clusters_stay_within_bounds() {
        let labels: Vec<u32> = (0..200_000u32).map(|i| i % 100).collect();
        assert!(spread(&labels, 100, 3000).len() <= 3100);
        let many: Vec<u32> = (0..200_000u32).map(|i| i % 50_000).collect();
        assert_eq!(spread(&many, 50_000, 3000).len(), 50_000, "a row of every cluster");
    }
}
