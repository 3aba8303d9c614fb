//! OBCut on a table that is clustered whole: prepare the rows, try candidates, cut, learn, and build the model.

pub(crate) mod choose;
pub(crate) mod finish;
#[cfg(test)]
mod golden_tests;
mod init;
pub(crate) mod judge;
pub(crate) mod learn;
pub(crate) mod path;
mod plan;
mod problem;
mod propose;
mod reference;
mod rim;
mod stability;
mod trial;

use crate::model::Model;
use crate::model::rule::RowScore;
use crate::params::{Init, Params, Reduce};
use crate::records::{KPath, Trace};
use finish::{Notes, Tables};
use obcut_core::error::{DataError, Error};
use obcut_core::kmeans::Weighted;
use obcut_core::matrix::Samples;
use obcut_core::normalize::{Scaling, Sliver};
use obcut_core::observer::Clock;
use obcut_core::observer::{Observer, Stage};
use obcut_core::parallel::Context;
use obcut_core::reduce::RankReduced;
use obcut_core::table::Table;
use obcut_core::unique_rows::UniqueRows;
use plan::Plan;
use problem::Problem;

/// Cells of a table up to which single precision is multiplied in double.
const DOUBLE_CELLS: usize = 1 << 21;

/// A table that was clustered.
pub(crate) struct Solved {
    pub rows: Vec<RowScore>,
    pub model: Model,
    pub trace: Trace,
    pub notes: Notes,
}

/// Clusters rows that were checked, all at once, with the scaling given or one of their own.
pub(crate) fn fit_whole(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    scaling: Option<&Scaling>,
    params: &Params,
    observer: &dyn Observer,
) -> Result<Solved, Error> {
    Context::run(params.threads, observer, |mut context| {
        let mut clock = Clock::default();
        let (unit, weights) = near_one(weights);
        let weights = weights.as_deref();
        let (scaling, narrow, units) = clock
            .time(Stage::Prepare, || distinct_rows(samples, weights, scaling, params, &context))?;
        let all = Table::new(*samples, &scaling);
        let full = if units.is_identity() { all.clone() } else { all.subset(&units.first) };
        let anchors = given_anchors(params, &scaling);
        let rotated = clock.time(Stage::Prepare, || rotate(&full, params, &anchors, &context))?;
        let small = rotated.as_ref().map(RankReduced::table).transpose()?;
        let table = small.as_ref().unwrap_or(&full);
        let rows = Weighted { table, weights: &units.weight, keys: &units.key };
        let total_square =
            clock.time(Stage::Prepare, || learn::total_square(table, &units.weight, &context))?;
        let ridge = params.ridge * total_square / units.total;
        let k_path = choose_k(&rows, params, ridge, &context, &mut clock)?;
        let params = &with_clusters(params, k_path.as_ref(), units.n())?;
        let plan = Plan::new(params, units.n(), full.d(), anchors.as_deref())?;
        let start = unit_labels(params, &units);
        let totals = (units.total, total_square);
        let problem = Problem::new(&rows, &plan, params, totals, &units.first, start);
        let mut kept = problem.restarts(anchors.as_deref(), &mut context, &mut clock)?;
        let tables = Tables { samples, weights, all: &all, full: &full, units: &units };
        let (rows, mut model) = clock.time(Stage::Finish, || {
            problem.finish(&mut kept, &scaling, &tables, rotated.as_ref(), k_path, &context)
        })?;
        problem.add_stability(&mut model, &kept, anchors.as_deref(), &context, &mut clock)?;
        model.scale_weights(unit);
        let notes = Notes::new(&plan, &kept, narrow);
        let trace = kept.finished(&units.weight, params.n_clusters, clock);
        Ok(Solved { rows, model, trace, notes })
    })
}

/// The scaling, the columns that it found narrow, and the distinct rows with their weights.
fn distinct_rows(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    scaling: Option<&Scaling>,
    params: &Params,
    context: &Context<'_>,
) -> Result<(Scaling, Vec<Sliver>, UniqueRows), Error> {
    context.report(Stage::Prepare, 0, 0, None)?;
    let (scaling, narrow) = match scaling {
        Some(scaling) => (scaling.clone(), Vec::new()),
        None => {
            let found = Scaling::fit_and_look(samples, weights, params.scaling(), context)?;
            let double = samples.n_rows().saturating_mul(samples.n_cols()) <= DOUBLE_CELLS;
            (Scaling { double, ..found.0 }, found.1)
        }
    };
    let units = UniqueRows::new(&Table::new(*samples, &scaling), weights, context)?;
    Ok((scaling, narrow, units))
}

/// A wide table with fewer columns and the same distances, where that pays.
fn rotate(
    full: &Table<'_>,
    params: &Params,
    anchors: &Option<Vec<f64>>,
    context: &Context<'_>,
) -> Result<Option<RankReduced>, Error> {
    let pays = params.reduce == Reduce::Auto && RankReduced::pays(full) && anchors.is_none();
    pays.then(|| RankReduced::new(full, context)).transpose()
}

/// The scores of the numbers of clusters, where one is to be chosen.
fn choose_k(
    rows: &Weighted<'_, '_>,
    params: &Params,
    ridge: f64,
    context: &Context<'_>,
    clock: &mut Clock,
) -> Result<Option<KPath>, Error> {
    let path = |range| {
        clock.time(Stage::Path, || {
            context.report(Stage::Path, 0, 0, None)?;
            path::path(rows, params, ridge, range, context)
        })
    };
    params.k_range.map(path).transpose()
}

/// The parameters with the number of clusters that was chosen.
fn with_clusters(
    params: &Params,
    k_path: Option<&KPath>,
    n_distinct: usize,
) -> Result<Params, Error> {
    let n_clusters = k_path.map_or(params.n_clusters, |path| path.chosen);
    if n_distinct < n_clusters {
        return Err(DataError::TooFewDistinct { n_distinct, n_clusters }.into());
    }
    Ok(Params { n_clusters, ..params.clone() })
}

/// The weights in units of a power of two near their mean, which keeps squares and roots of their sums in
/// range and changes no bit, and that power.
fn near_one(weights: Option<&[f64]>) -> (f64, Option<Vec<f64>>) {
    let unit = weights.map_or(1.0, weight_unit);
    (unit, weights.map(|weights| weights.iter().map(|w| w / unit).collect()))
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
fn unit_labels(params: &Params, units: &UniqueRows) -> Option<Vec<u32>> {
    match &params.init {
        Init::Given(labels) => Some(units.first.iter().map(|&i| labels[i as usize]).collect()),
        _ => None,
    }
}
