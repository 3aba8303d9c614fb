//! Gives damaged files to everything in obcut that reads the bytes of others.
//!
//! ```text
//! cargo run -p obcut-fuzz -- --seconds 60               every target
//! cargo run -p obcut-fuzz -- --target npz --seconds 60  one target
//! cargo run -p obcut-fuzz -- --replay FILE              a finding again
//! ```
//!
//! An execution takes a small valid or nasty file (`corpus.rs`), changes a few bytes (`mutate.rs`), and reads it
//! (`target.rs`). It ends in an answer or in an error of one line. A panic, an abort, an answer that
//! contradicts another, more memory than the file justifies, or no end at all is a finding.
//!
//! Executions run in a child process (`worker.rs`), because an abort ends the process. The allocator of the child
//! has a limit for every execution, so that an allocation on a header's word aborts it, whatever memory the
//! machine has. The C code of zstd allocates past that limit.

mod corpus;
mod mutate;
mod random;
mod target;
mod worker;

use std::alloc::System;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cap::Cap;
use clap::{Parser, ValueEnum};
use target::Target;
use worker::{Span, Tally};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Aborts of a target after which it is given up.
const MOST_ABORTS: usize = 20;

/// Gives damaged files to everything that reads the bytes of others
#[derive(Debug, Parser)]
struct FuzzArgs {
    /// What is given damaged files; may be repeated [default: everything]
    #[arg(long)]
    target: Vec<Target>,
    /// Seconds for every target
    #[arg(long, default_value_t = 10.0, conflicts_with = "executions")]
    seconds: f64,
    /// Executions of every target, instead of seconds
    #[arg(long)]
    executions: Option<u64>,
    /// Seed of the damage; another seed tries other files
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The folder where files that break something are kept
    #[arg(long, default_value = "target/fuzz")]
    findings: PathBuf,
    /// Seconds after which an execution counts as endless; 0 waits for ever
    #[arg(long, default_value_t = 120.0)]
    patience: f64,
    /// Runs a finding again, here and without catching a panic; its name says the target
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Runs as a child: the executions from here on, in this folder
    #[arg(long, hide = true, num_args = 2, value_names = ["FIRST", "FOLDER"])]
    worker: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let args = FuzzArgs::parse();
    let done = match (&args.replay, &args.worker) {
        (Some(file), _) => replay(file, &args),
        (_, Some(words)) => work(words, &args),
        _ => run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a file as an execution does, with the memory of an execution.
fn replay(file: &Path, args: &FuzzArgs) -> io::Result<bool> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_its = |target: &&Target| name.starts_with(&format!("{}-", target.name()));
    let chosen = args.target.first().or_else(|| Target::value_variants().iter().find(is_its));
    let Some(&target) = chosen else {
        return Err(io::Error::other("the name of the file says no target; give --target"));
    };
    target.corpus();
    let bytes = fs::read(file)?;
    let (limit, unpacked) = worker::limit(target, file, &bytes)?;
    worker::set_limit(limit);
    let found = target.execute(file, &unpacked);
    worker::lift_limit();
    match found {
        Ok(_) => println!("{}: nothing wrong", file.display()),
        Err(text) => println!("{}: {text}", file.display()),
    }
    Ok(true)
}

/// The child.
fn work(words: &[String], args: &FuzzArgs) -> io::Result<bool> {
    let (Some(&target), [first, folder]) = (args.target.first(), words) else {
        return Err(io::Error::other("a worker has a target, a first execution and a folder"));
    };
    let first = first.parse().map_err(io::Error::other)?;
    let until = Instant::now() + Duration::try_from_secs_f64(args.seconds).unwrap_or(Duration::MAX);
    let span = match args.executions {
        Some(n) => Span::Executions(first..n),
        None => Span::Until(first, until),
    };
    let tally = worker::run(target, args.seed, span, Path::new(folder), &args.findings)?;
    println!("{} {} {}", tally.executions, tally.accepted, tally.findings);
    Ok(true)
}

/// Every target, each in a child that is started again after an abort.
fn run(args: &FuzzArgs) -> io::Result<bool> {
    fs::create_dir_all(&args.findings)?;
    let targets = if args.target.is_empty() { Target::ALL } else { &args.target };
    let mut all = Tally::default();
    for &target in targets {
        let start = Instant::now();
        let found = run_target(target, args)?;
        let (name, seconds) = (target.name(), start.elapsed().as_secs_f64());
        println!("{}", line(&name, &found, Some(seconds)));
        all.executions += found.executions;
        all.accepted += found.accepted;
        all.findings += found.findings;
    }
    println!("{}", line("all", &all, None));
    if all.findings > 0 {
        println!(
            "run one again: cargo run -p obcut-fuzz -- --replay FILE; files are in {}",
            args.findings.display()
        );
    }
    Ok(all.findings == 0)
}

/// A line of the summary.
fn line(name: &str, tally: &Tally, seconds: Option<f64>) -> String {
    let Tally { executions, accepted, findings } = tally;
    let seconds = seconds.map_or_else(String::new, |seconds| format!(", {seconds:.1} s"));
    format!(
        "{name:<10} {executions:>9} executions, {accepted:>9} accepted, {findings:>3} findings{seconds}"
    )
}

fn run_target(target: Target, args: &FuzzArgs) -> io::Result<Tally> {
    let mut all = Tally::default();
    let start = Instant::now();
    let mut first = 0;
    for _ in 0..MOST_ABORTS {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--target", &target.name(), "--seed", &args.seed.to_string(), "--worker"])
            .arg(first.to_string())
            .args([folder.path(), Path::new("--findings"), &args.findings]);
        match args.executions {
            Some(n) => command.args(["--executions", &n.to_string()]),
            None => {
                let left = (args.seconds - start.elapsed().as_secs_f64()).max(0.0);
                command.args(["--seconds", &left.to_string()])
            }
        };
        let child = command
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let ended = wait(child, folder.path(), args.patience)?;
        let (stdout, stderr) = (&ended.stdout, &ended.stderr);
        let lines: Vec<&str> = stdout.lines().collect();
        // All lines but the last are findings.
        let (counts, findings) =
            lines.split_last().map_or(("", &[][..]), |(last, all)| (*last, all));
        let numbers: Option<Vec<u64>> = counts.split(' ').map(|word| word.parse().ok()).collect();
        if let (true, Some([executions, accepted, n])) = (ended.succeeded, numbers.as_deref()) {
            findings.iter().for_each(|line| println!("{line}"));
            all.executions += executions;
            all.accepted += accepted;
            all.findings += n;
            return Ok(all);
        }
        lines.iter().for_each(|line| println!("{line}"));
        // What an ended child accepted is not known.
        all.findings += 1 + lines.len() as u64;
        // The file is still there that the child was reading.
        let Some((execution, file)) = current(folder.path())? else {
            println!("{}: the child ended before it read anything: {stderr}", target.name());
            return Ok(all);
        };
        let why = ended.why;
        let kept = args.findings.join(format!(
            "{}-{execution}-{why}.{}",
            target.name(),
            worker::suffixes(&file)
        ));
        fs::copy(&file, &kept)?;
        let told = stderr.lines().next().unwrap_or_default();
        println!("{}: {why} {told}", kept.display());
        all.executions += execution + 1 - first;
        first = execution + 1;
    }
    println!("{}: given up after {MOST_ABORTS} aborts", target.name());
    Ok(all)
}

/// How a child ended.
struct Ended {
    succeeded: bool,
    why: &'static str,
    stdout: String,
    stderr: String,
}

/// Waits for a child, and kills it when it stays with one file for too long.
fn wait(mut child: Child, folder: &Path, patience: f64) -> io::Result<Ended> {
    // What it prints is taken meanwhile, so that it does not wait for a full pipe.
    let taken = |from: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes)).map(|_| bytes)
        })
    };
    let stdout = taken(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = taken(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let mut why = "abort";
    let mut last = (None, Instant::now());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let now = current(folder)?.map(|(execution, _)| execution);
        if now != last.0 || now.is_none() {
            last = (now, Instant::now());
        } else if patience > 0.0 && last.1.elapsed().as_secs_f64() > patience {
            why = "endless";
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let text = |taken: thread::JoinHandle<io::Result<Vec<u8>>>| {
        let bytes = taken.join().unwrap_or_else(|_| Ok(Vec::new()))?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Ended { succeeded: status.success(), why, stdout: text(stdout)?, stderr: text(stderr)? })
}

/// The execution that is under way and its file.
fn current(folder: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if let Some(execution) = name.split('.').next().and_then(|word| word.parse().ok()) {
            return Ok(Some((execution, path)));
        }
    }
    Ok(None)
}
