//! Which format a file has: by suffix, by the user's word, and by its first bytes.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::Error;

/// The formats of tables, after `.gz` or `.zst` is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text with commas (or semicolons).
    Csv,
    /// Text with tabs.
    Tsv,
    /// One NumPy array.
    Npy,
    /// Several NumPy arrays, or a sparse matrix of SciPy.
    Npz,
    /// Parquet.
    Parquet,
    /// MATLAB 5 to 7.
    Mat,
    /// `target index:value ...` lines, as LIBSVM has them.
    Svmlight,
    /// MatrixMarket.
    MatrixMarket,
}

impl Format {
    /// All names, for messages.
    pub(crate) const NAMES: &'static str =
        "csv, tsv, npy, npz, parquet, mat, svmlight, matrixmarket";

    /// The word for `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Parquet => "parquet",
            Self::Mat => "mat",
            Self::Svmlight => "svmlight",
            Self::MatrixMarket => "matrixmarket",
        }
    }

    /// The format that a file's suffix tells.
    ///
    /// # Errors
    /// When the suffix is unknown or missing.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let suffix = inner_suffix(path);
        match suffix.as_str() {
            "pq" => Ok(Self::Parquet),
            "tab" => Ok(Self::Tsv),
            "svm" | "svml" | "libsvm" => Ok(Self::Svmlight),
            "mtx" | "mm" => Ok(Self::MatrixMarket),
            word => word
                .parse()
                .map_err(|_| Error::UnknownSuffix { source_name: path.display().to_string() }),
        }
    }

    /// Whether files of the format are text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Svmlight | Self::MatrixMarket)
    }
}

/// The suffix in lower case, with a compression suffix taken off first.
pub(crate) fn inner_suffix(path: &Path) -> String {
    let suffix_of = |path: &Path| {
        path.extension().and_then(|s| s.to_str()).map(str::to_ascii_lowercase).unwrap_or_default()
    };
    match suffix_of(path).as_str() {
        "gz" | "zst" => suffix_of(Path::new(path.file_stem().unwrap_or_default())),
        suffix => suffix.to_string(),
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        use Format::*;
        [Csv, Tsv, Npy, Npz, Parquet, Mat, Svmlight, MatrixMarket]
            .into_iter()
            .find(|format| format.name() == word.to_ascii_lowercase())
            .ok_or_else(|| Error::UnknownFormat { word: word.to_string() })
    }
}

/// What the first bytes of a file give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Magic {
    /// One of ours.
    Known(Format),
    /// HDF5, which MATLAB calls v7.3.
    Hdf5,
    Gzip,
    Zstd,
    Utf16,
    /// A known format that holds no table for us, by name.
    Foreign(&'static str),
}

impl Magic {
    /// Looks at the first bytes; 128 of them suffice.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let known: [(&[u8], Self); 16] = [
            (b"\x93NUMPY", Self::Known(Format::Npy)),
            (b"PK\x03\x04", Self::Known(Format::Npz)),
            (b"PK\x05\x06", Self::Known(Format::Npz)),
            (b"PAR1", Self::Known(Format::Parquet)),
            (b"%%MatrixMarket", Self::Known(Format::MatrixMarket)),
            (b"\x89HDF\r\n\x1a\n", Self::Hdf5),
            (b"MATLAB 7.3", Self::Hdf5),
            (b"\x1f\x8b", Self::Gzip),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"\xff\xfe", Self::Utf16),
            (b"\xfe\xff", Self::Utf16),
            (b"ARROW1", Self::Foreign("an Arrow/Feather file")),
            (b"BZh", Self::Foreign("a bzip2 file")),
            (b"\xfd7zXZ", Self::Foreign("an xz file")),
            (b"%PDF", Self::Foreign("a PDF file")),
            (b"\xd0\xcf\x11\xe0", Self::Foreign("an old Excel file")),
        ];
        if let Some((_, magic)) = known.iter().find(|(bytes, _)| head.starts_with(bytes)) {
            return Some(*magic);
        }
        // A MAT file has free text first; its byte-order mark sits at the end of the header.
        let mark = head.get(124..128)?;
        let is_mat = mark == b"\x00\x01IM" || mark == b"\x01\x00MI";
        is_mat.then_some(Self::Known(Format::Mat))
    }

    /// "looks like ...; do ..." for a message.
    fn advice(self) -> String {
        match self {
            Self::Known(Format::Npz) => {
                "it looks like an NPZ (or another zip) file; use `format=npz`".to_string()
            }
            Self::Known(format) => format!("it looks like a {format} file; use `format={format}`"),
            Self::Hdf5 => "it looks like an HDF5 (MAT v7.3) file; save it with -v7".to_string(),
            Self::Gzip => "it looks like gzip inside gzip; unpack it first".to_string(),
            Self::Zstd => "it looks like zstd inside a packed file; unpack it first".to_string(),
            Self::Utf16 => "it looks like UTF-16 text; save it as UTF-8".to_string(),
            Self::Foreign(what) => format!("it looks like {what}; convert it to CSV or NPY"),
        }
    }
}

/// Checks the first bytes against the format before a reader sees them: a reader could only
/// say that it is confused.
pub(crate) fn check_head(source_name: &str, head: &[u8], format: Format) -> Result<(), Error> {
    if head.is_empty() {
        return Err(Error::Empty { source_name: source_name.to_string() });
    }
    let magic = Magic::of(head);
    if magic == Some(Magic::Hdf5) && format == Format::Mat {
        return Err(Error::unsupported(
            source_name,
            "MAT v7.3 (HDF5) files are not read; save it with -v7 in MATLAB, or as NPZ",
        ));
    }
    if format.is_text() {
        check_text(source_name, head, magic)?;
    }
    let is_right = match magic {
        Some(Magic::Known(Format::MatrixMarket)) => format == Format::MatrixMarket,
        // Other texts have no mark, and a column may well be called PAR1.
        _ if format.is_text() => format != Format::MatrixMarket,
        found => found == Some(Magic::Known(format)),
    };
    if is_right {
        return Ok(());
    }
    if format == Format::Mat && is_mat4(head) {
        return Err(Error::unsupported(
            source_name,
            "MAT v4 files are not read; save it with -v7 in MATLAB, or as NPZ",
        ));
    }
    // A prefix of a MAT header is a cut file rather than a foreign one.
    let is_cut = head.len() < 128 && (format == Format::Mat && head.starts_with(b"MATLAB 5.0"));
    if is_cut {
        return Err(Error::damaged(source_name, "the file ends inside its header"));
    }
    Err(Error::WrongFormat {
        source_name: source_name.to_string(),
        expected: format,
        found: match magic {
            Some(magic) => magic.advice(),
            None => "its first bytes are not those of the format: it is another format, or damaged"
                .to_string(),
        },
    })
}

/// Whether the bytes can start a MAT v4 file: type (below 5000), rows, columns, 0 or 1 for
/// complex, length of a name. No mark tells it for sure.
fn is_mat4(head: &[u8]) -> bool {
    let words: Vec<u32> =
        head.as_chunks().0.iter().take(5).map(|&word| u32::from_le_bytes(word)).collect();
    matches!(words[..], [kind, _, _, 0 | 1, n_name] if kind < 5000 && (1..256).contains(&n_name))
}

/// Text must be UTF-8 without NUL, as far as the head shows.
fn check_text(source_name: &str, head: &[u8], magic: Option<Magic>) -> Result<(), Error> {
    let problem = match std::str::from_utf8(head) {
        Ok(_) => None,
        // The head may end inside a character.
        Err(e) if e.error_len().is_none() => None,
        Err(e) => Some(format!(
            "byte 0x{:02x} at {} is not UTF-8",
            head[e.valid_up_to()],
            e.valid_up_to()
        )),
    };
    let nul = head.iter().position(|&b| b == 0).map(|at| format!("NUL byte at {at}"));
    let Some(problem) = nul.or(problem) else {
        return Ok(());
    };
    let found = match magic {
        Some(magic) => magic.advice(),
        None => "if it is text, save it as UTF-8; else give its `format`".to_string(),
    };
    Err(Error::NotText { source_name: source_name.to_string(), problem, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_tell_the_format_also_when_packed() {
        let of = |name: &str| Format::from_path(Path::new(name)).ok();
        assert_eq!(of("a/b.CSV"), Some(Format::Csv));
        assert_eq!(of("b.mtx.gz"), Some(Format::MatrixMarket));
        assert_eq!(of("b.tsv.zst"), Some(Format::Tsv));
        assert_eq!(of("b.libsvm"), Some(Format::Svmlight));
        assert_eq!(of("b.xyz"), None);
        assert_eq!(of("csv"), None);
        assert_eq!(of("b.gz"), None);
    }

    #[test]
    fn names_round_trip() {
        for name in Format::NAMES.split(", ") {
            assert_eq!(name.parse::<Format>().unwrap().name(), name);
        }
        assert!("excel".parse::<Format>().unwrap_err().is_usage());
    }

    #[test]
    fn a_parquet_file_named_csv_is_told() {
        let error = check_head("x.csv", b"PAR1\x15\x04\x00", Format::Csv).unwrap_err();
        assert!(error.to_string().contains("use `format=parquet`"), "{error}");
        let error = check_head("x.npy", b"1,2,3\n", Format::Npy).unwrap_err();
        assert!(error.to_string().contains("x.npy is not a npy file"), "{error}");
        let error = check_head("x.csv", b"caf\xe9,b\n", Format::Csv).unwrap_err();
        assert!(error.to_string().contains("save it as UTF-8"), "{error}");
        assert!(check_head("x.csv", "caf\u{e9}".as_bytes(), Format::Csv).is_ok());
        // Cut inside a character.
        assert!(check_head("x.csv", b"caf\xc3", Format::Csv).is_ok());
    }
}
