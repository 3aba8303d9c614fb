//! Sources of bytes: files and standard input, decompressed while they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::detect::{Format, Magic, check_head};
use crate::error::Error;

/// Maximum number of bytes of a line of text, so that a binary file without line ends does not fill the memory.
pub(crate) const MAX_LINE: usize = 1 << 28;

/// Number of bytes that are inspected to choose a reader.
const HEAD: u64 = 1 << 16;

/// The source of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    Path(PathBuf),
}

impl Source {
    /// Parses a source: `-` is standard input, anything else is a path.
    pub fn parse(text: &str) -> Self {
        match text {
            "-" => Self::Stdin,
            path => Self::Path(path.into()),
        }
    }

    /// The name of the source, for messages.
    pub fn display(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_string(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// An open source, with its format, whose bytes are decompressed.
pub(crate) struct Input {
    /// The name of the source, for messages.
    pub name: String,
    pub format: Format,
    /// All bytes from the start.
    pub reader: Box<dyn BufRead>,
    /// Exact number of bytes, if known: that of an uncompressed file.
    pub length: Option<u64>,
    /// The file, if it is not compressed.
    pub plain: Option<PathBuf>,
    /// Number of bytes read from the source so far, before decompression.
    pub taken: Arc<AtomicU64>,
    /// Number of bytes of the file, compressed or not.
    pub file_length: Option<u64>,
    /// Maximum number of bytes of a line of text.
    pub max_line: usize,
}

/// A reader with random access, for zip and Parquet files.
pub(crate) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

impl Input {
    /// Opens a source, determines its format (as given, else by file extension, else by content) and checks
    /// that the first bytes match.
    pub(crate) fn open(source: &Source, format: Option<Format>) -> Result<Self, Error> {
        let (input, head) = Self::open_any(source)?;
        let format = match (format, source) {
            (Some(format), _) => format,
            (None, Source::Path(path)) => Format::from_path(path)?,
            (None, Source::Stdin) => match Magic::of(&head) {
                Some(Magic::Known(format)) => format,
                _ => Format::Csv,
            },
        };
        check_head(&input.name, &head, format)?;
        Ok(Self { format, ..input })
    }

    /// Opens a source of any format, such as JSON, and also returns its first bytes.
    pub(crate) fn open_any(source: &Source) -> Result<(Self, Vec<u8>), Error> {
        let name = source.display();
        let fail = |cause| Error::reading(&name, cause);
        let mut length = None;
        let mut plain = None;
        let raw: Box<dyn BufRead> = match source {
            Source::Stdin => Box::new(io::stdin().lock()),
            Source::Path(path) => {
                let file = open_file(path)?;
                let meta = file.metadata().map_err(fail)?;
                // A pipe has a path too, but no length, and cannot be read again.
                if meta.is_file() {
                    length = Some(meta.len());
                    plain = Some(path.clone());
                }
                Box::new(BufReader::with_capacity(1 << 18, file))
            }
        };
        let (head, reader) = peek(raw).map_err(fail)?;
        let taken = Arc::new(AtomicU64::new(0));
        let mut reader: Box<dyn BufRead> = Box::new(Counted { reader, taken: taken.clone() });
        let file_length = length;
        let packing = Magic::of(&head);
        if let Source::Path(path) = source {
            check_packing(&name, path, &head, packing)?;
        }
        let mut head = head;
        if let Some(Magic::Gzip | Magic::Zstd) = packing {
            (length, plain) = (None, None);
            let unpacked: Box<dyn Read> = match packing {
                Some(Magic::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
                _ => Box::new(zstd::Decoder::with_buffer(reader).map_err(fail)?),
            };
            let buffered = Box::new(BufReader::with_capacity(1 << 18, unpacked));
            (head, reader) = peek(buffered).map_err(fail)?;
        }
        // The caller sets the format.
        let (format, max_line) = (Format::Csv, MAX_LINE);
        Ok((Self { name, format, reader, length, plain, taken, file_length, max_line }, head))
    }

    /// Creates an input from bytes in memory, for tests.
    #[cfg(test)]
    pub(crate) fn from_bytes(name: &str, bytes: Vec<u8>, format: Format) -> Result<Self, Error> {
        check_head(name, &bytes[..bytes.len().min(HEAD as usize)], format)?;
        Ok(Self {
            name: name.to_string(),
            format,
            length: Some(bytes.len() as u64),
            reader: Box::new(Cursor::new(bytes)),
            plain: None,
            taken: Arc::default(),
            file_length: None,
            max_line: MAX_LINE,
        })
    }

    /// Converts to bytes with random access: the file itself, or a copy in memory.
    pub(crate) fn seekable(self) -> Result<(String, Seekable), Error> {
        let Self { name, plain, mut reader, .. } = self;
        if let Some(path) = plain {
            return Ok((name, Seekable::File(open_file(&path)?)));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|e| Error::reading(&name, e))?;
        Ok((name, Seekable::Memory(bytes)))
    }
}

/// A reader that counts bytes.
struct Counted {
    reader: Box<dyn BufRead>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        self.reader.consume(n);
    }
}

/// Bytes with random access.
pub(crate) enum Seekable {
    File(File),
    Memory(Vec<u8>),
}

impl Seekable {
    /// Converts to a reader.
    pub(crate) fn reader(self) -> Box<dyn ReadSeek> {
        match self {
            Self::File(file) => Box::new(BufReader::with_capacity(1 << 16, file)),
            Self::Memory(bytes) => Box::new(Cursor::new(bytes)),
        }
    }
}

/// Opens a file, with separate errors for a missing file and a folder.
pub(crate) fn open_file(path: &Path) -> Result<File, Error> {
    let source_name = path.display().to_string();
    if path.is_dir() {
        return Err(Error::IsDirectory { source_name });
    }
    File::open(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Error::NotFound { source_name },
        _ => Error::Read { source_name, cause },
    })
}

/// Checks that a file is compressed if its extension says so: an incomplete download may not be.
fn check_packing(
    name: &str,
    path: &Path,
    head: &[u8],
    packing: Option<Magic>,
) -> Result<(), Error> {
    let suffix = path.extension().and_then(|s| s.to_str()).unwrap_or("").to_ascii_lowercase();
    let promised = match suffix.as_str() {
        "gz" => Magic::Gzip,
        "zst" => Magic::Zstd,
        _ => return Ok(()),
    };
    if head.is_empty() {
        return Err(Error::Empty { source_name: name.to_string() });
    }
    if packing != Some(promised) {
        let problem =
            format!("the file extension is .{suffix} but the content is not compressed this way");
        return Err(Error::damaged(name, problem));
    }
    Ok(())
}

/// Returns the first bytes, and a reader that starts with them again.
fn peek(mut reader: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD).read_to_end(&mut head)?;
    let all = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(all)))
}
