//! CSV and TSV files.
//!
//! The first line is a header if none of its cells is a number, or if a cell that is not a number is above
//! one that is. So `5.1,3.5,setosa` above `4.9,3.0,setosa` is data: such tables often have classes in words and
//! no header.

mod records;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::columns::{Roles, Selection, column_name, find_column};
use crate::error::Error;
use crate::labels::TruthBuilder;
use crate::message::shorten_bytes;
use crate::source::Input;
use crate::values::Float;
use crate::{Dataset, Description, Format, LoadOptions, Truth};
use records::{Record, Records, TooLong};

/// An open CSV file, after its header.
struct CsvTable {
    source_name: String,
    records: Records,
    names: Option<Vec<String>>,
    n_cols: usize,
    /// Records that were read to detect the header, in reverse order.
    pending: Vec<Record>,
}

impl CsvTable {
    fn open(input: Input, options: &LoadOptions) -> Result<Self, Error> {
        let Input { name: source_name, mut reader, format, max_line, .. } = input;
        let head = reader.fill_buf().map_err(|e| Error::reading(&source_name, e))?;
        let delimiter = options.delimiter.unwrap_or_else(|| sniff(head, format));
        let mut table = Self {
            records: Records::new(reader, delimiter, max_line),
            source_name,
            names: None,
            n_cols: 0,
            pending: Vec::new(),
        };
        table.read_header(options.header)?;
        Ok(table)
    }

    fn read_header(&mut self, header: Option<bool>) -> Result<(), Error> {
        let (mut first, mut second) = (Record::default(), Record::default());
        if !self.read(&mut first)? {
            return Err(Error::Empty { source_name: self.source_name.clone() });
        }
        self.n_cols = first.len();
        let has_second = self.next(&mut second)?;
        if has_second {
            self.pending.push(second.clone());
        }
        if header.unwrap_or_else(|| is_header(&first, &second)) {
            let mut names = Vec::with_capacity(first.len());
            for cell in first.iter() {
                names.push(self.text(&first, cell)?.to_string());
            }
            self.names = Some(names);
        } else {
            self.pending.push(first);
        }
        Ok(())
    }

    /// Reads the next record and checks its number of cells.
    fn next(&mut self, record: &mut Record) -> Result<bool, Error> {
        if let Some(pending) = self.pending.pop() {
            *record = pending;
            return Ok(true);
        }
        if !self.read(record)? {
            return Ok(false);
        }
        if record.len() != self.n_cols {
            return Err(Error::Ragged {
                source_name: self.source_name.clone(),
                line: record.line,
                found: record.len(),
                expected: self.n_cols,
            });
        }
        Ok(true)
    }

    fn read(&mut self, record: &mut Record) -> Result<bool, Error> {
        let (name, names) = (&self.source_name, self.names.as_deref());
        self.records.read(record, name, |line, what| {
            let problem = match what {
                TooLong::Cell(j) => {
                    let column = column_name(names, j);
                    format!("the cell in column '{column}' does not end; is a quote not closed?")
                }
                TooLong::Record(j) => {
                    let column = column_name(names, j);
                    format!("the line is too long for the memory after column '{column}'")
                }
            };
            Error::line(name, line, problem)
        })
    }

    /// Reads a cell as text.
    fn text<'a>(&self, record: &Record, cell: &'a [u8]) -> Result<&'a str, Error> {
        std::str::from_utf8(cell).map(str::trim).map_err(|_| Error::NotText {
            source_name: self.source_name.clone(),
            problem: format!("line {}: '{}'", record.line, shorten_bytes(cell)),
            found: "save it as UTF-8".to_string(),
        })
    }

    /// Reads a cell as a number.
    fn number(&self, record: &Record, j: usize) -> Result<f64, Error> {
        let cell = &record[j];
        // Most cells need no trimming, and std checks UTF-8 far faster than it parses numbers.
        if let Some(value) = std::str::from_utf8(cell).ok().and_then(|t| t.trim().parse().ok()) {
            return Ok(value);
        }
        let source_name = self.source_name.clone();
        let column = column_name(self.names.as_deref(), j);
        let line = record.line;
        if cell.trim_ascii().is_empty() {
            return Err(Error::Missing { source_name, place: format!("line {line}"), column });
        }
        Err(Error::NotANumber { source_name, line, column, text: shorten_bytes(cell) })
    }
}

/// The delimiter of the first line.
fn sniff(head: &[u8], format: Format) -> u8 {
    if format == Format::Tsv {
        return b'\t';
    }
    let line = head.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty());
    let has = |delimiter: &u8| line.is_some_and(|line| line.contains(delimiter));
    [b',', b';', b'\t'].into_iter().find(has).unwrap_or(b',')
}

fn is_number(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok_and(|text| text.trim().parse::<f64>().is_ok())
}

/// Whether a cell is text. An empty cell is neither text nor a number.
fn is_word(cell: &[u8]) -> bool {
    !cell.trim_ascii().is_empty() && !is_number(cell)
}

/// Whether the first line is a header; see the documentation of the module. Empty cells are ignored.
fn is_header(first: &Record, second: &Record) -> bool {
    first.iter().any(is_word)
        && (!first.iter().any(is_number)
            || first
                .iter()
                .zip(second.iter())
                .any(|(above, below)| is_word(above) && is_number(below)))
}

/// Reads the chosen columns of a table in batches of rows.
pub(crate) struct CsvRows {
    table: CsvTable,
    pub selection: Selection,
    record: Record,
    pub n_rows: usize,
    first_line: Option<u64>,
    one_line_each: bool,
    /// Number of bytes read from the source so far.
    pub taken: Arc<AtomicU64>,
}

/// Number of values that are read at a time.
const BATCH: usize = 1 << 16;

impl CsvRows {
    pub(crate) fn open(input: Input, options: &LoadOptions) -> Result<Self, Error> {
        let taken = input.taken.clone();
        let table = CsvTable::open(input, options)?;
        let names = table.names.as_deref();
        let selection = Selection::new(&table.source_name, names, table.n_cols, options)?;
        let record = Record::default();
        let (n_rows, first_line, one_line_each) = (0, None, true);
        Ok(Self { table, selection, record, n_rows, first_line, one_line_each, taken })
    }

    /// Appends the values of the next rows and returns the number of rows, 0 at the end.
    pub(crate) fn batch<T: Float>(
        &mut self,
        values: &mut Vec<T>,
        roles: &mut Roles,
    ) -> Result<usize, Error> {
        let (table, record) = (&mut self.table, &mut self.record);
        let enough = values.len() + BATCH;
        let mut n_rows = 0;
        while values.len() < enough && table.next(record)? {
            let line = record.line;
            let row = self.n_rows + n_rows;
            self.one_line_each &= line == *self.first_line.get_or_insert(line) + row as u64;
            for j in self.selection.features.iter() {
                values.push(T::from_f64(table.number(record, j)?));
            }
            if let Some(j) = self.selection.truth {
                roles.truth.push(table.text(record, &record[j])?);
            }
            if let Some(j) = self.selection.weights {
                roles.weights.push(table.number(record, j)?);
            }
            n_rows += 1;
        }
        self.n_rows += n_rows;
        Ok(n_rows)
    }

    /// Names of the features.
    pub(crate) fn feature_names(&self) -> Option<Vec<String>> {
        let names = self.table.names.as_ref()?;
        Some(self.selection.features.iter().map(|j| names[j].clone()).collect())
    }

    /// Line of the first row, if every row so far is one line.
    pub(crate) fn first_line(&self) -> Option<u64> {
        self.first_line.filter(|_| self.one_line_each)
    }

    /// Reads rows up to a number of bytes. Returns the number of rows and of bytes, and whether these are all
    /// rows.
    pub(crate) fn sample(mut self, n_bytes: u64) -> Result<(u64, u64, bool), Error> {
        let mut n_rows = 0;
        let mut start = None;
        let mut end = 0;
        while self.table.next(&mut self.record)? {
            let at = self.record.start;
            let start = *start.get_or_insert(at);
            if at - start > n_bytes {
                return Ok((n_rows, at - start, false));
            }
            n_rows += 1;
            end = self.table.records.position - start;
        }
        Ok((n_rows, end, true))
    }
}

/// Reads a table, by default in double precision.
pub(crate) fn load(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    match options.single {
        Some(true) => load_as::<f32>(input, options),
        _ => load_as::<f64>(input, options),
    }
}

fn load_as<T: Float>(input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let format = input.format;
    let mut rows = CsvRows::open(input, options)?;
    let mut values: Vec<T> = Vec::new();
    let mut roles = Roles::default();
    while rows.batch(&mut values, &mut roles)? > 0 {}
    let feature_names = rows.feature_names();
    let first_line = rows.first_line();
    let CsvRows { table, selection, n_rows, .. } = rows;
    let data = selection.read_rows(&table.source_name, (values, n_rows), roles, format)?;
    Ok(Dataset { feature_names, first_line, ..data })
}

/// Number of rows that are searched for columns of text.
const LOOK: usize = 1000;

/// Counts the rows. Only the cells of the first rows are parsed.
pub(crate) fn describe(input: Input, options: &LoadOptions) -> Result<Description, Error> {
    let format = input.format;
    let mut table = CsvTable::open(input, options)?;
    let mut record = Record::default();
    let mut rows = 0;
    let mut is_text = vec![false; table.n_cols];
    while table.next(&mut record)? {
        if rows < LOOK {
            is_text.iter_mut().zip(record.iter()).for_each(|(text, cell)| *text |= is_word(cell));
        }
        rows += 1;
    }
    Ok(Description {
        columns: table.names,
        text_columns: (0..is_text.len()).filter(|&j| is_text[j]).collect(),
        ..Description::new(format, (rows, table.n_cols), "float64")
    })
}

/// Reads one class per row from the named column. The other cells are not parsed.
pub(crate) fn load_truth(input: Input, word: &str, options: &LoadOptions) -> Result<Truth, Error> {
    let table = CsvTable::open(input, options)?;
    let j = find_column(&table.source_name, table.names.as_deref(), table.n_cols, word)?;
    read_truth(table, j)
}

/// Reads one class per row from the only column, or from the column `label`.
pub(crate) fn load_labels(input: Input) -> Result<Truth, Error> {
    let table = CsvTable::open(input, &LoadOptions::default())?;
    let named = |names: &Vec<String>| names.iter().position(|name| name == "label");
    let j = match table.names.as_ref().and_then(named) {
        Some(j) => j,
        None if table.n_cols == 1 => 0,
        None => {
            return Err(Error::NoColumn {
                source_name: table.source_name,
                column: "label".to_string(),
                hint: "labels need one column, or one with this name in the first line".to_string(),
            });
        }
    };
    read_truth(table, j)
}

fn read_truth(mut table: CsvTable, j: usize) -> Result<Truth, Error> {
    let mut truth = TruthBuilder::default();
    let mut record = Record::default();
    while table.next(&mut record)? {
        truth.push(table.text(&record, &record[j])?);
    }
    truth.finish(&table.source_name)
}

#[cfg(test)]
mod tests {
    use obcut::Matrix;

    use super::*;

    fn input(text: &str) -> Input {
        Input::from_bytes("t.csv", text.as_bytes().to_vec(), Format::Csv).unwrap()
    }

    fn values(text: &str) -> Vec<f64> {
        match load(input(text), &LoadOptions::default()).unwrap().matrix {
            Matrix::Dense64 { values, .. } => values,
            other => panic!("{other:?}"),
        }
    }

    fn message(text: &str) -> String {
        load(input(text), &LoadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_header_is_told_from_data() {
        assert_eq!(values("a,b\n1,2\n"), [1.0, 2.0]);
        assert_eq!(values("3,4\n1,2"), [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(values("\u{feff}a\n1\n"), [1.0]);
        let options = LoadOptions { truth: Some("2".into()), ..LoadOptions::default() };
        let data = load(input("1,2,x\n3,4,y\n"), &options).unwrap();
        assert_eq!((data.matrix.n_rows(), data.feature_names), (2, None));
        let data = load(input("a,b,c\n3,4,y\n"), &options).unwrap();
        assert_eq!(data.feature_names.unwrap(), ["a", "b"]);
    }

    #[test]
    fn quotes_blanks_and_other_delimiters_are_read() {
        assert_eq!(values("a;b\r\n\"1\"; 2.5 \r\n\r\n-1e3;nan\r\n")[..3], [1.0, 2.5, -1000.0]);
        assert_eq!(values("1\t2\n"), [1.0, 2.0]);
        assert_eq!(values("\"x,y\",z\n1,2\n"), [1.0, 2.0]);
    }

    #[test]
    fn messages_name_line_and_column() {
        assert_eq!(
            message("a,b\n1,2\n1,2,3\n"),
            "t.csv, line 3: 3 cells where the first line has 2; check quotes and delimiters"
        );
        let text = message("a,b\n1,2\n3,red\n");
        assert!(text.starts_with("t.csv, line 3, column 'b': 'red' is not a number"), "{text}");
        for text in ["a,b\r\n1,2\r\n3,red\r\n", "0,1\r\n1,2\r\n3,red\r\n"] {
            let text = message(text);
            assert!(text.starts_with("t.csv, line 3, column"), "{text}");
        }
        let text = message("a,b\n1,2\n,4\n");
        assert!(text.starts_with("t.csv, line 3, column 'a' has no value"), "{text}");
        assert_eq!(
            message("a,b\n"),
            "t.csv holds 0 rows x 2 columns; at least one of each is needed"
        );
        assert_eq!(message("\n\n"), "t.csv is empty");
    }

    #[test]
    fn a_bad_byte_far_inside_is_found() {
        let mut bytes = b"a,b\n".to_vec();
        bytes.extend(b"1,2\n".repeat(40_000));
        bytes.extend(b"1,\xff\n");
        let input = Input::from_bytes("t.csv", bytes, Format::Csv).unwrap();
        let text = load(input, &LoadOptions::default()).unwrap_err().to_string();
        assert!(text.contains("line 40002"), "{text}");
    }

    #[test]
    fn labels_are_the_only_column_or_the_named_one() {
        assert_eq!(load_labels(input("label\n3\n1\n3\n")).unwrap().codes, [1, 0, 1]);
        assert_eq!(load_labels(input("3\n1\n")).unwrap().names, ["1", "3"]);
        assert_eq!(load_labels(input("row,label\n0,b\n1,a\n")).unwrap().codes, [1, 0]);
        assert!(load_labels(input("1,2\n3,4\n")).is_err());
    }
}
