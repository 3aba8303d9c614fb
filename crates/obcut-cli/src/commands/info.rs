//! `obcut info`: describes a table or a model.

use obcut::Named;
use std::fs::File;
use std::io::Read;

use clap::Args;
use obcut::{Model, Params};
use obcut_data::{Description, Source};
use serde::Serialize;

use crate::args::{OutputArgs, TableArgs, source};
use crate::input;
use crate::output::{self, Summary, count, number, plural};

/// Maximum number of names in a summary.
const NAME_LIMIT: usize = 12;
/// Maximum number of text columns in a summary.
const TEXT_LIMIT: usize = 8;

/// Describe a table or a model.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InfoArgs {
    /// Table or model, recognized by its content
    #[arg(value_name = "FILE", value_parser = source)]
    file: Source,
    #[command(flatten)]
    table: TableArgs,
}

const EXAMPLES: &str = "Examples:
  obcut info table.mat
  obcut info model.safetensors --json";

/// The facts of a model. The names in JSON are stable.
#[derive(Serialize)]
struct ModelReport<'a> {
    command: &'static str,
    kind: &'static str,
    file: String,
    written_by: &'a str,
    clusters: usize,
    features: usize,
    anchors: usize,
    graph_used: String,
    scale_used: &'static str,
    objective: Option<f64>,
    cluster_sizes: &'a [f64],
    feature_names: &'a [String],
    settings: &'a Params,
    explanation: &'a obcut::Explanation,
}

/// The facts of a table. The names in JSON are stable.
#[derive(Serialize)]
struct TableReport<'a> {
    command: &'static str,
    kind: &'static str,
    file: String,
    format: &'static str,
    /// Null when the array of features is unknown.
    rows: Option<usize>,
    columns: Option<usize>,
    dtype: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_names: Option<&'a [String]>,
    text_columns: Vec<String>,
    arrays: Vec<ArrayFacts<'a>>,
}

#[derive(Serialize)]
struct ArrayFacts<'a> {
    name: &'a str,
    shape: &'a [usize],
    dtype: &'a str,
}

/// Runs the command.
pub fn run(args: &InfoArgs, output: &OutputArgs) -> anyhow::Result<()> {
    let file = args.file.display();
    if args.table.format.is_none() && looks_like_model(&args.file) {
        let model = input::load_model(&args.file)?;
        let report = ModelReport::new(file, &model);
        return show(&report, || report.summary(), output);
    }
    let description = obcut_data::describe(&args.file, &args.table.options())?;
    let report = TableReport::new(file, &description);
    show(&report, || report.summary(), output)
}

fn show(
    report: &impl Serialize,
    summary: impl Fn() -> Summary,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    if output.json {
        output::print_json(report)?;
    } else {
        summary().print_to_stdout()?;
    }
    Ok(())
}

/// Whether a file is a model, by its file extension, else by the start of its header (a length of eight
/// bytes, then JSON). This recognizes renamed and damaged models too.
fn looks_like_model(source: &Source) -> bool {
    let Source::Path(path) = source else {
        return false;
    };
    if !path.is_file() {
        return false;
    }
    if path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("safetensors")) {
        return true;
    }
    let mut head = [0; 10];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    is_read && head[5..8] == [0, 0, 0] && &head[8..] == b"{\""
}

impl<'a> ModelReport<'a> {
    fn new(file: String, model: &'a Model) -> Self {
        let info = model.info();
        Self {
            command: "info",
            kind: "model",
            file,
            written_by: info.version,
            clusters: model.n_clusters(),
            features: model.n_features(),
            anchors: info.n_anchors,
            graph_used: info.graph,
            scale_used: info.scale.name(),
            objective: info.objective,
            cluster_sizes: info.cluster_sizes,
            feature_names: model.feature_names(),
            settings: model.params(),
            explanation: model.explanation(),
        }
    }

    fn summary(&self) -> Summary {
        let mut summary =
            Summary::new(format!("{}: model of obcut {}", self.file, self.written_by));
        summary.line(
            "model",
            format!(
                "{}, {}, {}",
                plural(self.clusters, "cluster"),
                plural(self.features, "feature"),
                plural(self.anchors, "anchor")
            ),
        );
        let settings = self.settings;
        summary.line(
            "method",
            format!(
                "graph {}, {}, scale {}, start {}, lambda {} ({}), seed {}",
                self.graph_used,
                plural(settings.n_neighbors, "neighbor"),
                self.scale_used,
                settings.init,
                number(settings.lambda),
                settings.lambda_scale,
                settings.seed
            ),
        );
        if self.cluster_sizes.len() <= output::TABLE_LIMIT {
            let sizes: Vec<String> = self.cluster_sizes.iter().map(|&w| number(w)).collect();
            // Numbers of rows are integers; anything else is a sum of sample weights.
            let weighted = self.cluster_sizes.iter().any(|w| w.fract() != 0.0);
            let note = if weighted { " (weights)" } else { "" };
            summary.line("sizes", sizes.join(" ") + note);
        }
        if let Some(objective) = self.objective {
            summary.line("objective", number(objective));
        }
        name_line(&mut summary, "features", self.feature_names);
        summary
    }
}

impl<'a> TableReport<'a> {
    fn new(file: String, description: &'a Description) -> Self {
        let arrays = description.arrays.iter();
        Self {
            command: "info",
            kind: "table",
            file,
            format: description.format.name(),
            rows: (!description.undecided).then_some(description.rows),
            columns: (!description.undecided).then_some(description.cols),
            dtype: &description.dtype,
            stored: description.stored,
            column_names: description.columns.as_deref(),
            text_columns: description
                .text_columns
                .iter()
                .map(|&j| name_of(description, j))
                .collect(),
            arrays: arrays.map(|(name, shape, dtype)| ArrayFacts { name, shape, dtype }).collect(),
        }
    }

    fn summary(&self) -> Summary {
        let mut summary = Summary::new(format!("{}: {} table", self.file, self.format));
        let (Some(rows), Some(columns)) = (self.rows, self.columns) else {
            summary.line("features", "unknown; choose an array with --variable");
            self.write_arrays(&mut summary);
            return summary;
        };
        summary.line("shape", format!("{} x {}", plural(rows, "row"), plural(columns, "column")));
        summary.line("numbers", self.dtype);
        if let Some(stored) = self.stored {
            let cells = (rows as f64 * columns as f64).max(1.0);
            let share = number(100.0 * stored as f64 / cells);
            summary.line("stored", format!("{} entries ({share} %)", count(stored)));
        }
        name_line(&mut summary, "columns", self.column_names.unwrap_or_default());
        if !self.text_columns.is_empty() {
            let few = self.text_columns.len().min(TEXT_LIMIT);
            let more = if self.text_columns.len() > few { ", ..." } else { "" };
            let names = self.text_columns[..few].join(", ");
            let n_text = plural(self.text_columns.len(), "column");
            summary.line("text", format!("{n_text}: {names}{more} (see --drop, --truth)"));
        }
        self.write_arrays(&mut summary);
        summary
    }

    fn write_arrays(&self, summary: &mut Summary) {
        for (i, array) in self.arrays.iter().enumerate() {
            let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
            let text = format!("{} ({}, {})", array.name, shape.join(" x "), array.dtype);
            summary.line(if i == 0 { "arrays" } else { "" }, text);
        }
    }
}

/// The name of a column, else its index.
fn name_of(description: &Description, j: usize) -> String {
    let name = description.columns.as_ref().and_then(|names| names.get(j));
    name.cloned().unwrap_or_else(|| j.to_string())
}

/// Writes a line of names, shortened in the middle if there are many.
fn name_line(summary: &mut Summary, title: &'static str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let text = if names.len() <= NAME_LIMIT {
        names.join(", ")
    } else {
        let first = names[..NAME_LIMIT - 2].join(", ");
        let last = names.last().expect("more than the limit");
        format!("{first}, ..., {last}")
    };
    summary.line(title, text);
}
