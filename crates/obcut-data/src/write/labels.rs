//! Files of labels: one sink for every format, which takes the rows in order and in batches of any size.

mod csv;
mod json;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use obcut::RowScore;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{AtomicFile, Outputs, check_writable, failed};
use crate::error::Error;

/// Names of the columns beside the label: the second-best cluster, then fractions.
const COLUMNS: [&str; 4] = ["second", "margin", "confidence", "outlier"];

/// Labels of some rows, alone or with the scores of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RowLabels {
    /// Cluster of every row, -1 for noise.
    Plain(Vec<i32>),
    /// Cluster, second-best cluster, margin, confidence and outlier score of every row.
    Scored(Vec<RowScore>),
}

impl RowLabels {
    /// Labels of which none is noise.
    pub fn of_clusters(labels: &[u32]) -> Self {
        // A cluster's number is far below 2^31.
        Self::Plain(labels.iter().map(|&label| label as i32).collect())
    }

    /// No rows, to be extended.
    pub fn empty(with_scores: bool) -> Self {
        if with_scores { Self::Scored(Vec::new()) } else { Self::Plain(Vec::new()) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(labels) => labels.len(),
            Self::Scored(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the rows have scores.
    pub fn with_scores(&self) -> bool {
        matches!(self, Self::Scored(_))
    }

    /// Cluster of a row, -1 for noise.
    pub fn label(&self, row: usize) -> i32 {
        match self {
            Self::Plain(labels) => labels[row],
            Self::Scored(rows) => rows[row].label_or_noise(),
        }
    }

    /// Cluster of every row, -1 for noise.
    pub fn labels(&self) -> impl Iterator<Item = i32> {
        (0..self.len()).map(|row| self.label(row))
    }

    /// Number of rows of every cluster; noise counts in none.
    pub fn sizes(&self, n_clusters: usize) -> Vec<usize> {
        let mut sizes = vec![0; n_clusters];
        self.labels().filter(|&label| label >= 0).for_each(|label| sizes[label as usize] += 1);
        sizes
    }

    /// Scores of the rows; empty when they have none.
    pub fn scores(&self) -> &[RowScore] {
        match self {
            Self::Plain(_) => &[],
            Self::Scored(rows) => rows,
        }
    }

    /// Adds the rows of another list; scores only when both have them.
    pub fn extend(&mut self, rows: &Self) {
        self.extend_range(rows, 0..rows.len());
    }

    fn extend_range(&mut self, rows: &Self, range: Range<usize>) {
        match (self, rows) {
            (Self::Scored(all), Self::Scored(rows)) => all.extend_from_slice(&rows[range]),
            (Self::Plain(all), rows) => all.extend(range.map(|row| rows.label(row))),
            (Self::Scored(_), Self::Plain(_)) => {}
        }
    }

    /// Removes all rows and keeps the memory for new ones.
    pub fn clear(&mut self) {
        match self {
            Self::Plain(labels) => labels.clear(),
            Self::Scored(rows) => rows.clear(),
        }
    }

    /// Writes one line per row: the label, then the scores. `number` numbers the lines from there on.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write_lines(&self, out: &mut dyn Write, number: Option<usize>) -> io::Result<()> {
        for row in 0..self.len() {
            if let Some(first) = number {
                write!(out, "{},", first + row)?;
            }
            write!(out, "{}", self.label(row))?;
            if let Some(score) = self.scores().get(row) {
                write!(out, ",{}", score.second)?;
                for value in fractions(score) {
                    write!(out, ",{value}")?;
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Columns of JSON: an object with a list per column.
impl Serialize for RowLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_map(None)?;
        columns.serialize_entry("labels", &self.labels().collect::<Vec<i32>>())?;
        if self.with_scores() {
            let rows = self.scores();
            let second: Vec<u32> = rows.iter().map(|row| row.second).collect();
            columns.serialize_entry(COLUMNS[0], &second)?;
            for (j, name) in COLUMNS[1..].iter().enumerate() {
                let values: Vec<f64> = rows.iter().map(|row| fractions(row)[j]).collect();
                columns.serialize_entry(name, &values)?;
            }
        }
        columns.end()
    }
}

/// The columns of fractions.
fn fractions(row: &RowScore) -> [f64; 3] {
    [row.margin, row.confidence, row.outlier]
}

/// A format of labels: begins with its header when it is made, takes rows in order, ends with its footer.
trait Sink: std::fmt::Debug {
    /// Takes the next rows, the first of which is row `first` of the table.
    fn push(&mut self, rows: &RowLabels, first: usize) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What a sink writes to.
type Out = BufWriter<std::fs::File>;
/// Starts a sink for so many rows, with or without scores.
type Begin = fn(Out, usize, bool) -> io::Result<Box<dyn Sink>>;

/// A format of labels.
#[derive(Clone, Copy, Debug)]
pub struct LabelFormat {
    /// The file extension, without the dot.
    pub extension: &'static str,
    /// Whether it holds the scores of the rows.
    pub holds_scores: bool,
    /// Missing for Parquet in a build without it.
    begin: Option<Begin>,
}

const fn format(extension: &'static str, holds_scores: bool, begin: Begin) -> LabelFormat {
    LabelFormat { extension, holds_scores, begin: Some(begin) }
}

impl LabelFormat {
    /// Every format. A new one is a file and a line here.
    pub const ALL: &'static [Self] = &[
        format("npy", false, npy::begin),
        format("csv", true, csv::begin),
        #[cfg(feature = "parquet")]
        format("parquet", true, parquet::begin),
        #[cfg(not(feature = "parquet"))]
        Self { extension: "parquet", holds_scores: true, begin: None },
        format("json", true, json::begin),
    ];

    /// The format that the file extension names.
    ///
    /// # Errors
    /// When the extension is unknown.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let extension = path.extension().unwrap_or_default();
        let named = |format: &&Self| extension.eq_ignore_ascii_case(format.extension);
        Self::ALL.iter().find(named).copied().ok_or_else(|| {
            let all: Vec<String> = Self::ALL.iter().map(|f| format!(".{}", f.extension)).collect();
            Error::OutputSuffix { path: path.display().to_string(), choices: all.join(", ") }
        })
    }

    /// Whether this build writes the format.
    pub fn is_available(self) -> bool {
        self.begin.is_some()
    }

    /// The file extensions as a message lists them, of all formats or of those that hold scores:
    /// `.csv, .parquet or .json`.
    pub fn extensions(with_scores: bool) -> String {
        let chosen = Self::ALL.iter().filter(|format| format.holds_scores || !with_scores);
        let mut all: Vec<String> = chosen.map(|format| format!(".{}", format.extension)).collect();
        let last = all.pop().unwrap_or_default();
        if all.is_empty() { last } else { format!("{} or {last}", all.join(", ")) }
    }
}

/// What starts the format that the file extension names.
fn begin(path: &Path) -> Result<Begin, Error> {
    let format = LabelFormat::from_path(path)?;
    format.begin.ok_or_else(|| crate::no_parquet(path.display().to_string()))
}

/// Checks that labels can be written to `path`, before any work is done for them.
///
/// # Errors
/// When the file extension is unknown, or as [`check_writable`].
pub fn check_output(path: &Path, force: bool) -> Result<(), Error> {
    begin(path)?;
    check_writable(path, force)
}

/// Writes labels in the format that the file extension names, see [`LabelFormat::ALL`].
///
/// # Errors
/// When the extension is unknown, the file exists without `force`, or writing fails.
pub fn write_labels(path: &Path, rows: &RowLabels, force: bool) -> Result<(), Error> {
    let mut writer = LabelWriter::begin(path, force, rows.len(), rows.with_scores())?;
    writer.push(rows)?;
    let mut outputs = Outputs::default();
    writer.finish(&mut outputs)?;
    outputs.publish()
}

/// Writes labels in batches, to the same bytes as [`write_labels`]. They go to a temporary file beside
/// the output, which [`finish`](Self::finish) hands over; dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct LabelWriter {
    file: AtomicFile,
    sink: Box<dyn Sink>,
    n_rows: usize,
    n_written: usize,
    with_scores: bool,
}

impl LabelWriter {
    /// Starts an output of `n_rows` labels, with scores if every batch has them; a format that
    /// holds none keeps only the labels.
    ///
    /// # Errors
    /// When the file extension is unknown, the file exists without `force`, or its folder cannot be
    /// written.
    pub fn begin(
        path: &Path,
        force: bool,
        n_rows: usize,
        with_scores: bool,
    ) -> Result<Self, Error> {
        let begin = begin(path)?;
        let (file, out) = AtomicFile::create(path, force)?;
        let sink = begin(out, n_rows, with_scores).map_err(|cause| failed(path, cause))?;
        Ok(Self { file, sink, n_rows, n_written: 0, with_scores })
    }

    /// Adds the labels of the next rows.
    ///
    /// # Errors
    /// When writing fails, or the rows are not what was announced.
    pub fn push(&mut self, rows: &RowLabels) -> Result<(), Error> {
        if rows.with_scores() != self.with_scores {
            return Err(self.refused("the columns of a batch are not those that were announced"));
        }
        let n_written = self.n_written.saturating_add(rows.len());
        if n_written > self.n_rows {
            return Err(self.miscounted(n_written));
        }
        self.sink.push(rows, self.n_written).map_err(|cause| failed(&self.file.path, cause))?;
        self.n_written = n_written;
        Ok(())
    }

    /// Completes the file and adds it to the outputs of the run.
    ///
    /// # Errors
    /// When labels are missing, or writing fails; then nothing is left.
    pub fn finish(self, outputs: &mut Outputs) -> Result<(), Error> {
        if self.n_written != self.n_rows {
            return Err(self.miscounted(self.n_written));
        }
        self.sink.finish().map_err(|cause| failed(&self.file.path, cause))?;
        outputs.take(self.file)
    }

    fn refused(&self, problem: &str) -> Error {
        failed(&self.file.path, io::Error::other(problem))
    }

    fn miscounted(&self, found: usize) -> Error {
        self.refused(&format!("{found} labels where {} were announced", self.n_rows))
    }
}
