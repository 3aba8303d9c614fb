//! Parquet files: flat numeric and boolean columns as features, text only as classes.
//!
//! The column readers of the parquet crate are used directly, without the arrow crates.

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::columns::{Roles, Selection, find_column};
use crate::error::Error;
use crate::labels::{Truth, TruthBuilder};
use crate::message::shorten;
use crate::source::{Input, Seekable};
use crate::values::{Float, Number, half_to_f64};
use crate::{Dataset, Description, Format, LoadOptions, without_panic};

/// Number of values that are decoded at a time.
const BATCH: usize = 1 << 14;

/// Maximum number of values in a batch of rows.
const MOST: usize = 1 << 20;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Number(Number),
    Text,
    /// Unsupported: lists, dates, decimals and others.
    Other(&'static str),
}

impl ColumnKind {
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
struct ParquetTable {
    name: String,
    file: Box<dyn FileReader>,
    columns: Vec<String>,
    kinds: Vec<ColumnKind>,
}

impl ParquetTable {
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
        let kinds = schema.columns().iter().map(|c| ColumnKind::of(c)).collect();
        Ok(Self { name, file, columns, kinds })
    }

    /// The type of a column that must hold numbers.
    fn number(&self, j: usize) -> Result<Number, Error> {
        match self.kinds[j] {
            ColumnKind::Number(number) => Ok(number),
            kind => Err(Error::unsupported(
                &self.name,
                format!(
                    "column '{}' is {}, not numbers; leave it out with `columns` or `drop`, or name it with `truth`",
                    shorten(&self.columns[j], 40),
                    kind.name()
                ),
            )),
        }
    }

    /// Appends the next values of a column.
    fn numbers<T: Float>(
        &self,
        cells: &mut Cells,
        n: usize,
        out: &mut Vec<T>,
    ) -> Result<(), Error> {
        let Cells { j, row, reader } = cells;
        let (j, row) = (*j, *row);
        let number = self.number(j)?;
        let mut push = |value: f64| out.push(T::from_f64(value));
        match reader {
            ColumnReader::BoolColumnReader(r) => {
                self.each(r, n, j, row, |&v| push(f64::from(u8::from(v))))
            }
            ColumnReader::Int32ColumnReader(r) if number == Number::U32 => {
                self.each(r, n, j, row, |&v| push(f64::from(v.cast_unsigned())))
            }
            ColumnReader::Int32ColumnReader(r) => self.each(r, n, j, row, |&v| push(f64::from(v))),
            ColumnReader::Int64ColumnReader(r) if number == Number::U64 => {
                self.each(r, n, j, row, |&v| push(v.cast_unsigned() as f64))
            }
            ColumnReader::Int64ColumnReader(r) => self.each(r, n, j, row, |&v| push(v as f64)),
            ColumnReader::FloatColumnReader(r) => self.each(r, n, j, row, |&v| push(f64::from(v))),
            ColumnReader::DoubleColumnReader(r) => self.each(r, n, j, row, |&v| push(v)),
            ColumnReader::FixedLenByteArrayColumnReader(r) => self.each(r, n, j, row, |v| {
                let half = v.data().first_chunk().map_or(0, |&b| u16::from_le_bytes(b));
                push(half_to_f64(half));
            }),
            _ => Err(Error::damaged(&self.name, "a column changes its type")),
        }?;
        cells.row += n;
        Ok(())
    }

    /// Appends the next classes of a column, numbers as text.
    fn classes(&self, cells: &mut Cells, n: usize, truth: &mut TruthBuilder) -> Result<(), Error> {
        let (j, row) = (cells.j, cells.row);
        match (self.kinds[j], &mut cells.reader) {
            (ColumnKind::Text, ColumnReader::ByteArrayColumnReader(r)) => {
                self.each(r, n, j, row, |v| truth.push(&String::from_utf8_lossy(v.data())))?;
            }
            // As text, integers beyond 2^53 remain distinct.
            (ColumnKind::Number(Number::I64), ColumnReader::Int64ColumnReader(r)) => {
                self.each(r, n, j, row, |v| truth.push(&v.to_string()))?;
            }
            _ => {
                let mut values = Vec::new();
                self.numbers::<f64>(cells, n, &mut values)?;
                values.iter().for_each(|v| truth.push(&v.to_string()));
                return Ok(());
            }
        }
        cells.row += n;
        Ok(())
    }

    /// Opens a column of a row group; `row` is the index of its first row in the table.
    fn cells(&self, group: usize, j: usize, row: usize) -> Result<Cells, Error> {
        Ok(Cells { j, row, reader: self.reader(group, j)? })
    }

    fn reader(&self, group: usize, j: usize) -> Result<ColumnReader, Error> {
        // The parquet crate asserts this, and a panic would print a message.
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

    /// Calls `push` for the next `n_rows` values. A null is an error that names the row.
    fn each<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        n_rows: usize,
        j: usize,
        row: usize,
        mut push: impl FnMut(&T::T),
    ) -> Result<(), Error> {
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
                // The level of a flat column is 1, or 0 for a null.
                let at = levels.iter().position(|&level| level == 0).unwrap_or(0);
                return Err(Error::Missing {
                    source_name: self.name.clone(),
                    place: format!("row {}", row + done + at),
                    column: shorten(&self.columns[j], 40),
                });
            }
            values.iter().for_each(&mut push);
            done += n_records;
        }
        Ok(())
    }

    /// Reads one column as classes.
    fn truth(&self, j: usize) -> Result<Truth, Error> {
        if let ColumnKind::Other(_) = self.kinds[j] {
            self.number(j)?;
        }
        let mut truth = TruthBuilder::default();
        let mut row = 0;
        for group in 0..self.file.num_row_groups() {
            let n_rows = self.group_rows(group);
            self.classes(&mut self.cells(group, j, row)?, n_rows, &mut truth)?;
            row += n_rows;
        }
        truth.finish(&self.name)
    }
}

/// A column of a row group, read from its start.
struct Cells {
    j: usize,
    /// The index of the next row in the table.
    row: usize,
    reader: ColumnReader,
}

/// Reads the chosen columns of a table in batches of rows. The columns of a row group
/// advance together, so that only one page of each is in memory.
pub(crate) struct ParquetRows {
    table: ParquetTable,
    pub selection: Selection,
    /// Whether single precision holds every feature.
    pub fits_single: bool,
    /// Number of row groups that were opened.
    n_groups: usize,
    /// Number of rows of the last one that are not read yet.
    left: usize,
    features: Vec<Cells>,
    truth: Option<Cells>,
    weights: Option<Cells>,
    pub n_rows: usize,
    /// Number of bytes of the columns that were opened so far, according to the footer.
    pub taken: u64,
}

impl ParquetRows {
    pub(crate) fn open(input: Input, options: &LoadOptions) -> Result<Self, Error> {
        let name = input.name.clone();
        without_panic(&name, || {
            let table = ParquetTable::open(input)?;
            let names = Some(&table.columns[..]);
            let selection = Selection::new(&name, names, table.columns.len(), options)?;
            let mut fits_single = true;
            for j in selection.features.iter() {
                fits_single &= table.number(j)?.fits_single();
            }
            if let Some(j) = selection.truth.filter(|&j| table.kinds[j] != ColumnKind::Text) {
                table.number(j)?;
            }
            if let Some(j) = selection.weights {
                table.number(j)?;
            }
            Ok(Self {
                table,
                selection,
                fits_single,
                n_groups: 0,
                left: 0,
                features: Vec::new(),
                truth: None,
                weights: None,
                n_rows: 0,
                taken: 0,
            })
        })
    }

    /// Number of rows of the table, according to the footer.
    pub(crate) fn promised(&self) -> usize {
        (0..self.table.file.num_row_groups())
            .fold(0, |n: usize, group| n.saturating_add(self.table.group_rows(group)))
    }

    /// Names of the features.
    pub(crate) fn feature_names(&self) -> Vec<String> {
        self.selection.features.iter().map(|j| self.table.columns[j].clone()).collect()
    }

    /// Appends the values of the next rows and returns the number of rows, 0 at the end.
    pub(crate) fn batch<T: Float>(
        &mut self,
        values: &mut Vec<T>,
        roles: &mut Roles,
    ) -> Result<usize, Error> {
        let name = self.table.name.clone();
        without_panic(&name, || {
            while self.left == 0 {
                if self.n_groups == self.table.file.num_row_groups() {
                    return Ok(0);
                }
                self.begin_group()?;
            }
            let n = self.left.min((MOST / self.features.len()).clamp(1, BATCH));
            let mut columns: Vec<Vec<T>> = Vec::with_capacity(self.features.len());
            for cells in &mut self.features {
                let mut column = Vec::new();
                self.table.numbers(cells, n, &mut column)?;
                columns.push(column);
            }
            values.reserve(n * columns.len());
            for i in 0..n {
                values.extend(columns.iter().map(|column| column[i]));
            }
            if let Some(cells) = &mut self.truth {
                self.table.classes(cells, n, &mut roles.truth)?;
            }
            if let Some(cells) = &mut self.weights {
                self.table.numbers(cells, n, &mut roles.weights)?;
            }
            self.left -= n;
            self.n_rows += n;
            Ok(n)
        })
    }

    fn begin_group(&mut self) -> Result<(), Error> {
        let (group, table, row) = (self.n_groups, &self.table, self.n_rows);
        let mut taken = self.taken;
        let mut begin = |j: usize| {
            let chunk = table.file.metadata().row_group(group).column(j);
            taken += u64::try_from(chunk.compressed_size()).unwrap_or(0);
            table.cells(group, j, row)
        };
        let Selection { features, truth, weights } = &self.selection;
        self.features = features.iter().map(&mut begin).collect::<Result<_, _>>()?;
        self.truth = truth.map(&mut begin).transpose()?;
        self.weights = weights.map(&mut begin).transpose()?;
        self.left = table.group_rows(group);
        self.taken = taken;
        self.n_groups += 1;
        Ok(())
    }
}

/// Converts an error of the parquet reader.
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
    let rows = ParquetRows::open(input, options)?;
    match options.single.unwrap_or(rows.fits_single) {
        true => load_as::<f32>(rows),
        false => load_as::<f64>(rows),
    }
}

fn load_as<T: Float>(mut rows: ParquetRows) -> Result<Dataset, Error> {
    let mut values: Vec<T> = Vec::new();
    let mut roles = Roles::default();
    while rows.batch(&mut values, &mut roles)? > 0 {}
    let feature_names = Some(rows.feature_names());
    let ParquetRows { table, selection, n_rows, .. } = rows;
    let data = selection.read_rows(&table.name, (values, n_rows), roles, Format::Parquet)?;
    Ok(Dataset { feature_names, ..data })
}

/// Reads one class per row from the named column.
pub(crate) fn load_truth(input: Input, word: &str) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = ParquetTable::open(input)?;
        let n_cols = table.columns.len();
        table.truth(find_column(&name, Some(&table.columns), n_cols, word)?)
    })
}

/// Reads one class per row from the only column, or from the column `label`.
pub(crate) fn load_labels(input: Input) -> Result<Truth, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = ParquetTable::open(input)?;
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

/// Describes a file. Reads only the footer.
pub(crate) fn describe(input: Input) -> Result<Description, Error> {
    let name = input.name.clone();
    without_panic(&name, || {
        let table = ParquetTable::open(input)?;
        let is_text = |&j: &usize| !matches!(table.kinds[j], ColumnKind::Number(_));
        let text_columns = (0..table.kinds.len()).filter(is_text).collect();
        let is_uniform = table.kinds.windows(2).all(|pair| pair[0] == pair[1]);
        let dtype = table.kinds.first().filter(|_| is_uniform).map_or("mixed", |kind| kind.name());
        let rows = (0..table.file.num_row_groups())
            .fold(0, |n: usize, group| n.saturating_add(table.group_rows(group)));
        let shape = (rows, table.columns.len());
        Ok(Description {
            columns: Some(table.columns),
            text_columns,
            ..Description::new(Format::Parquet, shape, dtype)
        })
    })
}
