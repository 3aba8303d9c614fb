//! One JSON line per run: appended and flushed, so that a killed suite loses the run it was at and no other.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use obcut::metrics::Scores;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Error;
use crate::plan::Spec;

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
    /// Its process ended without an answer; it is tried again when the suite goes on.
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
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "numbers")]
    pub objective: Vec<f64>,
    /// Value of the cut after every iteration (obcut).
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "numbers")]
    pub cut: Vec<f64>,
    /// What the method warns of.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
}

/// JSON has no infinity: a value that overflowed is null there, and no number here.
fn numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(source)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was run.
    #[serde(flatten)]
    pub spec: Spec,
    /// What it gave.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Threads of the run.
    pub threads: usize,
    /// Runs that were under way at once.
    pub jobs: usize,
    /// Version of obcut.
    pub version: String,
    /// Processor and system.
    pub machine: String,
}

/// The records of a suite, by key: a file that only grows.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    file: File,
    found: BTreeMap<String, Record>,
}

impl Records {
    /// Opens a file of records, or starts one. A line that was cut short at the end is removed.
    ///
    /// # Errors
    /// When the file cannot be used, or is in use, or a line in it is not a record.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(Error::file("open", path))?;
        file.try_lock().map_err(|cause| {
            let cause = match cause {
                fs::TryLockError::Error(cause) => cause,
                fs::TryLockError::WouldBlock => {
                    std::io::Error::other("another benchmark writes to it")
                }
            };
            Error::File { verb: "open", path: path.into(), cause }
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(Error::file("read", path))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(Error::file("write", path))?;
        file.seek(SeekFrom::End(0)).map_err(Error::file("write", path))?;
        let mut found = BTreeMap::new();
        for (i, line) in text[..whole].lines().enumerate() {
            let record: Record = serde_json::from_str(line).map_err(|cause| Error::Record {
                path: path.into(),
                line: i + 1,
                cause,
            })?;
            found.insert(record.spec.key(), record);
        }
        Ok(Self { path: path.into(), file, found })
    }

    /// Adds a record and makes sure that it is on disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, record: Record) -> Result<(), Error> {
        let mut line = serde_json::to_string(&record)
            .map_err(|cause| Error::Broken(format!("a record cannot be written: {cause}")))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(Error::file("write", &self.path))?;
        self.found.insert(record.spec.key(), record);
        Ok(())
    }

    /// The record of a run that is finished.
    pub fn finished(&self, key: &str) -> Option<&Record> {
        self.found.get(key).filter(|record| record.outcome.status != Status::Crashed)
    }

    /// The record of a run, finished or crashed.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.found.get(key)
    }

    /// All records, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.found.values()
    }
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

    /// A finished run.
    pub fn record(data: &str, method: &str, seed: u64, nmi: f64) -> Record {
        let scores = Scores { nmi, acc: nmi / 2.0, purity: nmi / 2.0, ari: nmi / 4.0 };
        Record {
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
            threads: 1,
            jobs: 1,
            version: "0".into(),
            machine: "m".into(),
        }
    }

    #[test]
    fn a_line_cut_short_is_forgotten_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/runs.jsonl");
        let mut records = Records::open(&path).unwrap();
        for seed in 0..3 {
            records.push(record("moons", "kmeans", seed, 0.1 + 0.2)).unwrap();
        }
        drop(records);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        let mut records = Records::open(&path).unwrap();
        assert_eq!(records.iter().count(), 2);
        let last = record("moons", "kmeans", 2, 0.1 + 0.2);
        assert!(records.finished(&last.spec.key()).is_none());
        records.push(last.clone()).unwrap();
        drop(records);
        let records = Records::open(&path).unwrap();
        assert_eq!(records.finished(&last.spec.key()), Some(&last));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_file_in_use_or_with_a_foreign_line_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let first = Records::open(&path).unwrap();
        assert!(Records::open(&path).unwrap_err().to_string().contains("another benchmark"));
        drop(first);
        fs::write(&path, "{}\n").unwrap();
        assert!(Records::open(&path).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn an_objective_that_overflowed_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let mut run = record("moons", "obcut", 0, 0.5);
        run.outcome.objective = vec![1.0, f64::INFINITY, f64::NAN];
        Records::open(&path).unwrap().push(run.clone()).unwrap();
        let records = Records::open(&path).unwrap();
        let read = &records.finished(&run.spec.key()).unwrap().outcome.objective;
        assert!(read[0] == 1.0 && read[1].is_nan() && read.len() == 3);
    }

    #[test]
    fn a_crashed_run_is_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Records::open(&folder.path().join("r")).unwrap();
        let mut crashed = record("moons", "kmeans", 0, 0.5);
        crashed.outcome = Outcome::without_labels(Status::Crashed, "signal 9");
        records.push(crashed.clone()).unwrap();
        assert!(records.finished(&crashed.spec.key()).is_none());
        assert!(records.get(&crashed.spec.key()).is_some());
    }
}
