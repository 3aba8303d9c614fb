//! Errors of reading and writing files: a variant per cause, with a message of one line and a remedy.

use std::io;

use crate::detect::Format;
use crate::message::shorten;

/// An error of reading or writing a file. `source_name` is the name that the user gave to the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // --- the request cannot be met: usage ---
    /// The file does not exist.
    #[error("{source_name}: no such file")]
    NotFound {
        /// The file.
        source_name: String,
    },
    /// A folder was given instead of a file.
    #[error("{source_name} is a folder; give a file in it")]
    IsDirectory {
        /// The folder.
        source_name: String,
    },
    /// The file extension is unknown.
    #[error("{source_name}: unknown file extension; give `format`, one of {}", Format::NAMES)]
    UnknownSuffix {
        /// The file.
        source_name: String,
    },
    /// The name of a format is unknown.
    #[error("unknown format '{word}'; choose one of {}", Format::NAMES)]
    UnknownFormat {
        /// The word.
        word: String,
    },
    /// A column is not in the table.
    #[error("{source_name} has no column '{column}'; {hint}")]
    NoColumn {
        /// The file.
        source_name: String,
        /// The requested column.
        column: String,
        /// The nearest name, or the names that exist.
        hint: String,
    },
    /// A column of a model is not in the table, or was excluded.
    #[error("{source_name} has no column '{column}', which the model needs; {hint}")]
    NeededColumn {
        /// The file.
        source_name: String,
        /// The column of the model.
        column: String,
        /// The names that exist, or why the column is not used.
        hint: String,
    },
    /// A column has two roles.
    #[error("column '{column}' is both {role} and a feature; remove it from `columns`")]
    TwoRoles {
        /// The column.
        column: String,
        /// `the truth` or `the weights`.
        role: &'static str,
    },
    /// A column was chosen twice.
    #[error("column '{column}' is chosen twice; name it once in `columns`")]
    ChosenTwice {
        /// The column.
        column: String,
    },
    /// No feature is left.
    #[error("{source_name}: no feature column is left; see `columns`, `drop` and `truth`")]
    NoFeatures {
        /// The file.
        source_name: String,
    },
    /// An array is not in the file.
    #[error("{source_name} has no array '{variable}'; {hint}")]
    NoVariable {
        /// The file.
        source_name: String,
        /// The requested array.
        variable: String,
        /// The arrays that exist.
        hint: String,
    },
    /// Several arrays, or none, could be the features.
    #[error("{source_name}: cannot determine the array of features; {hint}")]
    WhichVariable {
        /// The file.
        source_name: String,
        /// The arrays that exist, and how to choose.
        hint: String,
    },
    /// An option does not apply to the format.
    #[error("{source_name}: {option} cannot be used with {format} files; {hint}")]
    Option {
        /// The file.
        source_name: String,
        /// The option.
        option: &'static str,
        /// The format.
        format: Format,
        /// What to do instead.
        hint: &'static str,
    },
    /// The program was built without the format.
    #[error("{source_name}: this build cannot handle {format} files; {hint}")]
    NotBuilt {
        /// The file.
        source_name: String,
        /// The format.
        format: Format,
        /// The remedy.
        hint: &'static str,
    },
    /// The output exists already.
    #[error("{path} exists; use `overwrite=true` to replace it")]
    OutputExists {
        /// The output.
        path: String,
    },
    /// The file extension of an output is unknown.
    #[error("{path}: unknown file extension for the output; use one of {choices}")]
    OutputSuffix {
        /// The output.
        path: String,
        /// The known file extensions.
        choices: String,
    },
    /// The folder of an output does not exist.
    #[error("{path}: the folder {folder} does not exist; create it first")]
    OutputFolder {
        /// The output.
        path: String,
        /// Its folder.
        folder: String,
    },

    /// A folder holds no tables.
    #[error(
        "{source_name} holds no .parquet, .csv, .tsv or .npy file; give a file, or a pattern such as 'part-*'"
    )]
    NoTables {
        /// The folder.
        source_name: String,
    },
    /// No file matches a pattern.
    #[error("no file matches '{pattern}'")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// No source was given.
    #[error("no table is given; give at least one file")]
    NoSource,
    /// The format can only be loaded whole.
    #[error("{source_name}: {format} files cannot be read in pieces; convert it to npy or parquet")]
    NotInPieces {
        /// The file.
        source_name: String,
        /// The format.
        format: Format,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,

    // --- the system failed ---
    /// The scratch file could not be written.
    #[error(
        "cannot write the scratch file in {folder}, which needs {n_bytes} bytes or more: {cause}; name another folder with `scratch` or TMPDIR"
    )]
    Scratch {
        /// Its folder.
        folder: String,
        /// Number of bytes that it needed so far.
        n_bytes: u64,
        /// The error of the system.
        cause: io::Error,
    },
    /// Reading failed.
    #[error("cannot read {source_name}: {cause}")]
    Read {
        /// The file.
        source_name: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// Writing failed.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// The output.
        path: String,
        /// The error of the system.
        cause: io::Error,
    },

    // --- the data is bad ---
    /// The file is empty.
    #[error("{source_name} is empty")]
    Empty {
        /// The file.
        source_name: String,
    },
    /// The table has no rows or no columns.
    #[error("{source_name} holds {n_rows} rows x {n_cols} columns; at least one of each is needed")]
    NoRows {
        /// The file.
        source_name: String,
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
        n_cols: usize,
    },
    /// The content does not match the file extension or the requested format.
    #[error("{source_name} is not a {expected} file; {found}")]
    WrongFormat {
        /// The file.
        source_name: String,
        /// The expected format.
        expected: Format,
        /// What the content looks like, and the remedy.
        found: String,
    },
    /// A file in a text format is not text.
    #[error("{source_name} is not a text file ({problem}); {found}")]
    NotText {
        /// The file.
        source_name: String,
        /// The invalid bytes.
        problem: String,
        /// What the content looks like, and the remedy.
        found: String,
    },
    /// A row has a different number of cells than the first row.
    #[error(
        "{source_name}, line {line}: {found} cells where the first line has {expected}; check quotes and delimiters"
    )]
    Ragged {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// Number of cells in the line.
        found: usize,
        /// Number of cells in the first line.
        expected: usize,
    },
    /// A cell in a column of numbers is text.
    #[error(
        "{source_name}, line {line}, column '{column}': '{text}' is not a number; exclude the column with `columns` or `drop`, or name it with `truth`"
    )]
    NotANumber {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// Name or index of the column.
        column: String,
        /// The text of the cell, shortened.
        text: String,
    },
    /// A cell is empty or null.
    #[error(
        "{source_name}, {place}, column '{column}' has no value; fill it, remove the row, or exclude the column with `drop`"
    )]
    Missing {
        /// The file.
        source_name: String,
        /// `line 3` (from 1) or `row 2` (from 0).
        place: String,
        /// Name or index of the column.
        column: String,
    },
    /// A line of a text file cannot be read.
    #[error("{source_name}, line {line}: {problem}")]
    Line {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// The problem.
        problem: String,
    },
    /// The file changed between two readings of it.
    #[error("{source_name} changed while it was read; start again when nothing writes to it")]
    Changed {
        /// The file.
        source_name: String,
    },
    /// A file violates its format, or ends early.
    #[error("{source_name} is damaged or truncated: {problem}")]
    Damaged {
        /// The file.
        source_name: String,
        /// The problem.
        problem: String,
    },
    /// A valid file holds something that is not supported.
    #[error("{source_name}: {problem}")]
    Unsupported {
        /// The file.
        source_name: String,
        /// The problem, and the remedy.
        problem: String,
    },
    /// A table has a different number of columns than the first table.
    #[error(
        "{source_name} has {found} feature columns where {first} has {expected}; choose the same columns with `columns`, or read the files separately"
    )]
    OtherColumns {
        /// The file.
        source_name: String,
        /// The first file.
        first: String,
        /// Number of feature columns of the file.
        found: usize,
        /// Number of feature columns of the first file.
        expected: usize,
    },
    /// A table has different column names than the first table.
    #[error(
        "{source_name}: feature {place} is called '{found}' where {first} has '{expected}'; give the columns in the same order with `columns`"
    )]
    OtherNames {
        /// The file.
        source_name: String,
        /// The first file.
        first: String,
        /// Index of the feature, from 0.
        place: usize,
        /// Name of the feature in the file.
        found: String,
        /// Name of the feature in the first file.
        expected: String,
    },
    /// Truth, weights or labels have a different length than the table.
    #[error("{source_name}: {role} '{name}' has {found} entries for {expected} rows")]
    Length {
        /// The file.
        source_name: String,
        /// `truth` or `weights`.
        role: &'static str,
        /// Name of the column or array.
        name: String,
        /// Number of entries.
        found: usize,
        /// Number of rows of the table.
        expected: usize,
    },
    /// A class is missing, not finite, or too large for an exact number.
    #[error("{source_name}: the label of row {row} is {problem} (rows count from 0)")]
    Label {
        /// The file.
        source_name: String,
        /// Index of the row, from 0.
        row: usize,
        /// The problem.
        problem: String,
    },
}

/// What an error is caused by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request: a file that is not there, a column that the table does not have.
    Request,
    /// The data: a file that is damaged, a value that is not a number.
    Data,
    /// The system: a full disk, a missing permission.
    System,
}

impl Error {
    /// Whether the request, the data or the system is the cause.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. }
            | Self::IsDirectory { .. }
            | Self::UnknownSuffix { .. }
            | Self::UnknownFormat { .. }
            | Self::NoColumn { .. }
            | Self::NeededColumn { .. }
            | Self::TwoRoles { .. }
            | Self::ChosenTwice { .. }
            | Self::NoFeatures { .. }
            | Self::NoVariable { .. }
            | Self::WhichVariable { .. }
            | Self::Option { .. }
            | Self::NotBuilt { .. }
            | Self::OutputExists { .. }
            | Self::OutputSuffix { .. }
            | Self::OutputFolder { .. }
            | Self::NoTables { .. }
            | Self::NoMatch { .. }
            | Self::NoSource
            | Self::NotInPieces { .. }
            | Self::Cancelled => ErrorKind::Request,
            Self::Scratch { .. } | Self::Read { .. } | Self::Write { .. } => ErrorKind::System,
            Self::Empty { .. }
            | Self::NoRows { .. }
            | Self::WrongFormat { .. }
            | Self::NotText { .. }
            | Self::Ragged { .. }
            | Self::NotANumber { .. }
            | Self::Missing { .. }
            | Self::Line { .. }
            | Self::Damaged { .. }
            | Self::Changed { .. }
            | Self::Unsupported { .. }
            | Self::OtherColumns { .. }
            | Self::OtherNames { .. }
            | Self::Length { .. }
            | Self::Label { .. } => ErrorKind::Data,
        }
    }

    /// The error of a failed read. Errors that the system did not raise come from a decoder: the file is
    /// damaged.
    pub(crate) fn reading(source_name: &str, cause: io::Error) -> Self {
        let source_name = source_name.to_string();
        if cause.raw_os_error().is_some() {
            return Self::Read { source_name, cause };
        }
        let problem = match cause.kind() {
            io::ErrorKind::UnexpectedEof => "the file ends too early".to_string(),
            _ => shorten(&cause.to_string(), 120),
        };
        Self::Damaged { source_name, problem }
    }

    /// The error of a damaged file.
    pub(crate) fn damaged(source_name: &str, problem: impl Into<String>) -> Self {
        Self::Damaged { source_name: source_name.to_string(), problem: problem.into() }
    }

    /// The error of a valid file that is not supported.
    pub(crate) fn unsupported(source_name: &str, problem: impl Into<String>) -> Self {
        Self::Unsupported { source_name: source_name.to_string(), problem: problem.into() }
    }

    /// The error of a line that cannot be read.
    pub(crate) fn line(source_name: &str, line: u64, problem: impl Into<String>) -> Self {
        Self::Line { source_name: source_name.to_string(), line, problem: problem.into() }
    }
}
