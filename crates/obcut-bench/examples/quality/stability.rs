//! Agreement of fits with each other: over seeds, and over single and double precision. No labels.

use obcut::Params;
use obcut::metrics::ari;
use obcut_bench::summary::mean_and_deviation;

use crate::harness::{Harness, fraction, head};
use crate::protocol::by_name;
use crate::table::Table;

/// Mean ARI between every two of ten fits, rows shuffled by the seed.
pub fn seeds(harness: &mut Harness) -> Result<(), String> {
    let sets = ["iris", "wine", "breast_cancer", "digits"].map(by_name).to_vec();
    let sets = harness.chosen(sets, false)?;
    if sets.is_empty() {
        return Ok(());
    }
    let n_seeds = harness.options.seeds(10);
    head(
        &format!("Agreement of {n_seeds} seeds: ARI of every two fits"),
        &["data", "role", "k", "mean", "least"],
    );
    harness.each(&sets, 3, |harness, _, table| {
        let labels: Vec<Vec<u32>> =
            (0..n_seeds).map(|seed| labels(harness, table, seed)).collect::<Result<_, _>>()?;
        let mut all = Vec::new();
        for (i, a) in labels.iter().enumerate() {
            for b in &labels[..i] {
                all.push(ari(a, b).map_err(|error| error.to_string())?);
            }
        }
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = mean_and_deviation(all.into_iter()).0;
        Ok(vec![table.k().to_string(), format!("{mean:.3}"), format!("{least:.3}")])
    });
    println!();
    Ok(())
}

/// ARI between fits of the same rows in single and in double precision.
pub fn precision(harness: &mut Harness) {
    let sets = vec![by_name("digits")];
    if !harness.options.wants("digits") {
        return;
    }
    let n_seeds = harness.options.seeds(5);
    head(
        &format!("Single against double precision: ARI of {n_seeds} seeds"),
        &["data", "role", "mean", "least"],
    );
    harness.each(&sets, 2, |harness, _, table| {
        let (single, double) = (table.in_precision(true), table.in_precision(false));
        let mut all = Vec::new();
        for seed in 0..n_seeds {
            let (a, b) = (labels(harness, &single, seed)?, labels(harness, &double, seed)?);
            all.push(ari(&a, &b).map_err(|error| error.to_string())?);
        }
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(vec![fraction(all.into_iter()), format!("{least:.3}")])
    });
    println!();
}

/// Labels of a fit of shuffled rows, in the order before the shuffle.
fn labels(harness: &Harness, table: &Table, seed: u64) -> Result<Vec<u32>, String> {
    let data = table.data.shuffled(seed);
    let params = harness.options.params(Params::new(table.k()), seed)?;
    let fit = harness.fit(&data, &params)?.fit;
    let mut labels = vec![0; fit.labels().len()];
    data.truth.iter().zip(&fit.labels()).for_each(|(&row, &label)| labels[row as usize] = label);
    Ok(labels)
}
