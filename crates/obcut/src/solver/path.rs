//! The number of clusters, without labels: a path over k from a few graphs.
//!
//! Three anchor sets are learned apart from each other, so their graphs are three views of the same
//! rows. For every k each graph is clustered by its own spectrum, and a k is good when the views agree:
//!
//! | | |
//! |---|---|
//! | association | of the labels of one view on the graph of another, 1/k taken off as chance |
//! | stability | adjusted mutual information of the labels of two views |
//! | balance | entropy of the cluster sizes, 1 when they are equal |
//!
//! score = association × sqrt(stability) × balance². The best of the kinds of graphs counts. Gaps
//! between eigenvalues, which cost less, do not find k: see `docs/quality.md`.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ParamError};
use crate::graph::Graph;
use crate::graph::bipartite::Builder;
use crate::graph::layout::Layout;
use crate::graph::spectral::{Coordinates, Spectrum, spectrum};
use crate::kmeans::{Schedule, Seeding, Weighted};
use crate::metrics;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::solver::init::{self, auto_anchors};
use crate::solver::params::{GraphKind, Init, Params};
use crate::solver::plan::Block;
use crate::solver::score::{association, size_entropy, sizes};

/// Rows that the path is made from.
const ROWS: usize = 8000;
/// Views of every kind of graph.
const VIEWS: usize = 3;
/// Rows per cluster, at least, of the largest k tried unless a range is given.
const ROWS_PER_CLUSTER: usize = 24;
const MOST_CLUSTERS: usize = 60;
/// A rival scores at least this share of the best,
const RIVAL: f64 = 0.95;
/// and its k is at least this share away.
const APART: f64 = 0.2;
/// Below this score no k is clear,
const CLEAR: f64 = 0.5;
/// and below this one k = 2 is not: views agree on the two halves of any drawn-out cloud.
const CLEAR_HALVES: f64 = 0.9;
/// From this k on the path takes steps of about an eighth.
const DENSE_STEPS: usize = 16;

/// k-means on the embedding of a view.
const DISCRETISE: Schedule = Schedule {
    seeding: Seeding::PlusPlus,
    iterations: 30,
    restarts: 2,
    tol: 1e-4,
    ..Schedule::ALL_ROWS
};

/// How every k scored, and which one was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KPath {
    /// The k with the best score.
    pub chosen: usize,
    /// Whether no k elsewhere comes near it.
    pub clear: bool,
    /// Other k that score nearly as well, the best first.
    pub rivals: Vec<usize>,
    /// What the largest gap between eigenvalues would have said, for comparison.
    pub eigengap: usize,
    /// All that were tried, ascending.
    pub tried: Vec<KTried>,
}

/// One k of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KTried {
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
}

/// One graph of the rows, with its eigenvectors.
struct View {
    graph: Graph,
    spectrum: Spectrum,
}

/// Tries the k of a range on some of the rows.
pub(crate) fn path(
    rows: &Weighted<'_, '_>,
    params: &Params,
    ridge: f64,
    (low, high): (usize, Option<usize>),
    context: &Context<'_>,
) -> Result<KPath, Error> {
    let conflict = |text: &str| Error::from(ParamError::Conflict(text.into()));
    if params.anchors.is_some() {
        return Err(conflict(
            "k cannot be chosen on given anchors: it takes several sets; give k or drop the anchors",
        ));
    }
    if matches!(params.init, Init::Given(_)) {
        return Err(conflict("k cannot be chosen with given start labels; give k"));
    }
    let all = rows.table.n();
    let stream = Stream::new(params.seed).named("path");
    let sample = rows.sample(ROWS, stream.named("rows"), context)?;
    let table = sample.table()?;
    let part = sample.rows(&table);
    let n = part.table.n();

    let kinds = match params.graph {
        GraphKind::Auto => vec![GraphKind::Distance, GraphKind::Global],
        GraphKind::Neighbors => vec![GraphKind::Distance],
        kind => vec![kind],
    };
    let high = high.unwrap_or_else(|| (n / ROWS_PER_CLUSTER).min(MOST_CLUSTERS));
    if high < low || high * 3 > n {
        return Err(conflict(&format!(
            "{all} distinct rows are too few to choose k from {low} to {}; give k",
            high.max(low)
        )));
    }
    let tested = steps(low, high);
    let mut tried: Vec<KTried> = Vec::new();
    let mut eigengap = low;
    for &kind in &kinds {
        let stream = stream.named(kind.name());
        let views = views(&part, params, kind, high, ridge, stream, context)?;
        if tried.is_empty() {
            eigengap = gap(&views[0].spectrum.values, low);
        }
        let (quiet, done) = (context.quietly(), AtomicUsize::new(0));
        // The largest k first: they take longest.
        let judged = context.each(tested.len(), |at| {
            let k = tested[tested.len() - 1 - at];
            let found = judge(&views, (part.weights, part.keys), kind, k, stream, &quiet)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            context.report(Stage::Path, done, tested.len(), None)?;
            Ok::<_, Error>(found)
        })?;
        for found in judged {
            let found = found?;
            match tried.iter_mut().find(|t| t.n_clusters == found.n_clusters) {
                Some(other) if other.score >= found.score => {}
                Some(other) => *other = found,
                None => tried.push(found),
            }
        }
    }
    tried.sort_by_key(|t| t.n_clusters);
    Ok(KPath { eigengap, ..pick(tried) })
}

/// The k from `low` on after which the eigenvalues (descending) fall most.
fn gap(values: &[f64], low: usize) -> usize {
    let fall = |k: usize| values[k - 1] - values[k];
    (low..values.len()).fold(low, |best, k| if fall(k) > fall(best) { k } else { best })
}

/// Every k up to a point, then steps of about an eighth.
fn steps(low: usize, high: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = std::iter::successors(Some(low), |k| {
        Some(if *k < DENSE_STEPS { k + 1 } else { k + k / 8 })
    })
    .take_while(|k| *k < high)
    .collect();
    steps.push(high);
    steps
}

fn views(
    rows: &Weighted<'_, '_>,
    params: &Params,
    kind: GraphKind,
    k: usize,
    ridge: f64,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<View>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    // Half as many near anchors as a fit takes: the sets have to be views of their own.
    let rows_for_anchors = if kind == GraphKind::Distance { n / 2 } else { n };
    let automatic = || auto_anchors(kind, rows_for_anchors, 1);
    let per_set = params.n_anchors.unwrap_or_else(automatic).max(k + 1).min(n);
    let blocks = [Block { per_set, n_sets: VIEWS }];
    let anchors = init::anchors(rows, &blocks, params, stream, context)?;
    let layout = Layout::single(kind, per_set, 1);
    let of_column = layout.anchor_of_column();
    let quiet = context.quietly();
    let sets: Vec<&[f64]> = anchors.chunks_exact(per_set * d).collect();
    let views = context.each(VIEWS, |v| {
        let points = rows.table.points(sets[v].to_vec());
        let builder = Builder::new(params, &layout, &points, ridge);
        let graph = builder.build(rows.table, &points, &quiet)?;
        let at = Coordinates { anchors: sets[v], d, of_column: &of_column };
        let stream = stream.named("eigen").nth(v);
        let spectrum = spectrum(&graph, rows.weights, (k, k), Some(at), stream, &quiet)?;
        Ok::<_, Error>(View { graph, spectrum })
    })?;
    views.into_iter().collect()
}

/// How well the views agree on k clusters.
fn judge(
    views: &[View],
    (weights, keys): (&[f64], &[u64]),
    kind: GraphKind,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<KTried, Error> {
    let mut labels = Vec::new();
    for (v, view) in views.iter().enumerate() {
        let stream = stream.nth(v).nth(k);
        let weighted = (weights, keys);
        labels.push(view.spectrum.labels(
            &view.graph,
            weighted,
            (k, k),
            DISCRETISE,
            stream,
            context,
        )?);
    }
    let pairs: Vec<(usize, usize)> = (0..views.len())
        .flat_map(|a| (0..views.len()).map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
        .collect();
    let (mut assoc, mut stability) = (0.0, 0.0);
    for &(a, b) in &pairs {
        assoc += association(&views[a].graph, &labels[b], weights, k) / pairs.len() as f64;
        if a < b {
            stability += metrics::ami(&labels[a], &labels[b])? / (pairs.len() / 2) as f64;
        }
    }
    let balance = (labels.iter()).map(|l| size_entropy(&sizes(l, weights, k))).sum::<f64>()
        / labels.len() as f64;
    let chance = 1.0 / k as f64;
    let association = ((assoc - chance) / (1.0 - chance)).max(0.0);
    let score = association * stability.max(0.0).sqrt() * balance * balance;
    Ok(KTried { n_clusters: k, score, graph: kind, association, stability, balance })
}

/// The best k, and those that come near it elsewhere.
fn pick(tried: Vec<KTried>) -> KPath {
    let mut best = &tried[0];
    for other in &tried {
        if other.score > best.score {
            best = other;
        }
    }
    let apart = |t: &&KTried| {
        let (a, b) = (t.n_clusters.max(best.n_clusters), t.n_clusters.min(best.n_clusters));
        (a - b) as f64 > APART * a as f64
    };
    let mut rivals: Vec<&KTried> =
        tried.iter().filter(apart).filter(|t| t.score >= RIVAL * best.score).collect();
    rivals.sort_by(|a, b| b.score.total_cmp(&a.score));
    let rivals: Vec<usize> = rivals.iter().map(|t| t.n_clusters).collect();
    let needed = if best.n_clusters == 2 { CLEAR_HALVES } else { CLEAR };
    let clear = rivals.is_empty() && best.score >= needed;
    KPath { chosen: best.n_clusters, clear, rivals, eigengap: 0, tried }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(scores: &[(usize, f64)]) -> Vec<KTried> {
        let one = |&(n_clusters, score): &(usize, f64)| KTried {
            n_clusters,
            score,
            graph: GraphKind::Distance,
            association: score,
            stability: 1.0,
            balance: 1.0,
        };
        scores.iter().map(one).collect()
    }

    #[test]
    fn a_rival_scores_alike_and_stands_apart() {
        let found = pick(tried(&[(2, 0.7), (8, 0.79), (9, 0.8), (20, 0.77), (30, 0.78)]));
        assert_eq!((found.chosen, found.clear), (9, false));
        assert_eq!(found.rivals, [30, 20]);
        assert!(pick(tried(&[(2, 0.7), (8, 0.79), (9, 0.8), (20, 0.6)])).clear);
        assert!(!pick(tried(&[(2, 0.1), (8, 0.4)])).clear);
        assert!(!pick(tried(&[(2, 0.8), (8, 0.4)])).clear);
        assert!(pick(tried(&[(2, 0.95), (8, 0.4)])).clear);
    }

    #[test]
    fn the_largest_fall_is_found() {
        assert_eq!(gap(&[1.0, 0.9, 0.88, 0.3, 0.1], 2), 3);
        assert_eq!(gap(&[1.0, 0.2], 2), 2);
    }

    #[test]
    fn the_steps_start_and_end_with_the_range() {
        assert_eq!(steps(3, 6), [3, 4, 5, 6]);
        assert_eq!(steps(2, 2), [2]);
        let long = steps(2, 100);
        assert!(long.is_sorted() && long.len() < 36 && long.last() == Some(&100), "{long:?}");
    }
}
