//! Runs summed up: means, deviations, the choice among a grid, ranks.

use std::collections::BTreeMap;

use obcut::metrics::Scores;
use serde_json::Value;

use crate::plan::Spec;
use crate::printed::Printed;
use crate::record::{Record, Records, Status};
use crate::suite::{MethodEntry, Suite};

/// A score of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Normalised mutual information.
    Nmi,
    /// Accuracy.
    Acc,
    /// Purity.
    Pur,
    /// Adjusted Rand index.
    Ari,
}

impl Metric {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Nmi, Self::Acc, Self::Pur, Self::Ari];

    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nmi => "NMI",
            Self::Acc => "ACC",
            Self::Pur => "PUR",
            Self::Ari => "ARI",
        }
    }

    /// Its value in percent.
    pub fn of(self, scores: &Scores) -> f64 {
        100.0
            * match self {
                Self::Nmi => scores.nmi,
                Self::Acc => scores.acc,
                Self::Pur => scores.purity,
                Self::Ari => scores.ari,
            }
    }
}

/// A data set of a summary.
#[derive(Clone, Debug)]
pub struct DataFacts {
    /// Its name.
    pub name: String,
    /// Rows, features and classes, when a run has told them.
    pub size: Option<(usize, usize, usize)>,
    /// Row of the paper's tables.
    pub printed: Option<String>,
    /// What differs from the paper's data set.
    pub differs: Option<String>,
}

/// A method of a summary.
#[derive(Clone, Debug)]
pub struct MethodFacts {
    /// Its name in tables.
    pub label: String,
    /// Column of the paper's tables.
    pub printed: Option<String>,
    /// Whether it takes part in ranks.
    pub ranked: bool,
    /// Whether settings were chosen with the labels.
    pub chosen: bool,
    /// Whether its rows were shuffled.
    pub shuffled: bool,
}

/// What a method did on a data set.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Its finished runs.
    Scored(Scored),
    /// Why there is no score.
    NotAvailable(String),
}

/// Finished runs with the same settings.
#[derive(Clone, Debug)]
pub struct Scored {
    /// The runs, by seed.
    pub runs: Vec<Record>,
    /// The settings that were chosen among a grid, in words.
    pub chosen: Option<String>,
}

/// All cells of a suite.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The data sets.
    pub data: Vec<DataFacts>,
    /// The methods.
    pub methods: Vec<MethodFacts>,
    /// By data set, then by method; nothing where no run was made.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// Data sets of the suite without a run.
    pub missing: Vec<String>,
}

impl Scored {
    /// Mean and sample deviation of a score in percent. What is 0 to two decimals is 0 without a sign.
    pub fn score(&self, metric: Metric) -> (f64, f64) {
        let scores = self.runs.iter().filter_map(|run| run.outcome.scores);
        let (mean, deviation) = mean_and_deviation(scores.map(|s| metric.of(&s)));
        (if mean.abs() < 0.005 { 0.0 } else { mean }, deviation)
    }

    /// Mean seconds.
    pub fn seconds(&self) -> f64 {
        mean_and_deviation(self.runs.iter().map(|run| run.outcome.seconds)).0
    }

    /// Most bytes of any run.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.runs.iter().filter_map(|run| run.outcome.peak_bytes).max()
    }
}

/// Mean and sample standard deviation; 0 and 0 of nothing.
pub fn mean_and_deviation(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

impl Summary {
    /// Sums up what is there of a suite.
    pub fn new(suite: &Suite, records: &Records) -> Self {
        let methods = suite.method.iter().map(|entry| MethodFacts {
            label: entry.label.clone(),
            printed: entry.printed.clone(),
            ranked: entry.ranked,
            chosen: !entry.grid.is_empty(),
            shuffled: entry.shuffle.unwrap_or(suite.shuffle),
        });
        let (mut data, mut cells) = (Vec::new(), Vec::new());
        for entry in &suite.data {
            let row: Vec<Option<Cell>> = suite
                .method
                .iter()
                .map(|method| cell(suite, method, &entry.name, records))
                .collect();
            if row.iter().all(Option::is_none) {
                continue;
            }
            let known = records.iter().find(|r| r.spec.data == entry.name && r.outcome.rows > 0);
            let size = known.map(|r| (r.outcome.rows, r.outcome.features, r.outcome.clusters));
            let printed = entry.printed.clone();
            let other_size = printed.as_ref().and_then(|name| other_size(name, size));
            let differs = entry.differs.clone().or(other_size);
            data.push(DataFacts { name: entry.name.clone(), size, printed, differs });
            cells.push(row);
        }
        let there = |name: &String| data.iter().any(|d: &DataFacts| d.name == *name);
        let names = suite.data.iter().map(|entry| entry.name.clone());
        let missing = names.filter(|name| !there(name)).collect();
        Self { data, methods: methods.collect(), cells, missing }
    }

    /// All finished runs that are shown.
    pub fn scored(&self) -> impl Iterator<Item = &Scored> {
        self.cells.iter().flatten().flatten().filter_map(|cell| match cell {
            Cell::Scored(scored) => Some(scored),
            Cell::NotAvailable(_) => None,
        })
    }

    /// Seeds of the cells that have scores, in words: of one data set, or of all.
    pub fn seeds(&self, data: Option<usize>) -> String {
        let rows =
            self.cells.iter().enumerate().filter(|(d, _)| data.is_none_or(|data| *d == data));
        let counts = rows.flat_map(|(_, row)| row).flatten().filter_map(|cell| match cell {
            Cell::Scored(scored) => Some(scored.runs.len()),
            Cell::NotAvailable(_) => None,
        });
        match counts.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n))) {
            (least, most) if least >= most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        }
    }

    /// What the runs that are shown were allowed to take, in words.
    pub fn budgets(&self) -> String {
        let runs = self.scored().flat_map(|scored| &scored.runs);
        let mut budgets: Vec<(u64, u64)> =
            runs.map(|run| (run.budget.seconds.round() as u64, run.budget.bytes >> 20)).collect();
        budgets.sort_unstable();
        budgets.dedup();
        let words = budgets
            .iter()
            .map(|(seconds, mib)| format!("{seconds} s and {} GiB", *mib as f64 / 1024.0));
        words.collect::<Vec<_>>().join(", or ")
    }

    /// Labels of the methods whose rows were not shuffled.
    pub fn unshuffled(&self) -> Vec<&str> {
        let methods = self.methods.iter().filter(|method| !method.shuffled);
        methods.map(|method| method.label.as_str()).collect()
    }

    /// Mean scores, by data set and method: none where a method did not run, NaN where it could not.
    pub fn means(&self, metric: Metric) -> Vec<Vec<Option<f64>>> {
        let mean = |cell: &Option<Cell>| {
            cell.as_ref().map(|cell| match cell {
                Cell::Scored(scored) => scored.score(metric).0,
                Cell::NotAvailable(_) => f64::NAN,
            })
        };
        self.cells.iter().map(|row| row.iter().map(mean).collect()).collect()
    }

    /// The same with some methods only; data sets that one of them did not run on are left out.
    pub fn complete(&self, metric: Metric, methods: &[usize]) -> Vec<Vec<f64>> {
        let means = self.means(metric);
        let pick = |row: &Vec<Option<f64>>| methods.iter().map(|&m| row[m]).collect();
        means.iter().filter_map(pick).collect()
    }

    /// The methods that take part in ranks: those that are to, and ran on half of the data sets at least.
    pub fn ranked(&self) -> Vec<usize> {
        let ranked = |&m: &usize| self.methods[m].ranked && self.has_run(m);
        (0..self.methods.len()).filter(ranked).collect()
    }

    /// Whether a method ran on half of the data sets at least.
    pub fn has_run(&self, method: usize) -> bool {
        2 * self.cells.iter().filter(|row| row[method].is_some()).count() >= self.cells.len()
    }
}

/// Rank of every score of a row, the largest being 1: equal scores (to two decimals) share the better
/// rank, and those that are missing share the last.
pub fn ranks(scores: &[f64]) -> Vec<usize> {
    let seen: Vec<f64> = scores.iter().map(|s| (s * 100.0).round()).collect();
    let is_better = |s: f64, than: f64| s > than || (than.is_nan() && !s.is_nan());
    seen.iter().map(|&s| 1 + seen.iter().filter(|&&other| is_better(other, s)).count()).collect()
}

/// Mean score and mean rank of every column; no mean score where one is missing.
pub fn averages(rows: &[Vec<f64>]) -> Vec<(Option<f64>, f64)> {
    let ranked: Vec<Vec<usize>> = rows.iter().map(|row| ranks(row)).collect();
    let n = rows.len() as f64;
    (0..rows.first().map_or(0, Vec::len))
        .map(|m| {
            let score = rows.iter().map(|row| row[m]).sum::<f64>() / n;
            let rank = ranked.iter().map(|row| row[m] as f64).sum::<f64>() / n;
            (Some(score).filter(|s| !s.is_nan()), rank)
        })
        .collect()
}

/// How the size of a data set differs from that of the paper's, if it does.
fn other_size(printed: &str, size: Option<(usize, usize, usize)>) -> Option<String> {
    let (size, expected) = (size?, Printed::tables().size(printed)?);
    (size != expected).then(|| {
        let words = |(rows, features, classes): (usize, usize, usize)| {
            format!("{rows} rows, {features} features and {classes} classes")
        };
        format!("{}; the paper has {}", words(size), words(expected))
    })
}

/// The runs of a method on a data set, with the best settings of its grid.
fn cell(suite: &Suite, entry: &MethodEntry, data: &str, records: &Records) -> Option<Cell> {
    if !entry.takes(data) {
        return None;
    }
    let mut best: Option<(f64, Scored)> = None;
    let mut reason = None;
    for settings in entry.settings() {
        match runs(suite, entry, data, &settings, records) {
            Ok(runs) if runs.is_empty() => {}
            Ok(runs) => {
                let words = words(entry, &settings);
                let chosen = (!entry.grid.is_empty()).then_some(words);
                let scored = Scored { runs, chosen };
                let nmi = scored.score(Metric::Nmi).0;
                // Settings that ran with more seeds are further; among equals the best mean counts.
                let further = |(other, at): &(f64, Scored)| {
                    (scored.runs.len(), nmi) > (at.runs.len(), *other)
                };
                if best.as_ref().is_none_or(further) {
                    best = Some((nmi, scored));
                }
            }
            Err(why) => reason = Some(why),
        }
    }
    best.map(|(_, scored)| Cell::Scored(scored)).or(reason.map(Cell::NotAvailable))
}

/// The finished runs by seed, or why there is none: one run over budget stands for all, and one that could
/// not be done where no other was.
pub(crate) fn runs(
    suite: &Suite,
    entry: &MethodEntry,
    data: &str,
    settings: &BTreeMap<String, Value>,
    records: &Records,
) -> Result<Vec<Record>, String> {
    let (mut runs, mut failed) = (Vec::new(), None);
    for seed in 0..suite.seeds {
        let spec: Spec = suite.spec(entry, data, settings.clone(), seed);
        let Some(record) = records.get(&spec.key()) else {
            continue;
        };
        let reason = || record.outcome.reason.clone().unwrap_or_default();
        match record.outcome.status {
            Status::Done => runs.push(record.clone()),
            Status::OverTime | Status::OverMemory | Status::Refused => return Err(reason()),
            Status::Crashed | Status::Unreadable => failed = Some(reason()),
        }
    }
    match failed {
        Some(reason) if runs.is_empty() => Err(reason),
        _ => Ok(runs),
    }
}

/// The settings of a grid in words.
fn words(entry: &MethodEntry, settings: &BTreeMap<String, Value>) -> String {
    let of_grid = settings.iter().filter(|(name, _)| entry.grid.contains_key(*name));
    let words: Vec<String> =
        of_grid.map(|(name, value)| format!("{name} {}", number(value))).collect();
    words.join(", ")
}

/// A setting as it is read best.
pub fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(x) if x != 0.0 && !(0.001..10_000.0).contains(&x.abs()) => format!("{x:e}"),
        Some(x) => x.to_string(),
        None => value.as_str().map_or_else(|| value.to_string(), String::from),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::Outcome;
    use crate::record::tests::record;

    #[test]
    fn ranks_share_the_better_place_and_the_missing_are_last() {
        assert_eq!(ranks(&[10.0, f64::NAN, 30.0, 10.004, f64::NAN]), [2, 4, 1, 2, 4]);
        assert_eq!(ranks(&[]), Vec::<usize>::new());
    }

    #[test]
    fn a_mean_with_a_gap_is_none() {
        let rows = [vec![1.0, 4.0], vec![f64::NAN, 2.0]];
        assert_eq!(averages(&rows), [(None, 2.0), (Some(3.0), 1.0)]);
    }

    fn suite() -> Suite {
        let text = r#"
            title = "t"
            about = "a"
            kind = "scores"
            seeds = 2
            seconds = 1
            gib = 1
            [[data]]
            name = "moons"
            [[data]]
            name = "rings"
            [[method]]
            label = "means"
            method = "kmeans"
            [[method]]
            label = "lsc"
            method = "lsc"
            grid = { p = [10, 20] }
        "#;
        Suite::parse("t", text).unwrap()
    }

    /// Four finished runs of a grid, and one that took too long.
    pub fn some_runs() -> (Suite, Records) {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Records::open(&folder.path().join("r")).unwrap();
        for (p, seed, nmi) in [(10, 0, 0.9), (10, 1, 0.1), (20, 0, 0.6), (20, 1, 0.6)] {
            let mut run = record("moons", "lsc", seed, nmi);
            run.spec.settings.insert("p".into(), p.into());
            records.push(run).unwrap();
        }
        let mut over = record("moons", "kmeans", 0, 0.0);
        over.outcome = Outcome::without_labels(Status::OverTime, "more than 1 second");
        records.push(over).unwrap();
        (suite(), records)
    }

    #[test]
    fn the_best_of_a_grid_is_shown_with_its_settings() {
        let (suite, records) = some_runs();
        let summary = Summary::new(&suite, &records);
        assert_eq!(summary.data.len(), 1, "rings did not run");
        let Some(Cell::Scored(scored)) = &summary.cells[0][1] else { panic!("no score") };
        assert_eq!(scored.chosen.as_deref(), Some("p 20"));
        let (mean, deviation) = scored.score(Metric::Nmi);
        assert!((mean - 60.0).abs() < 1e-9 && deviation < 1e-9);
        assert!(
            matches!(&summary.cells[0][0], Some(Cell::NotAvailable(why)) if why.contains("1 second"))
        );
    }

    #[test]
    fn seeds_are_counted_where_there_are_scores() {
        let (suite, mut records) = some_runs();
        let seeds = |records: &Records| {
            let summary = Summary::new(&suite, records);
            [summary.seeds(Some(0)), summary.seeds(None), summary.seeds(Some(7))]
        };
        assert_eq!(seeds(&records), ["2", "2", "0"]);
        records.push(record("rings", "kmeans", 0, 0.5)).unwrap();
        assert_eq!(seeds(&records), ["2", "1 to 2", "0"]);
    }
}
