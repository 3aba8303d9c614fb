//! Candidate labelings of the automatic choice: what each kind of job proposes.

use obcut_core::choice::Named;
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::graph::layout::join;
use crate::mixture::GaussianMixture;
use crate::params::GraphKind;
use crate::solver::init;
use crate::solver::judge::FEW;
use crate::solver::plan::{AnchorCandidate, Start};
use crate::solver::problem::{Labeling, Problem};
use crate::update::cutting::Turns;
use crate::update::labels::{fill_empty, median};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::graph::neighbors::{self, Neighbors};
use obcut_core::graph::spectral::{self, Coordinates, DISCRETISE};
use obcut_core::graph::tree::{self, Edge, Tree};
use obcut_core::kmeans::{self, Schedule, Seeding, Weighted};
use obcut_core::matrix::DenseRef;
use obcut_core::normalize::Scaling;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;

/// Weight from which a component of the graph of nearest rows can be a cluster when it stands apart.
pub(crate) const SMALLEST: f64 = 10.0;
/// Share of an average cluster below which a component is taken for a fragment otherwise.
const FRAGMENT: f64 = 0.1;
/// Neighbors of a row in the graph whose components are looked at.
const COMPONENT: usize = 5;
/// Starts of k-means on the embedding of the graph of nearest rows, of small tables and of others.
const STARTS: (usize, usize) = (4, 2);
/// Rows up to which a table is small.
const SMALL_ROWS: usize = 5_000;
/// Starts of k-means on the rows, of small tables and of others.
const MEANS: (usize, usize) = (6, 2);
/// Share of the smallest cluster that the edges of a tree may cut off: a row or two of such a cluster may hang
/// on its neighbor.
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
/// which they are in any case.
const GAUSSIAN: f64 = 1.1;
const NEARLY_GAUSSIAN: f64 = 0.01;

/// k-means on the rows, one start.
const ONE_START: Schedule =
    Schedule { seeding: Seeding::Greedy, iterations: 50, tol: 1e-4, ..Schedule::ALL_ROWS };

/// Labels that a job proposes.
pub(super) struct Proposal {
    pub graph: String,
    pub start: String,
    /// Eigenvectors of its start, 0 for starts that are not spectral.
    pub vectors: usize,
    pub labeled: Labeling,
    pub mixture: Option<GaussianMixture>,
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
    /// Candidates from a graph between rows and anchors: one for every number of eigenvectors.
    pub(super) fn by_anchors(
        &self,
        way: &AnchorCandidate,
        sources: &[Graph],
        anchors: &[f64],
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let graph = self.join(way, sources);
        let proposal = |vectors: usize, labeled: Labeling| Proposal {
            graph: self.plan.layout(way).name(),
            start: way.start.name().to_string(),
            vectors,
            labeled,
            mixture: None,
        };
        if way.start != Start::Spectral {
            let means = match way.start {
                Start::KMeans => Some(init::k_means(rows, self.params, stream, context)?),
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
            let start = Labeling { labels, n_fragments, turns: Turns::none() };
            found.push(proposal(q, self.cut(&graph, start, stream, context)?));
        }
        Ok(found)
    }

    /// Candidates from the graph of the `s` nearest rows. Components that are too small to be clusters are
    /// tied to their nearest neighbors first; both thresholds of what is too small are tried.
    pub(super) fn by_rows(
        &self,
        s: usize,
        (rule_graph, anchors): (&Graph, &[f64]),
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
        let of_column = self.plan.layout(&self.plan.rule_candidate()).anchor_of_column();
        let at = Coordinates { anchors, d: rows.table.d(), of_column: &of_column };
        let near = most.min(rule_graph.n_cols);
        let eigen = stream.named("labels").named("eigen");
        let spectrum =
            spectral::spectrum(rule_graph, rows.weights, (k, near), Some(at), eigen, context)?;
        let mut start = spectrum.on_rows(rule_graph);
        for least in [fine, coarse] {
            let (ties, n_fragments) = tree::ties(&plain, rows.weights, &row_graph.bridges, least);
            if before == Some(n_fragments) {
                continue;
            }
            before = Some(n_fragments);
            let graph = neighbors::symmetric(&links, rows.weights, &ties);
            let proposal = |vectors: usize, labels: Vec<u32>| Proposal {
                graph: GraphKind::Neighbors.name().to_string(),
                start: Start::Spectral.name().to_string(),
                vectors,
                labeled: Labeling { labels, n_fragments, turns: Turns::none() },
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
    pub(super) fn by_tree(
        &self,
        row_graph: &RowGraph,
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
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
                let labeled = Labeling { labels, n_fragments: 0, turns: Turns::none() };
                Proposal {
                    graph: "tree".to_string(),
                    start: word,
                    vectors: 0,
                    labeled,
                    mixture: None,
                }
            })
            .collect())
    }

    /// Candidates from k-means on the rows.
    pub(super) fn by_means(
        &self,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let mut found = Vec::new();
        let starts = if rows.table.n() <= SMALL_ROWS { MEANS.0 } else { MEANS.1 };
        for start in 0..starts {
            let stream = stream.named("means").nth(start);
            let seeding = if start % 2 == 0 { Seeding::Greedy } else { Seeding::PlusPlus };
            let schedule = Schedule { seeding, ..ONE_START };
            let centers = kmeans::fit(rows, k, schedule, stream, context, Stage::Start)?;
            let labels = kmeans::assign(rows.table, &rows.table.points(centers.values), context)?;
            let labeled = Labeling { labels, n_fragments: 0, turns: Turns::none() };
            let name = Start::KMeans.name().to_string();
            let graph = name.clone();
            found.push(Proposal { graph, start: name, vectors: 0, labeled, mixture: None });
        }
        Ok(found)
    }

    /// Candidates from mixtures of Gaussians, one from each of some labels, named by their graphs. Only those that describe
    /// the rows are candidates.
    pub(super) fn by_mixture(
        &self,
        starts: &[(&str, &[u32])],
        context: &Context<'_>,
    ) -> Result<Vec<Proposal>, Error> {
        let (rows, k) = (self.rows, self.params.n_clusters);
        let (n, d) = (rows.table.n() as f64, rows.table.d());
        let numbers = k as f64 * (d * (d + 3) / 2) as f64;
        let work = n * k as f64 * (d * d) as f64;
        let too_wide = d > MIXTURE_COLUMNS || rows.table.is_sparse();
        if too_wide || n < MIXTURE_ROWS * numbers || work > MIXTURE_WORK {
            return Ok(Vec::new());
        }
        let fit =
            |at: usize| GaussianMixture::fit(rows, starts[at].1, k, median(rows.weights), context);
        let mut proposals: Vec<Proposal> = Vec::new();
        for (mixture, start) in context.each(starts.len(), fit)?.into_iter().zip(starts) {
            let Some(mixture) = mixture? else { continue };
            if !self.follow(&mixture) {
                continue;
            }
            let labels = mixture.labels(rows.table, context)?;
            let labeled = Labeling { labels, n_fragments: 0, turns: Turns::none() };
            proposals.push(Proposal {
                graph: "mixture".to_string(),
                start: start.0.to_string(),
                vectors: 0,
                labeled,
                mixture: Some(mixture),
            });
        }
        Ok(proposals)
    }

    /// Whether the rows follow a mixture.
    fn follow(&self, mixture: &GaussianMixture) -> bool {
        let n = self.total / median(self.rows.weights);
        mixture.misfit <= (GAUSSIAN / n.sqrt()).max(NEARLY_GAUSSIAN)
    }

    /// Weight from which a component can be a cluster when it stands apart.
    pub fn smallest(&self) -> f64 {
        SMALLEST * self.row_weight
    }

    /// The graph of a way.
    pub fn join<'g>(&self, way: &AnchorCandidate, sources: &'g [Graph]) -> Cow<'g, Graph> {
        match way.sources[..] {
            [one] => Cow::Borrowed(&sources[one]),
            _ => {
                let graphs: Vec<&Graph> = way.sources.iter().map(|&s| &sources[s]).collect();
                Cow::Owned(join(&graphs, way.share()))
            }
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
