//! Scores with k given: the real tables, the suite, and rows held out of the fit.

use obcut::Params;
use obcut_bench::data::LabelledData;
use obcut_bench::summary::mean_and_deviation;

use crate::harness::{Harness, Run, columns, fraction, graphs, head, percent, seconds};
use crate::protocol::{Kind, Role, Set, by_name, of};

/// Tables that are no part of the suite.
const TABLES: [Kind; 4] = [Kind::Generated, Kind::Shipped, Kind::Real, Kind::Keel];

/// What a user gets who gives k alone.
pub fn default(harness: &mut Harness, role: Role) -> Result<(), String> {
    let sets = harness.chosen(of(role, &TABLES), role == Role::Final)?;
    if sets.is_empty() {
        return Ok(());
    }
    let seeds = harness.options.seeds(5);
    let title = format!("Default settings, k given: mean ± standard deviation of {seeds} seeds");
    head(&title, &["data", "role", "NMI", "ACC", "purity", "ARI", "kept", "s"]);
    harness.each(&sets, 6, |harness, set, table| {
        let base = Params::new(table.k());
        let runs: Vec<Run> = (0..seeds)
            .map(|seed| harness.run(("default", &set.name), table, &base, seed))
            .collect::<Result<_, _>>()?;
        Ok([columns(&runs), vec![graphs(&runs), seconds(&runs)]].concat())
    });
    println!();
    Ok(())
}

/// ARI on the sets of the suite: one fit per distinct k of the reference partitions, the best ARI.
pub fn suite(harness: &mut Harness, role: Role) -> Result<(), String> {
    let sets = harness.chosen(of(role, &[Kind::Suite]), role == Role::Final)?;
    if sets.is_empty() {
        return Ok(());
    }
    let seeds = harness.options.seeds(5);
    let title = format!("The suite, k given: mean ± standard deviation of {seeds} seeds");
    head(&title, &["data", "role", "rows", "k", "ARI", "kept", "s"]);
    let mut means: Vec<(String, f64)> = Vec::new();
    harness.each(&sets, 5, |harness, set, table| {
        let (mut best, mut kept) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let data = table.data.shuffled(seed);
            let mut ari = f64::NEG_INFINITY;
            for k in table.numbers() {
                let params = harness.options.params(Params::new(k), seed)?;
                let timed = harness.fit(&data, &params)?;
                let labels = &timed.fit.labels();
                let found = Harness::best(&table.partitions, k, labels, &data.truth)?;
                let scores = found.ok_or("no partition has this k")?;
                ari = ari.max(scores.ari);
                kept.push(harness.record(("suite", &set.name), seed, &timed, scores)?);
            }
            best.push(ari);
        }
        means.push((set.name.clone(), mean_and_deviation(best.iter().copied()).0));
        let numbers: Vec<String> = table.numbers().iter().map(usize::to_string).collect();
        Ok(vec![
            table.n_rows().to_string(),
            numbers.join("/"),
            fraction(best.into_iter()),
            graphs(&kept),
            seconds(&kept),
        ])
    });
    println!();
    for battery in ["wut", "sipu", "graves"] {
        let of = |(name, _): &&(String, f64)| name.split('-').next() == Some(battery);
        let found: Vec<f64> = means.iter().filter(of).map(|&(_, mean)| mean).collect();
        if !found.is_empty() {
            let mean = mean_and_deviation(found.iter().copied()).0;
            println!("Mean ARI of {battery}: {mean:.3} ({} sets).", found.len());
        }
    }
    println!();
    Ok(())
}

/// 20 % of the rows are held out of the fit and labelled by the model.
pub fn held_out(harness: &mut Harness, role: Role) -> Result<(), String> {
    let usual = match role {
        Role::Final => ["USPS", "MNIST", "COIL20"].map(by_name).to_vec(),
        _ => of(role, &TABLES),
    };
    let sets: Vec<Set> = harness.chosen(usual, role == Role::Final)?;
    if sets.is_empty() {
        return Ok(());
    }
    let seeds = harness.options.seeds(5);
    let title = format!("20 % of the rows held out of the fit: NMI, {seeds} seeds");
    let columns = ["data", "role", "fitted rows", "as many fitted rows", "held-out rows", "lost"];
    head(&title, &columns);
    harness.each(&sets, 4, |harness, set, table| {
        let mut all = Vec::new();
        for seed in 0..seeds {
            let params = harness.options.params(Params::new(table.k()), seed)?;
            let Parts { fitted, held } = Parts::new(&table.data.shuffled(seed));
            let timed = harness.fit(&fitted, &params)?;
            let scores = table.partition().score(&timed.fit.labels(), &fitted.truth)?;
            harness.record(("held-out", &set.name), seed, &timed, scores)?;
            let found = timed.fit.model().predict(&held.matrix);
            let found = found.map_err(|error| error.to_string())?;
            let outside = table.partition().score(&found, &held.truth)?;
            let n = held.n_rows();
            let inside = table.partition().score(&timed.fit.labels()[..n], &fitted.truth[..n])?;
            all.push([scores.nmi, inside.nmi, outside.nmi, inside.nmi - outside.nmi]);
        }
        Ok((0..4).map(|i| percent(all.iter().map(|run| run[i]))).collect())
    });
    println!(
        "\nNMI of few rows is a little larger than NMI of many: compare the held-out rows with as many fitted rows.\n"
    );
    Ok(())
}

/// Rows that take part in the fit and rows that do not.
struct Parts {
    fitted: LabelledData,
    held: LabelledData,
}

impl Parts {
    fn new(data: &LabelledData) -> Self {
        let n = data.n_rows();
        let n_fitted = n - n / 5;
        let order: Vec<usize> = (0..n).collect();
        Self { fitted: data.subset(&order[..n_fitted]), held: data.subset(&order[n_fitted..]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn a_fifth_of_the_rows_is_held_out() {
        let digits = table(&by_name("digits")).unwrap().unwrap();
        let Parts { fitted, held } = Parts::new(&digits.data.shuffled(1));
        assert_eq!((fitted.n_rows(), held.n_rows()), (1438, 359));
        let mut rows = [fitted.truth, held.truth].concat();
        rows.sort_unstable();
        assert!(rows.iter().enumerate().all(|(i, &row)| i as u32 == row));
    }
}
