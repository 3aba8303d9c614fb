#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! | module          | does                                                        |
//! |-----------------|-------------------------------------------------------------|
//! | `source`        | opens a file or standard input, unpacks gzip and zstd        |
//! | `detect`        | format by suffix and by first bytes                          |
//! | `csv` ...       | one module per format                                        |
//! | `values`        | binary numbers to `f32` / `f64` in bulk                      |
//! | `sparse`        | triples and compressed columns to compressed rows            |
//! | `columns`       | which columns are features, truth and weights                |
//! | `variables`     | which array of an NPZ or MAT file holds the features         |
//! | `rows`          | tables that are read in pieces, never whole                  |
//! | `digits`        | the data set that is shipped                                 |
//! | `labels`        | one class per row                                            |
//! | `write`         | whole files or none                                          |
//! | `message`       | texts made short, names that were perhaps meant              |
//!
//! A reader never takes memory on a header's word: it grows with the bytes that are there.

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

pub use detect::Format;
pub use digits::{DIGITS_CSV_GZ, digits, digits_csv};
pub use error::Error;
pub use labels::{Truth, load_labels};
pub use rows::{Measure, RowTable, expand, measure, open_rows};
pub use source::Source;
pub use write::{
    LabelWriter, RowLabels, check_output, check_writable, remove_parts, write_atomic,
    write_csr_npz, write_labels, write_npy,
};

use source::Input;

/// How a table is read.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The format; by default the suffix tells it.
    pub format: Option<Format>,
    /// CSV: whether the first line holds names; by default its cells tell.
    pub header: Option<bool>,
    /// CSV: what parts the cells; by default a comma or a tab, or what the first line uses.
    pub delimiter: Option<u8>,
    /// Feature columns in this order: names, numbers from 0, or ranges of numbers (`3-7`).
    pub columns: Option<Vec<String>>,
    /// Columns to leave out, named likewise.
    pub drop: Vec<String>,
    /// Names of the features of a model: where the table has names too, these columns are the
    /// features, in this order, and each must be among those that are left.
    pub needed: Vec<String>,
    /// Column or array (NPZ, MAT) of known classes; never a feature.
    pub truth: Option<String>,
    /// Column or array of sample weights; never a feature.
    pub weights: Option<String>,
    /// NPZ, MAT: the array of features. By default `X`, `fea`, `data`, `features`, `x`, else the
    /// only numeric table.
    pub variable: Option<String>,
    /// Whether features come in single precision, else in double; by default as the type of the
    /// file needs it.
    pub single: Option<bool>,
}

/// A table, ready for a fit.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Samples in rows. `f32` and small integers come in single precision, the rest in double.
    pub matrix: obcut::Matrix,
    /// Names of the features, where the file has them.
    pub feature_names: Option<Vec<String>>,
    /// Columns of the file that the features come from, when some were chosen or left out.
    pub feature_columns: Option<Vec<usize>>,
    /// CSV: line of the first row, from 1, when every row is the line after the one before.
    pub first_line: Option<u64>,
    /// Known classes, if asked for (svmlight: always).
    pub truth: Option<Truth>,
    /// Sample weights, if asked for.
    pub weights: Option<Vec<f64>>,
    /// The format it was read from.
    pub format: Format,
}

/// What is in a file.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The format.
    pub format: Format,
    /// Rows of the table, or of the array of features.
    pub rows: usize,
    /// All its columns, truth and weights included.
    pub cols: usize,
    /// Stored type in NumPy's words; `mixed` for columns of several types.
    pub dtype: String,
    /// Stored entries, if sparse.
    pub stored: Option<usize>,
    /// Names of the columns, where the file has them.
    pub columns: Option<Vec<String>>,
    /// CSV: numbers of the columns with text among their first cells; Parquet: all that are no
    /// numbers.
    pub text_columns: Vec<usize>,
    /// NPZ, MAT: every array as (name, shape, type).
    pub arrays: Vec<(String, Vec<usize>, String)>,
    /// NPZ, MAT: whether the array of features cannot be told; then rows and columns are 0.
    pub undecided: bool,
}

impl Description {
    /// Of a table without names, whose shape is known.
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

/// Reads only the classes that `options.truth` names; without it, those of [`load_labels`]. What
/// the other columns hold does not matter.
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
        // Nothing but numbers: the column is taken out of the whole.
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

/// Tells what is in a file, reading no more of it than needed.
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

/// Opens a source whose format has a use for the options.
fn open(source: &Source, options: &LoadOptions) -> Result<Input, Error> {
    let input = Input::open(source, options.format)?;
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

/// Parquet was left out of this build.
#[cfg(not(feature = "parquet"))]
fn no_parquet(source_name: String) -> Error {
    let hint = "build with the feature 'parquet', or use CSV or NPY";
    Error::NotBuilt { source_name, format: Format::Parquet, hint }
}

/// Runs a third-party reader that may panic on damaged input: the user gets an error all the
/// same. Nothing the closure touched is used afterwards.
fn without_panic<T>(
    source_name: &str,
    read: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::damaged(source_name, "its parts contradict each other")))
}
