//! The row problem of the graph: one small quadratic program on the simplex per sample.
//! Paper Sec. "Update B", Eq. `eq:upP2`.
//!
//! ```text
//! min  b'Gb - f'b + ridge |b|^2     subject to  sum(b) = 1,  b >= 0
//! ```
//!
//! | paper                | here   | shape                         |
//! |----------------------|--------|-------------------------------|
//! | H-hat = A'A          | `gram` | M x M, symmetric, maybe singular |
//! | f = 2A'x + lambda q  | `f`    | M                             |
//! | row of B             | `b`, or `support` and `weights` | M, or a few indices |
//!
//! [`ActiveSet`] solves it exactly and is what the program uses; [`Gradient`] is the authors' early
//! stopping solver, kept to reproduce their figures; [`AugmentedLagrangian`] is the method that the paper
//! names; [`projection`] serves the last two.
//!
//! The minimiser is the same wherever it is unique. It is not unique when d < M and the sample lies inside the hull of the
//! anchors; then [`ActiveSet`] returns a corner of the set of minimisers (few anchors), which corner
//! depending on the warm start. A user ridge well above [`TINY`] times the mean of the diagonal makes
//! the row unique and spread out.

mod active_set;
mod alm;
mod factor;
mod gradient;
pub mod projection;

pub use active_set::ActiveSet;
pub use alm::{AugmentedLagrangian, PlaneGram};
pub use gradient::Gradient;

/// Ridge that is always added, relative to the mean diagonal of G.
///
/// It keeps the factor of a support with duplicated or dependent anchors away from zero pivots
/// (rounding reaches 1e-15 of the diagonal) and stays ten times below the tolerance of the active set,
/// so it never draws further anchors into a row by itself.
pub const TINY: f64 = 1e-10;

/// G with what all rows share, built once per outer iteration.
#[derive(Clone, Debug)]
pub struct Gram {
    n: usize,
    values: Vec<f64>,
    diagonal: Vec<f64>,
    mean_diagonal: f64,
    user_ridge: f64,
    ridge: f64,
}

impl Gram {
    /// Takes the n x n row-major symmetric matrix G and the ridge asked for by the user (0 for none).
    pub fn new(values: Vec<f64>, n: usize, user_ridge: f64) -> Self {
        assert_eq!(values.len(), n * n, "G is n x n");
        let diagonal: Vec<f64> = (0..n).map(|m| values[m * n + m]).collect();
        let mean_diagonal = mean(&diagonal);
        let ridge = user_ridge + tiny_ridge(mean_diagonal);
        Self { n, values, diagonal, mean_diagonal, user_ridge, ridge }
    }

    /// Number of anchors M.
    pub fn n_anchors(&self) -> usize {
        self.n
    }

    /// Ridge on the diagonal: the user's and the tiny one.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Row `m` of G, without ridge.
    pub fn row(&self, m: usize) -> &[f64] {
        &self.values[m * self.n..(m + 1) * self.n]
    }
}

/// Mean of the diagonal; 1 when G vanishes, so that ridges and tolerances stay positive.
fn mean(diagonal: &[f64]) -> f64 {
    let mean = diagonal.iter().sum::<f64>() / diagonal.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

fn tiny_ridge(mean_diagonal: f64) -> f64 {
    TINY * mean_diagonal
}

/// `(G + ridge I) b` for a row given densely.
fn times(gram: &Gram, b: &[f64]) -> Vec<f64> {
    let mut product: Vec<f64> = b.iter().map(|w| gram.ridge * w).collect();
    for (m, &w) in b.iter().enumerate() {
        if w != 0.0 {
            for (p, g) in product.iter_mut().zip(gram.row(m)) {
                *p += w * g;
            }
        }
    }
    product
}

/// The objective `b'Gb - f'b + ridge |b|^2` (tiny ridge included).
pub fn value(gram: &Gram, f: &[f64], b: &[f64]) -> f64 {
    times(gram, b).iter().zip(f).zip(b).map(|((p, f), w)| w * (p - f)).sum()
}

/// How far a feasible `b` is from optimal, free of scale.
///
/// With the gradient `g = 2(G + ridge I)b - f` and its mean `mu = b'g`, an optimal row has `g = mu`
/// where `b > 0` and `g >= mu` elsewhere. The largest violation is divided by the size of the terms
/// that the gradient is made of: the largest `|f|` plus twice the diagonal of G (the mean, or the
/// largest one in use).
pub fn kkt_gap(gram: &Gram, f: &[f64], b: &[f64]) -> f64 {
    let gradient: Vec<f64> = times(gram, b).iter().zip(f).map(|(p, f)| 2.0 * p - f).collect();
    let mu: f64 = gradient.iter().zip(b).map(|(g, w)| g * w).sum();
    let mut violation = 0.0_f64;
    let mut diagonal = gram.mean_diagonal;
    for m in 0..gram.n {
        violation = violation.max(mu - gradient[m]);
        if b[m] > 0.0 {
            violation = violation.max(gradient[m] - mu);
            diagonal = diagonal.max(gram.diagonal[m]);
        }
    }
    let largest = f.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    violation / (largest + 2.0 * diagonal)
}
