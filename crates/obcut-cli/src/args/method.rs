//! Options for the method, its parameters, and the files that they name.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use obcut::front_ends::{Group, Kind};
use obcut::{Init, Learn, ParamError, Params};
use obcut_baselines::Method;
use obcut_baselines::Run;
use obcut_data::{LoadOptions, Source};
use serde_json::Value;

use super::METHOD;
use super::settings::SettingArgs;
use super::values::{ClusterCount, clusters, method};
use crate::failure::CliError;

/// Options that define how rows are clustered.
#[derive(Args, Clone, Debug)]
pub struct MethodArgs {
    /// Number of clusters; 'auto' or a range like 5-30 chooses it from the data
    #[arg(short = 'k', long = "clusters", value_name = "K", help_heading = METHOD)]
    #[arg(value_parser = clusters, allow_negative_numbers = true)]
    pub n_clusters: ClusterCount,
    /// Another method to cluster with; 'obcut methods' lists them [default: obcut]
    #[arg(long, value_name = "NAME", value_parser = method(), help_heading = METHOD)]
    method: Option<Method>,
    /// Setting of another method, such as --set p=500
    #[arg(long, value_name = "NAME=VALUE", help_heading = METHOD)]
    set: Vec<String>,
    /// Use the parameters of the paper; other options override them
    ///
    /// The method as printed: k-means on the rows scaled to [0, 1] gives 100 anchors and the first labels, then
    /// labels, embedding, graph and anchors are learned in turn. What the paper leaves open follows the
    /// authors' program. Rows are linked by the exact solver; '--row-solver alm' is the one that the paper names,
    /// '--row-solver authors' that of the program.
    #[arg(long, value_name = "NAME", value_parser = ["paper"], help_heading = METHOD)]
    pub preset: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    threads: super::ThreadArgs,
}

impl MethodArgs {
    /// The parameters: the preset, overridden by the options. Reads the files that the options name.
    pub fn params(&self) -> anyhow::Result<Params> {
        let (n_clusters, k_range) = match self.n_clusters {
            ClusterCount::Given(k) => (k, None),
            // The number that is chosen replaces this one.
            ClusterCount::Choose(low, high) => (low, Some((low, high))),
        };
        if n_clusters == 0 {
            // Checked before the table is read, which may take minutes.
            return Err(obcut::Error::from(ParamError::NoClusters).into());
        }
        if !self.set.is_empty() {
            bail!(CliError::Usage("--set is for other methods; name one with --method".into()));
        }
        let mut params = match self.preset {
            Some(_) => Params::paper(n_clusters),
            None => Params::new(n_clusters),
        };
        params.k_range = k_range;
        params.threads = self.threads.threads;
        for (parameter, value) in self.settings.given() {
            match (parameter.kind, value) {
                (Kind::Labels(_), Value::String(text)) => params.init = start(text)?,
                (Kind::Anchors, Value::String(path)) => {
                    let (values, n_anchors) = anchors(PathBuf::from(path))?;
                    params.anchors = Some(values);
                    params.n_anchors = Some(n_anchors);
                }
                _ => params.set(parameter.name, value)?,
            }
        }
        Ok(params)
    }

    /// The method to use.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(Method::Obcut)
    }

    /// Names and values of the settings of another method.
    pub fn settings(&self) -> anyhow::Result<Vec<(String, String)>> {
        (self.set.iter())
            .map(|text| match text.split_once('=') {
                Some((name, value)) => Ok((name.trim().to_string(), value.trim().to_string())),
                None => bail!(CliError::Usage(format!("--set '{text}': write NAME=VALUE"))),
            })
            .collect()
    }

    /// Seed, threads and memory limit for another method.
    pub fn run(&self, memory: Option<u64>) -> Run {
        let usual = Run::default();
        Run {
            seed: self.settings.get("seed").and_then(Value::as_u64).unwrap_or(usual.seed),
            threads: self.threads.threads,
            memory: memory.unwrap_or(usual.memory),
        }
    }

    /// The options on the command line that only OBCut has.
    pub fn given(&self) -> Vec<String> {
        let preset = self.preset.is_some().then(|| "--preset".to_string());
        let settings = (self.settings.given())
            .filter(|(parameter, _)| parameter.name != "seed")
            .map(|(parameter, _)| format!("--{}", parameter.option));
        preset.into_iter().chain(settings).collect()
    }

    /// A note on options of the learning loop that are ignored because nothing is learned.
    pub fn idle(&self, params: &Params) -> Option<String> {
        let idle: Vec<String> = (self.settings.given())
            .filter(|(parameter, _)| parameter.group == Group::Learning)
            .filter(|(parameter, _)| parameter.name != "learn")
            .map(|(parameter, _)| format!("--{}", parameter.option))
            .collect();
        let are = if idle.len() == 1 { "is" } else { "are" };
        (params.learn == Learn::Nothing && !idle.is_empty()).then(|| {
            let options = idle.join(", ");
            format!("{options} {are} ignored because --learn is 'nothing'; add --learn anchors-and-graph")
        })
    }
}

/// The initial labels: a word, else a file.
fn start(text: &str) -> anyhow::Result<Init> {
    match text {
        "spectral" => return Ok(Init::Spectral),
        "kmeans" => return Ok(Init::KMeans),
        _ => {}
    }
    let source = Source::parse(text);
    if matches!(&source, Source::Path(path) if !path.exists()) {
        bail!(CliError::Usage(format!(
            "--init '{text}' is neither a file nor a word; choose spectral, kmeans, or a file of labels"
        )));
    }
    Ok(Init::Given(obcut_data::load_labels(&source)?.codes))
}

/// The rows of a table in double precision, and their number.
fn anchors(path: PathBuf) -> anyhow::Result<(Vec<f64>, usize)> {
    let source = Source::Path(path);
    let matrix = obcut_data::load(&source, &LoadOptions::default())?.matrix;
    let n_rows = matrix.n_rows();
    let values = match matrix {
        obcut::Matrix::Dense32 { values, .. } => values.into_iter().map(f64::from).collect(),
        obcut::Matrix::Dense64 { values, .. } => values,
        sparse => densify(&sparse)?,
    };
    Ok((values, n_rows))
}

/// Converts a sparse table to a dense one. Anchors are few, so it fits in memory.
fn densify(matrix: &obcut::Matrix) -> Result<Vec<f64>, obcut::Error> {
    let n_cols = matrix.n_cols();
    let mut out = vec![0.0; matrix.n_rows() * n_cols];
    let mut add = |i: usize, j: usize, value: f64| out[i * n_cols + j] += value;
    match matrix.samples()? {
        obcut::Samples::Sparse32(x) => {
            (0..x.n_rows()).for_each(|i| x.row(i).for_each(|(j, v)| add(i, j, f64::from(v))));
        }
        obcut::Samples::Sparse64(x) => {
            (0..x.n_rows()).for_each(|i| x.row(i).for_each(|(j, v)| add(i, j, v)));
        }
        _ => {}
    }
    Ok(out)
}
