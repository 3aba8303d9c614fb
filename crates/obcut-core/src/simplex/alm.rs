//! The augmented Lagrangian method that the paper names for the row problem, with alternating updates.
//!
//! The row is written twice: `p` carries the quadratic on the plane `sum(p) = 1`, `v` lies on the simplex, and
//! `p = v` is what the multiplier `u` and the penalty `rho` see to:
//!
//! ```text
//! p = argmin p'Gp - f'p + rho/2 |p - v + u|^2  on the plane     (G decomposed once for all rows)
//! v = projection of p + u onto the simplex
//! u = u + p - v
//! ```
//!
//! The paper gives no more than the name. In the form that is common for this problem the penalty grows in
//! every step, and the row freezes before it is optimal. Here the penalty follows the residuals of the first
//! [`BALANCED`] steps and is constant afterwards, and the steps end at a gap of [`TOLERANCE`] or after
//! [`STEPS`] of them, which rows over many anchors may use up at a gap of 1e-5. Where
//! several rows are optimal (d < M), it ends at one in between, with more anchors than a corner has.

use super::{Gram, kkt_gap, projection::project};
use crate::linalg::factor::symmetric_eigen;
use crate::linalg::simd::{axpy, dot};

/// Gap, see [`kkt_gap`], at which a row is solved.
const TOLERANCE: f64 = 1e-8;
const STEPS: usize = 5000;
/// Steps between two looks at the gap and the residuals.
const LOOK: usize = 10;
/// Steps in which the penalty may change.
const BALANCED: usize = 1000;
/// Ratio of the residuals from which the penalty changes, and its factor.
const UNBALANCED: f64 = 5.0;
const FACTOR: f64 = 2.0;
/// Over-relaxation of `p`.
const RELAXED: f64 = 1.6;

/// G on the plane of rows that sum to 1, decomposed: what all rows share.
#[derive(Clone, Debug)]
pub struct PlaneGram {
    /// Eigenvectors of the centered G that are not in its null space, one after the other.
    vectors: Vec<f64>,
    /// Their eigenvalues.
    values: Vec<f64>,
    /// Gradient of `b'(G + ridge)b` at the uniform row.
    slope: Vec<f64>,
}

impl PlaneGram {
    /// The decomposition of `gram`; none where it fails.
    pub fn new(gram: &Gram) -> Option<Self> {
        let n = gram.n;
        let means: Vec<f64> = (0..n).map(|m| gram.row(m).iter().sum::<f64>() / n as f64).collect();
        let mean = means.iter().sum::<f64>() / n as f64;
        let centered: Vec<f64> =
            (0..n * n).map(|p| gram.values[p] - means[p / n] - means[p % n] + mean).collect();
        let (values, vectors) = symmetric_eigen(&centered, n).ok()?;
        let floor = n as f64 * f64::EPSILON * values.last().copied().unwrap_or(0.0).max(0.0);
        let kept: Vec<usize> = (0..n).filter(|&e| values[e] > floor).collect();
        Some(Self {
            vectors: kept
                .iter()
                .flat_map(|&e| (0..n).map(move |m| (m, e)))
                .map(|(m, e)| vectors[m * n + e])
                .collect(),
            values: kept.iter().map(|&e| values[e]).collect(),
            slope: means.iter().map(|mean| 2.0 * (mean + gram.ridge / n as f64)).collect(),
        })
    }
}

/// Augmented Lagrangian solver with its workspace.
#[derive(Clone, Debug, Default)]
pub struct AugmentedLagrangian {
    p: Vec<f64>,
    u: Vec<f64>,
    last: Vec<f64>,
    target: Vec<f64>,
    sorted: Vec<f64>,
}

impl AugmentedLagrangian {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces `v`, a row of the simplex, by the solution for the linear term `f`.
    pub fn solve(&mut self, gram: &Gram, plane: &PlaneGram, f: &[f64], v: &mut [f64]) {
        let n = gram.n;
        assert!(n > 0 && f.len() == n && v.len() == n, "f and v have one entry per anchor");
        let mut rho = self.begin(gram, plane, n);
        for step in 1..=STEPS {
            self.last.copy_from_slice(v);
            self.move_p(gram, plane, f, v, rho);
            let mut primal = 0.0;
            for m in 0..n {
                let relaxed = RELAXED * self.p[m] + (1.0 - RELAXED) * self.last[m];
                self.u[m] += relaxed;
            }
            v[..n].copy_from_slice(&self.u[..n]);
            project(v, &mut self.sorted);
            let mut dual = 0.0;
            for m in 0..n {
                self.u[m] -= v[m];
                primal += (self.p[m] - v[m]).powi(2);
                dual += (rho * (v[m] - self.last[m])).powi(2);
            }
            if step % LOOK > 0 {
                continue;
            }
            if kkt_gap(gram, f, v) <= TOLERANCE {
                return;
            }
            if step <= BALANCED {
                rho = self.balance(rho, primal.sqrt(), dual.sqrt() / scale(gram));
            }
        }
    }

    /// Clears the workspace and returns the first penalty: the mean curvature on the plane.
    fn begin(&mut self, gram: &Gram, plane: &PlaneGram, n: usize) -> f64 {
        for buffer in [&mut self.p, &mut self.u, &mut self.last, &mut self.target] {
            buffer.clear();
            buffer.resize(n, 0.0);
        }
        let sum: f64 = plane.values.iter().sum();
        2.0 * (sum / plane.values.len().max(1) as f64 + gram.ridge)
    }

    /// `p` from `v - u`: both parts of the plane, with and without curvature.
    fn move_p(&mut self, gram: &Gram, plane: &PlaneGram, f: &[f64], v: &[f64], rho: f64) {
        let n = gram.n;
        for m in 0..n {
            self.target[m] = f[m] - plane.slope[m] + rho * (v[m] - self.u[m]);
        }
        let mean = self.target.iter().sum::<f64>() / n as f64;
        let flat = 2.0 * gram.ridge + rho;
        for (p, t) in self.p.iter_mut().zip(&self.target) {
            *p = 1.0 / n as f64 + (t - mean) / flat;
        }
        for (vector, value) in plane.vectors.chunks_exact(n).zip(&plane.values) {
            let part = dot(vector, &self.target);
            axpy(part / (2.0 * value + flat) - part / flat, vector, &mut self.p);
        }
    }

    /// The penalty for the next steps; the multiplier itself stays, `u` is in units of the penalty.
    fn balance(&mut self, rho: f64, primal: f64, dual: f64) -> f64 {
        let next = if primal > UNBALANCED * dual {
            rho * FACTOR
        } else if dual > UNBALANCED * primal {
            rho / FACTOR
        } else {
            rho
        };
        self.u.iter_mut().for_each(|u| *u *= rho / next);
        next
    }
}

/// Size of the entries of G, which makes the two residuals comparable.
fn scale(gram: &Gram) -> f64 {
    2.0 * gram.mean_diagonal
}
