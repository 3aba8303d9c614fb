#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module          | does                                                        |
//! |-----------------|-------------------------------------------------------------|
//! | `source`        | opens a file or standard input, decompresses gzip and zstd   |
//! | `detect`        | detects the format by file extension and first bytes         |
//! | `csv` ...       | one module per format                                        |
//! | `values`        | converts binary numbers to `f32` or `f64` in bulk            |
//! | `sparse`        | converts triples and compressed columns to compressed rows   |
//! | `columns`       | selects the columns for features, truth and weights          |
//! | `variables`     | selects the array of features in an NPZ or MAT file          |
//! | `rows`          | reads tables in pieces, without loading them                 |
//! | `digits`        | holds the data set that comes with the crate                 |
//! | `labels`        | reads one class per row                                      |
//! | `write`         | writes files that are complete or absent                     |
//! | `message`       | shortens texts, suggests similar names                       |
//!
//! Readers do not trust the sizes in a header: memory grows with the bytes that are read.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod columns;
mod csv;
mod detect;
mod digits;
mod error;
mod labels;
mod mat;
mod matrix_market;
mod message;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod source;
mod sparse;
mod svmlight;
mod text;
mod values;
mod variables;
mod write;

use serde::Serialize;

pub use columns::ColumnList;
pub use detect::Format;
pub use digits::{DIGITS_CSV_GZ, digits, digits_csv};
pub use error::{Error, ErrorKind};
pub use labels::{Truth, load_labels};
pub use message::visible;
pub use rows::{Measure, RowTable, expand, measure, open_rows};
pub use source::Source;
pub use write::{
    LabelFormat, LabelWriter, Outputs, RowLabels, check_output, check_writable, write_atomic,
    write_csr_npz, write_labels,
};

use source::{Input, MAX_LINE};

/// Options for reading a table.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The format. Default: inferred from the file extension.
    pub format: Option<Format>,
    /// CSV: whether the first line is a header. Default: inferred from the cells.
    pub header: Option<bool>,
    /// CSV: the delimiter. Default: a comma or a tab, or the delimiter of the first line.
    pub delimiter: Option<u8>,
    /// Feature columns in this order: names, indices from 0, or ranges of indices (`3-7`).
    pub columns: Option<Vec<String>>,
    /// Columns to exclude, in the same notation.
    pub drop: Vec<String>,
    /// Names of the features of a model. If the table has names too, these columns become the features,
    /// in this order, and none of them may be excluded.
    pub needed: Vec<String>,
    /// Column or array (NPZ, MAT) of true classes. It is excluded from the features.
    pub truth: Option<String>,
    /// Column or array of sample weights. It is excluded from the features.
    pub weights: Option<String>,
    /// NPZ, MAT: the array of features. Default: `X`, `fea`, `data`, `features` or `x`, else the only
    /// numeric table.
    pub variable: Option<String>,
    /// Whether features are read in single or double precision. Default: single if it holds every value of
    /// the type in the file.
    pub single: Option<bool>,
    /// Text formats: maximum number of bytes of a line. Default, and at most: 256 MiB.
    pub max_line: Option<usize>,
}

/// A table with everything that a fit needs.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Samples in rows. `f32` and small integers are in single precision, other types in double.
    pub matrix: obcut::Matrix,
    /// Names of the features, if the file has names.
    pub feature_names: Option<Vec<String>>,
    /// Columns of the file that became features, if only some were chosen.
    pub feature_columns: Option<ColumnList>,
    /// CSV: line of the first row, from 1, if every row is one line.
    pub first_line: Option<u64>,
    /// True classes, if requested (svmlight: always).
    pub truth: Option<Truth>,
    /// Sample weights, if requested.
    pub weights: Option<Vec<f64>>,
    /// The format of the file.
    pub format: Format,
}

/// The content of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The format.
    pub format: Format,
    /// Number of rows of the table, or of the array of features.
    pub rows: usize,
    /// Number of columns, including truth and weights.
    pub cols: usize,
    /// Stored type by its NumPy name; `mixed` for columns of several types.
    pub dtype: String,
    /// Number of stored entries, if sparse.
    pub stored: Option<usize>,
    /// Names of the columns, if the file has names.
    pub columns: Option<Vec<String>>,
    /// CSV: indices of the columns with text among their first cells. Parquet: indices of all columns
    /// that are not numeric.
    pub text_columns: Vec<usize>,
    /// NPZ, MAT: name, shape and type of every array.
    pub arrays: Vec<(String, Vec<usize>, String)>,
    /// NPZ, MAT: whether the array of features is unknown; then rows and columns are 0.
    pub undecided: bool,
}

impl Description {
    /// Creates the description of a table without names.
    fn new(format: Format, (rows, cols): (usize, usize), dtype: &str) -> Self {
        Self {
            format,
            rows,
            cols,
            dtype: dtype.to_string(),
            stored: None,
            columns: None,
            text_columns: Vec::new(),
            arrays: Vec::new(),
            undecided: false,
        }
    }
}

/// Reads a table.
///
/// # Errors
/// When the file is missing, damaged, of another format, or a chosen column is not in it.
pub fn load(source: &Source, options: &LoadOptions) -> Result<Dataset, Error> {
    let input = open(source, options)?;
    let data = match input.format {
        Format::Csv | Format::Tsv => csv::load(input, options),
        Format::Npy => npy::load(input, options),
        Format::Npz => npz::load(input, options),
        Format::Mat => mat::load(input, options),
        Format::Svmlight => svmlight::load(input, options),
        Format::MatrixMarket => matrix_market::load(input, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::load(input, options),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(input.name)),
    }?;
    Ok(Dataset { matrix: values::in_precision(data.matrix, options.single), ..data })
}

/// Reads only the classes that `options.truth` names, by default those of [`load_labels`]. The content of
/// the other columns does not matter.
///
/// # Errors
/// When the file is missing, damaged, of another format, or the column is not in it.
pub fn load_truth(source: &Source, options: &LoadOptions) -> Result<Truth, Error> {
    let Some(word) = &options.truth else {
        return load_labels(source);
    };
    let input = open(source, options)?;
    match input.format {
        Format::Csv | Format::Tsv => csv::load_truth(input, word, options),
        Format::Npz => npz::load_truth(input, word),
        Format::Mat => mat::load_truth(input, word),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::load_truth(input, word),
        // These formats hold only numbers: the column is taken from the whole table.
        format => {
            let name = input.name.clone();
            let options = LoadOptions { truth: options.truth.clone(), ..LoadOptions::default() };
            let data = match format {
                Format::Npy => npy::load(input, &options),
                Format::Svmlight => svmlight::load(input, &options),
                Format::MatrixMarket => matrix_market::load(input, &options),
                _ => load(source, &options),
            };
            data?.truth.ok_or_else(|| Error::damaged(&name, "it holds no classes"))
        }
    }
}

/// Describes the content of a file. Reads no more of it than needed.
///
/// # Errors
/// When the file is missing, damaged or of another format.
pub fn describe(source: &Source, options: &LoadOptions) -> Result<Description, Error> {
    let input = open(source, options)?;
    match input.format {
        Format::Csv | Format::Tsv => csv::describe(input, options),
        Format::Npy => npy::describe(input),
        Format::Npz => npz::describe(input, options),
        Format::Mat => mat::describe(input, options),
        Format::Svmlight => svmlight::describe(input),
        Format::MatrixMarket => matrix_market::describe(input),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::describe(input),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(input.name)),
    }
}

/// Opens a source and checks that the options apply to its format.
fn open(source: &Source, options: &LoadOptions) -> Result<Input, Error> {
    let mut input = Input::open(source, options.format)?;
    input.max_line = options.max_line.unwrap_or(MAX_LINE).min(MAX_LINE);
    if options.variable.is_some() && !matches!(input.format, Format::Npz | Format::Mat) {
        return Err(Error::Option {
            source_name: input.name,
            option: "`variable`",
            format: input.format,
            hint: "only npz and mat files hold several arrays; choose columns with `columns`",
        });
    }
    Ok(input)
}

/// The error for Parquet files in a build without Parquet.
fn no_parquet(source_name: String) -> Error {
    let hint = "build with the feature 'parquet', or use CSV or NPY";
    Error::NotBuilt { source_name, format: Format::Parquet, hint }
}

/// Runs a reader of another crate that may panic on damaged input, and turns a panic into an error. Nothing
/// that the closure changed is used afterwards.
fn without_panic<T>(
    source_name: &str,
    read: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::damaged(source_name, "its parts contradict each other")))
}
