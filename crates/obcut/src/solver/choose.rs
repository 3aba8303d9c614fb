//! The automatic choice among candidates, without labels.
//!
//! A candidate is a labeling of the rows (see [`super::propose`]). They come from
//!
//! - the spectra of the graphs between rows and anchors and of the graph of nearest rows, each with
//!   several numbers of eigenvectors from one eigenproblem, and several starts of the last k-means;
//! - a minimum spanning tree of the rows (see [`obcut_core::graph::tree`]);
//! - k-means on the rows;
//! - a mixture of Gaussians (see [`crate::mixture`]), from the best labels of every kind above.
//!
//! All of them are judged by one score (see [`super::judge`]), and the best is kept. Where scores are close, labels
//! that two kinds of candidates agree on are preferred to labels that one kind alone has found.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::mixture::GaussianMixture;
use crate::records::CandidateScore;
use crate::solver::judge::{MANY, Scorer, Verdict, unreliable};
use crate::solver::plan::CandidateKind;
use crate::solver::problem::{Labeling, Problem};
use crate::solver::propose::{Proposal, RowGraph};
use crate::solver::stability::Agreement;
use crate::update::labels::fill_empty;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

/// What the score of a mixture that the rows follow is multiplied by.
const RAISED: f64 = 2.0;

/// What the score of labels is multiplied by that no other kind of candidate has found; the adjusted Rand index from
/// which two candidates have found the same, and the share of the score that the other one must have.
const ALONE: f64 = 0.92;
const SAME: f64 = 0.85;
const NEARLY_AS_GOOD: f64 = 0.8;

/// A proposal that was judged.
pub(crate) struct JudgedCandidate {
    pub job: CandidateKind,
    pub graph: String,
    pub start: String,
    pub vectors: usize,
    pub labeled: Labeling,
    pub verdict: Verdict,
    /// The model that the labels come from, of mixtures.
    pub mixture: Option<GaussianMixture>,
}

/// The outcome of a trial.
pub(crate) struct CandidateChoice {
    pub best: JudgedCandidate,
    pub tried: Vec<CandidateScore>,
    pub score: f64,
    /// Whether the links to the nearest rows are unreliable, as among documents.
    pub unreliable: bool,
    /// The best graph of nearest rows with its score, when there is one.
    pub by_rows: Option<(CandidateKind, f64)>,
}

impl Problem<'_> {
    /// Tries some jobs on the rows of the problem. `sources` are the graphs of all sources, of which
    /// `rule_graph` labels rows that have no anchors of their own.
    pub fn choose(
        &self,
        jobs: &[CandidateKind],
        (sources, rule_graph): (&[Graph], &Graph),
        anchors: &[f64],
        row_graph: &RowGraph,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<CandidateChoice, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let judge = Scorer::new(&row_graph.near, rows.weights, k, context)?;
        let (quiet, done) = (context.quietly(), AtomicUsize::new(0));
        let judged = |job: &CandidateKind, proposal: Proposal| {
            let Proposal { graph, start, vectors, mut labeled, mixture } = proposal;
            fill_empty(&mut labeled.labels, rows.keys, k, stream.named("fill"));
            let verdict = judge.verdict(&labeled.labels);
            let job = job.clone();
            JudgedCandidate { job, graph, start, vectors, labeled, verdict, mixture }
        };
        let run = |job: &CandidateKind| {
            let candidates = match job {
                CandidateKind::Anchors(way) => {
                    self.by_anchors(way, sources, anchors, stream, &quiet)?
                }
                CandidateKind::Rows(s) => {
                    self.by_rows(*s, (rule_graph, anchors), row_graph, stream, &quiet)?
                }
                CandidateKind::Tree => self.by_tree(row_graph, &quiet)?,
                CandidateKind::Means => self.by_means(stream, &quiet)?,
                // These need the labels of the others.
                CandidateKind::GaussianMixture => Vec::new(),
            };
            let judged: Vec<JudgedCandidate> =
                candidates.into_iter().map(|proposal| judged(job, proposal)).collect();
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            context.report(Stage::Choose, done, jobs.len(), None)?;
            Ok::<_, Error>(judged)
        };
        let mut all: Vec<JudgedCandidate> = Vec::new();
        for part in context.each(jobs.len(), |at| run(&jobs[at]))? {
            all.extend(part?);
        }
        let verdicts = |all: &[JudgedCandidate]| all.iter().map(|c| c.verdict).collect::<Vec<_>>();
        let g = self.params.balance;
        let many = unreliable(&verdicts(&all), g);
        let alone = self.plan.only_vectors.is_some();
        if many && !alone && jobs.iter().any(|job| matches!(job, CandidateKind::Rows(_))) {
            all.extend(run(&CandidateKind::Rows(MANY))?);
        }
        // A tree that is cut wherever its edges are long must not cut through anything.
        all.retain(|c| {
            c.job != CandidateKind::Tree || c.start.starts_with("guard") || c.verdict.is_apart()
        });
        if jobs.contains(&CandidateKind::GaussianMixture) && !many {
            let mixtures = self.by_mixture(&self.best_of_jobs(&all), &quiet)?;
            all.extend(
                mixtures
                    .into_iter()
                    .map(|proposal| judged(&CandidateKind::GaussianMixture, proposal)),
            );
        }
        let score = |c: &JudgedCandidate| match c.mixture {
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
        let mut by_rows: Option<(CandidateKind, f64)> = None;
        for (candidate, &score) in all.iter().zip(&scores) {
            let better = by_rows.as_ref().is_none_or(|found| score > found.1);
            if matches!(candidate.job, CandidateKind::Rows(_)) && better {
                by_rows = Some((candidate.job.clone(), score));
            }
        }
        let best = all.swap_remove(best);
        Ok(CandidateChoice { best, tried, score: best_score, unreliable: many, by_rows })
    }

    /// The best labels of every job, with the names of their graphs.
    fn best_of_jobs<'c>(&self, found: &'c [JudgedCandidate]) -> Vec<(&'c str, &'c [u32])> {
        let score = |c: &JudgedCandidate| c.verdict.score(self.params.balance, false);
        let mut best: Vec<&JudgedCandidate> = Vec::new();
        for candidate in found {
            match best.iter_mut().find(|other| other.job == candidate.job) {
                Some(other) if score(candidate) > score(other) => *other = candidate,
                Some(_) => {}
                None => best.push(candidate),
            }
        }
        best.into_iter().map(|c| (&c.graph[..], &c.labeled.labels[..])).collect()
    }
}

/// The candidate with the best score. The score of labels that no other kind of candidate has found is multiplied
/// by [`ALONE`]; where this cannot change the choice, it is left as it is.
fn best_of(all: &[JudgedCandidate], scores: &mut [f64], weights: &[f64], k: usize) -> usize {
    let plain = scores.to_vec();
    let mut order: Vec<usize> = (0..plain.len()).collect();
    order.sort_by(|&a, &b| plain[b].total_cmp(&plain[a]));
    let found_twice = |at: usize| {
        order.iter().any(|&other| {
            let (a, b) = (&all[at], &all[other]);
            std::mem::discriminant(&a.job) != std::mem::discriminant(&b.job)
                && plain[other] >= NEARLY_AS_GOOD * plain[at]
                && Agreement::new(&a.labeled.labels, &b.labeled.labels, weights, k).ari >= SAME
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

impl JudgedCandidate {
    fn tried(&self, score: f64, kept: bool) -> CandidateScore {
        let Verdict { width, few, some, many, balance, .. } = self.verdict;
        let on =
            [("density", width), ("10 nearest", few), ("20 nearest", some), ("50 nearest", many)];
        CandidateScore {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::cutting::Turns;

    fn candidate(job: CandidateKind, labels: &[u32]) -> JudgedCandidate {
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
        let labeled = Labeling { labels: labels.to_vec(), n_fragments: 0, turns: Turns::none() };
        let (graph, start) = (String::new(), String::new());
        JudgedCandidate { job, graph, start, vectors: 0, labeled, verdict, mixture: None }
    }

    /// The choice among labels A of two starts on one graph and labels B, given the scores.
    fn chosen(other: CandidateKind, scores: [f64; 4]) -> (usize, [f64; 4]) {
        let (a, b) = ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]);
        let all = [
            candidate(CandidateKind::Rows(5), &a),
            candidate(CandidateKind::Rows(10), &a),
            candidate(CandidateKind::Rows(5), &b),
            candidate(other, &b),
        ];
        let mut found = scores;
        (best_of(&all, &mut found, &[1.0; 8], 2), found)
    }

    #[test]
    fn labels_of_one_kind_must_be_clearly_better() {
        // The tree finds B as well.
        assert_eq!(chosen(CandidateKind::Tree, [10.0, 9.9, 9.5, 8.0]).0, 2);
        assert_eq!(chosen(CandidateKind::Tree, [10.0, 9.9, 9.1, 8.0]).0, 0);
        // Its own score is too low to count.
        assert_eq!(chosen(CandidateKind::Tree, [10.0, 9.9, 9.5, 7.0]).0, 0);
        // Two numbers of neighbors are one kind.
        assert_eq!(chosen(CandidateKind::Rows(10), [10.0, 9.9, 9.5, 9.4]).0, 0);
    }

    #[test]
    fn the_best_has_the_largest_score_that_is_shown() {
        for scores in [[10.0, 9.9, 9.5, 8.0], [10.0, 9.9, 9.1, 8.0], [5.0, 6.0, 6.0, 1.0]] {
            let (best, shown) = chosen(CandidateKind::Tree, scores);
            assert!(shown.iter().all(|s| *s <= shown[best]), "{scores:?} {shown:?}");
        }
        // Of equal scores the first is kept.
        assert_eq!(chosen(CandidateKind::Tree, [7.0, 7.0, 1.0, 1.0]).0, 0);
    }
}
