//! Parquet tables: flat columns of numbers and truth values as features, text only as classes.
//!
//! The column readers of the parquet crate are used directly: a table of numbers needs none of
//! the arrow crates.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use obcut::Matrix;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescriptor;

use crate::columns::{Selection, find_column};
use crate::error::Error;
use crate::labels::{Truth, TruthBuilder};
use crate::message::shorten;
use crate::source::{Input, Seekable};
use crate::values::{Number, Real, half_to_f64};
use crate::write::LabelTable;
use crate::{Dataset, Description, Format, LoadOptions, without_panic};

/// Values decoded at a time.
const BATCH: usize = 1 << 14;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number(Number),
    Text,
    /// Not for us: lists, dates, decimals and the like.
    Other(&'static str),
}

impl Kind {
    fn of(column: &ColumnDescriptor) -> Self {
        use ConvertedType as C;
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Self::Other("nested");
        }
        let logical = column.logical_type_ref();
        match (column.physical_type(), column.converted_type()) {
            (Type::BOOLEAN, _) => Self::Number(Number::Bool),
            (Type::FLOAT, _) => Self::Number(Number::F32),
            (Type::DOUBLE, _) => Self::Number(Number::F64),
            (Type::INT32, C::INT_8) => Self::Number(Number::I8),
            (Type::INT32, C::UINT_8) => Self::Number(Number::U8),
            (Type::INT32, C::INT_16) => Self::Number(Number::I16),
            (Type::INT32, C::UINT_16) => Self::Number(Number::U16),
            (Type::INT32, C::NONE | C::INT_32) if logical.is_none_or(is_integer) => {
                Self::Number(Number::I32)
            }
            (Type::INT32, C::UINT_32) => Self::Number(Number::U32),
            (Type::INT64, C::NONE | C::INT_64) if logical.is_none_or(is_integer) => {
                Self::Number(Number::I64)
            }
            (Type::INT64, C::UINT_64) => Self::Number(Number::U64),
            (Type::FIXED_LEN_BYTE_ARRAY, _) if logical == Some(&LogicalType::Float16) => {
                Self::Number(Number::F16)
            }
            (Type::BYTE_ARRAY, C::DECIMAL) => Self::Other("decimal"),
            (Type::BYTE_ARRAY, _) => Self::Text,
            (_, C::DECIMAL) => Self::Other("decimal"),
            _ => Self::Other("date, time or binary"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Number(number) => number.name(),
            Self::Text => "text",
            Self::Other(name) => name,
        }
    }
}

fn is_integer(logical: &LogicalType) -> bool {
    matches!(logical, LogicalType::Integer { .. })
}

/// An open table.
struct Table {
    name: String,
    file: Box<dyn FileReader>,
    columns: Vec<String>,
    kinds: Vec<Kind>,
}

impl Table {
    fn open(input: Input) -> Result<Self, Error> {
        let (name, bytes) = input.seekable()?;
        let opened: Result<Box<dyn FileReader>, _> = match bytes {
            Seekable::File(file) => SerializedFileReader::new(file).map(|f| Box::new(f) as _),
            Seekable::Memory(bytes) => {
                SerializedFileReader::new(Bytes::from(bytes)).map(|f| Box::new(f) as _)
            }
        };
        let file = opened.map_err(|e| complaint(&name, &e))?;
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter().map(|c| c.path().string()).collect();
        let kinds = schema.columns().iter().map(|c| Kind::of(c)).collect();
        Ok(Self { name, file, columns, kinds })
    }

    /// The type of a column that must hold numbers.
    fn number(&self, j: usize) -> Result<Number, Error> {
        match self.kinds[j] {
            Kind::Number(number) => Ok(number),
            kind => Err(Error::unsupported(
                &self.name,
                format!(
                    "column '{}' is {}, not numbers; leave it out with --columns or --drop, or name it with --truth",
                    shorten(&self.columns[j], 40),
                    kind.name()
                ),
            )),
        }
    }

    /// Runs over one column of one group of rows. `row` is the first row's number in the table.
    fn numbers<T: Real>(&self, group: usize, j: usize, row: usize) -> Result<Vec<T>, Error> {
        let number = self.number(j)?;
        let mut out = Vec::new();
        let reader = self.reader(group, j)?;
        let mut push = |value: f64| out.push(T::from_f64(value));
        match reader {
            ColumnReader::BoolColumnReader(r) => {
                self.each(r, group, j, row, |&v| push(f64::from(u8::from(v))))
            }
            ColumnReader::Int32ColumnReader(r) if number == Number::U32 => {
                self.each(r, group, j, row, |&v| push(f64::from(v.cast_unsigned())))
            }
            ColumnReader::Int32ColumnReader(r) => {
                self.each(r, group, j, row, |&v| push(f64::from(v)))
            }
            ColumnReader::Int64ColumnReader(r) if number == Number::U64 => {
                self.each(r, group, j, row, |&v| push(v.cast_unsigned() as f64))
            }
            ColumnReader::Int64ColumnReader(r) => self.each(r, group, j, row, |&v| push(v as f64)),
            ColumnReader::FloatColumnReader(r) => {
                self.each(r, group, j, row, |&v| push(f64::from(v)))
            }
            ColumnReader::DoubleColumnReader(r) => self.each(r, group, j, row, |&v| push(v)),
            ColumnReader::FixedLenByteArrayColumnReader(r) => self.each(r, group, j, row, |v| {
                let half = v.data().first_chunk().map_or(0, |&b| u16::from_le_bytes(b));
                push(half_to_f64(half));
            }),
            _ => Err(Error::damaged(&self.name, "a column changes its type")),
        }?;
        Ok(out)
    }

    /// Classes of one group of rows; numbers become their text.
    fn classes(
        &self,
        group: usize,
        j: usize,
        row: usize,
        truth: &mut TruthBuilder,
    ) -> Result<(), Error> {
        match (self.kinds[j], self.reader(group, j)?) {
            (Kind::Text, ColumnReader::ByteArrayColumnReader(r)) => {
                self.each(r, group, j, row, |v| truth.push(&String::from_utf8_lossy(v.data())))
            }
            // As text, integers beyond 2^53 stay apart.
            (Kind::Number(Number::I64), ColumnReader::Int64ColumnReader(r)) => {
                self.each(r, group, j, row, |v| truth.push(&v.to_string()))
            }
            _ => {
                let values = self.numbers::<f64>(group, j, row)?;
                values.iter().for_each(|v| truth.push(&v.to_string()));
                Ok(())
            }
        }
    }

    fn reader(&self, group: usize, j: usize) -> Result<ColumnReader, Error> {
        // The parquet crate asserts this; caught or not, a panic would print its own lines.
        let chunk = self.file.metadata().row_group(group).column(j);
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        if start < 0 || chunk.compressed_size() < 0 {
            return Err(Error::damaged(&self.name, "a column lies outside the file"));
        }
        self.file
            .get_row_group(group)
            .and_then(|rows| rows.get_column_reader(j))
            .map_err(|e| complaint(&self.name, &e))
    }

    fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.file.metadata().row_group(group).num_rows()).unwrap_or(0)
    }

    /// Calls `push` for every value; a null is an error that names its row.
    fn each<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        group: usize,
        j: usize,
        row: usize,
        mut push: impl FnMut(&T::T),
    ) -> Result<(), Error> {
        let n_rows = self.group_rows(group);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < n_rows {
            values.clear();
            levels.clear();
            let (n_records, n_values, _) = reader
                .read_records(BATCH.min(n_rows - done), Some(&mut levels), None, &mut values)
                .map_err(|e| complaint(&self.name, &e))?;
            if n_records == 0 {
                let problem = format!("column '{}' ends early", shorten(&self.columns[j], 40));
                return Err(Error::damaged(&self.name, problem));
            }
            if n_values < n_records {
                // Flat columns are at level 1, or 0 for a null.
                let at = levels.iter().position(|&level| level == 0).unwrap_or(0);
                return Err(Error::Missing {
                    source_name: self.name.clone(),
                    place: format!("row {}", row + done + at),
                    column: self.columns[j].clone(),
                });
            }
            values.iter().for_each(&mut push);
            done += n_records;
        }
        Ok(())
    }

    /// Reads the chosen columns as one matrix, group by group.
    fn matrix<T: Real>(&self, features: &[usize]) -> Result<(Vec<T>, usize), Error> {
        let mut values = Vec::new();
        let mut n_rows = 0;
        for group in 0..self.file.num_row_groups() {
            let columns: Vec<Vec<T>> = features
                .iter()
                .map(|&j| self.numbers(group, j, n_rows))
                .collect::<Result<_, _>>()?;
            let n_group = self.group_rows(group);
            values.reserve(n_group * columns.len());
            for i in 0..n_group {
                values.extend(columns.iter().map(|column| column[i]));
            }
            n_rows += n_group;
        }
        Ok((values, n_rows))
    }

    /// Reads one column as classes.
    fn truth(&self, j: usize) -> Result<Truth, Error> {
        if let Kind::Other(_) = self.kinds[j] {
            self.number(j)?;
        }
        let mut truth = TruthBuilder::default();
        let mut row = 0;
        for group in 0..self.file.num_row_groups() {
            self.classes(group, j, row, &mut truth)?;
            row += self.group_rows(group);
        }
        truth.finish(&self.name)
    }
}

/// The parquet reader's complaint, in one line.
fn complaint(name: &str, error: &ParquetError) -> Error {
    let text = error.to_string();
    if text.contains("Disabled feature") {
        let problem =
            "its columns are packed in a way that is not read; write it with snappy, zstd or gzip";
        return Error::unsupported(name, problem);
    }
    Error::damaged(name, shorten(&text, 120))
}

/// Reads a table.
pub(crate) fn load(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = Table::open(input)?;
        let selection = Selection::new(&name, Some(&table.columns), table.columns.len(), options)?;
        let Selection { features, truth, weights } = selection;
        let mut single = true;
        for &j in &features {
            single &= table.number(j)?.fits_single();
        }
        let n_cols = features.len();
        let matrix = if single {
            let (values, n_rows) = table.matrix(&features)?;
            Matrix::Dense32 { values, n_rows, n_cols }
        } else {
            let (values, n_rows) = table.matrix(&features)?;
            Matrix::Dense64 { values, n_rows, n_cols }
        };
        crate::columns::check_not_empty(&name, &matrix)?;
        Ok(Dataset {
            matrix,
            feature_names: Some(features.iter().map(|&j| table.columns[j].clone()).collect()),
            feature_columns: Some(features),
            first_line: None,
            truth: truth.map(|j| table.truth(j)).transpose()?,
            weights: weights.map(|j| table.matrix(&[j]).map(|(values, _)| values)).transpose()?,
            format: Format::Parquet,
        })
    })
}

/// Reads one class per row from the column named.
pub(crate) fn load_truth(input: Input, word: &str) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = Table::open(input)?;
        let n_cols = table.columns.len();
        table.truth(find_column(&name, Some(&table.columns), n_cols, word)?)
    })
}

/// Reads one class per row: the only column, or the one called `label`.
pub(crate) fn load_labels(input: Input) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = Table::open(input)?;
        let named = table.columns.iter().position(|c| c == "label" || c == "labels");
        let j = match named {
            Some(j) => j,
            None if table.columns.len() == 1 => 0,
            None => {
                return Err(Error::NoColumn {
                    source_name: name.clone(),
                    column: "label".to_string(),
                    hint: "labels need one column, or one with this name".to_string(),
                });
            }
        };
        table.truth(j)
    })
}

/// Reads the footer only.
pub(crate) fn describe(input: Input) -> Result<Description, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = Table::open(input)?;
        let is_text = |&j: &usize| !matches!(table.kinds[j], Kind::Number(_));
        let text_columns = (0..table.kinds.len()).filter(is_text).collect();
        let is_uniform = table.kinds.windows(2).all(|pair| pair[0] == pair[1]);
        let dtype = table.kinds.first().filter(|_| is_uniform).map_or("mixed", |kind| kind.name());
        Ok(Description {
            format: Format::Parquet,
            rows: (0..table.file.num_row_groups())
                .fold(0, |n: usize, group| n.saturating_add(table.group_rows(group))),
            cols: table.columns.len(),
            dtype: dtype.to_string(),
            stored: None,
            columns: Some(table.columns),
            text_columns,
            arrays: Vec::new(),
            undecided: false,
        })
    })
}

/// Writes labels as columns `label`, `second`, `margin`, the last two if given.
pub(crate) fn write_labels(out: &mut dyn Write, table: &LabelTable<'_>) -> io::Result<()> {
    // The writer must own something that threads may share, so the file is made in memory.
    let bytes = label_bytes(table).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn label_bytes(table: &LabelTable<'_>) -> Result<Vec<u8>, ParquetError> {
    let mut schema = "message labels { required int32 label;".to_string();
    if table.second.is_some() {
        schema.push_str(" required int32 second;");
    }
    if table.margin.is_some() {
        schema.push_str(" required double margin;");
    }
    let schema = Arc::new(parse_message_type(&(schema + " }"))?);
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default()))?;
    let mut group = file.next_row_group()?;
    for numbers in [Some(table.labels), table.second].into_iter().flatten() {
        // A cluster's number is far below 2^31.
        let numbers: Vec<i32> = numbers.iter().map(|&label| label as i32).collect();
        if let Some(mut column) = group.next_column()? {
            column.typed::<Int32Type>().write_batch(&numbers, None, None)?;
            column.close()?;
        }
    }
    if let (Some(margin), Some(mut column)) = (table.margin, group.next_column()?) {
        column.typed::<DoubleType>().write_batch(margin, None, None)?;
        column.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}
