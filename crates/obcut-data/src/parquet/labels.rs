//! Labels as a Parquet table.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::write::{Has, LabelTable};

/// Writes labels as columns `label`, `second`, `margin`, `confidence`, `outlier`, all but the first if given.
pub(crate) fn write_labels(out: &mut dyn Write, table: &LabelTable<'_>) -> io::Result<()> {
    // The writer must own something that threads may share, so the file is made in memory.
    let mut rows = LabelRows::new(Vec::new(), table.has())?;
    rows.push(table)?;
    out.write_all(&rows.finish()?)
}

/// Rows of a group of labels.
const GROUP: usize = 1 << 20;

/// Labels on their way to a file, a group of rows at a time.
pub(crate) struct LabelRows<W: Write + Send> {
    file: SerializedFileWriter<W>,
    has: Has,
    n_groups: usize,
    // The next group.
    labels: Vec<i32>,
    second: Vec<i32>,
    figures: [Vec<f64>; 3],
}

impl<W: Write + Send> std::fmt::Debug for LabelRows<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LabelRows").field("n_groups", &self.n_groups).finish_non_exhaustive()
    }
}

impl<W: Write + Send> LabelRows<W> {
    pub(crate) fn new(out: W, has: Has) -> io::Result<Self> {
        let mut schema = "message labels { required int32 label;".to_string();
        if has.second {
            schema.push_str(" required int32 second;");
        }
        for name in has.figure_names() {
            schema.push_str(&format!(" required double {name};"));
        }
        let schema = parse_message_type(&(schema + " }")).map_err(io::Error::other)?;
        let properties = Arc::new(WriterProperties::default());
        let file = SerializedFileWriter::new(out, Arc::new(schema), properties)
            .map_err(io::Error::other)?;
        let (labels, second, figures) = (Vec::new(), Vec::new(), Default::default());
        Ok(Self { file, has, n_groups: 0, labels, second, figures })
    }

    /// Adds rows with the columns that were announced.
    pub(crate) fn push(&mut self, table: &LabelTable<'_>) -> io::Result<()> {
        let n_rows = table.labels.len();
        let mut done = 0;
        while done < n_rows {
            let rows = done..n_rows.min(done + GROUP - self.labels.len());
            // A cluster's number is far below 2^31.
            let codes = |labels: &[u32]| labels.iter().map(|&c| c as i32).collect::<Vec<_>>();
            self.labels.extend(codes(&table.labels[rows.clone()]));
            if let Some(second) = table.second {
                self.second.extend(codes(&second[rows.clone()]));
            }
            for (to, (_, values)) in self.figures.iter_mut().zip(table.figures()) {
                to.extend(values.map_or(&[][..], |values| &values[rows.clone()]));
            }
            done = rows.end;
            if self.labels.len() == GROUP {
                self.write_group().map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    /// Writes the last rows and the footer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.labels.is_empty() || self.n_groups == 0 {
            self.write_group().map_err(io::Error::other)?;
        }
        self.file.into_inner().map_err(io::Error::other)
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let second = self.has.second.then_some(&self.second);
        for numbers in [Some(&self.labels), second].into_iter().flatten() {
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int32Type>().write_batch(numbers, None, None)?;
                column.close()?;
            }
        }
        for (values, has) in self.figures.iter().zip(self.has.figures) {
            if has && let Some(mut column) = group.next_column()? {
                column.typed::<DoubleType>().write_batch(values, None, None)?;
                column.close()?;
            }
        }
        group.close()?;
        self.n_groups += 1;
        self.labels.clear();
        self.second.clear();
        self.figures.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}
