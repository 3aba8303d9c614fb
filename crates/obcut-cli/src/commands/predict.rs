//! `obcut predict`: labels the rows of a table with a model.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use obcut::{Model, front_ends};
use obcut_data::{LoadOptions, RowLabels, Source};
use serde::Serialize;

use crate::args::large::{CheckpointArgs, MemoryArgs};
use crate::args::{INPUT, LabelArgs, OUTPUT, OutputArgs, TableArgs, Targets, ThreadArgs, source};
use crate::checkpoint::Checkpoint;
use crate::failure::CliError;
use crate::input::{self, InputFacts, InputTable, TableRows};
use crate::interrupt;
use crate::labels::{Labels, show};
use crate::memory;
use crate::output::{self, Summary};
use crate::progress::Watch;
use crate::report::{ClusterFacts, ScoreFacts, TimeFacts};

/// Label rows with a saved model.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PredictArgs {
    /// Model that 'obcut cluster --model' saved
    #[arg(value_name = "MODEL", value_parser = source)]
    model: Source,
    /// Table to label, with the columns that the model was fitted on; '-' is standard input
    ///
    /// Columns are matched by name if the model and the table have names, else by position.
    ///
    /// Several files, a folder or a quoted pattern like 'part-*.parquet' are read as one table.
    #[arg(value_name = "FILE", value_parser = source, required = true)]
    files: Vec<Source>,
    #[command(flatten)]
    table: TableArgs,
    /// Column (or array) of true classes: excluded from the features, used for scores
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    truth: Option<String>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: LabelArgs,
    /// Add second-best cluster, margin, confidence and outlier score to every label
    #[arg(long, help_heading = OUTPUT)]
    margins: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

const EXAMPLES: &str = "Examples:
  obcut predict model.safetensors new.csv -o labels.csv
  obcut predict model.safetensors new.npy --margins -o labels.parquet";

struct PredictJob {
    model: Model,
    sources: Vec<Source>,
    memory: MemoryArgs,
    options: LoadOptions,
    targets: Targets,
    margins: bool,
    threads: usize,
}

/// The facts of a run. The names in JSON are stable.
#[derive(Serialize)]
struct PredictReport<'a> {
    input: InputFacts,
    clusters: ClusterFacts,
    seconds: TimeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreFacts>,
    output: PredictOutput<'a>,
    #[serde(flatten)]
    labels: Option<&'a RowLabels>,
}

#[derive(Serialize)]
struct PredictOutput<'a> {
    labels: Option<&'a PathBuf>,
}

/// Runs the command.
pub fn run(args: &PredictArgs, output: &OutputArgs) -> anyhow::Result<()> {
    PredictJob::new(args)?.run(output)
}

impl PredictJob {
    fn new(args: &PredictArgs) -> anyhow::Result<Self> {
        if args.model == Source::Stdin && args.files.contains(&Source::Stdin) {
            bail!(CliError::Usage("the model and the table cannot both be standard input".into()));
        }
        let sources = input::expand(&args.files)?;
        let inputs = std::iter::once(&args.model).chain(&sources);
        let targets = Targets::new(&args.output, None, None, inputs)?.with_margins(args.margins)?;
        let model = input::load_model(&args.model)?;
        let options = LoadOptions {
            truth: args.truth.clone(),
            needed: model.feature_names().to_vec(),
            ..args.table.options()
        };
        Ok(Self {
            model,
            sources,
            memory: args.memory.clone(),
            options,
            targets,
            margins: args.margins,
            threads: args.threads.threads,
        })
    }

    fn run(&self, output: &OutputArgs) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(output);
        let size = obcut_data::measure(&self.sources, &self.options)?;
        let reading = memory::for_labels(&size, self.memory.memory);
        let scratch = self.memory.scratch.as_deref();
        let mut table = InputTable::read(&self.sources, &self.options, scratch, reading, &watch)?;
        table.widen(self.model.n_features());
        self.check_columns(table.n_cols())?;
        let labelling = Instant::now();
        let labels = self.label(&table, &watch)?;
        let scores = ScoreFacts::of_table(&labels, &table)?;
        let sizes = labels.sizes(&self.model, false)?;
        let stages = vec![
            ("read".to_string(), table.facts.seconds),
            ("predict".to_string(), labelling.elapsed().as_secs_f64()),
        ];
        labels.write(&self.targets, |_| Ok(()))?;
        let printed = labels.printed(&self.targets)?;
        watch.finish();

        let report = PredictReport {
            clusters: ClusterFacts::new(sizes).marked(table.n_rows(), &self.model),
            input: table.facts,
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), stages),
            scores,
            output: PredictOutput { labels: self.targets.labels.as_ref() },
            labels: printed.as_deref(),
        };
        if output.json {
            return Ok(output::print_run("predict", &report)?);
        }
        show(printed.as_deref(), output, &report.summary())
    }

    /// Labels the rows.
    fn label(&self, table: &InputTable, watch: &Watch) -> anyhow::Result<Labels> {
        let (model, threads) = (&self.model, self.threads);
        let about = |error: obcut::Error| table.error(error);
        match &table.rows {
            TableRows::InMemory(_) => {
                let samples = table.samples()?;
                watch.phase("labelling");
                let labelling = || {
                    let rows = model.on(&samples)?.threads(threads).observer(watch);
                    Ok(match self.margins {
                        true => RowLabels::Scored(rows.rows()?),
                        false => RowLabels::Plain(rows.labels_or_noise()?),
                    })
                };
                Ok(Labels::InMemory(interrupt::watched(labelling).map_err(about)?))
            }
            TableRows::InPieces(source) => {
                let checkpoint = Checkpoint::new(
                    &CheckpointArgs::default(),
                    self.memory.scratch.as_deref(),
                    (&self.sources, &self.options),
                    (table.n_rows(), self.margins),
                )?;
                watch.phase("labelling");
                let labelling =
                    || front_ends::predict_rows(model, source, threads, watch, &checkpoint);
                interrupt::watched(labelling).map_err(about)?;
                Ok(Labels::OnDisk(Box::new(checkpoint)))
            }
        }
    }

    fn check_columns(&self, found: usize) -> Result<(), CliError> {
        let expected = self.model.n_features();
        if found == expected {
            return Ok(());
        }
        Err(CliError::Data(format!(
            "{} has {found} feature columns but the model was fitted on {expected}; choose the same columns with --columns or --drop",
            input::display(&self.sources)
        )))
    }
}

impl PredictReport<'_> {
    fn summary(&self) -> Summary {
        let mut summary = Summary::new(self.input.text("feature"));
        self.clusters.write("clusters", &mut summary);
        if let Some(scores) = &self.scores {
            scores.write(&mut summary);
        }
        self.seconds.write(&mut summary);
        summary.paths(&[("labels", self.output.labels)]);
        summary
    }
}
