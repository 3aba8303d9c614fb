//! `obcut generate`: writes a table with known clusters, of any size.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use obcut::front_ends::Mixture;
use obcut_data::{LabelWriter, Outputs, RowLabels};
use obcut_report::number;
use serde::Serialize;

use crate::args::{OUTPUT, OutputArgs, labels_help, same_file, two_outputs};
use crate::failure::CliError;
use crate::interrupt;
use crate::output::{self, Summary, plural};
use crate::progress::Watch;

/// Number of values that are generated at a time.
const BATCH: usize = 1 << 20;

/// Generate a table with known clusters.
///
/// The clusters differ in size and shape, and the values are in single precision. The same arguments
/// always give the same table. It is written while it is generated, so it may be larger than memory.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArgs {
    /// Table to write, an NPY file of float32
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N")]
    rows: usize,
    /// Number of features
    #[arg(short = 'd', long, value_name = "D", default_value_t = 32)]
    features: usize,
    /// Number of clusters
    #[arg(short = 'k', long, value_name = "K", default_value_t = 10)]
    clusters: usize,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    #[arg(help = labels_help("clusters of the rows"))]
    truth: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  obcut generate big.npy -n 20000000 -d 32 -k 20 --truth classes.npy
  obcut cluster big.npy -k 20 --memory 512MiB -o labels.npy";

#[derive(Serialize)]
struct GenerateReport<'a> {
    file: &'a PathBuf,
    truth: Option<&'a PathBuf>,
    rows: usize,
    features: usize,
    clusters: usize,
    seed: u64,
    bytes: u64,
    seconds: f64,
}

/// Runs the command.
pub fn run(args: &GenerateArgs, output: &OutputArgs) -> anyhow::Result<()> {
    let GenerateArgs { file, rows, features, clusters, seed, truth, force } = args;
    let (rows, features, clusters) = (*rows, *features, *clusters);
    if rows == 0 || features == 0 || clusters == 0 {
        bail!(CliError::Usage("rows, features and clusters must be 1 or more".into()));
    }
    if rows.checked_mul(features).and_then(|n| n.checked_mul(4)).is_none() || features > 1 << 24 {
        bail!(CliError::Usage(format!("{rows} rows x {features} features are too many")));
    }
    if !file.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("npy")) {
        bail!(CliError::Usage(format!(
            "{}: the table is written as NPY; name the file .npy",
            file.display()
        )));
    }
    if clusters > rows {
        bail!(CliError::Usage(format!("cannot make {clusters} clusters from {rows} rows")));
    }
    if let Some(truth) = truth.as_ref().filter(|truth| same_file(truth, file)) {
        bail!(two_outputs(truth));
    }
    let start = Instant::now();
    let watch = Watch::new(output);
    watch.phase(&format!("writing {}", file.display()));
    let mixture = Mixture::new(features, clusters, *seed);
    let mut classes =
        truth.as_ref().map(|path| LabelWriter::begin(path, *force, rows, false)).transpose()?;
    let batch = (BATCH / features).max(1);
    let mut failure = None;
    let fill = |out: &mut dyn Write| {
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for first in (0..rows).step_by(batch) {
            if interrupt::requested() {
                return Err(std::io::Error::other("interrupted"));
            }
            let n = batch.min(rows - first);
            values.resize(n * features, 0.0);
            labels.resize(n, 0);
            mixture.fill(first, &mut values, &mut labels);
            let bytes: Vec<u8> = values.iter().flat_map(|v: &f32| v.to_le_bytes()).collect();
            out.write_all(&bytes)?;
            if let Some(classes) = &mut classes
                && let Err(error) = classes.push(&RowLabels::of_clusters(&labels))
            {
                failure = Some(error);
                return Err(std::io::Error::other("the classes cannot be written"));
            }
        }
        Ok(())
    };
    // Signals are checked between two batches, so no partial file is left.
    let mut outputs = Outputs::default();
    let written = interrupt::saving(|| outputs.write_npy(file, *force, (rows, features), fill));
    if interrupt::requested() {
        return Err(obcut::Error::Cancelled.into());
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    written?;
    if let Some(classes) = classes {
        classes.finish(&mut outputs)?;
    }
    outputs.publish()?;
    watch.finish();
    let report = GenerateReport {
        file,
        truth: truth.as_ref(),
        rows,
        features,
        clusters,
        seed: *seed,
        bytes: rows as u64 * features as u64 * 4,
        seconds: start.elapsed().as_secs_f64(),
    };
    if output.json {
        return Ok(output::print_run("generate", &report)?);
    }
    if !output.quiet {
        let mut summary = Summary::new(format!(
            "{} x {} ({})",
            plural(rows, "row"),
            plural(features, "feature"),
            number::bytes(report.bytes)
        ));
        summary.line("table", file.display().to_string());
        if let Some(truth) = truth {
            summary.line("classes", truth.display().to_string());
        }
        summary.line("seconds", format!("{:.2}", report.seconds));
        summary.print_to_stderr();
    }
    Ok(())
}
