//! The explanation of a fit: clusters, candidates, choice of k.

use obcut::{CandidateScore, Explanation, KPath, KScore, Model};
use serde::Serialize;

use crate::output::{Summary, number, plural};

/// The explanation of a fit, with the names of the features.
#[derive(Debug, Serialize)]
pub struct ExplanationFacts<'a> {
    clusters: Vec<ClusterDetail<'a>>,
    /// Candidates of graph and start, if the graph was chosen.
    pub tried: &'a [CandidateScore],
    k_path: Option<&'a KPath>,
    /// Agreement with the clusters of resamples, if requested.
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

/// A feature that distinguishes a cluster.
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
    /// Collects the explanation of a model.
    pub fn new(model: &'a Model) -> Self {
        let names = model.feature_names();
        let Explanation { clusters, tried, k_path, stability, .. } = model.explanation();
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

    /// The selected candidate, if there was a choice.
    pub fn kept(&self) -> Option<&'a CandidateScore> {
        self.tried.iter().find(|t| t.kept)
    }

    /// Writes a line on the choice of k, if it was chosen.
    pub fn write_path(&self, summary: &mut Summary) {
        let Some(path) = self.k_path else { return };
        let mut best: Vec<&KScore> = path.tried.iter().collect();
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
        summary.line("k", text);
    }

    /// Writes a line on the stability, if it was measured.
    pub fn write_stability(&self, n_resamples: usize, summary: &mut Summary) {
        let Some(stability) = self.stability else { return };
        let mut text = format!("ARI {stability:.3} over {}", plural(n_resamples, "resample"));
        let known = self.clusters.iter().filter_map(|c| Some((c.stability?, c.cluster)));
        if let Some((least, cluster)) = known.min_by(|a, b| a.0.total_cmp(&b.0)) {
            text += &format!("; the least stable cluster is {cluster} ({least:.2})");
        }
        summary.line("stability", text);
    }

    /// Writes the candidates, and what distinguishes every cluster.
    pub fn write(&self, summary: &mut Summary) {
        for (i, best) in best_of_kind(self.tried).iter().enumerate() {
            let name = if i == 0 { "tried" } else { "" };
            summary.line(name, best.text());
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
                    format!("{name} {} ({:+.1})", number(f.mean), f.difference)
                })
                .collect();
            if !features.is_empty() {
                text += &format!("; {}", features.join(", "));
            }
            summary.line(name, text);
        }
    }
}

/// The best of all candidates of one kind.
struct BestOfKind<'a> {
    best: &'a CandidateScore,
    count: usize,
}

/// The best candidate of every kind, the best kind first.
fn best_of_kind(tried: &[CandidateScore]) -> Vec<BestOfKind<'_>> {
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
            number(t.score),
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
