//! The number of clusters chosen from the data, with clusters and without.

use obcut::{KPath, Params};

use crate::generate::{Random, SHAPES, SIZES};
use crate::harness::{Harness, Timed, head};
use crate::protocol::{Role, by_name};

/// The data sets of the table.
const SETS: [&str; 15] = [
    "moons",
    "rings",
    "blobs",
    "subspaces",
    "digits",
    "LR",
    "PenDigits",
    "Yale",
    "Abalone",
    "NG20rec",
    "USPS",
    "NG20rec_counts",
    "COIL20",
    "MPEG7",
    "MNIST",
];

/// How k was chosen.
fn path(timed: &Timed) -> Result<&KPath, String> {
    timed.fit.model().explanation().k_path.as_ref().ok_or_else(|| "the fit chose no k".into())
}

/// k chosen from the data, against the number of classes. Only the table `final` runs all sets.
pub fn k(harness: &mut Harness, is_final: bool) -> Result<(), String> {
    let usual = SETS.map(by_name).into_iter().filter(|set| is_final || set.role != Role::Final);
    let sets = harness.chosen(usual.collect(), is_final)?;
    if sets.is_empty() {
        return Ok(());
    }
    let seeds = harness.options.seeds(2);
    head(
        &format!("The number of clusters chosen from the data, {seeds} seeds"),
        &[
            "data",
            "role",
            "classes",
            "chosen by seed",
            "within 20 %",
            "clear and wrong",
            "s",
            "s with k given",
            "ratio",
        ],
    );
    let (mut n_near, mut n_wrong, mut n_sets) = (0, 0, 0);
    harness.each(&sets, 7, |harness, set, table| {
        let (mut words, mut near, mut wrong, mut seconds) = (Vec::new(), 0, 0, [0.0; 2]);
        for seed in 0..seeds {
            let data = table.data.shuffled(seed);
            let timed = harness.fit(&data, &harness.options.params(Params::auto(), seed)?)?;
            let scores = table.partition().score(&timed.fit.labels(), &data.truth)?;
            harness.record(("k", &set.name), seed, &timed, scores)?;
            let path = path(&timed)?;
            let is_near = path.chosen.abs_diff(table.k()) as f64 <= 0.2 * table.k() as f64;
            near += usize::from(is_near);
            wrong += usize::from(path.clear && !is_near);
            words.push(format!("{}{}", path.chosen, if path.clear { "" } else { "?" }));
            let given = harness.options.params(Params::new(table.k()), seed)?;
            seconds[0] += timed.seconds / seeds as f64;
            seconds[1] += harness.fit(&data, &given)?.seconds / seeds as f64;
        }
        n_sets += 1;
        n_near += usize::from(near as u64 == seeds);
        n_wrong += usize::from(wrong > 0);
        Ok(vec![
            table.k().to_string(),
            words.join(", "),
            near.to_string(),
            wrong.to_string(),
            format!("{:.1}", seconds[0]),
            format!("{:.1}", seconds[1]),
            format!("{:.1}", seconds[0] / seconds[1]),
        ])
    });
    println!(
        "\nWithin 20 % with every seed: {n_near} of {n_sets} data sets. Clear and wrong with any seed: {n_wrong}. A question mark: the fit said that k is not clear.\n"
    );
    Ok(())
}

/// k chosen from data without clusters: a clear k above 1 is wrong.
pub fn null(harness: &mut Harness) {
    let seeds = harness.options.seeds(1);
    if !SHAPES.iter().any(|(shape, _)| harness.options.wants(shape.name())) {
        return;
    }
    head(
        "Tables without clusters: the number of clusters chosen",
        &["data", "role", "features", "rows", "k by table", "clear above 1", "s"],
    );
    let (mut n_tables, mut n_clear) = (0, 0);
    for (shape, n_cols) in SHAPES {
        if !harness.options.wants(shape.name()) {
            continue;
        }
        for n in SIZES {
            let (mut words, mut clear, mut seconds) = (Vec::new(), 0, 0.0);
            for seed in 0..seeds {
                let case = format!("{} {n_cols} {n}", shape.name());
                let draw = Random::seed_of(&case, seed);
                match one(harness, shape.table(n, n_cols, draw), seed) {
                    Ok((chosen, is_clear, s)) => {
                        words.push(format!("{chosen}{}", if is_clear { "" } else { "?" }));
                        clear += usize::from(is_clear && chosen > 1);
                        seconds += s / seeds as f64;
                    }
                    Err(error) => {
                        words.push(format!("failed: {error}"));
                        harness.fail(format!("{}, {n} rows: {error}", shape.name()));
                    }
                }
            }
            (n_tables, n_clear) = (n_tables + seeds, n_clear + clear);
            println!(
                "| {} | tuning | {n_cols} | {n} | {} | {clear} | {seconds:.2} |",
                shape.name(),
                words.join(", ")
            );
        }
    }
    println!(
        "\nA clear k above 1: {n_clear} of {n_tables} tables. A question mark: the fit said that k is not clear.\n"
    );
}

fn one(
    harness: &mut Harness,
    table: crate::table::Table,
    seed: u64,
) -> Result<(usize, bool, f64), String> {
    let params = harness.options.params(Params::auto(), seed)?;
    let timed = harness.fit(&table.data.shuffled(seed), &params)?;
    let path = path(&timed)?;
    Ok((path.chosen, path.clear, timed.seconds))
}
