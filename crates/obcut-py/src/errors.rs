//! Errors of the library as exceptions, worded for Python.

use std::error::Error as _;

use obcut::front_ends::spell;
use obcut::{DataError, Error, ParamError};
use obcut_data::visible;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

use crate::settings::Keywords;

/// The message of an error and of its causes.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    // The messages of the other variants contain that of their source.
    if !matches!(error, Error::Io { .. } | Error::Read { .. }) {
        cause = None;
    }
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    visible(&spell(&text, &Keywords)).into_owned()
}

/// The exception of an error: ValueError for parameters, data and model files, OSError for failed reads and writes,
/// RuntimeError for the others. If the error is about a row, the attribute `row` is its number.
pub fn raised(error: Error) -> PyErr {
    let text = message(&error);
    match error {
        Error::Data(
            DataError::NotFinite { row, .. }
            | DataError::TooLarge { row, .. }
            | DataError::Weight { row, .. },
        ) => {
            let error = PyValueError::new_err(text);
            // Without the attribute, the exception is still useful.
            let _ = Python::attach(|py| error.value(py).setattr("row", row));
            error
        }
        Error::Data(DataError::Memory { .. }) => PyMemoryError::new_err(text),
        Error::Params(_) | Error::Data(_) | Error::Model(_) => PyValueError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The exception for an invalid parameter.
pub fn wrong(error: ParamError) -> PyErr {
    PyValueError::new_err(spell(&error.to_string(), &Keywords))
}
