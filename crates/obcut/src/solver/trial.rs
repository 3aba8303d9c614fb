//! The automatic choice on the rows of a problem: on all of them, or on a sample when they are many.

use obcut_core::choice::Named;
use std::collections::BTreeMap;

use crate::graph::layout::GraphBlock;
use crate::model::rule::DecisionRule;
use crate::params::GraphKind;
use crate::records::CandidateScore;
use crate::solver::choose::CandidateChoice;
use crate::solver::judge::{MANY, SOME, Scorer};
use crate::solver::plan::{AnchorCandidate, CandidateKind};
use crate::solver::problem::{ComponentCounts, FitCandidate, Labeling, Problem, Procedure};
use crate::solver::propose::RowGraph;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::graph::tree::Edge;
use obcut_core::observer::Clock;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

/// Share of all pairs of rows that a search for nearest rows looks at, and what it may cost.
const SEARCHED: f64 = 0.1;
const SEARCH_WORK: f64 = 5e11;
/// Rows times squared columns of a basis that the spectrum of all rows may cost.
const SPECTRUM_WORK: f64 = 4e9;
/// Share of the best score from which the graph of nearest rows is tried on all rows, although another candidate is best
/// on the sample: the more rows, the nearer are the nearest.
const PROMISING: f64 = 0.8;
/// Share of the rows by which a dearer graph must label better.
const CLEARLY: f64 = 0.003;
/// How many times as many anchors vote where the nearest rows are unreliable.
const MORE_LINKS: usize = 8;

/// What the choice among all jobs found.
struct TrialResult {
    choice: CandidateChoice,
    row_graph: RowGraph,
    /// The graph whose anchors label rows.
    rule_graph: (AnchorCandidate, Graph),
}

/// What the choice on a sample leaves for all rows.
struct Trial {
    choice: CandidateChoice,
    /// The rows of the sample, ascending.
    chosen: Vec<u32>,
    /// A minimum spanning tree of the sample.
    tree: Vec<Edge>,
    /// The graph whose anchors label rows, and what they stand for.
    rule_graph: AnchorCandidate,
    votes: DecisionRule,
    /// The graph of nearest rows that was best on the sample, when it is promising.
    rows: Option<CandidateKind>,
}

impl Problem<'_> {
    /// Tries all jobs, on a sample when there are many rows, and continues with the best on all.
    pub fn select(
        &self,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<FitCandidate, Error> {
        if self.rows.table.n() > self.plan.trial_rows {
            let trial = self.try_sample(anchors, stream, context, clock)?;
            return self.after_trial(trial, anchors, stream, context, clock);
        }
        let TrialResult { choice, row_graph, rule_graph: (rule_graph, graph) } =
            self.find(&self.plan.jobs, anchors, stream, context, clock)?;
        let CandidateChoice { best, tried, score, .. } = choice;
        let mut candidate = self.candidate(&rule_graph, anchors, graph, best.labeled, score);
        candidate.procedure = Procedure { job: best.job, vectors: best.vectors };
        candidate.trace.tried = tried;
        candidate.components = self.components(&candidate.labels, &row_graph);
        candidate.tree = row_graph.tree();
        Ok(candidate)
    }

    /// Tries some jobs on the rows of the problem.
    fn find(
        &self,
        jobs: &[CandidateKind],
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<TrialResult, Error> {
        let sources = clock.time(Stage::Graph, || self.sources(anchors, context))?;
        let (choice, row_graph) = clock.time(Stage::Choose, || {
            context.report(Stage::Choose, 0, jobs.len(), None)?;
            let row_graph = RowGraph::new(self.rows, MANY + 1, context)?;
            let graphs = (&sources[..], &sources[self.plan.rule_graph]);
            let choice = self.choose(jobs, graphs, anchors, &row_graph, stream, context)?;
            Ok::<_, Error>((choice, row_graph))
        })?;
        let rule_graph = clock.time(Stage::Choose, || {
            self.ruler_for(&choice, &sources, anchors, &context.quietly())
        })?;
        Ok(TrialResult { choice, row_graph, rule_graph })
    }

    /// Tries all jobs that all rows can afford on a sample.
    fn try_sample(
        &self,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<Trial, Error> {
        let plan = self.plan;
        let sample = self.rows.sample(plan.trial_rows, stream.named("trial"), context)?;
        let table = sample.table()?;
        let part = sample.rows(&table);
        let given: Option<Vec<u32>> = (self.start.as_ref())
            .map(|labels| sample.chosen.iter().map(|&i| labels[i as usize]).collect());
        let first_rows: Vec<u32> =
            sample.chosen.iter().map(|&i| self.first_rows[i as usize]).collect();
        let total = part.weights.iter().sum();
        // A cluster of ten rows shows as fewer in a part of them.
        let row_weight = self.row_weight * total / self.total;
        let first_rows = &first_rows;
        let trial = Problem { rows: &part, start: given, total, row_weight, first_rows, ..*self };
        // A graph of nearest rows that all rows cannot afford is not tried, unless it is asked for.
        let afforded = |job: &&CandidateKind| {
            !matches!(job, CandidateKind::Rows(_)) || self.may_use_all_rows()
        };
        let mut jobs: Vec<CandidateKind> = plan.jobs.iter().filter(afforded).cloned().collect();
        if jobs.is_empty() {
            jobs.clone_from(&plan.jobs);
        }
        let TrialResult { choice, row_graph, rule_graph: (rule_graph, graph) } =
            trial.find(&jobs, anchors, stream, context, clock)?;
        let mut tree = row_graph.tree();
        for edge in &mut tree {
            (edge.a, edge.b) = (sample.chosen[edge.a as usize], sample.chosen[edge.b as usize]);
        }
        let k = self.params.n_clusters;
        let votes = DecisionRule::votes(&graph, &choice.best.labeled.labels, part.weights, k);
        let least = PROMISING * choice.score;
        // The score of a mixture does not compare with others, and rows that won need no second trial.
        let known =
            choice.best.mixture.is_some() || matches!(choice.best.job, CandidateKind::Rows(_));
        let promising =
            |found: &&(CandidateKind, f64)| !known && found.1 >= least && self.may_use_all_rows();
        let rows = choice.by_rows.as_ref().filter(promising).map(|found| found.0.clone());
        Ok(Trial { choice, chosen: sample.chosen, tree, rule_graph, votes, rows })
    }

    /// Labels all rows by what was best on a sample.
    fn after_trial(
        &self,
        trial: Trial,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<FitCandidate, Error> {
        let Trial { choice, chosen, mut tree, rule_graph, votes, rows } = trial;
        let CandidateChoice { best, mut tried, score, .. } = choice;
        let mut procedure = Procedure { job: best.job.clone(), vectors: best.vectors };
        let mut candidate = match &best.job {
            CandidateKind::Anchors(way) => {
                self.run(way, Some(best.vectors), anchors, stream, context, clock)?
            }
            CandidateKind::Rows(_) if self.may_use_all_rows() => {
                let found = self.on_all_rows(
                    &best.job,
                    None,
                    &rule_graph,
                    anchors,
                    stream,
                    context,
                    clock,
                )?;
                let found = found.expect("there is nothing to compare with");
                procedure = found.procedure.clone();
                tree.clone_from(&found.tree);
                found
            }
            // The labels of the sample say what the anchors stand for, and these label all rows.
            _ => {
                let graph =
                    clock.time(Stage::Graph, || self.graph_of(&rule_graph, anchors, context))?;
                let mut labels = match &best.mixture {
                    Some(mixture) => mixture.labels(self.rows.table, context)?,
                    None => votes.label(&graph, context)?,
                };
                for (&i, &label) in chosen.iter().zip(&best.labeled.labels) {
                    labels[i as usize] = label;
                }
                let labeled = Labeling { labels, ..best.labeled };
                self.candidate(&rule_graph, anchors, graph, labeled, score)
            }
        };
        if let Some(job) = rows {
            let known = Some(&candidate.labels[..]);
            let better =
                self.on_all_rows(&job, known, &rule_graph, anchors, stream, context, clock)?;
            if let Some(better) = better {
                keep_neighbors(&mut tried);
                procedure = better.procedure.clone();
                tree.clone_from(&better.tree);
                candidate = better;
            }
        }
        candidate.procedure = procedure;
        candidate.score = score;
        candidate.trace.tried = tried;
        candidate.tree = tree;
        Ok(candidate)
    }

    /// The best candidate from the graphs of nearest rows of all rows. Other numbers of neighbors and eigenvectors than on
    /// a sample may be better. There is none when labels that are known already have a better score.
    #[expect(clippy::too_many_arguments, reason = "all of them are parts of one problem")]
    fn on_all_rows(
        &self,
        job: &CandidateKind,
        known: Option<&[u32]>,
        rule_graph: &AnchorCandidate,
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
        clock: &mut Clock,
    ) -> Result<Option<FitCandidate>, Error> {
        let near = self.plan.rule_candidate();
        let start = clock.time(Stage::Graph, || self.graph_of(&near, anchors, context))?;
        let mut jobs = self.plan.jobs.clone();
        jobs.retain(|job| matches!(job, CandidateKind::Rows(_)));
        if !jobs.contains(job) {
            jobs.push(job.clone());
        }
        let count = jobs.iter().fold(SOME, |most, job| match job {
            CandidateKind::Rows(s) => most.max(*s),
            _ => most,
        });
        let (choice, row_graph, is_better) = clock.time(Stage::Start, || {
            context.report(Stage::Start, 0, 0, None)?;
            let row_graph = RowGraph::new(self.rows, count + 1, context)?;
            let graphs = (&[][..], &start);
            let choice = self.choose(&jobs, graphs, anchors, &row_graph, stream, context)?;
            let (g, many) = (self.params.balance, choice.unreliable);
            let is_better = match known {
                Some(labels) => {
                    let (weights, k) = (self.rows.weights, self.params.n_clusters);
                    let judge = Scorer::new(&row_graph.near, weights, k, context)?;
                    choice.best.verdict.score(g, many) > judge.verdict(labels).score(g, many)
                }
                None => true,
            };
            Ok::<_, Error>((choice, row_graph, is_better))
        })?;
        if !is_better {
            return Ok(None);
        }
        let graph = if *rule_graph == near {
            start
        } else {
            clock.time(Stage::Graph, || self.graph_of(rule_graph, anchors, context))?
        };
        let CandidateChoice { best, score, .. } = choice;
        let mut candidate = self.candidate(rule_graph, anchors, graph, best.labeled, score);
        candidate.procedure = Procedure { job: best.job, vectors: best.vectors };
        candidate.components = self.components(&candidate.labels, &row_graph);
        candidate.tree = row_graph.tree();
        Ok(Some(candidate))
    }

    /// The graph whose anchors label rows: that of the candidate, or else the one whose votes do best on
    /// rows that are left out. A dearer graph must be clearly better. Where the nearest rows are unreliable, as
    /// among documents, so are the nearest anchors, and more of them vote.
    fn ruler_for(
        &self,
        choice: &CandidateChoice,
        sources: &[Graph],
        anchors: &[f64],
        context: &Context<'_>,
    ) -> Result<(AnchorCandidate, Graph), Error> {
        let best = &choice.best;
        if let CandidateKind::Anchors(way) = &best.job {
            return Ok((way.clone(), self.join(way, sources).into_owned()));
        }
        let (labels, k) = (&best.labeled.labels, self.params.n_clusters);
        let links = choice.unreliable.then(|| MORE_LINKS * self.params.n_neighbors);
        let mut kept: Option<(f64, AnchorCandidate, Graph)> = None;
        for way in self.plan.rule_candidates() {
            // What is nearly right cannot get clearly better.
            if kept.as_ref().is_some_and(|kept| kept.0 <= CLEARLY) {
                break;
            }
            let way = AnchorCandidate { links, ..way };
            let graph = match links {
                Some(_) => self.graph_of(&way, anchors, context)?,
                None => self.join(&way, sources).into_owned(),
            };
            let error = DecisionRule::left_out_error(&graph, labels, self.rows.weights, k);
            if kept.as_ref().is_none_or(|kept| error < kept.0 - CLEARLY) {
                kept = Some((error, way, graph));
            }
        }
        let (_, way, graph) = kept.expect("there is at least one rule_graph");
        Ok((way, graph))
    }

    /// The graphs of all sources on the rows of the problem.
    pub fn sources(&self, anchors: &[f64], context: &Context<'_>) -> Result<Vec<Graph>, Error> {
        let widths: Vec<usize> = self.plan.sources.iter().map(GraphBlock::n_anchors).collect();
        let table = self.rows.table;
        Ok(self.build(table, &self.plan.all_sources(), anchors, context)?.split(&widths))
    }

    /// The graph of a way on the rows of the problem.
    fn graph_of(
        &self,
        way: &AnchorCandidate,
        anchors: &[f64],
        context: &Context<'_>,
    ) -> Result<Graph, Error> {
        let (layout, used) = self.plan.layout(way).compact(anchors, self.rows.table.d());
        self.build(self.rows.table, &layout, &used, context)
    }

    /// Whether the graph of nearest rows of all rows, and its spectrum, cost no more than they are worth.
    fn may_use_all_rows(&self) -> bool {
        let (n, d) = (self.rows.table.n() as f64, self.rows.table.d() as f64);
        let basis = 4.0 * self.params.n_clusters as f64 + 80.0;
        SEARCHED * n * n * d <= SEARCH_WORK && n * basis * basis <= SPECTRUM_WORK
    }

    /// How the components of the graph of nearest rows lie in the clusters.
    fn components(&self, labels: &[u32], row_graph: &RowGraph) -> ComponentCounts {
        let (of_row, mass) = &row_graph.components;
        let smallest = self.smallest();
        let mut clusters = vec![BTreeMap::new(); mass.len()];
        for ((&component, &label), &w) in of_row.iter().zip(labels).zip(self.rows.weights) {
            *clusters[component as usize].entry(label).or_insert(0.0) += w;
        }
        let sizeable = (0..mass.len()).filter(|&c| mass[c] >= smallest);
        let mut main = vec![0usize; self.params.n_clusters];
        let (mut n, mut split) = (0, 0);
        for c in sizeable {
            n += 1;
            // A few rows elsewhere are not a part.
            let parts = clusters[c].values().filter(|&&w| w >= smallest.min(0.1 * mass[c])).count();
            split += usize::from(parts > 1);
            let most = clusters[c].iter().max_by(|a, b| a.1.total_cmp(b.1));
            if let Some((&label, _)) = most {
                main[label as usize] += 1;
            }
        }
        let merged = main.iter().map(|m| m.saturating_sub(1)).sum();
        ComponentCounts { n, split, merged }
    }
}

/// Marks the best candidate of the graph of nearest rows as the one that was kept.
fn keep_neighbors(tried: &mut [CandidateScore]) {
    tried.iter_mut().for_each(|t| t.kept = false);
    let by_rows = tried.iter_mut().filter(|t| t.graph == GraphKind::Neighbors.name());
    if let Some(best) = by_rows.max_by(|a, b| a.score.total_cmp(&b.score)) {
        best.kept = true;
    }
}
