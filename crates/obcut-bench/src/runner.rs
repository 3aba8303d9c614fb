//! Runs a suite: processes in parallel, budgets, and resuming after an interruption.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::data::is_same_source;
use crate::error::Error;
use crate::machine;
use crate::plan::{RunPlan, Spec};
use crate::record::{ENGINE, Outcome, RunRecord, RunRecords, Status};
use crate::suite::Suite;
use crate::worker::RunTask;

/// Time between two checks of a process.
const POLL: Duration = Duration::from_millis(5);
/// Memory is checked less often, because it is more expensive.
const MEMORY_POLL: Duration = Duration::from_millis(100);
/// Exit code of a process that was ended by a signal from the terminal.
const INTERRUPTED: i32 = 130;
/// Time that the same signal may need to reach this process.
const SIGNAL: Duration = Duration::from_secs(1);
/// Maximum time that one check adds to the time of a process. The machine was asleep during longer gaps.
const ASLEEP: Duration = Duration::from_secs(1);

/// The budget of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Seconds including reading, without the time in which the machine or this process slept.
    pub seconds: f64,
    /// Bytes including the data.
    pub bytes: u64,
}

/// How a suite is run.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// File of records.
    pub records: PathBuf,
    /// Program and arguments that start [`crate::worker::serve`].
    pub worker: Vec<OsString>,
    /// Number of runs at the same time.
    pub jobs: usize,
    /// Number of threads of a run.
    pub threads: usize,
    /// Budget of a run.
    pub budget: Budget,
}

/// Progress of a suite.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// Number of finished runs.
    pub finished: usize,
    /// Number of all runs.
    pub total: usize,
    /// The run that started or ended last.
    pub spec: &'a Spec,
    /// Its outcome, if it has ended.
    pub outcome: Option<&'a Outcome>,
    /// Remaining seconds, estimated from similar runs.
    pub seconds_left: Option<f64>,
}

/// Observes a suite and may stop it.
pub trait RunWatch: Sync {
    /// A run started or ended.
    fn standing(&self, standing: &Standing<'_>);

    /// Whether to stop. Called many times a second.
    fn cancelled(&self) -> bool;
}

/// The state that all workers share.
struct RunnerState {
    queue: VecDeque<Spec>,
    records: RunRecords,
    /// Cells with a run over budget, and the reason.
    over: BTreeMap<String, (Status, u64)>,
    finished: usize,
    /// Start of the current runs, by key.
    running: BTreeMap<String, (Spec, Instant)>,
    failure: Option<Error>,
}

/// Runs the unfinished runs and returns all records.
///
/// # Errors
/// When the records cannot be written, no process can be started, or the watch cancels.
pub fn run(
    suite: &Suite,
    plan: &RunPlan,
    options: &RunnerOptions,
    watch: &dyn RunWatch,
) -> Result<RunRecords, Error> {
    let records = RunRecords::open(&options.records)?;
    let (mut queue, mut over) = (VecDeque::new(), BTreeMap::new());
    let sources: BTreeMap<String, String> =
        plan.origins.iter().map(|(name, origin)| (name.clone(), origin.fingerprint())).collect();
    for spec in &plan.runs {
        if let (Some(record), Some(is)) = (records.get(&spec.key()), sources.get(&spec.data)) {
            let is_used = record.outcome.status != Status::Unreadable;
            if is_used && !is_same_source(&record.source, is) {
                let (was, is) = (record.source.clone(), is.clone());
                return Err(Error::OtherData { data: spec.data.clone(), was, is });
            }
        }
        match records.finished(&spec.key(), options.budget) {
            None => queue.push_back(spec.clone()),
            Some(record) if is_over(record.outcome.status) => {
                over.insert(spec.cell(), (record.outcome.status, spec.seed));
            }
            Some(_) => {}
        }
    }
    let finished = plan.runs.len() - queue.len();
    let running = BTreeMap::new();
    let shared = Mutex::new(RunnerState { queue, records, over, finished, running, failure: None });
    let driver = Driver { suite, plan, sources: &sources, options, watch, shared: &shared };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| driver.work());
        }
    });
    let shared = shared.into_inner().unwrap_or_else(|poison| poison.into_inner());
    match shared.failure {
        Some(error) => Err(error),
        None => Ok(shared.records),
    }
}

fn is_over(status: Status) -> bool {
    matches!(status, Status::OverTime | Status::OverMemory)
}

struct Driver<'a> {
    suite: &'a Suite,
    plan: &'a RunPlan,
    /// The data sets by name.
    sources: &'a BTreeMap<String, String>,
    options: &'a RunnerOptions,
    watch: &'a dyn RunWatch,
    shared: &'a Mutex<RunnerState>,
}

impl Driver<'_> {
    /// Takes runs from the queue until it is empty or a run fails.
    fn work(&self) {
        while let Some(spec) = self.next() {
            let result = self.one(&spec).and_then(|outcome| self.keep(spec, outcome));
            if let Err(error) = result {
                let mut shared = self.lock();
                shared.queue.clear();
                shared.failure.get_or_insert(error);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RunnerState> {
        self.shared.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn next(&self) -> Option<Spec> {
        let mut shared = self.lock();
        let spec = shared.queue.pop_front()?;
        shared.running.insert(spec.key(), (spec.clone(), Instant::now()));
        self.report(&shared, &spec, None);
        Some(spec)
    }

    fn report(&self, shared: &RunnerState, spec: &Spec, outcome: Option<&Outcome>) {
        self.watch.standing(&Standing {
            finished: shared.finished,
            total: self.plan.runs.len(),
            spec,
            outcome,
            seconds_left: seconds_left(shared, self.options.jobs),
        });
    }

    fn keep(&self, spec: Spec, outcome: Outcome) -> Result<(), Error> {
        let mut shared = self.lock();
        if is_over(outcome.status) {
            shared.over.entry(spec.cell()).or_insert((outcome.status, spec.seed));
        }
        shared.finished += 1;
        shared.running.remove(&spec.key());
        self.report(&shared, &spec, Some(&outcome));
        let source = self.sources.get(&spec.data).cloned().unwrap_or_default();
        shared.records.push(RunRecord {
            spec,
            outcome,
            source,
            budget: self.options.budget,
            threads: self.options.threads,
            jobs: self.options.jobs,
            version: env!("CARGO_PKG_VERSION").into(),
            engine: ENGINE.into(),
            machine: machine::describe(),
        })
    }

    /// One run, unless another seed of it was over budget.
    fn one(&self, spec: &Spec) -> Result<Outcome, Error> {
        if let Some((status, seed)) = self.lock().over.get(&spec.cell()).copied() {
            let reason = format!("not tried: seed {seed} was over budget");
            return Ok(Outcome::without_labels(status, reason));
        }
        let origin = self.plan.origins.get(&spec.data).cloned();
        let origin = origin.ok_or_else(|| {
            Error::Broken(format!("{}: no data set {}", self.suite.name, spec.data))
        })?;
        let budget = self.options.budget;
        let task = RunTask {
            spec: spec.clone(),
            origin,
            threads: self.options.threads,
            memory: budget.bytes,
        };
        self.process(&task, budget)
    }

    fn process(&self, task: &RunTask, budget: Budget) -> Result<Outcome, Error> {
        let line = serde_json::to_string(task).map_err(|error| Error::Broken(error.to_string()))?;
        let (program, arguments) = self
            .options
            .worker
            .split_first()
            .ok_or_else(|| Error::Broken("there is no program to run".into()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::Start)?;
        // Kept open while the process runs: it ends by itself when this end is closed.
        let mut input = child.stdin.take();
        let readers = reader(child.stdout.take())
            .and_then(|output| Ok((output, reader(child.stderr.take())?)));
        let (output, messages) = readers.inspect_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
        })?;
        if let Some(input) = &mut input {
            // A process that is gone already is found out below.
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
        let end = self.wait(&mut child, budget);
        if !matches!(end, Ok(RunEnd::Exited(_))) {
            let _ = child.kill();
            let _ = child.wait();
        }
        drop(input);
        let text = output.join().unwrap_or_default();
        let message = messages.join().unwrap_or_default();
        match end? {
            RunEnd::Exited(code) => match serde_json::from_str(text.trim()) {
                Ok(outcome) => Ok(within(outcome, budget)),
                Err(_) if self.is_cancelled(code) => Err(Error::Interrupted),
                Err(_) => Ok(crashed(code, &message)),
            },
            RunEnd::OverTime(seconds) => Ok(Outcome {
                seconds,
                ..Outcome::without_labels(
                    Status::OverTime,
                    format!("more than {} seconds", budget.seconds),
                )
            }),
            RunEnd::OverMemory(bytes) => Ok(Outcome {
                peak_bytes: Some(bytes),
                ..Outcome::without_labels(Status::OverMemory, too_much(budget))
            }),
        }
    }

    /// Whether to stop all runs. The signal that ended a process may reach this one a moment later. If it does
    /// not, that process alone was stopped.
    fn is_cancelled(&self, code: Option<i32>) -> bool {
        let start = Instant::now();
        while code == Some(INTERRUPTED) && !self.watch.cancelled() && start.elapsed() < SIGNAL {
            std::thread::sleep(POLL);
        }
        self.watch.cancelled()
    }

    fn wait(&self, child: &mut Child, budget: Budget) -> Result<RunEnd, Error> {
        let (mut asked, mut looked) = (Instant::now(), Instant::now());
        let mut taken = Duration::ZERO;
        loop {
            taken += looked.elapsed().min(ASLEEP);
            looked = Instant::now();
            if let Some(status) = child.try_wait().map_err(Error::Start)? {
                return Ok(RunEnd::Exited(status.code()));
            }
            if self.watch.cancelled() || self.lock().failure.is_some() {
                return Err(Error::Interrupted);
            }
            if taken.as_secs_f64() > budget.seconds {
                return Ok(RunEnd::OverTime(taken.as_secs_f64()));
            }
            if asked.elapsed() > MEMORY_POLL {
                asked = Instant::now();
                if let Some(bytes) =
                    machine::peak_bytes_of(child.id()).filter(|&b| b > budget.bytes)
                {
                    return Ok(RunEnd::OverMemory(bytes));
                }
            }
            std::thread::sleep(POLL);
        }
    }
}

/// The end of a process.
enum RunEnd {
    Exited(Option<i32>),
    OverTime(f64),
    OverMemory(u64),
}

fn too_much(budget: Budget) -> String {
    format!("more than {}", machine::size(budget.bytes))
}

/// A finished run that used too much memory between two checks is over budget as well.
fn within(outcome: Outcome, budget: Budget) -> Outcome {
    match outcome.peak_bytes {
        Some(peak) if outcome.status == Status::Done && peak > budget.bytes => Outcome {
            status: Status::OverMemory,
            reason: Some(too_much(budget)),
            scores: None,
            ..outcome
        },
        _ => outcome,
    }
}

/// Output of a process, read while it runs.
fn reader(
    stream: Option<impl Read + Send + 'static>,
) -> Result<std::thread::JoinHandle<String>, Error> {
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    std::thread::Builder::new().spawn(read).map_err(Error::Start)
}

fn crashed(code: Option<i32>, message: &str) -> Outcome {
    let last = message.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
    let reason = match (last, code) {
        (Some(line), _) => line.chars().take(300).collect(),
        (None, Some(code)) => format!("the process ended with code {code} and no answer"),
        (None, None) => "the process was killed, perhaps because memory ran out".to_string(),
    };
    Outcome::without_labels(Status::Crashed, reason)
}

/// Estimated seconds of the queue and the current runs: those of finished runs with the same settings, otherwise
/// of the same method on the same data, otherwise of any method on the same data, otherwise of any run.
fn seconds_left(shared: &RunnerState, jobs: usize) -> Option<f64> {
    let mut means: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for record in shared.records.iter().filter(|record| record.outcome.status == Status::Done) {
        for place in places(&record.spec) {
            let (sum, n) = means.entry(place).or_default();
            *sum += record.outcome.seconds;
            *n += 1.0;
        }
    }
    let expected = |spec: &Spec| {
        places(spec).iter().find_map(|place| means.get(place)).map(|(sum, n)| sum / n)
    };
    let mut total = 0.0;
    for spec in shared.queue.iter().filter(|spec| !shared.over.contains_key(&spec.cell())) {
        total += expected(spec)?;
    }
    for (spec, start) in shared.running.values() {
        total += (expected(spec)? - start.elapsed().as_secs_f64()).max(0.0);
    }
    Some(total / jobs.max(1) as f64)
}

/// Kinds of similar runs, the most similar first.
fn places(spec: &Spec) -> [String; 4] {
    let Spec { data, method, .. } = spec;
    [spec.cell(), format!("{data}|{method}"), data.clone(), String::new()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn the_time_left_is_that_of_the_most_alike_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut records = RunRecords::open(&folder.path().join("r")).unwrap();
        let seconds = |data: &str, method: &str, seconds: f64| {
            let mut run = record(data, method, 0, 0.5);
            run.outcome.seconds = seconds;
            run
        };
        let mut refused = seconds("moons", "kmeans", 0.0);
        refused.spec.seed = 1;
        refused.outcome = Outcome::without_labels(Status::Refused, "no");
        for run in [seconds("moons", "kmeans", 4.0), seconds("moons", "lsc", 10.0), refused] {
            records.push(run).unwrap();
        }
        let spec = |data: &str, method: &str| Spec { seed: 5, ..record(data, method, 0, 0.0).spec };
        let mut shared = RunnerState {
            queue: [spec("moons", "kmeans"), spec("moons", "ssc"), spec("rings", "ssc")].into(),
            records,
            over: BTreeMap::new(),
            finished: 0,
            running: BTreeMap::new(),
            failure: None,
        };
        // 4, and the mean of both for the two that nothing is known of.
        assert_eq!(seconds_left(&shared, 2), Some((4.0 + 7.0 + 7.0) / 2.0));
        let now = (spec("moons", "lsc"), Instant::now());
        shared.running.insert("run".into(), now);
        let left = seconds_left(&shared, 1).unwrap();
        assert!(left > 27.0 && left <= 28.0, "{left}");
    }
}
