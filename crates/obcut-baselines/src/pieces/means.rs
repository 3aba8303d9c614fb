//! The two flavours of k-means that the references use, on one engine.
//!
//! "Lite": distinct random rows as first centers, restarts judged by plain distances. "Plus plus": k-means++,
//! restarts judged by squared distances. In both an empty cluster takes the row that is farthest from its
//! center. With fewer distinct rows than clusters some labels stay unused.

use obcut::{DenseRef, Error, Stage};
use obcut_core::kmeans::{self, Schedule, Seeding, Weighted};
use obcut_core::normalize::Scaling;
use obcut_core::parallel::Context;
use obcut_core::random::{Stream, mix};
use obcut_core::table::Table;

use super::explicit::Precision;

/// A flavour of k-means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavour {
    schedule: Schedule,
}

impl Flavour {
    /// Random rows first, plain distances.
    pub fn lite(iterations: usize, restarts: usize) -> Self {
        let schedule = Schedule { iterations, restarts, plain: true, ..Schedule::ALL_ROWS };
        Self { schedule }
    }

    /// k-means++, squared distances.
    pub fn plus_plus(iterations: usize, restarts: usize) -> Self {
        let seeding = Seeding::PlusPlus;
        Self { schedule: Schedule { iterations, restarts, seeding, ..Schedule::ALL_ROWS } }
    }

    /// Greedy k-means++, squared distances.
    pub fn greedy(iterations: usize, restarts: usize) -> Self {
        let seeding = Seeding::Greedy;
        Self { schedule: Schedule { iterations, restarts, seeding, ..Schedule::ALL_ROWS } }
    }
}

/// Centers (k × d) of the rows of a table.
pub(crate) fn centers(
    table: &Table<'_>,
    k: usize,
    flavour: Flavour,
    stream: Stream,
    context: &Context<'_>,
    stage: Stage,
) -> Result<Vec<f64>, Error> {
    // Rows are drawn by their number: two equal rows are two rows.
    let keys: Vec<u64> = (0..table.n() as u64).map(mix).collect();
    let weights = vec![1.0; table.n()];
    let rows = Weighted { table, weights: &weights, keys: &keys };
    Ok(kmeans::fit(&rows, k, flavour.schedule, stream, context, stage)?.values)
}

/// Labels of the rows of a table.
pub(crate) fn cluster_rows(
    table: &Table<'_>,
    k: usize,
    flavour: Flavour,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let k = k.min(table.n());
    let centers = centers(table, k, flavour, stream.named("kmeans"), context, Stage::KMeans)?;
    kmeans::assign(table, &table.points(centers), context)
}

/// Labels of the rows of an embedding (n × width).
pub(crate) fn cluster_points<T: Precision>(
    points: &[T],
    width: usize,
    k: usize,
    flavour: Flavour,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let scaling = Scaling::identity(width);
    let rows = DenseRef::new(points, points.len() / width.max(1), width)?;
    cluster_rows(&Table::new(T::samples(rows), &scaling), k, flavour, stream, context)
}
