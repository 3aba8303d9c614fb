//! Reading of tables and models.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use obcut::{Matrix, Model, RowSource, Samples};
use obcut_data::{Dataset, Format, LoadOptions, RowTable, Source, Truth};
use serde::Serialize;

use crate::failure::{CliError, Places, about};
use crate::interrupt;
use crate::memory::Reading;
use crate::output::{count, plural};
use crate::progress::Watch;

/// Facts on a table that was read.
#[derive(Debug, Serialize)]
pub struct InputFacts {
    file: String,
    format: &'static str,
    dtype: &'static str,
    sparse: bool,
    /// Number of rows.
    pub rows: usize,
    /// Number of features.
    pub columns: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<usize>,
    /// Seconds for reading.
    #[serde(skip)]
    pub seconds: f64,
}

impl InputFacts {
    fn new(
        sources: &[Source],
        format: Format,
        (rows, columns): (usize, usize),
        (dtype, stored): (&'static str, Option<usize>),
        start: Instant,
    ) -> Self {
        Self {
            file: display(sources),
            format: format.name(),
            dtype,
            sparse: stored.is_some(),
            rows,
            columns,
            stored,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// The facts for a report.
    pub fn data(&self) -> obcut_report::Data {
        let kind = match self.stored {
            Some(stored) => format!("{}, {}, {} stored", self.format, self.dtype, count(stored)),
            None => format!("{}, {}", self.format, self.dtype),
        };
        // The title shows the file name; the command line in the report shows its folder.
        let name =
            Path::new(&self.file).file_name().map(|name| name.to_string_lossy().into_owned());
        obcut_report::Data { name, features: self.columns, kind }
    }

    /// `150 rows x 4 features (x.csv: csv, float64)`.
    pub fn text(&self, columns: &str) -> String {
        let sparse = match self.stored {
            Some(stored) => format!(", sparse with {} entries", count(stored)),
            None => String::new(),
        };
        format!(
            "{} x {} ({}: {}, {}{sparse})",
            plural(self.rows, "row"),
            plural(self.columns, columns),
            self.file,
            self.format,
            self.dtype
        )
    }
}

/// A table that was read or opened.
pub struct InputTable {
    /// The rows.
    pub rows: TableRows,
    /// Facts on the table.
    pub facts: InputFacts,
    /// True classes of all rows, if requested.
    pub truth: Option<Truth>,
    /// Weights of all rows, if requested.
    pub weights: Option<Vec<f64>>,
    /// Positions of the values in the file.
    places: Places,
    /// The file, for messages.
    source: Source,
}

/// Rows of a table.
pub enum TableRows {
    /// Rows in memory.
    InMemory(Matrix),
    /// Rows that are read in pieces.
    InPieces(RowTable),
}

impl InputTable {
    /// Reads one file or several files one below the other, or opens them to be read in pieces.
    pub fn read(
        sources: &[Source],
        options: &LoadOptions,
        scratch: Option<&Path>,
        reading: Reading,
        watch: &Watch,
    ) -> anyhow::Result<Self> {
        watch.phase(&format!("reading {}", display(sources)));
        let start = Instant::now();
        match (sources, reading) {
            ([one], Reading::InMemory) => {
                Ok(Self::in_memory(obcut_data::load(one, options)?, sources, start))
            }
            (several, Reading::InMemory) => {
                let data = open(several, options, scratch)?.into_dataset()?;
                Ok(Self::in_memory(data, sources, start))
            }
            (_, Reading::InPieces) => {
                let mut table = open(sources, options, scratch)?;
                let dtype = if table.is_single() { "float32" } else { "float64" };
                let shape = (table.n_rows(), table.n_cols());
                let facts = InputFacts::new(sources, table.format, shape, (dtype, None), start);
                let places = Places {
                    feature_names: table.feature_names.take(),
                    feature_columns: table.feature_columns.take(),
                    first_line: table.first_line,
                };
                let (truth, weights) = (table.truth.take(), table.weights.take());
                let (rows, source) = (TableRows::InPieces(table), named(sources));
                Ok(Self { rows, facts, truth, weights, places, source })
            }
        }
    }

    fn in_memory(data: Dataset, sources: &[Source], start: Instant) -> Self {
        let Dataset { matrix, feature_names, feature_columns, first_line, truth, weights, format } =
            data;
        let shape = (matrix.n_rows(), matrix.n_cols());
        let facts = InputFacts::new(sources, format, shape, kind(&matrix), start);
        let places = Places { feature_names, feature_columns, first_line };
        let (rows, source) = (TableRows::InMemory(matrix), named(sources));
        Self { rows, facts, truth, weights, places, source }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.facts.rows
    }

    /// Number of features.
    pub fn n_cols(&self) -> usize {
        match &self.rows {
            TableRows::InMemory(matrix) => matrix.n_cols(),
            TableRows::InPieces(table) => table.n_cols(),
        }
    }

    /// The rows of a table in memory.
    pub fn samples(&self) -> anyhow::Result<Samples<'_>> {
        match &self.rows {
            TableRows::InMemory(matrix) => matrix.samples().map_err(|error| self.error(error)),
            TableRows::InPieces(_) => bail!("the rows are not in memory"),
        }
    }

    /// Names of the features, empty if the file has none.
    pub fn feature_names(&self) -> &[String] {
        self.places.feature_names.as_deref().unwrap_or_default()
    }

    /// Adds the position in the file to an error of the library.
    pub fn error(&self, error: impl Into<obcut::Error>) -> anyhow::Error {
        self.places.explain(&self.source, error.into())
    }

    /// Adds empty columns to a table from an svmlight file, where the last features may not appear.
    pub fn widen(&mut self, n_features: usize) {
        if self.facts.format != Format::Svmlight.name() {
            return;
        }
        match &mut self.rows {
            TableRows::InMemory(Matrix::Sparse32(x)) => x.n_cols = x.n_cols.max(n_features),
            TableRows::InMemory(Matrix::Sparse64(x)) => x.n_cols = x.n_cols.max(n_features),
            _ => {}
        }
    }
}

/// Replaces patterns and folders by the files in them.
pub fn expand(sources: &[Source]) -> anyhow::Result<Vec<Source>> {
    let mut all = Vec::new();
    for source in sources {
        all.extend(obcut_data::expand(source)?);
    }
    Ok(all)
}

/// The names of several files, for messages.
pub fn display(sources: &[Source]) -> String {
    match sources {
        [] => String::new(),
        [one] => one.display(),
        [first, .., last] => {
            format!("{} to {} ({} files)", first.display(), last.display(), sources.len())
        }
    }
}

/// Several files as one source, for messages.
fn named(sources: &[Source]) -> Source {
    match sources {
        [one] => one.clone(),
        several => Source::Path(display(several).into()),
    }
}

/// Opens a table to be read in pieces.
fn open(
    sources: &[Source],
    options: &LoadOptions,
    scratch: Option<&Path>,
) -> anyhow::Result<RowTable> {
    let mut proceed = |_| !interrupt::requested();
    let opening = || obcut_data::open_rows(sources, options, scratch, &mut proceed);
    let table = interrupt::watched(opening)?;
    if interrupt::requested() {
        return Err(obcut::Error::Cancelled.into());
    }
    Ok(table)
}

/// Type of the values, and the number of stored entries if the matrix is sparse.
fn kind(matrix: &Matrix) -> (&'static str, Option<usize>) {
    match matrix {
        Matrix::Dense32 { .. } => ("float32", None),
        Matrix::Dense64 { .. } => ("float64", None),
        Matrix::Sparse32(x) => ("float32", Some(x.values.len())),
        Matrix::Sparse64(x) => ("float64", Some(x.values.len())),
    }
}

/// Reads a model.
pub fn load_model(source: &Source) -> anyhow::Result<Model> {
    let bytes = read_bytes(source)?;
    Model::from_bytes(&bytes).map_err(|error| about(source, error))
}

fn read_bytes(source: &Source) -> Result<Vec<u8>, CliError> {
    let result = match source {
        Source::Path(path) => fs::read(path),
        Source::Stdin => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
    };
    result.map_err(|cause| {
        let name = source.display();
        CliError::Usage(match cause.kind() {
            ErrorKind::NotFound => format!("{name}: no such file"),
            ErrorKind::IsADirectory => format!("{name} is a folder; give a model file in it"),
            _ => format!("cannot read {name}: {cause}"),
        })
    })
}
