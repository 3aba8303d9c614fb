//! Measuring the size of a table before it is read.

use std::sync::atomic::Ordering;

use super::opening::{Opening, opens_again};
use crate::error::Error;
use crate::source::Source;
use crate::{Description, Format, LoadOptions, csv, describe};

/// Number of bytes of text for estimating the length of lines.
const SAMPLE: u64 = 1 << 22;

/// The size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Number of rows; `None` for standard input and pipes, which can be read only once.
    pub rows: Option<u64>,
    /// Whether the number of rows is estimated, as for long CSV files.
    pub is_estimate: bool,
    /// Number of feature columns, if known.
    pub cols: Option<usize>,
    /// Number of stored entries, if sparse.
    pub stored: Option<u64>,
    /// Number of bytes per value in memory: 4 or 8.
    pub value_bytes: usize,
    /// Whether [`open_rows`](crate::open_rows) supports the format.
    pub in_pieces: bool,
}

impl Measure {
    /// Number of bytes of the features in memory, if rows and columns are known.
    pub fn bytes(&self) -> Option<u64> {
        let value_bytes = self.value_bytes as u64;
        match self.stored {
            // Every value has a column index of 8 bytes.
            Some(stored) => Some(stored.saturating_mul(value_bytes + 8)),
            None => Some(self.rows?.saturating_mul(self.cols? as u64).saturating_mul(value_bytes)),
        }
    }
}

/// Measures the size of one table, or of several tables one below the other. Reads no more than needed: the
/// header if it has the size, the first lines of CSV files, and of other formats what [`describe`] reads.
///
/// # Errors
/// When a file is missing, damaged or of another format, or a chosen column is not in it.
pub fn measure(sources: &[Source], options: &LoadOptions) -> Result<Measure, Error> {
    let mut total: Option<Measure> = None;
    for source in sources {
        let one = measure_one(source, options)?;
        total = Some(match total {
            None => one,
            Some(sum) => Measure {
                rows: sum.rows.zip(one.rows).map(|(a, b)| a.saturating_add(b)),
                is_estimate: sum.is_estimate || one.is_estimate,
                cols: sum.cols.or(one.cols),
                stored: sum.stored.zip(one.stored).map(|(a, b)| a.saturating_add(b)),
                value_bytes: sum.value_bytes.max(one.value_bytes),
                in_pieces: sum.in_pieces && one.in_pieces,
            },
        });
    }
    total.ok_or(Error::NoSource)
}

fn measure_one(source: &Source, options: &LoadOptions) -> Result<Measure, Error> {
    let width = |fits_single: bool| if options.single.unwrap_or(fits_single) { 4 } else { 8 };
    let unknown = Measure {
        rows: None,
        is_estimate: false,
        cols: None,
        stored: None,
        value_bytes: width(false),
        in_pieces: true,
    };
    if !opens_again(source) {
        return Ok(unknown);
    }
    let input = crate::open(source, options)?;
    match input.format {
        Format::Csv | Format::Tsv => {
            let (is_packed, length) = (input.plain.is_none(), input.file_length.unwrap_or(0));
            let rows = csv::CsvRows::open(input, options)?;
            let (cols, taken) = (rows.selection.features.len(), rows.taken.clone());
            let (n_rows, n_bytes, is_all) = rows.sample(SAMPLE)?;
            let rows = match is_all {
                true => n_rows,
                false => {
                    // Compressed bytes are compared with the length of the compressed file.
                    let of_file = match is_packed {
                        true => taken.load(Ordering::Relaxed).max(1),
                        false => n_bytes.max(1),
                    };
                    (n_rows as f64 * (length as f64 / of_file as f64)) as u64
                }
            };
            Ok(Measure { rows: Some(rows), is_estimate: !is_all, cols: Some(cols), ..unknown })
        }
        Format::Npy | Format::Parquet => {
            let opening = Opening::new(source, options)?;
            Ok(Measure {
                rows: opening.n_rows.map(|n| n as u64),
                cols: Some(opening.n_features),
                value_bytes: width(opening.fits_single),
                ..unknown
            })
        }
        _ => {
            // An entry takes a byte at least, and deflate makes of a byte 1,032 at most: a header that promises more, as
            // MAT files do that have room to grow, is not believed.
            let possible = input.file_length.map_or(u64::MAX, |n| n.saturating_mul(1032));
            let what = describe(source, options)?;
            let fits_single = is_single(&what);
            let known = |n: usize| (!what.undecided).then_some(n);
            Ok(Measure {
                rows: known(what.rows).map(|n| n as u64),
                is_estimate: false,
                cols: known(what.cols),
                stored: what.stored.map(|n| (n as u64).min(possible)),
                value_bytes: width(fits_single),
                in_pieces: false,
            })
        }
    }
}

/// Whether the values of a file are read in single precision.
fn is_single(what: &Description) -> bool {
    let singles = ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32"];
    // Pattern entries of a MatrixMarket file become 1 in double precision.
    what.format != Format::MatrixMarket && singles.contains(&what.dtype.as_str())
}
