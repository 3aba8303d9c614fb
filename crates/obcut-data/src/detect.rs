//! Detection of the format of a file: by the user's choice, by the file extension, and by the first bytes.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::Error;

/// The formats of tables. Files may also be compressed as `.gz` or `.zst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text separated by commas or semicolons.
    Csv,
    /// Text separated by tabs.
    Tsv,
    /// One NumPy array.
    Npy,
    /// Several NumPy arrays, or a sparse matrix of SciPy.
    Npz,
    /// Parquet.
    Parquet,
    /// MATLAB 5 to 7.
    Mat,
    /// Lines of `target index:value ...`, as in LIBSVM.
    Svmlight,
    /// MatrixMarket.
    MatrixMarket,
}

impl Format {
    /// All names, for messages.
    pub(crate) const NAMES: &'static str =
        "csv, tsv, npy, npz, parquet, mat, svmlight, matrixmarket";

    /// The name of the format.
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

    /// Determines the format by the file extension.
    ///
    /// # Errors
    /// When the extension is unknown or missing.
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

/// The file extension in lower case, without that of a compression.
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

/// The kind of a file, detected from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Magic {
    /// A format of tables.
    Known(Format),
    /// HDF5, also MAT v7.3.
    Hdf5,
    Gzip,
    Zstd,
    Utf16,
    /// Another known format, by name.
    Foreign(&'static str),
}

impl Magic {
    /// Detects the kind from the first bytes; 128 are enough.
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
        // A MAT file starts with free text; its byte-order mark is at the end of the header.
        let mark = head.get(124..128)?;
        let is_mat = mark == b"\x00\x01IM" || mark == b"\x01\x00MI";
        is_mat.then_some(Self::Known(Format::Mat))
    }

    /// What a file looks like and the remedy, for a message.
    fn advice(self) -> String {
        match self {
            Self::Known(Format::Npz) => {
                "it looks like an NPZ (or another zip) file; use `format=npz`".to_string()
            }
            Self::Known(format) => format!("it looks like a {format} file; use `format={format}`"),
            Self::Hdf5 => "it looks like an HDF5 (MAT v7.3) file; save it with -v7".to_string(),
            Self::Gzip => "it looks like gzip inside gzip; decompress it first".to_string(),
            Self::Zstd => {
                "it looks like zstd inside a compressed file; decompress it first".to_string()
            }
            Self::Utf16 => "it looks like UTF-16 text; save it as UTF-8".to_string(),
            Self::Foreign(what) => format!("it looks like {what}; convert it to CSV or NPY"),
        }
    }
}

/// Checks that the first bytes match the format, for a better message than that of a reader.
pub(crate) fn check_head(source_name: &str, head: &[u8], format: Format) -> Result<(), Error> {
    if head.is_empty() {
        return Err(Error::Empty { source_name: source_name.to_string() });
    }
    let magic = Magic::of(head);
    if magic == Some(Magic::Hdf5) && format == Format::Mat {
        return Err(Error::unsupported(
            source_name,
            "MAT v7.3 (HDF5) files are not supported; save it with -v7 in MATLAB, or as NPZ",
        ));
    }
    if format.is_text() {
        check_text(source_name, head, magic)?;
    }
    let is_right = match magic {
        Some(Magic::Known(Format::MatrixMarket)) => format == Format::MatrixMarket,
        // Text has no magic bytes, and a column may be called PAR1.
        _ if format.is_text() => format != Format::MatrixMarket,
        found => found == Some(Magic::Known(format)),
    };
    if is_right {
        return Ok(());
    }
    if format == Format::Mat && is_mat4(head) {
        return Err(Error::unsupported(
            source_name,
            "MAT v4 files are not supported; save it with -v7 in MATLAB, or as NPZ",
        ));
    }
    // A prefix of a MAT header is a truncated file, not another format.
    let is_cut = head.len() < 128 && (format == Format::Mat && head.starts_with(b"MATLAB 5.0"));
    if is_cut {
        return Err(Error::damaged(source_name, "the file ends inside its header"));
    }
    Err(Error::WrongFormat {
        source_name: source_name.to_string(),
        expected: format,
        found: match magic {
            Some(magic) => magic.advice(),
            None => {
                "its first bytes do not match: it has another format, or is damaged".to_string()
            }
        },
    })
}

/// Whether the bytes can start a MAT v4 file: type (below 5000), rows, columns, 0 or 1 for complex, length of a
/// name. The format has no magic bytes.
fn is_mat4(head: &[u8]) -> bool {
    let words: Vec<u32> =
        head.as_chunks().0.iter().take(5).map(|&word| u32::from_le_bytes(word)).collect();
    matches!(words[..], [kind, _, _, 0 | 1, n_name] if kind < 5000 && (1..256).contains(&n_name))
}

/// Checks that the first bytes are UTF-8 text without NUL.
fn check_text(source_name: &str, head: &[u8], magic: Option<Magic>) -> Result<(), Error> {
    let problem = match std::str::from_utf8(head) {
        Ok(_) => None,
        // The first bytes may end inside a character.
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
        assert!("excel".parse::<Format>().unwrap_err().kind() == crate::ErrorKind::Request);
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
