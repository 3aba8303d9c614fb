//! Errors as Python raises them, in Python's vocabulary.

use std::error::Error as _;

use obcut::params::spell;
use obcut::{DataError, Error, ParamError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::settings::Keywords;

/// The message of an error and of its causes.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    // The variants that pass another error on have its message already.
    if !matches!(error, Error::Io { .. } | Error::Read { .. }) {
        cause = None;
    }
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    spell(&text, &Keywords)
}

/// Parameters, data and model files raise ValueError, failed reads and writes OSError, the rest
/// RuntimeError. An error that is about a row has its number as the attribute `row`.
pub fn raised(error: Error) -> PyErr {
    let text = message(&error);
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
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}

/// A parameter that cannot be used.
pub fn wrong(error: ParamError) -> PyErr {
    PyValueError::new_err(spell(&error.to_string(), &Keywords))
}
