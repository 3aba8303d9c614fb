//! Errors as Python raises them.

use obcut::{DataError, Error};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Wrong settings, data and model files are values at fault; the rest is a failure at run time. An error
/// that is about a row has its number as the attribute `row`.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Data(
            DataError::NotFinite { row, .. }
            | DataError::TooLarge { row, .. }
            | DataError::Weight { row, .. },
        ) => {
            let error = PyValueError::new_err(text);
            // An error without the number is one all the same.
            let _ = Python::attach(|py| error.value(py).setattr("row", row));
            error
        }
        Error::Params(_) | Error::Data(_) | Error::Model(_) => PyValueError::new_err(text),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}
