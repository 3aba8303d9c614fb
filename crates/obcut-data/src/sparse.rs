//! Conversion of sparse matrices to compressed rows.

use obcut::{Csr, Matrix};

use crate::error::Error;
use crate::values::Values;

/// A sparse matrix in the layout of its file; `name` is the file, for messages.
pub(crate) struct Sparse<'a> {
    pub name: &'a str,
    pub n_rows: usize,
    pub n_cols: usize,
    pub values: Values,
}

impl Sparse<'_> {
    /// Checks compressed rows.
    pub(crate) fn by_rows(self, offsets: Vec<i64>, columns: Vec<i64>) -> Result<Matrix, Error> {
        self.check_offsets(&offsets, self.n_rows, columns.len())?;
        self.check_indices(&columns, self.n_cols, "column")?;
        Ok(wrap(self.values, offsets, columns, self.n_cols))
    }

    /// Converts compressed columns.
    pub(crate) fn by_columns(self, offsets: &[i64], rows: &[i64]) -> Result<Matrix, Error> {
        self.check_offsets(offsets, self.n_cols, rows.len())?;
        let mut columns = Vec::with_capacity(rows.len());
        for (j, ends) in offsets.windows(2).enumerate() {
            columns.extend((ends[0]..ends[1]).map(|_| j as i64));
        }
        self.by_triples(rows, &columns)
    }

    /// Converts (row, column, value) in any order. Rows keep the order of their entries.
    pub(crate) fn by_triples(self, rows: &[i64], columns: &[i64]) -> Result<Matrix, Error> {
        if rows.len() != self.values.len() || columns.len() != self.values.len() {
            return Err(self.broken(format!(
                "{} values for {} row and {} column indices",
                self.values.len(),
                rows.len(),
                columns.len()
            )));
        }
        self.check_indices(rows, self.n_rows, "row")?;
        self.check_indices(columns, self.n_cols, "column")?;
        // Only here does memory depend on the header; nearly all rows would be empty.
        if self.n_rows > 1_000_000 + 1000 * rows.len() {
            return Err(self.broken(format!(
                "{} rows are declared for {} stored entries",
                self.n_rows,
                rows.len()
            )));
        }
        let mut offsets = vec![0i64; self.n_rows + 1];
        for &i in rows {
            offsets[i as usize + 1] += 1;
        }
        for i in 0..self.n_rows {
            offsets[i + 1] += offsets[i];
        }
        // A counting sort by row.
        let mut next = offsets.clone();
        let mut place = vec![0usize; rows.len()];
        for (p, &i) in rows.iter().enumerate() {
            place[p] = next[i as usize] as usize;
            next[i as usize] += 1;
        }
        let columns = scatter(columns, &place);
        let values = match &self.values {
            Values::F32(v) => Values::F32(scatter(v, &place)),
            Values::F64(v) => Values::F64(scatter(v, &place)),
        };
        Ok(wrap(values, offsets, columns, self.n_cols))
    }

    /// Checks that offsets increase from 0 to the number of entries.
    fn check_offsets(&self, offsets: &[i64], n: usize, n_indices: usize) -> Result<(), Error> {
        let stored = self.values.len();
        if n_indices != stored {
            return Err(self.broken(format!("{n_indices} indices for {stored} values")));
        }
        if n.checked_add(1) != Some(offsets.len()) {
            return Err(self.broken(format!("{} offsets for {n} rows or columns", offsets.len())));
        }
        let rises = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rises || offsets[0] != 0 || offsets[n] != stored as i64 {
            return Err(self.broken(format!("its offsets do not rise from 0 to {stored}")));
        }
        Ok(())
    }

    fn check_indices(&self, indices: &[i64], n: usize, what: &str) -> Result<(), Error> {
        // Later steps need memory per column, and SciPy uses 32 bits too.
        if self.n_cols > i32::MAX as usize {
            return Err(self.broken(format!("{} columns are declared", self.n_cols)));
        }
        match indices.iter().find(|&&i| i < 0 || i as u64 >= n as u64) {
            Some(i) => Err(self.broken(format!("{what} index {i} is outside 0..{n}"))),
            None => Ok(()),
        }
    }

    fn broken(&self, problem: String) -> Error {
        Error::damaged(self.name, format!("the sparse matrix is broken: {problem}"))
    }
}

/// Converts numbers to indices. Invalid values become an index that fails every check.
pub(crate) fn indices(values: Values) -> Vec<i64> {
    let index = |v: f64| {
        if v >= 0.0 && v < 2f64.powi(53) && v.fract() == 0.0 { v as i64 } else { -1 }
    };
    match values {
        Values::F32(v) => v.into_iter().map(|v| index(f64::from(v))).collect(),
        Values::F64(v) => v.into_iter().map(index).collect(),
    }
}

fn wrap(values: Values, offsets: Vec<i64>, columns: Vec<i64>, n_cols: usize) -> Matrix {
    match values {
        Values::F32(values) => Matrix::Sparse32(Csr { offsets, columns, values, n_cols }),
        Values::F64(values) => Matrix::Sparse64(Csr { offsets, columns, values, n_cols }),
    }
}

fn scatter<T: Copy + Default>(from: &[T], place: &[usize]) -> Vec<T> {
    let mut to = vec![T::default(); from.len()];
    for (&value, &p) in from.iter().zip(place) {
        to[p] = value;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(n_rows: usize, n_cols: usize, values: &[f64]) -> Sparse<'static> {
        Sparse { name: "t", n_rows, n_cols, values: Values::F64(values.to_vec()) }
    }

    /// [[1, 0, 2], [0, 3, 0]]
    fn expected() -> Matrix {
        Matrix::Sparse64(Csr {
            offsets: vec![0, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![1.0, 2.0, 3.0],
            n_cols: 3,
        })
    }

    #[test]
    fn all_layouts_give_the_same_rows() {
        let x = sparse(2, 3, &[1.0, 2.0, 3.0]).by_rows(vec![0, 2, 3], vec![0, 2, 1]).unwrap();
        assert_eq!(x, expected());
        let x = sparse(2, 3, &[1.0, 3.0, 2.0]).by_columns(&[0, 1, 2, 3], &[0, 1, 0]).unwrap();
        assert_eq!(x, expected());
        let x = sparse(2, 3, &[3.0, 1.0, 2.0]).by_triples(&[1, 0, 0], &[1, 0, 2]).unwrap();
        assert_eq!(x, expected());
    }

    #[test]
    fn broken_arrays_are_errors() {
        let v = [1.0, 2.0];
        assert!(sparse(2, 3, &v).by_rows(vec![0, 2], vec![0, 1]).is_err());
        assert!(sparse(2, 3, &v).by_rows(vec![0, 3, 2], vec![0, 1]).is_err());
        assert!(sparse(2, 3, &v).by_rows(vec![0, 1, 2], vec![0, 3]).is_err());
        assert!(sparse(2, 3, &v).by_rows(vec![0, 1, 2], vec![0]).is_err());
        assert!(sparse(2, 3, &v).by_triples(&[0, -1], &[0, 0]).is_err());
        assert!(sparse(usize::MAX, 3, &v).by_rows(vec![0, 2], vec![0, 1]).is_err());
        assert!(sparse(1 << 50, 3, &v).by_triples(&[0, 1], &[0, 0]).is_err());
        assert_eq!(indices(Values::F64(vec![2.0, 0.5, f64::NAN, -3.0])), [2, -1, -1, -1]);
    }
}
