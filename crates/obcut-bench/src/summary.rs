//! Runs summed up: means, deviations, the choice among a grid, ranks.

use std::collections::{BTreeMap, BTreeSet};

use obcut::metrics::Scores;
use serde_json::Value;

use crate::machine;
use crate::plan::{RunPlan, Spec};
use crate::printed::Printed;
use crate::record::{ENGINE, RunRecord, RunRecords, Status};
use crate::suite::{MethodEntry, Suite};

/// A score of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreKind {
    /// Normalised mutual information.
    Nmi,
    /// Accuracy.
    Acc,
    /// Purity.
    Pur,
    /// Adjusted Rand index.
    Ari,
}

impl ScoreKind {
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
pub struct MethodColumn {
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
    /// Whether it is obcut itself.
    pub ours: bool,
}

/// What a method did on a data set.
#[derive(Clone, Debug)]
pub enum ScoreCell {
    /// Its finished runs.
    Scored(Scored),
    /// Why there is no score.
    NotAvailable(String),
}

/// Finished runs with the same settings.
#[derive(Clone, Debug)]
pub struct Scored {
    /// The runs, by seed.
    pub runs: Vec<RunRecord>,
    /// The settings that were chosen among a grid, in words.
    pub chosen: Option<String>,
}

/// All cells of a suite.
#[derive(Clone, Debug, Default)]
pub struct SuiteSummary {
    /// The data sets.
    pub data: Vec<DataFacts>,
    /// The methods.
    pub methods: Vec<MethodColumn>,
    /// By data set, then by method; nothing where no run was made.
    pub cells: Vec<Vec<Option<ScoreCell>>>,
    /// Data sets of the suite without a run.
    pub missing: Vec<String>,
    /// Runs without a score in cells that have one.
    pub gaps: Vec<Gap>,
    /// What the runs were allowed to take, in words, without doubles.
    pub allowed: BTreeSet<String>,
    /// Threads, runs at once, version and machine of the runs, without doubles.
    pub ways: BTreeSet<String>,
    /// States of the engine that made the runs.
    pub engines: BTreeSet<String>,
}

/// A part of a cell that has no score: some settings of a grid, or a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Settings and seed in words.
    pub which: String,
    /// Why there is no score.
    pub why: String,
}

impl Gap {
    const LEFT_OUT: &str = "left out by the suite";

    /// Whether the suite leaves it out itself.
    pub fn is_meant(&self) -> bool {
        self.why == Self::LEFT_OUT
    }
}

impl Scored {
    /// Mean and sample deviation of a score in percent.
    pub fn score(&self, metric: ScoreKind) -> (f64, f64) {
        let scores = self.runs.iter().filter_map(|run| run.outcome.scores);
        mean_and_deviation(scores.map(|s| metric.of(&s)))
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

impl SuiteSummary {
    /// Sums up what is there of a suite.
    pub fn new(suite: &Suite, records: &RunRecords) -> Self {
        let methods = suite.method.iter().map(|entry| MethodColumn {
            label: entry.label.clone(),
            printed: entry.printed.clone(),
            ranked: entry.ranked,
            chosen: !entry.grid.is_empty(),
            shuffled: entry.shuffle.unwrap_or(suite.shuffle),
            ours: entry.method == "obcut",
        });
        let (mut data, mut cells, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &suite.data {
            let mut row: Vec<Option<ScoreCell>> = Vec::new();
            for method in &suite.method {
                let (cell, missing) = cell(suite, method, &entry.name, records);
                row.push(cell);
                gaps.extend(missing);
            }
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
        let plan = RunPlan::without_data(suite);
        let runs = || plan.runs.iter().filter_map(|spec| records.get(&spec.key()));
        let allowed =
            |r: &RunRecord| format!("{} s and {}", r.budget.seconds, machine::size(r.budget.bytes));
        let way = |r: &RunRecord| {
            let RunRecord { threads, jobs, version, engine, machine, .. } = r;
            let engine = if engine.is_empty() { "unknown" } else { engine };
            format!(
                "{threads} thread(s), {jobs} run(s) at once, obcut {version} (engine {engine}), {machine}"
            )
        };
        Self {
            data,
            methods: methods.collect(),
            cells,
            missing,
            gaps,
            allowed: runs().map(allowed).collect(),
            ways: runs().map(way).collect(),
            engines: runs().map(|r| r.engine.clone()).collect(),
        }
    }

    /// All finished runs that are shown.
    pub fn scored(&self) -> impl Iterator<Item = &Scored> {
        self.cells.iter().flatten().flatten().filter_map(|cell| match cell {
            ScoreCell::Scored(scored) => Some(scored),
            ScoreCell::NotAvailable(_) => None,
        })
    }

    /// Seeds of the cells that have scores, in words: of one data set, or of all.
    pub fn seeds(&self, data: Option<usize>) -> String {
        let rows =
            self.cells.iter().enumerate().filter(|(d, _)| data.is_none_or(|data| *d == data));
        let counts = rows.flat_map(|(_, row)| row).flatten().filter_map(|cell| match cell {
            ScoreCell::Scored(scored) => Some(scored.runs.len()),
            ScoreCell::NotAvailable(_) => None,
        });
        match counts.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n))) {
            (least, most) if least >= most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        }
    }

    /// What the runs were allowed to take, in words.
    pub fn budgets(&self) -> String {
        self.allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", or ")
    }

    /// Threads, runs at once, version and machine of the runs.
    pub fn ways(&self) -> String {
        self.ways.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    /// A word about runs that are not of the state of the engine that this program was built from.
    pub fn engine_warning(&self) -> Option<String> {
        let others = self.engines.iter().filter(|engine| *engine != ENGINE).count();
        let runs = match others {
            0 => return None,
            n if n == self.engines.len() => "the runs were made",
            _ => "some of the runs were made",
        };
        let builds = match others {
            1 => "another build of obcut, whose results may differ".to_string(),
            n => format!("{n} other builds of obcut, whose results may differ"),
        };
        Some(format!("{runs} by {builds}; --fresh makes all of them again"))
    }

    /// Labels of the methods whose rows were not shuffled.
    pub fn unshuffled(&self) -> Vec<&str> {
        let methods = self.methods.iter().filter(|method| !method.shuffled);
        methods.map(|method| method.label.as_str()).collect()
    }

    /// Mean scores, by data set and method: none where a method did not run, NaN where it could not.
    pub fn means(&self, metric: ScoreKind) -> Vec<Vec<Option<f64>>> {
        let mean = |cell: &Option<ScoreCell>| {
            cell.as_ref().map(|cell| match cell {
                ScoreCell::Scored(scored) => scored.score(metric).0,
                ScoreCell::NotAvailable(_) => f64::NAN,
            })
        };
        self.cells.iter().map(|row| row.iter().map(mean).collect()).collect()
    }

    /// The same with some methods only; data sets that one of them did not run on, or where none of them has
    /// a score, are left out.
    pub fn complete(&self, metric: ScoreKind, methods: &[usize]) -> Vec<Vec<f64>> {
        let means = self.means(metric);
        let pick = |row: &Vec<Option<f64>>| methods.iter().map(|&m| row[m]).collect();
        let rows = means.iter().filter_map(pick);
        rows.filter(|row: &Vec<f64>| row.iter().any(|score| !score.is_nan())).collect()
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

/// The runs of a method on a data set, with the best settings of its grid, and what is missing of them.
fn cell(
    suite: &Suite,
    entry: &MethodEntry,
    data: &str,
    records: &RunRecords,
) -> (Option<ScoreCell>, Vec<Gap>) {
    let (mut found, mut gaps, mut reason) = (Vec::new(), Vec::new(), None);
    if !entry.takes(data) {
        let (data, method) = (data.to_string(), entry.label.clone());
        let why = Gap::LEFT_OUT.to_string();
        return (None, vec![Gap { data, method, which: "all".into(), why }]);
    }
    for settings in &entry.settings() {
        let runs = Runs::of(suite, entry, data, settings, records);
        let chosen = words(entry, settings);
        let mut gap = |which: Vec<String>, why: &str| {
            let which: Vec<String> = which.into_iter().filter(|word| !word.is_empty()).collect();
            let (data, method) = (data.to_string(), entry.label.clone());
            gaps.push(Gap { data, method, which: which.join(", "), why: why.into() });
        };
        for (seed, why) in &runs.lost {
            gap(vec![chosen.clone(), format!("seed {seed}")], why);
        }
        if let Some(why) = &runs.refused {
            gap(vec![chosen.clone()], why);
        }
        match runs.usable() {
            Ok(runs) if runs.is_empty() => {}
            Ok(runs) => found.push(Scored { runs, chosen: Some(chosen) }),
            Err(why) => reason = Some(why),
        }
    }
    let (n, of) = (found.len(), entry.settings().len());
    let Some(Scored { runs, chosen }) = best(found) else {
        // What is missing of a cell without scores is told by the cell.
        return (reason.map(ScoreCell::NotAvailable), Vec::new());
    };
    let chosen = chosen.filter(|_| !entry.grid.is_empty()).map(|words| match n == of {
        true => words,
        false => format!("{words} (of {n} of {of} settings that have scores)"),
    });
    (Some(ScoreCell::Scored(Scored { runs, chosen })), gaps)
}

/// The settings with the best mean NMI over the seeds that all of them ran with: a part of the grid that is
/// further than the rest has no advantage by that.
fn best(found: Vec<Scored>) -> Option<Scored> {
    let seeds = |scored: &Scored| scored.runs.iter().map(|run| run.spec.seed).collect();
    let all = found.iter().map(seeds);
    let shared: BTreeSet<u64> = all.reduce(|a, b| &a & &b).unwrap_or_default();
    let mut best: Option<(f64, Scored)> = None;
    for mut scored in found {
        if !shared.is_empty() {
            scored.runs.retain(|run| shared.contains(&run.spec.seed));
        }
        let nmi = scored.score(ScoreKind::Nmi).0;
        if best.as_ref().is_none_or(|(other, _)| nmi > *other) {
            best = Some((nmi, scored));
        }
    }
    best.map(|(_, scored)| scored)
}

/// What became of the runs with the same settings.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// Finished, by seed.
    done: Vec<RunRecord>,
    /// Why they cannot be done: one run over budget stands for all.
    refused: Option<String>,
    /// Seeds that gave nothing, each with the reason.
    lost: Vec<(u64, String)>,
}

impl Runs {
    /// Looks them up.
    pub(crate) fn of(
        suite: &Suite,
        entry: &MethodEntry,
        data: &str,
        settings: &BTreeMap<String, Value>,
        records: &RunRecords,
    ) -> Self {
        let mut runs = Self::default();
        for seed in 0..suite.seeds {
            let spec: Spec = suite.spec(entry, data, settings.clone(), seed);
            let Some(record) = records.get(&spec.key()) else {
                continue;
            };
            let reason = || record.outcome.reason.clone().unwrap_or_default();
            match record.outcome.status {
                Status::Done => runs.done.push(record.clone()),
                Status::OverTime | Status::OverMemory | Status::Refused => {
                    runs.refused.get_or_insert_with(reason);
                }
                Status::Crashed | Status::Unreadable => runs.lost.push((seed, reason())),
            }
        }
        runs
    }

    /// The finished runs, or why there are none.
    pub(crate) fn usable(self) -> Result<Vec<RunRecord>, String> {
        match (self.refused, self.lost.into_iter().next()) {
            (Some(why), _) => Err(why),
            (None, Some((_, why))) if self.done.is_empty() => Err(why),
            _ => Ok(self.done),
        }
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
    use crate::suite::tests::small_suite;

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
            data = [{ name = "moons" }, { name = "rings" }]
            method = [
              { label = "means", method = "kmeans" },
              { label = "lsc", method = "lsc", grid = { p = [10, 20] } },
            ]
        "#;
        small_suite(2, text)
    }

    /// Four finished runs of a grid, and one that took too long.
    pub fn some_runs() -> (Suite, RunRecords) {
        let folder = tempfile::tempdir().unwrap();
        let mut records = RunRecords::open(&folder.path().join("r")).unwrap();
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
        let summary = SuiteSummary::new(&suite, &records);
        assert_eq!(summary.data.len(), 1, "rings did not run");
        let Some(ScoreCell::Scored(scored)) = &summary.cells[0][1] else { panic!("no score") };
        assert_eq!(scored.chosen.as_deref(), Some("p 20"));
        let (mean, deviation) = scored.score(ScoreKind::Nmi);
        assert!((mean - 60.0).abs() < 1e-9 && deviation < 1e-9);
        assert!(
            matches!(&summary.cells[0][0], Some(ScoreCell::NotAvailable(why)) if why.contains("1 second"))
        );
    }

    #[test]
    fn seeds_are_counted_where_there_are_scores() {
        let (suite, mut records) = some_runs();
        let seeds = |records: &RunRecords| {
            let summary = SuiteSummary::new(&suite, records);
            [summary.seeds(Some(0)), summary.seeds(None), summary.seeds(Some(7))]
        };
        assert_eq!(seeds(&records), ["2", "2", "0"]);
        records.push(record("rings", "kmeans", 0, 0.5)).unwrap();
        assert_eq!(seeds(&records), ["2", "1 to 2", "0"]);
    }

    #[test]
    fn a_part_of_the_grid_that_is_further_has_no_advantage() {
        let (mut suite, mut records) = some_runs();
        suite.method[1].grid.insert("p".into(), vec![10.into(), 20.into(), 30.into()]);
        let mut late = record("moons", "lsc", 0, 0.95);
        late.spec.settings.insert("p".into(), 30.into());
        records.push(late).unwrap();
        let chosen = |suite: &Suite, records: &RunRecords| {
            let summary = SuiteSummary::new(suite, records);
            let Some(ScoreCell::Scored(scored)) = &summary.cells[0][1] else { panic!("no score") };
            (scored.chosen.clone().unwrap(), scored.runs.len(), summary.gaps.clone())
        };
        // Seed 0 is all that the three share: 0.9, 0.6 and 0.95.
        let (words, n, gaps) = chosen(&suite, &records);
        assert_eq!((words.as_str(), n, gaps.len()), ("p 30", 1, 0));
        let mut over = record("moons", "lsc", 1, 0.0);
        over.spec.settings.insert("p".into(), 30.into());
        over.outcome = Outcome::without_labels(Status::OverTime, "more than 1 second");
        records.push(over).unwrap();
        let (words, n, gaps) = chosen(&suite, &records);
        assert_eq!((words.as_str(), n), ("p 20 (of 2 of 3 settings that have scores)", 2));
        assert_eq!((gaps[0].which.as_str(), gaps[0].why.as_str()), ("p 30", "more than 1 second"));
    }

    #[test]
    fn a_seed_that_was_lost_is_told() {
        let (suite, mut records) = some_runs();
        records.push(record("rings", "kmeans", 0, 0.5)).unwrap();
        let mut lost = record("rings", "kmeans", 1, 0.0);
        lost.outcome = Outcome::without_labels(Status::Crashed, "killed");
        records.push(lost).unwrap();
        let summary = SuiteSummary::new(&suite, &records);
        let gap = Gap {
            data: "rings".into(),
            method: "means".into(),
            which: "seed 1".into(),
            why: "killed".into(),
        };
        assert_eq!(summary.gaps, [gap]);
    }

    #[test]
    fn a_row_without_any_score_ranks_nobody() {
        let (suite, mut records) = some_runs();
        for method in ["kmeans", "lsc"] {
            let mut over = record("rings", method, 0, 0.0);
            if method == "lsc" {
                over.spec.settings.insert("p".into(), 10.into());
            }
            over.outcome = Outcome::without_labels(Status::OverTime, "more than 1 second");
            records.push(over).unwrap();
        }
        let summary = SuiteSummary::new(&suite, &records);
        assert_eq!(summary.cells.len(), 2);
        assert_eq!(summary.complete(ScoreKind::Nmi, &[0, 1]).len(), 1, "moons alone");
    }
}
