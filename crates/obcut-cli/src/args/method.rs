//! Settings of a fit as they are typed. What is not given stays with the preset.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use obcut::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, Init, LambdaScale, Learn, Metric,
    Noise, ParamError, Params, Reduce, RowSolver, Run, Scale, SweepOrder,
};
use obcut_baselines::Method;
use obcut_data::{LoadOptions, Source};

use super::values::{
    Clusters, CoreRows, NumberOr, clusters, core_rows, number_or_all, number_or_auto, word,
};
use super::{ADVANCED, METHOD};
use crate::failure::Fault;

/// Settings that most people look at, and the others.
#[derive(Args, Clone, Debug)]
pub struct MethodArgs {
    /// Number of clusters; 'auto' or a range like 5-30 chooses it
    #[arg(short = 'k', long = "clusters", value_name = "K", help_heading = METHOD)]
    #[arg(value_parser = clusters, allow_negative_numbers = true)]
    pub n_clusters: Clusters,
    /// Another method to cluster with; 'obcut methods' lists them [default: obcut]
    #[arg(long, value_name = "NAME", value_parser = word::<Method>(), help_heading = METHOD)]
    method: Option<Method>,
    /// A setting of another method: --set p=500
    #[arg(long, value_name = "NAME=VALUE", help_heading = METHOD)]
    set: Vec<String>,
    /// Start from the settings of the paper; options given beside it win
    #[arg(long, value_name = "NAME", value_parser = ["paper"], help_heading = METHOD)]
    pub preset: Option<String>,
    /// How a row is tied to the anchors [default: auto]
    #[arg(long, value_name = "KIND", help_heading = METHOD)]
    #[arg(value_parser = word::<GraphKind>())]
    pub graph: Option<GraphKind>,
    /// How much '--graph auto' tries [default: auto]
    #[arg(long, value_name = "HOW", value_parser = word::<Effort>(), help_heading = METHOD)]
    pub effort: Option<Effort>,
    /// Anchors in a set: a number, or 'auto' [default: auto]
    #[arg(long, value_name = "M", value_parser = number_or_auto, help_heading = METHOD)]
    pub anchors: Option<NumberOr>,
    /// Anchor sets side by side [default: 5 for the global graph, else 1]
    #[arg(long, value_name = "SETS", help_heading = METHOD)]
    pub anchor_sets: Option<usize>,
    /// Anchors a row is tied to at first [default: 5]
    #[arg(long, value_name = "S", help_heading = METHOD)]
    pub neighbors: Option<usize>,
    /// What is done to the features first [default: auto]
    #[arg(long, value_name = "HOW", value_parser = word::<Scale>())]
    #[arg(help_heading = METHOD)]
    pub scale: Option<Scale>,
    /// What distance means [default: euclidean]
    #[arg(long, value_name = "WHICH", value_parser = word::<Metric>())]
    #[arg(help_heading = METHOD)]
    pub metric: Option<Metric>,
    /// How much '--graph auto' favors equal cluster sizes, 0 to 1 [default: 0.25]
    #[arg(long, value_name = "B", help_heading = METHOD, allow_negative_numbers = true)]
    pub balance: Option<f64>,
    /// Mark outlying rows with the label -1: about this share of the rows, or as many as the spread of
    /// their scores suggests with 'auto' [default: none]
    #[arg(long, value_name = "SHARE|auto", help_heading = METHOD, allow_negative_numbers = true)]
    pub noise: Option<Noise>,
    /// Measure how well the clusters come back on this many parts of the rows; 10 without a number
    /// [default: 0]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "10", help_heading = METHOD)]
    pub stability: Option<usize>,
    /// Where the labels start: spectral, kmeans, or a file of labels [default: spectral]
    #[arg(long, value_name = "START", help_heading = METHOD)]
    pub init: Option<String>,
    /// Weight of the cut in the objective, where --learn is on [default: 1]
    #[arg(long, value_name = "L", help_heading = METHOD, allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// Restarts; the best by a score without labels is kept [default: 1]
    #[arg(long, value_name = "N", help_heading = METHOD)]
    pub n_init: Option<usize>,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, help_heading = METHOD)]
    pub seed: Option<u64>,
    #[command(flatten)]
    threads: super::ThreadArgs,
    #[command(flatten)]
    advanced: AdvancedArgs,
}

/// Settings for comparisons and experiments.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = ADVANCED)]
struct AdvancedArgs {
    /// Use the rows of this table as anchors instead of learned ones
    #[arg(long, value_name = "FILE", conflicts_with = "anchors", hide_short_help = true)]
    given_anchors: Option<PathBuf>,
    /// Weights of the anchors in the cut [default: degree]
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    #[arg(value_parser = word::<AnchorWeights>())]
    anchor_weights: Option<AnchorWeights>,
    /// Whether lambda is measured in units of the data [default: relative]
    #[arg(long, value_name = "UNITS", hide_short_help = true)]
    #[arg(value_parser = word::<LambdaScale>())]
    lambda_scale: Option<LambdaScale>,
    /// What is learned after the start [default: nothing]
    #[arg(long, value_name = "WHAT", value_parser = word::<Learn>())]
    #[arg(hide_short_help = true)]
    learn: Option<Learn>,
    /// Whether the cut takes part in learning the graph [default: unified]
    #[arg(long, value_name = "FORM", hide_short_help = true)]
    #[arg(value_parser = word::<Formulation>())]
    formulation: Option<Formulation>,
    /// How the anchors are learned [default: proximal]
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    #[arg(value_parser = word::<AnchorUpdate>())]
    anchor_update: Option<AnchorUpdate>,
    /// Pull of the proximal anchor update towards the first anchors [default: 0.01]
    #[arg(long, value_name = "P", hide_short_help = true, allow_negative_numbers = true)]
    pull: Option<f64>,
    /// How the problem of a row is solved [default: exact]
    #[arg(long, value_name = "HOW", value_parser = word::<RowSolver>())]
    #[arg(hide_short_help = true)]
    row_solver: Option<RowSolver>,
    /// Ridge on the rows of the graph [default: 0]
    #[arg(long, value_name = "R", hide_short_help = true, allow_negative_numbers = true)]
    ridge: Option<f64>,
    /// Most iterations of the loop [default: 30]
    #[arg(long, value_name = "N", hide_short_help = true)]
    max_iter: Option<usize>,
    /// Stop when the objective changes by less than this [default: 1e-5]
    #[arg(long, value_name = "T", hide_short_help = true, allow_negative_numbers = true)]
    tol: Option<f64>,
    /// Whether to stop when no label changes
    #[arg(long, value_name = "BOOL", hide_short_help = true, hide_possible_values = true)]
    #[arg(help = "Stop also when no label changes: true or false [default: true]")]
    stop_on_labels: Option<bool>,
    /// Most label sweeps in an iteration [default: 10]
    #[arg(long, value_name = "N", hide_short_help = true)]
    max_sweeps: Option<usize>,
    /// Order in which the rows are swept [default: shuffled]
    #[arg(long, value_name = "ORDER", value_parser = word::<SweepOrder>())]
    #[arg(hide_short_help = true)]
    sweep_order: Option<SweepOrder>,
    /// Rows per anchor that train the anchors: a number, or 'all' [default: 100]
    #[arg(long, value_name = "N", value_parser = number_or_all, hide_short_help = true)]
    rows_per_anchor: Option<NumberOr>,
    /// Rows that a table with many more is clustered by before all take part: a number, 'auto', or
    /// 'all' [default: auto]
    #[arg(long, value_name = "N", value_parser = core_rows, hide_short_help = true)]
    core_rows: Option<CoreRows>,
    /// Whether wide tables are rotated to fewer columns first [default: auto]
    #[arg(long, value_name = "WHEN", value_parser = word::<Reduce>())]
    #[arg(hide_short_help = true)]
    reduce: Option<Reduce>,
}

impl MethodArgs {
    /// The settings meant: the preset, then every option given. Reads the files they name.
    pub fn params(&self) -> anyhow::Result<Params> {
        let (n_clusters, k_range) = match self.n_clusters {
            Clusters::Given(k) => (k, None),
            // What is chosen replaces the number.
            Clusters::Choose(low, high) => (low, Some((low, high))),
        };
        if n_clusters == 0 {
            // Known before the table is read, which may take minutes.
            return Err(obcut::Error::from(ParamError::NoClusters).into());
        }
        let mut params = match self.preset {
            Some(_) => Params::paper(n_clusters),
            None => Params::new(n_clusters),
        };
        params.k_range = k_range;
        if !self.set.is_empty() {
            bail!(Fault::Usage("--set is for other methods; name one with --method".into()));
        }
        let Self {
            n_clusters: _,
            method: _,
            set: _,
            preset: _,
            graph,
            effort,
            anchors,
            anchor_sets,
            neighbors,
            scale,
            metric,
            balance,
            noise,
            stability,
            init,
            lambda,
            n_init,
            seed,
            threads,
            advanced,
        } = self;
        set(&mut params.graph, graph);
        set(&mut params.effort, effort);
        set(&mut params.n_anchors, &anchors.map(|n| n.0));
        set(&mut params.n_anchor_sets, &anchor_sets.map(Some));
        set(&mut params.n_neighbors, neighbors);
        set(&mut params.scale, scale);
        set(&mut params.metric, metric);
        set(&mut params.balance, balance);
        set(&mut params.noise, &noise.map(Some));
        set(&mut params.stability, stability);
        set(&mut params.lambda, lambda);
        set(&mut params.n_init, n_init);
        set(&mut params.seed, seed);
        params.threads = threads.threads;
        advanced.apply(&mut params)?;
        if let Some(text) = init {
            params.init = start(text)?;
        }
        Ok(params)
    }
}

impl MethodArgs {
    /// The method named.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(Method::Obcut)
    }

    /// Settings of another method as they were given.
    pub fn settings(&self) -> anyhow::Result<Vec<(String, String)>> {
        (self.set.iter())
            .map(|text| match text.split_once('=') {
                Some((name, value)) => Ok((name.trim().to_string(), value.trim().to_string())),
                None => bail!(Fault::Usage(format!("--set '{text}': write NAME=VALUE"))),
            })
            .collect()
    }

    /// Seed, threads and memory of another method.
    pub fn run(&self, memory: Option<u64>) -> Run {
        let usual = Run::default();
        Run {
            seed: self.seed.unwrap_or(usual.seed),
            threads: self.threads.threads,
            memory: memory.unwrap_or(usual.memory),
        }
    }

    /// Options given that only OBCut has.
    pub fn given(&self) -> Vec<&'static str> {
        let Self { preset, graph, effort, anchors, anchor_sets, neighbors, scale, .. } = self;
        let given = [
            ("--preset", preset.is_some()),
            ("--graph", graph.is_some()),
            ("--effort", effort.is_some()),
            ("--anchors", anchors.is_some()),
            ("--anchor-sets", anchor_sets.is_some()),
            ("--neighbors", neighbors.is_some()),
            ("--scale", scale.is_some()),
            ("--metric", self.metric.is_some()),
            ("--balance", self.balance.is_some()),
            ("--noise", self.noise.is_some()),
            ("--stability", self.stability.is_some()),
            ("--init", self.init.is_some()),
            ("--lambda", self.lambda.is_some()),
            ("--n-init", self.n_init.is_some()),
            ("advanced options", self.advanced.is_given()),
        ];
        given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect()
    }
}

impl MethodArgs {
    /// A note when options of the learning loop are given while nothing is learned.
    pub fn idle(&self, params: &Params) -> Option<String> {
        let AdvancedArgs { lambda_scale, formulation, anchor_update, pull, .. } = &self.advanced;
        let given = [
            ("--lambda", self.lambda.is_some()),
            ("--lambda-scale", lambda_scale.is_some()),
            ("--formulation", formulation.is_some()),
            ("--anchor-update", anchor_update.is_some()),
            ("--pull", pull.is_some()),
        ];
        let idle: Vec<&str> =
            given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        (params.learn == Learn::Nothing && !idle.is_empty()).then(|| {
            format!(
                "{} had no say, as nothing is learned after the cut; add --learn anchors-and-graph",
                idle.join(", ")
            )
        })
    }
}

impl AdvancedArgs {
    /// Whether any of them was given.
    fn is_given(&self) -> bool {
        let mut params = Params::new(1);
        self.given_anchors.is_some() || self.apply(&mut params).is_err() || params != Params::new(1)
    }

    /// Puts every option given into the settings.
    fn apply(&self, params: &mut Params) -> anyhow::Result<()> {
        let Self {
            given_anchors,
            anchor_weights,
            lambda_scale,
            learn,
            formulation,
            anchor_update,
            pull,
            row_solver,
            ridge,
            max_iter,
            tol,
            stop_on_labels,
            max_sweeps,
            sweep_order,
            rows_per_anchor,
            core_rows,
            reduce,
        } = self;
        set(&mut params.anchor_weights, anchor_weights);
        set(&mut params.lambda_scale, lambda_scale);
        set(&mut params.learn, learn);
        set(&mut params.formulation, formulation);
        set(&mut params.anchor_update, anchor_update);
        set(&mut params.pull, pull);
        set(&mut params.row_solver, row_solver);
        set(&mut params.ridge, ridge);
        set(&mut params.max_iter, max_iter);
        set(&mut params.tol, tol);
        set(&mut params.stop_on_labels, stop_on_labels);
        set(&mut params.max_sweeps, max_sweeps);
        set(&mut params.sweep_order, sweep_order);
        set(&mut params.rows_per_anchor, &rows_per_anchor.map(|n| n.0));
        set(&mut params.core_rows, &core_rows.map(|rows| rows.0));
        set(&mut params.reduce, reduce);
        if let Some(path) = given_anchors {
            let (values, n_anchors) = anchors(path)?;
            params.anchors = Some(values);
            params.n_anchors = Some(n_anchors);
        }
        Ok(())
    }
}

fn set<T: Clone>(field: &mut T, given: &Option<T>) {
    if let Some(value) = given {
        *field = value.clone();
    }
}

/// The start of the labels: a word, else a file.
fn start(text: &str) -> anyhow::Result<Init> {
    match text {
        "spectral" => return Ok(Init::Spectral),
        "kmeans" => return Ok(Init::KMeans),
        _ => {}
    }
    let source = Source::parse(text);
    if matches!(&source, Source::Path(path) if !path.exists()) {
        bail!(Fault::Usage(format!(
            "--init '{text}' is neither a file nor a word; choose spectral, kmeans, or a file of labels"
        )));
    }
    Ok(Init::Given(obcut_data::load_labels(&source)?.codes))
}

/// The rows of a table in double precision, and how many they are.
fn anchors(path: &std::path::Path) -> anyhow::Result<(Vec<f64>, usize)> {
    let source = Source::Path(path.to_path_buf());
    let matrix = obcut_data::load(&source, &LoadOptions::default())?.matrix;
    let n_rows = matrix.n_rows();
    let values = match matrix {
        obcut::Matrix::Dense32 { values, .. } => values.into_iter().map(f64::from).collect(),
        obcut::Matrix::Dense64 { values, .. } => values,
        sparse => densify(&sparse).map_err(obcut::Error::from)?,
    };
    Ok((values, n_rows))
}

/// Anchors are few, so a sparse table of them may be spread out.
fn densify(matrix: &obcut::Matrix) -> Result<Vec<f64>, obcut::DataError> {
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use obcut::Params;

    /// The help names the defaults in words; this keeps them true.
    #[test]
    fn the_defaults_in_the_help_are_those_of_the_library() {
        let mut command = crate::args::Cli::command();
        let help = command
            .find_subcommand_mut("cluster")
            .expect("the command is there")
            .render_long_help()
            .to_string();
        let Params {
            graph,
            effort,
            scale,
            metric,
            balance,
            init,
            lambda,
            lambda_scale,
            learn,
            formulation,
            anchor_update,
            pull,
            row_solver,
            ridge,
            max_iter,
            tol,
            n_neighbors,
            anchor_weights,
            sweep_order,
            rows_per_anchor,
            reduce,
            ..
        } = Params::new(2);
        let words = [
            graph.name().to_string(),
            effort.name().into(),
            scale.name().into(),
            metric.name().into(),
            balance.to_string(),
            init.name().into(),
            lambda.to_string(),
            lambda_scale.name().into(),
            learn.name().into(),
            formulation.name().into(),
            anchor_update.name().into(),
            pull.to_string(),
            row_solver.name().into(),
            ridge.to_string(),
            max_iter.to_string(),
            format!("{tol:e}"),
            n_neighbors.to_string(),
            anchor_weights.name().into(),
            sweep_order.name().into(),
            rows_per_anchor.expect("a number by default").to_string(),
            reduce.name().into(),
        ];
        for word in words {
            assert!(help.contains(&format!("[default: {word}]")), "{word}");
        }
    }
}
