//! Labels as a Parquet table: columns `label`, `second`, `margin`, `confidence`, `outlier`, all but the
//! first only with scores.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{COLUMNS, Out, RowLabels, Sink, fractions};

/// Rows of a row group.
const GROUP: usize = 1 << 20;

struct Parquet {
    file: SerializedFileWriter<Out>,
    n_groups: usize,
    /// The rows of the next row group.
    rows: RowLabels,
}

impl std::fmt::Debug for Parquet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parquet").field("n_groups", &self.n_groups).finish_non_exhaustive()
    }
}

/// Writes the first bytes; the schema comes at the end.
pub fn begin(out: Out, _: usize, with_scores: bool) -> io::Result<Box<dyn Sink>> {
    let mut schema = "message labels { required int32 label;".to_string();
    for (j, name) in COLUMNS.iter().enumerate().filter(|_| with_scores) {
        let kind = if j == 0 { "int32" } else { "double" };
        schema.push_str(&format!(" required {kind} {name};"));
    }
    let schema = parse_message_type(&(schema + " }")).map_err(io::Error::other)?;
    let properties = Arc::new(WriterProperties::default());
    let file =
        SerializedFileWriter::new(out, Arc::new(schema), properties).map_err(io::Error::other)?;
    Ok(Box::new(Parquet { file, n_groups: 0, rows: RowLabels::empty(with_scores) }))
}

impl Sink for Parquet {
    fn push(&mut self, rows: &RowLabels, _: usize) -> io::Result<()> {
        let mut done = 0;
        while done < rows.len() {
            let end = rows.len().min(done + GROUP - self.rows.len());
            self.rows.extend_range(rows, done..end);
            done = end;
            if self.rows.len() == GROUP {
                self.write_group().map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.rows.is_empty() || self.n_groups == 0 {
            self.write_group().map_err(io::Error::other)?;
        }
        self.file.into_inner().map_err(io::Error::other)?.flush()
    }
}

impl Parquet {
    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        column::<Int32Type>(&mut group, self.rows.labels())?;
        if self.rows.with_scores() {
            let rows = self.rows.scores();
            column::<Int32Type>(&mut group, rows.iter().map(|row| row.second as i32))?;
            for j in 0..COLUMNS.len() - 1 {
                column::<DoubleType>(&mut group, rows.iter().map(|row| fractions(row)[j]))?;
            }
        }
        group.close()?;
        self.n_groups += 1;
        self.rows.clear();
        Ok(())
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Out>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
        column.close()?;
    }
    Ok(())
}
