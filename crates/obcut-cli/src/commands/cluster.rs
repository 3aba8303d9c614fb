//! `obcut cluster`: a table in, labels and a model out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use obcut::large::{self, LargeFit};
use obcut::{Model, Params, RowSource, StopReason, Trace};
use obcut_baselines::Method;
use obcut_data::{LoadOptions, Source};
use obcut_report::{Clustering, FitFacts, Sketch, clustering};
use serde::Serialize;

use crate::args::large::{CheckpointArgs, MemoryArgs};
use crate::args::method::MethodArgs;
use crate::args::vocabulary;
use crate::args::{INPUT, LabelArgs, OUTPUT, TableArgs, Talk, Targets, source};
use crate::commands::other;
use crate::failure::{Fault, about, about_table};
use crate::input::{self, InputFacts};
use crate::interrupt;
use crate::memory::{self, Way};
use crate::output::{self, Card, number, plural};
use crate::page;
use crate::progress::Watch;
use crate::report::{
    self, ClusterFacts, ExplanationFacts, InlineLabels, PassFacts, RowLabels, ScoreFacts,
    TimeFacts, WeightFacts,
};
use crate::spill::{Keeper, Rows};

/// Cluster the rows of a table.
#[derive(Args, Debug)]
#[command(override_usage = "obcut cluster FILE -k K [-o FILE] [OPTIONS]", after_help = EXAMPLES)]
pub struct ClusterArgs {
    /// Table to read: CSV, TSV, NPY, NPZ, Parquet, MAT, svmlight or MatrixMarket, also as .gz or
    /// .zst; '-' is standard input
    ///
    /// Several files, a folder or a quoted pattern like 'part-*.parquet' are one table (NPY, Parquet,
    /// CSV).
    #[arg(value_name = "FILE", value_parser = source, required = true)]
    files: Vec<Source>,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    table: TableArgs,
    /// Column (or array) of true classes: left out of the features, used for scores
    #[arg(long, value_name = "COLUMN", help_heading = INPUT)]
    truth: Option<String>,
    /// Column (or array) of sample weights: left out of the features
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
    /// Write a report with pictures: one HTML file that needs no network
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    report: Option<PathBuf>,
    /// Write second-best cluster, margin, confidence and outlier score beside every label
    #[arg(long, help_heading = OUTPUT)]
    margins: bool,
    /// Tell what was tried, and what sets every cluster apart
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

/// What is to be done, checked as far as possible before anything is read.
struct Job {
    sources: Vec<Source>,
    /// The files as messages name them.
    source: Source,
    memory: MemoryArgs,
    checkpoint: CheckpointArgs,
    options: LoadOptions,
    params: Params,
    targets: Targets,
    margins: bool,
    explain: bool,
    /// Options given that have no say, in words.
    idle: Option<String>,
    /// The command as it was typed.
    command: String,
}

/// The facts of a run, with stable names.
#[derive(Serialize)]
struct Report<'a> {
    command: &'static str,
    version: &'static str,
    input: InputFacts,
    settings: SettingFacts<'a>,
    clusters: ClusterFacts,
    explanation: ExplanationFacts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<PassFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<WeightFacts>,
    objective: Option<f64>,
    cut: Option<f64>,
    iterations: usize,
    stopped: StopReason,
    trace: TraceFacts<'a>,
    seconds: TimeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreFacts>,
    output: OutputFacts<'a>,
    warnings: &'a [String],
    #[serde(flatten)]
    labels: InlineLabels<'a>,
}

#[derive(Serialize)]
struct SettingFacts<'a> {
    #[serde(flatten)]
    params: &'a Params,
    graph_used: String,
    anchors_used: usize,
    anchor_sets_used: usize,
    scale_used: &'static str,
    threads_used: usize,
}

#[derive(Serialize)]
struct TraceFacts<'a> {
    objective: &'a [f64],
    cut: &'a [f64],
    restart_scores: &'a [f64],
    restart_kept: usize,
    loop_rejected: bool,
}

#[derive(Serialize)]
struct OutputFacts<'a> {
    labels: Option<&'a PathBuf>,
    model: Option<&'a PathBuf>,
    report: Option<&'a PathBuf>,
}

/// A finished clustering.
struct Done {
    input: InputFacts,
    model: Model,
    trace: Trace,
    warnings: Vec<String>,
    rows: Rows,
    clusters: ClusterFacts,
    weights: Option<WeightFacts>,
    scores: Option<ScoreFacts>,
    passes: Option<PassFacts>,
    page: Option<String>,
    stages: Vec<(String, f64)>,
}

/// Runs the command.
pub fn run(args: &ClusterArgs, talk: &Talk, arguments: &[OsString]) -> anyhow::Result<()> {
    match args.method.method() {
        Method::Obcut => Job::new(args, arguments)?.run(talk),
        method => other_job(method, args)?.run(talk),
    }
}

/// The job of another method, which has no model, margins or weights.
fn other_job(method: Method, args: &ClusterArgs) -> anyhow::Result<other::Job> {
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
    other::Job::new(method, (&args.method, memory), (sources, options), targets, &others)
}

impl Job {
    fn new(args: &ClusterArgs, arguments: &[OsString]) -> anyhow::Result<Self> {
        if let Some(path) = &args.model {
            if path.as_os_str() == "-" {
                bail!(Fault::Usage(
                    "--model '-': a model is binary and is not printed; name a file".into()
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
        let source = input::named(&sources);
        Ok(Self {
            sources,
            source,
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

    /// Whether the table is loaded or read in pieces.
    fn way(&self) -> anyhow::Result<Way> {
        let size = obcut_data::measure(&self.sources, &self.options)?;
        let way = memory::way(&size, &self.params, self.memory.memory)?;
        if self.checkpoint.checkpoint.is_none() {
            return Ok(way);
        }
        if !size.in_pieces {
            bail!(Fault::Usage(
                "--checkpoint is for tables that are read in pieces: NPY, Parquet or CSV".into()
            ));
        }
        Ok(Way::Pieces)
    }

    fn run(&self, talk: &Talk) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(talk);
        let mut done = match self.way()? {
            Way::Load => self.loaded(&watch)?,
            Way::Pieces => self.in_pieces(&watch)?,
        };
        done.warnings.extend(self.idle.clone());
        let writing = Instant::now();
        let also = || {
            self.write_model(&done.model)?;
            page::write(self.targets.report.as_ref(), done.page.as_deref(), self.targets.force)
        };
        done.rows.write(&self.targets, also)?;
        let rows = done.rows.shown(&self.targets)?;
        done.rows.clear();
        done.stages.push(("write".to_string(), writing.elapsed().as_secs_f64()));
        watch.finish();

        let (model, trace, warnings, stages) =
            (&done.model, &done.trace, &done.warnings, &done.stages);
        let report = Report {
            command: "cluster",
            version: env!("CARGO_PKG_VERSION"),
            input: done.input,
            settings: SettingFacts {
                params: model.params(),
                graph_used: model.graph(),
                anchors_used: model.n_anchors(),
                anchor_sets_used: model.n_anchor_sets(),
                scale_used: model.scale().name(),
                threads_used: report::threads(self.params.threads),
            },
            clusters: done.clusters,
            explanation: ExplanationFacts::new(model),
            passes: done.passes,
            weights: done.weights,
            objective: trace.objective.last().copied(),
            cut: trace.cut.last().copied(),
            iterations: trace.n_iter(),
            stopped: trace.stop,
            trace: TraceFacts {
                objective: &trace.objective,
                cut: &trace.cut,
                restart_scores: &trace.scores,
                restart_kept: trace.kept,
                loop_rejected: trace.loop_rejected,
            },
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), stages.clone()),
            scores: done.scores,
            output: OutputFacts {
                labels: self.targets.labels.as_ref(),
                model: self.targets.second.as_ref(),
                report: self.targets.report.as_ref(),
            },
            warnings,
            labels: rows.inline(&self.targets),
        };
        if talk.json {
            return Ok(output::print_json(&report)?);
        }
        let mut card = report.card();
        if self.explain {
            report.explanation.tell(&mut card);
        }
        card.warnings(report.warnings);
        rows.show(&self.targets, talk, &card)
    }

    /// Clusters the table in memory.
    fn loaded(&self, watch: &Watch) -> anyhow::Result<Done> {
        let scratch = self.memory.scratch.as_deref();
        let (data, input) = input::load_all(&self.sources, &self.options, scratch, watch)?;
        let samples = data.matrix.samples().map_err(|error| about(&self.source, error))?;
        self.check_anchors(samples.n_cols())?;
        let weights = data.weights.as_deref();
        let about_file = |error: obcut::Error| about_table(&self.source, &data, error);

        let fitting = || obcut::fit(&samples, weights, &self.params, watch);
        let mut fit = interrupt::watched(fitting).map_err(about_file)?;
        fit.model.set_feature_names(data.feature_names.clone().unwrap_or_default());
        let rows = if self.margins {
            let explaining = || fit.model.explain(&samples, self.params.threads, watch);
            RowLabels::explained(&interrupt::watched(explaining).map_err(about_file)?)
        } else {
            let labels = fit.labels_or_noise().into_iter().map(|label| label as u32).collect();
            RowLabels::new(labels)
        };
        let scores = report::scores_of(&rows.labels, data.truth.as_ref())?;
        let mut clusters = ClusterFacts::new(&rows.labels, fit.model.n_clusters())
            .marked(rows.labels.len(), &fit.model);
        if weights.is_some() {
            clusters = clusters.weighted(fit.model.cluster_sizes().to_vec());
        }
        let mut stages = vec![("read".to_string(), input.seconds)];
        stages.extend(fit.trace.seconds.iter().cloned());
        let page = match &self.targets.report {
            Some(_) => {
                let drawing = Instant::now();
                let threads = self.params.threads;
                let sketching = || Sketch::of_fit(&fit, &samples, weights, threads, watch);
                let sketch = interrupt::watched(sketching).map_err(about_file)?;
                stages.push(("report".to_string(), drawing.elapsed().as_secs_f64()));
                let warnings = vocabulary::warnings(&fit.warnings, fit.model.feature_names());
                let facts =
                    Clustering { sketch: Some(sketch), warnings, ..Clustering::of_fit(&fit) };
                Some(self.page(facts, &input, scores.as_ref(), &stages))
            }
            None => None,
        };
        let passes =
            fit.trace.large.as_ref().map(|trace| PassFacts::new(samples.n_rows(), trace, None));
        let obcut::Fit { model, trace, warnings, .. } = fit;
        let warnings = vocabulary::warnings(&warnings, model.feature_names());
        Ok(Done {
            rows: Rows::Held(rows),
            weights: weights.map(WeightFacts::new),
            input,
            model,
            trace,
            warnings,
            clusters,
            scores,
            passes,
            page,
            stages,
        })
    }

    /// Clusters the table piece by piece.
    fn in_pieces(&self, watch: &Watch) -> anyhow::Result<Done> {
        let scratch = self.memory.scratch.as_deref();
        let (table, input) = input::open(&self.sources, &self.options, scratch, watch)?;
        self.check_anchors(table.n_cols())?;
        let about_file = |error: obcut::Error| about_table(&self.source, &table, error);
        let size = (table.n_rows(), self.margins);
        let keeper = Keeper::new(&self.checkpoint, scratch, (&self.sources, &self.options), size)?;
        let Targets { labels, second, report, .. } = &self.targets;
        keeper.tidy(labels.iter().chain(second).chain(report))?;
        if self.checkpoint.resume {
            watch.phase(match keeper.resumes() {
                true => "going on from the saved state",
                false => "there is no saved state yet; starting from the beginning",
            });
        }
        let weights = table.weights.as_deref();
        let saved = keeper.saved.as_deref();
        let fitting = || obcut::fit_rows(&table, weights, &self.params, watch, &keeper, saved);
        let found = interrupt::watched(fitting).map_err(about_file)?;
        let LargeFit { mut model, trace, warnings } = found;
        model.set_feature_names(table.feature_names.clone().unwrap_or_default());
        let mut warnings = vocabulary::warnings(&warnings, model.feature_names());
        let truth = table.truth.as_ref();
        let scores = match truth {
            Some(_) => report::scores_of(&keeper.spill.load()?.labels, truth)?,
            None => None,
        };
        let sizes = match model.noise_threshold() {
            Some(_) => keeper.spill.sizes(model.n_clusters())?,
            None => model.explanation().clusters.iter().map(|cluster| cluster.rows).collect(),
        };
        let mut clusters = ClusterFacts::of_sizes(sizes.clone()).marked(table.n_rows(), &model);
        if weights.is_some() {
            clusters = clusters.weighted(model.cluster_sizes().to_vec());
        }
        let mut stages = vec![("read".to_string(), input.seconds)];
        stages.extend(trace.seconds.iter().cloned());
        let passes =
            trace.large.as_ref().map(|large| PassFacts::new(table.n_rows(), large, Some(&table)));
        let page = match &self.targets.report {
            Some(_) => {
                let drawing = Instant::now();
                // No more than the core, which had to fit into memory as well.
                let core = large::core_rows(&self.params, table.n_cols());
                let most = Sketch::sample(table.n_cols()).min(core);
                let chosen = keeper.spill.choose(&sizes, most)?;
                let threads = self.params.threads;
                let sketching =
                    || Sketch::of_source(&model, &table, &chosen, weights, threads, watch);
                // Rows that cannot be read again cost the pictures, not the fit.
                let sketch = match interrupt::watched(sketching) {
                    Ok(sketch) => Some(sketch),
                    Err(obcut::Error::Cancelled) => return Err(obcut::Error::Cancelled.into()),
                    Err(error) => {
                        warnings.push(format!("the report has no pictures of the rows: {error}"));
                        None
                    }
                };
                stages.push(("report".to_string(), drawing.elapsed().as_secs_f64()));
                let facts = FitFacts::new(&trace, &warnings, clusters.noise);
                let facts = Clustering { sketch, ..Clustering::new(&model, facts) };
                Some(self.page(facts, &input, scores.as_ref(), &stages))
            }
            None => None,
        };
        Ok(Done {
            weights: weights.map(WeightFacts::new),
            rows: Rows::Kept(Box::new(keeper)),
            input,
            model,
            trace,
            warnings,
            clusters,
            scores,
            passes,
            page,
            stages,
        })
    }

    /// The page of a fit, with what the command knows besides.
    fn page(
        &self,
        facts: Clustering,
        input: &InputFacts,
        scores: Option<&ScoreFacts>,
        stages: &[(String, f64)],
    ) -> String {
        clustering(&Clustering {
            data: input.data(),
            scores: scores.map(ScoreFacts::plain),
            seconds: stages.to_vec(),
            command: Some(self.command.clone()),
            ..facts
        })
    }

    /// Given anchors must have the features of the table.
    fn check_anchors(&self, n_features: usize) -> Result<(), Fault> {
        let (Some(values), Some(n_anchors)) = (&self.params.anchors, self.params.n_anchors) else {
            return Ok(());
        };
        let found = values.len() / n_anchors.max(1);
        if found == n_features {
            return Ok(());
        }
        Err(Fault::Usage(format!(
            "the given anchors have {} but the table has {}; both need the same ones",
            plural(found, "column"),
            plural(n_features, "feature")
        )))
    }

    fn write_model(&self, model: &Model) -> anyhow::Result<()> {
        if let Some(path) = &self.targets.second {
            let bytes = model.to_bytes()?;
            obcut_data::write_atomic(path, self.targets.force, |file| file.write_all(&bytes))?;
        }
        Ok(())
    }
}

impl Report<'_> {
    fn card(&self) -> Card {
        let params = self.settings.params;
        let mut card = Card::new(self.input.text("feature"));
        let mut method = match self.explanation.kept() {
            Some(kept) if kept.start == kept.graph => kept.graph.clone(),
            Some(kept) => format!("{} from {}", kept.graph, kept.start),
            None => format!("{} from {}", self.settings.graph_used, params.init.name()),
        };
        let n_tried = self.explanation.tried.len();
        if n_tried > 1 {
            method += &format!(", the best of {n_tried} candidates");
        }
        method += &format!("; scale {}", self.settings.scale_used);
        if params.n_init > 1 {
            method += &format!(", best of {} runs", params.n_init);
        }
        card.line("method", method);
        card.line(
            "anchors",
            format!(
                "{}, {} links per row ({})",
                self.settings.anchors_used, params.n_neighbors, self.settings.graph_used
            ),
        );
        card.line(
            "run",
            format!("seed {}, {}", params.seed, plural(self.settings.threads_used, "thread")),
        );
        self.explanation.tell_path(&mut card);
        if let Some(passes) = &self.passes {
            passes.tell(&mut card);
        }
        self.clusters.tell("clusters", &mut card);
        self.explanation.tell_stability(params.stability, &mut card);
        if let Some(weights) = &self.weights {
            weights.tell(&mut card);
        }
        let steps =
            format!("after {} ({})", plural(self.iterations, "iteration"), self.stopped.text());
        match (self.objective, self.cut) {
            (Some(objective), Some(cut)) => card
                .line("objective", format!("{} {steps}, cut {}", number(objective), number(cut))),
            (Some(objective), None) => {
                card.line("objective", format!("{} {steps}", number(objective)));
            }
            (None, Some(cut)) => card.line("cut", format!("{} {steps}", number(cut))),
            (None, None) => {}
        }
        if self.trace.loop_rejected {
            card.line("", "learning anchors and graph scored worse, so the first cut is kept");
        }
        if let Some(scores) = &self.scores {
            scores.tell(&mut card);
        }
        self.seconds.tell(&mut card);
        if let Some(path) = self.output.labels {
            card.line("labels", path.display().to_string());
        }
        if let Some(path) = self.output.model {
            card.line("model", path.display().to_string());
        }
        if let Some(path) = self.output.report {
            card.line("report", path.display().to_string());
        }
        card
    }
}
