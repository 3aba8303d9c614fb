//! `obcut cut`: clusters the rows and the columns of a bipartite graph.

use obcut::Named;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use clap::builder::TypedValueParser;
use obcut::{AnchorWeights, CutParams, ParamError, StopReason};
use obcut_data::{LabelWriter, LoadOptions, Outputs, RowLabels, Source};
use serde::Serialize;

use crate::args::settings::possible;
use crate::args::vocabulary;
use crate::args::{LabelArgs, METHOD, OUTPUT, OutputArgs, TableArgs, Targets, ThreadArgs, source};
use crate::failure::CliError;
use crate::input::{InputFacts, InputTable};
use crate::interrupt;
use crate::labels::{Labels, show};
use crate::memory::Reading;
use crate::output::{self, Summary, number, plural};
use crate::progress::Watch;
use crate::report::{self, ClusterFacts, TimeFacts};

/// Cut a bipartite graph.
#[derive(Args, Debug)]
#[command(override_usage = "obcut cut GRAPH -k K [-o FILE] [OPTIONS]", after_help = EXAMPLES)]
pub struct CutArgs {
    /// Graph to cut: a table of nonnegative edge weights, with the nodes of one side as rows and those of
    /// the other as columns; '-' is standard input
    #[arg(value_name = "GRAPH", value_parser = source)]
    graph: Source,
    /// Number of clusters
    #[arg(short = 'k', long = "clusters", value_name = "K", help_heading = METHOD)]
    #[arg(allow_negative_numbers = true)]
    n_clusters: usize,
    /// Weights of the columns in the cut
    #[arg(long, value_name = "HOW", help_heading = METHOD)]
    #[arg(value_parser = possible(AnchorWeights::CHOICES).try_map(|word| word.parse::<AnchorWeights>()))]
    anchor_weights: Option<AnchorWeights>,
    /// Scale every row to sum 1 first: true or false
    #[arg(long, value_name = "BOOL", hide_possible_values = true, help_heading = METHOD)]
    normalize_rows: Option<bool>,
    /// Number of restarts; the best by a score without labels is kept
    #[arg(long, value_name = "N", help_heading = METHOD)]
    n_init: Option<usize>,
    /// Maximum number of iterations of the cut
    #[arg(long, value_name = "N", help_heading = METHOD)]
    max_iter: Option<usize>,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, help_heading = METHOD)]
    seed: Option<u64>,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    output: LabelArgs,
    /// Write the labels of the columns to FILE
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    columns_out: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  obcut cut words.mtx -k 20 -o documents.csv --columns-out words.csv
  obcut cut ratings.npz -k 8 --json";

struct CutJob {
    source: Source,
    options: LoadOptions,
    params: CutParams,
    targets: Targets,
}

/// The facts of a run. The names in JSON are stable.
#[derive(Serialize)]
struct CutReport<'a> {
    input: InputFacts,
    settings: CutSettings,
    row_clusters: ClusterFacts,
    column_clusters: ClusterFacts,
    cut: Option<f64>,
    iterations: usize,
    stopped: StopReason,
    trace: &'a [f64],
    seconds: TimeFacts,
    output: CutOutput<'a>,
    warnings: &'a [String],
    #[serde(flatten)]
    labels: Option<&'a RowLabels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_labels: Option<&'a [u32]>,
}

#[derive(Serialize)]
struct CutSettings {
    n_clusters: usize,
    anchor_weights: AnchorWeights,
    normalize_rows: bool,
    n_init: usize,
    max_iter: usize,
    seed: u64,
    threads_used: usize,
}

impl CutSettings {
    fn new(params: &CutParams) -> Self {
        let CutParams {
            n_clusters,
            anchor_weights,
            normalize_rows,
            n_init,
            max_iter,
            seed,
            threads,
        } = *params;
        let threads_used = report::threads(threads);
        Self { n_clusters, anchor_weights, normalize_rows, n_init, max_iter, seed, threads_used }
    }
}

#[derive(Serialize)]
struct CutOutput<'a> {
    labels: Option<&'a PathBuf>,
    column_labels: Option<&'a PathBuf>,
}

/// Runs the command.
pub fn run(args: &CutArgs, output: &OutputArgs) -> anyhow::Result<()> {
    CutJob::new(args)?.run(output)
}

impl CutJob {
    fn new(args: &CutArgs) -> anyhow::Result<Self> {
        if args.n_clusters == 0 {
            return Err(obcut::Error::from(ParamError::NoClusters).into());
        }
        if let Some(path) = &args.columns_out {
            obcut_data::check_output(path, args.output.force)?;
        }
        let defaults = CutParams::new(args.n_clusters);
        let params = CutParams {
            anchor_weights: args.anchor_weights.unwrap_or(defaults.anchor_weights),
            normalize_rows: args.normalize_rows.unwrap_or(defaults.normalize_rows),
            n_init: args.n_init.unwrap_or(defaults.n_init),
            max_iter: args.max_iter.unwrap_or(defaults.max_iter),
            seed: args.seed.unwrap_or(defaults.seed),
            threads: args.threads.threads,
            n_clusters: args.n_clusters,
        };
        Ok(Self {
            source: args.graph.clone(),
            options: args.table.options(),
            params,
            targets: Targets::new(&args.output, args.columns_out.as_ref(), None, [&args.graph])?,
        })
    }

    fn run(&self, output: &OutputArgs) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(output);
        let source = std::slice::from_ref(&self.source);
        let table = InputTable::read(source, &self.options, None, Reading::InMemory, &watch)?;
        let graph = table.samples()?;
        let (k, n_cols) = (self.params.n_clusters, graph.n_cols());
        if k > n_cols {
            bail!(CliError::Usage(format!(
                "cannot make {k} clusters from a graph with {}; set -k to {n_cols} or less",
                plural(n_cols, "column")
            )));
        }
        let cutting = Instant::now();
        let cut = interrupt::watched(|| obcut::cut(&graph, &self.params, &watch))
            .map_err(|error| table.error(error))?;
        let warnings = vocabulary::warnings(&cut.warnings, &[]);
        let stages = vec![
            ("read".to_string(), table.facts.seconds),
            ("cut".to_string(), cutting.elapsed().as_secs_f64()),
        ];
        let labels = Labels::InMemory(RowLabels::of_clusters(&cut.row_labels));
        labels.write(&self.targets, |outputs| self.write_columns(outputs, &cut.column_labels))?;
        let printed = labels.printed(&self.targets)?;
        watch.finish();

        let report = CutReport {
            input: table.facts,
            settings: CutSettings::new(&self.params),
            row_clusters: ClusterFacts::of_labels(&cut.row_labels, k),
            column_clusters: ClusterFacts::of_labels(&cut.column_labels, k),
            cut: cut.trace.last().copied(),
            iterations: cut.trace.len(),
            stopped: cut.stop,
            trace: &cut.trace,
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), stages),
            output: CutOutput {
                labels: self.targets.labels.as_ref(),
                column_labels: self.targets.second.as_ref(),
            },
            warnings: &warnings,
            labels: printed.as_deref(),
            column_labels: self.targets.second.is_none().then_some(&cut.column_labels[..]),
        };
        if output.json {
            return Ok(output::print_run("cut", &report)?);
        }
        show(printed.as_deref(), output, &report.summary())
    }

    fn write_columns(&self, outputs: &mut Outputs, labels: &[u32]) -> anyhow::Result<()> {
        if let Some(path) = &self.targets.second {
            let mut writer = LabelWriter::begin(path, self.targets.force, labels.len(), false)?;
            writer.push(&RowLabels::of_clusters(labels))?;
            writer.finish(outputs)?;
        }
        Ok(())
    }
}

impl CutReport<'_> {
    fn summary(&self) -> Summary {
        let mut summary = Summary::new(self.input.text("column"));
        let threads = plural(self.settings.threads_used, "thread");
        summary.line("run", format!("seed {}, {threads}", self.settings.seed));
        self.row_clusters.write("rows", &mut summary);
        self.column_clusters.write("columns", &mut summary);
        if let Some(cut) = self.cut {
            let steps = plural(self.iterations, "iteration");
            summary.line("cut", format!("{} after {steps} ({})", number(cut), self.stopped));
        }
        self.seconds.write(&mut summary);
        summary.paths(&[("labels", self.output.labels)]);
        if let Some(path) = self.output.column_labels {
            summary.line("", format!("{} (columns)", path.display()));
        }
        summary.warnings(self.warnings);
        summary
    }
}
