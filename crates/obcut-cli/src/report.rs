//! Facts that several commands report, in JSON and in summaries.

mod explanation;

pub use explanation::ExplanationFacts;

use obcut::{LargeTrace, Trace, metrics};
use obcut_data::{RowLabels, RowTable, Truth};
use obcut_report::number::{self, significant};
use serde::{Serialize, Serializer};

use crate::failure::CliError;
use crate::input::{InputTable, TableRows};
use crate::labels::Labels;
use crate::output::{self, Summary, TABLE_LIMIT, count, plural};

/// Sizes of the clusters, in rows.
#[derive(Debug, Serialize)]
pub struct ClusterFacts {
    count: usize,
    smallest: usize,
    median: f64,
    largest: usize,
    sizes: Vec<usize>,
    /// Sums of the sample weights, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<f64>>,
    /// Number of rows that are marked as noise, if the model marks them. They belong to no cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<usize>,
}

impl ClusterFacts {
    /// Counts the labels `0..k`.
    pub fn of_labels(labels: &[u32], n_clusters: usize) -> Self {
        Self::new(RowLabels::of_clusters(labels).sizes(n_clusters))
    }

    /// Creates the facts from the sizes.
    pub fn new(sizes: Vec<usize>) -> Self {
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

    /// Adds the sums of the sample weights.
    pub fn weighted(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Adds the number of noise rows, if the model marks them.
    pub fn marked(self, n_rows: usize, model: &obcut::Model) -> Self {
        let noise = n_rows - self.sizes.iter().sum::<usize>();
        Self { noise: model.info().noise_threshold.map(|_| noise), ..self }
    }

    /// Writes the range of the sizes, and all sizes if they are few.
    pub fn write(&self, name: &'static str, summary: &mut Summary) {
        let Self { count: k, smallest, median, largest, sizes, .. } = self;
        let text = format!(
            "{}: smallest {}, median {}, largest {}",
            count(*k),
            count(*smallest),
            significant(*median, 15),
            count(*largest)
        );
        summary.line(name, text);
        if (2..=TABLE_LIMIT).contains(k) {
            summary.line("", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
        }
        if let Some(noise) = self.noise {
            summary.line("noise", format!("{}, marked as -1", plural(noise, "row")));
        }
    }
}

/// Facts on sample weights.
#[derive(Debug, Serialize)]
pub struct WeightFacts {
    sum: f64,
    zero_rows: usize,
}

impl WeightFacts {
    /// Creates the facts from the weights of all rows.
    pub fn new(weights: &[f64]) -> Self {
        let zero_rows = weights.iter().filter(|&&w| w == 0.0).count();
        Self { sum: weights.iter().sum(), zero_rows }
    }

    /// Writes the sum and the number of zeros.
    pub fn write(&self, summary: &mut Summary) {
        let zero = plural(self.zero_rows, "row");
        summary.line("weights", format!("sum {}, {zero} with weight 0", output::number(self.sum)));
    }
}

/// Scores against true classes, as fractions.
#[derive(Debug, Serialize)]
pub struct ScoreFacts {
    nmi: f64,
    acc: f64,
    purity: f64,
    ari: f64,
}

impl ScoreFacts {
    /// Scores labels against the classes of the same rows.
    pub fn new(labels: &RowLabels, truth: &Truth) -> anyhow::Result<Self> {
        // Noise counts as a cluster of its own.
        let noise = labels.labels().max().map_or(0, |last| last + 1);
        let cluster = |label: i32| if label < 0 { noise } else { label } as u32;
        let labels: Vec<u32> = labels.labels().map(cluster).collect();
        let metrics::Scores { nmi, acc, purity, ari } = metrics::scores(&labels, &truth.codes)?;
        Ok(Self { nmi, acc, purity, ari })
    }

    /// Scores the labels of a table, if it has true classes.
    pub fn of_table(labels: &Labels, table: &InputTable) -> anyhow::Result<Option<Self>> {
        let Some(truth) = &table.truth else { return Ok(None) };
        Self::new(&*labels.load()?, truth).map(Some)
    }

    /// The scores for a report.
    pub fn plain(&self) -> obcut_report::ClassScores {
        let Self { nmi, acc, purity, ari } = *self;
        obcut_report::ClassScores { nmi, acc, purity, ari }
    }

    /// Writes the scores in per cent.
    pub fn write(&self, summary: &mut Summary) {
        let Self { nmi, acc, purity, ari } = self;
        let percent = |x: f64| format!("{:.2}", 100.0 * x);
        let text = format!(
            "NMI {}, ACC {}, purity {}, ARI {} (per cent)",
            percent(*nmi),
            percent(*acc),
            percent(*purity),
            percent(*ari)
        );
        summary.line("scores", text);
    }
}

/// Facts on the passes over a large table.
#[derive(Debug, Serialize)]
pub struct PassFacts {
    /// Rows of the table.
    rows: usize,
    #[serde(flatten)]
    trace: LargeTrace,
    /// Number of bytes read from files, if the table was read in pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scratch_bytes: Option<u64>,
}

impl PassFacts {
    /// Creates the facts from the trace of a fit, if the table was large.
    pub fn new(table: &InputTable, trace: &Trace) -> Option<Self> {
        let source = match &table.rows {
            TableRows::InMemory(_) => None,
            TableRows::InPieces(source) => Some(source),
        };
        Some(Self {
            rows: table.n_rows(),
            trace: trace.large.clone()?,
            bytes_read: source.map(RowTable::bytes_read),
            scratch_bytes: source.map(RowTable::scratch_bytes).filter(|&bytes| bytes > 0),
        })
    }

    /// Writes the passes and the rounds.
    pub fn write(&self, summary: &mut Summary) {
        let LargeTrace { core_rows, passes, moved, .. } = &self.trace;
        let mut text = format!(
            "{} over {}, coreset of {}",
            plural(*passes, "pass").replace("passs", "passes"),
            plural(self.rows, "row"),
            plural(*core_rows, "distinct row")
        );
        if let Some(bytes) = self.bytes_read {
            text += &format!("; {} read in pieces", number::bytes(bytes));
        }
        if let Some(bytes) = self.scratch_bytes {
            text += &format!(", scratch file of {}", number::bytes(bytes));
        }
        summary.line("passes", text);
        let rounds = plural(moved.len(), "round");
        let last = 100.0 * moved.last().copied().unwrap_or(0.0);
        summary
            .line("", format!("{rounds} of labelling; another would move {last:.2} % of the rows"));
    }
}

/// Seconds in total and per stage.
#[derive(Debug, Serialize)]
pub struct TimeFacts {
    total: f64,
    #[serde(serialize_with = "in_order")]
    stages: Vec<(String, f64)>,
}

/// Serializes an object whose keys keep their order.
fn in_order<S: Serializer>(stages: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().map(|(name, seconds)| (name, seconds)))
}

impl TimeFacts {
    /// Creates the facts from the stages in order.
    pub fn new(total: f64, stages: Vec<(String, f64)>) -> Self {
        Self { total, stages }
    }

    /// Writes the seconds. Stages below 5 ms are omitted.
    pub fn write(&self, summary: &mut Summary) {
        let steps: Vec<String> = self
            .stages
            .iter()
            .filter(|(_, seconds)| *seconds >= 0.005)
            .map(|(name, seconds)| format!("{name} {seconds:.2}"))
            .collect();
        let steps =
            if steps.is_empty() { String::new() } else { format!(": {}", steps.join(", ")) };
        summary.line("seconds", format!("{:.2}{steps}", self.total));
    }
}

/// The number of threads that a setting means; 0 means all.
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

/// Checks that labels and classes have the same length.
pub fn same_length(labels: usize, truth: usize) -> Result<(), CliError> {
    if labels == truth {
        return Ok(());
    }
    Err(CliError::Data(format!(
        "{} labels cannot be compared with {} classes; both files need one entry per row",
        count(labels),
        count(truth)
    )))
}

/// Counts the rows of every pair of cluster and class: a row per cluster, a column per class.
pub fn contingency(labels: &[u32], n_clusters: usize, truth: &Truth) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; truth.names.len()]; n_clusters];
    for (&label, &class) in labels.iter().zip(&truth.codes) {
        counts[label as usize][class as usize] += 1;
    }
    counts
}
