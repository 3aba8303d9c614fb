//! The command `obcut-bench`: parse, run a suite, print the error, exit code.

mod choose;
mod show;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use obcut_cli::args::{INPUT, OUTPUT, OutputArgs, same_file, values};
use obcut_cli::failure::CliError;
use obcut_cli::interrupt;
use obcut_cli::output::{self, plural};
use obcut_cli::page as page_words;
use serde::Serialize;
use serde_json::json;

use crate::plan::RunPlan;
use crate::record::{RunRecords, Status};
use crate::suite::SuiteKind;
use crate::summary::{Gap, ScoreCell, ScoreKind};
use crate::{
    Budget, Error, RunnerOptions, Suite, SuiteSummary, page, results, runner, table, worker,
};
use show::{BenchWatch, PrintedTable};

/// Heading of the options that say how it is run.
const RUNNING: &str = "Running";

/// Compare methods on data sets: run a benchmark suite
#[derive(Debug, Parser)]
#[command(name = "obcut-bench", version, max_term_width = 100, after_help = EXAMPLES)]
struct BenchArgs {
    /// A shipped suite, or a TOML file with one of your own; without it they are listed
    #[arg(value_name = "SUITE")]
    suite: Option<String>,
    /// Data sets to run on: names of the suite, or NAME=FILE to say where one is
    #[arg(long, value_name = "LIST", help_heading = INPUT)]
    data: Vec<String>,
    /// Methods to run: labels of the suite, or names that 'obcut methods' lists
    #[arg(long, value_name = "LIST", help_heading = RUNNING)]
    methods: Vec<String>,
    /// Seeds of every method on every data set [default: as the suite says]
    #[arg(long, value_name = "N", help_heading = RUNNING)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,
    /// Keep the rows in the order of their files; the tables then say so
    #[arg(long, help_heading = RUNNING)]
    no_shuffle: bool,
    /// Seconds that a run may take; more is recorded as N/A
    #[arg(long, value_name = "S", value_parser = values::seconds, help_heading = RUNNING)]
    seconds: Option<f64>,
    /// Memory that a run may hold: 12GB, 800MB; more is recorded as N/A
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = RUNNING)]
    memory: Option<u64>,
    /// Runs at once
    #[arg(long, value_name = "J", default_value_t = 1, help_heading = RUNNING)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    jobs: usize,
    /// Threads of each run; 0 shares what the machine allows among the runs at once
    #[arg(long, value_name = "T", default_value_t = 0, hide_default_value = true, help_heading = RUNNING)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(0..=1024))]
    threads: usize,
    /// Folder for records and tables [default: obcut-bench/SUITE]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Write a report with tables and pictures: one HTML file; it is replaced when it exists
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    report: Option<PathBuf>,
    /// Start anew; records that are there are put aside as runs.jsonl.old, .old2 and so on
    #[arg(long, help_heading = OUTPUT, conflicts_with = "tables_only")]
    fresh: bool,
    /// Run nothing; make the tables from what is finished, also while the suite runs
    #[arg(long, help_heading = OUTPUT)]
    tables_only: bool,
    /// Do one run, told on standard input: what this program starts itself for
    #[arg(long, hide = true, exclusive = true)]
    one_run: bool,
    #[command(flatten)]
    talk: OutputArgs,
}

const EXAMPLES: &str = "Examples:
  obcut-bench                       list the suites
  obcut-bench quick                 digits and generated data, under two minutes
  OBCUT_DATA=~/data obcut-bench paper --jobs 4 --seeds 5
  obcut-bench paper --data LR=letters.npz,Yale --methods u-spec,obcut
  obcut-bench my-suite.toml --seconds 60 --memory 4GB

An interrupted suite goes on where it stopped when it is started again. Rows are
shuffled by the seed first, and classes are read by the scorer alone. Data sets
are looked for in the folder OBCUT_DATA, as NAME.npz with arrays X and y.";

/// Runs the command with its arguments, the first of which is its name. Returns the exit code.
pub fn run(arguments: Vec<OsString>) -> u8 {
    match obcut_cli::parse::<BenchArgs>(&arguments) {
        Ok(args) => obcut_cli::perform(args.talk.json, || start(&args).map_err(sorted)),
        Err(exit_code) => exit_code,
    }
}

fn start(args: &BenchArgs) -> anyhow::Result<()> {
    if args.one_run {
        return one_run();
    }
    let Some(name) = &args.suite else {
        return list(&args.talk);
    };
    let suite = Suite::named(name)?;
    SuiteJob::new(args, suite)?.run(&args.talk)
}

/// Does one run: what a suite starts processes for.
fn one_run() -> anyhow::Result<()> {
    let input = std::io::BufReader::new(std::io::stdin());
    worker::serve(input, std::io::stdout()).map_err(|text| CliError::Usage(text).into())
}

/// This program. Where the system has a name for it that outlives its file, a build or an upgrade while a
/// benchmark runs does not mix two programs in one table.
fn program() -> OsString {
    let own = Path::new("/proc/self/exe");
    if own.exists() {
        return own.into();
    }
    std::env::current_exe().map_or_else(|_| "obcut-bench".into(), OsString::from)
}

/// Says of an error of a suite whether the usage or the data are at fault: the exit code follows from it.
fn sorted(error: anyhow::Error) -> anyhow::Error {
    use Error::{File, NoData, NoFile, NoSuite, OtherData, Record, Suite};
    match error.downcast_ref::<Error>() {
        Some(NoSuite { .. } | Suite { .. } | NoData { .. } | NoFile { .. } | OtherData { .. }) => {
            CliError::Usage(error.to_string()).into()
        }
        Some(File { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
            CliError::Usage(error.to_string()).into()
        }
        Some(Record { .. }) => CliError::Data(error.to_string()).into(),
        _ => error,
    }
}

fn list(talk: &OutputArgs) -> anyhow::Result<()> {
    let suites = Suite::shipped().map(Suite::named).collect::<Result<Vec<_>, _>>()?;
    if talk.json {
        let facts = |s: &Suite| json!({ "name": s.name, "title": s.title, "about": s.about });
        let all: Vec<_> = suites.iter().map(facts).collect();
        return Ok(output::print_json(&json!({ "command": "bench", "suites": all }))?);
    }
    let mut card = output::Summary::new("Suites: 'obcut-bench NAME' runs one");
    for suite in suites {
        // The longest name is longer than a name of a card.
        card.line("", format!("{:<12} {}", suite.name, suite.title));
    }
    Ok(card.print_to_stdout()?)
}

struct SuiteJob {
    suite: Suite,
    options: RunnerOptions,
    folder: PathBuf,
    report: Option<PathBuf>,
    fresh: bool,
    tables_only: bool,
}

/// The facts of a run, with stable names.
#[derive(Serialize)]
struct SuiteReport {
    command: &'static str,
    version: &'static str,
    suite: String,
    runs: usize,
    finished: usize,
    not_available: usize,
    missing_data: Vec<String>,
    unshuffled: Vec<String>,
    records: PathBuf,
    tables: Vec<PathBuf>,
    /// Runs that gave no labels, each reason once.
    gaps: Vec<GapFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
    scores: Vec<SuiteScore>,
}

#[derive(Serialize)]
struct SuiteScore {
    data: String,
    method: String,
    seeds: usize,
    nmi: f64,
    acc: f64,
    pur: f64,
    ari: f64,
    /// Sample deviations over the seeds; none with one seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    deviations: Option<Deviations>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    seconds: f64,
    peak_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Deviations {
    nmi: f64,
    acc: f64,
    pur: f64,
    ari: f64,
}

/// Runs without labels.
#[derive(Serialize)]
struct GapFacts {
    data: String,
    method: String,
    runs: String,
    why: String,
}

impl BenchArgs {
    /// The command, without what changes neither runs nor tables.
    fn typed(&self) -> String {
        let mut words = vec!["obcut-bench".to_string()];
        words.extend(self.suite.as_deref().map(page_words::quoted));
        for (option, values) in [("--data", &self.data), ("--methods", &self.methods)] {
            words.extend(values.iter().flat_map(|v| [option.into(), page_words::quoted(v)]));
        }
        words.extend(self.seeds.iter().flat_map(|n| ["--seeds".into(), n.to_string()]));
        if self.no_shuffle {
            words.push("--no-shuffle".into());
        }
        words.extend(self.seconds.iter().flat_map(|s| ["--seconds".into(), s.to_string()]));
        words.extend(self.memory.iter().flat_map(|b| ["--memory".into(), b.to_string()]));
        words.join(" ")
    }
}

/// Checks that a page can be written, and that it takes the place of nothing but an older page.
fn check_report(
    path: &PathBuf,
    args: &BenchArgs,
    suite: &Suite,
    folder: &Path,
) -> anyhow::Result<()> {
    page_words::check(path, true)?;
    let own = ["runs.jsonl", "runs.jsonl.old", "tables.md", "tables.csv", "tables.tex"];
    let own = own.iter().map(|name| folder.join(name));
    let data = suite.data.iter().filter_map(|data| data.file.clone());
    let given = args.suite.iter().map(PathBuf::from);
    match own.chain(data).chain(given).find(|other| same_file(path, other)) {
        None => Ok(()),
        Some(other) => Err(CliError::Usage(format!(
            "--report {}: that would replace {}; name another file",
            path.display(),
            other.display()
        ))
        .into()),
    }
}

impl SuiteJob {
    fn new(args: &BenchArgs, mut suite: Suite) -> anyhow::Result<Self> {
        choose::data(&mut suite, &args.data)?;
        choose::methods(&mut suite, &args.methods)?;
        suite.seeds = args.seeds.unwrap_or(suite.seeds);
        suite.seconds = args.seconds.unwrap_or(suite.seconds);
        suite.gib = args.memory.map_or(suite.gib, |bytes| bytes as f64 / GIB);
        if args.no_shuffle {
            suite.shuffle = false;
            suite.method.iter_mut().for_each(|method| method.shuffle = None);
        }
        suite.check()?;
        suite.typed = args.typed();
        let folder = args.out.clone().unwrap_or_else(|| Path::new("obcut-bench").join(&suite.name));
        let there = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if args.threads > 0 { args.threads } else { (there / args.jobs).max(1) };
        let options = RunnerOptions {
            records: folder.join("runs.jsonl"),
            worker: vec![program(), "--one-run".into()],
            jobs: args.jobs,
            threads,
            budget: Budget { seconds: suite.seconds, bytes: (suite.gib * GIB) as u64 },
        };
        let report = args.report.clone();
        if let Some(path) = &report {
            std::fs::create_dir_all(&folder).map_err(|cause| {
                CliError::Usage(format!("cannot make {}: {cause}", folder.display()))
            })?;
            check_report(path, args, &suite, &folder)?;
        }
        Ok(Self {
            suite,
            options,
            folder,
            report,
            fresh: args.fresh,
            tables_only: args.tables_only,
        })
    }

    fn run(&self, talk: &OutputArgs) -> anyhow::Result<()> {
        let data = std::env::var_os("OBCUT_DATA").map(PathBuf::from);
        let (plan, records) = match self.tables_only {
            true => {
                let records = self.records()?;
                (RunPlan::of_records(&self.suite, data.as_deref(), &records), records)
            }
            false => {
                let plan = RunPlan::new(&self.suite, data.as_deref())?;
                let records = self.all_runs(&plan, talk)?;
                (plan, records)
            }
        };
        let summary = SuiteSummary::new(&self.suite, &records);
        let tables = interrupt::writing(|| self.write(&summary, &records))?;
        let report = self.report(&plan, &records, &summary, tables);
        match talk.json {
            true => output::print_json(&report)?,
            false => self.show(&report, &plan, &records, &summary, talk)?,
        }
        none_could_be_done(&plan, &records)
    }

    /// What is finished.
    fn records(&self) -> anyhow::Result<RunRecords> {
        if !self.options.records.exists() {
            let path = self.options.records.display();
            let text = format!("{path}: no such file; run the suite without --tables-only first");
            return Err(CliError::Usage(text).into());
        }
        Ok(RunRecords::read(&self.options.records)?)
    }

    /// Runs what is not finished.
    fn all_runs(&self, plan: &RunPlan, talk: &OutputArgs) -> anyhow::Result<RunRecords> {
        if self.fresh {
            RunRecords::retire(&self.options.records)?;
        }
        let watch = BenchWatch::new(talk, plan.runs.len());
        let done = interrupt::watched(|| runner::run(&self.suite, plan, &self.options, &watch));
        watch.finish();
        done.map_err(|error| match error {
            Error::Interrupted => self.interrupted(plan),
            other => other.into(),
        })
    }

    /// Says how far it came.
    fn interrupted(&self, plan: &RunPlan) -> anyhow::Error {
        let finished = RunRecords::read(&self.options.records)
            .map_or(0, |records| n_finished(plan, &records, self.options.budget));
        let text = format!(
            "interrupted after {finished} of {}; the same command goes on from there",
            plural(plan.runs.len(), "run")
        );
        CliError::Stopped(text).into()
    }

    fn write(&self, summary: &SuiteSummary, records: &RunRecords) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = vec![
            ("tables.md", results::document(&self.suite, records)),
            ("tables.csv", table::csv(summary)),
        ];
        if self.suite.kind == SuiteKind::Scores {
            files.push(("tables.tex", table::latex(&self.suite, summary)));
        }
        let mut written = Vec::new();
        for (name, text) in files {
            let path = self.folder.join(name);
            obcut_data::write_atomic(&path, true, |file| file.write_all(text.as_bytes()))?;
            written.push(path);
        }
        if let Some(path) = &self.report {
            let text = page::page(&self.suite, records);
            obcut_data::write_atomic(path, true, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(written)
    }

    fn report(
        &self,
        plan: &RunPlan,
        records: &RunRecords,
        summary: &SuiteSummary,
        tables: Vec<PathBuf>,
    ) -> SuiteReport {
        let mut scores = Vec::new();
        let mut not_available = 0;
        for (data, row) in summary.data.iter().zip(&summary.cells) {
            for (method, cell) in summary.methods.iter().zip(row) {
                match cell {
                    Some(ScoreCell::Scored(scored)) => {
                        let [(nmi, a), (acc, b), (pur, c), (ari, d)] =
                            ScoreKind::ALL.map(|metric| {
                                let (mean, deviation) = scored.score(metric);
                                (mean / 100.0, deviation / 100.0)
                            });
                        let deviations = Deviations { nmi: a, acc: b, pur: c, ari: d };
                        scores.push(SuiteScore {
                            data: data.name.clone(),
                            method: method.label.clone(),
                            seeds: scored.runs.len(),
                            nmi,
                            acc,
                            pur,
                            ari,
                            deviations: (scored.runs.len() > 1).then_some(deviations),
                            chosen: scored.chosen.clone(),
                            seconds: scored.seconds(),
                            peak_bytes: scored.peak_bytes(),
                        });
                    }
                    Some(ScoreCell::NotAvailable(_)) => not_available += 1,
                    None => {}
                }
            }
        }
        SuiteReport {
            command: "bench",
            version: env!("CARGO_PKG_VERSION"),
            suite: self.suite.name.clone(),
            runs: plan.runs.len(),
            finished: n_finished(plan, records, self.options.budget),
            not_available,
            missing_data: plan.missing.clone(),
            unshuffled: summary.unshuffled().into_iter().map(String::from).collect(),
            records: self.options.records.clone(),
            tables,
            gaps: gaps(summary),
            report: self.report.clone(),
            scores,
        }
    }

    fn show(
        &self,
        report: &SuiteReport,
        plan: &RunPlan,
        records: &RunRecords,
        summary: &SuiteSummary,
        talk: &OutputArgs,
    ) -> anyhow::Result<()> {
        let grid = match self.suite.kind {
            SuiteKind::Scaling => PrintedTable::seconds(summary),
            _ => PrintedTable::nmi(summary),
        };
        let mut out = anstream::stdout().lock();
        writeln!(out, "{}", grid.lay_out(output::stdout_width()).trim_end())?;
        if talk.quiet {
            return Ok(());
        }
        let mut card =
            output::Summary::new(format!("Suite {}: {}", self.suite.name, self.suite.title));
        card.line("runs", format!("{} of {}", report.finished, plural(report.runs, "run")));
        let none = plan.runs.iter().filter_map(|run| records.get(&run.key()));
        let none = none.filter(|record| record.outcome.status != Status::Done).count();
        if none > 0 {
            card.line("no score", format!("{}, see below and the tables", plural(none, "run")));
        }
        for path in &report.tables {
            card.line(
                if path == &report.tables[0] { "tables" } else { "" },
                path.display().to_string(),
            );
        }
        if let Some(path) = &report.report {
            card.line("report", path.display().to_string());
        }
        card.line("records", report.records.display().to_string());
        let mut warnings = Vec::new();
        if !plan.missing.is_empty() {
            warnings.push(format!(
                "not found and left out: {}; set OBCUT_DATA to a folder with NAME.npz, or give --data NAME=FILE",
                plan.missing.join(", ")
            ));
        }
        if !report.unshuffled.is_empty() {
            warnings.push(format!(
                "rows were not shuffled for {}: files sorted by class can raise scores",
                report.unshuffled.join("; ")
            ));
        }
        warnings.extend(summary.engine_warning());
        if report.finished < report.runs {
            warnings.push(format!("{} not finished", plural(report.runs - report.finished, "run")));
        }
        let gaps = &report.gaps;
        warnings.extend(gaps.iter().take(5).map(|gap| {
            let GapFacts { data, method, runs, why } = gap;
            let runs = if runs == "all" { String::new() } else { format!(", {runs}") };
            format!("no score of {method} on {data}{runs}: {why}")
        }));
        if gaps.len() > 5 {
            warnings.push(format!("and {} more without a score", gaps.len() - 5));
        }
        card.warnings(&warnings);
        card.print_to_stderr();
        Ok(())
    }
}

const GIB: f64 = (1u64 << 30) as f64;

/// What has no score and why, as far as the suite did not leave it out itself.
fn gaps(summary: &SuiteSummary) -> Vec<GapFacts> {
    let mut out = Vec::new();
    for (data, row) in summary.data.iter().zip(&summary.cells) {
        for (method, cell) in summary.methods.iter().zip(row) {
            if let Some(ScoreCell::NotAvailable(why)) = cell {
                let (data, method) = (data.name.clone(), method.label.clone());
                out.push(GapFacts { data, method, runs: "all".into(), why: why.clone() });
            }
        }
    }
    for Gap { data, method, which, why } in summary.gaps.iter().filter(|gap| !gap.is_meant()) {
        let (data, method) = (data.clone(), method.clone());
        out.push(GapFacts { data, method, runs: which.clone(), why: why.clone() });
    }
    out
}

/// A failure where every run was tried and none could be done at all, be it with a larger budget.
fn none_could_be_done(plan: &RunPlan, records: &RunRecords) -> anyhow::Result<()> {
    let mut runs = plan.runs.iter().filter_map(|run| records.get(&run.key())).peekable();
    let Some(first) = runs.peek() else { return Ok(()) };
    let why = first.outcome.reason.clone().unwrap_or_default();
    let cannot = [Status::Refused, Status::Unreadable, Status::Crashed];
    if runs.all(|run| cannot.contains(&run.outcome.status)) {
        let text = format!("no run could be done; the first one: {why}");
        return Err(CliError::Data(text).into());
    }
    Ok(())
}

fn n_finished(plan: &RunPlan, records: &RunRecords, budget: Budget) -> usize {
    plan.runs.iter().filter(|run| records.finished(&run.key(), budget).is_some()).count()
}

#[cfg(test)]
mod tests {
    use obcut_cli::failure::Failure;

    use super::*;

    #[test]
    fn errors_of_a_suite_have_the_exit_code_of_wrong_usage() {
        let unknown = sorted(Suite::named("x").unwrap_err().into());
        assert_eq!(Failure::of(&unknown).exit_code, 2);
        assert!(unknown.to_string().contains("there is no suite 'x'"), "{unknown}");
        assert_eq!(Failure::of(&sorted(Error::Broken("x".into()).into())).exit_code, 1);
    }
}
