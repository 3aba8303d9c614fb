//! A scratch file without a name for decoded numbers. It is removed even if the process is killed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::raw::{Place, Shared};
use crate::error::Error;
use crate::values::Float;

/// Number of bytes in the buffer.
const BUFFER: usize = 1 << 20;

/// A scratch file that is being written.
pub(crate) struct ScratchFile<W: Write = File> {
    folder: PathBuf,
    out: BufWriter<W>,
    /// Number of bytes written so far.
    pub n_bytes: u64,
    buffer: Vec<u8>,
}

impl ScratchFile {
    /// Creates the file in a folder, by default that of temporary files.
    pub(crate) fn new(folder: Option<&Path>) -> Result<Self, Error> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Ok(Self::to(folder, file)),
            Err(cause) => Err(failed(&folder, 0, cause)),
        }
    }

    /// Finishes writing and returns the file for reading.
    pub(crate) fn finish(self) -> Result<Place, Error> {
        let Self { folder, out, n_bytes, .. } = self;
        let file = out.into_inner().map_err(|e| failed(&folder, n_bytes, e.into_error()))?;
        Ok(Place::Open(Arc::new(Shared::new(file))))
    }
}

impl<W: Write> ScratchFile<W> {
    fn to(folder: PathBuf, file: W) -> Self {
        let out = BufWriter::with_capacity(BUFFER, file);
        Self { folder, out, n_bytes: 0, buffer: Vec::new() }
    }

    /// Adds numbers, little-endian.
    pub(crate) fn numbers<T: Float>(&mut self, values: &[T]) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for chunk in values.chunks(BUFFER / 8) {
            buffer.clear();
            chunk.iter().for_each(|value| value.store(&mut buffer));
            self.bytes(&buffer)?;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Adds bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.n_bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|cause| failed(&self.folder, self.n_bytes, cause))
    }
}

fn failed(folder: &Path, n_bytes: u64, cause: io::Error) -> Error {
    // The name of the temporary file is of no use in a message.
    let text = cause.to_string();
    let cause = match text.split_once(" at path ") {
        Some((said, _)) => io::Error::new(cause.kind(), said.to_string()),
        None => cause,
    };
    Error::Scratch { folder: folder.display().to_string(), n_bytes, cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A disk with room for three megabytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            match self.0 > 3 << 20 {
                true => Err(io::Error::from(io::ErrorKind::StorageFull)),
                false => Ok(bytes.len()),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_with_its_folder_and_what_to_do() {
        let mut scratch = ScratchFile::to("/disk/tmp".into(), Small(0));
        let error = (0..8).find_map(|_| scratch.numbers(&[1.5f64; 1 << 17]).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::System);
        assert_eq!(
            error.to_string(),
            "cannot write the scratch file in /disk/tmp, which needs 4194304 bytes or more: \
             no storage space; name another folder with `scratch` or TMPDIR"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = ScratchFile::new(Some(&folder.path().join("no"))).err().unwrap().to_string();
        assert!(error.contains("no") && !error.contains(" at path "), "{error}");
    }
}
