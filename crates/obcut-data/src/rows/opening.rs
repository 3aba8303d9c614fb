//! Sources whose header is read, before their rows.

use std::path::PathBuf;

use super::raw::Grid;
use crate::columns::{ColumnList, Selection, check_shape};
use crate::error::Error;
use crate::source::{Input, Source};
use crate::{Format, LoadOptions, csv, npy};

/// An open source after its header.
pub(crate) struct Opening {
    pub name: String,
    pub format: Format,
    /// Names of the features, if the source has names.
    pub names: Option<Vec<String>>,
    /// Columns of the features, if only some were chosen.
    pub columns: Option<ColumnList>,
    pub n_features: usize,
    /// Whether single precision holds every feature.
    pub fits_single: bool,
    /// Number of rows, if the header has it.
    pub n_rows: Option<usize>,
    pub body: Body,
}

/// The rows.
pub(crate) enum Body {
    /// An array in an uncompressed file, read at its position.
    Array { grid: Grid, selection: Option<Selection>, path: PathBuf },
    /// An array that is compressed or comes from a pipe.
    Packed { grid: Grid, selection: Option<Selection>, input: Input },
    /// Text.
    Text(Box<csv::CsvRows>),
    /// Columns.
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet::ParquetRows>),
    /// A source that is opened again before its rows are read.
    Later,
}

impl Opening {
    pub(crate) fn new(source: &Source, options: &LoadOptions) -> Result<Self, Error> {
        let input = crate::open(source, options)?;
        match input.format {
            Format::Npy => Self::array(input, options),
            Format::Csv | Format::Tsv => {
                let (name, format) = (input.name.clone(), input.format);
                let rows = csv::CsvRows::open(input, options)?;
                Ok(Self {
                    name,
                    format,
                    names: rows.feature_names(),
                    columns: Some(rows.selection.features.clone()),
                    n_features: rows.selection.features.len(),
                    fits_single: false,
                    n_rows: None,
                    body: Body::Text(Box::new(rows)),
                })
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                let name = input.name.clone();
                let rows = crate::parquet::ParquetRows::open(input, options)?;
                Ok(Self {
                    name,
                    format: Format::Parquet,
                    names: Some(rows.feature_names()),
                    columns: Some(rows.selection.features.clone()),
                    n_features: rows.selection.features.len(),
                    fits_single: rows.fits_single,
                    n_rows: Some(rows.promised()),
                    body: Body::Parquet(Box::new(rows)),
                })
            }
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(crate::no_parquet(input.name)),
            format @ (Format::Npz | Format::Mat | Format::Svmlight | Format::MatrixMarket) => {
                Err(Error::NotInPieces { source_name: input.name, format })
            }
        }
    }

    fn array(mut input: Input, options: &LoadOptions) -> Result<Self, Error> {
        let (header, _) = npy::open(&mut input)?;
        let name = input.name.clone();
        let (n_rows, n_cols) = header.table_shape(&name)?;
        let (number, big_endian) = header.numbers(&name)?;
        // One of several tables may have no rows, but it must have columns.
        if n_cols == 0 {
            check_shape(&name, n_rows, n_cols)?;
        }
        let selection = Selection::if_wanted(&name, n_cols, options)?;
        let grid = Grid {
            start: header.n_bytes,
            number,
            big_endian,
            column_major: header.column_major && n_rows > 1 && n_cols > 1,
            n_rows,
            n_cols,
        };
        let columns = selection.as_ref().map(|s| s.features.clone());
        Ok(Self {
            name,
            format: Format::Npy,
            names: None,
            n_features: columns.as_ref().map_or(n_cols, ColumnList::len),
            columns,
            fits_single: number.fits_single(),
            n_rows: Some(n_rows),
            body: match input.plain.clone() {
                Some(path) => Body::Array { grid, selection, path },
                None => Body::Packed { grid, selection, input },
            },
        })
    }

    /// Checks that the table has the columns of another.
    pub(crate) fn check_below(&self, first: &Self) -> Result<(), Error> {
        let (source_name, first_name) = (self.name.clone(), first.name.clone());
        if self.n_features != first.n_features {
            return Err(Error::OtherColumns {
                source_name,
                first: first_name,
                found: self.n_features,
                expected: first.n_features,
            });
        }
        let (Some(names), Some(expected)) = (&self.names, &first.names) else { return Ok(()) };
        match names.iter().zip(expected).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(place) => Err(Error::OtherNames {
                source_name,
                first: first_name,
                place,
                found: names[place].clone(),
                expected: expected[place].clone(),
            }),
        }
    }
}

/// Whether a source can be read again: a pipe cannot.
pub(crate) fn opens_again(source: &Source) -> bool {
    match source {
        Source::Stdin => false,
        Source::Path(path) => !std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()),
    }
}
