//! Errors as Python raises them.

use obcut::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};

/// Wrong settings, data and model files are values at fault; the rest is a failure at run time.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Params(_) | Error::Data(_) | Error::Model(_) => PyValueError::new_err(text),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}
