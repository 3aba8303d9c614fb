//! What a fit does, with every automatic number filled in: the anchor sets that are learned, the graphs
//! that are built on them, and the ways from graph to labels that are tried.

use crate::graph::layout::{GraphBlock, GraphLayout};
use crate::params::{Effort, GraphKind, Init, Learn, Params};
use crate::solver::init::{auto_anchors, auto_sets};
use obcut_core::error::{Error, ParamError};

/// Numbers that settings leave automatic.
pub(crate) struct Plan {
    pub blocks: Vec<AnchorSets>,
    /// Graphs on the anchors, each of weight one.
    pub sources: Vec<GraphBlock>,
    /// What is tried; a single graph between rows and anchors needs no choice.
    pub jobs: Vec<CandidateKind>,
    /// The source that labels rows when the candidate that is kept has no anchors of its own.
    pub rule_graph: usize,
    /// Rows that the candidates are judged on.
    pub trial_rows: usize,
    /// Anchors asked for, when they are more than the distinct rows.
    pub capped: Option<usize>,
    /// Distinct rows.
    pub n_units: usize,
    /// Restarts; the best by the score is kept.
    pub n_init: usize,
    /// Where a candidate is repeated: its number of eigenvectors, 0 when it has none. No other is tried.
    pub only_vectors: Option<usize>,
}

/// Anchor sets of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AnchorSets {
    pub per_set: usize,
    pub n_sets: usize,
}

/// What candidates are made from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CandidateKind {
    /// A graph between rows and anchors.
    Anchors(AnchorCandidate),
    /// The graph of this many nearest rows.
    Rows(usize),
    /// A minimum spanning tree of the rows.
    Tree,
    /// k-means on the rows.
    Means,
    /// A mixture of Gaussians, from the labels of the other candidates.
    GaussianMixture,
}

/// A graph made of sources, and a start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnchorCandidate {
    /// Indices of sources, side by side with equal weight.
    pub sources: Vec<usize>,
    pub start: Start,
    /// Links of a row to an anchor set, where they are not as many as the settings say.
    pub links: Option<usize>,
}

/// Where the labels of a way start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Spectral,
    KMeans,
    Given,
}

impl Start {
    pub fn name(self) -> &'static str {
        match self {
            Self::Spectral => "spectral",
            Self::KMeans => "kmeans",
            Self::Given => "given",
        }
    }
}

/// Nearest rows in the graphs of the automatic choice.
const FEW_NEIGHBORS: [usize; 2] = [5, 10];

/// Cells of k centers from which the trial of candidates takes half as many rows: it costs most there.
const COSTLY_CENTERS: usize = 20_000;

/// Restarts of small tables, by their distinct rows: few rows leave more to chance.
const RESTARTS: [(usize, usize); 2] = [(1000, 6), (2500, 3)];

impl Plan {
    pub fn new(params: &Params, n: usize, d: usize, given: Option<&[f64]>) -> Result<Self, Error> {
        let (k, kind) = (params.n_clusters, params.graph);
        let mut plan = Self {
            blocks: Vec::new(),
            sources: Vec::new(),
            jobs: Vec::new(),
            rule_graph: 0,
            trial_rows: trial_rows(params.effort, k * d),
            capped: None,
            n_units: n,
            n_init: params.n_init,
            only_vectors: None,
        };
        if let Some(given) = given {
            let n_sets = params.n_anchor_sets.unwrap_or(1);
            let n_anchors = given.len() / d;
            if !n_anchors.is_multiple_of(n_sets) {
                return Err(ParamError::AnchorSets { n_anchors, n_sets }.into());
            }
            plan.blocks.push(AnchorSets { per_set: n_anchors / n_sets, n_sets });
        } else if kind == GraphKind::Neighbors {
            let n_sets = params.n_anchor_sets.unwrap_or(1);
            plan.add_block(params, auto_anchors(GraphKind::Distance, n, k), n_sets, n);
        } else if kind == GraphKind::Auto {
            let (global, distance) = sets(params.effort);
            let n_sets = params.n_anchor_sets.unwrap_or(global);
            plan.add_block(params, auto_anchors(GraphKind::Global, n, k), n_sets, n);
            plan.add_block(params, auto_anchors(GraphKind::Distance, n, k), distance, n);
        } else {
            let n_sets = params.n_anchor_sets.unwrap_or_else(|| auto_sets(kind));
            plan.add_block(params, auto_anchors(kind, n, k), n_sets, n);
        }
        let part = |kind: GraphKind, block: usize| {
            let first = plan.blocks[..block].iter().map(|b| b.per_set * b.n_sets).sum();
            let AnchorSets { per_set, n_sets } = plan.blocks[block];
            GraphBlock { kind, first, per_set, n_sets, weight: 1.0, links: None }
        };
        plan.sources = match kind {
            GraphKind::Auto => {
                let last = plan.blocks.len() - 1;
                let mut sources = vec![part(GraphKind::Global, 0), part(GraphKind::Distance, last)];
                if params.effort == Effort::Thorough {
                    sources.push(part(GraphKind::Local, 0));
                }
                plan.rule_graph = 1;
                sources
            }
            GraphKind::Neighbors => vec![part(GraphKind::Distance, 0)],
            kind => vec![part(kind, 0)],
        };
        plan.jobs = plan.jobs(params, n > plan.trial_rows);
        let choice = matches!(kind, GraphKind::Auto | GraphKind::Neighbors) && k > 1;
        if choice && given.is_none() && params.n_init == 1 {
            plan.n_init = RESTARTS.iter().find(|r| n <= r.0).map_or(1, |r| r.1);
        }
        Ok(plan)
    }

    /// What is tried. Of equal scores the first is kept. `sampled` says that a part of the rows is tried first.
    fn jobs(&self, params: &Params, sampled: bool) -> Vec<CandidateKind> {
        let start = match params.init {
            Init::Spectral => Start::Spectral,
            Init::KMeans => Start::KMeans,
            Init::Given(_) => Start::Given,
        };
        let way = |kinds: &[GraphKind]| {
            let of = |kind| self.sources.iter().position(|source| source.kind == kind);
            let sources = kinds.iter().filter_map(|&kind| of(kind)).collect();
            CandidateKind::Anchors(AnchorCandidate { sources, start, links: None })
        };
        use GraphKind::{Distance, Global, Local};
        match params.graph {
            GraphKind::Auto => {}
            GraphKind::Neighbors => return FEW_NEIGHBORS.map(CandidateKind::Rows).to_vec(),
            kind => return vec![way(&[kind])],
        }
        // The learning loop has one row problem, so it takes one kind of links.
        if params.learn != Learn::Nothing {
            return vec![way(&[Distance]), way(&[Global])];
        }
        let mut jobs = vec![way(&[Global]), way(&[Global, Distance])];
        // Nearest rows do the same better where there are few enough of them.
        if sampled || start != Start::Spectral || params.effort != Effort::Auto {
            jobs.insert(0, way(&[Distance]));
        }
        if params.effort == Effort::Thorough {
            jobs.extend([way(&[Local]), way(&[Global, Local])]);
        }
        if start == Start::Spectral {
            if params.effort != Effort::Fast {
                jobs.splice(0..0, FEW_NEIGHBORS.map(CandidateKind::Rows));
            }
            jobs.extend([
                CandidateKind::Tree,
                CandidateKind::Means,
                CandidateKind::GaussianMixture,
            ]);
        }
        jobs
    }

    /// What is left of the plan to repeat one job, with the anchors that it needs.
    pub fn only(&self, job: &CandidateKind, vectors: usize) -> Self {
        let used = match job {
            CandidateKind::Anchors(way) => way.sources.clone(),
            CandidateKind::Rows(_) => vec![self.rule_graph],
            CandidateKind::Tree | CandidateKind::Means | CandidateKind::GaussianMixture => {
                Vec::new()
            }
        };
        let jobs = match job {
            CandidateKind::Anchors(way) => {
                let sources = (0..used.len()).collect();
                vec![CandidateKind::Anchors(AnchorCandidate { sources, ..way.clone() })]
            }
            CandidateKind::GaussianMixture => {
                vec![CandidateKind::Means, CandidateKind::GaussianMixture]
            }
            other => vec![other.clone()],
        };
        let mut blocks = Vec::new();
        let mut sources: Vec<GraphBlock> = used.iter().map(|&s| self.sources[s]).collect();
        let (mut first, mut kept) = (0, 0);
        for block in &self.blocks {
            let of_block: Vec<usize> =
                (0..used.len()).filter(|&s| self.sources[used[s]].first == first).collect();
            let n_anchors = block.per_set * block.n_sets;
            if !of_block.is_empty() {
                of_block.iter().for_each(|&s| sources[s].first = kept);
                blocks.push(*block);
                kept += n_anchors;
            }
            first += n_anchors;
        }
        let (n_units, trial_rows) = (self.n_units, self.trial_rows);
        Self {
            blocks,
            sources,
            jobs,
            rule_graph: 0,
            trial_rows,
            capped: None,
            n_units,
            n_init: 1,
            only_vectors: Some(vectors),
        }
    }

    fn add_block(&mut self, params: &Params, automatic: usize, n_sets: usize, n: usize) {
        let wanted = params.n_anchors.unwrap_or(automatic);
        let per_set = wanted.min(n);
        if per_set < wanted {
            self.capped = Some(wanted);
        }
        // With every distinct row an anchor, further sets would be copies.
        let n_sets = if per_set == n { 1 } else { n_sets };
        self.blocks.push(AnchorSets { per_set, n_sets });
    }

    /// The columns of a way's graph.
    pub fn layout(&self, way: &AnchorCandidate) -> GraphLayout {
        let (weight, links) = (way.share(), way.links);
        GraphLayout(
            way.sources.iter().map(|&s| GraphBlock { weight, links, ..self.sources[s] }).collect(),
        )
    }

    /// The graph that labels rows when a candidate has no anchors of its own.
    pub fn rule_candidate(&self) -> AnchorCandidate {
        AnchorCandidate { sources: vec![self.rule_graph], start: Start::Spectral, links: None }
    }

    /// The graphs that may label rows when a candidate has no anchors of its own, the cheapest first.
    pub fn rule_candidates(&self) -> Vec<AnchorCandidate> {
        let mut rule_candidates = vec![self.rule_candidate()];
        let by_anchors = self.jobs.iter().filter_map(|job| match job {
            CandidateKind::Anchors(way) if !rule_candidates.contains(way) => Some(way.clone()),
            _ => None,
        });
        let more: Vec<AnchorCandidate> = by_anchors.collect();
        rule_candidates.extend(more);
        rule_candidates
    }

    /// All sources side by side, each of weight one.
    pub fn all_sources(&self) -> GraphLayout {
        GraphLayout(self.sources.clone())
    }
}

impl AnchorCandidate {
    /// Weight of every source.
    pub fn share(&self) -> f64 {
        1.0 / self.sources.len() as f64
    }
}

/// Sets of the global and of the distance graph.
fn sets(effort: Effort) -> (usize, usize) {
    match effort {
        Effort::Fast => (2, 1),
        Effort::Auto => (5, 1),
        Effort::Thorough => (5, 3),
    }
}

/// Rows that the candidates are judged on, by the cells of k centers.
fn trial_rows(effort: Effort, cells: usize) -> usize {
    match effort {
        Effort::Fast => 10_000,
        Effort::Auto if cells > COSTLY_CENTERS => 10_000,
        Effort::Auto => 20_000,
        Effort::Thorough => 100_000,
    }
}
