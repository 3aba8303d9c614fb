//! What a fit found: its clusters, the candidates that were compared, and the scores of the numbers of clusters.

use serde::{Deserialize, Serialize};

use crate::params::GraphKind;

/// Facts about a fit that a model carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// One entry per cluster.
    pub clusters: Vec<ClusterInfo>,
    /// Graphs and starts that the automatic choice tried; empty when the graph was named.
    pub tried: Vec<CandidateScore>,
    /// Numbers of clusters that were tried, when k was chosen.
    pub k_path: Option<KPath>,
    /// How the clusters merge when the gaps between them close, the narrowest first: k - 1 merges. Empty when
    /// the graph was named, as the nearest rows are not looked at then.
    #[serde(default)]
    pub merges: Vec<Merge>,
    /// Mean adjusted Rand index with the clusters of resamples, where [`crate::Params::stability`] asks for it.
    #[serde(default)]
    pub stability: Option<f64>,
}

/// Two nodes that become one, by single linkage: the clusters are the nodes 0 to k - 1, and the i-th merge
/// makes the node k + i.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merge {
    /// The node with the smaller number.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// Distance between the nearest rows of the two, of the table as it was scaled.
    pub distance: f64,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// Rows in it.
    pub rows: usize,
    /// Sum of their weights.
    pub weight: f64,
    /// Chance that a step from one of its rows to an anchor and back ends in the cluster: 1 when it
    /// shares no link.
    pub cohesion: f64,
    /// The other cluster that such a step ends in most often, if it ends in any.
    pub nearest: Option<u32>,
    /// How often it does.
    pub nearest_share: f64,
    /// Features that differ most from the table as a whole, the most first.
    pub features: Vec<FeatureInfo>,
    /// Mean Jaccard index with the most similar cluster of every resample that holds rows of it, where
    /// [`crate::Params::stability`] asks for it: 1 when it always comes back.
    #[serde(default)]
    pub stability: Option<f64>,
}

/// A feature of a cluster, in the units of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureInfo {
    /// Column of the table.
    pub index: usize,
    /// Mean over the cluster.
    pub mean: f64,
    /// Mean over the table.
    pub overall: f64,
    /// The difference in standard deviations of the table.
    pub difference: f64,
}

/// A candidate that was tried, with what the choice went by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateScore {
    /// Kinds of links, joined by a plus; `tree`, `kmeans` and `mixture` have none.
    pub graph: String,
    /// Where the labels started.
    pub start: String,
    /// Eigenvectors of a spectral start, 0 for others.
    #[serde(default)]
    pub vectors: usize,
    /// The label-free score, the larger the better.
    pub score: f64,
    /// Association of the labels with themselves on every graph that judges: its kind and a number
    /// up to 1, which means that no edge is cut.
    pub association: Vec<(String, f64)>,
    /// Entropy of the cluster sizes, 1 when they are equal.
    pub balance: f64,
    /// Whether it was ruled out without being judged.
    pub ruled_out: bool,
    /// Whether it was kept.
    pub kept: bool,
}

/// How every k scored, and which one was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KPath {
    /// The k that was taken; 1 means that no clusters were found.
    pub chosen: usize,
    /// Whether there is no doubt: no k elsewhere comes near it, and the clusters stand apart.
    pub clear: bool,
    /// Other k that score nearly as well, the best first.
    pub rivals: Vec<usize>,
    /// What the largest gap between eigenvalues would have said, for comparison.
    pub eigengap: usize,
    /// The best score of a table without clusters, where one was made.
    #[serde(default)]
    pub reference: Option<f64>,
    /// All that were tried, ascending; 1 has no score and is not among them.
    pub tried: Vec<KScore>,
}

/// One k of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KScore {
    /// Number of clusters.
    pub n_clusters: usize,
    /// The larger the better, at most 1.
    pub score: f64,
    /// Kind of graph that scored best.
    pub graph: GraphKind,
    /// Association of the labels of one view on the graph of another, beyond chance.
    pub association: f64,
    /// Adjusted mutual information of two views.
    pub stability: f64,
    /// Entropy of the cluster sizes.
    pub balance: f64,
    /// How much sparser the rims of the clusters are than the clusters, in standard deviations, in the mean;
    /// 3 means that nothing links them.
    #[serde(default)]
    pub apart: f64,
    /// The same of the cluster where it is least.
    #[serde(default)]
    pub least_apart: f64,
    /// The score that a table without clusters has with this k, where one was made; between the k that were tried
    /// there it is interpolated.
    #[serde(default)]
    pub reference: Option<f64>,
}
