//! Reading, with what is told about it afterwards.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Instant;

use obcut::{Matrix, Model, RowSource};
use obcut_data::{Dataset, LoadOptions, RowTable, Source};
use serde::Serialize;

use crate::failure::{Fault, about};
use crate::interrupt;
use crate::output::{count, plural};
use crate::progress::Watch;

/// What was read.
#[derive(Debug, Serialize)]
pub struct InputFacts {
    file: String,
    format: &'static str,
    dtype: &'static str,
    sparse: bool,
    /// Rows of the table.
    pub rows: usize,
    /// Columns that are used.
    pub columns: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<usize>,
    /// Seconds that reading took.
    #[serde(skip)]
    pub seconds: f64,
}

impl InputFacts {
    /// The same for a report.
    pub fn data(&self) -> obcut_report::Data {
        let kind = match self.stored {
            Some(stored) => format!("{}, {}, {} stored", self.format, self.dtype, count(stored)),
            None => format!("{}, {}", self.format, self.dtype),
        };
        // The title has room for the name of the file, the command below tells its folder.
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

/// Reads a table.
pub fn load(
    source: &Source,
    options: &LoadOptions,
    watch: &Watch,
) -> anyhow::Result<(Dataset, InputFacts)> {
    load_all(std::slice::from_ref(source), options, None, watch)
}

/// Reads several tables, one below the other.
pub fn load_all(
    sources: &[Source],
    options: &LoadOptions,
    scratch: Option<&Path>,
    watch: &Watch,
) -> anyhow::Result<(Dataset, InputFacts)> {
    watch.phase(&format!("reading {}", display(sources)));
    let start = Instant::now();
    let data = match sources {
        [one] => obcut_data::load(one, options)?,
        several => open(several, options, scratch, watch)?.0.into_dataset()?,
    };
    let (dtype, stored) = kind(&data.matrix);
    let facts = InputFacts {
        file: display(sources),
        format: data.format.name(),
        dtype,
        sparse: stored.is_some(),
        rows: data.matrix.n_rows(),
        columns: data.matrix.n_cols(),
        stored,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((data, facts))
}

/// The files that are meant: patterns and folders become the files in them.
pub fn expand(sources: &[Source]) -> anyhow::Result<Vec<Source>> {
    let mut all = Vec::new();
    for source in sources {
        all.extend(obcut_data::expand(source)?);
    }
    Ok(all)
}

/// Several files as messages name them.
pub fn display(sources: &[Source]) -> String {
    match sources {
        [] => String::new(),
        [one] => one.display(),
        [first, .., last] => {
            format!("{} to {} ({} files)", first.display(), last.display(), sources.len())
        }
    }
}

/// The same as if they were one.
pub fn named(sources: &[Source]) -> Source {
    match sources {
        [one] => one.clone(),
        several => Source::Path(display(several).into()),
    }
}

/// Opens a table to be read in pieces.
pub fn open(
    sources: &[Source],
    options: &LoadOptions,
    scratch: Option<&Path>,
    watch: &Watch,
) -> anyhow::Result<(RowTable, InputFacts)> {
    watch.phase(&format!("reading {}", display(sources)));
    let start = Instant::now();
    let mut go_on = |_| !interrupt::requested();
    let opening = || obcut_data::open_rows(sources, options, scratch, &mut go_on);
    let table = interrupt::watched(opening)?;
    if interrupt::requested() {
        return Err(obcut::Error::Cancelled.into());
    }
    let facts = InputFacts {
        file: display(sources),
        format: table.format.name(),
        dtype: if table.is_single() { "float32" } else { "float64" },
        sparse: false,
        rows: table.n_rows(),
        columns: table.n_cols(),
        stored: None,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((table, facts))
}

/// Type of the numbers, and how many are stored when the matrix is sparse.
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

fn read_bytes(source: &Source) -> Result<Vec<u8>, Fault> {
    let result = match source {
        Source::Path(path) => fs::read(path),
        Source::Stdin => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
    };
    result.map_err(|cause| {
        let name = source.display();
        Fault::Usage(match cause.kind() {
            ErrorKind::NotFound => format!("{name}: no such file"),
            ErrorKind::IsADirectory => format!("{name} is a folder; name a model file in it"),
            _ => format!("cannot read {name}: {cause}"),
        })
    })
}
