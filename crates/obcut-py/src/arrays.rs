//! Arrays of NumPy, read in place.

use numpy::{
    Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use obcut::{CsrRef, DenseRef, Ints, Matrix, Samples};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A table in memory: a C-contiguous array, or the tuple (indptr, indices, data, n_columns) of sparse rows.
#[derive(FromPyObject)]
pub enum ArrayTable<'py> {
    Dense32(PyReadonlyArray2<'py, f32>),
    Dense64(PyReadonlyArray2<'py, f64>),
    Sparse32(Indices<'py>, Indices<'py>, PyReadonlyArray1<'py, f32>, usize),
    Sparse64(Indices<'py>, Indices<'py>, PyReadonlyArray1<'py, f64>, usize),
}

/// Indices of sparse rows, in 32 or 64 bits.
#[derive(FromPyObject)]
pub enum Indices<'py> {
    Short(PyReadonlyArray1<'py, i32>),
    Long(PyReadonlyArray1<'py, i64>),
}

impl ArrayTable<'_> {
    /// Borrows the table.
    pub fn samples(&self) -> PyResult<Samples<'_>> {
        Ok(match self {
            Self::Dense32(x) => dense(x)?.into(),
            Self::Dense64(x) => dense(x)?.into(),
            Self::Sparse32(offsets, columns, values, n_cols) => {
                sparse(offsets, columns, values, *n_cols)?.into()
            }
            Self::Sparse64(offsets, columns, values, n_cols) => {
                sparse(offsets, columns, values, *n_cols)?.into()
            }
        })
    }

    pub fn is_single(&self) -> bool {
        matches!(self, Self::Dense32(_) | Self::Sparse32(..))
    }
}

impl Indices<'_> {
    fn ints(&self) -> PyResult<Ints<'_>> {
        Ok(match self {
            Self::Short(v) => Ints::I32(v.as_slice()?),
            Self::Long(v) => Ints::I64(v.as_slice()?),
        })
    }
}

fn dense<'a, T: Element + Copy>(x: &'a PyReadonlyArray2<'_, T>) -> PyResult<DenseRef<'a, T>> {
    if !x.is_c_contiguous() {
        return Err(PyValueError::new_err("the array must be C-contiguous"));
    }
    DenseRef::new(x.as_slice()?, x.shape()[0], x.shape()[1])
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn sparse<'a, T: Element + Copy>(
    offsets: &'a Indices<'_>,
    columns: &'a Indices<'_>,
    values: &'a PyReadonlyArray1<'_, T>,
    n_cols: usize,
) -> PyResult<CsrRef<'a, T>> {
    CsrRef::new(offsets.ints()?, columns.ints()?, values.as_slice()?, n_cols)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A dense matrix as an array, without a copy of its values.
pub fn dense_array(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyAny>> {
    Ok(match matrix {
        Matrix::Dense32 { values, n_rows, n_cols } => {
            PyArray1::from_vec(py, values).reshape([n_rows, n_cols])?.into_any()
        }
        Matrix::Dense64 { values, n_rows, n_cols } => {
            PyArray1::from_vec(py, values).reshape([n_rows, n_cols])?.into_any()
        }
        _ => return Err(PyTypeError::new_err("only dense matrices become arrays")),
    })
}

/// Labels in the type that scikit-learn uses.
pub fn labels(py: Python<'_>, labels: Vec<u32>) -> Bound<'_, PyArray1<i32>> {
    // Rows are counted in 32 bits, and there are fewer clusters than rows.
    PyArray1::from_vec(py, labels.into_iter().map(|l| l as i32).collect())
}
