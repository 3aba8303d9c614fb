//! Labels of a table that is read in pieces, in a file until all are known; and the state of a run.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use obcut::large::Store;
use obcut::{Error, RowScore};
use obcut_data::{LabelTable, LabelWriter, LoadOptions, NOISE, Source};
use obcut_report::sketch::Choice;
use serde::{Deserialize, Serialize};

use crate::args::Targets;
use crate::args::large::CheckpointArgs;
use crate::failure::Fault;
use crate::interrupt;
use crate::report::{self, Margins, RowLabels};

/// Rows that are copied at a time.
const BATCH: usize = 1 << 16;
/// Names of the files of a checkpoint.
const STATE: &str = "state";
const NEW_STATE: &str = "state.new";
const LABELS: &str = "labels";
/// Processes that worked on the run, one per line.
const PROCESSES: &str = "processes";
/// First line of a state, for people and to tell formats apart.
const FORMAT: u32 = 2;

/// Labels on disk: 4 bytes per row, or 32 with second cluster, margin, confidence and outlier score.
pub struct Spill {
    file: Mutex<File>,
    n_rows: usize,
    with_margins: bool,
}

impl Spill {
    /// An unnamed file in the folder, which vanishes whatever happens.
    fn unnamed(folder: &Path, n_rows: usize, with_margins: bool) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(folder).with_context(|| {
            format!(
                "no scratch file can be made in {}; name another folder with --scratch",
                folder.display()
            )
        })?;
        Ok(Self { file: Mutex::new(file), n_rows, with_margins })
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn width(&self) -> usize {
        if self.with_margins { 32 } else { 4 }
    }

    fn write(&self, first: u64, rows: &[RowScore]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(rows.len() * self.width());
        for row in rows {
            bytes.extend(row.label_or_noise().to_le_bytes());
            if self.with_margins {
                bytes.extend(row.second.to_le_bytes());
                for figure in [row.margin, row.confidence, row.outlier] {
                    bytes.extend(figure.to_le_bytes());
                }
            }
        }
        let mut file = self.file();
        file.seek(SeekFrom::Start(first * self.width() as u64))?;
        file.write_all(&bytes)
    }

    /// Hands all rows to `take`, some at a time.
    fn each(
        &self,
        mut take: impl FnMut(&LabelTable<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let back = "labels cannot be read back from the scratch file";
        let mut file = self.file();
        file.seek(SeekFrom::Start(0)).context(back)?;
        let (mut bytes, mut labels, mut more) = (Vec::new(), Vec::new(), Margins::default());
        for start in (0..self.n_rows).step_by(BATCH) {
            let n = BATCH.min(self.n_rows - start);
            bytes.resize(n * self.width(), 0);
            file.read_exact(&mut bytes).context(back)?;
            labels.clear();
            more.clear();
            for row in bytes.chunks_exact(self.width()) {
                let (label, rest) = row.split_at(4);
                labels.push(u32::from_le_bytes(label.try_into()?));
                if self.with_margins {
                    let (second, rest) = rest.split_at(4);
                    more.second.push(u32::from_le_bytes(second.try_into()?));
                    more.margin.push(f64::from_le_bytes(rest[..8].try_into()?));
                    more.confidence.push(f64::from_le_bytes(rest[8..16].try_into()?));
                    more.outlier.push(f64::from_le_bytes(rest[16..].try_into()?));
                }
            }
            take(&report::table(&labels, self.with_margins.then_some(&more)))?;
        }
        Ok(())
    }

    /// Writes all labels to their file, as a stream.
    pub fn write_to(&self, path: &Path, force: bool) -> anyhow::Result<()> {
        if path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json")) {
            // A document is written whole.
            return Ok(obcut_data::write_labels(path, &self.load()?.table(), force)?);
        }
        let mut writer = LabelWriter::new(path, force, self.n_rows, self.with_margins)?;
        self.each(|table| Ok(writer.push(table)?))?;
        Ok(writer.finish()?)
    }

    /// Rows of every cluster.
    pub fn sizes(&self, n_clusters: usize) -> anyhow::Result<Vec<usize>> {
        let mut sizes = vec![0; n_clusters];
        self.each(|table| {
            let clusters = table.labels.iter().filter(|&&label| label != NOISE);
            clusters.for_each(|&label| sizes[label as usize] += 1);
            Ok(())
        })?;
        Ok(sizes)
    }

    /// Some rows of every cluster, of which there are so many, spread over the table.
    pub fn choose(&self, sizes: &[usize], most: usize) -> anyhow::Result<Vec<u64>> {
        let mut choice = Choice::new(sizes, most);
        self.each(|table| {
            choice.take(table.labels);
            Ok(())
        })?;
        Ok(choice.rows())
    }

    /// All labels in memory, for those who cannot do with less.
    pub fn load(&self) -> anyhow::Result<RowLabels> {
        let (mut labels, mut more) = (Vec::new(), Margins::default());
        self.each(|table| {
            labels.extend_from_slice(table.labels);
            more.extend(table);
            Ok(())
        })?;
        Ok(RowLabels { labels, margins: self.with_margins.then_some(more) })
    }
}

/// Labels of all rows: at hand, or in a file until they are written.
pub enum Rows {
    /// At hand.
    Held(RowLabels),
    /// In a file.
    Kept(Box<Keeper>),
}

impl Rows {
    /// Writes the labels to their file, if any, and before that what `also` writes.
    pub fn write(
        &self,
        targets: &Targets,
        also: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Self::Held(rows) => rows.write(targets, also),
            Self::Kept(keeper) => interrupt::writing(|| {
                also()?;
                match &targets.labels {
                    Some(path) => keeper.spill.write_to(path, targets.force),
                    None => Ok(()),
                }
            }),
        }
    }

    /// What is shown when all is written: labels that have a file are not needed any more.
    pub fn shown(&self, targets: &Targets) -> anyhow::Result<Cow<'_, RowLabels>> {
        Ok(match self {
            Self::Held(rows) => Cow::Borrowed(rows),
            Self::Kept(keeper) if targets.labels.is_none() => Cow::Owned(keeper.spill.load()?),
            Self::Kept(_) => Cow::Owned(RowLabels::new(Vec::new())),
        })
    }

    /// Takes the state of the run away: all is done.
    pub fn clear(&self) {
        if let Self::Kept(keeper) = self {
            keeper.clear();
        }
    }
}

/// What a state belongs to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    obcut_checkpoint: u32,
    /// Name, length and time of change of every file.
    files: Vec<(String, u64, u128)>,
    /// How they are read.
    options: String,
    with_margins: bool,
}

/// Takes labels and states of a run.
pub struct Keeper {
    /// The labels.
    pub spill: Spill,
    folder: Option<PathBuf>,
    header: Header,
    every: Duration,
    last: Mutex<Instant>,
    /// The state to go on from.
    pub saved: Option<Vec<u8>>,
}

impl Keeper {
    /// Labels go to the folder of the checkpoint, if there is one, else to the scratch folder.
    pub fn new(
        args: &CheckpointArgs,
        scratch: Option<&Path>,
        (sources, options): (&[Source], &LoadOptions),
        (n_rows, with_margins): (usize, bool),
    ) -> anyhow::Result<Self> {
        if args.checkpoint.is_some() && sources.contains(&Source::Stdin) {
            bail!(Fault::Usage(
                "--checkpoint needs a table that can be read again, not '-'".into()
            ));
        }
        let header = Header {
            obcut_checkpoint: FORMAT,
            files: stamps(sources)?,
            options: format!("{options:?}"),
            with_margins,
        };
        let (spill, saved) = match &args.checkpoint {
            None => {
                let folder = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
                (Spill::unnamed(&folder, n_rows, with_margins)?, None)
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
                    bail!(Fault::Usage(format!(
                        "another run works on {}; wait for it, or name another folder",
                        folder.display()
                    )));
                }
                (Spill { file: Mutex::new(file), n_rows, with_margins }, saved)
            }
        };
        Ok(Self {
            spill,
            folder: args.checkpoint.clone(),
            header,
            every: Duration::try_from_secs_f64(args.checkpoint_seconds.max(0.0))
                .unwrap_or(Duration::MAX),
            last: Mutex::new(Instant::now()),
            saved,
        })
    }

    /// Removes what killed runs left half written beside the outputs, and notes this one.
    pub fn tidy<'a>(&self, outputs: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(PROCESSES);
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        let processes: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        for output in outputs {
            processes.iter().for_each(|&process| obcut_data::remove_parts(output, process));
        }
        text += &format!("{}\n", std::process::id());
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    /// Whether the run goes on from a state.
    pub fn resumes(&self) -> bool {
        self.saved.is_some()
    }

    /// Takes the state away.
    fn clear(&self) {
        if let Some(folder) = &self.folder {
            // What stays behind does no harm.
            for name in [STATE, NEW_STATE, LABELS, PROCESSES] {
                let _ = fs::remove_file(folder.join(name));
            }
            let _ = fs::remove_dir(folder);
        }
    }

    fn write(&self, folder: &Path, state: &[u8]) -> io::Result<()> {
        // What the state says is done must be on the disk first.
        self.spill.file().sync_data()?;
        // Always of one name: what a kill leaves half written is written over the next time.
        let path = folder.join(NEW_STATE);
        let mut file = File::create(&path)?;
        serde_json::to_writer(&mut file, &self.header)?;
        file.write_all(b"\n")?;
        file.write_all(state)?;
        file.sync_all()?;
        fs::rename(path, folder.join(STATE))
    }
}

impl Store for Keeper {
    fn rows(&self, first: u64, rows: &[RowScore]) -> Result<(), Error> {
        self.spill.write(first, rows).map_err(|source| {
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

    fn save(&self, state: &[u8]) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let saved = interrupt::saving(|| self.write(folder, state));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        saved.map_err(|source| {
            let action = format!("save the state of the run to {}", folder.display());
            Error::Io { action, source }
        })
    }
}

/// Name, length and time of change of files.
fn stamps(sources: &[Source]) -> anyhow::Result<Vec<(String, u64, u128)>> {
    let stamp = |source: &Source| -> anyhow::Result<(String, u64, u128)> {
        let Source::Path(path) = source else { return Ok((source.display(), 0, 0)) };
        let meta = fs::metadata(path).with_context(|| source.display())?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok((source.display(), meta.len(), changed.map_or(0, |time| time.as_nanos())))
    };
    sources.iter().map(stamp).collect()
}

/// The state in a folder, if the run is to go on from one.
fn saved(folder: &Path, header: &Header, resume: bool) -> anyhow::Result<Option<Vec<u8>>> {
    let path = folder.join(STATE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        // It ended before the first state was saved: the same labels come from the beginning.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cause).with_context(|| path.display().to_string()),
    };
    if !resume {
        bail!(Fault::Usage(format!(
            "{} holds the state of an unfinished run; go on from it with --resume, or remove the folder",
            folder.display()
        )));
    }
    let cut = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let found: Option<Header> = serde_json::from_slice(&bytes[..cut]).ok();
    match found {
        Some(found) if found == *header => Ok(Some(bytes[(cut + 1).min(bytes.len())..].to_vec())),
        Some(found) if found.obcut_checkpoint != FORMAT => bail!(Fault::Usage(format!(
            "the state in {} is of another version of obcut; finish the run with that one, or remove the folder",
            folder.display()
        ))),
        Some(found) => {
            let names: Vec<&str> = found.files.iter().map(|file| &file.0[..]).collect();
            bail!(Fault::Usage(format!(
                "the state in {} is of {}, as it was then, or of a run with other outputs; give the same files and options, or remove the folder",
                folder.display(),
                names.join(", ")
            )))
        }
        None => bail!(Fault::Data(format!(
            "{} is no state of a run; remove the folder and start anew",
            path.display()
        ))),
    }
}
