//! One JSON line per run: appended and flushed, so that a killed suite loses the run it was at and no other.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use obcut::metrics::Scores;
use obcut_report::number::or_nan;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::Spec;
use crate::runner::Budget;

/// State of the engine that this program was built from.
pub const ENGINE: &str = env!("OBCUT_ENGINE");

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// With labels.
    Done,
    /// It took too long.
    OverTime,
    /// It took, or would have taken, too much memory.
    OverMemory,
    /// It said that it cannot be done.
    Refused,
    /// Its data could not be read; it is tried again when the suite continues.
    Unreadable,
    /// Its process ended without an answer; it is tried once more when the suite continues.
    Crashed,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why there are no labels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Rows of the data.
    pub rows: usize,
    /// Features of the data.
    pub features: usize,
    /// Clusters asked for: the number of classes.
    pub clusters: usize,
    /// Clusters found.
    #[serde(default)]
    pub found: usize,
    /// Agreement with the classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scores: Option<Scores>,
    /// Seconds of the method, reading left out.
    pub seconds: f64,
    /// Seconds per stage.
    #[serde(default)]
    pub stages: Vec<(String, f64)>,
    /// Most bytes that the process held, data included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak_bytes: Option<u64>,
    /// Objective at the start and after every iteration (obcut).
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "or_nan")]
    pub objective: Vec<f64>,
    /// Value of the cut after every iteration (obcut).
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "or_nan")]
    pub cut: Vec<f64>,
    /// What the method warns of.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What was run.
    #[serde(flatten)]
    pub spec: Spec,
    /// What it gave.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What its data were: a file with its size, or how they were made.
    #[serde(default)]
    pub source: String,
    /// What it was allowed to take.
    pub budget: Budget,
    /// Threads of the run.
    pub threads: usize,
    /// Runs that were under way at once.
    pub jobs: usize,
    /// Version of obcut.
    pub version: String,
    /// State of the engine: a hash of the sources. Records of older versions have none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub engine: String,
    /// Processor and system.
    pub machine: String,
}

/// The records of a suite, by key: a file that only grows.
#[derive(Debug)]
pub struct RunRecords {
    path: PathBuf,
    /// Where lines are added; nothing when the records are only read.
    file: Option<File>,
    /// Length of the file as far as its lines are whole.
    end: u64,
    found: BTreeMap<String, RunRecord>,
    /// How often a run crashed.
    crashes: BTreeMap<String, usize>,
}

/// Crashes after which a run is not tried again.
const CRASHES: usize = 2;

impl RunRecords {
    /// Opens a file of records, or starts one. A line that was cut short at the end is removed.
    ///
    /// # Errors
    /// When the file cannot be used, or is in use, or a line in it is not a record.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        }
        let mut file = locked(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::file("read", path))?;
        let mut records = Self::parse(path, &bytes)?;
        file.set_len(records.end).map_err(Error::file("write", path))?;
        file.seek(SeekFrom::End(0)).map_err(Error::file("write", path))?;
        records.file = Some(file);
        Ok(records)
    }

    /// Reads what is there, also while another process adds to it.
    ///
    /// # Errors
    /// When the file cannot be read or a line in it is not a record.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(path, &fs::read(path).map_err(Error::file("read", path))?)
    }

    /// Puts a file of records aside, as `NAME.old`, or `NAME.old2` and so on where there is one, unless there
    /// is none.
    ///
    /// # Errors
    /// When it is in use or cannot be moved.
    pub fn retire(path: &Path) -> Result<(), Error> {
        if !path.exists() {
            return Ok(());
        }
        let lock = locked(path)?;
        let old = (1..)
            .map(|n| {
                path.with_extension(if n == 1 {
                    "jsonl.old".into()
                } else {
                    format!("jsonl.old{n}")
                })
            })
            .find(|old| !old.exists())
            .unwrap_or_else(|| path.with_extension("jsonl.old"));
        fs::rename(path, old).map_err(Error::file("move", path))?;
        drop(lock);
        Ok(())
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (mut found, mut crashes) = (BTreeMap::new(), BTreeMap::new());
        for (i, line) in bytes[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let record: RunRecord = serde_json::from_slice(line)
                .map_err(|cause| Error::Record { path: path.into(), line: i + 1, cause })?;
            note(&mut found, &mut crashes, record);
        }
        Ok(Self { path: path.into(), file: None, end: whole as u64, found, crashes })
    }

    /// Adds a record and makes sure that it is on disk, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, record: RunRecord) -> Result<(), Error> {
        let mut line = serde_json::to_string(&record)
            .map_err(|cause| Error::Broken(format!("a record cannot be written: {cause}")))?;
        line.push('\n');
        let Some(file) = &mut self.file else {
            return Err(Error::Broken(format!("{} is not open for writing", self.path.display())));
        };
        if let Err(cause) = file.write_all(line.as_bytes()).and_then(|()| file.sync_data()) {
            // Nothing may be glued to half a line: if it cannot be taken back, nothing is added any more.
            let taken_back = file.set_len(self.end).is_ok() && file.seek(SeekFrom::End(0)).is_ok();
            if !taken_back {
                self.file = None;
            }
            return Err(Error::file("write", &self.path)(cause));
        }
        self.end += line.len() as u64;
        note(&mut self.found, &mut self.crashes, record);
        Ok(())
    }

    /// The record of a run that need not be done again, with what it may take now.
    pub fn finished(&self, key: &str, budget: Budget) -> Option<&RunRecord> {
        let record = self.found.get(key)?;
        let again = match record.outcome.status {
            Status::Done | Status::Refused => false,
            Status::OverTime => budget.seconds > record.budget.seconds,
            Status::OverMemory => budget.bytes > record.budget.bytes,
            Status::Unreadable => true,
            Status::Crashed => self.crashes.get(key).is_none_or(|&n| n < CRASHES),
        };
        (!again).then_some(record)
    }

    /// The record of a run, finished or not.
    pub fn get(&self, key: &str) -> Option<&RunRecord> {
        self.found.get(key)
    }

    /// All records, by key.
    pub fn iter(&self) -> impl Iterator<Item = &RunRecord> {
        self.found.values()
    }
}

fn note(
    found: &mut BTreeMap<String, RunRecord>,
    crashes: &mut BTreeMap<String, usize>,
    record: RunRecord,
) {
    let key = record.spec.key();
    if record.outcome.status == Status::Crashed {
        *crashes.entry(key.clone()).or_default() += 1;
    }
    found.insert(key, record);
}

/// The file, made at need, for this process alone.
fn locked(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(Error::file("open", path))?;
    file.try_lock().map_err(|cause| {
        let cause = match cause {
            fs::TryLockError::Error(cause) => cause,
            fs::TryLockError::WouldBlock => std::io::Error::other("another benchmark writes to it"),
        };
        Error::File { verb: "open", path: path.into(), cause }
    })?;
    Ok(file)
}

impl Outcome {
    /// A run without labels.
    pub fn without_labels(status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: Some(reason.into()),
            rows: 0,
            features: 0,
            clusters: 0,
            found: 0,
            scores: None,
            seconds: 0.0,
            stages: Vec::new(),
            peak_bytes: None,
            objective: Vec::new(),
            cut: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const BUDGET: Budget = Budget { seconds: 60.0, bytes: 1 << 30 };

    /// A finished run.
    pub fn record(data: &str, method: &str, seed: u64, nmi: f64) -> RunRecord {
        let scores = Scores { nmi, acc: nmi / 2.0, purity: nmi / 2.0, ari: nmi / 4.0 };
        RunRecord {
            spec: Spec {
                data: data.into(),
                method: method.into(),
                preset: None,
                settings: BTreeMap::new(),
                seed,
                shuffled: true,
            },
            outcome: Outcome {
                status: Status::Done,
                reason: None,
                scores: Some(scores),
                seconds: 1.5,
                peak_bytes: Some(1 << 20),
                ..Outcome::without_labels(Status::Done, "")
            },
            source: String::new(),
            budget: BUDGET,
            threads: 1,
            jobs: 1,
            version: "0".into(),
            engine: ENGINE.into(),
            machine: "m".into(),
        }
    }

    #[test]
    fn a_line_cut_short_is_forgotten_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/runs.jsonl");
        let mut records = RunRecords::open(&path).unwrap();
        for seed in 0..3 {
            records.push(record("moons", "kmeans", seed, 0.1 + 0.2)).unwrap();
        }
        drop(records);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        let mut records = RunRecords::open(&path).unwrap();
        assert_eq!(records.iter().count(), 2);
        let last = record("moons", "kmeans", 2, 0.1 + 0.2);
        assert!(records.finished(&last.spec.key(), BUDGET).is_none());
        records.push(last.clone()).unwrap();
        drop(records);
        let records = RunRecords::open(&path).unwrap();
        assert_eq!(records.finished(&last.spec.key(), BUDGET), Some(&last));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_file_in_use_or_with_a_foreign_line_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let first = RunRecords::open(&path).unwrap();
        assert!(RunRecords::open(&path).unwrap_err().to_string().contains("another benchmark"));
        drop(first);
        fs::write(&path, "{}\n").unwrap();
        assert!(RunRecords::open(&path).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn an_objective_that_overflowed_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let mut run = record("moons", "obcut", 0, 0.5);
        run.outcome.objective = vec![1.0, f64::INFINITY, f64::NAN];
        RunRecords::open(&path).unwrap().push(run.clone()).unwrap();
        let records = RunRecords::open(&path).unwrap();
        let read = &records.finished(&run.spec.key(), BUDGET).unwrap().outcome.objective;
        assert!(read[0] == 1.0 && read[1].is_nan() && read.len() == 3);
    }

    fn no_records() -> (tempfile::TempDir, RunRecords) {
        let folder = tempfile::tempdir().unwrap();
        let records = RunRecords::open(&folder.path().join("r")).unwrap();
        (folder, records)
    }

    #[test]
    fn a_crashed_run_is_tried_once_more() {
        let (_folder, mut records) = no_records();
        let mut crashed = record("moons", "kmeans", 0, 0.5);
        crashed.outcome = Outcome::without_labels(Status::Crashed, "signal 9");
        let key = crashed.spec.key();
        records.push(crashed.clone()).unwrap();
        assert!(records.finished(&key, BUDGET).is_none() && records.get(&key).is_some());
        records.push(crashed).unwrap();
        assert!(records.finished(&key, BUDGET).is_some());
    }

    #[test]
    fn a_larger_budget_tries_again_what_was_over_it() {
        let (_folder, mut records) = no_records();
        let mut over = record("moons", "kmeans", 0, 0.5);
        over.outcome = Outcome::without_labels(Status::OverTime, "more than 60 seconds");
        let key = over.spec.key();
        records.push(over).unwrap();
        assert!(records.finished(&key, BUDGET).is_some());
        assert!(records.finished(&key, Budget { bytes: 1 << 40, ..BUDGET }).is_some());
        assert!(records.finished(&key, Budget { seconds: 61.0, ..BUDGET }).is_none());
    }

    #[test]
    fn a_line_may_be_cut_at_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let mut records = RunRecords::open(&path).unwrap();
        records.push(record("moons", "kmeans", 0, 0.5)).unwrap();
        let whole = records.end as usize;
        records.push(record("m\u{f6}nchs \u{3bb}", "kmeans", 1, 0.5)).unwrap();
        drop(records);
        let bytes = fs::read(&path).unwrap();
        for cut in whole..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert_eq!(RunRecords::read(&path).unwrap().iter().count(), 1, "{cut}");
        }
        fs::write(&path, &bytes[..whole + 30]).unwrap();
        assert_eq!(RunRecords::open(&path).unwrap().end as usize, whole);
        RunRecords::retire(&path).unwrap();
        assert!(!path.exists() && folder.path().join("runs.jsonl.old").exists());
        RunRecords::retire(&path).unwrap();
        drop(RunRecords::open(&path).unwrap());
        RunRecords::retire(&path).unwrap();
        let older = fs::metadata(folder.path().join("runs.jsonl.old")).unwrap().len();
        assert!(older > 0 && folder.path().join("runs.jsonl.old2").exists(), "both are kept");
    }
}
