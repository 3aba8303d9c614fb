//! Conversion of binary numbers to the two types of the library, in bulk.

use std::io::{self, Read};

use obcut::{Csr, Matrix};

/// Bytes that are converted at a time: they fit in the cache, and a wrong header cannot make a reader allocate
/// more beyond the bytes in the file.
const CHUNK: usize = 1 << 18;

/// The stored type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Number {
    /// Number of bytes per value.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Name in NumPy.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// Whether single precision holds every value of the type.
    pub(crate) fn fits_single(self) -> bool {
        self.width() <= 2 || self == Self::F32
    }
}

/// Numbers in one of the two types of the library.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// The numbers in double precision.
    pub(crate) fn into_f64(self) -> Vec<f64> {
        match self {
            Self::F32(v) => v.into_iter().map(f64::from).collect(),
            Self::F64(v) => v,
        }
    }

    /// Converts to a dense matrix in row-major order.
    pub(crate) fn into_dense(self, n_rows: usize, n_cols: usize, column_major: bool) -> Matrix {
        // A single row or column is the same in both orders.
        let turn = column_major && n_rows > 1 && n_cols > 1;
        match self {
            Self::F32(v) => {
                let values = if turn { transpose(&v, n_rows, n_cols) } else { v };
                Matrix::Dense32 { values, n_rows, n_cols }
            }
            Self::F64(v) => {
                let values = if turn { transpose(&v, n_rows, n_cols) } else { v };
                Matrix::Dense64 { values, n_rows, n_cols }
            }
        }
    }
}

/// The types of the library, `f32` and `f64`.
pub(crate) trait Float: Copy + Default {
    /// The stored type.
    const NUMBER: Number;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// Appends the bytes, little-endian.
    fn store(self, out: &mut Vec<u8>);
    fn matrix(values: Vec<Self>, n_rows: usize, n_cols: usize) -> Matrix;
}

impl Float for f32 {
    const NUMBER: Number = Number::F32;

    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn store(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn matrix(values: Vec<Self>, n_rows: usize, n_cols: usize) -> Matrix {
        Matrix::Dense32 { values, n_rows, n_cols }
    }
}

impl Float for f64 {
    const NUMBER: Number = Number::F64;

    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn store(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn matrix(values: Vec<Self>, n_rows: usize, n_cols: usize) -> Matrix {
        Matrix::Dense64 { values, n_rows, n_cols }
    }
}

/// Converts a matrix to the requested precision.
pub(crate) fn in_precision(matrix: Matrix, single: Option<bool>) -> Matrix {
    fn each<A: Float, B: Float>(values: Vec<A>) -> Vec<B> {
        values.into_iter().map(|v| B::from_f64(v.to_f64())).collect()
    }
    fn sparse<A: Float, B: Float>(x: Csr<A>) -> Csr<B> {
        let Csr { offsets, columns, values, n_cols } = x;
        Csr { offsets, columns, values: each(values), n_cols }
    }
    match (matrix, single) {
        (Matrix::Dense64 { values, n_rows, n_cols }, Some(true)) => {
            Matrix::Dense32 { values: each(values), n_rows, n_cols }
        }
        (Matrix::Dense32 { values, n_rows, n_cols }, Some(false)) => {
            Matrix::Dense64 { values: each(values), n_rows, n_cols }
        }
        (Matrix::Sparse64(x), Some(true)) => Matrix::Sparse32(sparse(x)),
        (Matrix::Sparse32(x), Some(false)) => Matrix::Sparse64(sparse(x)),
        (matrix, _) => matrix,
    }
}

/// The layout of stored numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub number: Number,
    pub big_endian: bool,
    pub count: usize,
    /// Number of bytes that are certainly in the file, so that memory can be allocated at once.
    pub certain: u64,
}

impl Layout {
    /// Reads the numbers, in single precision if it holds every value.
    #[cfg(test)]
    pub(crate) fn read(self, reader: &mut dyn Read) -> io::Result<Values> {
        self.read_as(reader, self.number.fits_single())
    }

    /// Reads the numbers in the requested precision.
    pub(crate) fn read_as(self, reader: &mut dyn Read, single: bool) -> io::Result<Values> {
        Ok(if single {
            Values::F32(self.read_real(reader)?)
        } else {
            Values::F64(self.read_real(reader)?)
        })
    }

    fn read_real<T: Float>(self, reader: &mut dyn Read) -> io::Result<Vec<T>> {
        let width = self.number.width();
        let mut left = self
            .count
            .checked_mul(width)
            .ok_or_else(|| io::Error::other("the declared shape is too large"))?;
        let mut out = Vec::new();
        let certain = usize::try_from(self.certain / width as u64).unwrap_or(usize::MAX);
        out.try_reserve_exact(self.count.min(certain)).map_err(io::Error::other)?;
        let mut buffer = vec![0u8; left.min(CHUNK)];
        while left > 0 {
            // CHUNK is a multiple of every width.
            let chunk = &mut buffer[..left.min(CHUNK)];
            reader.read_exact(chunk)?;
            decode(self.number, self.big_endian, chunk, &mut out);
            left -= chunk.len();
        }
        Ok(out)
    }
}

/// Appends stored numbers. Changes the bytes to little-endian.
pub(crate) fn decode<T: Float>(
    number: Number,
    big_endian: bool,
    bytes: &mut [u8],
    out: &mut Vec<T>,
) {
    if big_endian {
        bytes.chunks_exact_mut(number.width()).for_each(<[u8]>::reverse);
    }
    convert(number, bytes, out);
}

/// Appends little-endian numbers. The compiler removes the conversion of f32 to f64 and back.
fn convert<T: Float>(number: Number, bytes: &[u8], out: &mut Vec<T>) {
    fn each<const W: usize, T: Float>(
        bytes: &[u8],
        out: &mut Vec<T>,
        value: impl Fn([u8; W]) -> f64,
    ) {
        let (chunks, _) = bytes.as_chunks::<W>();
        out.extend(chunks.iter().map(|b| T::from_f64(value(*b))));
    }
    match number {
        Number::Bool => each(bytes, out, |[b]| f64::from(u8::from(b != 0))),
        Number::I8 => each(bytes, out, |b| f64::from(i8::from_le_bytes(b))),
        Number::U8 => each(bytes, out, |[b]| f64::from(b)),
        Number::I16 => each(bytes, out, |b| f64::from(i16::from_le_bytes(b))),
        Number::U16 => each(bytes, out, |b| f64::from(u16::from_le_bytes(b))),
        Number::I32 => each(bytes, out, |b| f64::from(i32::from_le_bytes(b))),
        Number::U32 => each(bytes, out, |b| f64::from(u32::from_le_bytes(b))),
        Number::I64 => each(bytes, out, |b| i64::from_le_bytes(b) as f64),
        Number::U64 => each(bytes, out, |b| u64::from_le_bytes(b) as f64),
        Number::F16 => each(bytes, out, |b| half_to_f64(u16::from_le_bytes(b))),
        Number::F32 => each(bytes, out, |b| f64::from(f32::from_le_bytes(b))),
        Number::F64 => each(bytes, out, f64::from_le_bytes),
    }
}

/// Converts IEEE half precision, for which Rust has no stable type.
pub(crate) fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// Converts column-major to row-major order, in square blocks that fit in the cache.
pub(crate) fn transpose<T: Float>(columns: &[T], n_rows: usize, n_cols: usize) -> Vec<T> {
    const BLOCK: usize = 32;
    let mut rows = vec![T::default(); columns.len()];
    // A shape such as (10^15, 0) would keep the loops busy with nothing.
    let n_rows = if columns.is_empty() { 0 } else { n_rows };
    for i0 in (0..n_rows).step_by(BLOCK) {
        for j0 in (0..n_cols).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(n_rows) {
                for j in j0..(j0 + BLOCK).min(n_cols) {
                    rows[i * n_cols + j] = columns[j * n_rows + i];
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_exactly() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f64.powi(-24)), (0, 0.0)]
        {
            assert_eq!(half_to_f64(bits), value);
        }
        assert_eq!(half_to_f64(0xfc00), f64::NEG_INFINITY);
        assert!(half_to_f64(0x7e00).is_nan());
    }

    #[test]
    fn both_byte_orders_give_the_same_numbers() {
        let layout = |big_endian| Layout { number: Number::I16, big_endian, count: 2, certain: 0 };
        let big = layout(true).read(&mut &[0u8, 1, 255, 254][..]).unwrap();
        let little = layout(false).read(&mut &[1u8, 0, 254, 255][..]).unwrap();
        assert_eq!(big, Values::F32(vec![1.0, -2.0]));
        assert_eq!(little, big);
    }

    #[test]
    fn a_header_that_lies_costs_no_memory() {
        let layout = Layout { number: Number::F64, big_endian: false, count: 1 << 50, certain: 8 };
        let error = layout.read(&mut &[0u8; 8][..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(Layout { count: usize::MAX, ..layout }.read(&mut &[0u8; 8][..]).is_err());
    }

    #[test]
    fn column_major_is_turned_around() {
        let m = Values::F32(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).into_dense(2, 3, true);
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(m, Matrix::Dense32 { values, n_rows: 2, n_cols: 3 });
    }
}
