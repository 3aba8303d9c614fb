//! Writing of files that are complete or absent: the bytes go to a temporary file in the same folder, which
//! is renamed at the end. The outputs of one run appear together.

mod labels;

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::error::Error;
use crate::npy::header_bytes;

pub use labels::{LabelFormat, LabelWriter, RowLabels, check_output, write_labels};

/// Checks that a file can be written: it is not a folder, it does not exist (unless `force`), and new files
/// can be created in its folder.
///
/// # Errors
/// When one of these conditions does not hold.
pub fn check_writable(path: &Path, force: bool) -> Result<(), Error> {
    if is_special(path) {
        return Ok(());
    }
    check_target(path, force)?;
    temporary(path).map(drop)
}

/// Writes bytes to a temporary file beside the output, flushes it to the disk and renames it. No partial file
/// is left after an error. Devices and pipes are written directly.
///
/// # Errors
/// When the file exists without `force`, or its folder cannot be written, or `write` fails.
pub fn write_atomic(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut outputs = Outputs::default();
    outputs.write(path, force, write)?;
    outputs.publish()
}

/// The outputs of one run. They are written under temporary names, and appear together when all of them are
/// complete. Dropped before that, nothing is left. Devices and pipes are written directly.
#[derive(Debug, Default)]
pub struct Outputs(Vec<AtomicFile>);

impl Outputs {
    /// Writes a file under a temporary name beside its place, and flushes it to the disk.
    ///
    /// # Errors
    /// When the file exists without `force`, or its folder cannot be written, or `write` fails.
    pub fn write(
        &mut self,
        path: &Path,
        force: bool,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        let (file, mut out) = AtomicFile::create(path, force)?;
        write(&mut out).and_then(|()| out.flush()).map_err(|cause| failed(path, cause))?;
        drop(out);
        self.take(file)
    }

    /// Writes a float32 table as `.npy`. `fill` writes the values row by row, little-endian.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_npy(
        &mut self,
        path: &Path,
        force: bool,
        (n_rows, n_cols): (usize, usize),
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.write(path, force, |out| {
            out.write_all(&header_bytes("<f4", &[n_rows, n_cols]))?;
            fill(out)
        })
    }

    /// Takes a file that is complete.
    fn take(&mut self, file: AtomicFile) -> Result<(), Error> {
        if let Some(temporary) = &file.temporary {
            temporary.as_file().sync_all().map_err(|cause| failed(&file.path, cause))?;
        }
        self.0.push(file);
        Ok(())
    }

    /// Gives all files their names.
    ///
    /// # Errors
    /// When a name was taken meanwhile, or the system refuses one. New files that had their names already are removed;
    /// a file that was overwritten with `force` stays.
    pub fn publish(self) -> Result<(), Error> {
        let mut published: Vec<PathBuf> = Vec::new();
        for file in self.0 {
            let is_new = file.temporary.is_some() && file.path.symlink_metadata().is_err();
            let path = file.path.clone();
            if let Err(error) = file.publish() {
                // What cannot be removed is complete, at least.
                published.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(error);
            }
            published.extend(is_new.then_some(path));
        }
        Ok(())
    }
}

/// A file that is written under a temporary name, so that it is complete or absent.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    force: bool,
    /// The temporary file; `None` for a device or a pipe, which is written directly.
    temporary: Option<NamedTempFile>,
}

impl AtomicFile {
    /// Opens a file for writing. Nothing is left if it is dropped before [`publish`](Self::publish).
    fn create(path: &Path, force: bool) -> Result<(Self, BufWriter<File>), Error> {
        let fail = |cause| failed(path, cause);
        let (file, temporary) = if is_special(path) {
            (File::options().write(true).open(path).map_err(fail)?, None)
        } else {
            check_target(path, force)?;
            let temporary = temporary(path)?;
            (temporary.as_file().try_clone().map_err(fail)?, Some(temporary))
        };
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok((Self { path: path.to_path_buf(), force, temporary }, out))
    }

    /// Gives the file its name.
    fn publish(self) -> Result<(), Error> {
        let Some(file) = self.temporary else { return Ok(()) };
        let moved =
            if self.force { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
        match moved {
            Ok(_) => Ok(()),
            // Another process created the file after the check.
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::OutputExists { path: self.path.display().to_string() })
            }
            Err(e) => Err(failed(&self.path, e.error)),
        }
    }
}

/// Writes a sparse matrix for `scipy.sparse.load_npz`.
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
    // SciPy needs both index arrays in one width, and scikit-learn needs 32 bits.
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

/// Numbers to be written little-endian.
enum Bytes<'a> {
    Raw(&'a [u8]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F64(&'a [f64]),
    /// Integers of 64 bits that fit in 32.
    Narrow(&'a [i64]),
    Wide(&'a [i32]),
}

impl Bytes<'_> {
    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Raw(bytes) => out.write_all(bytes),
            Self::I32(v) => write_each(out, v.iter().copied(), i32::to_le_bytes),
            Self::I64(v) => write_each(out, v.iter().copied(), i64::to_le_bytes),
            Self::F64(v) => write_each(out, v.iter().copied(), f64::to_le_bytes),
            Self::Narrow(v) => write_each(out, v.iter().map(|&x| x as i32), i32::to_le_bytes),
            Self::Wide(v) => write_each(out, v.iter().map(|&x| i64::from(x)), i64::to_le_bytes),
        }
    }
}

fn write_each<T, const W: usize>(
    out: &mut dyn Write,
    values: impl Iterator<Item = T>,
    bytes: impl Fn(T) -> [u8; W],
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(W << 14);
    for value in values {
        buffer.extend(bytes(value));
        if buffer.len() == W << 14 {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)
}

/// Whether a path is a device or a pipe, which must be written rather than replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn check_target(path: &Path, force: bool) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::IsDirectory { source_name: path.display().to_string() });
    }
    // A dangling link counts as an existing file.
    if !force && path.symlink_metadata().is_ok() {
        return Err(Error::OutputExists { path: path.display().to_string() });
    }
    Ok(())
}

/// Beginning and ending of the names of temporary files.
const PART: (&str, &str) = (".obcut-", ".part");

/// Removes the temporary files that killed processes left in a folder. A process holds a lock on its files while it
/// lives.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PART.0)
            && name.ends_with(PART.1)
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            // Files that cannot be removed do no harm.
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

/// Creates a temporary file in the folder of the output.
fn temporary(path: &Path) -> Result<NamedTempFile, Error> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Error::OutputFolder {
            path: path.display().to_string(),
            folder: folder.display().to_string(),
        });
    }
    remove_abandoned(&folder);
    let mut builder = Builder::new();
    builder.prefix(PART.0).suffix(PART.1);
    // Temporary files are private by default; the mode of an output follows the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(&folder).map_err(|cause| failed(path, cause))?;
        match file.as_file().try_lock() {
            // Another process took the new file for an abandoned one.
            Err(TryLockError::WouldBlock) => {}
            // Without locks on this file system, files of killed processes stay.
            Err(TryLockError::Error(_)) => return Ok(file),
            Ok(()) if file.path().exists() => return Ok(file),
            Ok(()) => {}
        }
    }
}

/// The error of the system for an output, without the name of the temporary file, which is removed.
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
