//! Whole files or none: everything goes to a temporary file in the same folder, which takes the
//! output's name at the end.

mod pieces;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::{Builder, NamedTempFile};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::error::Error;
use crate::npy::header_bytes;

pub use pieces::LabelWriter;

/// Suffixes that labels can be written to.
const LABEL_SUFFIXES: &str = ".npy, .csv, .parquet, .json";

/// The label of a row that is noise; it is written as -1.
pub const NOISE: u32 = u32::MAX;

/// Labels as people know them: -1 for [`NOISE`].
///
/// # Errors
/// When the serializer fails.
pub fn signed<S: serde::Serializer>(labels: &[u32], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(labels.iter().map(|&label| label as i32))
}

/// Labels of all rows, and more about each row if wanted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LabelTable<'a> {
    /// Cluster of every row, or [`NOISE`].
    #[serde(serialize_with = "signed")]
    pub labels: &'a [u32],
    /// The next best cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<&'a [u32]>,
    /// How clear the choice was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<&'a [f64]>,
    /// How sure the label is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<&'a [f64]>,
    /// How far out the row lies; about 1 is usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlier: Option<&'a [f64]>,
}

impl<'a> LabelTable<'a> {
    /// Labels and nothing else.
    pub fn new(labels: &'a [u32]) -> Self {
        Self { labels, ..Self::default() }
    }

    /// The columns of fractions in their order, with their names.
    pub fn figures(&self) -> [(&'static str, Option<&'a [f64]>); 3] {
        let values = [self.margin, self.confidence, self.outlier];
        std::array::from_fn(|i| (FIGURES[i], values[i]))
    }

    /// Whether it has the second cluster, and each of the columns of fractions.
    pub(crate) fn has(&self) -> Has {
        let figures = self.figures().map(|(_, values)| values.is_some());
        Has { second: self.second.is_some(), figures }
    }
}

/// Names of the columns of fractions.
const FIGURES: [&str; 3] = ["margin", "confidence", "outlier"];

/// Columns beside the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Has {
    pub second: bool,
    pub figures: [bool; 3],
}

impl Has {
    /// All or none.
    fn all(wanted: bool) -> Self {
        Self { second: wanted, figures: [wanted; 3] }
    }

    /// Names of the columns of fractions that are there.
    pub(crate) fn figure_names(self) -> impl Iterator<Item = &'static str> {
        FIGURES.into_iter().zip(self.figures).filter_map(|(name, has)| has.then_some(name))
    }
}

/// Checks that labels can be written to `path`, before any work is done for them.
///
/// # Errors
/// When the suffix is unknown, or as [`check_writable`].
pub fn check_output(path: &Path, force: bool) -> Result<(), Error> {
    LabelFormat::from_path(path)?;
    check_writable(path, force)
}

/// Checks that a file of any suffix can be written: it is no folder, absent unless `force`, and
/// its folder is there and takes new files.
///
/// # Errors
/// When one of these does not hold.
pub fn check_writable(path: &Path, force: bool) -> Result<(), Error> {
    if is_special(path) {
        return Ok(());
    }
    check_target(path, force)?;
    temporary(path).map(drop)
}

/// Writes labels in the format that the suffix tells: `.npy` (int32, labels only), `.csv`
/// (`row,label,...`), `.parquet` or `.json`.
///
/// # Errors
/// When the suffix is unknown, the file exists without `force`, or writing fails.
pub fn write_labels(path: &Path, table: &LabelTable<'_>, force: bool) -> Result<(), Error> {
    check_lengths(path, table)?;
    let format = LabelFormat::from_path(path)?;
    write_atomic(path, force, |out| match format {
        LabelFormat::Npy => {
            write_npy_header(out, table.labels.len())?;
            write_npy_labels(out, table.labels)
        }
        LabelFormat::Csv => {
            write_csv_header(out, table.has())?;
            write_csv_rows(out, table, 0)
        }
        LabelFormat::Json => serde_json::to_writer(&mut *out, table)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n")),
        #[cfg(feature = "parquet")]
        LabelFormat::Parquet => crate::parquet::write_labels(out, table),
    })
}

fn check_lengths(path: &Path, table: &LabelTable<'_>) -> Result<(), Error> {
    let n_rows = table.labels.len();
    let figures = table.figures().into_iter().filter_map(|(_, values)| values.map(<[f64]>::len));
    if figures.chain(table.second.map(<[u32]>::len)).any(|n| n != n_rows) {
        let cause = io::Error::other("columns of labels differ in length");
        return Err(failed(path, cause));
    }
    Ok(())
}

enum LabelFormat {
    Npy,
    Csv,
    Json,
    #[cfg(feature = "parquet")]
    Parquet,
}

impl LabelFormat {
    fn from_path(path: &Path) -> Result<Self, Error> {
        let is = |wanted: &str| {
            path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case(wanted))
        };
        if is("npy") {
            return Ok(Self::Npy);
        }
        if is("csv") {
            return Ok(Self::Csv);
        }
        if is("json") {
            return Ok(Self::Json);
        }
        if is("parquet") {
            #[cfg(feature = "parquet")]
            return Ok(Self::Parquet);
            #[cfg(not(feature = "parquet"))]
            return Err(crate::no_parquet(path.display().to_string()));
        }
        Err(Error::OutputSuffix { path: path.display().to_string(), choices: LABEL_SUFFIXES })
    }
}

/// Writes any bytes to a file: first to a temporary file beside it, flushed to the disk, then
/// renamed. Whatever goes wrong, no half file is left. Devices and pipes are written directly.
///
/// # Errors
/// When the file exists without `force`, or its folder cannot be written, or `write` fails.
pub fn write_atomic(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let fail = |cause| failed(path, cause);
    if is_special(path) {
        let file = fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
        let mut out = BufWriter::new(file);
        write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
        return Ok(());
    }
    check_target(path, force)?;
    let mut file = temporary(path)?;
    let mut out = BufWriter::with_capacity(1 << 18, &mut file);
    write(&mut out).and_then(|()| out.flush()).map_err(fail)?;
    drop(out);
    settle(file, path, force)
}

/// Gives a temporary file the output's name, once its bytes are on the disk.
fn settle(file: NamedTempFile, path: &Path, force: bool) -> Result<(), Error> {
    let fail = |cause| failed(path, cause);
    file.as_file().sync_all().map_err(fail)?;
    let moved = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match moved {
        Ok(_) => Ok(()),
        // Somebody else made it since the check.
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::OutputExists { path: path.display().to_string() })
        }
        Err(e) => Err(fail(e.error)),
    }
}

/// Writes a float32 table of the shape given as `.npy`: `fill` writes its numbers, row after row and
/// little-endian.
///
/// # Errors
/// As [`write_atomic`], and when `fill` fails.
pub fn write_npy(
    path: &Path,
    force: bool,
    (n_rows, n_cols): (usize, usize),
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    write_atomic(path, force, |out| {
        out.write_all(&header_bytes("<f4", &[n_rows, n_cols]))?;
        fill(out)
    })
}

/// Writes a sparse matrix as `scipy.sparse.load_npz` reads it.
///
/// # Errors
/// When the arrays do not fit together, or as [`write_atomic`].
pub fn write_csr_npz(
    path: &Path,
    offsets: &[i64],
    columns: &[i32],
    values: &[f64],
    shape: (usize, usize),
    force: bool,
) -> Result<(), Error> {
    let fits = columns.len() == values.len()
        && offsets.len() == shape.0 + 1
        && offsets.last() == Some(&(values.len() as i64));
    if !fits {
        let cause = io::Error::other("offsets, columns, values and shape do not fit together");
        return Err(Error::Write { path: path.display().to_string(), cause });
    }
    // SciPy wants both index arrays of one width; 32 bits are what scikit-learn takes.
    let narrow = i32::try_from(values.len()).is_ok();
    write_atomic(path, force, |out| {
        let mut zip = ZipWriter::new_stream(out);
        let mut add = |name: &str, descr: &str, shape: &[usize], bytes: Bytes<'_>| {
            let options = SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Stored)
                .large_file(true);
            zip.start_file(name, options).map_err(io::Error::other)?;
            zip.write_all(&header_bytes(descr, shape))?;
            bytes.write(&mut zip)
        };
        let pair = [shape.0 as i64, shape.1 as i64];
        add("format.npy", "|S3", &[], Bytes::Raw(b"csr"))?;
        add("shape.npy", "<i8", &[2], Bytes::I64(&pair))?;
        add("data.npy", "<f8", &[values.len()], Bytes::F64(values))?;
        if narrow {
            add("indices.npy", "<i4", &[columns.len()], Bytes::I32(columns))?;
            add("indptr.npy", "<i4", &[offsets.len()], Bytes::Narrow(offsets))?;
        } else {
            add("indices.npy", "<i8", &[columns.len()], Bytes::Wide(columns))?;
            add("indptr.npy", "<i8", &[offsets.len()], Bytes::I64(offsets))?;
        }
        zip.finish().map(drop).map_err(io::Error::other)
    })
}

/// Numbers on their way to a file, little-endian.
enum Bytes<'a> {
    Raw(&'a [u8]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F64(&'a [f64]),
    /// 64 bits that are known to fit 32.
    Narrow(&'a [i64]),
    Wide(&'a [i32]),
}

impl Bytes<'_> {
    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Raw(bytes) => out.write_all(bytes),
            Self::I32(v) => write_each(out, v, i32::to_le_bytes),
            Self::I64(v) => write_each(out, v, i64::to_le_bytes),
            Self::F64(v) => write_each(out, v, f64::to_le_bytes),
            Self::Narrow(v) => write_each(out, v, |x| (x as i32).to_le_bytes()),
            Self::Wide(v) => write_each(out, v, |x| i64::from(x).to_le_bytes()),
        }
    }
}

fn write_each<T: Copy, const W: usize>(
    out: &mut dyn Write,
    values: &[T],
    bytes: impl Fn(T) -> [u8; W],
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(W << 14);
    for chunk in values.chunks(1 << 14) {
        buffer.clear();
        chunk.iter().for_each(|&value| buffer.extend(bytes(value)));
        out.write_all(&buffer)?;
    }
    Ok(())
}

fn write_npy_header(out: &mut dyn Write, n_rows: usize) -> io::Result<()> {
    out.write_all(&header_bytes("<i4", &[n_rows]))
}

fn write_npy_labels(out: &mut dyn Write, labels: &[u32]) -> io::Result<()> {
    // A cluster's number is far below 2^31, and noise becomes -1.
    write_each(out, labels, |label| (label as i32).to_le_bytes())
}

fn write_csv_header(out: &mut dyn Write, has: Has) -> io::Result<()> {
    write!(out, "row,label")?;
    if has.second {
        write!(out, ",second")?;
    }
    for name in has.figure_names() {
        write!(out, ",{name}")?;
    }
    writeln!(out)
}

/// Rows that are numbered from `first` on.
fn write_csv_rows(out: &mut dyn Write, table: &LabelTable<'_>, first: usize) -> io::Result<()> {
    let figures = table.figures();
    for (i, label) in table.labels.iter().enumerate() {
        write!(out, "{},{}", first + i, *label as i32)?;
        if let Some(second) = table.second {
            write!(out, ",{}", second[i])?;
        }
        for values in figures.iter().filter_map(|(_, values)| *values) {
            write!(out, ",{}", values[i])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A device or pipe, which must be written rather than replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn check_target(path: &Path, force: bool) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::IsDirectory { source_name: path.display().to_string() });
    }
    // A dangling link counts as a file that is there.
    if !force && path.symlink_metadata().is_ok() {
        return Err(Error::OutputExists { path: path.display().to_string() });
    }
    Ok(())
}

/// Ending of the names of temporary files, which begin with the number of the process.
const PART: &str = ".part";

fn part_prefix(process: u32) -> String {
    format!(".obcut-{process}-")
}

/// Removes temporary files that a killed process left beside an output.
pub fn remove_parts(path: &Path, process: u32) {
    let Ok(entries) = fs::read_dir(folder_of(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&part_prefix(process)) && name.ends_with(PART) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// A new file in the output's folder, gone again unless it is renamed.
fn temporary(path: &Path) -> Result<NamedTempFile, Error> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Error::OutputFolder {
            path: path.display().to_string(),
            folder: folder.display().to_string(),
        });
    }
    let mut builder = Builder::new();
    let prefix = part_prefix(std::process::id());
    builder.prefix(&prefix).suffix(PART);
    // Temporary files are private by default; an output is for whoever the umask lets read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(&folder).map_err(|cause| failed(path, cause))
}

/// What the system said about an output, without the name of the temporary file that tempfile
/// adds to it: nobody asked for that one, and it is gone.
fn failed(path: &Path, cause: io::Error) -> Error {
    let text = cause.to_string();
    let cause = match text.split_once(" at path ") {
        Some((said, _)) => io::Error::new(cause.kind(), said.to_string()),
        None => cause,
    };
    Error::Write { path: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_is_not_named() {
        let inner = "No space left on device (os error 28) at path \"/x/.obcut-Ab.part\"";
        let error = failed(Path::new("out.csv"), io::Error::other(inner));
        assert_eq!(
            error.to_string(),
            "cannot write out.csv: No space left on device (os error 28)"
        );
        let error = failed(Path::new("out.csv"), io::Error::other("no"));
        assert_eq!(error.to_string(), "cannot write out.csv: no");
    }
}
