//! The columns of a sparse table that hold anything. A table may declare a billion columns and store three numbers:
//! memory must follow what is stored.
//!
//! Columns without entries are folded into one, the last. It holds the length of a row's entries in all of them, which
//! is zero for the rows of a fit. New rows may have entries there, so no distance and no length changes.

use crate::error::{DataError, Error};
use crate::linalg::gemm::Real;
use crate::matrix::{Csr, CsrRef, DenseRef, Matrix, Samples};

/// The columns of a sparse table that hold entries, when others do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredColumns {
    /// Number of columns of the table.
    n_cols: usize,
    /// Ascending.
    stored: Vec<usize>,
}

impl StoredColumns {
    /// Columns of a table, ascending; an error if these are not some but not all of them.
    ///
    /// # Errors
    /// When they do not ascend, or are not fewer than the columns of the table.
    pub fn new(n_cols: usize, stored: Vec<usize>) -> Result<Self, Error> {
        let ascend = stored.is_sorted_by(|a, b| a < b) && stored.last().is_none_or(|&j| j < n_cols);
        if !ascend || stored.len() >= n_cols {
            return Err(DataError::Csr("the columns that hold entries make no sense".into()).into());
        }
        Ok(Self { n_cols, stored })
    }

    /// The columns in which a row of positive weight has an entry that is not zero. `None` when these are half of the
    /// columns or more, or the table is dense: then nothing is worth folding.
    pub fn of(samples: &Samples<'_>, weights: Option<&[f64]>) -> Option<Self> {
        let (n_cols, n_stored) = (samples.n_cols(), samples.n_stored());
        if !samples.is_sparse() {
            return None;
        }
        let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
        let rows = || (0..samples.n_rows()).filter(|&i| counts(i));
        // A bit for every column, unless that takes more than a number for every entry.
        let stored: Vec<usize> = if n_cols / 64 <= n_stored + 1024 {
            let mut is_stored = vec![0u64; n_cols.div_ceil(64)];
            for i in rows() {
                samples.each(i, |j, v| is_stored[j / 64] |= u64::from(v != 0.0) << (j % 64));
            }
            (0..n_cols).filter(|j| is_stored[j / 64] >> (j % 64) & 1 == 1).collect()
        } else {
            let mut columns = Vec::with_capacity(n_stored);
            for i in rows() {
                samples.each(i, |j, v| {
                    if v != 0.0 {
                        columns.push(j);
                    }
                });
            }
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        (stored.len() < n_cols / 2).then_some(Self { n_cols, stored })
    }

    /// Number of columns of the table.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The columns that hold entries, ascending.
    pub fn stored(&self) -> &[usize] {
        &self.stored
    }

    /// Number of columns of the folded table.
    pub fn width(&self) -> usize {
        self.stored.len() + 1
    }

    /// The table with its empty columns folded into one. Dense rows become dense rows.
    pub fn fold(&self, samples: &Samples<'_>) -> Matrix {
        match samples {
            Samples::Dense32(x) => {
                let (values, n_rows) = (self.dense(x), x.n_rows());
                Matrix::Dense32 { values, n_rows, n_cols: self.width() }
            }
            Samples::Dense64(x) => {
                let (values, n_rows) = (self.dense(x), x.n_rows());
                Matrix::Dense64 { values, n_rows, n_cols: self.width() }
            }
            Samples::Sparse32(x) => Matrix::Sparse32(self.sparse(x)),
            Samples::Sparse64(x) => Matrix::Sparse64(self.sparse(x)),
        }
    }

    fn dense<T: Real>(&self, x: &DenseRef<'_, T>) -> Vec<T> {
        let mut out = Vec::with_capacity(x.n_rows() * self.width());
        for i in 0..x.n_rows() {
            let row = x.row(i);
            let mut at = 0;
            let mut rest = 0.0;
            for (j, v) in row.iter().enumerate() {
                if self.stored.get(at) == Some(&j) {
                    out.push(*v);
                    at += 1;
                } else {
                    rest += v.to_f64() * v.to_f64();
                }
            }
            out.push(length(rest));
        }
        out
    }

    fn sparse<T: Real>(&self, x: &CsrRef<'_, T>) -> Csr<T> {
        let n_cols = self.width();
        let mut out = Csr {
            offsets: vec![0],
            columns: Vec::with_capacity(x.n_stored()),
            values: Vec::with_capacity(x.n_stored()),
            n_cols,
        };
        for i in 0..x.n_rows() {
            let mut rest = 0.0;
            x.each(i, |j, v| match self.stored.binary_search(&j) {
                Ok(at) => {
                    out.columns.push(at as i64);
                    out.values.push(v);
                }
                Err(_) => rest += v.to_f64() * v.to_f64(),
            });
            // What is not a number stays one, to be refused.
            if rest != 0.0 {
                out.columns.push(n_cols as i64 - 1);
                out.values.push(length(rest));
            }
            out.offsets.push(out.columns.len() as i64);
        }
        out
    }

    /// Moves points of the folded space, row after row, back to all columns. Fails when they would take more than
    /// `limit` bytes.
    pub fn unfold(&self, points: &[f64], limit: u64) -> Result<Vec<f64>, Error> {
        let n_points = points.len() / self.width();
        let cells = n_points.saturating_mul(self.n_cols);
        let bytes = (cells as u64).saturating_mul(size_of::<f64>() as u64);
        if bytes > limit {
            return Err(DataError::TooWide { n_points, n_cols: self.n_cols, bytes, limit }.into());
        }
        let mut out = vec![0.0; cells];
        for (point, out) in points.chunks_exact(self.width()).zip(out.chunks_exact_mut(self.n_cols))
        {
            self.stored.iter().zip(point).for_each(|(&j, &v)| out[j] = v);
        }
        Ok(out)
    }

    /// An error about a column of the folded table, told of the table itself.
    pub fn told_of_table(&self, error: Error, samples: &Samples<'_>) -> Error {
        // Of the columns that the last one stands for, the one whose value is the farthest from what can be used.
        let place = |row: usize, col: usize| {
            let unusable = || {
                let mut found: Option<(f64, usize)> = None;
                samples.each(row, |j, v| {
                    let size = if v.is_nan() { f64::INFINITY } else { v.abs() };
                    let is_folded = self.stored.binary_search(&j).is_err();
                    if is_folded && found.is_none_or(|(largest, _)| size > largest) {
                        found = Some((size, j));
                    }
                });
                found.map(|(_, j)| j)
            };
            self.stored.get(col).copied().or_else(unusable).unwrap_or(col)
        };
        match error {
            Error::Data(DataError::NotFinite { row, col, value, count }) => {
                DataError::NotFinite { row, col: place(row, col), value, count }.into()
            }
            Error::Data(DataError::TooLarge { row, col, value, limit }) => {
                DataError::TooLarge { row, col: place(row, col), value, limit }.into()
            }
            other => other,
        }
    }
}

/// The root of a sum of squares, finite where the sum is.
fn length<T: Real>(squares: f64) -> T {
    let length = T::from_f64(squares.sqrt());
    if squares.is_finite() && !length.to_f64().is_finite() {
        return T::from_f64(f64::from(f32::MAX));
    }
    length
}

impl Samples<'_> {
    /// Runs `work` on the table with entries given twice added up, columns in order and, when it is sparse, the columns
    /// without entries folded into one: on the table itself when it is so already, else on a copy.
    ///
    /// # Errors
    /// Those of `work`; columns in them are those of this table.
    pub fn with_stored_columns<R>(
        &self,
        weights: Option<&[f64]>,
        work: impl FnOnce(&Samples<'_>, Option<&StoredColumns>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.with_canonical(|samples| match StoredColumns::of(samples, weights) {
            None => work(samples, None),
            Some(columns) => {
                let folded = columns.fold(samples);
                let n_folded = columns.n_cols - columns.width();
                let found = work(&folded.samples()?.standing_for(n_folded), Some(&columns));
                found.map_err(|error| columns.told_of_table(error, samples))
            }
        })
    }

    /// Runs `work` on the table as a model sees it whose empty columns were folded into one.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn with_columns_of<R>(
        &self,
        columns: Option<&StoredColumns>,
        work: impl FnOnce(&Samples<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.with_canonical(|samples| match columns {
            None => work(samples),
            Some(columns) => work(&columns.fold(samples).samples()?),
        })
    }

    /// The same table, whose last column stands for this many more without entries.
    fn standing_for(self, n_folded: usize) -> Self {
        match self {
            Self::Sparse32(x) => Self::Sparse32(x.standing_for(n_folded)),
            Self::Sparse64(x) => Self::Sparse64(x.standing_for(n_folded)),
            dense => dense,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows (1: 2.0, 9: 1.0), (2^40: 3.0), (), of 2^41 columns; column 9 is of a row without weight.
    fn wide() -> Csr<f64> {
        let (offsets, columns) = (vec![0, 2, 3, 4], vec![1, 1 << 40, 7, 9]);
        Csr { offsets, columns, values: vec![2.0, 3.0, 0.0, 5.0], n_cols: 1 << 41 }
    }

    fn seen(samples: &Samples<'_>, i: usize) -> Vec<(usize, f64)> {
        let mut row = Vec::new();
        samples.each(i, |j, v| row.push((j, v)));
        row
    }

    #[test]
    fn memory_follows_what_is_stored() {
        let matrix = Matrix::Sparse64(wide());
        let samples = matrix.samples().unwrap();
        let weights = [1.0, 2.0, 0.0];
        samples
            .with_stored_columns(Some(&weights), |folded, columns| {
                let columns = columns.unwrap();
                assert_eq!(columns.stored(), [1, 1 << 40]);
                assert_eq!((folded.n_cols(), folded.n_folded()), (3, (1 << 41) - 3));
                assert_eq!(seen(folded, 0), [(0, 2.0), (1, 3.0)]);
                assert_eq!(seen(folded, 1), []);
                // A row that does not count keeps its length.
                assert_eq!(seen(folded, 2), [(2, 5.0)]);
                assert!(columns.unfold(&[1.0; 3], 1 << 30).is_err());
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn lengths_and_products_stay() {
        let values = [1.0, 0.0, 2.0, 0.0, -3.0, 4.0, 0.5, 0.0, 1.0, 2.0];
        let dense = DenseRef::new(&values, 2, 5).unwrap();
        let columns = StoredColumns::new(5, vec![0, 3]).unwrap();
        let Matrix::Dense64 { values: folded, n_cols: 3, .. } = columns.fold(&dense.into()) else {
            panic!("dense rows stay dense")
        };
        let square = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>();
        for (row, folded) in values.chunks(5).zip(folded.chunks(3)) {
            assert!((square(row) - square(folded)).abs() < 1e-12);
            assert_eq!([folded[0], folded[1]], [row[0], row[3]]);
        }
        let (offsets, stored) = ([0i64, 3, 7], [0i64, 2, 4, 0, 1, 3, 4]);
        let values = [1.0, 2.0, -3.0, 4.0, 0.5, 1.0, 2.0];
        let sparse = CsrRef::new(&offsets[..], &stored[..], &values, 5).unwrap();
        let Matrix::Sparse64(sparse) = columns.fold(&sparse.into()) else {
            panic!("sparse rows stay sparse")
        };
        assert_eq!(sparse.columns, [0, 2, 0, 1, 2]);
        let expected = [folded[0], folded[2], folded[3], folded[4], folded[5]];
        assert_eq!(sparse.values, expected);
        let points = columns.unfold(&[1.0, 2.0, 0.0], 1 << 10).unwrap();
        assert_eq!(points, [1.0, 0.0, 0.0, 2.0, 0.0]);
    }

    #[test]
    fn tables_with_few_empty_columns_and_dense_ones_stay_as_they_are() {
        let (offsets, columns) = ([0i64, 1, 2], [0i64, 3]);
        let of = |n_cols| {
            let table = CsrRef::new(&offsets[..], &columns[..], &[1.0, 2.0], n_cols).unwrap();
            StoredColumns::of(&table.into(), None).map(|columns| columns.stored().to_vec())
        };
        assert_eq!((of(4), of(5)), (None, None));
        assert_eq!(of(6), Some(vec![0, 3]));
        let dense = DenseRef::new(&[0.0, 1.0], 1, 2).unwrap();
        assert_eq!(StoredColumns::of(&dense.into(), None), None);
        assert!(StoredColumns::new(2, vec![1, 0]).is_err());
        assert!(StoredColumns::new(2, vec![2]).is_err());
    }

    #[test]
    fn errors_name_the_column_of_the_table() {
        let mut rows = wide();
        (rows.values[1], rows.values[3]) = (f64::NAN, f64::INFINITY);
        let matrix = Matrix::Sparse64(rows);
        let place = |weights: Option<&[f64]>| {
            let found = matrix.samples().unwrap().with_stored_columns(weights, |folded, _| {
                crate::normalize::check_row_by_row(folded)
            });
            match found.unwrap_err() {
                Error::Data(DataError::NotFinite { row, col, .. }) => (row, col),
                other => panic!("{other}"),
            }
        };
        assert_eq!(place(None), (0, 1 << 40));
        assert_eq!(place(Some(&[0.0, 1.0, 1.0])), (0, 1 << 40));
    }
}
