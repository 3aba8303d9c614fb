//! How large a table is, before it is read.

use std::sync::atomic::Ordering;

use super::opening::{Opening, opens_again};
use crate::error::Error;
use crate::source::Source;
use crate::{Description, Format, LoadOptions, csv, describe};

/// Bytes of text that tell how long its lines are.
const SAMPLE: u64 = 1 << 22;

/// The size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Rows; none for standard input and pipes, which can be read only once.
    pub rows: Option<u64>,
    /// Whether the rows are estimated, as those of long CSV files are.
    pub is_estimate: bool,
    /// Feature columns, where they are known.
    pub cols: Option<usize>,
    /// Stored entries, if sparse.
    pub stored: Option<u64>,
    /// Bytes of one value in memory: 4 or 8.
    pub value_bytes: usize,
    /// Whether [`open_rows`](crate::open_rows) reads it.
    pub in_pieces: bool,
}

impl Measure {
    /// Bytes of the features in memory, where rows and columns are known.
    pub fn bytes(&self) -> Option<u64> {
        let value_bytes = self.value_bytes as u64;
        match self.stored {
            // A column number of 8 bytes beside every value.
            Some(stored) => Some(stored.saturating_mul(value_bytes + 8)),
            None => Some(self.rows?.saturating_mul(self.cols? as u64).saturating_mul(value_bytes)),
        }
    }
}

/// Tells the size of one table, or of several one below the other, reading no more than needed:
/// the header where it has the size, the first lines of CSV files. Other formats are read as far
/// as [`describe`] reads them.
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
                    // What was taken of a packed file stands for the text that came out of it.
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
            let what = describe(source, options)?;
            let fits_single = is_single(&what);
            let known = |n: usize| (!what.undecided).then_some(n);
            Ok(Measure {
                rows: known(what.rows).map(|n| n as u64),
                is_estimate: false,
                cols: known(what.cols),
                stored: what.stored.map(|n| n as u64),
                value_bytes: width(fits_single),
                in_pieces: false,
            })
        }
    }
}

/// Whether values of a file are held in single precision.
fn is_single(what: &Description) -> bool {
    let singles = ["bool", "int8", "uint8", "int16", "uint16", "float16", "float32"];
    // The pattern of a MatrixMarket file becomes ones in double precision.
    what.format != Format::MatrixMarket && singles.contains(&what.dtype.as_str())
}
