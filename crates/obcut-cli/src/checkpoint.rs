//! Checkpoints: the labels and the state of a run on a table that is read in pieces.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use obcut::{Error, RowScore, StateError, Store};
use obcut_data::{LoadOptions, Source};
use serde::{Deserialize, Serialize};

use crate::args::large::CheckpointArgs;
use crate::failure::CliError;
use crate::interrupt;
use crate::labels::LabelSpool;

/// Names of the files of a checkpoint.
const STATE: &str = "state";
const NEW_STATE: &str = "state.new";
const LABELS: &str = "labels";
/// Version of the checkpoint format, in the first line of a state.
const FORMAT: u32 = 3;

/// The inputs that a state belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StateHeader {
    obcut_checkpoint: u32,
    /// Name, length and modification time (in nanoseconds) of every file.
    files: Vec<(String, u64, u64)>,
    /// The options for reading the files.
    options: String,
    with_margins: bool,
}

/// The first line of a state.
#[derive(Debug, Serialize, Deserialize)]
struct StateLine {
    #[serde(flatten)]
    run: StateHeader,
    /// Rows at the beginning of the file of labels that the state counts as done, and their checksum.
    labels: (u64, u64),
}

/// The version of a state, which every version writes in the first line.
#[derive(Deserialize)]
struct StateVersion {
    obcut_checkpoint: u32,
}

/// Stores labels and states of a run.
pub struct Checkpoint {
    /// The labels so far.
    pub spool: LabelSpool,
    folder: Option<PathBuf>,
    header: StateHeader,
    every: Duration,
    last: Mutex<Instant>,
    /// The state to resume from.
    pub saved: Option<Vec<u8>>,
}

impl Checkpoint {
    /// Opens the checkpoint. Without a folder for it, labels are written to the scratch folder and states
    /// are not saved.
    pub fn new(
        args: &CheckpointArgs,
        scratch: Option<&Path>,
        (sources, options): (&[Source], &LoadOptions),
        shape: (usize, bool),
    ) -> anyhow::Result<Self> {
        if args.checkpoint.is_some() && sources.contains(&Source::Stdin) {
            bail!(CliError::Usage(
                "--checkpoint needs an input that can be read again; standard input cannot".into()
            ));
        }
        let header = StateHeader {
            obcut_checkpoint: FORMAT,
            files: stamps(sources)?,
            options: format!("{options:?}"),
            with_margins: shape.1,
        };
        let (spool, saved) = match &args.checkpoint {
            None => {
                let folder = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
                (LabelSpool::unnamed(&folder, shape)?, None)
            }
            Some(folder) => {
                let told = || format!("the checkpoint folder {}", folder.display());
                fs::create_dir_all(folder).with_context(told)?;
                let saved = saved(folder, &header, args.resume)?;
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(saved.is_none())
                    .open(folder.join(LABELS))
                    .with_context(told)?;
                if let Err(TryLockError::WouldBlock) = file.try_lock() {
                    bail!(CliError::Usage(format!(
                        "another run is using the checkpoint {}; wait for it, or use another folder",
                        folder.display()
                    )));
                }
                let spool = LabelSpool::new(file, shape);
                let saved = match saved {
                    Some((labels, state)) => {
                        let is_whole = labels.0 <= shape.0 as u64
                            && spool.resume(labels.0, labels.1).with_context(told)?;
                        if !is_whole {
                            bail!(damaged(&folder.join(LABELS)));
                        }
                        Some(state)
                    }
                    None => None,
                };
                (spool, saved)
            }
        };
        Ok(Self {
            spool,
            folder: args.checkpoint.clone(),
            header,
            every: Duration::try_from_secs_f64(args.checkpoint_seconds.max(0.0))
                .unwrap_or(Duration::MAX),
            last: Mutex::new(Instant::now()),
            saved,
        })
    }

    /// Names the file of a state that the engine refused as damaged.
    pub fn explain(&self, error: Error) -> anyhow::Error {
        match (&error, &self.folder) {
            (Error::State(StateError::Damaged(_)), Some(folder)) => {
                damaged(&folder.join(STATE)).into()
            }
            _ => error.into(),
        }
    }

    /// Removes the checkpoint.
    pub fn clear(&self) {
        if let Some(folder) = &self.folder {
            // Files that cannot be removed do no harm.
            for name in [STATE, NEW_STATE, LABELS] {
                let _ = fs::remove_file(folder.join(name));
            }
            let _ = fs::remove_dir(folder);
        }
    }

    fn write(&self, folder: &Path, state: &[u8], n_labeled: u64) -> io::Result<()> {
        // The labels that the state counts as done must be on the disk first.
        self.spool.sync()?;
        // The name is fixed, so that the next save overwrites a partial file of a killed run.
        let path = folder.join(NEW_STATE);
        let mut file = File::create(&path)?;
        let labels = (n_labeled, self.spool.checksum(n_labeled));
        serde_json::to_writer(&mut file, &StateLine { run: self.header.clone(), labels })?;
        file.write_all(b"\n")?;
        file.write_all(state)?;
        file.sync_all()?;
        fs::rename(path, folder.join(STATE))
    }
}

impl Store for Checkpoint {
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        self.spool.write(first, rows).map_err(|source| {
            let action = "write labels to the scratch file".into();
            Error::Io { action, source }
        })
    }

    fn is_due(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.keeps() && last.elapsed() >= self.every
    }

    fn keeps(&self) -> bool {
        self.folder.is_some()
    }

    fn saved(&self) -> Option<&[u8]> {
        self.saved.as_deref()
    }

    fn save(&self, state: &[u8], n_labeled: u64) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let saved = interrupt::saving(|| self.write(folder, state, n_labeled));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        saved.map_err(|source| {
            let action = format!("save the state of the run to {}", folder.display());
            Error::Io { action, source }
        })
    }
}

/// Name, length and modification time of the files.
fn stamps(sources: &[Source]) -> anyhow::Result<Vec<(String, u64, u64)>> {
    let stamp = |source: &Source| -> anyhow::Result<(String, u64, u64)> {
        let Source::Path(path) = source else { return Ok((source.display(), 0, 0)) };
        let meta = fs::metadata(path).with_context(|| source.display())?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok((source.display(), meta.len(), changed.map_or(0, |time| time.as_nanos() as u64)))
    };
    sources.iter().map(stamp).collect()
}

/// A state, and the rows and checksum of the labels that belong to it.
type Saved = ((u64, u64), Vec<u8>);

/// The state in a folder, if there is one to resume from.
fn saved(folder: &Path, header: &StateHeader, resume: bool) -> anyhow::Result<Option<Saved>> {
    let path = folder.join(STATE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        // The run ended before its first save: starting over gives the same labels.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cause).with_context(|| path.display().to_string()),
    };
    if !resume {
        bail!(CliError::Usage(format!(
            "{} holds the checkpoint of an unfinished run; continue with --resume, or remove the folder",
            folder.display()
        )));
    }
    let cut = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let version: Option<StateVersion> = serde_json::from_slice(&bytes[..cut]).ok();
    let found: Option<StateLine> = serde_json::from_slice(&bytes[..cut]).ok();
    match found {
        _ if version.is_some_and(|version| version.obcut_checkpoint != FORMAT) => {
            bail!(CliError::Usage(format!(
                "the checkpoint {} was written by another version of obcut; finish the run with that version, or remove the folder",
                folder.display()
            )))
        }
        Some(found) if found.run == *header => {
            Ok(Some((found.labels, bytes[(cut + 1).min(bytes.len())..].to_vec())))
        }
        Some(found) => {
            let names: Vec<&str> = found.run.files.iter().map(|file| &file.0[..]).collect();
            bail!(CliError::Usage(format!(
                "the checkpoint {} was written for another version of {}, or for other options; use the same files and options, or remove the folder",
                folder.display(),
                names.join(", ")
            )))
        }
        None => bail!(damaged(&path)),
    }
}

/// The error of a file of a checkpoint that is not as it was written.
fn damaged(path: &Path) -> CliError {
    CliError::Data(format!(
        "{} is damaged; remove the folder of the checkpoint and start again",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut::{GraphKind, Matrix, OBCut, Params, RowSource, synthetic};
    use obcut_core::random::mix;

    const ROWS: usize = 900;
    const COLUMNS: usize = 1 << 12;

    /// A table of several pieces.
    struct Rows(Vec<f64>);

    impl RowSource for Rows {
        fn n_rows(&self) -> usize {
            ROWS
        }
        fn n_cols(&self) -> usize {
            COLUMNS
        }
        fn is_single(&self) -> bool {
            false
        }
        fn read(&self, rows: std::ops::Range<usize>) -> Result<Matrix, Error> {
            let (n_rows, n_cols) = (rows.len(), COLUMNS);
            let values = self.0[rows.start * n_cols..rows.end * n_cols].to_vec();
            Ok(Matrix::Dense64 { values, n_rows, n_cols })
        }
    }

    /// A run that saves after every piece, and copies what it saved to a folder.
    struct Copied<'a>(&'a Checkpoint, PathBuf, Mutex<usize>);

    impl Store for Copied<'_> {
        fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
            self.0.rows(first, rows)
        }
        fn is_due(&self) -> bool {
            true
        }
        fn keeps(&self) -> bool {
            true
        }
        fn save(&self, state: &[u8], n_labeled: u64) -> Result<(), Error> {
            self.0.save(state, n_labeled)?;
            let mut n = self.2.lock().unwrap();
            let (from, to) = (self.0.folder.as_ref().unwrap(), self.1.join(n.to_string()));
            fs::create_dir(&to).unwrap();
            for name in [STATE, LABELS] {
                fs::copy(from.join(name), to.join(name)).unwrap();
            }
            *n += 1;
            Ok(())
        }
    }

    fn params() -> Params {
        let graph = GraphKind::Distance;
        Params { core_rows: Some(200), threads: 1, graph, n_anchors: Some(10), ..Params::new(3) }
    }

    /// The checkpoint in a folder, as `--checkpoint` opens it, or as `--resume` does.
    fn opened(folder: &Path, resume: bool) -> anyhow::Result<Checkpoint> {
        let args = CheckpointArgs {
            checkpoint: Some(folder.to_path_buf()),
            resume,
            checkpoint_seconds: 1e9,
        };
        Checkpoint::new(&args, None, (&[], &LoadOptions::default()), (ROWS, false))
    }

    /// The labels at the end of a run that goes on from a checkpoint.
    fn resumed(rows: &Rows, folder: &Path) -> anyhow::Result<Vec<u8>> {
        let checkpoint = opened(folder, true)?;
        OBCut::from(params()).fit_into(rows, &checkpoint).map_err(|e| checkpoint.explain(e))?;
        checkpoint.spool.sync()?;
        Ok(fs::read(folder.join(LABELS))?)
    }

    /// Random damage of state or labels is named, or the labels are those of an undisturbed run. `OBCUT_DAMAGES`
    /// says how many are tried.
    #[test]
    fn damaged_checkpoints_are_refused_or_harmless() {
        let n_damages: u64 = match std::env::var("OBCUT_DAMAGES") {
            Ok(number) => number.parse().unwrap(),
            Err(_) => 200,
        };
        let Matrix::Dense64 { values, .. } = synthetic::blobs(ROWS, COLUMNS, 3, 0.05, 1).matrix
        else {
            panic!("dense")
        };
        let rows = Rows(values);
        let all = tempfile::tempdir().unwrap();
        let kept = all.path().join("kept");
        let run = opened(&kept, false).unwrap();
        let store = Copied(&run, all.path().to_path_buf(), Mutex::new(0));
        OBCut::from(params()).fit_into(&rows, &store).unwrap();
        let n_saves = store.2.into_inner().unwrap();
        let labels = fs::read(kept.join(LABELS)).unwrap();
        drop(run);
        let saves: Vec<[Vec<u8>; 2]> = (0..n_saves)
            .map(|n| [STATE, LABELS].map(|name| fs::read(all.path().join(format!("{n}/{name}")))))
            .map(|files| files.map(Result::unwrap))
            .collect();
        for save in &saves {
            assert_eq!(attempt(&rows, &kept, save).unwrap(), labels);
        }
        let (mut refused, mut harmless, mut state) = (0, 0, 7u64);
        for damage in 0..n_damages {
            let mut draw = |n: usize| {
                state = mix(state.wrapping_add(1));
                (state % n as u64) as usize
            };
            let mut save = saves[draw(n_saves)].clone();
            let file = &mut save[draw(2)];
            let (at, end) = (draw(file.len().max(1)), draw(file.len().max(1)));
            match draw(6) {
                0 => file.truncate(at),
                1 => file.extend(vec![0; 1 + draw(64)]),
                2 if at < end => drop(file.drain(at..end)),
                3 => (at..file.len().min(at + 8)).for_each(|i| file[i] = draw(256) as u8),
                4 if !file.is_empty() => file.swap(at, end),
                _ if file.is_empty() => {}
                _ => file[at] ^= 1 << draw(8),
            }
            match attempt(&rows, &kept, &save) {
                Ok(found) => {
                    // What is behind the rows of the table is not read.
                    assert!(found[..labels.len()] == labels[..], "damage {damage}");
                    harmless += 1;
                }
                Err(error) => {
                    let text = format!("{error:#}");
                    assert!(
                        text.contains("kept") && !text.contains('\n'),
                        "damage {damage}: {text}"
                    );
                    refused += 1;
                }
            }
        }
        println!("{n_damages} damaged checkpoints: {refused} refused, {harmless} harmless");
        assert!(refused > n_damages / 3 && harmless > 0, "{refused} refused, {harmless} harmless");
    }

    /// Goes on from these files of a checkpoint.
    fn attempt(rows: &Rows, folder: &Path, save: &[Vec<u8>; 2]) -> anyhow::Result<Vec<u8>> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap();
        fs::write(folder.join(STATE), &save[0]).unwrap();
        fs::write(folder.join(LABELS), &save[1]).unwrap();
        resumed(rows, folder)
    }
}
