//! OBCut itself: scale, check, start, cut, learn, and build the model.

pub(crate) mod choose;
pub(crate) mod cutting;
pub(crate) mod explain;
mod file;
pub(crate) mod finish;
#[cfg(test)]
mod golden_tests;
mod init;
pub(crate) mod judge;
pub(crate) mod learn;
pub mod model;
pub(crate) mod path;
mod plan;
mod plane;
mod problem;
mod propose;
mod reference;
mod rim;
pub mod rule;
pub(crate) mod score;
pub(crate) mod spread;
mod stability;
pub mod trace;
mod trial;
mod typical;
pub(crate) mod update;

use crate::large;
use crate::params::check::check;
use crate::params::{Init, OBCut, Params, Reduce};
use crate::warning::Warning;
use explain::Explanation;
use finish::Notes;
use model::Model;
use obcut_core::error::{DataError, Error};
use obcut_core::graph::components::n_sizeable;
use obcut_core::kmeans::Weighted;
use obcut_core::matrix::{DenseRef, Rows, Samples};
use obcut_core::normalize::Scaling;
use obcut_core::observer::{Observer, Stage};
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::reduce::Reduced;
use obcut_core::table::Table;
use obcut_core::units::Units;
use plan::Plan;
use problem::{Candidate, Problem};
use rule::RowScore;
use trace::{Clock, Trace};
use update::labels::median;

/// Cells of a table up to which single precision is multiplied in double.
const DOUBLE_CELLS: usize = 1 << 21;

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Cluster of every row; every cluster has a row.
    pub labels: Vec<u32>,
    /// Margin of every row over its second-best cluster, as [`Model::explain`] gives it.
    pub margins: Vec<f64>,
    /// How sure every label is, from 0 on the border of two clusters to 1 inside one.
    pub confidence: Vec<f64>,
    /// How outlying every row is: about 1 for usual ones, larger for others.
    pub outlier_scores: Vec<f64>,
    /// Whether every row is marked as noise; none is unless [`Params::noise`] asks for it.
    pub noise: Vec<bool>,
    /// Labels new rows, and repeats `labels` on the old ones.
    pub model: Model,
    /// Values, seconds, why it stopped.
    pub trace: Trace,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

impl Fit {
    /// The fit of a large table together with what its rows got.
    pub fn of_rows(rows: &[RowScore], found: large::LargeFit) -> Self {
        let finish::Labelled { labels, margins, confidence, outlier_scores, noise } =
            finish::Labelled::new(rows);
        let large::LargeFit { model, trace, warnings } = found;
        Self { labels, margins, confidence, outlier_scores, noise, model, trace, warnings }
    }

    /// Cluster of every row, -1 where it is marked as noise.
    pub fn labels_or_noise(&self) -> Vec<i32> {
        let label = |(&label, &noise): (&u32, &bool)| if noise { -1 } else { label as i32 };
        self.labels.iter().zip(&self.noise).map(label).collect()
    }
}

/// Clusters samples, with a weight for every row if given.
///
/// ```
/// use obcut::{Params, Silent, fit, synthetic};
///
/// let moons = synthetic::moons(500, 0.05, 1);
/// let samples = moons.matrix.samples()?;
/// let fit = fit(&samples, None, &Params::new(2), &Silent)?;
/// assert_eq!(fit.labels, fit.model.predict_with(&samples, 1, &Silent)?);
/// # Ok::<(), obcut::Error>(())
/// ```
///
/// # Errors
/// When a setting or the data cannot be used, or the observer cancels.
pub fn fit(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<Fit, Error> {
    check(params, (samples.n_rows(), samples.n_cols()), weights)?;
    // Entries given twice would be squared apart: they are added up first.
    samples.with_canonical(|samples| {
        if large::is_large(params, samples.n_rows(), samples.n_cols()) {
            return large::fit_samples(samples, weights, params, observer);
        }
        let (mut fit, notes) = fit_all(samples, weights, None, params, observer)?;
        fit.warnings = finish::warnings(&notes, &fit.model, &fit.trace);
        Ok(fit)
    })
}

impl OBCut<'_> {
    /// Clusters rows.
    ///
    /// # Errors
    /// When a parameter or the data cannot be used, or the observer cancels.
    pub fn fit(&self, rows: &impl Rows) -> Result<Fit, Error> {
        fit(&rows.samples()?, self.weights, &self.params, self.observer)
    }
}

/// Clusters rows that were checked, all at once, with the scaling given or one of their own. The
/// warnings are left to the caller.
pub(crate) fn fit_all(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    scaling: Option<&Scaling>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<(Fit, Notes), Error> {
    Context::run(params.threads, observer, |context| {
        fit_checked(samples, weights, scaling, params, context)
    })
}

fn fit_checked(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    scaling: Option<&Scaling>,
    params: &Params,
    mut context: Context<'_>,
) -> Result<(Fit, Notes), Error> {
    // Weights near 1 keep squares and roots of their sums in range; a power of two changes no bit.
    let unit = weights.map_or(1.0, weight_unit);
    let scaled: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w / unit).collect());
    let weights = scaled.as_deref();
    let mut clock = Clock::default();
    let (scaling, slivers, units) = clock.time(Stage::Prepare, || {
        context.report(Stage::Prepare, 0, 0, None)?;
        let (scaling, slivers) = match scaling {
            Some(scaling) => (scaling.clone(), Vec::new()),
            None => {
                let looked = Scaling::fit_and_look(samples, weights, params.scaling(), &context)?;
                let double = samples.n_rows() * samples.n_cols() <= DOUBLE_CELLS;
                (Scaling { double, ..looked.0 }, looked.1)
            }
        };
        let units = Units::new(&Table::new(*samples, &scaling), weights, &context)?;
        Ok::<_, Error>((scaling, slivers, units))
    })?;
    let n_distinct = units.n();
    let all = Table::new(*samples, &scaling);
    let full = if units.is_identity() { all.clone() } else { all.subset(&units.first) };
    let given = given_anchors(params, &scaling);
    let reduced = clock.time(Stage::Prepare, || {
        let reduce = params.reduce == Reduce::Auto && Reduced::pays(&full) && given.is_none();
        reduce.then(|| Reduced::new(&full, &context)).transpose()
    })?;
    let small_scaling = Scaling::identity(n_distinct);
    let small = match &reduced {
        Some(r) => {
            let rows = DenseRef::new(&r.rows, r.n, r.n)?;
            Some(Table::new(rows.into(), &small_scaling))
        }
        None => None,
    };
    let table = small.as_ref().unwrap_or(&full);
    let rows = Weighted { table, weights: &units.weight, keys: &units.key };
    let start = unit_labels(params, &units);
    let total_square =
        clock.time(Stage::Prepare, || learn::total_square(table, &units.weight, &context))?;
    let ridge = params.ridge * total_square / units.total;
    let k_path = match params.k_range {
        Some(range) => Some(clock.time(Stage::Path, || {
            context.report(Stage::Path, 0, 0, None)?;
            path::path(&rows, params, ridge, range, &context)
        })?),
        None => None,
    };
    let n_clusters = k_path.as_ref().map_or(params.n_clusters, |path| path.chosen);
    let params = &Params { n_clusters, ..params.clone() };
    if n_distinct < n_clusters {
        return Err(DataError::TooFewDistinct { n_distinct, n_clusters }.into());
    }
    let row_weight = median(&units.weight);
    let plan = Plan::new(params, n_distinct, full.d(), given.as_deref())?;
    let problem = Problem {
        rows: &rows,
        plan: &plan,
        params,
        total: units.total,
        row_weight,
        total_square,
        start,
    };

    let mut kept: Option<Candidate> = None;
    let mut scores = Vec::new();
    for restart in 0..plan.n_init {
        context.set_restart(restart, plan.n_init);
        let stream = Stream::new(params.seed).nth(restart);
        let candidate = problem.solve(given.as_deref(), stream, &context, &mut clock)?;
        scores.push(candidate.score);
        if kept.as_ref().is_none_or(|best| candidate.score > best.score) {
            let mut candidate = candidate;
            candidate.trace.kept = restart;
            kept = Some(candidate);
        }
    }
    let mut kept = kept.expect("n_init > 0 by check");
    context.set_restart(0, 1);

    let (rows, mut model) = clock.time(Stage::Finish, || {
        context.report(Stage::Finish, 0, 0, None)?;
        let (rows, association, mut model) = problem.finish(
            &mut kept,
            &scaling,
            &full,
            reduced.as_ref(),
            (&all, &units),
            &context,
        )?;
        let k = params.n_clusters;
        model.explanation = Explanation {
            clusters: explain::clusters(samples, &rows.labels, weights, &association, k, &context)?,
            tried: kept.trace.tried.clone(),
            k_path,
            merges: explain::merges(&kept.tree, &kept.labels, k),
            stability: None,
        };
        Ok::<_, Error>((rows, model))
    })?;
    if params.stability > 0 {
        let found = clock.time(Stage::Stability, || {
            problem.stability(&kept.labels, &kept.procedure, given.as_deref(), &context)
        })?;
        model.explanation.stability = Some(found.fit);
        for (cluster, value) in model.explanation.clusters.iter_mut().zip(found.clusters) {
            cluster.stability = value;
        }
    }
    model.sizes.iter_mut().for_each(|n| *n *= unit);
    model.explanation.clusters.iter_mut().for_each(|c| c.weight *= unit);
    let mut trace = kept.trace;
    trace.scores = scores;
    trace.seconds = clock.finish();
    trace.n_pieces = n_sizeable(&kept.graph, &units.weight, params.n_clusters);
    trace.n_idle = kept.graph.degrees(&units.weight).iter().filter(|&&d| d == 0.0).count();
    let notes = Notes {
        capped: plan.capped,
        n_units: plan.n_units,
        n_fragments: kept.n_fragments,
        components: kept.components,
        slivers,
    };
    let finish::Labelled { labels, margins, confidence, outlier_scores, noise } = rows;
    let warnings = Vec::new();
    let fit = Fit { labels, margins, confidence, outlier_scores, noise, model, trace, warnings };
    Ok((fit, notes))
}

/// The power of two next to the mean of the weights.
fn weight_unit(weights: &[f64]) -> f64 {
    let largest = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
    // Shares of the largest cannot overflow when they are added up.
    let mean = weights.iter().map(|w| w / largest).sum::<f64>() / weights.len() as f64;
    power_of_two(largest, mean)
}

/// The power of two next to a share of a number.
pub(crate) fn power_of_two(number: f64, share: f64) -> f64 {
    (number.log2() + share.log2()).floor().clamp(-1000.0, 1000.0).exp2()
}

fn given_anchors(params: &Params, scaling: &Scaling) -> Option<Vec<f64>> {
    params.anchors.as_ref().map(|anchors| {
        let mut anchors = anchors.clone();
        scaling.apply(&mut anchors);
        anchors
    })
}

/// Given labels by unit: those of its first row.
fn unit_labels(params: &Params, units: &Units) -> Option<Vec<u32>> {
    match &params.init {
        Init::Given(labels) => Some(units.first.iter().map(|&i| labels[i as usize]).collect()),
        _ => None,
    }
}
