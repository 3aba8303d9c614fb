//! k-means on its own: what the graphs are built from, for those who want no more.

use crate::error::{DataError, Error};
use crate::kmeans::{self, Schedule, Seeding, Weighted};
use crate::matrix::Samples;
use crate::normalize::{Scale, Scaling};
use crate::observer::{Observer, Stage};
use crate::parallel::Context;
use crate::random::Stream;
use crate::table::Table;
use crate::unique_rows::UniqueRows;

/// Bytes of centers that are laid out at most.
const CENTER_BYTES: u64 = 4 << 30;

/// Settings of [`k_means`].
#[derive(Clone, Debug, PartialEq)]
pub struct KMeansParams {
    /// Number of clusters, k.
    pub n_clusters: usize,
    /// What is done to the features first; [`Scale::None`] unless set.
    pub scale: Scale,
    /// Whether the centers start by k-means++ rather than from random rows.
    pub plus_plus: bool,
    /// Lloyd iterations at most.
    pub max_iter: usize,
    /// Starts of which the best is kept.
    pub n_init: usize,
    /// Rows per center that the iterations run on before three on all rows; `None` takes all.
    pub rows_per_center: Option<usize>,
    /// An iteration that lowers the inertia by less than this part of it is the last.
    pub tol: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads; 0 takes what the machine allows. They do not change the result.
    pub threads: usize,
}

impl KMeansParams {
    /// k-means++ on a sample, up to 100 iterations.
    pub fn new(n_clusters: usize) -> Self {
        Self {
            n_clusters,
            scale: Scale::None,
            plus_plus: true,
            max_iter: 100,
            n_init: 1,
            rows_per_center: Some(256),
            tol: 1e-4,
            seed: 0,
            threads: 0,
        }
    }
}

/// The result of [`k_means`].
#[derive(Clone, Debug)]
pub struct KMeansFit {
    /// The nearest center of every row.
    pub labels: Vec<u32>,
    /// k × d, row after row, in the units of the data (of unit rows, on their scale).
    pub centers: Vec<f64>,
}

/// Clusters samples by Lloyd's k-means: same seed, same bits, for any number of threads.
///
/// ```
/// use obcut_core::means::{KMeansParams, k_means};
/// use obcut_core::{DenseRef, Silent};
///
/// let rows = DenseRef::new(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 6, 1)?;
/// let fit = k_means(&rows.into(), &KMeansParams::new(2), &Silent)?;
/// assert_eq!(fit.centers.len(), 2);
/// # Ok::<(), obcut_core::Error>(())
/// ```
///
/// # Errors
/// When a setting or the data cannot be used, or the observer cancels.
pub fn k_means(
    samples: &Samples<'_>,
    params: &KMeansParams,
    observer: &dyn Observer,
) -> Result<KMeansFit, Error> {
    samples.check_clusters(params.n_clusters)?;
    samples.with_stored_columns(None, |samples, columns| {
        let found =
            Context::run(params.threads, observer, |context| fitted(samples, params, &context))?;
        match columns {
            Some(columns) => {
                let centers = columns.unfold(&found.centers, CENTER_BYTES)?;
                Ok(KMeansFit { centers, ..found })
            }
            None => Ok(found),
        }
    })
}

fn fitted(
    samples: &Samples<'_>,
    params: &KMeansParams,
    context: &Context<'_>,
) -> Result<KMeansFit, Error> {
    let k = params.n_clusters;
    context.report(Stage::Prepare, 0, 0, None)?;
    let scaling = Scaling::fit(samples, None, params.scale, context)?;
    let all = Table::new(*samples, &scaling);
    let units = UniqueRows::new(&all, None, context)?;
    if units.n() < k {
        return Err(DataError::TooFewDistinct { n_distinct: units.n(), n_clusters: k }.into());
    }
    let table = if units.is_identity() { all.clone() } else { all.subset(&units.first) };
    let rows = Weighted { table: &table, weights: &units.weight, keys: &units.key };
    let schedule = Schedule {
        seeding: if params.plus_plus { Seeding::PlusPlus } else { Seeding::Rows },
        iterations: params.max_iter,
        restarts: params.n_init,
        rows_per_restart: params.rows_per_center.map(|per| per.min(64)),
        rows_per_center: params.rows_per_center,
        more_iterations: params.max_iter,
        full_passes: 3,
        tol: params.tol,
        plain: false,
    };
    let stream = Stream::new(params.seed).named("kmeans");
    let mut centers = kmeans::fit(&rows, k, schedule, stream, context, Stage::Start)?.values;
    let labels = kmeans::assign(&all, &all.points(centers.clone()), context)?;
    scaling.undo(&mut centers);
    Ok(KMeansFit { labels, centers })
}
