//! The cut alone, on any bipartite graph: the paper's add-on module (Eq. `eq:relax-OBCut`) and a
//! co-clustering tool for documents × words or users × items.
//!
//! Rows are scaled to sum one, as the rows of B do; columns are weighted by degree. Rows and columns
//! without edges get the label of the largest cluster.

use crate::model::column_labels;
use crate::model::rule::{DecisionRule, has_empty};
use crate::params::AnchorWeights;
use crate::records::StopReason;
use crate::score::score;
use crate::update::cutting::{self, Visits};
use crate::update::labels::fill_empty;
use crate::warning::Warning;
use obcut_core::error::{DataError, Error, ParamError};
use obcut_core::graph::{Graph, spectral};
use obcut_core::matrix::{Rows, Samples};
use obcut_core::observer::{Observer, Stage};
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, mix, shuffled};

/// Relative gain of a turn below which the cut has converged.
const TOLERANCE: f64 = 1e-6;

/// Columns that a sparse graph may declare, however few edges it has, and per edge. Every column gets a label, so
/// memory depends on this number.
const DECLARED: (usize, usize) = (1_000_000, 1000);

/// Settings of a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct CutParams {
    /// Number of clusters, k.
    pub n_clusters: usize,
    /// Weights of the columns in the cut.
    pub anchor_weights: AnchorWeights,
    /// Whether rows are scaled to sum one first. Without it rows with many edges count for more.
    pub normalize_rows: bool,
    /// Restarts; the best by the label-free score is kept.
    pub n_init: usize,
    /// Most turns of labels and embedding.
    pub max_iter: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Threads; 0 uses what the machine allows. Does not change the result.
    pub threads: usize,
}

impl CutParams {
    /// The defaults for `n_clusters` clusters.
    pub fn new(n_clusters: usize) -> Self {
        Self {
            n_clusters,
            anchor_weights: AnchorWeights::Degree,
            normalize_rows: true,
            n_init: 1,
            max_iter: 30,
            seed: 0,
            threads: 0,
        }
    }
}

/// Labels of both sides of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct BipartiteCut {
    /// Cluster of every row; every cluster has one.
    pub row_labels: Vec<u32>,
    /// Cluster of every column; a cluster may have none.
    pub column_labels: Vec<u32>,
    /// Value of the cut after every turn.
    pub trace: Vec<f64>,
    /// Why the turns ended.
    pub stop: StopReason,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

/// Cuts a non-negative N × M graph into k parts, from its edges alone.
///
/// ```
/// use obcut::{CsrRef, CutParams, Silent, cut};
///
/// // Four documents and three words: how often the document has the word.
/// let (offsets, columns) = ([0, 1, 2, 4, 5], [0, 0, 1, 2, 2]);
/// let counts = CsrRef::new(&offsets, &columns, &[3.0, 1.0, 1.0, 2.0, 4.0], 3)?;
/// let found = cut(&counts, &CutParams::new(2), &Silent)?;
/// let (documents, words) = (found.row_labels, found.column_labels);
/// assert!(documents[0] == documents[1] && documents[0] != documents[3]);
/// assert!(words[0] == documents[0] && words[2] == documents[3]);
/// # Ok::<(), obcut::Error>(())
/// ```
///
/// # Errors
/// For negative or non-finite edges, a graph without edges, fewer rows with edges or fewer columns
/// than clusters.
pub fn cut(
    graph: &impl Rows,
    params: &CutParams,
    observer: &dyn Observer,
) -> Result<BipartiteCut, Error> {
    cut_samples(&graph.samples()?, params, observer)
}

fn cut_samples(
    graph: &Samples<'_>,
    params: &CutParams,
    observer: &dyn Observer,
) -> Result<BipartiteCut, Error> {
    let CutParams { n_clusters: k, n_init, max_iter, threads, .. } = *params;
    let (n, m) = (graph.n_rows(), graph.n_cols());
    if k == 0 {
        return Err(ParamError::NoClusters.into());
    }
    if n == 0 || m == 0 {
        return Err(DataError::Empty { n_rows: n, n_cols: m }.into());
    }
    if k > n {
        return Err(ParamError::TooManyClusters { n_clusters: k, n_samples: n }.into());
    }
    if k > m {
        return Err(ParamError::TooFewAnchors { n_anchors: m, n_clusters: k }.into());
    }
    if n_init == 0 || max_iter == 0 {
        let name = if n_init == 0 { "n_init" } else { "max_iter" };
        let expected = "an integer of 1 or more".into();
        return Err(ParamError::Range { name, value: "0".into(), expected }.into());
    }
    Context::run(threads, observer, |context| cut_checked(graph, params, context))
}

fn cut_checked(
    graph: &Samples<'_>,
    params: &CutParams,
    mut context: Context<'_>,
) -> Result<BipartiteCut, Error> {
    let CutParams { n_clusters: k, anchor_weights, normalize_rows, n_init, max_iter, seed, .. } =
        *params;
    let n = graph.n_rows();
    context.report(Stage::Prepare, 0, 0, None)?;
    let (edges, keep) = edges(graph, normalize_rows)?;
    if edges.columns.is_empty() {
        return Err(DataError::NoEdges.into());
    }
    let (m, n_edges) = (graph.n_cols(), edges.columns.len());
    if graph.is_sparse() && m > DECLARED.1.saturating_mul(n_edges).saturating_add(DECLARED.0) {
        let problem = format!("{m} columns are declared for {n_edges} edges");
        return Err(DataError::Csr(problem).into());
    }
    if keep.len() < k {
        return Err(DataError::TooFewDistinct { n_distinct: keep.len(), n_clusters: k }.into());
    }
    let keys: Vec<u64> = (0..edges.n_rows()).map(|i| key(&edges, i)).collect();
    let (edges, stored) = without_lonely(edges, k);
    let weights = vec![1.0; keep.len()];
    let columns = cutting::anchor_weights(&edges, &weights, anchor_weights);
    let mut best: Option<(f64, Vec<u32>, cutting::Turns, usize)> = None;
    for restart in 0..n_init {
        context.set_restart(restart, n_init);
        context.report(Stage::Start, 0, 0, None)?;
        let stream = Stream::new(seed).nth(restart);
        let start =
            spectral::start(&edges, (&weights, &keys), k, None, stream.named("labels"), &context)?;
        let mut labels = start.labels;
        fill_empty(&mut labels, &keys, k, stream.named("fill"));
        let order = shuffled(&keys, stream.named("sweep"));
        let visits = Visits { weights: &weights, order: Some(&order), max_sweeps: 10 };
        let turns = cutting::cut(
            &edges,
            &columns,
            &mut labels,
            k,
            visits,
            (max_iter, TOLERANCE),
            &context,
        )?;
        let value = score(&edges, &labels, &weights, k);
        if best.as_ref().is_none_or(|b| value > b.0) {
            best = Some((value, labels, turns, start.n_fragments));
        }
    }
    let (_, labels, turns, n_fragments) = best.expect("n_init > 0 was checked");
    debug_assert!(!has_empty(&labels, k));
    let rule = DecisionRule::at(&edges, &labels, &weights, &columns, k, &context)?;
    let largest = crate::model::rule::best(&rule.sizes) as u32;
    let mut row_labels = vec![largest; n];
    keep.iter().zip(&labels).for_each(|(&i, &l)| row_labels[i] = l);
    let degrees = edges.degrees(&weights);
    let lonely = m - degrees.iter().filter(|&&d| d > 0.0).count();
    let mut all_labels = vec![largest; m];
    (stored.iter().zip(column_labels(&rule)).zip(&degrees))
        .filter(|(_, d)| **d > 0.0)
        .for_each(|((&j, l), _)| all_labels[j as usize] = l);
    let mut warnings = Vec::new();
    if keep.len() < n || lonely > 0 {
        warnings.push(Warning::NoEdges { n_rows: n - keep.len(), n_cols: lonely });
    }
    if n_fragments > 0 {
        warnings.push(Warning::GivenFragments { n_fragments });
    }
    Ok(BipartiteCut {
        row_labels,
        column_labels: all_labels,
        trace: turns.values,
        stop: turns.stop,
        warnings,
    })
}

/// The rows that have edges, without zeros, columns ascending, and their numbers.
fn edges(graph: &Samples<'_>, normalize: bool) -> Result<(Graph, Vec<usize>), Error> {
    let (n, m) = (graph.n_rows(), graph.n_cols());
    let mut out = Graph::empty(m);
    let mut keep = Vec::new();
    let mut row: Vec<(u32, f64)> = Vec::new();
    let mut bad: Option<(usize, usize, f64)> = None;
    let mut count = 0;
    for i in 0..n {
        row.clear();
        let mut take = |c: usize, v: f64| {
            if v != 0.0 {
                row.push((c as u32, v));
            }
        };
        match graph {
            Samples::Dense32(x) => {
                x.row(i).iter().enumerate().for_each(|(c, &v)| take(c, f64::from(v)))
            }
            Samples::Dense64(x) => x.row(i).iter().enumerate().for_each(|(c, &v)| take(c, v)),
            Samples::Sparse32(x) => x.each(i, |c, v| take(c, f64::from(v))),
            Samples::Sparse64(x) => x.each(i, take),
        }
        row.sort_by_key(|e| e.0);
        row.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 += b.1;
            }
            same
        });
        for &(c, v) in &row {
            if !v.is_finite() {
                count += 1;
                bad = bad.or(Some((i, c as usize, v)));
            } else if v < 0.0 {
                return Err(DataError::NegativeEdge { row: i, col: c as usize, value: v }.into());
            }
        }
        // By the largest first: the sum of huge edges overflows, the inverse of a tiny sum too.
        let largest = row.iter().map(|e| e.1).fold(0.0, f64::max);
        if largest > 0.0 && largest.is_finite() {
            let sum: f64 = row.iter().map(|e| e.1 / largest).sum();
            let columns: Vec<u32> = row.iter().map(|e| e.0).collect();
            let share = |e: &(u32, f64)| if normalize { e.1 / largest / sum } else { e.1 };
            let values: Vec<f64> = row.iter().map(share).collect();
            out.push(&columns, &values);
            keep.push(i);
        }
    }
    match bad {
        Some((row, col, value)) => Err(DataError::NotFinite { row, col, value, count }.into()),
        None => Ok((out, keep)),
    }
}

/// The graph without columns that have no edges, of which as many stay as make k, and the numbers of its columns.
fn without_lonely(graph: Graph, k: usize) -> (Graph, Vec<u32>) {
    let mut stored = graph.columns.clone();
    stored.sort_unstable();
    stored.dedup();
    if stored.len() < k {
        let lonely = (0..graph.n_cols as u32).filter(|j| stored.binary_search(j).is_err());
        let more: Vec<u32> = lonely.take(k - stored.len()).collect();
        stored.extend(more);
        stored.sort_unstable();
    }
    let place = |j: &u32| stored.partition_point(|other| other < j) as u32;
    let columns = graph.columns.iter().map(place).collect();
    (Graph { columns, n_cols: stored.len(), ..graph }, stored)
}

/// A hash of a row's edges. Equal rows share it: ties between them cannot matter.
fn key(graph: &Graph, i: usize) -> u64 {
    let (columns, values) = graph.row(i);
    columns.iter().zip(values).fold(0, |key, (&c, v)| mix(key ^ u64::from(c) ^ v.to_bits()))
}
