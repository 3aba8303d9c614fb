//! The start: anchors by k-means, the first graph, the first labels.

use crate::error::Error;
use crate::graph::Graph;
use crate::graph::spectral;
use crate::kmeans::{self, Effort, Seeding, Weighted};
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::Stream;
use crate::solver::params::{GraphKind, Init, Params};
use crate::solver::update::labels::fill_empty;

/// Rows per anchor, at least, in the automatic choice: a row problem needs more of them than the closed
/// form does, or the graph falls apart into fragments.
const ROWS_PER_GLOBAL_ANCHOR: usize = 10;
const ROWS_PER_LOCAL_ANCHOR: usize = 10;
const ROWS_PER_NEAR_ANCHOR: usize = 8;
/// Anchors per cluster, at least, in the automatic choice.
const ANCHORS_PER_CLUSTER: usize = 3;

/// Anchors in a set for `n` distinct rows: as many as the graph bears, see `docs/anchors.md`.
pub(crate) fn auto_anchors(graph: GraphKind, n: usize, k: usize) -> usize {
    let wanted = match graph {
        GraphKind::Global => (n / ROWS_PER_GLOBAL_ANCHOR).min(300),
        GraphKind::Local => (n / ROWS_PER_LOCAL_ANCHOR).min(500),
        GraphKind::Distance => (n / ROWS_PER_NEAR_ANCHOR).min(1000),
    };
    wanted.max(ANCHORS_PER_CLUSTER * k).min(n)
}

/// Anchor sets when none are asked for: several pay on the global graph only.
pub(crate) fn auto_sets(graph: GraphKind) -> usize {
    if graph == GraphKind::Global { 5 } else { 1 }
}

/// All anchor sets, one after the other: sets * M × d.
pub(crate) fn anchors(
    rows: &Weighted<'_, '_>,
    n_anchors: usize,
    n_sets: usize,
    params: &Params,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let effort = match params.rows_per_anchor {
        // As the authors: random rows, 20 iterations, 2 restarts, all rows.
        None => Effort {
            seeding: Seeding::Rows,
            iterations: 20,
            restarts: 2,
            rows_per_center: None,
            full_passes: 0,
        },
        per => Effort {
            seeding: Seeding::Rows,
            iterations: 20,
            restarts: 1,
            rows_per_center: per,
            full_passes: 1,
        },
    };
    let mut all = Vec::new();
    for set in 0..n_sets {
        let stream = stream.named("anchors").nth(set);
        all.extend(kmeans::fit(rows, n_anchors, effort, stream, context, Stage::Anchors)?.values);
    }
    Ok(all)
}

/// First labels of the units, every cluster non-empty, and notes on the graph.
pub(crate) struct Start {
    pub labels: Vec<u32>,
    pub n_fragments: usize,
}

/// The first labels.
pub(crate) fn labels(
    rows: &Weighted<'_, '_>,
    graph: &Graph,
    anchors: &[f64],
    given: Option<&[u32]>,
    params: &Params,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Start, Error> {
    let k = params.n_clusters;
    let stream = stream.named("labels");
    let mut start = match &params.init {
        Init::Given(_) => {
            let labels = given.expect("given labels are mapped to units by fit").to_vec();
            Start { labels, n_fragments: 0 }
        }
        Init::KMeans => {
            let effort = Effort {
                seeding: Seeding::Rows,
                iterations: 20,
                restarts: 2,
                rows_per_center: params.rows_per_anchor,
                full_passes: 2,
            };
            let centers = kmeans::fit(rows, k, effort, stream, context, Stage::Start)?;
            let points = rows.table.points(centers.values);
            let labels = kmeans::assign(rows, &points, context)?.labels;
            Start { labels, n_fragments: 0 }
        }
        Init::Spectral => {
            let coordinates = Some((anchors, rows.table.d()));
            let weighted = (rows.weights, rows.keys);
            let found = spectral::start(graph, weighted, k, coordinates, stream, context)?;
            Start { labels: found.labels, n_fragments: found.n_fragments }
        }
    };
    fill_empty(&mut start.labels, rows.keys, k, stream.named("fill"));
    Ok(start)
}
