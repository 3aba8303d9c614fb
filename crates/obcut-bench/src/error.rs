//! What can go wrong with a suite.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of a benchmark as a whole; that of one run is a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such suite.
    #[error("there is no suite '{name}'; shipped are {shipped}, or name a TOML file")]
    NoSuite {
        /// As it was given.
        name: String,
        /// The names there are.
        shipped: String,
    },
    /// A suite says something that cannot be.
    #[error("suite {name}: {what}")]
    Suite {
        /// The suite.
        name: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A file or folder cannot be used.
    #[error("cannot {verb} {}: {cause}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A line of a file of records is not one.
    #[error("{}, line {line}: {cause}; mend or remove the file", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why not.
        cause: serde_json::Error,
    },
    /// None of the data sets is there.
    #[error(
        "none of the data sets of suite {suite} is there: {missing}; set OBCUT_DATA to a folder with NAME.npz, or give --data NAME=FILE"
    )]
    NoData {
        /// The suite.
        suite: String,
        /// Their names.
        missing: String,
    },
    /// Records of one data set under the name of another.
    #[error(
        "the finished runs of {data} are of other data ({was}; now {is}); use another --out, or --fresh to start anew"
    )]
    OtherData {
        /// The name.
        data: String,
        /// What the records are of.
        was: String,
        /// What is there now.
        is: String,
    },
    /// A given file is missing.
    #[error("data set {data}: {}: no such file", path.display())]
    NoFile {
        /// The data set.
        data: String,
        /// The file.
        path: PathBuf,
    },
    /// A process for a run cannot be started.
    #[error("cannot start a run: {0}")]
    Start(io::Error),
    /// The runs cannot be done because of a fault of ours.
    #[error("{0}")]
    Broken(String),
    /// Asked to stop. What was finished is kept.
    #[error("interrupted; finished runs are kept, start again to go on")]
    Interrupted,
}

impl Error {
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |cause| Self::File { verb, path, cause }
    }

    pub(crate) fn suite(name: &str, what: impl Into<String>) -> Self {
        Self::Suite { name: name.into(), what: what.into() }
    }
}
