//! The executions of one target, one after the other.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::ALLOCATOR;
use crate::corpus::{Specimen, packed};
use crate::mutate::mutate;
use crate::random::Dice;
use crate::target::Target;

/// Files that are kept of findings that look alike.
const ALIKE: usize = 3;

/// Bytes of an unpacked file beyond which memory no longer grows with it: a packed file holds little, whatever
/// it swells to.
const MOST_UNPACKED: u64 = 4 << 20;

/// Which executions.
pub enum Span {
    Executions(Range<u64>),
    /// From one on, as long as there is time.
    Until(u64, Instant),
}

/// What was done and found.
#[derive(Default)]
pub struct Tally {
    pub executions: u64,
    /// Executions whose file was accepted.
    pub accepted: u64,
    pub findings: u64,
}

/// The last panic: where, and what it said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs executions; prints a line for every finding and keeps its file.
pub fn run(
    target: Target,
    seed: u64,
    span: Span,
    folder: &Path,
    findings: &Path,
) -> io::Result<Tally> {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string().replace('\n', " ");
        // A panic between executions is one of this program. Others may have been caught by whom it is about.
        if ALLOCATOR.limit() == usize::MAX {
            eprintln!("{text}");
        }
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }));
    let corpus = target.corpus();
    if corpus.is_empty() {
        return Err(io::Error::other("the corpus is empty"));
    }
    let mut alike: HashMap<String, usize> = HashMap::new();
    let mut tally = Tally::default();
    let first = match &span {
        Span::Executions(range) => range.start,
        Span::Until(first, _) => *first,
    };
    for execution in first.. {
        match &span {
            Span::Executions(range) if execution >= range.end => break,
            Span::Until(_, until) if Instant::now() >= *until => break,
            _ => {}
        }
        let (bytes, suffix) = damaged(target, &corpus, seed, execution);
        let path = folder.join(format!("{execution}.{suffix}"));
        fs::write(&path, &bytes)?;
        tally.executions += 1;
        let answer = execute(target, &path, &bytes)?;
        tally.accepted += u64::from(answer == Ok(true));
        if let Err(text) = answer {
            tally.findings += 1;
            // Numbers differ among findings that are alike.
            let key: String = text.chars().filter(|c| !c.is_ascii_digit()).take(80).collect();
            let n = alike.entry(key).or_insert(0);
            *n += 1;
            if *n <= ALIKE {
                let kept = findings.join(format!("{}-{seed}-{execution}.{suffix}", target.name()));
                fs::copy(&path, &kept)?;
                println!("{}: {text}", kept.display());
            }
        }
        fs::remove_file(&path)?;
    }
    Ok(tally)
}

/// The file of an execution, and its extensions.
fn damaged(target: Target, corpus: &[Specimen], seed: u64, execution: u64) -> (Vec<u8>, String) {
    let dice = &mut Dice::of_execution(seed, execution);
    let mut specimen = match corpus.get(execution as usize) {
        // First every one as it is.
        Some(specimen) => return (specimen.join(), specimen.suffix.into()),
        None => dice.pick(corpus).clone(),
    };
    let mut suffix = specimen.suffix.to_string();
    let in_parts = !dice.one_in(3) || specimen.parts.len() == 1;
    if in_parts {
        let at = dice.below(specimen.parts.len());
        let others: Vec<&[u8]> =
            corpus.iter().filter_map(|other| other.parts.get(at)).map(|part| &part[..]).collect();
        mutate(&mut specimen.parts[at], &others, dice);
    }
    let mut bytes = specimen.join();
    if !in_parts {
        let other = dice.pick(corpus).join();
        mutate(&mut bytes, &[&other], dice);
    }
    if target.may_be_packed() && dice.one_in(4) {
        let packing = *dice.pick(&["gz", "zst"]);
        bytes = packed(&bytes, Some(packing));
        suffix = format!("{suffix}.{packing}");
        if dice.one_in(4) {
            mutate(&mut bytes, &[&corpus[0].join()], dice);
        }
    }
    (bytes, suffix)
}

/// Runs the target with a limit of memory: whether it accepted the file, or the text of a finding.
fn execute(target: Target, path: &Path, bytes: &[u8]) -> io::Result<Result<bool, String>> {
    let (limit, bytes) = limit(target, path, bytes)?;
    set_limit(limit);
    let done = panic::catch_unwind(AssertUnwindSafe(|| target.execute(path, &bytes)));
    lift_limit();
    Ok(match done {
        Ok(done) => done,
        Err(_) => Err(PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()),
    })
}

/// Sets the memory that may be allocated from now on in addition.
pub fn set_limit(bytes: usize) {
    let limit = ALLOCATOR.allocated().saturating_add(bytes);
    // It is above what is allocated, so it is accepted.
    let _ = ALLOCATOR.set_limit(limit);
}

/// Lets everything be allocated again.
pub fn lift_limit() {
    let _ = ALLOCATOR.set_limit(usize::MAX);
}

/// The memory that a file justifies, and the bytes that the target is given beside its path.
pub fn limit(target: Target, path: &Path, bytes: &[u8]) -> io::Result<(usize, Vec<u8>)> {
    let mut unpacked = Vec::new();
    let reader: Option<Box<dyn Read>> = match path.extension().and_then(|s| s.to_str()) {
        Some("gz") => Some(Box::new(flate2::read::MultiGzDecoder::new(File::open(path)?))),
        Some("zst") => Some(Box::new(zstd::Decoder::new(File::open(path)?)?)),
        _ => None,
    };
    if let Some(reader) = reader {
        // Damage ends it early.
        let _ = reader.take(MOST_UNPACKED).read_to_end(&mut unpacked);
    }
    Ok((target.memory(bytes.len(), unpacked.len()), bytes.to_vec()))
}

/// The extensions of a file of an execution.
pub fn suffixes(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split_once('.').map_or_else(String::new, |(_, suffixes)| suffixes.to_string())
}
