//! Failures: the message, its kind, and the exit code.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use obcut_data::Source;
use serde::Serialize;
use serde_json::json;

/// Exit code of an interrupted run.
pub const INTERRUPTED: u8 = 130;

/// A fault that the command finds by itself.
#[derive(Debug)]
pub enum Fault {
    /// Wrong use: exit code 2.
    Usage(String),
    /// Bad data: exit code 3.
    Data(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Usage(text) | Self::Data(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Fault {}

/// What a failed run tells.
#[derive(Debug, Serialize)]
pub struct Failure {
    message: String,
    kind: &'static str,
    /// Exit code of the process.
    pub exit_code: u8,
}

impl Failure {
    /// Sorts an error by the first cause that is known.
    pub fn of(error: &anyhow::Error) -> Self {
        let (kind, exit_code) = error.chain().find_map(sort).unwrap_or(("failed", 1));
        let message = if exit_code == INTERRUPTED {
            "interrupted; nothing was written".to_string()
        } else {
            one_line(&format!("{error:#}"))
        };
        Self { message, kind, exit_code }
    }

    /// What clap says of the arguments, without the usage lines.
    pub fn of_arguments(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.split("\nUsage:").next().unwrap_or_default();
        let text = text.split("\nFor more information").next().unwrap_or_default();
        let message = one_line(text.trim_start_matches("error: "));
        Self { message, kind: "usage", exit_code: 2 }
    }

    /// A run that a signal ended.
    pub fn interrupted() -> Self {
        Self::of(&obcut::Error::Cancelled.into())
    }

    /// Prints the failure: one line on standard error, or one document on standard output.
    pub fn print(&self, json: bool) {
        if json {
            // A reader that has gone away misses nothing that the exit code does not say.
            let _ = crate::output::print_json(&json!({ "error": self }));
        } else {
            let red = crate::output::RED;
            anstream::eprintln!("{red}error:{red:#} {}", self.message);
        }
    }
}

/// Runs a command; a panic in it becomes an error of one line. Readers of foreign files catch
/// panics of their own, so nothing is printed when one starts, unless a backtrace is asked for.
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
        Err(anyhow::anyhow!("this is a fault of the program, please report it: {place}"))
    })
}

/// Whether standard output was closed by its reader, which is no failure.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Kind and exit code of one link of a chain of causes.
fn sort(cause: &(dyn std::error::Error + 'static)) -> Option<(&'static str, u8)> {
    if let Some(fault) = cause.downcast_ref::<Fault>() {
        return Some(match fault {
            Fault::Usage(_) => ("usage", 2),
            Fault::Data(_) => ("data", 3),
        });
    }
    if let Some(error) = cause.downcast_ref::<obcut_data::Error>() {
        return Some(if error.is_usage() { ("usage", 2) } else { ("data", 3) });
    }
    Some(match cause.downcast_ref::<obcut::Error>()? {
        obcut::Error::Params(_) => ("usage", 2),
        obcut::Error::Data(_) => ("data", 3),
        obcut::Error::Model(_) => ("model", 3),
        obcut::Error::Cancelled => ("interrupted", INTERRUPTED),
        _ => ("failed", 1),
    })
}

/// An error of the library with the name of the file that it is about.
pub fn about(source: &Source, error: impl Into<obcut::Error>) -> anyhow::Error {
    let error = error.into();
    let is_about_file = matches!(error, obcut::Error::Data(_) | obcut::Error::Model(_));
    let error = anyhow::Error::from(error);
    if is_about_file { error.context(source.display()) } else { error }
}

/// A text without line breaks and without runs of blanks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use obcut::DataError;

    use super::*;

    #[test]
    fn every_kind_has_its_exit_code() {
        let code = |error: anyhow::Error| Failure::of(&error).exit_code;
        assert_eq!(code(obcut::Error::from(obcut::ParamError::NoClusters).into()), 2);
        assert_eq!(code(obcut::Error::from(DataError::NoWeight).into()), 3);
        assert_eq!(code(about(&Source::Stdin, DataError::NoEdges)), 3);
        assert_eq!(code(obcut::Error::Cancelled.into()), 130);
        assert_eq!(code(Fault::Usage("x".into()).into()), 2);
        assert_eq!(code(Fault::Data("x".into()).into()), 3);
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
        assert_eq!(Failure::of(&error).message, "x.csv: the sparse matrix is broken: a b");
    }
}
