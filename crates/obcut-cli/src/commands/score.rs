//! `obcut score`: compares labels with true classes.

use std::io::Write;

use anyhow::bail;
use clap::Args;
use obcut::metrics::{self, Average};
use obcut_data::{LoadOptions, Source, Truth};
use serde::Serialize;

use crate::args::{INPUT, OutputArgs, TableArgs, source};
use crate::failure::CliError;
use crate::output::{self, Summary, TABLE_LIMIT, plural};
use crate::report::{contingency, same_length};

/// Compare labels with the true classes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ScoreArgs {
    /// Labels: NPY, CSV, Parquet or JSON; '-' is standard input
    #[arg(value_name = "LABELS", value_parser = source)]
    labels: Source,
    /// True classes: a file of labels, or a table with --truth
    #[arg(value_name = "TRUTH", value_parser = source)]
    truth_file: Source,
    /// Column (or array) of TRUTH that holds the classes
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    truth: Option<String>,
    #[command(flatten)]
    table: TableArgs,
}

const EXAMPLES: &str = "Examples:
  obcut score labels.npy truth.csv
  obcut score labels.csv table.csv --truth class --json";

/// The scores as fractions. The names in JSON are stable.
#[derive(Serialize)]
struct ScoreReport<'a> {
    rows: usize,
    clusters: usize,
    classes: usize,
    nmi: f64,
    nmi_arithmetic: f64,
    nmi_geometric: f64,
    acc: f64,
    purity: f64,
    ari: f64,
    contingency: ContingencyFacts<'a>,
}

/// Number of rows of every pair: a row per cluster, a column per class.
#[derive(Serialize)]
struct ContingencyFacts<'a> {
    clusters: &'a [String],
    classes: &'a [String],
    counts: Vec<Vec<u64>>,
}

/// Runs the command.
pub fn run(args: &ScoreArgs, output: &OutputArgs) -> anyhow::Result<()> {
    if args.labels == Source::Stdin && args.truth_file == Source::Stdin {
        bail!(CliError::Usage("the labels and the truth cannot both be standard input".into()));
    }
    let labels = obcut_data::load_labels(&args.labels)?;
    let truth = load_truth(args)?;
    same_length(labels.codes.len(), truth.codes.len())?;

    let report = ScoreReport::new(&labels, &truth)?;
    if output.json {
        return Ok(output::print_run("score", &report)?);
    }
    report.summary().print_to_stdout()?;
    if labels.names.len() <= TABLE_LIMIT && truth.names.len() <= TABLE_LIMIT {
        let table = output::contingency(&report.contingency.counts, &labels.names, &truth.names);
        write!(std::io::stdout().lock(), "\n{table}")?;
    }
    Ok(())
}

fn load_truth(args: &ScoreArgs) -> anyhow::Result<Truth> {
    let Some(column) = &args.truth else {
        return Ok(obcut_data::load_labels(&args.truth_file)?);
    };
    let options = LoadOptions { truth: Some(column.clone()), ..args.table.options() };
    Ok(obcut_data::load_truth(&args.truth_file, &options)?)
}

impl<'a> ScoreReport<'a> {
    fn new(labels: &'a Truth, truth: &'a Truth) -> anyhow::Result<Self> {
        let (a, b) = (&labels.codes[..], &truth.codes[..]);
        let metrics::Scores { nmi, acc, purity, ari } = metrics::scores(a, b)?;
        Ok(Self {
            rows: a.len(),
            clusters: labels.names.len(),
            classes: truth.names.len(),
            nmi,
            nmi_arithmetic: metrics::nmi(a, b, Average::Arithmetic)?,
            nmi_geometric: metrics::nmi(a, b, Average::Geometric)?,
            acc,
            purity,
            ari,
            contingency: ContingencyFacts {
                clusters: &labels.names,
                classes: &truth.names,
                counts: contingency(a, labels.names.len(), truth),
            },
        })
    }

    fn summary(&self) -> Summary {
        let mut summary = Summary::new(format!(
            "{}, {}, {}",
            plural(self.rows, "row"),
            plural(self.clusters, "cluster"),
            if self.classes == 1 { "1 class".into() } else { format!("{} classes", self.classes) }
        ));
        let percent = |x: f64| format!("{:.2} %", 100.0 * x);
        summary.line(
            "NMI",
            format!(
                "{} (arithmetic {}, geometric {})",
                percent(self.nmi),
                percent(self.nmi_arithmetic),
                percent(self.nmi_geometric)
            ),
        );
        summary.line("ACC", percent(self.acc));
        summary.line("purity", percent(self.purity));
        summary.line("ARI", percent(self.ari));
        summary
    }
}
