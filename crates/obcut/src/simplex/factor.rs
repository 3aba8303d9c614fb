//! Cholesky factor of a support that grows and shrinks by one anchor at a time.
//!
//! Columns of L are contiguous, `stride` apart, each from its diagonal down: the forward
//! substitution, the rotations of a removal and the dot products of the backward substitution all
//! run along columns.

/// Lower triangular L with `L L' = K` for the anchors of the support, in order of entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Factor {
    len: usize,
    stride: usize,
    /// Column j holds rows j..len at `j * stride + j ..`.
    columns: Vec<f64>,
    /// 1 / L_jj.
    inverse: Vec<f64>,
    carry: Vec<f64>,
}

/// A squared pivot below this part of its diagonal is rounding, not information.
const SMALLEST_PIVOT: f64 = 1e-14;

impl Factor {
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.inverse.clear();
    }

    /// Appends an anchor: `x` holds its entries of K against the present support and is replaced by
    /// the new row of L. Returns the new `L_mm`, or nothing when the anchor depends on the others.
    pub(super) fn append(&mut self, x: &mut [f64], diagonal: f64) -> Option<f64> {
        let p = self.len;
        debug_assert_eq!(x.len(), p);
        self.forward(x);
        let squared = diagonal - dot(x, x);
        // Written so that a NaN is refused too.
        if !(squared > SMALLEST_PIVOT * diagonal) {
            return None;
        }
        let pivot = squared.sqrt();
        self.reserve(p + 1);
        for (j, &entry) in x.iter().enumerate() {
            self.columns[j * self.stride + p] = entry;
        }
        self.columns[p * self.stride + p] = pivot;
        self.inverse.push(1.0 / pivot);
        self.len += 1;
        Some(pivot)
    }

    /// Takes out position `k`; `z1` and `z2`, any solutions of `L z = rhs`, follow suit.
    pub(super) fn remove(&mut self, k: usize, z1: &mut Vec<f64>, z2: &mut Vec<f64>) {
        let (p, stride) = (self.len, self.stride);
        for j in 0..k {
            let start = j * stride;
            self.columns
                .copy_within(start + k + 1..start + p, start + k);
        }
        // Column k without its diagonal is carried to the right; each rotation moves the part of it
        // that sticks out of the triangle into the diagonal.
        self.carry.clear();
        self.carry
            .extend_from_slice(&self.columns[k * stride + k + 1..k * stride + p]);
        for j in k..p - 1 {
            let (left, right) = self.columns.split_at_mut((j + 1) * stride);
            let to = &mut left[j * stride + j..j * stride + p - 1];
            let from = &right[j + 1..p];
            let carry = &mut self.carry[j - k..];
            let radius = (carry[0] * carry[0] + from[0] * from[0]).sqrt();
            let inverse = 1.0 / radius;
            let (c, s) = (carry[0] * inverse, from[0] * inverse);
            for ((to, &from), carry) in to.iter_mut().zip(from).zip(carry) {
                *to = c * *carry + s * from;
                *carry = c * from - s * *carry;
            }
            self.inverse[j] = inverse;
            for z in [&mut *z1, &mut *z2] {
                (z[j], z[j + 1]) = (c * z[j] + s * z[j + 1], c * z[j + 1] - s * z[j]);
            }
        }
        self.len = p - 1;
        self.inverse.truncate(p - 1);
        z1.truncate(p - 1);
        z2.truncate(p - 1);
    }

    /// Solves `L x = x` in place.
    pub(super) fn forward(&self, x: &mut [f64]) {
        let p = self.len;
        let x = &mut x[..p];
        for j in 0..p {
            let column = &self.columns[j * self.stride + j + 1..j * self.stride + p];
            let (head, tail) = x.split_at_mut(j + 1);
            let entry = head[j] * self.inverse[j];
            head[j] = entry;
            for (t, l) in tail.iter_mut().zip(column) {
                *t -= entry * l;
            }
        }
    }

    /// Solves `L' x = x` in place.
    pub(super) fn backward(&self, x: &mut [f64]) {
        let p = self.len;
        let x = &mut x[..p];
        for j in (0..p).rev() {
            let column = &self.columns[j * self.stride + j + 1..j * self.stride + p];
            let (head, tail) = x.split_at_mut(j + 1);
            head[j] = (head[j] - dot(column, tail)) * self.inverse[j];
        }
    }

    fn reserve(&mut self, len: usize) {
        if len <= self.stride {
            return;
        }
        // Not a power of two: columns would share cache sets.
        let stride = (2 * self.stride + 8).max(len);
        let mut columns = vec![0.0; stride * stride];
        for j in 0..self.len {
            columns[j * stride + j..j * stride + self.len]
                .copy_from_slice(&self.columns[j * self.stride + j..j * self.stride + self.len]);
        }
        self.columns = columns;
        self.stride = stride;
    }
}

/// Inner product in four fixed lanes: fast, and the same bits everywhere.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    for (a, b) in a4.iter().zip(b4) {
        for l in 0..4 {
            lanes[l] += a[l] * b[l];
        }
    }
    let mut sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    for (a, b) in a1.iter().zip(b1) {
        sum += a * b;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K_ij = min(i, j) + 1 + [i = j], positive definite.
    fn k(i: usize, j: usize) -> f64 {
        (i.min(j) + 1) as f64 + f64::from(u8::from(i == j))
    }

    fn append(factor: &mut Factor, kept: &mut Vec<usize>, m: usize) {
        let mut x: Vec<f64> = kept.iter().map(|&i| k(i, m)).collect();
        factor
            .append(&mut x, k(m, m))
            .expect("K is positive definite");
        kept.push(m);
    }

    #[test]
    fn after_entries_and_exits_the_factor_still_solves_the_support() {
        let mut factor = Factor::default();
        let mut kept = Vec::new();
        let (mut z1, mut z2) = (Vec::new(), Vec::new());
        for m in 0..30 {
            append(&mut factor, &mut kept, m);
        }
        z1.resize(30, 1.0);
        factor.forward(&mut z1);
        z2.extend((0..30).map(f64::from));
        factor.forward(&mut z2);
        for k in [29, 0, 13, 13, 5, 20] {
            factor.remove(k, &mut z1, &mut z2);
            kept.remove(k);
        }
        let x1 = {
            factor.backward(&mut z1);
            z1
        };
        let x2 = {
            factor.backward(&mut z2);
            z2
        };
        for (position, &i) in kept.iter().enumerate() {
            let product =
                |x: &[f64]| -> f64 { kept.iter().zip(x).map(|(&j, x)| k(i, j) * x).sum() };
            assert!((product(&x1) - 1.0).abs() < 1e-12, "position {position}");
            assert!(
                (product(&x2) - i as f64).abs() < 1e-11,
                "position {position}"
            );
        }
    }

    #[test]
    fn a_dependent_anchor_is_refused() {
        let mut factor = Factor::default();
        assert!(factor.append(&mut [], 4.0).is_some());
        assert!(factor.append(&mut [4.0], 4.0).is_none());
        assert!(factor.append(&mut [f64::NAN], 4.0).is_none());
        assert!(factor.append(&mut [0.0], 0.0).is_none());
        assert!(factor.append(&mut [0.0], 1.0).is_some());
    }
}
