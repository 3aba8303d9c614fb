//! Scores without labels: the tables of `docs/quality.md`, on the data sets found in `OBCUT_DATA` and
//! on generated ones. `make quality` prints them all.
//!
//! ```text
//! quality all                          every table below
//! quality default [--data A,B] [--seeds 5] [effort=fast ...]    what a user gets who gives k alone
//! quality k [--data A,B]               k chosen from the data, against the number of classes
//! quality graphs [--data A,B] [--graph distance,local,global] [--seeds 5] [learn=auto ...]
//! quality anchors                      NMI against the number of anchors
//! quality abalone                      the paper's settings, lambda chosen with labels as the paper did
//! quality ablation                     the paper's ablations, likewise
//! ```
//!
//! Rows are shuffled by the seed before every run, so that nothing can profit from a sorted file.
//! Labels are read by the scorer alone, except where a table says that they choose lambda.

use std::time::Instant;

use obcut::metrics::{Scores, scores};
use obcut::{Formulation, GraphKind, Init, Learn, Params, RowSolver, Silent, fit};

use obcut_bench::data::{Data, named};
use obcut_bench::summary::mean_and_deviation;

/// The grid the paper chooses lambda from.
const LAMBDAS: [f64; 11] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let table = args.first().map_or("all", String::as_str);
    let seeds = option(&args, "--seeds").map_or(5, |v| v.parse().expect("a number of seeds"));
    if std::env::var_os("OBCUT_DATA").is_none() {
        println!(
            "OBCUT_DATA is not set: real data sets are left out, generated ones and digits run.\n"
        );
    }
    match table {
        "graphs" => graphs(&args, seeds),
        "default" => default(&args, seeds),
        "k" => numbers(&args, seeds.min(3)),
        "anchors" => anchors(seeds),
        "abalone" => abalone(seeds),
        "ablation" => ablation(seeds),
        "all" => {
            default(&args, seeds);
            numbers(&args, seeds.min(3));
            graphs(&args, seeds);
            anchors(seeds.min(3));
            abalone(seeds);
            ablation(seeds.min(3));
        }
        other => {
            eprintln!(
                "error: no table '{other}'; choose all, default, k, graphs, anchors, abalone or ablation"
            );
            std::process::exit(2);
        }
    }
}

/// Sets that took part in choosing the rules, and those that are only reported.
const TUNED: &str = "moons,rings,blobs,subspaces,digits,LR,PenDigits,USPS,Yale,Abalone,NG20rec_counts,NG20rec,Leeds";
const REPORTED: &str = "MNIST,COIL20,MPEG7";

/// What a user gets who gives k alone.
fn default(args: &[String], seeds: u64) {
    println!("## Default settings: mean ± standard deviation of {seeds} seeds\n");
    println!(
        "| data | role | NMI | ACC | purity | ARI | graphs kept | s |\n|---|---|---|---|---|---|---|---|"
    );
    for (name, role, data) in roles(args, 8) {
        let mut base = Params::new(data.k);
        args.iter().filter_map(|a| a.split_once('=')).for_each(|(k, v)| set(&mut base, k, v));
        let clock = Instant::now();
        let (mut all, mut kept) = (Vec::new(), std::collections::BTreeMap::new());
        for seed in 0..seeds {
            let data = data.shuffled(seed);
            let samples = data.matrix.samples().expect("a whole matrix");
            let found = fit(&samples, None, &Params { seed, ..base.clone() }, &Silent)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            all.push(scores(&found.labels, &data.truth).expect("labels of equal length"));
            let start = found.trace.tried.iter().find(|t| t.kept && t.start != "spectral");
            let start = start.map_or(String::new(), |t| format!(" ({})", t.start));
            *kept.entry(found.model.graph() + &start).or_insert(0) += 1;
        }
        let kept: Vec<String> = kept.iter().map(|(g, n)| format!("{g} {n}")).collect();
        let seconds = clock.elapsed().as_secs_f64() / seeds as f64;
        println!("| {name} | {role} | {} | {} | {seconds:.1} |", columns(&all), kept.join(", "));
    }
    println!();
}

/// k chosen from the data, against the number of classes and against eigengaps.
fn numbers(args: &[String], seeds: u64) {
    println!("## The number of clusters chosen from the data, {seeds} seeds\n");
    println!(
        "| data | role | classes | chosen by seed | within 20 % | eigengap by seed | within 20 % | s |\n|---|---|---|---|---|---|---|---|"
    );
    let (mut ours, mut gaps, mut n) = (0, 0, 0);
    for (name, role, data) in roles(args, 8) {
        let clock = Instant::now();
        let (mut chosen, mut words, mut gap) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..seeds {
            let data = data.shuffled(seed);
            let samples = data.matrix.samples().expect("a whole matrix");
            let mut params = Params { seed, ..Params::auto() };
            params.effort = obcut::Effort::Fast; // the labels are not looked at
            let found =
                fit(&samples, None, &params, &Silent).unwrap_or_else(|e| panic!("{name}: {e}"));
            let path = found.model.explanation().k_path.clone().expect("k was chosen");
            chosen.push(path.chosen);
            gap.push(path.eigengap);
            words.push(format!("{}{}", path.chosen, if path.clear { "" } else { "?" }));
        }
        let near = |k: &&usize| k.abs_diff(data.k) as f64 <= 0.2 * data.k as f64;
        let count = |all: &[usize]| all.iter().filter(near).count();
        (ours, gaps, n) = (ours + count(&chosen), gaps + count(&gap), n + seeds);
        println!(
            "| {name} | {role} | {} | {} | {} | {gap:?} | {} | {:.1} |",
            data.k,
            words.join(", "),
            count(&chosen),
            count(&gap),
            clock.elapsed().as_secs_f64() / seeds as f64
        );
    }
    println!(
        "\nWithin 20 %: {ours} of {n} runs, by eigengaps {gaps}. A question mark: the fit said that k is not clear.\n"
    );
}

/// The data sets asked for, or all, with their role.
fn roles(args: &[String], width: usize) -> impl Iterator<Item = (String, &'static str, Data)> {
    let names = option(args, "--data").unwrap_or_else(|| format!("{TUNED},{REPORTED}"));
    let names: Vec<String> = names.split(',').map(str::to_string).collect();
    names.into_iter().filter_map(move |name| {
        let is = |list: &str| list.split(',').any(|n| n == name);
        let role = if is(REPORTED) {
            "only reported"
        } else if is(TUNED) {
            "tuning"
        } else {
            "other"
        };
        found(&name, width).map(|(_, data)| (name.clone(), role, data))
    })
}

/// Every graph on every data set.
fn graphs(args: &[String], seeds: u64) {
    let sets = option(args, "--data").unwrap_or_else(|| {
        "moons,rings,blobs,subspaces,digits,LR,PenDigits,USPS,Yale,Abalone,NG20rec_counts".into()
    });
    let kinds = option(args, "--graph").unwrap_or_else(|| "distance,local,global".into());
    println!("## Graphs, default settings otherwise: mean ± standard deviation of {seeds} seeds\n");
    println!("| data | graph | NMI | ACC | purity | ARI | s |\n|---|---|---|---|---|---|---|");
    for (name, data) in sets.split(',').filter_map(|name| found(name, 7)) {
        for kind in kinds.split(',') {
            let mut base = Params { graph: word(kind), ..Params::new(data.k) };
            args.iter().filter_map(|a| a.split_once('=')).for_each(|(k, v)| set(&mut base, k, v));
            let (runs, seconds) = runs(&data, seeds, |seed| Params { seed, ..base.clone() });
            println!("| {name} | {kind} | {} | {seconds:.2} |", columns(&runs));
        }
    }
    println!();
}

/// NMI against the number of anchors, for the rule of the automatic choice.
fn anchors(seeds: u64) {
    println!("## NMI against the number of anchors: mean ± standard deviation of {seeds} seeds\n");
    let counts = [50, 100, 200, 300, 500, 1000, 2000];
    let head: Vec<String> = counts.iter().map(usize::to_string).collect();
    println!(
        "| data | graph | auto | {} |\n|---|---|---|{}",
        head.join(" | "),
        "---|".repeat(counts.len())
    );
    for (name, data) in
        ["digits", "LR", "PenDigits", "USPS"].into_iter().filter_map(|n| found(n, 10))
    {
        let n = data.truth.len();
        for graph in GraphKind::NAMED {
            let cell = |n_anchors: Option<usize>| {
                if n_anchors.is_some_and(|m| m > n / 2 || (graph == GraphKind::Global && m > 500)) {
                    return "-".to_string();
                }
                let (runs, _) = runs(&data, seeds, |seed| Params {
                    graph,
                    n_anchors,
                    seed,
                    ..Params::new(data.k)
                });
                column(&runs, |s| s.nmi)
            };
            let cells: Vec<String> = counts.iter().map(|&m| cell(Some(m))).collect();
            println!("| {name} | {graph} | {} | {} |", cell(None), cells.join(" | "));
        }
    }
    println!();
}

/// Abalone with the paper's settings: lambda from the paper's grid, chosen with the labels. The
/// authors' row solver takes minutes per seed.
fn abalone(seeds: u64) {
    println!("## Abalone, `preset = paper`, lambda chosen WITH labels as the paper did\n");
    println!(
        "| row solver | seeds | best lambda by seed | NMI | ACC | purity | ARI |\n|---|---|---|---|---|---|---|"
    );
    let Some((_, data)) = found("Abalone", 7) else { return };
    for (row_solver, seeds) in [(RowSolver::Exact, seeds), (RowSolver::Authors, seeds.min(2))] {
        let (mut best, mut lambdas) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let (lambda, score) = best_lambda(&data, seed, &|p| Params { row_solver, ..p });
            lambdas.push(format!("{lambda:.0e}"));
            best.push(score);
        }
        println!("| {row_solver} | {seeds} | {} | {} |", lambdas.join(", "), columns(&best));
    }
    println!();
}

/// What the paper's ablations give: anchors and graph learned or not, one step or two.
fn ablation(seeds: u64) {
    println!(
        "## Ablations of the paper, exact row solver, lambda chosen WITH labels, {seeds} seeds\n"
    );
    println!("| data | variant | NMI | ACC | purity | ARI |\n|---|---|---|---|---|---|");
    let variants = [
        ("LA+LG", Learn::AnchorsAndGraph, Formulation::Unified),
        ("FA+LG", Learn::GraphOnly, Formulation::Unified),
        ("FA+FG", Learn::Nothing, Formulation::Unified),
        ("two-step", Learn::AnchorsAndGraph, Formulation::TwoStep),
    ];
    for (name, data) in ["Abalone", "Yale", "digits"].into_iter().filter_map(|n| found(n, 6)) {
        for (variant, learn, formulation) in variants {
            let best: Vec<Scores> = (0..seeds)
                .map(|seed| best_lambda(&data, seed, &|p| Params { learn, formulation, ..p }).1)
                .collect();
            println!("| {name} | {variant} | {} |", columns(&best));
        }
    }
    println!();
}

/// The best NMI over the paper's grid, and its lambda.
fn best_lambda(data: &Data, seed: u64, variant: &dyn Fn(Params) -> Params) -> (f64, Scores) {
    let data = data.shuffled(seed);
    let mut best: Option<(f64, Scores)> = None;
    for lambda in LAMBDAS {
        let params = variant(Params { lambda, seed, ..Params::paper(data.k) });
        let score = run(&data, &params);
        if best.is_none_or(|(_, b)| score.nmi > b.nmi) {
            best = Some((lambda, score));
        }
        if params.learn == Learn::Nothing {
            break; // lambda has no say
        }
    }
    best.expect("the grid is not empty")
}

fn runs(data: &Data, seeds: u64, params: impl Fn(u64) -> Params) -> (Vec<Scores>, f64) {
    let clock = Instant::now();
    let runs = (0..seeds).map(|seed| run(&data.shuffled(seed), &params(seed))).collect();
    (runs, clock.elapsed().as_secs_f64() / seeds as f64)
}

fn run(data: &Data, params: &Params) -> Scores {
    let samples = data.matrix.samples().expect("a whole matrix");
    let found = fit(&samples, None, params, &Silent).unwrap_or_else(|e| panic!("{params:?}: {e}"));
    scores(&found.labels, &data.truth).expect("labels of equal length")
}

fn columns(runs: &[Scores]) -> String {
    let all: [fn(&Scores) -> f64; 4] = [|s| s.nmi, |s| s.acc, |s| s.purity, |s| s.ari];
    all.map(|f| column(runs, f)).join(" | ")
}

fn column(runs: &[Scores], f: fn(&Scores) -> f64) -> String {
    let (mean, deviation) = mean_and_deviation(runs.iter().map(f));
    format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * deviation)
}

/// The data set, or a row of `width` cells that says it is not there.
fn found(name: &str, width: usize) -> Option<(&str, Data)> {
    let data = named(name).unwrap_or_else(|error| panic!("{error}"));
    if data.is_none() {
        println!("| {name} | skipped: not in OBCUT_DATA |{}", " |".repeat(width - 2));
    }
    data.map(|data| (name, data))
}

fn set(params: &mut Params, key: &str, value: &str) {
    let number = || value.parse().expect("a number");
    match key {
        "anchors" => params.n_anchors = Some(number()),
        "sets" => params.n_anchor_sets = Some(number()),
        "neighbors" => params.n_neighbors = number(),
        "n_init" => params.n_init = number(),
        "learn" => params.learn = word(value),
        "effort" => params.effort = word(value),
        "weights" => params.anchor_weights = word(value),
        "scale" => params.scale = word(value),
        "lambda" => params.lambda = value.parse().expect("a number"),
        "init" => params.init = if value == "kmeans" { Init::KMeans } else { Init::Spectral },
        _ => panic!("unknown setting {key}"),
    }
}

fn word<T: std::str::FromStr<Err = obcut::ParamError>>(value: &str) -> T {
    value.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn option(args: &[String], name: &str) -> Option<String> {
    args.iter().position(|a| a == name).and_then(|i| args.get(i + 1).cloned())
}
