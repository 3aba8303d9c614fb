//! Settings judged against the data, once, before any work.

use crate::error::{DataError, Error, ParamError};
use crate::solver::params::{Formulation, Init, Learn, Metric, Noise, Params, Scale};

/// Checks everything that does not need the distinct rows.
pub(crate) fn check(
    params: &Params,
    (n, d): (usize, usize),
    weights: Option<&[f64]>,
) -> Result<(), Error> {
    // A new setting does not compile until it is judged here.
    let Params {
        n_clusters,
        k_range,
        graph: _,
        effort: _,
        n_anchors,
        n_anchor_sets,
        anchors,
        n_neighbors,
        scale,
        metric,
        init,
        balance,
        noise,
        stability: _,
        anchor_weights: _,
        lambda,
        lambda_scale: _,
        learn,
        formulation,
        anchor_update: _,
        pull,
        row_solver: _,
        ridge,
        max_iter,
        tol,
        stop_on_labels: _,
        max_sweeps,
        sweep_order: _,
        n_init,
        rows_per_anchor,
        core_rows: _,
        reduce: _,
        seed: _,
        threads: _,
    } = params;
    let n_clusters = match *k_range {
        Some((low, high)) => {
            if low < 1 || high.is_some_and(|high| high < low) {
                let value = format!("{low} to {}", high.map_or("auto".into(), |h| h.to_string()));
                let hint = "a range of k starts at 1 or more and does not end before it starts";
                return Err(range("k range", value, hint));
            }
            high.unwrap_or(low)
        }
        None => *n_clusters,
    };
    let k = n_clusters;
    if k == 0 {
        return Err(ParamError::NoClusters.into());
    }
    if n == 0 || d == 0 {
        return Err(DataError::Empty { n_rows: n, n_cols: d }.into());
    }
    if n >= u32::MAX as usize - 1 {
        return Err(DataError::TooManyRows { n_rows: n }.into());
    }
    if k > n {
        return Err(ParamError::TooManyClusters { n_clusters, n_samples: n }.into());
    }
    if let Some(given) = anchors {
        if given.is_empty() || given.len() % d != 0 {
            let expected = (given.len() / d).max(1) * d;
            let name = "values of given anchors";
            return Err(ParamError::Length { name, found: given.len(), expected }.into());
        }
        if let Some(at) = given.iter().position(|v| !v.is_finite()) {
            let (row, col) = (at / d, at % d);
            return Err(range(
                "anchors",
                format!("{} at row {row}, column {col}", given[at]),
                "given anchors must be finite",
            ));
        }
        if n_anchors.is_some_and(|m| {
            let total = given.len() / d;
            m != total && m.checked_mul(n_anchor_sets.unwrap_or(1)) != Some(total)
        }) {
            return Err(ParamError::Conflict(format!(
                "{} anchors are given, which is not what the number of anchors and sets says; leave those automatic",
                given.len() / d
            ))
            .into());
        }
        if given.len() / d < k {
            return Err(ParamError::TooFewAnchors { n_anchors: given.len() / d, n_clusters }.into());
        }
    }
    if let Some(m) = *n_anchors
        && m < k
    {
        return Err(ParamError::TooFewAnchors { n_anchors: m, n_clusters }.into());
    }
    positive("anchor sets", n_anchor_sets.unwrap_or(1))?;
    positive("neighbors", *n_neighbors)?;
    positive("n-init", *n_init)?;
    positive("max-sweeps", *max_sweeps)?;
    positive("rows-per-anchor", rows_per_anchor.unwrap_or(1))?;
    not_negative("lambda", *lambda)?;
    not_negative("pull", *pull)?;
    not_negative("ridge", *ridge)?;
    not_negative("tol", *tol)?;
    if *metric == Metric::Cosine && !(scale.is_unit() || *scale == Scale::Auto) {
        return Err(ParamError::Conflict(format!(
            "the cosine metric brings rows to length 1, which scale = {scale} does not; leave the scale automatic"
        ))
        .into());
    }
    if !(0.0..=1.0).contains(balance) {
        return Err(range("balance", balance.to_string(), "it must be between 0 and 1"));
    }
    if let Some(Noise::Share(share)) = *noise
        && !(share > 0.0 && share < 1.0)
    {
        let hint = "a share of the rows lies between 0 and 1, both excluded; 'auto' chooses";
        return Err(range("noise", share.to_string(), hint));
    }
    if *lambda == 0.0 && *learn != Learn::Nothing && *formulation == Formulation::Unified {
        return Err(range("lambda", "0".into(), "it must be positive for the unified objective"));
    }
    if *max_iter == 0 {
        return Err(range("max-iter", "0".into(), "it must be 1 or more"));
    }
    if let Init::Given(labels) = init {
        start_labels(labels, n, k)?;
    }
    check_weights(weights, n)
}

/// Weights, if given, must fit the rows.
pub(crate) fn check_weights(weights: Option<&[f64]>, n: usize) -> Result<(), Error> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != n {
        let (found, expected) = (weights.len(), n);
        return Err(ParamError::Length { name: "sample weights", found, expected }.into());
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        return Err(DataError::Weight { row, weight: weights[row] }.into());
    }
    if weights.iter().all(|w| *w == 0.0) {
        return Err(DataError::NoWeight.into());
    }
    Ok(())
}

fn start_labels(labels: &[u32], n: usize, k: usize) -> Result<(), Error> {
    if labels.len() != n {
        let (found, expected) = (labels.len(), n);
        return Err(ParamError::Length { name: "start labels", found, expected }.into());
    }
    let mut seen = vec![false; k];
    for (row, &label) in labels.iter().enumerate() {
        match seen.get_mut(label as usize) {
            Some(seen) => *seen = true,
            None => {
                let problem = format!("row {row} has {label}");
                return Err(ParamError::StartLabels { last: k - 1, problem }.into());
            }
        }
    }
    match seen.iter().position(|s| !s) {
        Some(j) => {
            let problem = format!("no row has {j}");
            Err(ParamError::StartLabels { last: k - 1, problem }.into())
        }
        None => Ok(()),
    }
}

fn positive(name: &'static str, value: usize) -> Result<(), Error> {
    if value == 0 { Err(range(name, "0".into(), "it must be 1 or more")) } else { Ok(()) }
}

fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(range(name, value.to_string(), "it must be finite and not negative"))
    }
}

fn range(name: &'static str, value: String, hint: &'static str) -> Error {
    ParamError::Range { name, value, hint }.into()
}
