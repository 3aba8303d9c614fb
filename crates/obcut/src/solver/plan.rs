//! What a fit does, with every automatic number filled in: the anchor sets that are learned, the graphs
//! that are built on them, and the ways from graph to labels that are tried.

use crate::error::{Error, ParamError};
use crate::graph::layout::{Layout, Part};
use crate::solver::init::{auto_anchors, auto_sets};
use crate::solver::params::{Effort, GraphKind, Init, Learn, Params};

/// Numbers that settings leave automatic.
pub(crate) struct Plan {
    pub blocks: Vec<Block>,
    /// Graphs on the anchors, each of weight one; all of them judge every way.
    pub sources: Vec<Part>,
    pub ways: Vec<Way>,
    /// Rows that the ways are judged on, when there are several.
    pub trial_rows: usize,
    /// Anchors asked for, when they are more than the distinct rows.
    pub capped: Option<usize>,
    /// Distinct rows.
    pub n_units: usize,
}

/// Anchor sets of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    pub per_set: usize,
    pub n_sets: usize,
}

/// A graph made of sources, and a start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Way {
    /// Indices of sources, side by side with equal weight.
    pub sources: Vec<usize>,
    pub start: WayStart,
}

/// Where the labels of a way start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayStart {
    Spectral,
    KMeans,
    Given,
}

impl WayStart {
    pub fn name(self) -> &'static str {
        match self {
            Self::Spectral => "spectral",
            Self::KMeans => "kmeans",
            Self::Given => "given",
        }
    }
}

/// Sources of the automatic choice, by their position.
const GLOBAL: usize = 0;
const DISTANCE: usize = 1;
const LOCAL: usize = 2;

impl Plan {
    pub fn new(params: &Params, n: usize, d: usize, given: Option<&[f64]>) -> Result<Self, Error> {
        let (k, kind) = (params.n_clusters, params.graph);
        let mut plan = Self {
            blocks: Vec::new(),
            sources: Vec::new(),
            ways: Vec::new(),
            trial_rows: trial_rows(params.effort),
            capped: None,
            n_units: n,
        };
        if let Some(given) = given {
            let n_sets = params.n_anchor_sets.unwrap_or(1);
            let n_anchors = given.len() / d;
            if !n_anchors.is_multiple_of(n_sets) {
                return Err(ParamError::Conflict(format!(
                    "{n_anchors} given anchors cannot be {n_sets} sets of equal size"
                ))
                .into());
            }
            plan.blocks.push(Block { per_set: n_anchors / n_sets, n_sets });
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
            let Block { per_set, n_sets } = plan.blocks[block];
            Part { kind, first, per_set, n_sets, weight: 1.0 }
        };
        plan.sources = if kind == GraphKind::Auto {
            let last = plan.blocks.len() - 1;
            let mut sources = vec![part(GraphKind::Global, 0), part(GraphKind::Distance, last)];
            if params.effort != Effort::Fast {
                sources.push(part(GraphKind::Local, 0));
            }
            sources
        } else {
            vec![part(kind, 0)]
        };
        plan.ways = ways(params);
        Ok(plan)
    }

    fn add_block(&mut self, params: &Params, automatic: usize, n_sets: usize, n: usize) {
        let wanted = params.n_anchors.unwrap_or(automatic);
        let per_set = wanted.min(n);
        if per_set < wanted {
            self.capped = Some(wanted);
        }
        // With every distinct row an anchor, further sets would be copies.
        let n_sets = if per_set == n { 1 } else { n_sets };
        self.blocks.push(Block { per_set, n_sets });
    }

    /// The columns of a way's graph.
    pub fn layout(&self, way: &Way) -> Layout {
        let weight = way.share();
        Layout(way.sources.iter().map(|&s| Part { weight, ..self.sources[s] }).collect())
    }

    /// All sources side by side, each of weight one.
    pub fn all_sources(&self) -> Layout {
        Layout(self.sources.clone())
    }
}

impl Way {
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

/// Rows that the candidates are judged on.
fn trial_rows(effort: Effort) -> usize {
    match effort {
        Effort::Fast => 10_000,
        Effort::Auto => 20_000,
        Effort::Thorough => 100_000,
    }
}

/// What is tried. Of equal scores the first is kept: graphs of one source stand before unions.
fn ways(params: &Params) -> Vec<Way> {
    let start = match params.init {
        Init::Spectral => WayStart::Spectral,
        Init::KMeans => WayStart::KMeans,
        Init::Given(_) => WayStart::Given,
    };
    if params.graph != GraphKind::Auto {
        return vec![Way { sources: vec![0], start }];
    }
    let mut graphs: Vec<&[usize]> = vec![&[DISTANCE], &[GLOBAL], &[GLOBAL, DISTANCE]];
    if params.effort != Effort::Fast {
        graphs.insert(1, &[LOCAL]);
        graphs.push(&[GLOBAL, LOCAL]);
    }
    if params.effort == Effort::Thorough {
        graphs.push(&[GLOBAL, LOCAL, DISTANCE]);
    }
    // The learning loop has one row problem, so it takes one kind of links.
    if params.learn != Learn::Nothing {
        graphs.retain(|g| g.len() == 1);
    }
    let way = |sources: &[usize], start| Way { sources: sources.to_vec(), start };
    let mut ways: Vec<Way> = graphs.iter().map(|g| way(g, start)).collect();
    if start == WayStart::Spectral && params.effort != Effort::Fast {
        ways.push(way(&[GLOBAL], WayStart::KMeans));
        ways.push(way(&[DISTANCE], WayStart::KMeans));
    }
    ways
}
