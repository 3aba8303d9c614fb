//! Checks of the parameters against their table and the data, once, before any work.

use crate::params::PARAMETERS;
use crate::params::{Formulation, Init, Kind, Learn, Metric, Noise, Params, Scale};
use obcut_core::choice::Named;
use obcut_core::error::{DataError, Error, ParamError};

/// Checks everything that does not need the distinct rows.
pub(crate) fn check(
    params: &Params,
    (n, d): (usize, usize),
    weights: Option<&[f64]>,
) -> Result<(), Error> {
    for parameter in PARAMETERS {
        // Arrays are checked below, against the shape of the table.
        if !matches!(parameter.kind, Kind::Labels(_) | Kind::Anchors) {
            parameter.check(&params.value(parameter.name))?;
        }
    }
    // JSON has no NaN, so the table cannot see it here.
    if let Some(Noise::Share(share)) = params.noise
        && !share.is_finite()
    {
        let expected = "a finite number between 0 and 1, both excluded".into();
        return Err(ParamError::Range { name: "noise", value: share.to_string(), expected }.into());
    }
    let Params { k_range, n_anchors, n_anchor_sets, anchors, scale, metric, init, .. } = params;
    let n_clusters = match *k_range {
        Some((low, high)) => {
            if low < 1 || high.is_some_and(|high| high < low) {
                let value = format!("{low} to {}", high.map_or("auto".into(), |h| h.to_string()));
                let expected = "a range that starts at 1 or more and ends no earlier".into();
                return Err(ParamError::Range { name: "n_clusters", value, expected }.into());
            }
            high.unwrap_or(low)
        }
        None => params.n_clusters,
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
            return Err(ParamError::Range {
                name: "anchors",
                value: format!("{} at row {row}, column {col}", given[at]),
                expected: "finite".into(),
            }
            .into());
        }
        if n_anchors.is_some_and(|m| {
            let total = given.len() / d;
            m != total && m.checked_mul(n_anchor_sets.unwrap_or(1)) != Some(total)
        }) {
            return Err(ParamError::AnchorCount { found: given.len() / d }.into());
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
    if *metric == Metric::Cosine && !(scale.is_unit() || *scale == Scale::Auto) {
        return Err(ParamError::CosineScale { scale: scale.name() }.into());
    }
    let learns = params.learn != Learn::Nothing && params.formulation == Formulation::Unified;
    if params.lambda == 0.0 && learns {
        let expected = "a positive number for `formulation=unified`".into();
        return Err(ParamError::Range { name: "lambda", value: "0".into(), expected }.into());
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
