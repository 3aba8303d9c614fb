//! Quality without labels: the tables of `docs/quality.md`, on the data sets found in `OBCUT_DATA`
//! and on generated ones. Run by `make quality`; `--help` lists what can be chosen.
//!
//! Rows are shuffled by the seed before every run, so that nothing can profit from a sorted file.
//! Labels are read by the scorer alone (the table of the paper's preset says where they choose).

use std::path::PathBuf;
use std::time::Instant;

use obcut::metrics::{Scores, scores};
use obcut::{Matrix, Params, Silent, fit, synthetic};
use obcut_data::{LoadOptions, Source, load};

#[path = "quality/protocol.rs"]
mod protocol;

use protocol::{Data, mean_and_deviation, shuffle};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let sets: Vec<String> = option(&args, "--data").map_or_else(all_names, |v| split(&v));
    let kinds: Vec<String> =
        option(&args, "--graph").map_or_else(|| split("distance,local,global"), |v| split(&v));
    let seeds: u64 = option(&args, "--seeds").map_or(5, |v| v.parse().expect("a number of seeds"));
    println!(
        "{:<12} {:<9} {:>13} {:>13} {:>13} {:>13} {:>7}",
        "data", "graph", "NMI", "ACC", "purity", "ARI", "s"
    );
    for name in &sets {
        let Some(data) = protocol::named(name) else {
            println!("{name:<12} skipped: not in OBCUT_DATA");
            continue;
        };
        for kind in &kinds {
            let mut runs: Vec<Scores> = Vec::new();
            let clock = Instant::now();
            for seed in 0..seeds {
                let data = shuffle(&data, seed);
                let mut params = Params {
                    seed,
                    graph: kind.parse().expect("a graph"),
                    ..Params::new(data.k)
                };
                for (key, value) in args.iter().filter_map(|a| a.split_once('=')) {
                    set(&mut params, key, value);
                }
                let samples = data.matrix.samples().expect("a whole matrix");
                let found = fit(&samples, None, &params, &Silent).expect("a fit");
                runs.push(scores(&found.labels, &data.truth).expect("labels of equal length"));
                if args.iter().any(|a| a == "-v") {
                    eprintln!(
                        "{:?} {:?} {:?}",
                        found.trace.seconds, found.warnings, found.trace.cut
                    );
                }
            }
            let seconds = clock.elapsed().as_secs_f64() / seeds as f64;
            let column = |f: fn(&Scores) -> f64| {
                let (mean, deviation) = mean_and_deviation(runs.iter().map(f));
                format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * deviation)
            };
            println!(
                "{name:<12} {kind:<9} {:>13} {:>13} {:>13} {:>13} {seconds:>7.2}",
                column(|s| s.nmi),
                column(|s| s.acc),
                column(|s| s.purity),
                column(|s| s.ari)
            );
        }
    }
}

fn set(params: &mut Params, key: &str, value: &str) {
    match key {
        "anchors" => params.n_anchors = Some(value.parse().unwrap()),
        "sets" => params.n_anchor_sets = Some(value.parse().unwrap()),
        "neighbors" => params.n_neighbors = value.parse().unwrap(),
        "learn" => params.learn = value.parse().unwrap(),
        "weights" => params.anchor_weights = value.parse().unwrap(),
        "n_init" => params.n_init = value.parse().unwrap(),
        "lambda" => params.lambda = value.parse().unwrap(),
        "scale" => params.scale = value.parse().unwrap(),
        "init" => {
            params.init = if value == "kmeans" {
                obcut::Init::KMeans
            } else {
                obcut::Init::Spectral
            }
        }
        "rows" => params.rows_per_anchor = Some(value.parse().unwrap()),
        _ => panic!("unknown setting {key}"),
    }
}

fn option(args: &[String], name: &str) -> Option<String> {
    args.iter()
        .position(|a| a == name)
        .and_then(|i| args.get(i + 1).cloned())
}
fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::to_string).collect()
}
fn all_names() -> Vec<String> {
    split("moons,rings,blobs,subspaces,digits,LR,PenDigits,USPS,Yale")
}
