//! Sparse coefficients of every row on the others, by alternating directions (ADMM).
//!
//! | published      | here                | shape                                    |
//! |----------------|---------------------|------------------------------------------|
//! | Y'             | `x`                 | N × q; q = d, one more in the affine form |
//! | C', Z'         | rows of a `Panel`   | one row of coefficients per sample       |
//! | mu2 / mu1 = mu | `mu`                |                                          |
//! | 1 / mu2        | `tau`               |                                          |
//! | 1 / gamma      | `error`             | 0 without gross errors                   |
//!
//! With u = Z + L/mu2 the next C is u shrunk by tau and the next L/mu2 is u clipped at tau, so that
//! u alone is kept: one matrix instead of five. The step for Z is z = r + (y - r X) (c + X'X)^-1 X'
//! where r = C - L/mu2 and y is the row with its multiplier; c is mu, and mu + error^2 with gross
//! errors, whose block is diagonal. The affine constraint is one more column of X, sqrt(mu) in
//! every row.
//!
//! Nothing here depends on the unit of the data, so they are divided by a power of two first: no
//! square overflows.

use obcut::Error;
use obcut::Stage;
use obcut_core::linalg::factor::{solve_definite, solve_semidefinite};
use obcut_core::linalg::gemm::{add_times, gram, times, times_transposed, transposed_times};
use obcut_core::linalg::simd::{axpy, dot, vectorised};
use obcut_core::parallel::Context;

use super::Variant;

/// Rows that are worked on at a time.
const PANEL: usize = 64;
/// Correlations below this part of the largest squared length are rounding.
const ROUNDING: f64 = 1e-12;

/// The rows, and all that the steps need.
pub(crate) struct AdmmProblem {
    n: usize,
    q: usize,
    variant: Variant,
    x: Vec<f64>,
    /// (c + X'X)^-1 X': q × N.
    right: Vec<f64>,
    c: f64,
    tau: f64,
    error: f64,
}

/// Where some rows stand.
pub(crate) struct Panel {
    start: usize,
    /// u on the samples, rows × N, and on the gross errors, rows × q or empty.
    samples: Vec<f64>,
    errors: Vec<f64>,
    /// Multipliers of the linear constraint over their penalty: one per row (affine), q (outlier)
    /// or none.
    multipliers: Vec<f64>,
    /// Largest |Z - C|, and how far the linear constraint is from holding.
    gap: f64,
    violation: f64,
}

/// Coefficients, and how they were found.
pub(crate) struct Solution {
    panels: Vec<Panel>,
    n: usize,
    tau: f64,
    pub updates: usize,
    pub gap: f64,
    pub violation: f64,
}

impl AdmmProblem {
    /// Rows (N × d), the variant and alpha.
    pub fn new(
        mut x: Vec<f64>,
        n: usize,
        d: usize,
        variant: Variant,
        alpha: f64,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let largest = x.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        if largest > 0.0 {
            let unit = largest.log2().floor().exp2();
            x.iter_mut().for_each(|v| *v /= unit);
        }
        let sum = |row: &[f64]| row.iter().map(|v| v.abs()).sum::<f64>();
        let error = match variant {
            Variant::Outlier => x.chunks_exact(d).map(sum).fold(0.0, f64::max) / alpha,
            Variant::Plain | Variant::Affine => 0.0,
        };
        let mu = least_correlation(&x, n, d, error, context)?;
        let mut q = d;
        if variant == Variant::Affine {
            x = x.chunks_exact(d).flat_map(|row| row.iter().copied().chain([mu.sqrt()])).collect();
            q += 1;
        }
        let c = mu + error * error;
        context.check()?;
        let right = right_factor(&x, n, q, c)?;
        Ok(Self { n, q, variant, x, right, c, tau: 1.0 / alpha, error })
    }

    /// Updates until the gap and the violation are within `tol`, or `max_iter` times.
    pub fn solve(
        &self,
        tol: f64,
        max_iter: usize,
        context: &Context<'_>,
    ) -> Result<Solution, Error> {
        let mut panels: Vec<Panel> =
            (0..self.n).step_by(PANEL).map(|start| self.panel(start)).collect();
        let (mut updates, mut gap, mut violation) = (0, f64::INFINITY, f64::INFINITY);
        while updates < max_iter && (gap > tol || violation > tol) {
            context.report(Stage::Graph, updates, max_iter, None)?;
            context.each_into(&mut panels, 1, |_, piece| {
                piece.iter_mut().for_each(|panel| self.step(panel));
            })?;
            updates += 1;
            gap = panels.iter().map(|p| p.gap).fold(0.0, f64::max);
            violation = panels.iter().map(|p| p.violation).fold(0.0, f64::max);
        }
        Ok(Solution { panels, n: self.n, tau: self.tau, updates, gap, violation })
    }

    /// Nothing explained yet.
    fn panel(&self, start: usize) -> Panel {
        let rows = PANEL.min(self.n - start);
        let (errors, multipliers) = match self.variant {
            Variant::Plain => (0, 0),
            Variant::Affine => (0, 1),
            Variant::Outlier => (self.q, self.q),
        };
        Panel {
            start,
            samples: vec![0.0; rows * self.n],
            errors: vec![0.0; rows * errors],
            multipliers: vec![0.0; rows * multipliers],
            gap: 0.0,
            violation: 0.0,
        }
    }

    /// The rows of X of a panel.
    fn rows(&self, panel: &Panel) -> &[f64] {
        let rows = panel.samples.len() / self.n;
        &self.x[panel.start * self.q..(panel.start + rows) * self.q]
    }

    /// One update: Z, then C, then the multipliers.
    fn step(&self, panel: &mut Panel) {
        let (n, q, rows) = (self.n, self.q, panel.samples.len() / self.n);
        let mut z = reflected(&panel.samples, self.tau);
        let mut explained = vec![0.0; rows * q];
        times(&z, &self.x, &mut explained, (rows, q, n));
        let mut left = self.targets(panel);
        subtract(&mut left, &explained, 1.0);
        if self.variant == Variant::Outlier {
            let mut errors = reflected(&panel.errors, self.tau);
            subtract(&mut left, &errors, self.error);
            add_times(1.0, &left, &self.right, &mut z, (rows, n, q));
            self.step_errors(panel, &mut z, &mut errors, &left, &explained);
            panel.gap = shrink(&mut panel.errors, &errors, self.tau);
        } else {
            add_times(1.0, &left, &self.right, &mut z, (rows, n, q));
            clear_diagonal(&mut z, n, panel.start);
            if self.variant == Variant::Affine {
                balance(panel, &z, n);
            }
            panel.gap = 0.0;
        }
        panel.gap = panel.gap.max(shrink(&mut panel.samples, &z, self.tau));
    }

    /// The rows with their multipliers, which the coefficients are to explain.
    fn targets(&self, panel: &Panel) -> Vec<f64> {
        let mut targets = self.rows(panel).to_vec();
        match self.variant {
            Variant::Plain => {}
            Variant::Affine => {
                for (row, m) in targets.chunks_exact_mut(self.q).zip(&panel.multipliers) {
                    row[self.q - 1] *= 1.0 - m;
                }
            }
            Variant::Outlier => subtract(&mut targets, &panel.multipliers, -1.0),
        }
        targets
    }

    /// The errors' part of Z and the multipliers of Y = PZ, given the samples' part before its
    /// diagonal is cleared.
    fn step_errors(
        &self,
        panel: &mut Panel,
        z: &mut [f64],
        errors: &mut [f64],
        left: &[f64],
        before: &[f64],
    ) {
        let (n, q, rows) = (self.n, self.q, panel.samples.len() / self.n);
        let mut explained = vec![0.0; rows * q];
        times(z, &self.x, &mut explained, (rows, q, n));
        // left (c + X'X)^-1, from what it explains: left (c + X'X)^-1 X'X = left - c left (c +
        // X'X)^-1.
        for p in 0..rows * q {
            errors[p] += self.error * (left[p] - (explained[p] - before[p])) / self.c;
        }
        let own = clear_diagonal(z, n, panel.start);
        panel.violation = 0.0;
        for r in 0..rows {
            let (row, part) = (&self.rows(panel)[r * q..(r + 1) * q], r * q..(r + 1) * q);
            let clean: Vec<f64> =
                row.iter().zip(&errors[part.clone()]).map(|(y, e)| y - self.error * e).collect();
            let mut off = clean.clone();
            subtract(&mut off, &explained[part.clone()], 1.0);
            axpy(own[r], row, &mut off);
            let length = dot(&clean, &clean).sqrt();
            if length > 0.0 {
                panel.violation = panel.violation.max(dot(&off, &off).sqrt() / length);
            }
            subtract(&mut panel.multipliers[part], &off, -1.0);
        }
    }
}

impl Solution {
    /// The coefficients of every row on others, without zeros, by ascending index.
    pub fn coefficients(&self, context: &Context<'_>) -> Result<Vec<Vec<(u32, f64)>>, Error> {
        let parts = context.each(self.panels.len(), |p| {
            let rows = self.panels[p].samples.chunks_exact(self.n);
            rows.map(|row| self.shrunk(row)).collect::<Vec<_>>()
        })?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The entries of a row beyond tau.
    fn shrunk(&self, row: &[f64]) -> Vec<(u32, f64)> {
        let beyond = row.iter().enumerate().filter(|(_, u)| u.abs() > self.tau);
        beyond.map(|(i, u)| (i as u32, u - u.clamp(-self.tau, self.tau))).collect()
    }

    /// Gross errors that are not zero.
    #[cfg(test)]
    pub fn n_errors(&self) -> usize {
        self.panels.iter().map(|p| p.errors.iter().filter(|e| e.abs() > self.tau).count()).sum()
    }
}

/// (c + X'X)^-1 X', by the smaller of the two Gram matrices.
fn right_factor(x: &[f64], n: usize, q: usize, c: f64) -> Result<Vec<f64>, Error> {
    let size = n.min(q);
    let mut matrix = if q <= n {
        let mut moments = vec![0.0; q * q];
        transposed_times(x, x, &mut moments, (q, q, n));
        moments
    } else {
        gram(x, n, q)
    };
    matrix.iter_mut().step_by(size + 1).for_each(|v| *v += c);
    let solve = |side: &[f64], width: usize| {
        solve_definite(&matrix, side, size, width)
            .map_or_else(|| solve_semidefinite(&matrix, side, size, width), Ok)
    };
    if q <= n {
        return solve(&transposed(x, n, q), n);
    }
    // (c + X'X)^-1 X' = X' (c + XX')^-1, and the second factor is symmetric.
    Ok(transposed(&solve(x, q)?, n, q))
}

fn transposed(x: &[f64], n: usize, q: usize) -> Vec<f64> {
    (0..q).flat_map(|f| (0..n).map(move |i| x[i * q + f])).collect()
}

/// The smallest over the rows of the largest |product| with another row, or with an entry of the
/// error block. Rows that are orthogonal to all say nothing about the scale and are left out.
fn least_correlation(
    x: &[f64],
    n: usize,
    d: usize,
    error: f64,
    context: &Context<'_>,
) -> Result<f64, Error> {
    let parts = context.each(n.div_ceil(PANEL), |p| {
        let start = p * PANEL;
        let part = &x[start * d..(start * d + PANEL * d).min(n * d)];
        let rows = part.len() / d;
        let mut products = vec![0.0; rows * n];
        times_transposed(part, x, &mut products, (rows, n, d));
        let lengths = clear_diagonal(&mut products, n, start);
        let most = |values: &[f64]| values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let largest = products.chunks_exact(n).zip(part.chunks_exact(d));
        let largest: Vec<f64> = largest.map(|(p, x)| most(p).max(most(x) * error)).collect();
        (largest, most(&lengths))
    })?;
    let floor = ROUNDING * parts.iter().map(|part| part.1).fold(0.0, f64::max);
    let usable = parts.iter().flat_map(|part| &part.0).filter(|&&v| v > floor);
    let least = usable.fold(f64::INFINITY, |least, &v| least.min(v));
    Ok(if least.is_finite() { least } else { 1.0 })
}

/// Zeroes every row's entry for itself and returns those entries.
fn clear_diagonal(values: &mut [f64], n: usize, start: usize) -> Vec<f64> {
    let rows = values.chunks_exact_mut(n).enumerate();
    rows.map(|(r, row)| std::mem::take(&mut row[start + r])).collect()
}

/// The multipliers of coefficients that must sum to one.
fn balance(panel: &mut Panel, z: &[f64], n: usize) {
    panel.violation = 0.0;
    for (row, m) in z.chunks_exact(n).zip(&mut panel.multipliers) {
        let off = row.iter().sum::<f64>() - 1.0;
        *m += off;
        panel.violation = panel.violation.max(off.abs());
    }
}

/// C - L/mu2: u beyond tau moved back by twice tau, -u within.
fn reflected(u: &[f64], tau: f64) -> Vec<f64> {
    vectorised(
        #[inline(always)]
        || u.iter().map(|u| u - 2.0 * u.clamp(-tau, tau)).collect(),
    )
}

/// The next u from Z, in place; returns the largest |Z - C|.
fn shrink(u: &mut [f64], z: &[f64], tau: f64) -> f64 {
    let mut gap = 0.0;
    vectorised(
        #[inline(always)]
        || {
            for (u, z) in u.iter_mut().zip(z) {
                *u = z + u.clamp(-tau, tau);
                let off = (z - (*u - u.clamp(-tau, tau))).abs();
                gap = if off > gap { off } else { gap };
            }
        },
    );
    gap
}

fn subtract(from: &mut [f64], what: &[f64], factor: f64) {
    from.iter_mut().zip(what).for_each(|(f, w)| *f -= factor * w);
}

#[cfg(test)]
#[path = "admm_tests.rs"]
mod tests;
