//! The one-step cut on a fixed graph: Y and H alternate (Eq. `eq:relax-OBCut`).

use crate::params::AnchorWeights;
use crate::records::StopReason;
use crate::update::{embedding, labels};
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;

/// Smallest degree, as a share of the mean, that an anchor's weight is computed with. Without a
/// floor the weight of anchors with hardly any samples explodes.
const DEGREE_FLOOR: f64 = 0.1;

/// Samples of a cut: their weights, and the order in which they are visited (`None`: as they come).
#[derive(Clone, Copy)]
pub(crate) struct Visits<'a> {
    pub weights: &'a [f64],
    pub order: Option<&'a [u32]>,
    pub max_sweeps: usize,
}

/// What the turns found.
pub(crate) struct Turns {
    /// The cut after every turn.
    pub values: Vec<f64>,
    pub stop: StopReason,
}

impl Turns {
    /// No turn, and none that is wanted.
    pub fn none() -> Self {
        Self { values: Vec::new(), stop: StopReason::Labels }
    }
}

/// Weights of the anchors: w_m = sqrt(mean degree / max(degree_m, floor)), or all ones.
pub(crate) fn anchor_weights(graph: &Graph, weights: &[f64], kind: AnchorWeights) -> Vec<f64> {
    match kind {
        AnchorWeights::None => vec![1.0; graph.n_cols],
        AnchorWeights::Degree => {
            let degrees = graph.degrees(weights);
            let mean = degrees.iter().sum::<f64>() / graph.n_cols as f64;
            degrees.iter().map(|d| (mean / d.max(DEGREE_FLOOR * mean)).sqrt()).collect()
        }
    }
}

/// Turns of H and Y until no label changes or the cut gains less than `tol`, from the labels given.
pub(crate) fn cut(
    graph: &Graph,
    anchor_weights: &[f64],
    start: &mut [u32],
    k: usize,
    visits: Visits<'_>,
    (max_iter, tol): (usize, f64),
    context: &Context<'_>,
) -> Result<Turns, Error> {
    let mut turns = Turns::none();
    for iteration in 0..max_iter {
        context.report(Stage::Cut, iteration, max_iter, turns.values.last().copied())?;
        let h = embedding::update(graph, start, visits.weights, anchor_weights, k)?;
        let weighted = embedding::weighted(&h, anchor_weights, k);
        let (moved, value) = labels::update(graph, &weighted, start, k, visits, context)?;
        let last = turns.values.last().copied();
        turns.values.push(value);
        if moved == 0 {
            turns.stop = StopReason::Labels;
            break;
        }
        if last.is_some_and(|last| value - last < tol * last.abs()) {
            turns.stop = StopReason::Objective;
            break;
        }
    }
    Ok(turns)
}
