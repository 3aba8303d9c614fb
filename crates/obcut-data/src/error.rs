//! What can be wrong with a file: one variant per cause, one line per message, and what to do.

use std::io;

use crate::detect::Format;
use crate::message::shorten;

/// Any failure of reading or writing a file. `source_name` is the file as the user named it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // --- what was asked for cannot be done: usage ---
    /// The file is not there.
    #[error("{source_name}: no such file")]
    NotFound {
        /// The file.
        source_name: String,
    },
    /// A folder where a file is needed.
    #[error("{source_name} is a folder; name a file in it")]
    IsDirectory {
        /// The folder.
        source_name: String,
    },
    /// A suffix that tells no format.
    #[error("{source_name}: the suffix tells no format; give `format`, one of {}", Format::NAMES)]
    UnknownSuffix {
        /// The file.
        source_name: String,
    },
    /// A word that names no format.
    #[error("unknown format '{word}'; choose one of {}", Format::NAMES)]
    UnknownFormat {
        /// The word.
        word: String,
    },
    /// A column that is not in the table.
    #[error("{source_name} has no column '{column}'; {hint}")]
    NoColumn {
        /// The file.
        source_name: String,
        /// The column asked for.
        column: String,
        /// The nearest name, or what there is.
        hint: String,
    },
    /// A column of a model that is not in the table, or was left out.
    #[error("{source_name} has no column '{column}', which the model needs; {hint}")]
    NeededColumn {
        /// The file.
        source_name: String,
        /// The column of the model.
        column: String,
        /// What there is, or why it is not used.
        hint: String,
    },
    /// One column in two roles.
    #[error("column '{column}' is {role} and a feature at once; take it out of `columns`")]
    TwoRoles {
        /// The column.
        column: String,
        /// `the truth` or `the weights`.
        role: &'static str,
    },
    /// A column chosen twice.
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
    /// An array that is not in the file.
    #[error("{source_name} has no array '{variable}'; {hint}")]
    NoVariable {
        /// The file.
        source_name: String,
        /// The array asked for.
        variable: String,
        /// What there is.
        hint: String,
    },
    /// Several arrays could be the features, or none.
    #[error("{source_name}: cannot tell which array holds the features; {hint}")]
    WhichVariable {
        /// The file.
        source_name: String,
        /// What there is, and how to choose.
        hint: String,
    },
    /// An option that the format has no use for.
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
    /// Built without the format.
    #[error("{source_name}: this build cannot handle {format} files; {hint}")]
    NotBuilt {
        /// The file.
        source_name: String,
        /// The format.
        format: Format,
        /// What to do.
        hint: &'static str,
    },
    /// The output is there already.
    #[error("{path} exists; use `overwrite=true` to replace it")]
    OutputExists {
        /// The output.
        path: String,
    },
    /// An output with a suffix that tells no format.
    #[error("{path}: the suffix tells no output format; use one of {choices}")]
    OutputSuffix {
        /// The output.
        path: String,
        /// Known suffixes.
        choices: &'static str,
    },
    /// The folder of an output is not there.
    #[error("{path}: the folder {folder} does not exist; make it first")]
    OutputFolder {
        /// The output.
        path: String,
        /// Its folder.
        folder: String,
    },

    /// A folder without tables.
    #[error(
        "{source_name} holds no .parquet, .csv, .tsv or .npy file; name a file, or a pattern such as 'part-*'"
    )]
    NoTables {
        /// The folder.
        source_name: String,
    },
    /// A pattern that no file matches.
    #[error("no file matches '{pattern}'")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// No source at all.
    #[error("no table is given; name at least one file")]
    NoSource,
    /// A format that must be read whole.
    #[error("{source_name}: {format} files cannot be read in pieces; convert it to npy or parquet")]
    NotInPieces {
        /// The file.
        source_name: String,
        /// The format.
        format: Format,
    },
    /// Whoever watched asked to stop.
    #[error("cancelled")]
    Cancelled,

    // --- the system said no ---
    /// The scratch file could not be written.
    #[error(
        "cannot write the scratch file in {folder}, which needs {n_bytes} bytes or more: {cause}; name another folder with `scratch` or TMPDIR"
    )]
    Scratch {
        /// Its folder.
        folder: String,
        /// Bytes it has had to hold so far.
        n_bytes: u64,
        /// What the system said.
        cause: io::Error,
    },
    /// Reading failed.
    #[error("cannot read {source_name}: {cause}")]
    Read {
        /// The file.
        source_name: String,
        /// What the system said.
        cause: io::Error,
    },
    /// Writing failed.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// The output.
        path: String,
        /// What the system said.
        cause: io::Error,
    },

    // --- the data is bad ---
    /// Nothing in the file.
    #[error("{source_name} is empty")]
    Empty {
        /// The file.
        source_name: String,
    },
    /// A table without rows or without columns.
    #[error("{source_name} holds {n_rows} rows x {n_cols} columns; at least one of each is needed")]
    NoRows {
        /// The file.
        source_name: String,
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
    },
    /// The content is another format than the suffix or `--format` says.
    #[error("{source_name} is not a {expected} file; {found}")]
    WrongFormat {
        /// The file.
        source_name: String,
        /// The format that was expected.
        expected: Format,
        /// What the content looks like, and what to do.
        found: String,
    },
    /// Bytes that are no text in a text format.
    #[error("{source_name} is not a text file ({problem}); {found}")]
    NotText {
        /// The file.
        source_name: String,
        /// The bytes at fault.
        problem: String,
        /// What the content looks like, and what to do.
        found: String,
    },
    /// A row with another number of cells than the first.
    #[error(
        "{source_name}, line {line}: {found} cells where the first line has {expected}; check quotes and delimiters"
    )]
    Ragged {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// Cells in the line.
        found: usize,
        /// Cells in the first line.
        expected: usize,
    },
    /// Text in a column of numbers.
    #[error(
        "{source_name}, line {line}, column '{column}': '{text}' is no number; leave the column out with `columns` or `drop`, or name it with `truth`"
    )]
    NotANumber {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// Name or number of the column.
        column: String,
        /// The cell, shortened.
        text: String,
    },
    /// An empty cell, or a null.
    #[error(
        "{source_name}, {place}, column '{column}' has no value; fill it, remove the row, or leave the column out with `drop`"
    )]
    Missing {
        /// The file.
        source_name: String,
        /// `line 3` (from 1) or `row 2` (from 0).
        place: String,
        /// Name or number of the column.
        column: String,
    },
    /// A line of a text format that cannot be read.
    #[error("{source_name}, line {line}: {problem}")]
    Line {
        /// The file.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A file that breaks the rules of its format, or ends early.
    #[error("{source_name} is damaged or cut short: {problem}")]
    Damaged {
        /// The file.
        source_name: String,
        /// What is wrong.
        problem: String,
    },
    /// A sound file with something this program does not read.
    #[error("{source_name}: {problem}")]
    Unsupported {
        /// The file.
        source_name: String,
        /// What it is, and what to do.
        problem: String,
    },
    /// A table of other columns than the one it follows.
    #[error(
        "{source_name} has {found} feature columns where {first} has {expected}; choose the same with `columns`, or read them apart"
    )]
    OtherColumns {
        /// The file.
        source_name: String,
        /// The first file.
        first: String,
        /// Feature columns of the file.
        found: usize,
        /// Feature columns of the first.
        expected: usize,
    },
    /// A table whose columns are called otherwise than those of the one it follows.
    #[error(
        "{source_name}: feature {place} is called '{found}' where {first} has '{expected}'; name the columns in one order with `columns`"
    )]
    OtherNames {
        /// The file.
        source_name: String,
        /// The first file.
        first: String,
        /// Number of the feature, from 0.
        place: usize,
        /// Its name in the file.
        found: String,
        /// Its name in the first.
        expected: String,
    },
    /// Truth, weights or labels of another length than the table.
    #[error("{source_name}: {role} '{name}' has {found} entries for {expected} rows")]
    Length {
        /// The file.
        source_name: String,
        /// `truth` or `weights`.
        role: &'static str,
        /// Name of the column or array.
        name: String,
        /// Entries there are.
        found: usize,
        /// Rows of the table.
        expected: usize,
    },
    /// A class that is missing, not finite, or a number too large to be told from its neighbours.
    #[error("{source_name}: the label of row {row} is {problem} (rows count from 0)")]
    Label {
        /// The file.
        source_name: String,
        /// Row, from 0.
        row: usize,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// Whether the request is at fault (exit code 2) rather than the data (exit code 3).
    pub fn is_usage(&self) -> bool {
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
            | Self::Cancelled
            | Self::Scratch { .. }
            | Self::Read { .. }
            | Self::Write { .. } => true,
            Self::Empty { .. }
            | Self::NoRows { .. }
            | Self::WrongFormat { .. }
            | Self::NotText { .. }
            | Self::Ragged { .. }
            | Self::NotANumber { .. }
            | Self::Missing { .. }
            | Self::Line { .. }
            | Self::Damaged { .. }
            | Self::Unsupported { .. }
            | Self::OtherColumns { .. }
            | Self::OtherNames { .. }
            | Self::Length { .. }
            | Self::Label { .. } => false,
        }
    }

    /// A failed read: what the system says is its own; anything else is a decoder's complaint
    /// about the bytes.
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

    /// A broken rule of the format.
    pub(crate) fn damaged(source_name: &str, problem: impl Into<String>) -> Self {
        Self::Damaged { source_name: source_name.to_string(), problem: problem.into() }
    }

    /// Sound, but not for us.
    pub(crate) fn unsupported(source_name: &str, problem: impl Into<String>) -> Self {
        Self::Unsupported { source_name: source_name.to_string(), problem: problem.into() }
    }

    /// A line that cannot be read.
    pub(crate) fn line(source_name: &str, line: u64, problem: impl Into<String>) -> Self {
        Self::Line { source_name: source_name.to_string(), line, problem: problem.into() }
    }
}
