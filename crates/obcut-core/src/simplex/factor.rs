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

/// Whether a squared pivot can be used; false for NaN.
fn independent(squared: f64, diagonal: f64) -> bool {
    squared > SMALLEST_PIVOT * diagonal
}

impl Factor {
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.inverse.clear();
    }

    /// Appends an anchor: `x` holds its entries of K against the present support and is replaced by
    /// the new row of L. Returns the new `L_mm`, or nothing when the anchor depends on the others.
    #[inline(always)]
    pub(super) fn append(&mut self, x: &mut [f64], diagonal: f64) -> Option<f64> {
        let p = self.len;
        debug_assert_eq!(x.len(), p);
        self.forward(x);
        let squared = diagonal - dot(x, x);
        if !independent(squared, diagonal) {
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

    /// Makes room for `p` anchors and the two right-hand sides of [`Self::factor`].
    pub(super) fn prepare(&mut self, p: usize) {
        self.clear();
        self.reserve(p + 2);
    }

    /// Column `j` from the diagonal down, followed by the two right-hand sides, to be filled.
    #[inline(always)]
    pub(super) fn column(&mut self, j: usize, p: usize) -> &mut [f64] {
        &mut self.columns[j * self.stride + j..j * self.stride + p + 2]
    }

    /// Factors the matrix whose lower half [`Self::column`] was filled with and solves for both
    /// right-hand sides, all columns at once. False when a pivot is too small; then nothing is left.
    #[inline(always)]
    pub(super) fn factor(&mut self, p: usize, z1: &mut Vec<f64>, z2: &mut Vec<f64>) -> bool {
        let stride = self.stride;
        for j in 0..p {
            let (done, rest) = self.columns.split_at_mut(j * stride);
            let column = &mut rest[j..p + 2];
            let diagonal = column[0];
            let mut i = 0;
            while i + 4 <= j {
                let [c0, c1, c2, c3] =
                    [i, i + 1, i + 2, i + 3].map(|i| &done[i * stride + j..i * stride + p + 2]);
                let [l0, l1, l2, l3] = [c0[0], c1[0], c2[0], c3[0]];
                for ((((t, c0), c1), c2), c3) in column.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    *t -= (l0 * c0 + l1 * c1) + (l2 * c2 + l3 * c3);
                }
                i += 4;
            }
            for i in i..j {
                let c = &done[i * stride + j..i * stride + p + 2];
                let l = c[0];
                for (t, c) in column.iter_mut().zip(c) {
                    *t -= l * c;
                }
            }
            let squared = column[0];
            if !independent(squared, diagonal) {
                self.clear();
                return false;
            }
            let pivot = squared.sqrt();
            let inverse = 1.0 / pivot;
            column.iter_mut().for_each(|t| *t *= inverse);
            column[0] = pivot;
            self.inverse.push(inverse);
        }
        self.len = p;
        z1.clear();
        z1.extend((0..p).map(|j| self.columns[j * stride + p]));
        z2.clear();
        z2.extend((0..p).map(|j| self.columns[j * stride + p + 1]));
        true
    }

    /// Takes out position `k`; `z1` and `z2`, any solutions of `L z = rhs`, follow suit.
    #[inline(always)]
    pub(super) fn remove(&mut self, k: usize, z1: &mut Vec<f64>, z2: &mut Vec<f64>) {
        let (p, stride) = (self.len, self.stride);
        for j in 0..k {
            let start = j * stride;
            self.columns.copy_within(start + k + 1..start + p, start + k);
        }
        // Column k without its diagonal is carried to the right; each rotation moves the part of it
        // that sticks out of the triangle into the diagonal.
        self.carry.clear();
        self.carry.extend_from_slice(&self.columns[k * stride + k + 1..k * stride + p]);
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

    /// Solves `L x = x` in place, four columns at a time: the rest of `x` is loaded once for all.
    #[inline(always)]
    pub(super) fn forward(&self, x: &mut [f64]) {
        let p = self.len;
        let x = &mut x[..p];
        let mut j = 0;
        while j + 4 < p {
            let (head, tail) = x.split_at_mut(j + 4);
            let head = &mut head[j..];
            let inverse = &self.inverse[j..j + 4];
            // In registers: a load of what was just stored in parts would stall.
            let [c0, c1, c2, c3] = self.below(j, j);
            let x0 = head[0] * inverse[0];
            let x1 = (head[1] - x0 * c0[1]) * inverse[1];
            let x2 = (head[2] - x0 * c0[2] - x1 * c1[2]) * inverse[2];
            let x3 = (head[3] - x0 * c0[3] - x1 * c1[3] - x2 * c2[3]) * inverse[3];
            head.copy_from_slice(&[x0, x1, x2, x3]);
            let [c0, c1, c2, c3] = [&c0[4..], &c1[4..], &c2[4..], &c3[4..]];
            for ((((t, c0), c1), c2), c3) in tail.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                *t -= (x0 * c0 + x1 * c1) + (x2 * c2 + x3 * c3);
            }
            j += 4;
        }
        for a in j..p {
            x[a] *= self.inverse[a];
            for i in a + 1..p {
                x[i] -= x[a] * self.columns[a * self.stride + i];
            }
        }
    }

    /// Solves `L' x = x` in place, four columns at a time.
    #[inline(always)]
    pub(super) fn backward(&self, x: &mut [f64]) {
        let p = self.len;
        let x = &mut x[..p];
        // The columns that forward() takes one by one come first here.
        let mut j = if p == 0 { 0 } else { (p - 1) / 4 * 4 };
        self.backward_triangle(x, j, p);
        while j > 0 {
            j -= 4;
            let (head, tail) = x.split_at_mut(j + 4);
            let sums = dots(self.below(j, j + 4), tail);
            for (h, sum) in head[j..].iter_mut().zip(sums) {
                *h -= sum;
            }
            self.backward_triangle(x, j, j + 4);
        }
    }

    #[inline(always)]
    fn backward_triangle(&self, x: &mut [f64], from: usize, to: usize) {
        for a in (from..to).rev() {
            let mut sum = x[a];
            for i in a + 1..to {
                sum -= x[i] * self.columns[a * self.stride + i];
            }
            x[a] = sum * self.inverse[a];
        }
    }

    /// Columns `j..j + 4` from row `from` down.
    #[inline(always)]
    fn below(&self, j: usize, from: usize) -> [&[f64]; 4] {
        let (start, count) = (j * self.stride + from, self.len - from);
        [
            &self.columns[start..start + count],
            &self.columns[start + self.stride..][..count],
            &self.columns[start + 2 * self.stride..][..count],
            &self.columns[start + 3 * self.stride..][..count],
        ]
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

/// Inner products of four columns with `x`, each in two fixed lanes.
#[inline(always)]
fn dots(columns: [&[f64]; 4], x: &[f64]) -> [f64; 4] {
    let mut lanes = [[0.0; 2]; 4];
    let columns = columns.map(|c| &c[..x.len()]);
    let (pairs, rest) = x.as_chunks::<2>();
    let [c0, c1, c2, c3] = columns.map(|c| c.as_chunks::<2>().0);
    for ((((x, c0), c1), c2), c3) in pairs.iter().zip(c0).zip(c1).zip(c2).zip(c3) {
        for l in 0..2 {
            lanes[0][l] += c0[l] * x[l];
            lanes[1][l] += c1[l] * x[l];
            lanes[2][l] += c2[l] * x[l];
            lanes[3][l] += c3[l] * x[l];
        }
    }
    let mut sums = lanes.map(|l| l[0] + l[1]);
    if let [last] = rest {
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum += column[x.len() - 1] * last;
        }
    }
    sums
}

/// Inner product in four fixed lanes: fast, and the same bits everywhere.
#[inline(always)]
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
        factor.append(&mut x, k(m, m)).expect("K is positive definite");
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
            assert!((product(&x2) - i as f64).abs() < 1e-11, "position {position}");
        }
    }

    #[test]
    fn factoring_all_at_once_equals_appending_one_by_one() {
        for p in 1..20 {
            let (mut once, mut appended) = (Factor::default(), Factor::default());
            once.prepare(p);
            let mut kept = Vec::new();
            for j in 0..p {
                append(&mut appended, &mut kept, j);
                let column = once.column(j, p);
                for i in j..p {
                    column[i - j] = k(i, j);
                }
                column[p - j] = 1.0;
                column[p - j + 1] = j as f64;
            }
            let (mut z1, mut z2) = (Vec::new(), Vec::new());
            assert!(once.factor(p, &mut z1, &mut z2));
            let mut twin1 = vec![1.0; p];
            let mut twin2: Vec<f64> = (0..p).map(|j| j as f64).collect();
            appended.forward(&mut twin1);
            appended.forward(&mut twin2);
            for j in 0..p {
                assert!((z1[j] - twin1[j]).abs() < 1e-13 && (z2[j] - twin2[j]).abs() < 1e-12);
            }
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
