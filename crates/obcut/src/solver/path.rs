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
//!
//! The score falls with k in any table. So k are compared by their score less half of what the same procedure
//! finds with this k in a table without clusters (see [`super::reference`]).
//!
//! Views agree on parts of a single group as well, so two things decide whether there are clusters: their
//! rims are sparser than they are themselves (see [`super::rim`]), or the score is far above the best one
//! without clusters. Where neither holds for any k, the answer is 1. Where the rows fall into components that nothing links, and the views find just
//! these, their number is the answer whatever their sizes.

use obcut_core::choice::Named;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::graph::bipartite::GraphBuilder;
use crate::graph::layout::GraphLayout;
use crate::metrics;
use crate::params::{GraphKind, Init, Params};
use crate::records::{KPath, KScore};
use crate::score::{association, size_entropy, sizes};
use crate::solver::init::{self, auto_anchors};
use crate::solver::plan::AnchorSets;
use crate::solver::{reference, rim};
use obcut_core::Graph;
use obcut_core::error::{Error, ParamError};
use obcut_core::graph::neighbors::{self, Neighbors};
use obcut_core::graph::spectral::{Coordinates, Spectrum, spectrum};
use obcut_core::kmeans::{Schedule, Seeding, Weighted};
use obcut_core::matrix::DenseRef;
use obcut_core::normalize::Scaling;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;

/// Rows that the path is made from.
const ROWS: usize = 4000;
/// Views of every kind of graph.
const VIEWS: usize = 3;
/// Rows per cluster, at least, of the largest k tried unless a range is given.
const ROWS_PER_CLUSTER: usize = 24;
const MOST_CLUSTERS: usize = 60;
/// How much of the score without clusters is taken off the score of a k.
const TAKEN_OFF: f64 = 0.5;
/// The score of a rival, less what is taken off, is at most this much below the best,
const RIVAL: f64 = 0.05;
/// and its k is at least this share away.
const APART: f64 = 0.2;
/// Below this score no k is clear.
const CLEAR: f64 = 0.5;
/// Clusters stand apart when the mean of their rims is this many deviations sparser, and perhaps with
/// this many.
const SPARSER: (f64, f64) = (0.75, 0.4);
/// A score is far above that of the reference when it is this many times as large, and perhaps with
/// this many.
const ABOVE: (f64, f64) = (1.5, 1.2);
/// A single group is clear when the rims of no k are sparser than in the reference by more.
const SINGLE: f64 = 0.2;
/// The rim of every cluster is sparser at least by this where components hold clusters of their own.
const EACH: f64 = 0.25;
/// Views agree on components with a stability from here.
const AGREED: f64 = 0.9;
/// From this k on the path takes steps of about a sixth.
const DENSE_STEPS: usize = 12;
/// The k that a reference is clustered with.
const REFERENCE: [usize; 9] = [2, 3, 4, 6, 8, 12, 18, 28, 43];
/// Numbers of a reference table at most: wide ones have fewer rows.
const REFERENCE_NUMBERS: usize = 8_000_000;
/// Neighbors in the graph for components and rims.
const COMPONENT: usize = 5;
const NEAR: usize = 10;
/// Weight of the smallest component that can be a cluster.
const SMALLEST: f64 = 10.0;

/// k-means on the embedding of a view.
const DISCRETISE: Schedule = Schedule {
    seeding: Seeding::PlusPlus,
    iterations: 30,
    restarts: 2,
    tol: 1e-4,
    ..Schedule::ALL_ROWS
};

/// What the nearest rows say.
struct Ground {
    graph: Graph,
    sparsity: Vec<f64>,
    /// Components that could be clusters, by the fewest neighbors and by all.
    pieces: (usize, usize),
}

impl Ground {
    fn new(rows: &Weighted<'_, '_>, context: &Context<'_>) -> Result<Self, Error> {
        let near = Neighbors::exact(rows.table, NEAR + 1, context)?;
        let few = neighbors::symmetric(&neighbors::links(&near, COMPONENT), rows.weights, &[]);
        let graph = neighbors::symmetric(&neighbors::links(&near, NEAR), rows.weights, &[]);
        let pieces = |graph: &Graph| {
            let (_, mass) = neighbors::components(graph, rows.weights);
            mass.iter().filter(|m| **m >= SMALLEST).count()
        };
        let pieces = (pieces(&few), pieces(&graph));
        Ok(Self { graph, sparsity: rim::sparsity(&near), pieces })
    }
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
    if params.anchors.is_some() {
        return Err(ParamError::ChooseOnAnchors.into());
    }
    if matches!(params.init, Init::Given(_)) {
        return Err(ParamError::ChooseOnLabels.into());
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
    let high = high.unwrap_or_else(|| (n / ROWS_PER_CLUSTER).min(MOST_CLUSTERS).max(low));
    if high < low || high * 3 > n {
        return Err(ParamError::ChooseFrom { low, high: high.max(low), n_rows: all }.into());
    }
    if high == 1 {
        return Ok(pick(Vec::new(), 1, (1, 1), None));
    }
    let tested = steps(low.max(2), high);
    let ground = Ground::new(&part, context)?;
    let total = kinds.len() * tested.len();
    let done = AtomicUsize::new(0);
    let finished = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        context.report(Stage::Path, done.min(total), total, None)
    };
    let mut tried: Vec<KScore> = Vec::new();
    let mut eigengap = low.max(2);
    for &kind in &kinds {
        let stream = stream.named(kind.name());
        let views = views(&part, params, kind, high, ridge, stream, context)?;
        if tried.is_empty() {
            eigengap = gap(&views[0].spectrum.values, eigengap);
        }
        for found in judge_all(&views, &part, &ground, kind, &tested, stream, context, &finished)? {
            match tried.iter_mut().find(|t| t.n_clusters == found.n_clusters) {
                Some(other) if other.score >= found.score => {}
                Some(other) => *other = found,
                None => tried.push(found),
            }
        }
    }
    tried.sort_by_key(|t| t.n_clusters);
    let few: Vec<usize> = REFERENCE.into_iter().filter(|k| *k <= high).collect();
    let without = if part.table.is_sparse() {
        Vec::new()
    } else {
        reference_path(&part, params, kinds[0], ridge, &few, stream, context)?
    };
    for t in &mut tried {
        t.reference = without_clusters(&without, t.n_clusters);
    }
    Ok(KPath { eigengap, ..pick(tried, low, ground.pieces, ReferenceScores::of(&without)) })
}

/// What was found in a table without clusters.
#[derive(Clone, Copy)]
struct ReferenceScores {
    /// The best score,
    score: f64,
    /// and the sparsest rims.
    apart: f64,
}

impl ReferenceScores {
    /// A score that is not clear itself says nothing: in very many columns sums of rows are all alike.
    fn of(tried: &[KScore]) -> Option<Self> {
        let most = |of: fn(&KScore) -> f64| tried.iter().map(of).fold(0.0, f64::max);
        (!tried.is_empty())
            .then(|| Self { score: most(|t| t.score).max(CLEAR), apart: most(|t| t.apart) })
    }
}

/// The score without clusters for any k, from those that were tried: straight lines over the logarithm of k.
fn without_clusters(tried: &[KScore], k: usize) -> Option<f64> {
    let at = |t: &KScore| (t.n_clusters as f64).ln();
    let below = tried.iter().filter(|t| t.n_clusters <= k).max_by_key(|t| t.n_clusters);
    let above = tried.iter().filter(|t| t.n_clusters >= k).min_by_key(|t| t.n_clusters);
    Some(match (below?, above) {
        (a, Some(b)) if b.n_clusters > a.n_clusters => {
            let share = ((k as f64).ln() - at(a)) / (at(b) - at(a));
            a.score + share * (b.score - a.score)
        }
        (a, _) => a.score,
    })
}

impl KScore {
    /// What k are compared by: the score beyond that of a table without clusters.
    fn value(&self) -> f64 {
        self.score - TAKEN_OFF * self.reference.unwrap_or(0.0)
    }
}

/// The same procedure on a table without clusters, for a few k.
fn reference_path(
    rows: &Weighted<'_, '_>,
    params: &Params,
    kind: GraphKind,
    ridge: f64,
    few: &[usize],
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<KScore>, Error> {
    let d = rows.table.d();
    let count = rows.table.n().min(REFERENCE_NUMBERS / d.max(1));
    let Some(&most) = few.last().filter(|most| **most * 3 <= count) else {
        return Ok(Vec::new());
    };
    let stream = stream.named("reference");
    let made = reference::reference(rows, count, stream, context)?;
    let scaling = Scaling::identity(d);
    let table = Table::new(DenseRef::new(&made.values, count, d)?.into(), &scaling);
    let rows = Weighted { table: &table, weights: &made.weights, keys: &made.keys };
    let views = views(&rows, params, kind, most, ridge, stream, context)?;
    let ground = Ground::new(&rows, context)?;
    judge_all(&views, &rows, &ground, kind, few, stream, context, &|| Ok(()))
}

/// How well the views agree on every one of some numbers of clusters.
#[expect(clippy::too_many_arguments, reason = "all of them are parts of one question")]
fn judge_all(
    views: &[View],
    rows: &Weighted<'_, '_>,
    ground: &Ground,
    kind: GraphKind,
    tested: &[usize],
    stream: Stream,
    context: &Context<'_>,
    finished: &(dyn Fn() -> Result<(), Error> + Sync),
) -> Result<Vec<KScore>, Error> {
    let quiet = context.quietly();
    // The largest k first: they take longest.
    let judged = context.each(tested.len(), |at| {
        let k = tested[tested.len() - 1 - at];
        let found = judge(views, rows, ground, kind, k, stream, &quiet)?;
        finished()?;
        Ok::<_, Error>(found)
    })?;
    judged.into_iter().collect()
}

/// The k from `low` on after which the eigenvalues (descending) fall most.
fn gap(values: &[f64], low: usize) -> usize {
    let fall = |k: usize| values[k - 1] - values[k];
    (low..values.len()).fold(low, |best, k| if fall(k) > fall(best) { k } else { best })
}

/// Every k up to a point, then steps of about a sixth.
fn steps(low: usize, high: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = std::iter::successors(Some(low), |k| {
        Some(if *k < DENSE_STEPS { k + 1 } else { k + k / 6 })
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
    let blocks = [AnchorSets { per_set, n_sets: VIEWS }];
    let anchors = init::anchors(rows, &blocks, params, stream, context)?;
    let layout = GraphLayout::single(kind, per_set, 1);
    let of_column = layout.anchor_of_column();
    let quiet = context.quietly();
    let sets: Vec<&[f64]> = anchors.chunks_exact(per_set * d).collect();
    let views = context.each(VIEWS, |v| {
        let points = rows.table.points(sets[v].to_vec());
        let builder = GraphBuilder::new(params, &layout, &points, ridge);
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
    rows: &Weighted<'_, '_>,
    ground: &Ground,
    kind: GraphKind,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<KScore, Error> {
    let (weights, keys) = (rows.weights, rows.keys);
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
    let (mut apart, mut least_apart) = (0.0, rim::FREE);
    for labels in &labels {
        let rims = rim::rims(&ground.graph, &ground.sparsity, labels, weights, k);
        apart += rims.iter().sum::<f64>() / (k * views.len()) as f64;
        least_apart = rims.iter().fold(least_apart, |a, b| a.min(*b));
    }
    Ok(KScore {
        n_clusters: k,
        score,
        graph: kind,
        association,
        stability,
        balance,
        apart,
        least_apart,
        reference: None,
    })
}

/// The k to take, from those that were tried, with the smallest k allowed and the numbers of components.
fn pick(
    tried: Vec<KScore>,
    low: usize,
    pieces: (usize, usize),
    reference: Option<ReferenceScores>,
) -> KPath {
    let path = |chosen: usize, clear: bool, rivals: Vec<usize>, tried: Vec<KScore>| {
        let reference = reference.map(|r| r.score);
        KPath { chosen, clear, rivals, eigengap: chosen, reference, tried }
    };
    if let Some(found) = components(&tried, pieces) {
        return path(found, true, Vec::new(), tried);
    }
    let above = |t: &KScore, times: f64| reference.is_some_and(|r| t.score >= times * r.score);
    let sure = |t: &KScore| t.score >= CLEAR && (t.apart >= SPARSER.0 || above(t, ABOVE.0));
    let perhaps = |t: &KScore| t.apart >= SPARSER.1 || (t.score >= CLEAR && above(t, ABOVE.1));
    let best = |of: &dyn Fn(&KScore) -> bool| {
        let mut found: Option<&KScore> = None;
        for t in tried.iter().filter(|t| of(t)) {
            if found.is_none_or(|best| t.value() > best.value()) {
                found = Some(t);
            }
        }
        found
    };
    let found = best(&perhaps).or_else(|| if low > 1 { best(&|_| true) } else { None });
    let Some(found) = found else {
        let single = |r: ReferenceScores| tried.iter().all(|t| t.apart <= r.apart + SINGLE);
        let clear = tried.is_empty() || reference.is_some_and(single);
        return path(1, clear, Vec::new(), tried);
    };
    let elsewhere = |t: &&KScore| {
        let (a, b) = (t.n_clusters.max(found.n_clusters), t.n_clusters.min(found.n_clusters));
        (a - b) as f64 > APART * a as f64
    };
    let near = |t: &&KScore| t.value() >= found.value() - RIVAL;
    let mut rivals: Vec<&KScore> = tried.iter().filter(elsewhere).filter(near).collect();
    rivals.sort_by(|a, b| b.value().total_cmp(&a.value()));
    let mut rivals: Vec<usize> = rivals.iter().map(|t| t.n_clusters).collect();
    let clear = rivals.is_empty() && sure(found);
    if low == 1 && !sure(found) {
        rivals.push(1);
    }
    path(found.n_clusters, clear, rivals, tried)
}

/// The number of components, where it is the number of clusters: the views find just the components, and none
/// of them holds several clusters; or the views find no clusters without links, and none that might
/// hold, because a component is too small for them.
fn components(tried: &[KScore], (few, all): (usize, usize)) -> Option<usize> {
    let free = |t: &KScore| t.least_apart >= rim::FREE;
    let larger = |t: &KScore, k: usize| t.n_clusters > k && t.score >= CLEAR;
    let agreed = |t: &KScore| t.n_clusters == few && free(t) && t.stability >= AGREED;
    let within = |t: &KScore| larger(t, few) && t.apart >= SPARSER.0 && t.least_apart >= EACH;
    if tried.iter().any(agreed) && !tried.iter().any(within) {
        return Some(few);
    }
    let known = tried.iter().any(|t| t.n_clusters == all);
    let other = |t: &KScore| free(t) || (larger(t, all) && t.apart >= SPARSER.1);
    (all > 1 && known && !tried.iter().any(other)).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of some k, and how far the clusters stand apart.
    fn tried(scores: &[(usize, f64, f64)]) -> Vec<KScore> {
        let one = |&(n_clusters, score, apart): &(usize, f64, f64)| KScore {
            n_clusters,
            score,
            graph: GraphKind::Distance,
            association: score,
            stability: 1.0,
            balance: 1.0,
            apart,
            least_apart: apart,
            reference: None,
        };
        scores.iter().map(one).collect()
    }

    const NULL: Option<ReferenceScores> = Some(ReferenceScores { score: 0.6, apart: 0.1 });

    #[test]
    fn a_rival_scores_alike_and_stands_apart() {
        let scores =
            [(2, 0.7, 1.0), (8, 0.79, 1.0), (9, 0.8, 1.0), (20, 0.77, 1.0), (30, 0.78, 1.0)];
        let found = pick(tried(&scores), 1, (1, 1), NULL);
        assert_eq!((found.chosen, found.clear), (9, false));
        assert_eq!(found.rivals, [30, 20]);
        // What a table without clusters scores with the same k counts half.
        let mut less = tried(&scores);
        less.iter_mut().for_each(|t| t.reference = Some(if t.n_clusters < 30 { 0.6 } else { 0.3 }));
        assert_eq!(pick(less, 1, (1, 1), NULL).chosen, 30);
        assert!(pick(tried(&scores[..3]), 1, (1, 1), NULL).clear);
        assert!(!pick(tried(&[(2, 0.1, 1.0), (8, 0.4, 1.0)]), 1, (1, 1), NULL).clear);
    }

    #[test]
    fn without_sparse_rims_and_no_better_than_the_reference_there_is_one_group() {
        let found = pick(tried(&[(2, 0.7, 0.1), (8, 0.6, 0.2)]), 1, (1, 1), NULL);
        assert_eq!((found.chosen, found.clear, found.reference), (1, true, Some(0.6)));
        let perhaps = pick(tried(&[(2, 0.7, 0.35), (8, 0.6, 0.2)]), 1, (1, 1), NULL);
        assert_eq!((perhaps.chosen, perhaps.clear), (1, false));
        let given = pick(tried(&[(2, 0.7, 0.1), (8, 0.6, 0.2)]), 2, (1, 1), NULL);
        assert_eq!((given.chosen, given.clear), (2, false));
        let far_above = pick(tried(&[(2, 0.3, -1.0), (8, 0.95, -1.0)]), 1, (1, 1), NULL);
        assert_eq!((far_above.chosen, far_above.clear), (8, true));
        let above = pick(tried(&[(2, 0.3, -1.0), (8, 0.8, -1.0)]), 1, (1, 1), NULL);
        assert_eq!((above.chosen, above.clear, above.rivals), (8, false, vec![1]));
    }

    #[test]
    fn components_count_whatever_their_sizes_unless_they_hold_clusters() {
        let found = pick(tried(&[(2, 0.05, 3.0), (3, 0.6, 0.1), (8, 0.5, 0.2)]), 1, (2, 2), NULL);
        assert_eq!((found.chosen, found.clear), (2, true));
        let found = pick(tried(&[(2, 0.05, 3.0), (3, 0.9, 1.0), (8, 0.5, 0.2)]), 1, (2, 2), NULL);
        assert_eq!((found.chosen, found.clear), (3, true));
        // Too small for the views, which see one group.
        let found = pick(tried(&[(2, 0.2, -0.3), (4, 0.65, -0.1)]), 1, (2, 2), NULL);
        assert_eq!((found.chosen, found.clear), (2, true));
    }

    #[test]
    fn the_score_without_clusters_is_interpolated() {
        let known = tried(&[(8, 0.5, 0.0), (2, 0.7, 0.0), (4, 0.6, 0.0)]);
        let at = |k: usize| without_clusters(&known, k).unwrap();
        assert_eq!((at(2), at(4), at(8), at(60)), (0.7, 0.6, 0.5, 0.5));
        assert!((at(3) - (0.7 - 0.1 * 1.5f64.log2())).abs() < 1e-12);
        assert_eq!(without_clusters(&[], 3), None);
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
        assert!(long.is_sorted() && long.len() < 32 && long.last() == Some(&100), "{long:?}");
    }
}
