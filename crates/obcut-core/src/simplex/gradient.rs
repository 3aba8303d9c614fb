//! The authors' row solver, kept to reproduce their figures: accelerated projected gradient.
//!
//! From the uniform point, step 0.5, halved up to 20 times within an iteration while the new value
//! exceeds the last one (and left halved afterwards), no restart of the momentum, at most 500
//! iterations. When 20 halvings do not help it leaves with the last accepted row. With momentum the
//! extrapolated point may lie where no step improves on the last row, so this happens often, and
//! the row returned is dense and not optimal. That is a property of their results, not a bug to fix.
//!
//! From the starts of three of the authors' own runs (M = 30 to 40) the rows come out with KKT gaps of
//! 1e-4 in the median and up to 2e-3, 1e-2 and 3e-2, in units of [`super::kkt_gap`].
//!
//! Uncertain: the size of the change below which their program stops; 1e-10 of the value is used.
//! The matrix is taken without the tiny ridge of [`Gram`] (a ridge set by the user does count).

use super::{Gram, projection::project};

const STEPS: usize = 500;
const HALVINGS: usize = 20;
const FIRST_STEP: f64 = 0.5;
const TOLERANCE: f64 = 1e-10;

/// Accelerated projected gradient as in the authors' program, with its workspace.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    /// Current row and G times it.
    now: Vec<f64>,
    g_now: Vec<f64>,
    /// Extrapolated row and G times it.
    ahead: Vec<f64>,
    g_ahead: Vec<f64>,
    /// Candidate row and G times it.
    next: Vec<f64>,
    g_next: Vec<f64>,
    sorted: Vec<f64>,
}

impl Gradient {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the authors' row for the linear term `f` into `b`, whose contents are ignored.
    pub fn solve(&mut self, gram: &Gram, f: &[f64], b: &mut [f64]) {
        let n = gram.n;
        assert!(f.len() == n && b.len() == n, "f and b have one entry per anchor");
        if n == 0 {
            return;
        }
        for buffer in [
            &mut self.now,
            &mut self.g_now,
            &mut self.ahead,
            &mut self.g_ahead,
            &mut self.next,
            &mut self.g_next,
        ] {
            buffer.clear();
            buffer.resize(n, 1.0 / n as f64);
        }
        times(gram, &self.now, &mut self.g_now);
        self.g_ahead.copy_from_slice(&self.g_now);
        let mut last = value(&self.now, &self.g_now, f);
        let mut step = FIRST_STEP;
        let mut t = 1.0_f64;
        for _ in 0..STEPS {
            let mut accepted = None;
            for _ in 0..=HALVINGS {
                for m in 0..n {
                    self.next[m] = self.ahead[m] - step * (2.0 * self.g_ahead[m] - f[m]);
                }
                project(&mut self.next, &mut self.sorted);
                times(gram, &self.next, &mut self.g_next);
                let new = value(&self.next, &self.g_next, f);
                if new <= last {
                    accepted = Some(new);
                    break;
                }
                step *= 0.5;
            }
            let Some(new) = accepted else { break };
            let t_next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            let momentum = (t - 1.0) / t_next;
            for m in 0..n {
                // G is linear: G times the extrapolated row needs no product of its own.
                self.ahead[m] = self.next[m] + momentum * (self.next[m] - self.now[m]);
                self.g_ahead[m] = self.g_next[m] + momentum * (self.g_next[m] - self.g_now[m]);
            }
            std::mem::swap(&mut self.now, &mut self.next);
            std::mem::swap(&mut self.g_now, &mut self.g_next);
            t = t_next;
            let change = last - new;
            last = new;
            if change <= TOLERANCE * new.abs() {
                break;
            }
        }
        b.copy_from_slice(&self.now);
    }
}

fn value(b: &[f64], g_b: &[f64], f: &[f64]) -> f64 {
    b.iter().zip(g_b).zip(f).map(|((b, g), f)| b * (g - f)).sum()
}

/// `(G + user ridge) b`.
fn times(gram: &Gram, b: &[f64], out: &mut [f64]) {
    for (o, &w) in out.iter_mut().zip(b) {
        *o = gram.user_ridge * w;
    }
    for (m, &w) in b.iter().enumerate() {
        if w != 0.0 {
            for (o, g) in out.iter_mut().zip(gram.row(m)) {
                *o += w * g;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplex::kkt_gap;

    #[test]
    fn an_easy_row_is_solved() {
        // Nearest point of the segment between e1 and e2 to (0.7, 0.5): weights 0.6, 0.4.
        let gram = Gram::new(vec![1.0, 0.0, 0.0, 1.0], 2, 0.0);
        let f = [1.4, 1.0];
        let mut b = [0.0; 2];
        Gradient::new().solve(&gram, &f, &mut b);
        assert!((b[0] - 0.6).abs() < 1e-4, "{b:?}");
        assert!(kkt_gap(&gram, &f, &b) < 1e-4);
    }

    #[test]
    fn it_never_ends_above_the_uniform_point_and_ignores_what_b_held() {
        let gram = Gram::new(vec![9.0, 3.0, 1.0, 3.0, 4.0, 1.0, 1.0, 1.0, 7.0], 3, 0.0);
        let f = [3.0, -2.0, 5.0];
        let mut b = [0.0; 3];
        let mut solver = Gradient::new();
        solver.solve(&gram, &f, &mut b);
        let uniform = [1.0 / 3.0; 3];
        assert!(crate::simplex::value(&gram, &f, &b) <= crate::simplex::value(&gram, &f, &uniform));
        let mut again = [f64::NAN; 3];
        solver.solve(&gram, &f, &mut again);
        assert_eq!(b, again);
    }
}
