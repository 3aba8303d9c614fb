//! The automatic choice among candidates, without labels.
//!
//! A candidate is a labelling of the rows. They come from
//!
//! - the spectra of the graphs between rows and anchors and of the graph of nearest rows, each with
//!   several numbers of eigenvectors from one eigenproblem, and several starts of the last k-means;
//! - a minimum spanning tree of the rows (see [`crate::graph::tree`]);
//! - k-means on the rows;
//! - a mixture of Gaussians (see [`crate::mixture`]), from the best labels of every kind above.
//!
//! All of them are judged by one score (see [`super::judge`]), and the best is kept. Where scores are close, labels
//! that two kinds of candidates agree on are preferred to labels that one kind alone has found.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::graph::Graph;
use crate::graph::layout::join;
use crate::graph::neighbors::{self, Neighbors};
use crate::graph::spectral::{self, Coordinates, DISCRETISE};
use crate::graph::tree::{self, Edge, Tree};
use crate::kmeans::{self, Schedule, Seeding, Weighted};
use crate::matrix::DenseRef;
use crate::mixture::Mixture;
use crate::normalize::Scaling;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::solver::cutting::Turns;
use crate::solver::init;
use crate::solver::judge::{FEW, Judge, MANY, Verdict, unreliable};
use crate::solver::params::GraphKind;
use crate::solver::plan::{Job, Way, WayStart};
use crate::solver::problem::{Labelled, Problem};
use crate::solver::stability::Agreement;
use crate::solver::update::labels::{fill_empty, median};
use crate::table::Table;

/// Weight from which a component of the graph of nearest rows can be a cluster when it stands apart.
pub(crate) const SMALLEST: f64 = 10.0;
/// Share of an average cluster below which a component is taken for a fragment otherwise.
const FRAGMENT: f64 = 0.1;
/// Neighbours of a row in the graph whose components are looked at.
const COMPONENT: usize = 5;
/// Starts of k-means on the embedding of the graph of nearest rows, of small tables and of others.
const STARTS: (usize, usize) = (4, 2);
/// Rows up to which a table is small.
const SMALL_ROWS: usize = 5_000;
/// Starts of k-means on the rows, of small tables and of others.
const MEANS: (usize, usize) = (6, 2);
/// Share of the smallest cluster that the edges of a tree may cut off: a row or two of such a cluster may hang
/// on its neighbour.
const CUT_OFF: f64 = 0.7;
/// Products of all rows with all, in multiplications, up to which nearest rows are found exactly.
const EXACT_WORK: f64 = 5e10;
/// The core of mutual reachability.
const CORE: usize = 5;
/// Thresholds of the guard on small clusters in a tree.
const GUARDS: [f64; 3] = [0.1, 0.3, 0.5];

/// Columns of a table that mixtures of Gaussians are tried on, rows for every number in a covariance, and
/// multiplications of one of their iterations, at most.
const MIXTURE_COLUMNS: usize = 20;
const MIXTURE_ROWS: f64 = 2.0;
const MIXTURE_WORK: f64 = 2e8;
/// Misfit times the root of the number of rows up to which the rows are taken for Gaussian, the misfit up to
/// which they are in any case, and what the score of such a mixture is multiplied by.
const GAUSSIAN: f64 = 1.1;
const NEARLY_GAUSSIAN: f64 = 0.01;
const RAISED: f64 = 2.0;

/// What the score of labels is multiplied by that no other kind of candidate has found; the adjusted Rand index from
/// which two candidates have found the same, and the share of the score that the other one must have.
const ALONE: f64 = 0.92;
const SAME: f64 = 0.85;
const NEARLY_AS_GOOD: f64 = 0.8;

/// k-means on the rows, one start.
const ONE_START: Schedule =
    Schedule { seeding: Seeding::Greedy, iterations: 50, tol: 1e-4, ..Schedule::ALL_ROWS };

/// A candidate that was tried, with what the choice went by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
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

/// Labels that a job proposes.
struct Proposal {
    graph: String,
    start: String,
    /// Eigenvectors of its start, 0 for starts that are not spectral.
    vectors: usize,
    labelled: Labelled,
    mixture: Option<Mixture>,
}

/// A proposal that was judged.
pub(crate) struct Candidate {
    pub job: Job,
    pub graph: String,
    pub start: String,
    pub vectors: usize,
    pub labelled: Labelled,
    pub verdict: Verdict,
    /// The model that the labels come from, of mixtures.
    pub mixture: Option<Mixture>,
}

/// The outcome of a trial.
pub(crate) struct Choice {
    pub best: Candidate,
    pub tried: Vec<Tried>,
    pub score: f64,
    /// Whether the links to the nearest rows are unreliable, as among documents.
    pub unreliable: bool,
    /// The best graph of nearest rows with its score, when there is one.
    pub by_rows: Option<(Job, f64)>,
}

/// What the nearest rows of a table say, beside the judge.
pub(crate) struct RowGraph {
    pub near: Neighbors,
    /// The shortest edges between the components of the graph of [`COMPONENT`] nearest rows.
    bridges: Vec<Edge>,
    /// Component of every row, and their weights.
    pub components: (Vec<u32>, Vec<f64>),
}

impl RowGraph {
    /// The graph of nearest rows of a table, exact when it is small.
    pub fn new(
        rows: &Weighted<'_, '_>,
        count: usize,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let (n, d) = (rows.table.n() as f64, rows.table.d() as f64);
        let near = if n * n * d <= EXACT_WORK || rows.table.is_sparse() {
            Neighbors::exact(rows.table, count, context)?
        } else {
            Neighbors::by_cells(rows.table, rows.keys, count, context)?
        };
        let few = near.first(COMPONENT + 1);
        let bridges = tree::bridges(rows.table, &few, context)?;
        let plain = neighbors::symmetric(&neighbors::links(&near, COMPONENT), rows.weights, &[]);
        let components = neighbors::components(&plain, rows.weights);
        Ok(Self { near, bridges, components })
    }

    /// The edges of a minimum spanning tree of the rows, the shortest first.
    pub fn tree(&self) -> Vec<Edge> {
        Tree::new(&self.near.first(FEW + 1), &self.bridges, 0).edges
    }
}

impl Problem<'_> {
    /// Tries some jobs on the rows of the problem. `sources` are the graphs of all sources, of which
    /// `ruler` labels rows that have no anchors of their own.
    pub fn choose(
        &self,
        jobs: &[Job],
        (sources, ruler): (&[Graph], &Graph),
        anchors: &[f64],
        row_graph: &RowGraph,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Choice, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let judge = Judge::new(&row_graph.near, rows.weights, k, context)?;
        let (quiet, done) = (context.quietly(), AtomicUsize::new(0));
        let judged = |job: &Job, proposal: Proposal| {
            let Proposal { graph, start, vectors, mut labelled, mixture } = proposal;
            fill_empty(&mut labelled.labels, rows.keys, k, stream.named("fill"));
            let verdict = judge.verdict(&labelled.labels);
            let job = job.clone();
            Candidate { job, graph, start, vectors, labelled, verdict, mixture }
        };
        let run = |job: &Job| {
            let candidates = match job {
                Job::Anchors(way) => self.by_anchors(way, sources, anchors, stream, &quiet)?,
                Job::Rows(s) => self.by_rows(*s, (ruler, anchors), row_graph, stream, &quiet)?,
                Job::Tree => self.by_tree(row_graph, &quiet)?,
                Job::Means => self.by_means(stream, &quiet)?,
                // These need the labels of the others.
                Job::Mixture => Vec::new(),
            };
            let judged: Vec<Candidate> =
                candidates.into_iter().map(|proposal| judged(job, proposal)).collect();
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            context.report(Stage::Choose, done, jobs.len(), None)?;
            Ok::<_, Error>(judged)
        };
        let mut all: Vec<Candidate> = Vec::new();
        for part in context.each(jobs.len(), |at| run(&jobs[at]))? {
            all.extend(part?);
        }
        let verdicts = |all: &[Candidate]| all.iter().map(|c| c.verdict).collect::<Vec<_>>();
        let g = self.params.balance;
        let many = unreliable(&verdicts(&all), g);
        let alone = self.plan.only_vectors.is_some();
        if many && !alone && jobs.iter().any(|job| matches!(job, Job::Rows(_))) {
            all.extend(run(&Job::Rows(MANY))?);
        }
        // A tree that is cut wherever its edges are long must not cut through anything.
        all.retain(|c| c.job != Job::Tree || c.start.starts_with("guard") || c.verdict.is_apart());
        if jobs.contains(&Job::Mixture) && !many {
            let mixtures = self.by_mixture(&all, &quiet)?;
            all.extend(mixtures.into_iter().map(|proposal| judged(&Job::Mixture, proposal)));
        }
        let score = |c: &Candidate| match c.mixture {
            Some(_) => RAISED * c.verdict.score_of_groups(g),
            None => c.verdict.score(g, many),
        };
        let mut scores: Vec<f64> = all.iter().map(score).collect();
        let best = best_of(&all, &mut scores, rows.weights, k);
        let tried = all
            .iter()
            .zip(&scores)
            .enumerate()
            .map(|(at, (candidate, &score))| candidate.tried(score, at == best))
            .collect();
        let best_score = scores[best];
        let mut by_rows: Option<(Job, f64)> = None;
        for (candidate, &score) in all.iter().zip(&scores) {
            let better = by_rows.as_ref().is_none_or(|found| score > found.1);
            if matches!(candidate.job, Job::Rows(_)) && better {
                by_rows = Some((candidate.job.clone(), score));
            }
        }
        let best = all.swap_remove(best);
        Ok(Choice { best, tried, score: best_score, unreliable: many, by_rows })
    }

    /// Candidates from a graph between rows and anchors: one for every number of eigenvectors.
    fn by_anchors(
        &self,
        way: &Way,
        sources: &[Graph],
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let graph = self.join(way, sources);
        let proposal = |vectors: usize, labelled: Labelled| Proposal {
            graph: self.plan.layout(way).name(),
            start: way.start.name().to_string(),
            vectors,
            labelled,
            mixture: None,
        };
        if way.start != WayStart::Spectral {
            let means = match way.start {
                WayStart::KMeans => Some(init::k_means(rows, self.params, stream, context)?),
                _ => None,
            };
            let start = self.start(&graph, way, means.as_deref(), anchors, stream, context)?;
            return Ok(vec![proposal(0, self.cut(&graph, start, stream, context)?)]);
        }
        let of_column = self.plan.layout(way).anchor_of_column();
        let at = Coordinates { anchors, d: rows.table.d(), of_column: &of_column };
        let stream = stream.named("labels");
        let numbers = vectors(k, graph.n_cols);
        let most = numbers.last().copied().unwrap_or(k);
        let eigen = stream.named("eigen");
        let spectrum =
            spectral::spectrum(&graph, rows.weights, (k, most), Some(at), eigen, context)?;
        let mut found = Vec::new();
        for q in numbers {
            let weighted = (rows.weights, rows.keys);
            let mut labels =
                spectrum.labels(&graph, weighted, (k, q), DISCRETISE, stream, context)?;
            fill_empty(&mut labels, rows.keys, k, stream.named("fill"));
            let n_fragments = spectrum.n_fragments;
            let start = Labelled { labels, n_fragments, turns: Turns::none() };
            found.push(proposal(q, self.cut(&graph, start, stream, context)?));
        }
        Ok(found)
    }

    /// Candidates from the graph of the `s` nearest rows. Components that are too small to be clusters are
    /// tied to their nearest neighbours first; both thresholds of what is too small are tried.
    fn by_rows(
        &self,
        s: usize,
        (ruler, anchors): (&Graph, &[f64]),
        row_graph: &RowGraph,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let links = neighbors::links(&row_graph.near, s);
        let plain = neighbors::symmetric(&links, rows.weights, &[]);
        let coarse = FRAGMENT * self.total / k as f64;
        let fine = self.smallest().min(coarse);
        let mut found = Vec::new();
        let mut before = None;
        let n = rows.table.n();
        let starts = if n <= SMALL_ROWS { STARTS.0 } else { STARTS.1 };
        // As many vectors as clusters are never the best choice here, and twice as many sometimes are.
        let numbers = match self.plan.only_vectors {
            Some(q) => vec![if q < n { q } else { k }],
            None => {
                let mut numbers = vectors(k, n);
                numbers.push(2 * k);
                numbers.retain(|&q| q > k && q < n);
                if numbers.is_empty() { vec![k] } else { numbers }
            }
        };
        let most = numbers.last().copied().unwrap_or(k);
        // The eigenvectors of the anchors are near those of the rows.
        let of_column = self.plan.layout(&self.plan.ruling_way()).anchor_of_column();
        let at = Coordinates { anchors, d: rows.table.d(), of_column: &of_column };
        let near = most.min(ruler.n_cols);
        let eigen = stream.named("labels").named("eigen");
        let spectrum =
            spectral::spectrum(ruler, rows.weights, (k, near), Some(at), eigen, context)?;
        let mut start = spectrum.on_rows(ruler);
        for least in [fine, coarse] {
            let (ties, n_fragments) = tree::ties(&plain, rows.weights, &row_graph.bridges, least);
            if before == Some(n_fragments) {
                continue;
            }
            before = Some(n_fragments);
            let graph = neighbors::symmetric(&links, rows.weights, &ties);
            let proposal = |vectors: usize, labels: Vec<u32>| Proposal {
                graph: GraphKind::Neighbors.name().to_string(),
                start: WayStart::Spectral.name().to_string(),
                vectors,
                labelled: Labelled { labels, n_fragments, turns: Turns::none() },
                mixture: None,
            };
            // As many components as clusters: more eigenvectors would look inside them. Those of a sample need
            // not be components of all rows.
            let (of_row, mass) = neighbors::components(&graph, rows.weights);
            if mass.len() == k && rows.table.n() == self.plan.n_units {
                found.push(proposal(k, of_row));
            }
            let spectrum =
                neighbors::spectrum(&graph, most, &start, stream.named("rows"), context)?;
            start.clone_from(&spectrum.vectors);
            for &q in &numbers {
                let embedding = spectrum.embedding(q);
                let scaling = Scaling::identity(q);
                let table =
                    Table::new(DenseRef::new(&embedding, graph.n_rows(), q)?.into(), &scaling);
                let points = Weighted { table: &table, ..rows.clone() };
                for start in 0..starts {
                    let stream = stream.named("discretise").nth(start);
                    let centers =
                        kmeans::fit(&points, k, DISCRETISE, stream, context, Stage::Start)?;
                    let labels = kmeans::assign(&table, &table.points(centers.values), context)?;
                    found.push(proposal(q, labels));
                }
            }
        }
        Ok(found)
    }

    /// Candidates from a minimum spanning tree of the rows.
    fn by_tree(&self, row_graph: &RowGraph, context: &Context<'_>) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let few = row_graph.near.first(FEW + 1);
        let bridges = tree::bridges(rows.table, &few, context)?;
        let trees = [Tree::new(&few, &bridges, 0), Tree::new(&few, &bridges, CORE)];
        let average = self.total / k as f64;
        let mut found: BTreeMap<Vec<u32>, String> = BTreeMap::new();
        for guard in GUARDS {
            let labels = trees[0].guarded(rows.weights, k, guard);
            found.entry(labels).or_insert(format!("guard {guard}"));
        }
        for (tree, word) in trees.iter().zip(["split", "reach"]) {
            let smallest = self.smallest().min(0.5 * average);
            for least in [CUT_OFF * smallest, smallest, 0.02 * average, 0.2 * average] {
                let labels = tree.split(rows.weights, k, least);
                found.entry(labels).or_insert(word.to_string());
            }
        }
        Ok(found
            .into_iter()
            .map(|(labels, word)| {
                let labelled = Labelled { labels, n_fragments: 0, turns: Turns::none() };
                Proposal {
                    graph: "tree".to_string(),
                    start: word,
                    vectors: 0,
                    labelled,
                    mixture: None,
                }
            })
            .collect())
    }

    /// Candidates from k-means on the rows.
    fn by_means(&self, stream: Stream, context: &Context<'_>) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let mut found = Vec::new();
        let starts = if rows.table.n() <= SMALL_ROWS { MEANS.0 } else { MEANS.1 };
        for start in 0..starts {
            let stream = stream.named("means").nth(start);
            let seeding = if start % 2 == 0 { Seeding::Greedy } else { Seeding::PlusPlus };
            let schedule = Schedule { seeding, ..ONE_START };
            let centers = kmeans::fit(rows, k, schedule, stream, context, Stage::Start)?;
            let labels = kmeans::assign(rows.table, &rows.table.points(centers.values), context)?;
            let labelled = Labelled { labels, n_fragments: 0, turns: Turns::none() };
            let name = WayStart::KMeans.name().to_string();
            let graph = name.clone();
            found.push(Proposal { graph, start: name, vectors: 0, labelled, mixture: None });
        }
        Ok(found)
    }

    /// Candidates from mixtures of Gaussians, one from the best labels of every job. Only those that describe
    /// the rows are candidates.
    fn by_mixture(
        &self,
        found: &[Candidate],
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k, g) = (self.rows, self.params.n_clusters, self.params.balance);
        let (n, d) = (rows.table.n() as f64, rows.table.d());
        let numbers = k as f64 * (d * (d + 3) / 2) as f64;
        let work = n * k as f64 * (d * d) as f64;
        let too_wide = d > MIXTURE_COLUMNS || rows.table.is_sparse();
        if too_wide || n < MIXTURE_ROWS * numbers || work > MIXTURE_WORK {
            return Ok(Vec::new());
        }
        let mut starts: Vec<&Candidate> = Vec::new();
        for candidate in found {
            let score = |c: &Candidate| c.verdict.score(g, false);
            match starts.iter_mut().find(|start| start.job == candidate.job) {
                Some(best) if score(candidate) > score(best) => *best = candidate,
                Some(_) => {}
                None => starts.push(candidate),
            }
        }
        let fit = |at: usize| {
            let labels = &starts[at].labelled.labels;
            Mixture::fit(rows, labels, k, median(rows.weights), context)
        };
        let mut proposals: Vec<Proposal> = Vec::new();
        for (mixture, start) in context.each(starts.len(), fit)?.into_iter().zip(&starts) {
            let Some(mixture) = mixture? else { continue };
            if !self.follow(&mixture) {
                continue;
            }
            let labels = mixture.labels(rows.table, context)?;
            let labelled = Labelled { labels, n_fragments: 0, turns: Turns::none() };
            proposals.push(Proposal {
                graph: "mixture".to_string(),
                start: start.graph.clone(),
                vectors: 0,
                labelled,
                mixture: Some(mixture),
            });
        }
        Ok(proposals)
    }

    /// Whether the rows follow a mixture.
    fn follow(&self, mixture: &Mixture) -> bool {
        let n = self.total / median(self.rows.weights);
        mixture.misfit <= (GAUSSIAN / n.sqrt()).max(NEARLY_GAUSSIAN)
    }

    /// Weight from which a component can be a cluster when it stands apart.
    pub fn smallest(&self) -> f64 {
        SMALLEST * self.row_weight
    }

    /// The graph of a way.
    pub fn join<'g>(&self, way: &Way, sources: &'g [Graph]) -> Cow<'g, Graph> {
        match way.sources[..] {
            [one] => Cow::Borrowed(&sources[one]),
            _ => {
                let graphs: Vec<&Graph> = way.sources.iter().map(|&s| &sources[s]).collect();
                Cow::Owned(join(&graphs, way.share()))
            }
        }
    }
}

/// The candidate with the best score. The score of labels that no other kind of candidate has found is multiplied
/// by [`ALONE`]; where this cannot change the choice, it is left as it is.
fn best_of(all: &[Candidate], scores: &mut [f64], weights: &[f64], k: usize) -> usize {
    let plain = scores.to_vec();
    let mut order: Vec<usize> = (0..plain.len()).collect();
    order.sort_by(|&a, &b| plain[b].total_cmp(&plain[a]));
    let found_twice = |at: usize| {
        order.iter().any(|&other| {
            let (a, b) = (&all[at], &all[other]);
            std::mem::discriminant(&a.job) != std::mem::discriminant(&b.job)
                && plain[other] >= NEARLY_AS_GOOD * plain[at]
                && Agreement::new(&a.labelled.labels, &b.labelled.labels, weights, k).ari >= SAME
        })
    };
    let mut best = order[0];
    for (rank, &at) in order.iter().enumerate() {
        if rank > 0 && plain[at] <= scores[best] {
            break;
        }
        if !found_twice(at) {
            scores[at] *= ALONE;
        }
        if scores[at] > scores[best] {
            best = at;
        }
    }
    best
}

impl Candidate {
    fn tried(&self, score: f64, kept: bool) -> Tried {
        let Verdict { width, few, some, many, balance, .. } = self.verdict;
        let on =
            [("density", width), ("10 nearest", few), ("20 nearest", some), ("50 nearest", many)];
        Tried {
            graph: self.graph.clone(),
            start: self.start.clone(),
            vectors: self.vectors,
            score,
            association: on.iter().map(|(name, a)| (name.to_string(), *a)).collect(),
            balance,
            ruled_out: false,
            kept,
        }
    }
}

/// Numbers of eigenvectors that are tried for k clusters: k, 1.2 k and 1.5 k, as far as there are so many.
pub(crate) fn vectors(k: usize, limit: usize) -> Vec<usize> {
    let mut numbers = vec![k, (6 * k).div_ceil(5), (3 * k).div_ceil(2)];
    numbers.retain(|&q| q == k || q < limit);
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(job: Job, labels: &[u32]) -> Candidate {
        let verdict = Verdict {
            width: 1.0,
            few: 1.0,
            some: 1.0,
            many: 1.0,
            least: 1.0,
            links_cut: 0.0,
            balance: 1.0,
            touching: 0.0,
        };
        let labelled = Labelled { labels: labels.to_vec(), n_fragments: 0, turns: Turns::none() };
        let (graph, start) = (String::new(), String::new());
        Candidate { job, graph, start, vectors: 0, labelled, verdict, mixture: None }
    }

    /// The choice among labels A of two starts on one graph and labels B, given the scores.
    fn chosen(other: Job, scores: [f64; 4]) -> (usize, [f64; 4]) {
        let (a, b) = ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]);
        let all = [
            candidate(Job::Rows(5), &a),
            candidate(Job::Rows(10), &a),
            candidate(Job::Rows(5), &b),
            candidate(other, &b),
        ];
        let mut found = scores;
        (best_of(&all, &mut found, &[1.0; 8], 2), found)
    }

    #[test]
    fn labels_of_one_kind_must_be_clearly_better() {
        // The tree finds B as well.
        assert_eq!(chosen(Job::Tree, [10.0, 9.9, 9.5, 8.0]).0, 2);
        assert_eq!(chosen(Job::Tree, [10.0, 9.9, 9.1, 8.0]).0, 0);
        // Its own score is too low to count.
        assert_eq!(chosen(Job::Tree, [10.0, 9.9, 9.5, 7.0]).0, 0);
        // Two numbers of neighbours are one kind.
        assert_eq!(chosen(Job::Rows(10), [10.0, 9.9, 9.5, 9.4]).0, 0);
    }

    #[test]
    fn the_best_has_the_largest_score_that_is_shown() {
        for scores in [[10.0, 9.9, 9.5, 8.0], [10.0, 9.9, 9.1, 8.0], [5.0, 6.0, 6.0, 1.0]] {
            let (best, shown) = chosen(Job::Tree, scores);
            assert!(shown.iter().all(|s| *s <= shown[best]), "{scores:?} {shown:?}");
        }
        // Of equal scores the first is kept.
        assert_eq!(chosen(Job::Tree, [7.0, 7.0, 1.0, 1.0]).0, 0);
    }
}
