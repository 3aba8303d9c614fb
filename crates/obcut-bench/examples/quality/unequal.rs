//! Groups of unequal sizes beside the Bayes rule, and a table of customers.

use obcut::Params;
use obcut_bench::summary::mean_and_deviation;

use crate::generate::{
    Groups, Random, customers as draw_customers, groups, patches as patches_of, sizes,
};
use crate::harness::{Harness, Run, fraction, graphs, head, seconds};

/// Dimensions, and standard deviations between the two nearest centres.
const PLACES: [(usize, f64); 6] =
    [(2, 6.0), (2, 8.0), (2, 10.0), (10, 10.0), (10, 14.0), (50, 20.0)];
const SHARES: [&[f64]; 3] = [&[0.98, 0.02], &[0.9, 0.09, 0.01], &[0.5, 0.3, 0.15, 0.05]];
const ROWS: [usize; 4] = [500, 2000, 10_000, 100_000];
/// Combinations whose smallest group has fewer rows are left out.
const SMALLEST: usize = 10;

struct Case {
    n_cols: usize,
    distance: f64,
    shares: &'static [f64],
    n: usize,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for (n_cols, distance) in PLACES {
            for shares in SHARES {
                for n in ROWS {
                    if sizes(n, shares).iter().all(|&size| size >= SMALLEST) {
                        cases.push(Self { n_cols, distance, shares, n });
                    }
                }
            }
        }
        cases
    }

    fn shares(&self) -> String {
        let shares = self.shares.iter().map(|share| format!("{:.0}", 100.0 * share));
        shares.collect::<Vec<_>>().join("/")
    }

    fn name(&self) -> String {
        format!("{}d-{}-{}-{}", self.n_cols, self.distance, self.shares(), self.n)
    }
}

/// How far an ARI is above what passes: 0.95, or 0.02 less than the Bayes rule if that is lower.
fn margin(ari: f64, bayes: f64) -> f64 {
    ari - (bayes - 0.02).min(0.95)
}

/// Generated Gaussian groups of unequal sizes: every case, and those that fail. The seed draws the
/// centres and the rows as well.
pub fn unequal(harness: &mut Harness) {
    let seeds = harness.options.seeds(3);
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| harness.options.wants(&case.name())).collect();
    if cases.is_empty() {
        return;
    }
    head(
        &format!("Unequal Gaussian groups, k given: worst of {seeds} seeds"),
        &[
            "case", "role", "features", "distance", "shares", "rows", "ARI", "Bayes", "passes",
            "kept", "s",
        ],
    );
    let mut failing = Vec::new();
    for case in &cases {
        let name = case.name();
        match run(harness, case, seeds) {
            Ok((worst, runs)) => {
                let passed = worst.margin >= 0.0;
                println!(
                    "| {name} | tuning | {} | {} | {} | {} | {:.3} | {:.3} | {} | {} | {} |",
                    case.n_cols,
                    case.distance,
                    case.shares(),
                    case.n,
                    worst.ari,
                    worst.bayes,
                    if passed { "yes" } else { "**no**" },
                    graphs(&runs),
                    seconds(&runs)
                );
                if !passed {
                    failing.push(format!("{name} ({:.3}, Bayes {:.3})", worst.ari, worst.bayes));
                }
            }
            Err(error) => {
                println!("| {name} | tuning | failed: {error} |{}", " |".repeat(8));
                failing.push(format!("{name} ({error})"));
                harness.fail(format!("{name}: {error}"));
            }
        }
    }
    println!("\n{} of {} cases pass.", cases.len() - failing.len(), cases.len());
    if !failing.is_empty() {
        println!("Failing: {}.", failing.join("; "));
    }
    println!();
}

/// Shares, gaps and rows of patches.
const PATCHES: [&[f64]; 3] =
    [&[0.8, 0.2], &[0.45, 0.3, 0.15, 0.1], &[0.34, 0.22, 0.18, 0.13, 0.06, 0.04, 0.03]];
const GAPS: [f64; 3] = [1.0, 1.5, 2.0];
const PATCH_ROWS: [usize; 3] = [400, 800, 2_000];

/// Round patches of equal density and unequal sizes that nearly touch.
pub fn patches(harness: &mut Harness) {
    let seeds = harness.options.seeds(3);
    if !harness.options.wants("patches") {
        return;
    }
    let title = format!("Patches of unequal sizes, k given: mean and worst ARI of {seeds} seeds");
    head(&title, &["shares", "role", "gap", "rows", "ARI", "worst", "kept", "s"]);
    let mut all = Vec::new();
    for shares in PATCHES {
        for gap in GAPS {
            for n in PATCH_ROWS {
                let case = Case { n_cols: 2, distance: gap, shares, n };
                let name = format!("patches-{}", case.name());
                let runs: Result<Vec<Run>, String> = (0..seeds)
                    .map(|seed| {
                        let table = patches_of(n, shares, gap, Random::seed_of(&name, seed));
                        let base = Params::new(table.k());
                        harness.run(("patches", &name), &table, &base, seed)
                    })
                    .collect();
                match runs {
                    Ok(runs) => {
                        let ari = || runs.iter().map(|run| run.scores.ari);
                        all.extend(ari());
                        println!(
                            "| {} | tuning | {gap} | {n} | {} | {:.3} | {} | {} |",
                            case.shares(),
                            fraction(ari()),
                            ari().fold(f64::INFINITY, f64::min),
                            graphs(&runs),
                            seconds(&runs)
                        );
                    }
                    Err(error) => harness.fail(format!("{name}: {error}")),
                }
            }
        }
    }
    let mean = mean_and_deviation(all.iter().copied()).0;
    let right = all.iter().filter(|ari| **ari >= 0.95).count();
    println!("\nMean ARI {mean:.3}; at least 0.95 in {right} of {} fits.\n", all.len());
}

/// The run of a case that is furthest below what passes.
struct Worst {
    ari: f64,
    bayes: f64,
    margin: f64,
}

fn run(harness: &mut Harness, case: &Case, seeds: u64) -> Result<(Worst, Vec<Run>), String> {
    let mut worst = Worst { ari: f64::NAN, bayes: f64::NAN, margin: f64::INFINITY };
    let mut runs = Vec::new();
    for seed in 0..seeds {
        let draw = Random::seed_of(&case.name(), seed);
        let Groups { table, bayes } = groups(case.n, case.n_cols, case.shares, case.distance, draw);
        let bayes = table.partition().score(&bayes, &table.data.truth)?.ari;
        let base = Params::new(table.k());
        let run = harness.run(("unequal", &case.name()), &table, &base, seed)?;
        let ari = run.scores.ari;
        let margin = margin(ari, bayes);
        if margin < worst.margin {
            worst = Worst { ari, bayes, margin };
        }
        runs.push(run);
    }
    Ok((worst, runs))
}

/// A table of customers: skewed columns of very different scales, five outliers.
pub fn customers(harness: &mut Harness) {
    if !harness.options.wants("customers") {
        return;
    }
    let seeds = harness.options.seeds(5);
    head(
        &format!("Customers, k given: mean ± standard deviation of {seeds} seeds"),
        &["data", "role", "ARI", "worst", "Bayes", "kept", "s"],
    );
    let (mut runs, mut bayes) = (Vec::new(), Vec::new());
    for seed in 0..seeds {
        let Groups { table, bayes: rule } = draw_customers(seed);
        let rule = table.partition().score(&rule, &table.data.truth);
        let run = harness.run(("customers", "customers"), &table, &Params::new(table.k()), seed);
        match (run, rule) {
            (Ok(run), Ok(rule)) => {
                runs.push(run);
                bayes.push(rule.ari);
            }
            (Err(error), _) | (_, Err(error)) => {
                println!("| customers | tuning | failed: {error} | | | | |\n");
                harness.fail(format!("customers: {error}"));
                return;
            }
        }
    }
    let ari = || runs.iter().map(|run| run.scores.ari);
    println!(
        "| customers | tuning | {} | {:.3} | {:.3} | {} | {} |\n",
        fraction(ari()),
        ari().fold(f64::INFINITY, f64::min),
        mean_and_deviation(bayes.into_iter()).0,
        graphs(&runs),
        seconds(&runs)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_least_sixty_cases_with_no_tiny_group() {
        let cases = Case::all();
        assert_eq!(cases.len(), 66);
        assert!(cases.iter().all(|case| sizes(case.n, case.shares).iter().all(|&n| n >= 10)));
    }

    #[test]
    fn a_case_passes_by_its_ari_or_beside_the_bayes_rule() {
        assert!(margin(0.95, 1.0) >= 0.0 && margin(0.9, 0.91) >= 0.0);
        assert!(margin(0.949, 0.97) < 0.0 && margin(0.94, 0.97) < 0.0);
    }
}
