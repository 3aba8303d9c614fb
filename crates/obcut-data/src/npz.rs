//! NPZ files: NumPy arrays in a zip archive, also the sparse matrices of `scipy.sparse.save_npz`.

use std::io::{Read, SeekFrom};

use obcut::Matrix;
use zip::ZipArchive;

use crate::error::Error;
use crate::labels::Truth;
use crate::message::shorten;
use crate::npy::{Element, NpyHeader};
use crate::source::{Input, ReadSeek};
use crate::sparse::{Sparse, indices};
use crate::variables::{TRUTHS, Variable, choose, find, listed, undecided, with_roles};
use crate::{Dataset, Description, Format, LoadOptions, without_panic};

/// Maximum compression ratio of Deflate.
const MAX_RATIO: u64 = 1032;

struct NpzArchive {
    name: String,
    zip: ZipArchive<Box<dyn ReadSeek>>,
    /// Number of bytes of the file.
    length: u64,
    /// Index of every array in the archive, and its header.
    entries: Vec<(usize, NpyHeader)>,
    variables: Vec<Variable>,
}

impl NpzArchive {
    fn open(input: Input) -> Result<Self, Error> {
        let (name, bytes) = input.seekable()?;
        let mut reader = bytes.reader();
        let length = reader.seek(SeekFrom::End(0)).map_err(|e| Error::reading(&name, e))?;
        let zip = ZipArchive::new(reader).map_err(|e| zip_error(&name, e))?;
        let mut archive = Self { name, zip, length, entries: Vec::new(), variables: Vec::new() };
        for index in 0..archive.zip.len() {
            archive.add(index)?;
        }
        Ok(archive)
    }

    /// Reads the header of an array. Members that are not arrays are skipped.
    fn add(&mut self, index: usize) -> Result<(), Error> {
        let mut file = self.zip.by_index(index).map_err(|e| zip_error(&self.name, e))?;
        let Some(name) = file.name().ok().and_then(|n| Some(n.strip_suffix(".npy")?.to_string()))
        else {
            return Ok(());
        };
        // Python objects and named fields are an error only if they are requested: `read` comes
        // across the same header again.
        let header = match NpyHeader::read(&self.name, &mut file) {
            Err(Error::Unsupported { .. }) => NpyHeader::unreadable(),
            header => header?,
        };
        self.variables.push(Variable {
            name,
            shape: header.shape.clone(),
            dtype: header.element.name(),
            is_number: matches!(header.element, Element::Number { .. }),
        });
        self.entries.push((index, header));
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize, Error> {
        find(&self.name, &self.variables, name)
    }

    fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|v| v.name == name)
    }

    /// Runs a reader on the values of an array. The reader gets the name of the array for messages and the
    /// maximum number of bytes.
    fn read<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&str, &NpyHeader, &mut dyn Read, u64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (index, header) = &self.entries[at];
        let name = format!("{}, array '{}'", self.name, shorten(&self.variables[at].name, 40));
        let mut file = self.zip.by_index(*index).map_err(|e| zip_error(&name, e))?;
        let most = file.compressed_size().min(self.length).saturating_mul(MAX_RATIO);
        let available = file.size().saturating_sub(header.n_bytes).min(most);
        NpyHeader::read(&name, &mut file)?;
        read(&name, header, &mut file, available)
    }

    fn truth(&mut self, at: usize) -> Result<Truth, Error> {
        self.read(at, |name, header, file, available| header.read_truth(name, file, available))
    }

    fn numbers(&mut self, name: &str) -> Result<crate::values::Values, Error> {
        let at = self.find(name)?;
        self.read(at, |name, header, file, available| {
            header.read_numbers(name, file, available, None)
        })
    }

    /// The layout of a sparse matrix of SciPy (`csr`, ...), if the file holds one.
    fn sparse_layout(&mut self) -> Result<Option<String>, Error> {
        if !(self.has("format") && self.has("shape") && self.has("data")) {
            return Ok(None);
        }
        let at = self.find("format")?;
        if self.variables[at].is_number {
            return Ok(None);
        }
        let texts = self.read(at, |name, header, file, _| header.read_texts(name, file))?;
        Ok(texts.into_iter().next())
    }

    fn sparse_shape(&mut self) -> Result<(usize, usize), Error> {
        let shape = indices(self.numbers("shape")?);
        match shape[..] {
            [n_rows, n_cols] if n_rows >= 0 && n_cols >= 0 => {
                Ok((n_rows as usize, n_cols as usize))
            }
            _ => Err(Error::damaged(&self.name, format!("a sparse matrix of shape {shape:?}"))),
        }
    }

    fn sparse_matrix(&mut self, layout: &str) -> Result<Matrix, Error> {
        let (n_rows, n_cols) = self.sparse_shape()?;
        let (first, second) = match layout {
            "csr" | "csc" => ("indptr", "indices"),
            "coo" => ("row", "col"),
            other => {
                let other = shorten(other, 10);
                let problem = format!("sparse layout '{other}' is not read; save it as csr");
                return Err(Error::unsupported(&self.name, problem));
            }
        };
        let (first, second) = (indices(self.numbers(first)?), indices(self.numbers(second)?));
        let values = self.numbers("data")?;
        let sparse = Sparse { name: &self.name, n_rows, n_cols, values };
        match layout {
            "csr" => sparse.by_rows(first, second),
            "csc" => sparse.by_columns(&first, &second),
            _ => sparse.by_triples(&first, &second),
        }
    }
}

/// Converts an error of the zip reader.
fn zip_error(name: &str, error: zip::result::ZipError) -> Error {
    match error {
        zip::result::ZipError::Io(cause) => Error::reading(name, cause),
        other => Error::damaged(name, shorten(&other.to_string(), 120)),
    }
}

/// Reads a table, dense or sparse.
pub(crate) fn load(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let name = input.name.clone();
    without_panic(&name, || load_arrays(input, options))
}

fn load_arrays(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let mut archive = NpzArchive::open(input)?;
    let layout = if options.variable.is_none() { archive.sparse_layout()? } else { None };
    let matrix = match layout {
        Some(layout) => archive.sparse_matrix(&layout)?,
        None => {
            let at = choose(&archive.name, &archive.variables, options)?;
            let single = options.single;
            archive.read(at, |name, header, file, n| header.read_matrix(name, file, n, single))?
        }
    };
    let truth = match &options.truth {
        Some(name) => {
            let at = archive.find(name)?;
            Some(archive.truth(at)?)
        }
        None => None,
    };
    let weights = match &options.weights {
        Some(name) => Some(archive.numbers(name)?.into_f64()),
        None => None,
    };
    with_roles(&archive.name, matrix, truth, weights, options, Format::Npz)
}

/// Reads one class per row from the named array.
pub(crate) fn load_truth(input: Input, word: &str) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let mut archive = NpzArchive::open(input)?;
        let at = archive.find(word)?;
        archive.truth(at)
    })
}

/// Reads one class per row from the first array with a usual name, else from the only array.
pub(crate) fn load_labels(input: Input) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let mut archive = NpzArchive::open(input)?;
        let usual = ["labels", "label"].iter().chain(&TRUTHS).find(|&&n| archive.has(n));
        let at = match (usual, archive.variables.len()) {
            (Some(name), _) => archive.find(name)?,
            (None, 1) => 0,
            (None, _) => archive.find("labels")?,
        };
        archive.truth(at)
    })
}

/// Reads the headers of all arrays.
pub(crate) fn describe(input: Input, options: &LoadOptions) -> Result<Description, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let mut archive = NpzArchive::open(input)?;
        let layout = if options.variable.is_none() { archive.sparse_layout()? } else { None };
        let (at, (rows, cols)) = match layout {
            Some(_) => (archive.find("data")?, archive.sparse_shape()?),
            None => {
                let at = match choose(&archive.name, &archive.variables, options) {
                    Err(Error::WhichVariable { .. }) => {
                        return Ok(undecided(&archive.variables, Format::Npz));
                    }
                    at => at?,
                };
                (at, archive.entries[at].1.table_shape(&archive.name)?)
            }
        };
        let chosen = &archive.variables[at];
        Ok(Description {
            stored: layout.map(|_| chosen.shape.iter().fold(1, |n: usize, &m| n.saturating_mul(m))),
            arrays: listed(&archive.variables),
            ..Description::new(Format::Npz, (rows, cols), &chosen.dtype)
        })
    })
}
