//! `obcut cluster`: clusters the rows of a table.

mod report;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use obcut::{Model, OBCut, Params, RowScore, StoredFit, front_ends};
use obcut_baselines::Method;
use obcut_data::{LoadOptions, Outputs, RowLabels, Source};
use obcut_report::{ClusteringFacts, FitFacts, ReportData, clustering};

use crate::args::large::{CheckpointArgs, MemoryArgs};
use crate::args::method::MethodArgs;
use crate::args::vocabulary;
use crate::args::{INPUT, LabelArgs, OUTPUT, OutputArgs, TableArgs, Targets, source};
use crate::checkpoint::Checkpoint;
use crate::commands::other;
use crate::failure::CliError;
use crate::input::{self, InputTable, TableRows};
use crate::interrupt;
use crate::labels::{Labels, show};
use crate::memory::{self, Reading};
use crate::output::{self, plural};
use crate::page;
use crate::progress::Watch;
use crate::report::{
    ClusterFacts, ExplanationFacts, PassFacts, ScoreFacts, TimeFacts, WeightFacts,
};
use report::{ClusterOutput, ClusterReport, ClusterSettings, TraceFacts};

/// Cluster the rows of a table.
#[derive(Args, Debug)]
#[command(override_usage = "obcut cluster FILE -k K [-o FILE] [OPTIONS]", after_help = EXAMPLES)]
pub struct ClusterArgs {
    /// Table to cluster: CSV, TSV, NPY, NPZ, Parquet, MAT, svmlight or MatrixMarket, also compressed as
    /// .gz or .zst; '-' is standard input
    ///
    /// Several files, a folder or a quoted pattern like 'part-*.parquet' are read as one table (NPY,
    /// Parquet, CSV).
    #[arg(value_name = "FILE", value_parser = source, required = true)]
    files: Vec<Source>,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    table: TableArgs,
    /// Column (or array) of true classes: excluded from the features, used for scores
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    truth: Option<String>,
    /// Column (or array) of sample weights: excluded from the features
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    weights: Option<String>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
    #[command(flatten)]
    output: LabelArgs,
    /// Save the model, for 'obcut predict'
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    model: Option<PathBuf>,
    /// Write a report with charts: one HTML file that works offline
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    report: Option<PathBuf>,
    /// Add second-best cluster, margin, confidence and outlier score to every label
    #[arg(long, help_heading = OUTPUT)]
    margins: bool,
    /// Describe the candidates, and what distinguishes every cluster
    #[arg(long, help_heading = OUTPUT)]
    explain: bool,
}

const EXAMPLES: &str = "Examples:
  obcut cluster table.csv -k 10 -o labels.npy --model model.safetensors
  obcut cluster table.csv -k auto --explain
  obcut cluster table.csv -k 10 -o labels.csv --report report.html
  obcut cluster table.parquet -k 5 --drop id,name --truth class
  obcut cluster faces.mat -k 40 --preset paper --anchors 200 --seed 7 --json
  obcut cluster table.csv -k 10 --method u-spec --set p=500
  obcut cluster 'parts/*.parquet' -k 50 --memory 2GiB --checkpoint run1 -o labels.npy
  zcat table.csv.gz | obcut cluster - -k 3 > labels.txt";

/// The work to do, checked as far as possible before anything is read.
struct ClusterJob {
    sources: Vec<Source>,
    memory: MemoryArgs,
    checkpoint: CheckpointArgs,
    options: LoadOptions,
    params: Params,
    targets: Targets,
    margins: bool,
    explain: bool,
    /// A note on options that are ignored.
    idle: Option<String>,
    /// The command line, for the report.
    command: String,
}

/// A fit, its labels, and the scores of the rows where they are in memory.
struct FittedRows {
    scores: Vec<RowScore>,
    labels: Labels,
    fit: StoredFit,
}

/// Runs the command.
pub fn run(args: &ClusterArgs, output: &OutputArgs, arguments: &[OsString]) -> anyhow::Result<()> {
    match args.method.method() {
        Method::Obcut => ClusterJob::new(args, arguments)?.run(output),
        method => other_job(method, args)?.run(output),
    }
}

/// The job for another method, which has no model, margins or weights.
fn other_job(method: Method, args: &ClusterArgs) -> anyhow::Result<other::BaselineJob> {
    let mut others = args.method.given();
    let here = [
        ("--model", args.model.is_some()),
        ("--report", args.report.is_some()),
        ("--margins", args.margins),
        ("--explain", args.explain),
        ("--weights", args.weights.is_some()),
    ];
    others.extend(here.iter().filter(|(_, given)| *given).map(|(name, _)| name.to_string()));
    if args.checkpoint.checkpoint.is_some() {
        others.push("--checkpoint".into());
    }
    let sources = input::expand(&args.files)?;
    let targets = Targets::new(&args.output, None, None, &sources)?;
    let options = LoadOptions { truth: args.truth.clone(), ..args.table.options() };
    let memory = args.memory.memory;
    other::BaselineJob::new(method, (&args.method, memory), (sources, options), targets, &others)
}

impl ClusterJob {
    fn new(args: &ClusterArgs, arguments: &[OsString]) -> anyhow::Result<Self> {
        if let Some(path) = &args.model {
            if path.as_os_str() == "-" {
                bail!(CliError::Usage(
                    "--model '-': a model is binary and cannot be printed; name a file".into()
                ));
            }
            obcut_data::check_writable(path, args.output.force)?;
        }
        let (model, page) = (args.model.as_ref(), args.report.as_ref());
        let sources = input::expand(&args.files)?;
        let targets =
            Targets::new(&args.output, model, page, &sources)?.with_margins(args.margins)?;
        let options = LoadOptions {
            truth: args.truth.clone(),
            weights: args.weights.clone(),
            ..args.table.options()
        };
        let params = args.method.params()?;
        let idle = args.method.idle(&params);
        Ok(Self {
            sources,
            memory: args.memory.clone(),
            checkpoint: args.checkpoint.clone(),
            options,
            params,
            targets,
            margins: args.margins,
            explain: args.explain,
            idle,
            command: page::command_line(arguments),
        })
    }

    /// Decides how the table is read.
    fn reading(&self) -> anyhow::Result<Reading> {
        let size = obcut_data::measure(&self.sources, &self.options)?;
        let reading = memory::for_fit(&size, &self.params, self.memory.memory)?;
        if self.checkpoint.checkpoint.is_none() {
            return Ok(reading);
        }
        if !size.in_pieces {
            bail!(CliError::Usage(
                "--checkpoint is for tables that can be read in pieces: NPY, Parquet or CSV".into()
            ));
        }
        Ok(Reading::InPieces)
    }

    fn run(&self, output: &OutputArgs) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(output);
        let scratch = self.memory.scratch.as_deref();
        let table =
            InputTable::read(&self.sources, &self.options, scratch, self.reading()?, &watch)?;
        self.check_anchors(table.n_cols())?;
        let FittedRows { scores: rows, labels, fit } = self.fit(&table, &watch)?;
        let StoredFit { mut model, trace, warnings, .. } = fit;
        model.set_feature_names(table.feature_names().to_vec());
        let mut warnings = vocabulary::warnings(&warnings, model.feature_names());
        let scores = ScoreFacts::of_table(&labels, &table)?;
        let sizes = labels.sizes(&model, true)?;
        let mut clusters = ClusterFacts::new(sizes.clone()).marked(table.n_rows(), &model);
        if table.weights.is_some() {
            clusters = clusters.weighted(model.info().cluster_sizes.to_vec());
        }
        let passes = PassFacts::new(&table, &trace);
        let mut stages = vec![("read".to_string(), table.facts.seconds)];
        stages.extend(trace.seconds.iter().cloned());
        let page = match self.targets.report {
            Some(_) => {
                let drawing = Instant::now();
                let labels = (&rows[..], &labels, &sizes[..]);
                let rows = self.report_rows(&table, &model, labels, &mut warnings, &watch)?;
                stages.push(("report".to_string(), drawing.elapsed().as_secs_f64()));
                Some(clustering(&ClusteringFacts {
                    data: table.facts.data(),
                    scores: scores.as_ref().map(ScoreFacts::plain),
                    seconds: stages.clone(),
                    command: Some(self.command.clone()),
                    rows,
                    ..ClusteringFacts::new(&model, FitFacts::new(&trace, &warnings, clusters.noise))
                }))
            }
            None => None,
        };
        warnings.extend(self.idle.clone());
        let writing = Instant::now();
        labels.write(&self.targets, |outputs| {
            self.write_model(outputs, &model)?;
            let Targets { report, force, .. } = &self.targets;
            page::write(outputs, report.as_ref(), page.as_deref(), *force)
        })?;
        let printed = labels.printed(&self.targets)?;
        labels.clear();
        stages.push(("write".to_string(), writing.elapsed().as_secs_f64()));
        watch.finish();

        let report = ClusterReport {
            input: table.facts,
            settings: ClusterSettings::new(&model, self.params.threads),
            clusters,
            explanation: ExplanationFacts::new(&model),
            passes,
            weights: table.weights.as_deref().map(WeightFacts::new),
            objective: trace.objective.last().copied(),
            cut: trace.cut.last().copied(),
            iterations: trace.n_iter(),
            stopped: trace.stop,
            trace: TraceFacts::new(&trace),
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), stages),
            scores,
            output: ClusterOutput::new(&self.targets),
            warnings: &warnings,
            labels: printed.as_deref(),
        };
        if output.json {
            return Ok(output::print_run("cluster", &report)?);
        }
        show(printed.as_deref(), output, &report.summary(self.explain))
    }

    /// Clusters the rows.
    fn fit(&self, table: &InputTable, watch: &Watch) -> anyhow::Result<FittedRows> {
        let mut clusterer = OBCut::from(self.params.clone()).observer(watch);
        if let Some(weights) = &table.weights {
            clusterer = clusterer.weights(weights);
        }
        let about = |error: obcut::Error| table.error(error);
        match &table.rows {
            TableRows::InMemory(_) => {
                let samples = table.samples()?;
                let found = interrupt::watched(|| clusterer.fit(&samples)).map_err(about)?;
                let labels = Labels::InMemory(match self.margins {
                    true => RowLabels::Scored(found.rows().to_vec()),
                    false => RowLabels::Plain(found.labels_or_noise()),
                });
                let (scores, fit) = found.into_parts();
                Ok(FittedRows { scores, labels, fit })
            }
            TableRows::InPieces(source) => {
                let checkpoint = self.checkpoint(table.n_rows())?;
                if self.checkpoint.resume {
                    watch.phase(match checkpoint.saved {
                        Some(_) => "continuing from the saved state",
                        None => "no state was saved yet; starting from the beginning",
                    });
                }
                let fitting = || clusterer.fit_into(source, &checkpoint);
                let fit = interrupt::watched(fitting).map_err(|error| match error {
                    obcut::Error::State(_) => checkpoint.explain(error),
                    other => about(other),
                })?;
                Ok(FittedRows { scores: vec![], labels: Labels::OnDisk(Box::new(checkpoint)), fit })
            }
        }
    }

    /// Opens the storage of the labels and of the state.
    fn checkpoint(&self, n_rows: usize) -> anyhow::Result<Checkpoint> {
        let scratch = self.memory.scratch.as_deref();
        let table = (&self.sources[..], &self.options);
        Checkpoint::new(&self.checkpoint, scratch, table, (n_rows, self.margins))
    }

    /// Collects what the report shows of the rows.
    fn report_rows(
        &self,
        table: &InputTable,
        model: &Model,
        (scores, labels, sizes): (&[RowScore], &Labels, &[usize]),
        warnings: &mut Vec<String>,
        watch: &Watch,
    ) -> anyhow::Result<Option<ReportData>> {
        let (weights, threads) = (table.weights.as_deref(), self.params.threads);
        match &table.rows {
            TableRows::InMemory(_) => {
                let samples = table.samples()?;
                let describing =
                    || ReportData::of_scores(model, scores, &samples, weights, threads, watch);
                interrupt::watched(describing).map(Some).map_err(|error| table.error(error))
            }
            TableRows::InPieces(source) => {
                // At most as many rows as the coreset, which fitted in memory as well.
                let core = front_ends::core_rows(&self.params, table.n_cols());
                let most = ReportData::sample(table.n_cols()).min(core);
                let chosen = labels.choose(sizes, most)?;
                let describing =
                    || ReportData::of_source(model, source, &chosen, weights, threads, watch);
                match interrupt::watched(describing) {
                    Err(obcut::Error::Cancelled) => Err(obcut::Error::Cancelled.into()),
                    // If rows cannot be read again, only their charts are missing.
                    Err(error) => {
                        warnings.push(format!("the report has no charts of the rows: {error}"));
                        Ok(None)
                    }
                    found => Ok(found.ok()),
                }
            }
        }
    }

    /// Checks that given anchors have the features of the table.
    fn check_anchors(&self, n_features: usize) -> Result<(), CliError> {
        let (Some(values), Some(n_anchors)) = (&self.params.anchors, self.params.n_anchors) else {
            return Ok(());
        };
        let found = values.len() / n_anchors.max(1);
        if found == n_features {
            return Ok(());
        }
        Err(CliError::Usage(format!(
            "the given anchors have {} but the table has {}; both need the same columns",
            plural(found, "column"),
            plural(n_features, "feature")
        )))
    }

    fn write_model(&self, outputs: &mut Outputs, model: &Model) -> anyhow::Result<()> {
        if let Some(path) = &self.targets.second {
            let bytes = model.to_bytes()?;
            outputs.write(path, self.targets.force, |file| file.write_all(&bytes))?;
        }
        Ok(())
    }
}
