//! Rows that need not be in memory: read piece by piece, from wherever they are.

use std::ops::Range;

use obcut_core::error::Error;
use obcut_core::matrix::Matrix;

/// Rows that are read in pieces. The pieces may be asked for in any order, from several threads, and
/// more than once: the same rows always hold the same numbers.
pub trait RowSource: Sync {
    /// Number of rows, N.
    fn n_rows(&self) -> usize;

    /// Number of columns, d.
    fn n_cols(&self) -> usize;

    /// Whether the pieces are dense matrices of single precision; else they are of double precision.
    fn is_single(&self) -> bool;

    /// Reads rows that follow each other.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read(&self, rows: Range<usize>) -> Result<Matrix, Error>;

    /// Reads some rows, given by ascending numbers.
    ///
    /// # Errors
    /// When they cannot be read.
    fn gather(&self, rows: &[u64]) -> Result<Matrix, Error> {
        let n_cols = self.n_cols();
        let (mut single, mut double) = (Vec::new(), Vec::new());
        for &row in rows {
            let row = row as usize;
            match self.read(row..row + 1)? {
                Matrix::Dense32 { values, .. } => single.extend(values),
                Matrix::Dense64 { values, .. } => double.extend(values),
                Matrix::Sparse32(_) | Matrix::Sparse64(_) => {
                    return Err(Error::Read {
                        rows: row..row + 1,
                        source: "sparse rows cannot be read in batches".into(),
                    });
                }
            }
        }
        Ok(if self.is_single() {
            Matrix::Dense32 { values: single, n_rows: rows.len(), n_cols }
        } else {
            Matrix::Dense64 { values: double, n_rows: rows.len(), n_cols }
        })
    }
}
