//! Failures: the message, the kind and the exit code of an error.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use obcut::front_ends::spell;
use obcut::{DataError, StateError};
use obcut_data::{ColumnList, ErrorKind, Source, visible};
use serde::Serialize;
use serde_json::json;

use crate::args::vocabulary::Options;

/// Exit code of an interrupted run.
pub const INTERRUPTED: u8 = 130;

/// An error of the command itself.
#[derive(Debug)]
pub enum CliError {
    /// Wrong usage: exit code 2.
    Usage(String),
    /// Bad data: exit code 3.
    Data(String),
    /// An interruption that keeps some results: exit code 130.
    Stopped(String),
}

impl std::fmt::Display for CliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Usage(text) | Self::Data(text) | Self::Stopped(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for CliError {}

/// The failure of a run, as it is printed.
#[derive(Debug, Serialize)]
pub struct Failure {
    message: String,
    kind: &'static str,
    /// Exit code of the process.
    pub exit_code: u8,
}

impl Failure {
    /// Classifies an error by the first known cause.
    pub fn of(error: &anyhow::Error) -> Self {
        let (kind, exit_code) = error.chain().find_map(classify).unwrap_or(("failed", 1));
        let message = if let Some(CliError::Stopped(text)) = error.downcast_ref() {
            text.clone()
        } else if exit_code == INTERRUPTED {
            "interrupted; nothing was written".to_string()
        } else {
            visible(&one_line(&spell(&format!("{error:#}"), &Options))).into_owned()
        };
        Self { message, kind, exit_code }
    }

    /// The failure of an error of clap, without the usage lines.
    pub fn of_arguments(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.split("\nUsage:").next().unwrap_or_default();
        let text = text.split("\nFor more information").next().unwrap_or_default();
        let message = visible(&one_line(text.trim_start_matches("error: "))).into_owned();
        Self { message, kind: "usage", exit_code: 2 }
    }

    /// The failure of a run that a signal ended.
    pub fn interrupted() -> Self {
        Self::of(&obcut::Error::Cancelled.into())
    }

    /// Prints one line to standard error, or one JSON document to standard output.
    pub fn print(&self, json: bool) {
        // If the reader has closed the pipe, the exit code is enough. Other errors, such as a full disk, are
        // printed to standard error.
        let is_printed = json
            && match crate::output::print_json(&json!({ "error": self })) {
                Ok(()) => true,
                Err(cause) => cause.kind() == io::ErrorKind::BrokenPipe,
            };
        if !is_printed {
            let red = crate::output::RED;
            anstream::eprintln!("{red}error:{red:#} {}", self.message);
        }
    }
}

/// Runs a command and turns a panic into an error of one line. Some readers catch panics of other crates,
/// so nothing is printed when a panic starts, unless a backtrace is requested.
pub fn guard(run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    static PLACE: Mutex<String> = Mutex::new(String::new());
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        panic::set_hook(Box::new(|info| {
            if let Ok(mut place) = PLACE.lock() {
                *place = info.to_string();
            }
        }));
    }
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let place = PLACE.lock().map(|text| text.clone()).unwrap_or_default();
        Err(anyhow::anyhow!("this is a bug in obcut, please report it: {place}"))
    })
}

/// Whether the reader of standard output has closed it, which is not an error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Adds context to an error of the system that names no file: it is about standard output.
pub fn about_stdout(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<io::Error>() {
        Some(_) => error.context("cannot write to standard output"),
        None => error,
    }
}

/// Kind and exit code of one error in a chain of causes.
fn classify(cause: &(dyn std::error::Error + 'static)) -> Option<(&'static str, u8)> {
    if let Some(fault) = cause.downcast_ref::<CliError>() {
        return Some(match fault {
            CliError::Usage(_) => ("usage", 2),
            CliError::Data(_) => ("data", 3),
            CliError::Stopped(_) => ("interrupted", INTERRUPTED),
        });
    }
    if let Some(error) = cause.downcast_ref::<obcut_data::Error>() {
        if let obcut_data::Error::Cancelled = error {
            return Some(("interrupted", INTERRUPTED));
        }
        return Some(match error.kind() {
            ErrorKind::Request => ("usage", 2),
            ErrorKind::Data => ("data", 3),
            ErrorKind::System => ("io", 1),
        });
    }
    Some(match cause.downcast_ref::<obcut::Error>()? {
        obcut::Error::Params(_) => ("usage", 2),
        obcut::Error::Data(_) | obcut::Error::Read { .. } | obcut::Error::Changed { .. } => {
            ("data", 3)
        }
        obcut::Error::State(StateError::OtherFit | StateError::OtherWeights) => ("usage", 2),
        obcut::Error::State(_) => ("state", 3),
        obcut::Error::Io { .. } => ("io", 1),
        obcut::Error::Threads { .. } => ("threads", 1),
        obcut::Error::Numeric { .. } => ("numeric", 1),
        obcut::Error::Model(_) => ("model", 3),
        obcut::Error::Cancelled => ("interrupted", INTERRUPTED),
        _ => ("failed", 1),
    })
}

/// Adds the name of the file to an error of the library.
pub fn about(source: &Source, error: impl Into<obcut::Error>) -> anyhow::Error {
    let error = error.into();
    let is_about_file = matches!(error, obcut::Error::Data(_) | obcut::Error::Model(_));
    let error = anyhow::Error::from(error);
    if is_about_file { error.context(source.display()) } else { error }
}

/// The positions of a table's values in its file, as far as they are known.
#[derive(Debug, Default)]
pub struct Places {
    /// Names of the features, if the file has names.
    pub feature_names: Option<Vec<String>>,
    /// Columns of the file that became features, if only some were chosen.
    pub feature_columns: Option<ColumnList>,
    /// Line of the first row, from 1, if every row is one line.
    pub first_line: Option<u64>,
}

impl Places {
    /// Adds the name of the file to an error of the library. For a value that is not finite, also adds its
    /// line and column in the file, if they are known.
    pub fn explain(&self, source: &Source, error: obcut::Error) -> anyhow::Error {
        if let obcut::Error::Data(DataError::NotFinite { row, col, value, count }) = &error
            && let Some(place) = self.of_value(*row, *col)
        {
            let (place, note) = place;
            let value = if value.is_nan() { "NaN".to_string() } else { value.to_string() };
            return CliError::Data(format!(
                "{}, {place} is {value}; {count} such value(s) in all: remove or fill them first{note}",
                source.display()
            ))
            .into();
        }
        about(source, error)
    }

    /// Line and column of a value, and a note on how they are counted. `None` if rows and columns are the
    /// same in the matrix and in the file.
    fn of_value(&self, row: usize, col: usize) -> Option<(String, String)> {
        let name = self.feature_names.as_ref().and_then(|names| names.get(col));
        let place = self.feature_columns.as_ref().and_then(|columns| columns.get(col));
        let column = match (name, place) {
            (Some(name), _) => format!("column '{name}'"),
            (None, Some(place)) => format!("column {place}"),
            (None, None) => return None,
        };
        let (row, from_zero) = match self.first_line {
            Some(first) => {
                (format!("line {}", first + row as u64), name.is_none().then_some("columns"))
            }
            None if name.is_some() => (format!("row {row}"), Some("rows")),
            None => (format!("row {row}"), Some("rows and columns")),
        };
        let note = from_zero.map(|what| format!(" ({what} count from 0)")).unwrap_or_default();
        Some((format!("{row}, {column}"), note))
    }
}

/// Replaces line breaks and runs of spaces by single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_exit_code() {
        let code = |error: anyhow::Error| Failure::of(&error).exit_code;
        assert_eq!(code(obcut::Error::from(obcut::ParamError::NoClusters).into()), 2);
        assert_eq!(code(obcut::Error::from(DataError::NoWeight).into()), 3);
        assert_eq!(code(about(&Source::Stdin, DataError::NoEdges)), 3);
        assert_eq!(code(obcut::Error::Cancelled.into()), 130);
        assert_eq!(code(CliError::Usage("x".into()).into()), 2);
        assert_eq!(code(CliError::Data("x".into()).into()), 3);
        assert_eq!(code(CliError::Stopped("x".into()).into()), 130);
        assert_eq!(code(anyhow::anyhow!("x")), 1);
    }

    #[test]
    fn a_panic_is_a_failure_of_one_line() {
        let error = guard(|| panic!("two\nlines")).unwrap_err();
        let failure = Failure::of(&error);
        assert_eq!(failure.exit_code, 1);
        assert!(!failure.message.contains('\n'), "{}", failure.message);
        let _ = panic::take_hook();
    }

    #[test]
    fn messages_are_one_line_and_name_the_file() {
        let error = about(&Source::parse("x.csv"), DataError::Csr("a\n b".into()));
        assert_eq!(Failure::of(&error).message, "x.csv: the sparse matrix is invalid: a b");
    }
}
