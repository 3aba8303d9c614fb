//! The start: anchors by k-means, the first graph, the first labels.

use crate::graph::kinds;
use crate::params::{GraphKind, Params};
use crate::solver::plan::AnchorSets;
use obcut_core::error::Error;
use obcut_core::kmeans::{self, Schedule, Weighted};
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

/// Anchors per cluster, at least, in the automatic choice.
const ANCHORS_PER_CLUSTER: usize = 3;

/// Iterations of k-means for the anchors, on a part of a sample of the rows, one in so many,
const ITERATIONS: usize = 6;
const FIRST_PART: usize = 5;
/// then on the sample,
const MORE_ITERATIONS: usize = 3;
/// and on all of them where that many cost no more than so many operations: a moment.
const SMALL_ITERATIONS: usize = 10;
const SMALL_WORK: f64 = 16e9;

/// Anchors in a set for `n` distinct rows and `k` clusters.
pub(crate) fn auto_anchors(graph: GraphKind, n: usize, k: usize) -> usize {
    kind_of(graph).n_anchors(n).max(ANCHORS_PER_CLUSTER * k).min(n)
}

/// Anchor sets when none are asked for: several pay on the global graph only.
pub(crate) fn auto_sets(graph: GraphKind) -> usize {
    kind_of(graph).n_sets()
}

/// The kind of graph between rows and anchors; rows that are linked to rows follow the distance graph.
fn kind_of(graph: GraphKind) -> &'static dyn kinds::AnchorGraph {
    kinds::of(graph).or(kinds::of(GraphKind::Distance)).expect("distances link rows to anchors")
}

/// All anchor sets of all blocks, one after the other, each M × d.
pub(crate) fn anchors(
    rows: &Weighted<'_, '_>,
    blocks: &[AnchorSets],
    params: &Params,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    let schedule = |n_anchors: usize| match params.rows_per_anchor {
        // As the authors: random rows, 20 iterations, 2 restarts, all rows.
        None => Schedule { iterations: 20, restarts: 2, ..Schedule::ALL_ROWS },
        per => {
            let work = 2.0 * n as f64 * n_anchors as f64 * d as f64 * SMALL_ITERATIONS as f64;
            let small = work <= SMALL_WORK;
            Schedule {
                iterations: if small { SMALL_ITERATIONS } else { ITERATIONS },
                rows_per_restart: per.filter(|_| !small).map(|per| per.div_ceil(FIRST_PART)),
                rows_per_center: per.filter(|_| !small),
                more_iterations: MORE_ITERATIONS,
                ..Schedule::ALL_ROWS
            }
        }
    };
    let mut all = Vec::new();
    let mut stream = stream.named("anchors");
    for block in blocks {
        for set in 0..block.n_sets {
            let (n, stream) = (block.per_set, stream.nth(set));
            let schedule = schedule(n);
            all.extend(kmeans::fit(rows, n, schedule, stream, context, Stage::Anchors)?.values);
        }
        stream = stream.named("next");
    }
    Ok(all)
}

/// First labels by k-means on the rows, as printed; on samples as for the anchors.
pub(crate) fn k_means(
    rows: &Weighted<'_, '_>,
    params: &Params,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let schedule = Schedule {
        iterations: 20,
        restarts: 2,
        rows_per_restart: params.rows_per_anchor.map(|per| per.div_ceil(FIRST_PART)),
        rows_per_center: params.rows_per_anchor,
        more_iterations: SMALL_ITERATIONS,
        full_passes: 2,
        ..Schedule::ALL_ROWS
    };
    let k = params.n_clusters;
    let centers = kmeans::fit(rows, k, schedule, stream.named("labels"), context, Stage::Start)?;
    let points = rows.table.points(centers.values);
    kmeans::assign(rows.table, &points, context)
}
