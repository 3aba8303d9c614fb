//! One fit, its record, and the cells of the tables.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::time::Instant;

use obcut::metrics::Scores;
use obcut::{Fit, OBCut, Params};
use obcut_bench::data::LabelledData;
use obcut_bench::summary::mean_and_deviation;
use serde::Serialize;

use crate::options::Options;
use crate::protocol::{Role, Set, by_name};
use crate::table::{Partition, Table, table};

/// A fit and the seconds it took.
pub struct Timed {
    /// The result.
    pub fit: Fit,
    /// Seconds of the fit alone.
    pub seconds: f64,
}

/// One scored fit.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scores against the reference partition.
    pub scores: Scores,
    /// Seconds of the fit alone.
    pub seconds: f64,
    /// The graph that the fit kept.
    pub graph: String,
}

/// One line of the JSON file.
#[derive(Debug, Serialize)]
struct Record<'a> {
    table: &'a str,
    set: &'a str,
    seed: u64,
    k: usize,
    nmi: f64,
    acc: f64,
    purity: f64,
    ari: f64,
    seconds: f64,
    graph: &'a str,
    warnings: usize,
}

/// Options, the JSON file, and what was left out or went wrong.
pub struct Harness {
    /// The command line.
    pub options: Options,
    json: Option<File>,
    skipped: Vec<String>,
    failed: Vec<String>,
}

impl Harness {
    /// Creates the JSON file, if one is asked for.
    pub fn new(options: Options) -> Result<Self, String> {
        let create = |path: &String| File::create(path).map_err(|e| format!("{path}: {e}"));
        let json = options.json.as_ref().map(create).transpose()?;
        Ok(Self { options, json, skipped: Vec::new(), failed: Vec::new() })
    }

    /// Data sets that the command line names, or the usual ones of a table. Final sets belong to
    /// the table `final` alone.
    pub fn chosen(&self, usual: Vec<Set>, is_final: bool) -> Result<Vec<Set>, String> {
        let named = |names: &Vec<String>| names.iter().map(|name| by_name(name)).collect();
        let chosen: Vec<Set> = match &self.options.data {
            // Several tables share the option: each takes its own sets.
            Some(_) if is_final || self.options.table == "all" => {
                usual.into_iter().filter(|set| self.options.wants(&set.name)).collect()
            }
            Some(names) => named(names),
            None => usual,
        };
        match chosen.iter().find(|set| set.role == Role::Final && !is_final) {
            Some(set) => Err(format!("{} is a final set: only `quality final` runs it", set.name)),
            None => Ok(chosen),
        }
    }

    /// Prints one row per data set: `row` makes the cells after name and role. Sets that are not
    /// there and fits that fail are told in the table and counted.
    pub fn each(
        &mut self,
        sets: &[Set],
        n_cells: usize,
        mut row: impl FnMut(&mut Self, &Set, &Table) -> Result<Vec<String>, String>,
    ) {
        for set in sets {
            let rest = " |".repeat(n_cells.saturating_sub(1));
            let start = format!("| {} | {} |", set.name, set.role.name());
            // One data set is in memory at a time.
            match table(set) {
                Ok(Some(table)) => match row(self, set, &table) {
                    Ok(cells) => println!("{start} {} |", cells.join(" | ")),
                    Err(error) => {
                        println!("{start} failed: {error} |{rest}");
                        self.failed.push(format!("{}: {error}", set.name));
                    }
                },
                Ok(None) => {
                    println!("{start} skipped: no file |{rest}");
                    self.skipped.push(set.name.clone());
                }
                Err(error) => {
                    println!("{start} failed: {error} |{rest}");
                    self.failed.push(format!("{}: {error}", set.name));
                }
            }
        }
    }

    /// Notes a failure outside of [`Self::each`].
    pub fn fail(&mut self, what: String) {
        self.failed.push(what);
    }

    /// Fits the rows as they are.
    pub fn fit(&self, data: &LabelledData, params: &Params) -> Result<Timed, String> {
        let samples = data.matrix.samples().map_err(|error| error.to_string())?;
        let clock = Instant::now();
        let fit = OBCut::from(params.clone()).fit(&samples).map_err(|error| error.to_string())?;
        Ok(Timed { fit, seconds: clock.elapsed().as_secs_f64() })
    }

    /// Shuffles the rows by the seed, fits them, scores the labels and writes the record.
    pub fn run(
        &mut self,
        name: (&str, &str),
        table: &Table,
        base: &Params,
        seed: u64,
    ) -> Result<Run, String> {
        let params = self.options.params(base.clone(), seed)?;
        let data = table.data.shuffled(seed);
        let timed = self.fit(&data, &params)?;
        let scores = table.partition().score(&timed.fit.labels(), &data.truth)?;
        self.record(name, seed, &timed, scores)
    }

    /// Writes the record of a scored fit.
    pub fn record(
        &mut self,
        (table, set): (&str, &str),
        seed: u64,
        timed: &Timed,
        scores: Scores,
    ) -> Result<Run, String> {
        let Timed { fit, seconds } = timed;
        let k = fit.model().n_clusters();
        // The candidate that was kept; its anchors may be those of another graph.
        let kept = fit.model().explanation().tried.iter().find(|tried| tried.kept);
        let graph = kept.map_or_else(|| fit.model().info().graph, |tried| tried.graph.clone());
        let Scores { nmi, acc, purity, ari } = scores;
        let record = Record {
            table,
            set,
            seed,
            k,
            nmi,
            acc,
            purity,
            ari,
            seconds: *seconds,
            graph: &graph,
            warnings: fit.warnings().len(),
        };
        if let Some(file) = &mut self.json {
            let line = serde_json::to_string(&record).map_err(|error| error.to_string())?;
            writeln!(file, "{line}").map_err(|error| error.to_string())?;
        }
        Ok(Run { scores, seconds: *seconds, graph })
    }

    /// The best scores over the partitions that have as many clusters as the labels; by ARI.
    pub fn best(
        partitions: &[Partition],
        k: usize,
        labels: &[u32],
        rows: &[u32],
    ) -> Result<Option<Scores>, String> {
        let mut best: Option<Scores> = None;
        for partition in partitions.iter().filter(|partition| partition.k == k) {
            let scores = partition.score(labels, rows)?;
            if best.is_none_or(|b| scores.ari > b.ari) {
                best = Some(scores);
            }
        }
        Ok(best)
    }

    /// Says what was left out and what failed; whether nothing failed.
    pub fn finish(&mut self) -> bool {
        self.skipped.sort();
        self.skipped.dedup();
        if !self.skipped.is_empty() {
            println!(
                "Skipped {} data sets that have no file in OBCUT_DATA or in the folder of bench/keel.py: {}.",
                self.skipped.len(),
                self.skipped.join(", ")
            );
        }
        if !self.failed.is_empty() {
            println!("Failed {} times:\n- {}", self.failed.len(), self.failed.join("\n- "));
        }
        self.failed.is_empty()
    }
}

/// Mean ± standard deviation, in per cent.
pub fn percent(values: impl Iterator<Item = f64>) -> String {
    let (mean, deviation) = mean_and_deviation(values);
    format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * deviation)
}

/// Mean ± standard deviation of a fraction of 1.
pub fn fraction(values: impl Iterator<Item = f64>) -> String {
    let (mean, deviation) = mean_and_deviation(values);
    format!("{mean:.3} ± {deviation:.3}")
}

/// NMI, accuracy, purity and ARI.
pub fn columns(runs: &[Run]) -> Vec<String> {
    let all: [fn(&Scores) -> f64; 4] = [|s| s.nmi, |s| s.acc, |s| s.purity, |s| s.ari];
    all.iter().map(|f| percent(runs.iter().map(|run| f(&run.scores)))).collect()
}

/// Mean seconds of the fits.
pub fn seconds(runs: &[Run]) -> String {
    let (mean, _) = mean_and_deviation(runs.iter().map(|run| run.seconds));
    if mean < 0.95 { format!("{mean:.2}") } else { format!("{mean:.1}") }
}

/// Which graphs were kept, and how often.
pub fn graphs(runs: &[Run]) -> String {
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    runs.iter().for_each(|run| *kept.entry(&run.graph).or_default() += 1);
    let kept: Vec<String> = kept.iter().map(|(graph, n)| format!("{graph} {n}")).collect();
    kept.join(", ")
}

/// Prints the head of a Markdown table.
pub fn head(title: &str, cells: &[&str]) {
    println!("## {title}\n\n| {} |\n|{}", cells.join(" | "), "---|".repeat(cells.len()));
}
