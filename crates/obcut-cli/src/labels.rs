//! Labels of a run: in memory, or in a file on disk until they are written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use obcut::{Model, RowScore};
use obcut_core::random::mix;
use obcut_data::{LabelWriter, Outputs, RowLabels};
use obcut_report::report_data::RowChoice;

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
        if let (Self::OnDisk(_), true, None) = (self, fitted, model.info().noise_threshold) {
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
        let mut choice = RowChoice::new(sizes, most);
        self.batches(|rows| {
            // -1 becomes a number that no cluster has.
            let labels: Vec<u32> = rows.labels().map(i32::cast_unsigned).collect();
            choice.take(&labels);
            Ok(())
        })?;
        Ok(choice.rows())
    }

    /// Writes the labels to their file, if there is one, and what `also` writes: all outputs appear together.
    pub fn write(
        &self,
        targets: &Targets,
        also: impl FnOnce(&mut Outputs) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        interrupt::writing(|| {
            let mut outputs = Outputs::default();
            also(&mut outputs)?;
            if let Some(path) = &targets.labels {
                let (n_rows, with_scores) = self.shape();
                let mut writer = LabelWriter::begin(path, targets.force, n_rows, with_scores)?;
                self.batches(|rows| Ok(writer.push(rows)?))?;
                writer.finish(&mut outputs)?;
            }
            Ok(outputs.publish()?)
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
    file: Mutex<SpoolFile>,
    n_rows: usize,
    with_scores: bool,
}

struct SpoolFile {
    file: File,
    /// End and checksum of every stretch of rows that was written, by its first row.
    sums: BTreeMap<u64, (u64, u64)>,
}

impl SpoolFile {
    /// Notes the checksum of some rows in place of those that they overwrite.
    fn note(&mut self, rows: Range<u64>, sum: u64) {
        let before = self.sums.range(..rows.end).rev();
        let old: Vec<u64> =
            before.take_while(|(_, old)| old.0 > rows.start).map(|(&first, _)| first).collect();
        old.iter().for_each(|first| {
            self.sums.remove(first);
        });
        self.sums.insert(rows.start, (rows.end, sum));
    }
}

/// A checksum of rows that does not depend on how they are cut into stretches: a sum over the rows.
fn checksum(first: u64, rows: &[u8], width: usize) -> u64 {
    let of_row = |(row, bytes): (u64, &[u8])| {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().fold(mix(row), |sum, word| mix(sum ^ u64::from(u32::from_le_bytes(*word))))
    };
    (first..).zip(rows.chunks_exact(width)).map(of_row).fold(0, u64::wrapping_add)
}

impl LabelSpool {
    /// Uses a file that may already hold labels. The shape is the number of rows, and whether they have
    /// scores.
    pub fn new(file: File, (n_rows, with_scores): (usize, bool)) -> Self {
        let file = Mutex::new(SpoolFile { file, sums: BTreeMap::new() });
        Self { file, n_rows, with_scores }
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

    fn file(&self) -> MutexGuard<'_, SpoolFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn width(&self) -> usize {
        if self.with_scores { 32 } else { 4 }
    }

    /// Flushes the labels to the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file().file.sync_data()
    }

    /// The checksum of the first `n_rows` rows, as they were written.
    pub fn checksum(&self, n_rows: u64) -> u64 {
        self.file().sums.range(..n_rows).map(|(_, (_, sum))| *sum).fold(0, u64::wrapping_add)
    }

    /// Whether the file still has the first `n_rows` rows with this checksum. They count as written from now on.
    pub fn resume(&self, n_rows: u64, expected: u64) -> io::Result<bool> {
        let mut spool = self.file();
        spool.file.seek(SeekFrom::Start(0))?;
        let (mut found, mut bytes) = (0u64, Vec::new());
        for first in (0..n_rows).step_by(BATCH) {
            bytes.resize(BATCH.min((n_rows - first) as usize) * self.width(), 0);
            match spool.file.read_exact(&mut bytes) {
                Ok(()) => found = found.wrapping_add(checksum(first, &bytes, self.width())),
                Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(cause) => return Err(cause),
            }
        }
        if n_rows > 0 {
            spool.note(0..n_rows, found);
        }
        Ok(found == expected)
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
        let sum = checksum(first, &bytes, self.width());
        let mut spool = self.file();
        spool.file.seek(SeekFrom::Start(first * self.width() as u64))?;
        spool.file.write_all(&bytes)?;
        spool.note(first..first + rows.len() as u64, sum);
        Ok(())
    }

    /// Passes all rows to `take` in batches.
    fn batches(
        &self,
        mut take: impl FnMut(&RowLabels) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let back = "cannot read labels back from the scratch file";
        let file = &mut self.file().file;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: u32) -> RowScore {
        let (margin, confidence, outlier) = (0.5, f64::from(label), 1.5);
        RowScore { label, second: 1, margin, confidence, outlier, noise: false }
    }

    #[test]
    fn the_checksum_does_not_depend_on_the_stretches_and_shows_a_change() {
        for with_scores in [false, true] {
            let spool =
                |file: &File| LabelSpool::new(file.try_clone().unwrap(), (100, with_scores));
            let file = tempfile::tempfile().unwrap();
            let whole = spool(&file);
            let rows: Vec<RowScore> = (0..100).map(|i| row(i % 7)).collect();
            whole.write(0, &rows).unwrap();
            let expected = whole.checksum(100);
            // In another order and other stretches, over labels of a pass before.
            let file = tempfile::tempfile().unwrap();
            let parts = spool(&file);
            parts.write(0, &[row(9); 30]).unwrap();
            parts.write(30, &[row(9); 70]).unwrap();
            for range in [60..100, 0..13, 13..60] {
                parts.write(range.start as u64, &rows[range]).unwrap();
            }
            assert_eq!(parts.checksum(100), expected);
            assert_ne!(parts.checksum(60), expected);
            assert!(spool(&file).resume(60, parts.checksum(60)).unwrap());
            assert!(spool(&file).resume(0, 0).unwrap());
            // A continued run counts the rows that it found, until a pass begins anew.
            let resumed = spool(&file);
            assert!(resumed.resume(60, parts.checksum(60)).unwrap());
            resumed.write(60, &rows[60..]).unwrap();
            assert_eq!(resumed.checksum(100), expected);
            resumed.write(50, &[row(3); 50]).unwrap();
            resumed.write(0, &[row(3); 50]).unwrap();
            whole.write(0, &[row(3); 100]).unwrap();
            assert_eq!(resumed.checksum(100), whole.checksum(100));
            // Files that end early or have another byte.
            assert!(!spool(&file).resume(101, expected).unwrap());
            let sum = whole.checksum(100);
            assert!(spool(&file).resume(100, sum).unwrap());
            let mut damaged = file.try_clone().unwrap();
            damaged.seek(SeekFrom::Start(37)).unwrap();
            damaged.write_all(&[0x80]).unwrap();
            assert!(!spool(&file).resume(100, sum).unwrap());
        }
    }
}
