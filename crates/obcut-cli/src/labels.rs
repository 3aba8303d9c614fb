//! Labels of a run: in memory, or in a file on disk until they are written.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use obcut::{Model, RowScore};
use obcut_data::{LabelWriter, RowLabels};
use obcut_report::report_data::Choice;

use crate::args::{OutputArgs, Targets};
use crate::checkpoint::Checkpoint;
use crate::interrupt;
use crate::output::{self, Summary};

/// Number of rows that are read from disk at a time.
const BATCH: usize = 1 << 16;

/// Labels of all rows.
pub enum Labels {
    /// Labels in memory.
    InMemory(RowLabels),
    /// Labels on disk, of a table that is read in pieces.
    OnDisk(Box<Checkpoint>),
}

impl Labels {
    /// Passes all rows to `take` in batches.
    fn batches(
        &self,
        mut take: impl FnMut(&RowLabels) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Self::InMemory(rows) => take(rows),
            Self::OnDisk(checkpoint) => checkpoint.spool.batches(take),
        }
    }

    fn shape(&self) -> (usize, bool) {
        match self {
            Self::InMemory(rows) => (rows.len(), rows.with_scores()),
            Self::OnDisk(checkpoint) => (checkpoint.spool.n_rows, checkpoint.spool.with_scores),
        }
    }

    /// Loads all labels into memory.
    pub fn load(&self) -> anyhow::Result<Cow<'_, RowLabels>> {
        if let Self::InMemory(rows) = self {
            return Ok(Cow::Borrowed(rows));
        }
        let mut all = RowLabels::empty(self.shape().1);
        self.batches(|rows| {
            all.extend(rows);
            Ok(())
        })?;
        Ok(Cow::Owned(all))
    }

    /// Counts the rows of every cluster. `fitted` says whether the model was fitted on these rows.
    pub fn sizes(&self, model: &Model, fitted: bool) -> anyhow::Result<Vec<usize>> {
        // The model has the counts of its rows, without noise: that saves reading the labels.
        if let (Self::OnDisk(_), true, None) = (self, fitted, model.noise_threshold()) {
            return Ok(model.explanation().clusters.iter().map(|cluster| cluster.rows).collect());
        }
        let mut sizes = vec![0; model.n_clusters()];
        self.batches(|rows| {
            let more = rows.sizes(sizes.len());
            sizes.iter_mut().zip(more).for_each(|(size, n)| *size += n);
            Ok(())
        })?;
        Ok(sizes)
    }

    /// Chooses about `most` rows, some of every cluster, spread over the table.
    pub fn choose(&self, sizes: &[usize], most: usize) -> anyhow::Result<Vec<u64>> {
        let mut choice = Choice::new(sizes, most);
        self.batches(|rows| {
            // -1 becomes a number that no cluster has.
            let labels: Vec<u32> = rows.labels().map(i32::cast_unsigned).collect();
            choice.take(&labels);
            Ok(())
        })?;
        Ok(choice.rows())
    }

    /// Calls `also`, then writes the labels to their file, if there is one.
    pub fn write(
        &self,
        targets: &Targets,
        also: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        interrupt::writing(|| {
            also()?;
            let Some(path) = &targets.labels else { return Ok(()) };
            let (n_rows, with_scores) = self.shape();
            let mut writer = LabelWriter::begin(path, targets.force, n_rows, with_scores)?;
            self.batches(|rows| Ok(writer.push(rows)?))?;
            Ok(writer.finish()?)
        })
    }

    /// The labels to print, or `None` if they are in a file.
    pub fn printed(&self, targets: &Targets) -> anyhow::Result<Option<Cow<'_, RowLabels>>> {
        targets.labels.is_none().then(|| self.load()).transpose()
    }

    /// Removes the checkpoint after all outputs are written.
    pub fn clear(&self) {
        if let Self::OnDisk(checkpoint) = self {
            checkpoint.clear();
        }
    }
}

/// Prints the summary, and the labels unless they are in a file. The summary comes first, so that it is
/// there while a slow reader takes the labels. On a terminal the labels would scroll it away, so it comes
/// last.
pub fn show(
    labels: Option<&RowLabels>,
    output: &OutputArgs,
    summary: &Summary,
) -> anyhow::Result<()> {
    let last = labels.is_some() && io::stdout().is_terminal();
    if !output.quiet && !last {
        summary.print_to_stderr();
    }
    if let Some(rows) = labels {
        output::print_labels(rows)?;
    }
    if !output.quiet && last {
        summary.print_to_stderr();
    }
    Ok(())
}

/// A file of labels with 4 bytes per row, or 32 bytes if it holds the scores of the rows.
pub struct LabelSpool {
    file: Mutex<File>,
    n_rows: usize,
    with_scores: bool,
}

impl LabelSpool {
    /// Uses a file that may already hold labels. The shape is the number of rows, and whether they have
    /// scores.
    pub fn new(file: File, (n_rows, with_scores): (usize, bool)) -> Self {
        Self { file: Mutex::new(file), n_rows, with_scores }
    }

    /// Creates an unnamed file in a folder. It is removed when the process exits.
    pub fn unnamed(folder: &Path, shape: (usize, bool)) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(folder).with_context(|| {
            format!(
                "cannot create a scratch file in {}; name another folder with --scratch",
                folder.display()
            )
        })?;
        Ok(Self::new(file, shape))
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn width(&self) -> usize {
        if self.with_scores { 32 } else { 4 }
    }

    /// Flushes the labels to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file().sync_data()
    }

    /// Writes the labels of some rows, the first of which is row `first` of the table.
    pub fn write(&self, first: u64, rows: &[RowScore]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(rows.len() * self.width());
        for row in rows {
            bytes.extend(row.label_or_noise().to_le_bytes());
            if self.with_scores {
                bytes.extend(row.second.to_le_bytes());
                for value in [row.margin, row.confidence, row.outlier] {
                    bytes.extend(value.to_le_bytes());
                }
            }
        }
        let mut file = self.file();
        file.seek(SeekFrom::Start(first * self.width() as u64))?;
        file.write_all(&bytes)
    }

    /// Passes all rows to `take` in batches.
    fn batches(
        &self,
        mut take: impl FnMut(&RowLabels) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let back = "cannot read labels back from the scratch file";
        let mut file = self.file();
        file.seek(SeekFrom::Start(0)).context(back)?;
        let mut bytes = Vec::new();
        for start in (0..self.n_rows).step_by(BATCH) {
            bytes.resize(BATCH.min(self.n_rows - start) * self.width(), 0);
            file.read_exact(&mut bytes).context(back)?;
            take(&self.decoded(&bytes))?;
        }
        Ok(())
    }

    fn decoded(&self, bytes: &[u8]) -> RowLabels {
        let (numbers, _) = bytes.as_chunks::<4>();
        if !self.with_scores {
            return RowLabels::Plain(
                numbers.iter().map(|&label| i32::from_le_bytes(label)).collect(),
            );
        }
        let row = |row: &[[u8; 4]]| {
            let label = i32::from_le_bytes(row[0]);
            let value = |j: usize| {
                let halves = [row[j], row[j + 1]].map(|half| u64::from(u32::from_le_bytes(half)));
                f64::from_bits(halves[0] | halves[1] << 32)
            };
            RowScore {
                label: label.max(0).cast_unsigned(),
                second: u32::from_le_bytes(row[1]),
                margin: value(2),
                confidence: value(4),
                outlier: value(6),
                noise: label < 0,
            }
        };
        RowLabels::Scored(numbers.chunks_exact(8).map(row).collect())
    }
}
