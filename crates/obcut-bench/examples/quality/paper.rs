//! Tables of single settings: graphs, scalings, numbers of anchors, and the paper's own settings.

use obcut::{Formulation, GraphKind, Learn, Params, RowSolver, Scale};
use obcut_bench::summary::mean_and_deviation;

use crate::harness::{Harness, Run, columns, head, percent, seconds};
use crate::protocol::{Kind, Role, by_name, of};
use crate::table::Table;

/// The grid the paper chooses lambda from.
const LAMBDAS: [f64; 11] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5];

/// Every graph on every data set.
pub fn graphs(harness: &mut Harness) -> Result<(), String> {
    let usual = ["moons", "rings", "blobs", "subspaces", "digits", "LR", "PenDigits", "Yale"];
    let usual = usual.into_iter().chain(["Abalone", "NG20rec"]).map(by_name).collect();
    let sets = harness.chosen(usual, false)?;
    if sets.is_empty() {
        return Ok(());
    }
    let kinds: Vec<GraphKind> = match &harness.options.graphs {
        Some(words) => words.iter().map(|w| w.parse()).collect::<Result<_, _>>(),
        None => ["distance", "local", "global"].iter().map(|w| w.parse()).collect(),
    }
    .map_err(|error: obcut::ParamError| error.to_string())?;
    let n_seeds = harness.options.seeds(5);
    for graph in kinds {
        let title = format!("Graph `{graph}`, default settings otherwise, {n_seeds} seeds");
        head(&title, &["data", "role", "NMI", "ACC", "purity", "ARI", "s"]);
        harness.each(&sets, 5, |harness, set, table| {
            let base = Params { graph, ..Params::new(table.k()) };
            let runs = runs(harness, ("graphs", &set.name), table, &base, n_seeds)?;
            Ok([columns(&runs), vec![seconds(&runs)]].concat())
        });
        println!();
    }
    Ok(())
}

/// NMI of every scaling beside that of the rule.
pub fn scalings(harness: &mut Harness) -> Result<(), String> {
    let usual = of(Role::Tuning, &[Kind::Shipped, Kind::Real, Kind::Keel]);
    let sets = harness.chosen(usual, false)?;
    if sets.is_empty() {
        return Ok(());
    }
    let n_seeds = harness.options.seeds(3);
    let scales =
        [Scale::Auto, Scale::MinMax, Scale::Standard, Scale::Robust, Scale::UnitRows, Scale::None];
    let names: Vec<String> = scales.iter().map(|scale| format!("`{scale}`")).collect();
    let mut cells = vec!["data", "role"];
    cells.extend(names.iter().map(String::as_str));
    head(&format!("NMI of every scaling, k given, {n_seeds} seeds"), &cells);
    let mut sums = vec![Vec::new(); scales.len()];
    harness.each(&sets, scales.len(), |harness, set, table| {
        let mut row = Vec::new();
        for (&scale, sum) in scales.iter().zip(&mut sums) {
            let base = Params { scale, ..Params::new(table.k()) };
            // Sparse rows have no centre that could be taken off without filling them up.
            match runs(harness, ("scalings", &set.name), table, &base, n_seeds) {
                Ok(runs) => {
                    sum.push((set.name.clone(), mean_and_deviation(nmi(&runs)).0));
                    row.push(percent(nmi(&runs)));
                }
                Err(_) if scale != Scale::Auto => row.push("-".into()),
                Err(error) => return Err(error),
            }
        }
        Ok(row)
    });
    // Means over the sets that every scaling can take.
    let taken = |name: &String| sums.iter().all(|sum| sum.iter().any(|(n, _)| n == name));
    let mean = |sum: &Vec<(String, f64)>| {
        let values = sum.iter().filter(|(name, _)| taken(name)).map(|(_, value)| *value);
        format!("{:.1}", 100.0 * mean_and_deviation(values).0)
    };
    println!("| mean | | {} |\n", sums.iter().map(mean).collect::<Vec<_>>().join(" | "));
    Ok(())
}

fn nmi(runs: &[Run]) -> impl Iterator<Item = f64> {
    runs.iter().map(|run| run.scores.nmi)
}

/// NMI against the number of anchors, for the rule of the automatic choice.
pub fn anchors(harness: &mut Harness) -> Result<(), String> {
    let sets = harness.chosen(["digits", "LR", "PenDigits"].map(by_name).to_vec(), false)?;
    if sets.is_empty() {
        return Ok(());
    }
    let n_seeds = harness.options.seeds(3);
    let counts = [50, 100, 200, 300, 500, 1000, 2000];
    for graph in [GraphKind::Global, GraphKind::Local, GraphKind::Distance] {
        let names: Vec<String> = counts.iter().map(usize::to_string).collect();
        let mut cells = vec!["data", "role", "auto"];
        cells.extend(names.iter().map(String::as_str));
        let title = format!("NMI against the number of anchors, graph `{graph}`, {n_seeds} seeds");
        head(&title, &cells);
        harness.each(&sets, counts.len() + 1, |harness, set, table| {
            let mut cell = |n_anchors: Option<usize>| {
                let most = table.n_rows() / 2;
                if n_anchors.is_some_and(|m| m > most || (graph == GraphKind::Global && m > 500)) {
                    return Ok("-".to_string());
                }
                let base = Params { graph, n_anchors, ..Params::new(table.k()) };
                let runs = runs(harness, ("anchors", &set.name), table, &base, n_seeds)?;
                Ok(percent(nmi(&runs)))
            };
            std::iter::once(None).chain(counts.iter().copied().map(Some)).map(&mut cell).collect()
        });
        println!();
    }
    Ok(())
}

/// Abalone with the paper's settings: lambda from the paper's grid, chosen with the labels. The
/// authors' row solver takes minutes per seed.
pub fn abalone(harness: &mut Harness) {
    if !harness.options.wants("Abalone") {
        return;
    }
    let n_seeds = harness.options.seeds(5);
    for (row_solver, n_seeds) in [(RowSolver::Exact, n_seeds), (RowSolver::Authors, n_seeds.min(2))]
    {
        let title = format!(
            "Abalone, `preset = paper`, row solver {row_solver}, lambda chosen WITH labels as the paper did, {n_seeds} seeds"
        );
        head(&title, &["data", "role", "best lambda by seed", "NMI", "ACC", "purity", "ARI"]);
        harness.each(&[by_name("Abalone")], 5, |harness, set, table| {
            let (mut best, mut lambdas) = (Vec::new(), Vec::new());
            for seed in 0..n_seeds {
                let base = Params { row_solver, ..Params::paper(table.k()) };
                let name = ("abalone", set.name.as_str());
                let (lambda, run) = best_lambda(harness, name, table, &base, seed)?;
                lambdas.push(format!("{lambda:.0e}"));
                best.push(run);
            }
            Ok([vec![lambdas.join(", ")], columns(&best)].concat())
        });
        println!();
    }
}

/// What the paper's ablations give: anchors and graph learned or not, one step or two.
pub fn ablation(harness: &mut Harness) -> Result<(), String> {
    let sets = harness.chosen(["Abalone", "Yale", "digits"].map(by_name).to_vec(), false)?;
    if sets.is_empty() {
        return Ok(());
    }
    let n_seeds = harness.options.seeds(3);
    let variants = [
        ("LA+LG", Learn::AnchorsAndGraph, Formulation::Unified),
        ("FA+LG", Learn::GraphOnly, Formulation::Unified),
        ("FA+FG", Learn::Nothing, Formulation::Unified),
        ("two-step", Learn::AnchorsAndGraph, Formulation::TwoStep),
    ];
    for (variant, learn, formulation) in variants {
        let title = format!(
            "Ablation {variant} of the paper, exact row solver, lambda chosen WITH labels, {n_seeds} seeds"
        );
        head(&title, &["data", "role", "NMI", "ACC", "purity", "ARI"]);
        harness.each(&sets, 4, |harness, set, table| {
            let base = Params { learn, formulation, ..Params::paper(table.k()) };
            let name = ("ablation", set.name.as_str());
            let best: Vec<Run> = (0..n_seeds)
                .map(|seed| Ok(best_lambda(harness, name, table, &base, seed)?.1))
                .collect::<Result<_, String>>()?;
            Ok(columns(&best))
        });
        println!();
    }
    Ok(())
}

/// The best NMI over the paper's grid, and its lambda.
fn best_lambda(
    harness: &mut Harness,
    name: (&str, &str),
    table: &Table,
    base: &Params,
    seed: u64,
) -> Result<(f64, Run), String> {
    let mut best: Option<(f64, Run)> = None;
    for lambda in LAMBDAS {
        let run = harness.run(name, table, &Params { lambda, ..base.clone() }, seed)?;
        if best.as_ref().is_none_or(|(_, b)| run.scores.nmi > b.scores.nmi) {
            best = Some((lambda, run));
        }
        if base.learn == Learn::Nothing {
            break; // lambda is ignored
        }
    }
    best.ok_or_else(|| "the grid is empty".into())
}

fn runs(
    harness: &mut Harness,
    name: (&str, &str),
    table: &Table,
    base: &Params,
    n_seeds: u64,
) -> Result<Vec<Run>, String> {
    (0..n_seeds).map(|seed| harness.run(name, table, base, seed)).collect()
}
