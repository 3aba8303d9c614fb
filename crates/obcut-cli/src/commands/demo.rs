//! `obcut demo`: clusters the digits that come with the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use obcut::{Fit, OBCut, Params};
use obcut_data::{Outputs, RowLabels, Truth};
use obcut_report::{ClusteringFacts, Data, ReportData, clustering};
use serde::Serialize;

use crate::args::vocabulary;
use crate::args::{METHOD, OUTPUT, OutputArgs, ThreadArgs, same_file, two_outputs};
use crate::failure::CliError;
use crate::interrupt;
use crate::output::{self, Summary, number, plural};
use crate::page;
use crate::progress::Watch;
use crate::report::{self, ClusterFacts, ScoreFacts, TimeFacts, contingency};

/// Number of classes and of clusters.
const N_DIGITS: usize = 10;

/// Cluster the handwritten digits that come with the program.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Write the digits to FILE: .csv or .csv.gz
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    keep: Option<PathBuf>,
    /// Write a report with charts: one HTML file that works offline
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    report: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
    /// Seed of every random choice
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, default_value_t = 0, help_heading = METHOD)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// The facts of a run. The names in JSON are stable.
#[derive(Serialize)]
struct DemoReport<'a> {
    rows: usize,
    features: usize,
    clusters: ClusterFacts,
    scores: ScoreFacts,
    contingency: &'a [Vec<u64>],
    seconds: TimeFacts,
    kept: Option<&'a PathBuf>,
    report: Option<&'a PathBuf>,
    warnings: &'a [String],
}

/// Runs the command.
pub fn run(args: &DemoArgs, output: &OutputArgs, arguments: &[OsString]) -> anyhow::Result<()> {
    if let Some(path) = &args.keep {
        if !is_csv(path) {
            let text = format!("{}: the digits are written as .csv or .csv.gz", path.display());
            return Err(CliError::Usage(text).into());
        }
        obcut_data::check_writable(path, args.force)?;
    }
    if let Some(path) = &args.report {
        page::check(path, args.force)?;
        if let Some(kept) = args.keep.as_ref().filter(|kept| same_file(kept, path)) {
            return Err(two_outputs(kept).into());
        }
    }
    let start = Instant::now();
    let digits = obcut_data::digits();
    let names = (0..N_DIGITS).map(|digit| digit.to_string()).collect();
    let truth = Truth { codes: digits.labels, names };
    let samples = digits.matrix.samples()?;
    let params = Params { seed: args.seed, threads: args.threads.threads, ..Params::new(N_DIGITS) };

    let watch = Watch::new(output);
    let fit = interrupt::watched(|| OBCut::from(params.clone()).observer(&watch).fit(&samples))?;
    let scores = ScoreFacts::new(&RowLabels::of_clusters(&fit.labels()), &truth)?;
    let page = match &args.report {
        Some(_) => {
            let describing = || ReportData::of_fit(&fit, &samples, None, params.threads, &watch);
            let rows = interrupt::watched(describing)?;
            let facts = ClusteringFacts {
                title: "Handwritten digits".into(),
                data: Data { features: samples.n_cols(), ..Data::default() },
                feature_names: (0..samples.n_cols()).map(|j| format!("p{j}")).collect(),
                scores: Some(scores.plain()),
                command: Some(page::command_line(arguments)),
                rows: Some(rows),
                ..ClusteringFacts::of_fit(&fit)
            };
            Some(clustering(&facts))
        }
        None => None,
    };
    watch.finish();
    interrupt::writing(|| {
        let mut outputs = Outputs::default();
        args.keep.as_ref().map_or(Ok(()), |path| keep(&mut outputs, path, args.force))?;
        page::write(&mut outputs, args.report.as_ref(), page.as_deref(), args.force)?;
        Ok(outputs.publish()?)
    })?;
    let counts = contingency(&fit.labels(), N_DIGITS, &truth);
    let warnings = vocabulary::warnings(fit.warnings(), fit.model().feature_names());
    let report = DemoReport {
        rows: samples.n_rows(),
        features: samples.n_cols(),
        clusters: ClusterFacts::of_labels(&fit.labels(), N_DIGITS),
        scores,
        contingency: &counts,
        seconds: TimeFacts::new(start.elapsed().as_secs_f64(), fit.trace().seconds.clone()),
        kept: args.keep.as_ref(),
        report: args.report.as_ref(),
        warnings: &warnings,
    };
    if output.json {
        return Ok(output::print_run("demo", &report)?);
    }
    let clusters: Vec<String> = (0..N_DIGITS).map(|k| k.to_string()).collect();
    let table = output::contingency(&counts, &clusters, &truth.names);
    let mut out = std::io::stdout().lock();
    if output.quiet {
        write!(out, "{table}")?;
        return Ok(out.flush()?);
    }
    drop(out);
    report.summary(&fit, &params).print_to_stdout()?;
    let mut out = std::io::stdout().lock();
    write!(out, "\nRows per cluster (down) and true digit (across):\n{table}\n{NEXT}")?;
    Ok(out.flush()?)
}

const NEXT: &str = "The same by hand, and then with a table of your own:
  obcut demo --keep digits.csv
  obcut cluster digits.csv -k 10 --truth digit -o labels.csv --model digits.safetensors
  obcut score labels.csv digits.csv --truth digit
  obcut predict digits.safetensors digits.csv --margins
";

impl DemoReport<'_> {
    fn summary(&self, fit: &Fit, params: &Params) -> Summary {
        let mut summary =
            Summary::new("Handwritten digits (UCI, Alpaydin and Kaynak), without labels");
        let (rows, features) = (plural(self.rows, "row"), plural(self.features, "feature"));
        summary.line("data", format!("{rows} x {features}: pictures of 8 x 8 pixels"));
        let info = fit.model().info();
        let anchors = plural(info.n_anchors, "anchor");
        let threads = plural(report::threads(params.threads), "thread");
        let (graph, seed) = (info.graph, params.seed);
        summary.line("method", format!("graph {graph}, {anchors}, seed {seed}, {threads}"));
        self.clusters.write("clusters", &mut summary);
        if let Some(&cut) = fit.trace().cut.last() {
            summary.line("cut", number(cut));
        }
        self.scores.write(&mut summary);
        self.seconds.write(&mut summary);
        summary.paths(&[("kept", self.kept), ("report", self.report)]);
        summary.warnings(self.warnings);
        summary
    }
}

/// Whether a file name has the extension of a CSV file, compressed or not.
fn is_csv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.ends_with(".csv") || name.ends_with(".csv.gz")
}

fn keep(outputs: &mut Outputs, path: &Path, force: bool) -> anyhow::Result<()> {
    let packed = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("gz"));
    let text = obcut_data::digits_csv();
    let bytes = if packed { obcut_data::DIGITS_CSV_GZ } else { text.as_bytes() };
    Ok(outputs.write(path, force, |file| file.write_all(bytes))?)
}
