//! Rows that need not be in memory: read piece by piece, from wherever they are.

use std::ops::Range;

use obcut_core::error::Error;
use obcut_core::matrix::Matrix;

/// Rows that are read in pieces. The pieces may be asked for in any order, from several threads, and
/// more than once: the same rows always hold the same numbers.
///
/// ```
/// use std::ops::Range;
/// use obcut::{Error, Matrix, OBCut, RowSource};
///
/// /// Rows of one column that are computed when they are read: two groups, around 0 and around 100.
/// struct Computed;
///
/// impl RowSource for Computed {
///     fn n_rows(&self) -> usize {
///         300
///     }
///
///     fn n_cols(&self) -> usize {
///         1
///     }
///
///     fn is_single(&self) -> bool {
///         false
///     }
///
///     fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
///         let n_rows = rows.len();
///         let value = |row: usize| (row % 2 * 100) as f64 + (row as f64).sin();
///         Ok(Matrix::Dense64 { values: rows.map(value).collect(), n_rows, n_cols: 1 })
///     }
/// }
///
/// let fit = OBCut::new(2).fit_source(&Computed)?;
/// let labels = fit.labels();
/// assert_eq!(labels[0], labels[298]);
/// assert_ne!(labels[0], labels[299]);
/// assert_eq!(fit.model().n_features(), 1);
/// # Ok::<(), Error>(())
/// ```
///
/// A reading that fails returns [`Error::Read`] with the rows and the cause.
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

    /// Checks that the rows are still the ones of the first reading. A fit asks before every pass over the rows and at
    /// its end; a source that others may change, such as a file, compares what it knows of it (length, time).
    ///
    /// # Errors
    /// [`Error::Changed`] when they are not.
    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Reads some rows, given by ascending numbers. Rows that are close to each other are read together.
    ///
    /// # Errors
    /// When they cannot be read.
    fn gather(&self, rows: &[u64]) -> Result<Matrix, Error> {
        let n_cols = self.n_cols();
        let (mut single, mut double) = (Vec::new(), Vec::new());
        for batch in batches(rows) {
            let first = batch[0] as usize;
            let range = first..batch[batch.len() - 1] as usize + 1;
            let at =
                |row: u64| (row as usize - first) * n_cols..(row as usize - first + 1) * n_cols;
            match read(self, range)? {
                Matrix::Dense32 { values, .. } => {
                    batch.iter().for_each(|&row| single.extend_from_slice(&values[at(row)]));
                }
                Matrix::Dense64 { values, .. } => {
                    batch.iter().for_each(|&row| double.extend_from_slice(&values[at(row)]));
                }
                Matrix::Sparse32(_) | Matrix::Sparse64(_) => unreachable!("refused by read"),
            }
        }
        Ok(if self.is_single() {
            Matrix::Dense32 { values: single, n_rows: rows.len(), n_cols }
        } else {
            Matrix::Dense64 { values: double, n_rows: rows.len(), n_cols }
        })
    }
}

/// Rows that are read but not asked for, at most, between two that are.
const GAP: u64 = 32;
/// Rows that are read at once, at most.
const BATCH: u64 = 8192;

/// Stretches of ascending row numbers that are worth one reading each.
fn batches(rows: &[u64]) -> impl Iterator<Item = &[u64]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let together = |pair: &[u64]| pair[1] - pair[0] <= GAP && pair[1] - first < BATCH;
        let count = 1 + rest.windows(2).take_while(|pair| together(pair)).count();
        let (batch, more) = rest.split_at(count);
        rest = more;
        Some(batch)
    })
}

/// Reads rows and checks that the source gave what it promised.
pub(crate) fn read(
    source: &(impl RowSource + ?Sized),
    rows: Range<usize>,
) -> Result<Matrix, Error> {
    let matrix = source.read(rows.clone())?;
    check(source, rows.len(), &matrix)
        .map_err(|found| Error::Read { rows, source: found.into() })?;
    Ok(matrix)
}

/// The same for some rows.
pub(crate) fn gather(source: &dyn RowSource, rows: &[u64]) -> Result<Matrix, Error> {
    let matrix = source.gather(rows)?;
    check(source, rows.len(), &matrix).map_err(|found| {
        let (first, last) = (rows.first().copied(), rows.last().copied());
        let rows = first.unwrap_or(0) as usize..last.map_or(0, |row| row as usize + 1);
        Error::Read { rows, source: found.into() }
    })?;
    Ok(matrix)
}

/// What is wrong with the rows that a source gave.
fn check(source: &(impl RowSource + ?Sized), n_rows: usize, matrix: &Matrix) -> Result<(), String> {
    let (found, n_cols) = ((matrix.n_rows(), matrix.n_cols()), source.n_cols());
    if found != (n_rows, n_cols) {
        return Err(format!(
            "the source returned {} rows x {} columns instead of {n_rows} x {n_cols}",
            found.0, found.1
        ));
    }
    match (matrix, source.is_single()) {
        (Matrix::Dense32 { .. }, true) | (Matrix::Dense64 { .. }, false) => Ok(()),
        (Matrix::Dense32 { .. } | Matrix::Dense64 { .. }, _) => {
            Err("the source returned rows of another precision than `is_single` says".into())
        }
        (Matrix::Sparse32(_) | Matrix::Sparse64(_), _) => {
            Err("sparse rows cannot be read in batches".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of one column that hold their number; `lie` changes what a reading of some rows returns.
    struct Counted {
        reads: std::sync::atomic::AtomicUsize,
        lie: fn(Range<usize>) -> Range<usize>,
        single: bool,
    }

    impl RowSource for Counted {
        fn n_rows(&self) -> usize {
            100_000
        }

        fn n_cols(&self) -> usize {
            1
        }

        fn is_single(&self) -> bool {
            self.single
        }

        fn read(&self, rows: Range<usize>) -> Result<Matrix, Error> {
            self.reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let values: Vec<f64> = (self.lie)(rows).map(|row| row as f64).collect();
            Ok(Matrix::Dense64 { n_rows: values.len(), values, n_cols: 1 })
        }
    }

    fn source(lie: fn(Range<usize>) -> Range<usize>, single: bool) -> Counted {
        Counted { reads: Default::default(), lie, single }
    }

    #[test]
    fn rows_that_are_close_are_gathered_in_one_reading() {
        let honest = source(|rows| rows, false);
        let wanted: Vec<u64> = (0..20_000).step_by(3).chain([50_000, 99_999]).collect();
        let Matrix::Dense64 { values, n_rows, .. } = gather(&honest, &wanted).unwrap() else {
            panic!("rows of double precision");
        };
        assert_eq!(n_rows, wanted.len());
        assert!(values.iter().zip(&wanted).all(|(&value, &row)| value == row as f64));
        assert_eq!(honest.reads.into_inner(), 20_000usize.div_ceil(8192) + 2);
        let none = gather(&source(|rows| rows, false), &[]).unwrap();
        assert_eq!(none.n_rows(), 0);
    }

    #[test]
    fn a_source_that_returns_other_rows_than_asked_for_is_refused() {
        let short = source(|rows| rows.start..rows.end - 1, false);
        let text = |error: Error| match error {
            Error::Read { rows, source } => format!("{rows:?}: {source}"),
            other => panic!("{other}"),
        };
        let error = text(read(&short, 3..8).unwrap_err());
        assert_eq!(error, "3..8: the source returned 4 rows x 1 columns instead of 5 x 1");
        let error = text(gather(&short, &[3, 7]).unwrap_err());
        assert_eq!(error, "3..8: the source returned 4 rows x 1 columns instead of 5 x 1");
        let error = text(read(&source(|rows| rows, true), 0..2).unwrap_err());
        assert!(error.contains("precision"), "{error}");
    }
}
