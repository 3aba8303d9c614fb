//! `obcut cluster --method NAME`: clusters the rows of a table by another method, without a model.

use obcut::Named;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use obcut_baselines::{Clustering, Run};
use obcut_baselines::{Method, Setting};
use obcut_data::{LoadOptions, RowLabels, Source};
use serde::Serialize;

use crate::args::method::MethodArgs;
use crate::args::values::ClusterCount;
use crate::args::vocabulary;
use crate::args::{OutputArgs, Targets};
use crate::failure::CliError;
use crate::input::{InputFacts, InputTable};
use crate::interrupt;
use crate::labels::{Labels, show};
use crate::memory::Reading;
use crate::output::{self, Summary, plural};
use crate::progress::Watch;
use crate::report::{self, ClusterFacts, ScoreFacts, TimeFacts};

/// The work to do.
pub struct BaselineJob {
    sources: Vec<Source>,
    options: LoadOptions,
    method: Method,
    settings: Vec<(String, String)>,
    n_clusters: usize,
    run: Run,
    targets: Targets,
}

/// The facts of a run. The names in JSON are stable.
#[derive(Serialize)]
struct BaselineReport<'a> {
    input: InputFacts,
    method: &'static str,
    settings: Vec<Setting>,
    seed: u64,
    threads_used: usize,
    clusters: ClusterFacts,
    seconds: TimeFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreFacts>,
    output: Option<&'a PathBuf>,
    warnings: &'a [String],
    #[serde(flatten)]
    labels: Option<&'a RowLabels>,
}

impl BaselineJob {
    /// Creates the job from the arguments; `others` are options on the command line that only OBCut has.
    pub fn new(
        method: Method,
        (args, memory): (&MethodArgs, Option<u64>),
        (sources, options): (Vec<Source>, LoadOptions),
        targets: Targets,
        others: &[String],
    ) -> anyhow::Result<Self> {
        let name = method.name();
        let ClusterCount::Given(n_clusters) = args.n_clusters else {
            bail!(CliError::Usage(format!("--method {name} needs a number of clusters: -k K")));
        };
        if !others.is_empty() {
            bail!(CliError::Usage(format!(
                "{}: only for --method obcut; 'obcut methods {name}' lists the settings for --set with --method {name}",
                others.join(", ")
            )));
        }
        let settings: Vec<(String, String)> = args.settings()?;
        let mut built = method.build();
        for (setting, value) in &settings {
            built.set(setting, value).map_err(obcut::Error::from)?;
        }
        let run = args.run(memory);
        Ok(Self { sources, options, method, settings, n_clusters, run, targets })
    }

    /// Runs the job.
    pub fn run(&self, output: &OutputArgs) -> anyhow::Result<()> {
        let start = Instant::now();
        let watch = Watch::new(output);
        let in_memory = Reading::InMemory;
        let table = InputTable::read(&self.sources, &self.options, None, in_memory, &watch)?;
        let samples = table.samples()?;
        let mut method = self.method.build();
        for (name, value) in &self.settings {
            method.set(name, value).map_err(obcut::Error::from)?;
        }
        let fitting = || method.cluster(&samples, self.n_clusters, &self.run, &watch);
        let found: Clustering = interrupt::watched(fitting).map_err(|error| table.error(error))?;
        let labels = Labels::InMemory(RowLabels::of_clusters(&found.labels));
        let scores = ScoreFacts::of_table(&labels, &table)?;
        let writing = Instant::now();
        labels.write(&self.targets, |_| Ok(()))?;
        let printed = labels.printed(&self.targets)?;
        let mut stages = vec![("read".to_string(), table.facts.seconds)];
        stages.extend(found.seconds.iter().cloned());
        stages.push(("write".to_string(), writing.elapsed().as_secs_f64()));
        watch.finish();
        let warnings = vocabulary::warnings(&found.warnings, &[]);
        let report = BaselineReport {
            input: table.facts,
            method: self.method.name(),
            settings: method.settings(),
            seed: self.run.seed,
            threads_used: report::threads(self.run.threads),
            clusters: ClusterFacts::of_labels(&found.labels, found.n_clusters),
            seconds: TimeFacts::new(start.elapsed().as_secs_f64(), stages),
            scores,
            output: self.targets.labels.as_ref(),
            warnings: &warnings,
            labels: printed.as_deref(),
        };
        if output.json {
            return Ok(output::print_run("cluster", &report)?);
        }
        show(printed.as_deref(), output, &report.summary())
    }
}

impl BaselineReport<'_> {
    fn summary(&self) -> Summary {
        let mut summary = Summary::new(self.input.text("feature"));
        let settings: Vec<String> =
            self.settings.iter().map(|s| format!("{} {}", s.name, s.value)).collect();
        summary.line("method", format!("{}: {}", self.method, settings.join(", ")));
        summary.line("run", format!("seed {}, {}", self.seed, plural(self.threads_used, "thread")));
        self.clusters.write("clusters", &mut summary);
        if let Some(scores) = &self.scores {
            scores.write(&mut summary);
        }
        self.seconds.write(&mut summary);
        summary.paths(&[("labels", self.output)]);
        summary.warnings(self.warnings);
        summary
    }
}
