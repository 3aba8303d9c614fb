//! `obcut predict`: a model and a table in, labels out.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use obcut::{Matrix, Model, RowSource, large};
use obcut_data::{Format, LoadOptions, Source};
use serde::Serialize;

use crate::args::large::{CheckpointArgs, MemoryArgs};
use crate::args::{INPUT, LabelArgs, OUTPUT, TableArgs, Talk, Targets, ThreadArgs, source};
use crate::failure::{Fault, about_table};
use crate::input::{self, InputFacts};
use crate::interrupt;
use crate::memory::{self, Way};
use crate::output::{self, Card};
use crate::progress::Watch;
use crate::report::{self, ClusterFacts, InlineLabels, RowLabels, ScoreFacts, TimeFacts};
use crate::spill::{Keeper, Rows};

/// Label rows with a saved model.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PredictArgs {
    /// Model that 'obcut cluster --model' saved
    #[arg(value_name = "MODEL", value_parser = source)]
    model: Source,
    /// Table to label, with the columns that the model was fitted on; '-' is standard input
    ///
    /// Columns are found by their names when the model and the table have names, else by place.
    ///
    /// Several files, a folder or a quoted pattern like 'part-*.parquet' are one table.
    #[arg(value_name = "FILE", value_parser = source, required = true)]
    files: Vec<Source>,
    #[command(flatten)]
    table: TableArgs,
    /// Column (or array) of true classes: left out of the features, used for scores
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    truth: Option<String>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: LabelArgs,
    /// Write second-best cluster, margin, confidence and outlier score beside every label
    #[arg(long, help_heading = OUTPUT)]
    margins: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

const EXAMPLES: &str = "Examples:
  obcut predict model.safetensors new.csv -o labels.csv
  obcut predict model.safetensors new.npy --margins -o labels.parquet";

struct Job {
    model: Model,
    sources: Vec<Source>,
    /// The files as messages name them.
    source: Source,
    memory: MemoryArgs,
    options: LoadOptions,
    targets: Targets,
    margins: bool,
    threads: usize,
}

/// The facts of a run, with stable names.
#[derive(Serialize)]
struct Report<'a> {
    command: &'static str,
    version: &'static str,
    input: InputFacts,
    clusters: ClusterFacts,
    seconds: TimeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreFacts>,
    output: OutputFacts<'a>,
    #[serde(flatten)]
    labels: InlineLabels<'a>,
}

#[derive(Serialize)]
struct OutputFacts<'a> {
    labels: Option<&'a PathBuf>,
}

/// Labels, and what is told of them.
struct Done {
    input: InputFacts,
    rows: Rows,
    clusters: ClusterFacts,
    scores: Option<ScoreFacts>,
    stages: Vec<(String, f64)>,
}

/// Runs the command.
pub fn run(args: &PredictArgs, talk: &Talk) -> anyhow::Result<()> {
    Job::new(args)?.run(talk)
}

/// An svmlight file ends at its largest index, so the last features may not appear in it.
fn widen(matrix: &mut Matrix, n_features: usize) {
    match matrix {
        Matrix::Sparse32(x) => x.n_cols = x.n_cols.max(n_features),
        Matrix::Sparse64(x) => x.n_cols = x.n_cols.max(n_features),
        Matrix::Dense32 { .. } | Matrix::Dense64 { .. } => {}
    }
}

impl Job {
    fn new(args: &PredictArgs) -> anyhow::Result<Self> {
        if args.model == Source::Stdin && args.files.contains(&Source::Stdin) {
            bail!(Fault::Usage("model and table cannot both be standard input".into()));
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
            source: input::named(&sources),
            sources,
            memory: args.memory.clone(),
            options,
            targets,
            margins: args.margins,
            threads: args.threads.threads,
        })
    }

    fn run(&self, talk: &Talk) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(talk);
        let size = obcut_data::measure(&self.sources, &self.options)?;
        let done = match memory::way_to_label(&size, self.memory.memory) {
            Way::Load => self.loaded(&watch)?,
            Way::Pieces => self.in_pieces(&watch)?,
        };
        done.rows.write(&self.targets, || Ok(()))?;
        let rows = done.rows.shown(&self.targets)?;
        watch.finish();

        let report = Report {
            command: "predict",
            version: env!("CARGO_PKG_VERSION"),
            input: done.input,
            clusters: done.clusters,
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), done.stages),
            scores: done.scores,
            output: OutputFacts { labels: self.targets.labels.as_ref() },
            labels: rows.inline(&self.targets),
        };
        if talk.json {
            return Ok(output::print_json(&report)?);
        }
        rows.show(&self.targets, talk, &report.card())
    }

    /// Labels the table in memory.
    fn loaded(&self, watch: &Watch) -> anyhow::Result<Done> {
        let scratch = self.memory.scratch.as_deref();
        let (mut data, input) = input::load_all(&self.sources, &self.options, scratch, watch)?;
        if data.format == Format::Svmlight {
            widen(&mut data.matrix, self.model.n_features());
        }
        let data = data;
        let about_file = |error: obcut::Error| about_table(&self.source, &data, error);
        let samples = data.matrix.samples().map_err(about_file)?;
        self.check_columns(samples.n_cols())?;
        watch.phase("labelling");
        let labelling = Instant::now();
        let rows = interrupt::watched(|| {
            Ok(if self.margins {
                RowLabels::explained(&self.model.explain(&samples, self.threads, watch)?)
            } else {
                let labels = self.model.predict_or_noise(&samples, self.threads, watch)?;
                let labels = labels.into_iter().map(|label| label as u32).collect();
                RowLabels::new(labels)
            })
        })
        .map_err(about_file)?;
        Ok(Done {
            clusters: ClusterFacts::new(&rows.labels, self.model.n_clusters())
                .marked(rows.labels.len(), &self.model),
            scores: report::scores_of(&rows.labels, data.truth.as_ref())?,
            stages: stages(&input, labelling),
            rows: Rows::Held(rows),
            input,
        })
    }

    /// Labels the table piece by piece.
    fn in_pieces(&self, watch: &Watch) -> anyhow::Result<Done> {
        let scratch = self.memory.scratch.as_deref();
        let (table, input) = input::open(&self.sources, &self.options, scratch, watch)?;
        self.check_columns(table.n_cols())?;
        let size = (table.n_rows(), self.margins);
        let keeper =
            Keeper::new(&CheckpointArgs::default(), scratch, (&self.sources, &self.options), size)?;
        watch.phase("labelling");
        let labelling = Instant::now();
        let predicting = || large::predict_rows(&self.model, &table, self.threads, watch, &keeper);
        interrupt::watched(predicting).map_err(|error| about_table(&self.source, &table, error))?;
        let scores = match &table.truth {
            Some(truth) => report::scores_of(&keeper.spill.load()?.labels, Some(truth))?,
            None => None,
        };
        Ok(Done {
            clusters: ClusterFacts::of_sizes(keeper.spill.sizes(self.model.n_clusters())?)
                .marked(table.n_rows(), &self.model),
            scores,
            stages: stages(&input, labelling),
            rows: Rows::Kept(Box::new(keeper)),
            input,
        })
    }

    fn check_columns(&self, found: usize) -> Result<(), Fault> {
        let expected = self.model.n_features();
        if found == expected {
            return Ok(());
        }
        Err(Fault::Data(format!(
            "{} has {found} feature columns but the model was fitted on {expected}; choose the same ones with --columns or --drop",
            self.source.display()
        )))
    }
}

/// Seconds so far.
fn stages(input: &InputFacts, labelling: Instant) -> Vec<(String, f64)> {
    vec![
        ("read".to_string(), input.seconds),
        ("predict".to_string(), labelling.elapsed().as_secs_f64()),
    ]
}

impl Report<'_> {
    fn card(&self) -> Card {
        let mut card = Card::new(self.input.text("feature"));
        self.clusters.tell("clusters", &mut card);
        if let Some(scores) = &self.scores {
            scores.tell(&mut card);
        }
        self.seconds.tell(&mut card);
        if let Some(path) = self.output.labels {
            card.line("labels", path.display().to_string());
        }
        card
    }
}
