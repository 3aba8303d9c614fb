//! Facts that several commands tell, for people and as JSON.

use std::io::IsTerminal;

use obcut::{LargeTrace, metrics};
use obcut_data::{LabelTable, NOISE, RowTable, Truth};
use serde::{Serialize, Serializer};

use crate::args::{Talk, Targets};
use crate::failure::Fault;
use crate::interrupt;
use crate::memory;
use crate::output::{self, Card, TABLE_LIMIT, count, plural};

/// Sizes of the clusters, in rows.
#[derive(Debug, Serialize)]
pub struct ClusterFacts {
    count: usize,
    smallest: usize,
    median: f64,
    largest: usize,
    sizes: Vec<usize>,
    /// Sums of the sample weights, when there are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<f64>>,
    /// Rows that are marked as noise and count in no cluster, where a model marks such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<usize>,
}

impl ClusterFacts {
    /// Counts the labels `0..k`.
    pub fn new(labels: &[u32], n_clusters: usize) -> Self {
        let mut sizes = vec![0; n_clusters];
        let clusters = labels.iter().filter(|&&label| label != NOISE);
        clusters.for_each(|&label| sizes[label as usize] += 1);
        Self::of_sizes(sizes)
    }

    /// From the sizes.
    pub fn of_sizes(sizes: Vec<usize>) -> Self {
        let n_clusters = sizes.len();
        let mut sorted = sizes.clone();
        sorted.sort_unstable();
        let middle = n_clusters / 2;
        let median = match n_clusters {
            0 => 0.0,
            k if k % 2 == 1 => sorted[middle] as f64,
            _ => (sorted[middle - 1] + sorted[middle]) as f64 / 2.0,
        };
        Self {
            count: n_clusters,
            smallest: sorted.first().copied().unwrap_or(0),
            median,
            largest: sorted.last().copied().unwrap_or(0),
            sizes,
            weights: None,
            noise: None,
        }
    }

    /// With the sums of the sample weights.
    pub fn weighted(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// With the number of all rows, where a model marks some as noise.
    pub fn marked(self, n_rows: usize, model: &obcut::Model) -> Self {
        let noise = n_rows - self.sizes.iter().sum::<usize>();
        Self { noise: model.noise_threshold().map(|_| noise), ..self }
    }

    /// Two lines of a card: the range, and all sizes when they are few.
    pub fn tell(&self, name: &'static str, card: &mut Card) {
        let Self { count: k, smallest, median, largest, sizes, .. } = self;
        let text = format!(
            "{}: smallest {}, median {}, largest {}",
            count(*k),
            count(*smallest),
            half(*median),
            count(*largest)
        );
        card.line(name, text);
        if (2..=TABLE_LIMIT).contains(k) {
            card.line("", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
        }
        if let Some(noise) = self.noise {
            card.line("noise", format!("{}, marked as -1", plural(noise, "row")));
        }
    }
}

/// What a fit found and tried, with the names of the features.
#[derive(Debug, Serialize)]
pub struct ExplanationFacts<'a> {
    clusters: Vec<ClusterDetail<'a>>,
    /// Graphs and starts, when the graph was chosen.
    pub tried: &'a [obcut::CandidateScore],
    k_path: Option<&'a obcut::KPath>,
    /// Agreement with the clusters of resamples, where it was asked for.
    stability: Option<f64>,
}

/// One cluster.
#[derive(Debug, Serialize)]
struct ClusterDetail<'a> {
    cluster: usize,
    rows: usize,
    weight: f64,
    cohesion: f64,
    nearest: Option<u32>,
    nearest_share: f64,
    stability: Option<f64>,
    features: Vec<FeatureDetail<'a>>,
}

/// A feature that sets a cluster apart.
#[derive(Debug, Serialize)]
struct FeatureDetail<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    mean: f64,
    overall: f64,
    difference: f64,
}

impl<'a> ExplanationFacts<'a> {
    /// From a model.
    pub fn new(model: &'a obcut::Model) -> Self {
        let names = model.feature_names();
        let obcut::Explanation { clusters, tried, k_path, stability, .. } = model.explanation();
        let clusters = clusters.iter().enumerate().map(|(cluster, c)| ClusterDetail {
            cluster,
            rows: c.rows,
            weight: c.weight,
            cohesion: c.cohesion,
            nearest: c.nearest,
            nearest_share: c.nearest_share,
            stability: c.stability,
            features: (c.features.iter())
                .map(|f| FeatureDetail {
                    index: f.index,
                    name: names.get(f.index).map(String::as_str),
                    mean: f.mean,
                    overall: f.overall,
                    difference: f.difference,
                })
                .collect(),
        });
        let (clusters, k_path) = (clusters.collect(), k_path.as_ref());
        Self { clusters, tried, k_path, stability: *stability }
    }

    /// The candidate that was kept, when there was a choice.
    pub fn kept(&self) -> Option<&'a obcut::CandidateScore> {
        self.tried.iter().find(|t| t.kept)
    }

    /// A line on the choice of k, if it was chosen.
    pub fn tell_path(&self, card: &mut Card) {
        let Some(path) = self.k_path else { return };
        let mut best: Vec<&obcut::KScore> = path.tried.iter().collect();
        best.sort_by(|a, b| b.score.total_cmp(&a.score));
        let best: Vec<String> =
            best.iter().take(5).map(|t| format!("{} ({:.3})", t.n_clusters, t.score)).collect();
        let from = plural(path.tried.len(), "number");
        let mut text = match path.chosen {
            1 => format!("1, no clusters found with {from}"),
            k => format!("{k} chosen from {from}"),
        };
        if !best.is_empty() {
            text += &format!("; best {}", best.join(", "));
        }
        if let Some(reference) = path.reference {
            text += &format!("; without clusters {reference:.3}");
        }
        card.line("k", text);
    }

    /// A line on the stability, if it was measured on so many resamples.
    pub fn tell_stability(&self, n_resamples: usize, card: &mut Card) {
        let Some(stability) = self.stability else { return };
        let mut text = format!("ARI {stability:.3} over {}", plural(n_resamples, "resample"));
        let known = self.clusters.iter().filter_map(|c| Some((c.stability?, c.cluster)));
        if let Some((least, cluster)) = known.min_by(|a, b| a.0.total_cmp(&b.0)) {
            text += &format!("; the least stable cluster is {cluster} ({least:.2})");
        }
        card.line("stability", text);
    }

    /// What was tried, and what sets every cluster apart.
    pub fn tell(&self, card: &mut Card) {
        for (i, best) in best_of_kind(self.tried).iter().enumerate() {
            let name = if i == 0 { "tried" } else { "" };
            card.line(name, best.text());
        }
        for c in &self.clusters {
            let name = if c.cluster == 0 { "apart" } else { "" };
            let mut text =
                format!("{}: {}, cohesion {:.2}", c.cluster, plural(c.rows, "row"), c.cohesion);
            if let Some(nearest) = c.nearest {
                text += &format!(", nearest {nearest} ({:.2})", c.nearest_share);
            }
            if let Some(stability) = c.stability {
                text += &format!(", stability {stability:.2}");
            }
            let features: Vec<String> = (c.features.iter().take(3))
                .map(|f| {
                    let name = f.name.map_or_else(|| format!("column {}", f.index), str::to_string);
                    format!("{name} {} ({:+.1})", output::number(f.mean), f.difference)
                })
                .collect();
            if !features.is_empty() {
                text += &format!("; {}", features.join(", "));
            }
            card.line(name, text);
        }
    }
}

/// The best of all candidates of one kind.
struct BestOfKind<'a> {
    best: &'a obcut::CandidateScore,
    count: usize,
}

/// The best candidate of every kind, the best kind first.
fn best_of_kind(tried: &[obcut::CandidateScore]) -> Vec<BestOfKind<'_>> {
    let mut kinds: Vec<BestOfKind<'_>> = Vec::new();
    for t in tried {
        match kinds.iter_mut().find(|kind| kind.best.graph == t.graph) {
            Some(kind) => {
                kind.count += 1;
                if t.kept || (!kind.best.kept && t.score > kind.best.score) {
                    kind.best = t;
                }
            }
            None => kinds.push(BestOfKind { best: t, count: 1 }),
        }
    }
    kinds.sort_by(|a, b| b.best.kept.cmp(&a.best.kept).then(b.best.score.total_cmp(&a.best.score)));
    kinds
}

impl BestOfKind<'_> {
    fn text(&self) -> String {
        let t = self.best;
        let mut text = t.graph.clone();
        if t.start != t.graph {
            text += &format!(" from {}", t.start);
        }
        if t.vectors > 0 {
            text += &format!(", {}", plural(t.vectors, "eigenvector"));
        }
        let on: Vec<String> =
            t.association.iter().map(|(graph, a)| format!("{graph} {a:.3}")).collect();
        text += &format!(
            ": score {} (association on {}; balance {:.3})",
            output::number(t.score),
            on.join(", "),
            t.balance
        );
        if self.count > 1 {
            text += &format!(", best of {}", self.count);
        }
        if t.kept {
            text += ", kept";
        }
        text
    }
}

/// Sample weights, when there are such.
#[derive(Debug, Serialize)]
pub struct WeightFacts {
    sum: f64,
    zero_rows: usize,
}

impl WeightFacts {
    /// From the weights of all rows.
    pub fn new(weights: &[f64]) -> Self {
        let zero_rows = weights.iter().filter(|&&w| w == 0.0).count();
        Self { sum: weights.iter().sum(), zero_rows }
    }

    /// One line of a card.
    pub fn tell(&self, card: &mut Card) {
        let zero = plural(self.zero_rows, "row");
        card.line("weights", format!("sum {}, {zero} with weight 0", output::number(self.sum)));
    }
}

/// A whole number or one with a half, with commas.
fn half(value: f64) -> String {
    let whole = count(value as usize);
    if value.fract() == 0.0 { whole } else { whole + ".5" }
}

/// Agreement with the truth, as fractions.
#[derive(Debug, Serialize)]
pub struct ScoreFacts {
    nmi: f64,
    acc: f64,
    purity: f64,
    ari: f64,
}

impl ScoreFacts {
    /// Scores labels against classes of the same rows.
    pub fn new(labels: &[u32], truth: &Truth) -> anyhow::Result<Self> {
        let metrics::Scores { nmi, acc, purity, ari } = metrics::scores(labels, &truth.codes)?;
        Ok(Self { nmi, acc, purity, ari })
    }

    /// The same for a page.
    pub fn plain(&self) -> obcut_report::Scores {
        let Self { nmi, acc, purity, ari } = *self;
        obcut_report::Scores { nmi, acc, purity, ari }
    }

    /// One line of a card, in per cent.
    pub fn tell(&self, card: &mut Card) {
        let Self { nmi, acc, purity, ari } = self;
        let percent = |x: f64| format!("{:.2}", 100.0 * x);
        let text = format!(
            "NMI {}, ACC {}, purity {}, ARI {} (per cent)",
            percent(*nmi),
            percent(*acc),
            percent(*purity),
            percent(*ari)
        );
        card.line("scores", text);
    }
}

/// Scores when the table has a truth column.
pub fn scores_of(labels: &[u32], truth: Option<&Truth>) -> anyhow::Result<Option<ScoreFacts>> {
    let Some(truth) = truth else { return Ok(None) };
    if !labels.contains(&NOISE) {
        return ScoreFacts::new(labels, truth).map(Some);
    }
    // Noise counts as a cluster of its own.
    let last = labels.iter().filter(|&&label| label != NOISE).max().map_or(0, |&label| label + 1);
    let labels: Vec<u32> = labels.iter().map(|&label| label.min(last)).collect();
    ScoreFacts::new(&labels, truth).map(Some)
}

/// How a large table was read.
#[derive(Debug, Serialize)]
pub struct PassFacts {
    /// Rows of the table.
    rows: usize,
    #[serde(flatten)]
    trace: LargeTrace,
    /// Bytes read from files, when it was read in pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scratch_bytes: Option<u64>,
}

impl PassFacts {
    /// From what a fit tells, and the table if it was read in pieces.
    pub fn new(rows: usize, trace: &LargeTrace, table: Option<&RowTable>) -> Self {
        Self {
            rows,
            trace: trace.clone(),
            bytes_read: table.map(RowTable::bytes_read),
            scratch_bytes: table.map(RowTable::scratch_bytes).filter(|&bytes| bytes > 0),
        }
    }

    /// A few lines of a card.
    pub fn tell(&self, card: &mut Card) {
        let LargeTrace { core_rows, passes, moved, .. } = &self.trace;
        let mut text = format!(
            "{} over {}, core of {}",
            plural(*passes, "pass").replace("passs", "passes"),
            plural(self.rows, "row"),
            plural(*core_rows, "distinct row")
        );
        if let Some(bytes) = self.bytes_read {
            text += &format!("; {} read in pieces", memory::size_text(bytes));
        }
        if let Some(bytes) = self.scratch_bytes {
            text += &format!(", scratch file of {}", memory::size_text(bytes));
        }
        card.line("passes", text);
        let rounds = plural(moved.len(), "round");
        let last = 100.0 * moved.last().copied().unwrap_or(0.0);
        card.line("", format!("{rounds} of labelling; another would move {last:.2} % of the rows"));
    }
}

/// Labels of rows with what is known beside them.
#[derive(Clone, Debug)]
pub struct RowLabels {
    /// Cluster of every row.
    pub labels: Vec<u32>,
    /// More about every row.
    pub margins: Option<Margins>,
}

/// What stands beside the labels of rows.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    /// Second-best cluster.
    pub second: Vec<u32>,
    /// By how much the best one wins.
    pub margin: Vec<f64>,
    /// How sure the label is.
    pub confidence: Vec<f64>,
    /// How far out the row lies.
    pub outlier: Vec<f64>,
}

impl Margins {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.second.clear();
        for figures in [&mut self.margin, &mut self.confidence, &mut self.outlier] {
            figures.clear();
        }
    }

    /// Adds the rows of a table that has all columns.
    pub fn extend(&mut self, table: &LabelTable<'_>) {
        self.second.extend(table.second.into_iter().flatten());
        self.margin.extend(table.margin.into_iter().flatten());
        self.confidence.extend(table.confidence.into_iter().flatten());
        self.outlier.extend(table.outlier.into_iter().flatten());
    }
}

impl RowLabels {
    /// Labels and nothing else.
    pub fn new(labels: Vec<u32>) -> Self {
        Self { labels, margins: None }
    }

    /// Splits what a model explains.
    pub fn explained(rows: &[obcut::RowScore]) -> Self {
        Self {
            labels: rows.iter().map(|row| row.label_or_noise() as u32).collect(),
            margins: Some(Margins {
                second: rows.iter().map(|row| row.second).collect(),
                margin: rows.iter().map(|row| row.margin).collect(),
                confidence: rows.iter().map(|row| row.confidence).collect(),
                outlier: rows.iter().map(|row| row.outlier).collect(),
            }),
        }
    }

    /// As it is written.
    pub fn table(&self) -> LabelTable<'_> {
        table(&self.labels, self.margins.as_ref())
    }

    /// Writes the labels to their file, if any, and before that what `also` writes.
    pub fn write(
        &self,
        targets: &Targets,
        also: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        interrupt::writing(|| {
            also()?;
            if let Some(path) = &targets.labels {
                obcut_data::write_labels(path, &self.table(), targets.force)?;
            }
            Ok(())
        })
    }

    /// Prints the summary, and the labels unless they are in a file. The summary comes first, so
    /// that it is there while a slow reader takes the labels; on a terminal they would push it out
    /// of sight, so it comes last.
    pub fn show(&self, targets: &Targets, talk: &Talk, card: &Card) -> anyhow::Result<()> {
        let printed = targets.labels.is_none();
        let last = printed && std::io::stdout().is_terminal();
        if !talk.quiet && !last {
            card.print_to_stderr();
        }
        if printed {
            output::print_labels(&self.table())?;
        }
        if !talk.quiet && last {
            card.print_to_stderr();
        }
        Ok(())
    }

    /// The labels for a JSON document, unless they are in a file.
    pub fn inline(&self, targets: &Targets) -> InlineLabels<'_> {
        let wanted = targets.labels.is_none();
        InlineLabels { table: wanted.then(|| self.table()) }
    }
}

/// Labels with what stands beside them.
pub fn table<'a>(labels: &'a [u32], margins: Option<&'a Margins>) -> LabelTable<'a> {
    LabelTable {
        labels,
        second: margins.map(|m| &m.second[..]),
        margin: margins.map(|m| &m.margin[..]),
        confidence: margins.map(|m| &m.confidence[..]),
        outlier: margins.map(|m| &m.outlier[..]),
    }
}

/// Labels inside a JSON document.
#[derive(Debug, Serialize)]
pub struct InlineLabels<'a> {
    #[serde(flatten)]
    table: Option<LabelTable<'a>>,
}

/// Seconds in all and per step.
#[derive(Debug, Serialize)]
pub struct TimeFacts {
    total: f64,
    #[serde(serialize_with = "in_order")]
    stages: Vec<(String, f64)>,
}

/// As an object whose keys keep their order.
fn in_order<S: Serializer>(stages: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().map(|(name, seconds)| (name, seconds)))
}

impl TimeFacts {
    /// From the steps in order.
    pub fn new(total: f64, stages: Vec<(String, f64)>) -> Self {
        Self { total, stages }
    }

    /// One line of a card; steps below a hundredth of a second are left out.
    pub fn tell(&self, card: &mut Card) {
        let steps: Vec<String> = self
            .stages
            .iter()
            .filter(|(_, seconds)| *seconds >= 0.005)
            .map(|(name, seconds)| format!("{name} {seconds:.2}"))
            .collect();
        let steps =
            if steps.is_empty() { String::new() } else { format!(": {}", steps.join(", ")) };
        card.line("seconds", format!("{:.2}{steps}", self.total));
    }
}

/// Threads that a setting of 0 stands for.
pub fn threads(setting: usize) -> usize {
    match setting {
        0 => {
            let variable = std::env::var("RAYON_NUM_THREADS").ok();
            let wanted = variable.and_then(|text| text.parse().ok()).filter(|&n| n > 0);
            let there = || std::thread::available_parallelism().map_or(1, usize::from);
            wanted.unwrap_or_else(there)
        }
        n => n,
    }
}

/// Two columns of one length, or a message with both lengths.
pub fn same_length(labels: usize, truth: usize) -> Result<(), Fault> {
    if labels == truth {
        return Ok(());
    }
    Err(Fault::Data(format!(
        "{} labels cannot be compared with {} classes; both files need one entry for every row",
        count(labels),
        count(truth)
    )))
}
