//! The front door of the library: [`OBCut`] holds parameters and fits rows. The setters of the parameters are made
//! from their table, the fit itself is in `solver`.

use crate::params::Params;
use obcut_core::observer::{Observer, Silent};

/// Clusters rows: parameters with a method for each, then [`OBCut::fit`].
///
/// ```
/// use obcut::{GraphKind, OBCut, synthetic};
///
/// let moons = synthetic::moons(500, 0.05, 1);
/// let fit = OBCut::new(2).graph(GraphKind::Distance).seed(1).fit(&moons.matrix)?;
/// assert_eq!(fit.labels(), fit.model().predict(&moons.matrix)?);
/// # Ok::<(), obcut::Error>(())
/// ```
///
/// Parameters that few people need are fields of [`Params`]:
///
/// ```
/// use obcut::{OBCut, Params};
///
/// let clusterer = OBCut::from(Params { max_iter: 100, ..Params::new(3) }).n_anchors(200);
/// assert_eq!(clusterer.params().n_anchors, Some(200));
/// ```
///
/// Rows may be borrowed from a slice, with weights and a flag that cancels the fit:
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use obcut::{DenseRef, OBCut};
///
/// let values = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2];
/// let cancel = AtomicBool::new(false);
/// let weights = [1.0, 1.0, 2.0, 1.0, 1.0, 1.0];
/// let rows = DenseRef::new(&values, 6, 1)?;
/// let fit = OBCut::new(2).weights(&weights).observer(&cancel).fit(&rows)?;
/// let labels = fit.labels();
/// assert!(labels[0] == labels[2] && labels[0] != labels[3]);
/// # Ok::<(), obcut::Error>(())
/// ```
#[derive(Clone)]
pub struct OBCut<'a> {
    pub(crate) params: Params,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) observer: &'a dyn Observer,
}

impl<'a> OBCut<'a> {
    /// The default parameters.
    pub fn new(n_clusters: usize) -> Self {
        Params::new(n_clusters).into()
    }

    /// The default parameters, with the number of clusters chosen from the data.
    pub fn auto() -> Self {
        Params::auto().into()
    }

    /// The default parameters, with the number of clusters chosen from a range, both ends included.
    pub fn between(low: usize, high: usize) -> Self {
        Params { k_range: Some((low, Some(high))), ..Params::new(low) }.into()
    }

    /// Weights of the rows: an integer means that many copies, 0 that the row is absent.
    pub fn weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Follows the progress of the fit, and may cancel it. An `AtomicBool` cancels when it is true.
    pub fn observer(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }

    /// All parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

impl From<Params> for OBCut<'_> {
    fn from(params: Params) -> Self {
        Self { params, weights: None, observer: &Silent }
    }
}

impl std::fmt::Debug for OBCut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (params, weighted) = (&self.params, self.weights.is_some());
        f.debug_struct("OBCut").field("params", params).field("weighted", &weighted).finish()
    }
}
