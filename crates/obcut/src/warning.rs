//! Warnings: what a user should know about a result, with the numbers.
//!
//! Messages name parameters between backticks. A front end replaces them by what its users type, see
//! [`crate::params::spell`].

/// Something a user should know about a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// More anchors were asked for than there are distinct rows.
    #[error(
        "`n_anchors` is {wanted}, but there are only {n_distinct} distinct rows; every one is an anchor"
    )]
    AnchorsCapped {
        /// Anchors asked for.
        wanted: usize,
        /// Distinct rows.
        n_distinct: usize,
    },
    /// Most values of a column lie in a small part of its range.
    #[error("column {}{}: 98 % of the values lie in {:.1} % of its range; {}", column_name(*column, name), and_more(*more), 100.0 * share, if *adjusted { "it is scaled by the range of most of its values" } else { "compare `scale=robust`" })]
    NarrowColumn {
        /// The column, from 0.
        column: usize,
        /// Its name, if the columns have names.
        name: Option<String>,
        /// How many more columns are like this.
        more: usize,
        /// The part of the range.
        share: f64,
        /// Whether the automatic scaling takes care of it.
        adjusted: bool,
    },
    /// Some clusters are very small.
    #[error(
        "{n_small} of {n_clusters} clusters hold less than 2 % of an average cluster; a smaller `n_clusters` may fit better"
    )]
    SmallClusters {
        /// Small clusters.
        n_small: usize,
        /// All clusters.
        n_clusters: usize,
    },
    /// Some clusters are connected to another one more than within.
    #[error(
        "cluster(s) {}: more links leave the cluster for another one than stay inside; a smaller `n_clusters` may fit better",
        list(clusters)
    )]
    WeakClusters {
        /// The clusters.
        clusters: Vec<usize>,
    },
    /// The graph has more components than clusters were asked for.
    #[error(
        "the graph has {n_components} components of substantial size, more than the {n_clusters} clusters; a larger `n_clusters` may fit better"
    )]
    MoreComponents {
        /// Components of substantial size.
        n_components: usize,
        /// Clusters.
        n_clusters: usize,
    },
    /// Components of the graph of nearest rows share clusters although there are enough clusters.
    #[error(
        "{merged} of {n_components} components of the graph share a cluster with another component; compare `balance=0`"
    )]
    ComponentsMerged {
        /// Components that share a cluster.
        merged: usize,
        /// All components.
        n_components: usize,
    },
    /// Components of the graph of nearest rows are split although there are enough of them.
    #[error(
        "{split} of {n_components} components of the graph are split into several of the {n_clusters} clusters; compare `balance=0`"
    )]
    ComponentsSplit {
        /// Components that are split.
        split: usize,
        /// All components.
        n_components: usize,
        /// Clusters.
        n_clusters: usize,
    },
    /// The choice of the number of clusters found none.
    #[error("no clusters found: the table looks like one group (k = 1)")]
    NoClusters,
    /// The choice of the number of clusters found none that are certain.
    #[error(
        "no clusters found with certainty (k = 1): the rows form one group, or groups that overlap; set `n_clusters` to divide them anyway"
    )]
    NoCertainClusters,
    /// The data do not determine the number of clusters clearly.
    #[error("the data do not determine k clearly: {n_clusters} scores best{}", if rivals.is_empty() { ", but not well enough to be certain".into() } else { format!(", but others are close: {}", list(rivals)) })]
    UnclearClusters {
        /// The number that was chosen.
        n_clusters: usize,
        /// Numbers that score almost as well.
        rivals: Vec<usize>,
    },
    /// Components of the graph too small to be clusters were connected to their nearest neighbors.
    #[error(
        "the graph has {n_fragments} component(s) too small to be clusters; they were connected to their nearest neighbors (lower `n_anchors` or raise `n_neighbors` to avoid this)"
    )]
    Fragments {
        /// Small components.
        n_fragments: usize,
    },
    /// Components of a given graph are too small to be clusters.
    #[error("the graph has {n_fragments} component(s) too small to be clusters")]
    GivenFragments {
        /// Small components.
        n_fragments: usize,
    },
    /// The graph does not distinguish enough rows.
    #[error(
        "the graph does not distinguish enough rows for this `n_clusters`; rows were assigned to the nearest of k typical rows"
    )]
    Prototypes,
    /// The rule for new rows differs from the learned labels.
    #[error("{:.0} % of the learned labels do not follow from the first anchors, so new rows are labeled by a rule that differs there; `learn=nothing` gives labels that generalize", 100.0 * share)]
    RuleDiffers {
        /// Share of the distinct rows.
        share: f64,
    },
    /// The learning loop did not converge.
    #[error(
        "the objective was still decreasing after {n_iter} iterations; raise `max_iter` to continue"
    )]
    NotConverged {
        /// Iterations done.
        n_iter: usize,
    },
    /// Rows or columns of a given graph have no edges.
    #[error(
        "{n_rows} row(s) and {n_cols} column(s) have no edges; they were assigned to the largest cluster"
    )]
    NoEdges {
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
    },
    /// A method found fewer clusters than asked for.
    #[error("only {found} of {wanted} clusters were found")]
    FewerClusters {
        /// Clusters found.
        found: usize,
        /// Clusters asked for.
        wanted: usize,
    },
    /// A warning of another method, in that method's words.
    #[error("{0}")]
    Method(String),
}

impl Warning {
    /// Names the columns that the warning is about.
    #[cfg(feature = "front-ends")]
    pub fn with_names(self, names: &[String]) -> Self {
        match self {
            Self::NarrowColumn { column, name: None, more, share, adjusted } => {
                let name = names.get(column).cloned();
                Self::NarrowColumn { column, name, more, share, adjusted }
            }
            other => other,
        }
    }
}

fn column_name(column: usize, name: &Option<String>) -> String {
    name.as_ref().map_or_else(|| column.to_string(), |name| format!("'{name}'"))
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
