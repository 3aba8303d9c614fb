//! The command line: the commands and the groups of options that they share.

pub mod large;
pub mod method;
pub mod settings;
pub mod values;
pub mod vocabulary;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::builder::RangedU64ValueParser;
use clap::{ArgAction, Args, Parser, Subcommand};
use obcut_data::{Format, LabelFormat, LoadOptions, Source};

use crate::commands::{
    cluster, completions, cut, demo, generate, info, man, methods, predict, score,
};
use crate::failure::CliError;
use crate::page;

/// Heading of the options for the input.
pub const INPUT: &str = "Input";
/// Heading of the options for the output.
pub const OUTPUT: &str = "Output";
/// Heading of the most common settings.
pub const METHOD: &str = "Method";
/// Heading of the settings for special cases.
pub const ADVANCED: &str = "Advanced";
/// Heading of the settings of the learning loop.
pub const LEARNING: &str = "Learning loop of the paper (off by default)";

/// Cluster tables and bipartite graphs: one-step bipartite graph cut (OBCut)
///
/// Balanced clusters from a file of numbers, in time linear in the number of rows, and a model
/// that labels new rows. The same seed gives the same labels for any number of threads.
#[derive(Debug, Parser)]
#[command(name = "obcut", version, max_term_width = 100)]
#[command(arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// The options for the output of every command.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad data, 130 interrupted.\n\
     First steps: 'obcut demo', then 'obcut cluster FILE -k K'.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster the rows of a table
    Cluster(Box<cluster::ClusterArgs>),
    /// Label rows with a saved model
    Predict(predict::PredictArgs),
    /// Cut a bipartite graph: clusters of its rows and of its columns
    Cut(cut::CutArgs),
    /// Compare labels with the true classes
    Score(score::ScoreArgs),
    /// Describe a table or a model
    Info(info::InfoArgs),
    /// List the methods that 'obcut cluster --method' knows, with their settings
    Methods(methods::MethodsArgs),
    /// Generate a table with known clusters, of any size
    Generate(generate::GenerateArgs),
    /// Cluster the handwritten digits that come with the program
    Demo(demo::DemoArgs),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write all of them to a folder
    Man(man::ManArgs),
}

/// Options for results and messages. The help lists them last, after the options of the command itself.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// Print one JSON document to standard output, also for errors
    #[arg(long, global = true, help_heading = OUTPUT, display_order = 100)]
    pub json: bool,
    /// Print no summary, progress or warnings
    #[arg(short, long, global = true, help_heading = OUTPUT, display_order = 101)]
    #[arg(conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log the stages to standard error; -vv logs every iteration
    #[arg(short, long, global = true, help_heading = OUTPUT, display_order = 102)]
    #[arg(action = ArgAction::Count)]
    pub verbose: u8,
}

/// Options for reading a table.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = INPUT)]
pub struct TableArgs {
    /// Input format [default: inferred from the file extension]
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    pub format: Option<Format>,
    /// Whether a CSV file has a header
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "yes", "no"], default_value = "auto", hide_possible_values = true, hide_default_value = true)]
    #[arg(help = "Whether a CSV file has a header: auto, yes or no")]
    pub header: String,
    /// Delimiter of a CSV file: one character, or 'tab'
    #[arg(long, value_name = "CHAR", value_parser = values::delimiter, allow_hyphen_values = true)]
    pub delimiter: Option<u8>,
    /// Feature columns, by name, index from 0, or range: a,b,3-7
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Columns to exclude
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Array to read from an NPZ or MAT file
    #[arg(long, value_name = "NAME")]
    pub variable: Option<String>,
    /// Precision of the values: float32 or float64 [default: that of the file; float64 for text]
    #[arg(long, value_name = "TYPE", value_parser = ["float32", "float64"])]
    #[arg(hide_possible_values = true)]
    pub dtype: Option<String>,
}

impl TableArgs {
    /// The options of the loader, without truth and weights.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            format: self.format,
            header: match self.header.as_str() {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            delimiter: self.delimiter,
            columns: self.columns.clone(),
            drop: self.drop.clone(),
            variable: self.variable.clone(),
            single: self.dtype.as_ref().map(|dtype| dtype == "float32"),
            ..LoadOptions::default()
        }
    }
}

/// Help text of an option that names a file of labels.
pub fn labels_help(what: &str) -> String {
    format!("Write the {what} to FILE: {}", LabelFormat::extensions(false))
}

/// Options for the labels.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = OUTPUT)]
pub struct LabelArgs {
    #[arg(short, long, value_name = "FILE", help = labels_help("labels"))]
    #[arg(long_help = labels_help("labels") + "\n\nBy default, or with '-', the labels are printed to \
        standard output, one per line.")]
    pub output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

/// The option for threads.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThreadArgs {
    /// Number of threads; 0 uses all cores. The result does not depend on this number
    #[arg(long, value_name = "T", default_value_t = 0, hide_default_value = true)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(0..=1024))]
    #[arg(help_heading = METHOD, allow_negative_numbers = true)]
    pub threads: usize,
}

/// The files that a command writes, checked before any work is done.
#[derive(Debug, Default)]
pub struct Targets {
    /// File of the labels; `None` stands for standard output.
    pub labels: Option<PathBuf>,
    /// File of the model, or of the labels of the columns.
    pub second: Option<PathBuf>,
    /// File of the report.
    pub report: Option<PathBuf>,
    /// Whether existing files are overwritten.
    pub force: bool,
}

impl Targets {
    /// Checks that every file can be written, and that no output is an input or another output.
    pub fn new<'a>(
        output: &LabelArgs,
        second: Option<&PathBuf>,
        report: Option<&PathBuf>,
        inputs: impl IntoIterator<Item = &'a Source>,
    ) -> anyhow::Result<Self> {
        let labels = output.output.clone().filter(|path| path.as_os_str() != "-");
        if let Some(path) = &labels {
            obcut_data::check_output(path, output.force)?;
        }
        if let Some(path) = report {
            page::check(path, output.force)?;
        }
        let files: Vec<&PathBuf> = labels.iter().chain(second).chain(report).collect();
        for (i, file) in files.iter().enumerate() {
            if let Some(first) = files[..i].iter().find(|first| same_file(first, file)) {
                bail!(two_outputs(first));
            }
        }
        for input in inputs {
            let Source::Path(input) = input else { continue };
            if let Some(path) = files.iter().find(|path| same_file(path, input)) {
                bail!(CliError::Usage(format!(
                    "{} is an input; write the output to another file",
                    path.display()
                )));
            }
        }
        Ok(Self { labels, second: second.cloned(), report: report.cloned(), force: output.force })
    }

    /// Checks that the file of labels can hold margins, if they are requested.
    pub fn with_margins(self, wanted: bool) -> anyhow::Result<Self> {
        let Some(path) = self.labels.as_ref().filter(|_| wanted) else {
            return Ok(self);
        };
        let format = LabelFormat::from_path(path)?;
        if !format.holds_scores {
            bail!(CliError::Usage(format!(
                "{}: a .{} file cannot hold --margins; use {}",
                path.display(),
                format.extension,
                LabelFormat::extensions(true)
            )));
        }
        Ok(self)
    }
}

/// The error for a file that is the target of two outputs.
pub fn two_outputs(path: &Path) -> CliError {
    CliError::Usage(format!(
        "{} is the target of two outputs; use a different file for each",
        path.display()
    ))
}

/// Whether two paths point to the same file, which need not exist.
pub fn same_file(a: &PathBuf, b: &PathBuf) -> bool {
    let place = |path: &PathBuf| {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let whole = path.canonicalize();
        whole.or_else(|_| {
            Ok::<_, std::io::Error>(
                folder.canonicalize()?.join(path.file_name().unwrap_or_default()),
            )
        })
    };
    a == b || matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}

/// Parses a source; '-' is standard input.
pub fn source(text: &str) -> Result<Source, std::convert::Infallible> {
    Ok(Source::parse(text))
}
