//! MATLAB files of version 5 to 7 (`save`, `save -v6`, `save -v7`), numeric and sparse variables.
//!
//! A file is a header of 128 bytes and one element per variable, each a tag (type, length) and
//! its bytes; version 7 packs them with zlib. A matrix holds the elements flags, dimensions, name
//! and values, where the values may be stored in a smaller type than the variable has.
//! This crate has its own reader because others panic on damaged files.

mod elements;

use std::io::{BufReader, Read, SeekFrom};

use flate2::bufread::ZlibDecoder;
use obcut::Matrix;

use crate::error::Error;
use crate::labels::Truth;
use crate::source::{Input, ReadSeek};
use crate::variables::{Variable, choose, find, listed, undecided, with_roles};
use crate::{Dataset, Description, Format, LoadOptions};
use elements::{Class, Elements};

const HEADER: u64 = 128;
/// Types of elements.
const MATRIX: u32 = 14;
const PACKED: u32 = 15;
/// Maximum compression ratio of Deflate.
const MAX_RATIO: u64 = 1032;
/// An open file and the positions of its variables.
struct MatArchive {
    name: String,
    reader: Box<dyn ReadSeek>,
    length: u64,
    big_endian: bool,
    /// Start of every variable's element.
    starts: Vec<u64>,
    /// Number of allocated entries of every variable, if sparse.
    stored: Vec<Option<usize>>,
    variables: Vec<Variable>,
}

impl MatArchive {
    fn open(input: Input) -> Result<Self, Error> {
        let (name, bytes) = input.seekable()?;
        let mut reader = bytes.reader();
        let mut header = [0u8; HEADER as usize];
        let length = reader
            .read_exact(&mut header)
            .and_then(|()| reader.seek(SeekFrom::End(0)))
            .map_err(|e| Error::reading(&name, e))?;
        let big_endian = &header[126..] == b"MI";
        let (starts, stored, variables) = (Vec::new(), Vec::new(), Vec::new());
        let mut archive = Self { name, reader, length, big_endian, starts, stored, variables };
        let mut start = HEADER;
        while start < length {
            start = archive.add(start)?;
        }
        Ok(archive)
    }

    /// Runs `read` on the elements of the variable at `start`, if there is one, and returns the start of the
    /// next one.
    fn read<T>(
        &mut self,
        start: u64,
        read: impl FnOnce(&mut Elements<'_>) -> Result<T, Error>,
    ) -> Result<(Option<T>, u64), Error> {
        let (name, big_endian) = (&self.name, self.big_endian);
        self.reader.seek(SeekFrom::Start(start)).map_err(|e| Error::reading(name, e))?;
        let tag =
            Elements { name, reader: Box::new(&mut self.reader), big_endian, most: 0 }.tag()?;
        let end = start + 8 + u64::from(tag.n_bytes);
        if end > self.length {
            let problem = format!("a variable ends at byte {end} of {}", self.length);
            return Err(Error::damaged(name, problem));
        }
        let body = (&mut self.reader).take(u64::from(tag.n_bytes));
        let mut elements = match tag.kind {
            MATRIX => {
                Elements { name, reader: Box::new(body), big_endian, most: u64::from(tag.n_bytes) }
            }
            PACKED => {
                let most = u64::from(tag.n_bytes) * MAX_RATIO;
                let unpacked = BufReader::new(ZlibDecoder::new(BufReader::new(body)));
                let mut inner = Elements { name, reader: Box::new(unpacked), big_endian, most };
                if inner.tag()?.kind != MATRIX {
                    return Ok((None, end));
                }
                inner
            }
            _ => return Ok((None, end)),
        };
        Ok((Some(read(&mut elements)?), end))
    }

    fn add(&mut self, start: u64) -> Result<u64, Error> {
        let (head, end) = self.read(start, |elements| elements.head())?;
        // Objects of newer versions of MATLAB add a variable without a name.
        if let Some(head) = head.filter(|head| !head.name.is_empty()) {
            self.starts.push(start);
            self.stored.push(match head.class {
                Class::Sparse { .. } => Some(head.n_max as usize),
                _ => None,
            });
            self.variables.push(Variable {
                name: head.name,
                shape: head.shape,
                dtype: head.class.name().to_string(),
                is_number: !matches!(head.class, Class::Other(_)),
            });
        }
        Ok(end)
    }

    fn matrix(&mut self, at: usize) -> Result<Matrix, Error> {
        let (matrix, _) = self.read(self.starts[at], |elements| {
            let head = elements.head()?;
            elements.matrix(&head)
        })?;
        matrix.ok_or_else(|| Error::damaged(&self.name, "a variable is missing"))
    }

    fn vector(&mut self, name: &str) -> Result<Vec<f64>, Error> {
        let at = find(&self.name, &self.variables, name)?;
        let (vector, _) = self.read(self.starts[at], |elements| {
            let head = elements.head()?;
            elements.vector(&head)
        })?;
        vector.ok_or_else(|| Error::damaged(&self.name, "a variable is missing"))
    }
}

/// Reads a table, dense or sparse.
pub(crate) fn load(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let mut archive = MatArchive::open(input)?;
    let at = choose(&archive.name, &archive.variables, options)?;
    let matrix = archive.matrix(at)?;
    let truth = match &options.truth {
        Some(name) => {
            let values = archive.vector(name)?;
            Some(Truth::from_numbers(&archive.name, &values)?)
        }
        None => None,
    };
    let weights = options.weights.as_ref().map(|name| archive.vector(name)).transpose()?;
    with_roles(&archive.name, matrix, truth, weights, options, Format::Mat)
}

/// Reads one class per row from the named variable.
pub(crate) fn load_truth(input: Input, word: &str) -> Result<Truth, Error> {
    let mut archive = MatArchive::open(input)?;
    let values = archive.vector(word)?;
    Truth::from_numbers(&archive.name, &values)
}

/// Describes a file. Reads only the headers of the variables.
pub(crate) fn describe(input: Input, options: &LoadOptions) -> Result<Description, Error> {
    let archive = MatArchive::open(input)?;
    let at = match choose(&archive.name, &archive.variables, options) {
        Err(Error::WhichVariable { .. }) => return Ok(undecided(&archive.variables, Format::Mat)),
        at => at?,
    };
    let chosen = &archive.variables[at];
    let rows = chosen.shape.first().copied().unwrap_or(0);
    let cols = chosen.shape.iter().skip(1).fold(1, |n: usize, &m| n.saturating_mul(m));
    Ok(Description {
        stored: archive.stored[at],
        arrays: listed(&archive.variables),
        ..Description::new(Format::Mat, (rows, cols), &chosen.dtype)
    })
}
