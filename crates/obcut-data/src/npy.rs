//! NPY files, versions 1 to 3: a header with a Python literal, then the values of one array.

use std::io::Read;

use obcut::Matrix;

use crate::columns::{check_shape, dataset_by_columns};
use crate::error::Error;
use crate::labels::{Truth, TruthBuilder};
use crate::message::shorten;
use crate::source::Input;
use crate::values::{Layout, Number, Values};
use crate::{Dataset, Description, Format, LoadOptions};

/// Maximum length of a header; those of NumPy have about 120 bytes.
const MAX_HEADER: u32 = 1 << 20;

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Number {
        number: Number,
        big_endian: bool,
    },
    /// Byte strings (`S`) of this many bytes.
    Bytes(usize),
    /// Strings (`U`) of this many UCS-4 characters.
    Unicode {
        width: usize,
        big_endian: bool,
    },
}

/// The header of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NpyHeader {
    pub element: Element,
    pub column_major: bool,
    pub shape: Vec<usize>,
    /// Number of bytes before the first value.
    pub n_bytes: u64,
}

impl NpyHeader {
    /// Reads a header; `name` is the file, or the file and the array in it.
    pub(crate) fn read(name: &str, reader: &mut dyn Read) -> Result<Self, Error> {
        let fail = |e| Error::reading(name, e);
        let mut start = [0u8; 8];
        reader.read_exact(&mut start).map_err(fail)?;
        if &start[..6] != b"\x93NUMPY" || !(1..=3).contains(&start[6]) {
            return Err(Error::damaged(name, "no NPY header of version 1 to 3"));
        }
        let (length, n_length) = if start[6] == 1 {
            let mut b = [0u8; 2];
            reader.read_exact(&mut b).map_err(fail)?;
            (u32::from(u16::from_le_bytes(b)), 2)
        } else {
            let mut b = [0u8; 4];
            reader.read_exact(&mut b).map_err(fail)?;
            (u32::from_le_bytes(b), 4)
        };
        if length > MAX_HEADER {
            return Err(Error::damaged(name, format!("a header of {length} bytes")));
        }
        let mut text = vec![0u8; length as usize];
        reader.read_exact(&mut text).map_err(fail)?;
        let text = String::from_utf8_lossy(&text).replace('"', "'");
        let n_bytes = 8 + n_length + u64::from(length);
        Self::parse(name, &text, n_bytes)
    }

    /// A header for an array of an unsupported type.
    pub(crate) fn unreadable() -> Self {
        Self { element: Element::Bytes(0), column_major: false, shape: Vec::new(), n_bytes: 0 }
    }

    fn parse(name: &str, text: &str, n_bytes: u64) -> Result<Self, Error> {
        let broken =
            |key: &str| Error::damaged(name, format!("the NPY header has no readable '{key}'"));
        let after = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}':"))?;
            Some(rest.trim_start())
        };
        let descr = after("descr").ok_or_else(|| broken("descr"))?;
        if descr.starts_with('[') {
            return Err(Error::unsupported(
                name,
                "the array has named fields; save its columns as a plain 2-D array",
            ));
        }
        let descr = descr.strip_prefix('\'').and_then(|d| d.split_once('\''));
        let (descr, _) = descr.ok_or_else(|| broken("descr"))?;
        let order = after("fortran_order").ok_or_else(|| broken("fortran_order"))?;
        let column_major = match (order.starts_with("True"), order.starts_with("False")) {
            (true, _) => true,
            (_, true) => false,
            _ => return Err(broken("fortran_order")),
        };
        let shape = after("shape")
            .and_then(|s| s.strip_prefix('(')?.split_once(')'))
            .and_then(|(inside, _)| parse_shape(inside))
            .ok_or_else(|| broken("shape"))?;
        let element = Element::parse(name, descr)?;
        Ok(Self { element, column_major, shape, n_bytes })
    }

    /// The shape, for messages.
    fn shown_shape(&self) -> String {
        shorten(&format!("{:?}", self.shape), 80)
    }

    /// Number of elements.
    pub(crate) fn count(&self, name: &str) -> Result<usize, Error> {
        self.shape
            .iter()
            .try_fold(1usize, |product, &n| product.checked_mul(n))
            .filter(|count| count.checked_mul(self.element.width()).is_some())
            .ok_or_else(|| {
                Error::damaged(name, format!("an impossible shape {}", self.shown_shape()))
            })
    }

    /// Number of rows and columns; a vector is one column.
    pub(crate) fn table_shape(&self, name: &str) -> Result<(usize, usize), Error> {
        match self.shape[..] {
            [n_rows] => Ok((n_rows, 1)),
            [n_rows, n_cols] => Ok((n_rows, n_cols)),
            _ => Err(Error::unsupported(
                name,
                format!("an array of shape {} is no table; reshape it to 2-D", self.shown_shape()),
            )),
        }
    }

    /// The type of the numbers, and whether they are big-endian.
    pub(crate) fn numbers(&self, name: &str) -> Result<(Number, bool), Error> {
        let Element::Number { number, big_endian } = self.element else {
            let problem = format!("the array holds text ({}), not numbers", self.element.name());
            return Err(Error::unsupported(name, problem));
        };
        Ok((number, big_endian))
    }

    /// Reads numbers; `available` is the maximum number of bytes after the header. The default precision is
    /// single if it holds every value of the type.
    pub(crate) fn read_numbers(
        &self,
        name: &str,
        reader: &mut dyn Read,
        available: u64,
        single: Option<bool>,
    ) -> Result<Values, Error> {
        let (number, big_endian) = self.numbers(name)?;
        let count = self.count(name)?;
        Layout { number, big_endian, count, certain: available }
            .read_as(reader, single.unwrap_or_else(|| number.fits_single()))
            .map_err(|e| Error::reading(name, e))
    }

    /// Reads a table.
    pub(crate) fn read_matrix(
        &self,
        name: &str,
        reader: &mut dyn Read,
        available: u64,
        single: Option<bool>,
    ) -> Result<Matrix, Error> {
        let (n_rows, n_cols) = self.table_shape(name)?;
        self.numbers(name)?;
        check_shape(name, n_rows, n_cols)?;
        let values = self.read_numbers(name, reader, available, single)?;
        Ok(values.into_dense(n_rows, n_cols, self.column_major))
    }

    /// Reads strings.
    pub(crate) fn read_texts(
        &self,
        name: &str,
        reader: &mut dyn Read,
    ) -> Result<Vec<String>, Error> {
        let width = self.element.width();
        let mut cell = vec![0u8; width.min(MAX_HEADER as usize)];
        if cell.len() < width {
            return Err(Error::unsupported(name, format!("texts of {width} bytes")));
        }
        let mut texts = Vec::new();
        // An array of empty strings has no bytes that could run out.
        for _ in 0..if width == 0 { 0 } else { self.count(name)? } {
            reader.read_exact(&mut cell).map_err(|e| Error::reading(name, e))?;
            texts.push(match self.element {
                Element::Unicode { big_endian, .. } => {
                    let char_of = |b: &[u8; 4]| match big_endian {
                        true => u32::from_be_bytes(*b),
                        false => u32::from_le_bytes(*b),
                    };
                    let code = cell.as_chunks().0.iter().map(char_of);
                    code.take_while(|&c| c != 0)
                        .map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect()
                }
                _ => {
                    let end = cell.iter().position(|&b| b == 0).unwrap_or(width);
                    String::from_utf8_lossy(&cell[..end]).into_owned()
                }
            });
        }
        Ok(texts)
    }

    /// Reads one class per row, from numbers or strings.
    pub(crate) fn read_truth(
        &self,
        name: &str,
        reader: &mut dyn Read,
        available: u64,
    ) -> Result<Truth, Error> {
        if self.shape.iter().filter(|&&n| n != 1).count() > 1 {
            let problem = format!("labels of shape {}; one per row is needed", self.shown_shape());
            return Err(Error::unsupported(name, problem));
        }
        if let Element::Number { .. } = self.element {
            let values = self.read_numbers(name, reader, available, None)?.into_f64();
            return Truth::from_numbers(name, &values);
        }
        let mut truth = TruthBuilder::default();
        self.read_texts(name, reader)?.iter().for_each(|text| truth.push(text));
        truth.finish(name)
    }
}

impl Element {
    /// Short code in NumPy, such as `<f8`.
    fn parse(name: &str, descr: &str) -> Result<Self, Error> {
        let unsupported = || {
            let what = shorten(descr, 40);
            let problem = match what.contains('O') {
                true => "Python objects are not read; save a plain array of numbers".to_string(),
                false => format!("arrays of type '{what}' are not read; convert to float64"),
            };
            Error::unsupported(name, problem)
        };
        let (order, code) = match descr.as_bytes().first() {
            Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
            _ => ("<", descr),
        };
        let big_endian = order == ">";
        let number = match code {
            "b1" | "?" => Number::Bool,
            "i1" => Number::I8,
            "u1" => Number::U8,
            "i2" => Number::I16,
            "u2" => Number::U16,
            "i4" => Number::I32,
            "u4" => Number::U32,
            "i8" => Number::I64,
            "u8" => Number::U64,
            "f2" => Number::F16,
            "f4" => Number::F32,
            "f8" => Number::F64,
            _ => {
                let width = |digits: &str| digits.parse().map_err(|_| unsupported());
                return match code.split_at_checked(1) {
                    Some(("S", digits)) => Ok(Self::Bytes(width(digits)?)),
                    Some(("U", digits)) => Ok(Self::Unicode { width: width(digits)?, big_endian }),
                    _ => Err(unsupported()),
                };
            }
        };
        Ok(Self::Number { number, big_endian })
    }

    /// Number of bytes per element.
    fn width(self) -> usize {
        match self {
            Self::Number { number, .. } => number.width(),
            Self::Bytes(width) => width,
            Self::Unicode { width, .. } => width.saturating_mul(4),
        }
    }

    /// Name in NumPy.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Number { number, .. } => number.name().to_string(),
            Self::Bytes(0) => "object".to_string(),
            Self::Bytes(width) => format!("S{width}"),
            Self::Unicode { width, .. } => format!("U{width}"),
        }
    }
}

/// Parses a shape: `3, 4`, `3,` or nothing. Python 2 wrote `3L`.
fn parse_shape(inside: &str) -> Option<Vec<usize>> {
    let words = inside.split(',').map(|word| word.trim().trim_end_matches('L'));
    words.filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// Opens an array and checks that all its values are in the file.
pub(crate) fn open(input: &mut Input) -> Result<(NpyHeader, u64), Error> {
    let header = NpyHeader::read(&input.name, &mut input.reader)?;
    let promised = header.count(&input.name)?.saturating_mul(header.element.width());
    let available = input.length.map(|length| length.saturating_sub(header.n_bytes));
    match available {
        Some(available) if available < promised as u64 => {
            let problem = format!("its header promises {promised} bytes, {available} are there");
            Err(Error::damaged(&input.name, problem))
        }
        _ => Ok((header, available.unwrap_or(0))),
    }
}

/// Reads a table.
pub(crate) fn load(mut input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let (header, available) = open(&mut input)?;
    // Truth and weights are columns of the array, and must not be rounded.
    let has_roles = options.truth.is_some() || options.weights.is_some();
    let single = if has_roles { None } else { options.single };
    let matrix = header.read_matrix(&input.name, &mut input.reader, available, single)?;
    dataset_by_columns(&input.name, matrix, options, Format::Npy)
}

/// Reads one class per row.
pub(crate) fn load_labels(mut input: Input) -> Result<Truth, Error> {
    let (header, available) = open(&mut input)?;
    header.read_truth(&input.name, &mut input.reader, available)
}

/// Reads the header only.
pub(crate) fn describe(mut input: Input) -> Result<Description, Error> {
    let (header, _) = open(&mut input)?;
    let (rows, cols) = header.table_shape(&input.name)?;
    Ok(Description::new(Format::Npy, (rows, cols), &header.element.name()))
}

/// The header of an array, padded to a multiple of 64 bytes as in NumPy.
pub(crate) fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + dict.len() + 1) % 64 != 0 {
        dict.push(' ');
    }
    dict.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NpyHeader, Error> {
        NpyHeader::parse("t.npy", text, 0)
    }

    #[test]
    fn headers_of_all_ages_are_read() {
        let h = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }").unwrap();
        assert_eq!((h.shape.as_slice(), h.column_major), (&[3usize, 4][..], false));
        let h = parse("{'shape': (3L,), 'fortran_order':True, 'descr':'|u1'}").unwrap();
        assert_eq!(h.shape, [3]);
        assert!(h.column_major);
        let h = parse("{'descr': '>U5', 'fortran_order': False, 'shape': ()}").unwrap();
        assert!(h.shape.is_empty());
    }

    #[test]
    fn headers_that_cannot_be_used_say_why() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert!(
            message("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}").contains("objects")
        );
        assert!(
            message("{'descr': '<c16', 'fortran_order': False, 'shape': (3,)}").contains("<c16")
        );
        assert!(message("{'descr': [('a', '<f8')]}").contains("named fields"));
        assert!(message("{'descr': '<f8', 'fortran_order': False}").contains("'shape'"));
    }

    #[test]
    fn a_written_header_reads_back() {
        let bytes = header_bytes("<i4", &[7]);
        assert_eq!(bytes.len() % 64, 0);
        let header = NpyHeader::read("t", &mut &bytes[..]).unwrap();
        assert_eq!((header.shape, header.n_bytes), (vec![7], bytes.len() as u64));
    }

    #[test]
    fn an_impossible_shape_is_an_error() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8)}";
        assert!(parse(text).unwrap().count("t").is_err());
    }
}
