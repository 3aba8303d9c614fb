//! The elements of a variable of a MAT file.

use std::io::{self, Read};

use obcut::Matrix;

use crate::error::Error;
use crate::message::shorten;
use crate::sparse::{Sparse, indices};
use crate::values::{Layout, Number, Values};

/// Maximum length of a list of dimensions or of a name.
const MAX_SMALL: u32 = 1 << 12;

/// The class of a variable, from its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Dense(Number),
    Sparse {
        is_logical: bool,
    },
    /// Unsupported: cells, structs, text, complex numbers.
    Other(&'static str),
}

impl Class {
    fn from_flags(flags: u32) -> Self {
        let (is_complex, is_logical) = (flags & 0x800 != 0, flags & 0x200 != 0);
        if is_complex {
            return Self::Other("complex");
        }
        match flags & 0xff {
            5 => Self::Sparse { is_logical },
            6 => Self::Dense(Number::F64),
            7 => Self::Dense(Number::F32),
            8 => Self::Dense(Number::I8),
            9 if is_logical => Self::Dense(Number::Bool),
            9 => Self::Dense(Number::U8),
            10 => Self::Dense(Number::I16),
            11 => Self::Dense(Number::U16),
            12 => Self::Dense(Number::I32),
            13 => Self::Dense(Number::U32),
            14 => Self::Dense(Number::I64),
            15 => Self::Dense(Number::U64),
            1 => Self::Other("cell"),
            2 => Self::Other("struct"),
            4 => Self::Other("char"),
            _ => Self::Other("object"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dense(number) => number.name(),
            Self::Sparse { is_logical: true } => "sparse bool",
            Self::Sparse { is_logical: false } => "sparse float64",
            Self::Other(name) => name,
        }
    }
}

/// The first elements of a variable.
pub(super) struct Head {
    pub(super) class: Class,
    /// Number of allocated entries, if sparse.
    pub(super) n_max: u32,
    pub(super) shape: Vec<usize>,
    pub(super) name: String,
}

/// The elements of a variable.
pub(super) struct Elements<'a> {
    /// The file, for messages.
    pub(super) name: &'a str,
    pub(super) reader: Box<dyn Read + 'a>,
    pub(super) big_endian: bool,
    /// Maximum number of bytes.
    pub(super) most: u64,
}

/// Type and length of an element. A small element has its bytes in the tag.
pub(super) struct Tag {
    pub(super) kind: u32,
    pub(super) n_bytes: u32,
    small: Option<[u8; 4]>,
}

impl Elements<'_> {
    fn fail(&self, cause: io::Error) -> Error {
        Error::reading(self.name, cause)
    }

    fn word(&mut self) -> Result<[u8; 4], Error> {
        let mut bytes = [0; 4];
        self.reader.read_exact(&mut bytes).map_err(|e| self.fail(e))?;
        Ok(bytes)
    }

    fn number(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub(super) fn tag(&mut self) -> Result<Tag, Error> {
        let (first, second) = (self.word()?, self.word()?);
        let first = self.number(first);
        match first >> 16 {
            0 => Ok(Tag { kind: first, n_bytes: self.number(second), small: None }),
            n_bytes @ 1..=4 => Ok(Tag { kind: first & 0xffff, n_bytes, small: Some(second) }),
            _ => Err(Error::damaged(self.name, "an element with an impossible tag")),
        }
    }

    /// Skips to the next multiple of 8 bytes, where an element starts.
    fn skip_padding(&mut self, tag: &Tag) -> Result<(), Error> {
        let n = if tag.small.is_some() { 0 } else { (8 - tag.n_bytes as usize % 8) % 8 };
        self.reader.read_exact(&mut [0u8; 8][..n]).map_err(|e| self.fail(e))
    }

    /// Reads the bytes of a short element.
    fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        let tag = self.tag()?;
        if tag.n_bytes > MAX_SMALL {
            return Err(Error::damaged(self.name, "a name or shape of impossible length"));
        }
        let mut bytes = vec![0; tag.n_bytes as usize];
        match tag.small {
            Some(small) => bytes.copy_from_slice(&small[..tag.n_bytes as usize]),
            None => self.reader.read_exact(&mut bytes).map_err(|e| self.fail(e))?,
        }
        self.skip_padding(&tag)?;
        Ok(bytes)
    }

    /// Reads a short element of 32-bit words.
    fn words(&mut self) -> Result<Vec<u32>, Error> {
        let bytes = self.bytes()?;
        Ok(bytes.as_chunks().0.iter().map(|&word| self.number(word)).collect())
    }

    pub(super) fn head(&mut self) -> Result<Head, Error> {
        let flags = self.words()?;
        let &[flags, n_max] = &flags[..] else {
            return Err(Error::damaged(self.name, "a variable without flags"));
        };
        let shape = self.words()?.iter().map(|&n| n as usize).collect();
        let name = String::from_utf8_lossy(&self.bytes()?).into_owned();
        Ok(Head { class: Class::from_flags(flags), n_max, shape, name })
    }

    /// Reads the numbers of an element of any type.
    fn values(&mut self, single: bool) -> Result<Values, Error> {
        let tag = self.tag()?;
        let number = match tag.kind {
            1 => Number::I8,
            2 => Number::U8,
            3 => Number::I16,
            4 => Number::U16,
            5 => Number::I32,
            6 => Number::U32,
            7 => Number::F32,
            9 => Number::F64,
            12 => Number::I64,
            13 => Number::U64,
            other => {
                return Err(Error::damaged(self.name, format!("numbers of unknown type {other}")));
            }
        };
        let layout = Layout {
            number,
            big_endian: self.big_endian,
            count: tag.n_bytes as usize / number.width(),
            certain: self.most,
        };
        let values = match tag.small {
            Some(small) => layout.read_as(&mut &small[..], single),
            None => layout.read_as(&mut self.reader, single),
        };
        let values = values.map_err(|e| self.fail(e))?;
        self.skip_padding(&tag)?;
        Ok(values)
    }

    pub(super) fn matrix(&mut self, head: &Head) -> Result<Matrix, Error> {
        let what = shorten(&head.name, 40);
        let &[n_rows, n_cols] = &head.shape[..] else {
            let problem =
                format!("variable '{what}' has shape {:?}; reshape it to 2-D", head.shape);
            return Err(Error::unsupported(self.name, problem));
        };
        match head.class {
            Class::Dense(number) => {
                let values = self.values(number.fits_single())?;
                if n_rows.checked_mul(n_cols) != Some(values.len()) {
                    let problem =
                        format!("{} values for {n_rows} x {n_cols} in '{what}'", values.len());
                    return Err(Error::damaged(self.name, problem));
                }
                Ok(values.into_dense(n_rows, n_cols, true))
            }
            Class::Sparse { is_logical } => {
                let mut rows = indices(self.values(false)?);
                let offsets = indices(self.values(false)?);
                let mut values = self.values(is_logical)?;
                // More entries may be allocated than are used.
                let used = offsets.last().map_or(0, |&n| usize::try_from(n).unwrap_or(usize::MAX));
                rows.truncate(used);
                match &mut values {
                    Values::F32(v) => v.truncate(used),
                    Values::F64(v) => v.truncate(used),
                }
                Sparse { name: self.name, n_rows, n_cols, values }.by_columns(&offsets, &rows)
            }
            Class::Other(class) => Err(Error::unsupported(
                self.name,
                format!("variable '{what}' is of class {class}; a numeric array is needed"),
            )),
        }
    }

    /// Reads a row or column vector.
    pub(super) fn vector(&mut self, head: &Head) -> Result<Vec<f64>, Error> {
        let is_vector = head.shape.iter().filter(|&&n| n != 1).count() <= 1;
        match head.class {
            Class::Dense(_) if is_vector => Ok(self.values(false)?.into_f64()),
            class => Err(Error::unsupported(
                self.name,
                format!(
                    "variable '{}' is {} of shape {:?}; one number per row is needed",
                    shorten(&head.name, 40),
                    class.name(),
                    head.shape
                ),
            )),
        }
    }
}
