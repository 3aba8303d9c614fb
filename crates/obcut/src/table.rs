//! Rows in the scaled space: what every kernel works on.
//!
//! A [`Table`] is the caller's matrix, a scaling and a choice of rows. Nothing is copied: blocks of
//! rows are scaled into a scratch buffer that stays in cache, and sparse rows are never filled up.
//! With `z` the scaled value of a zero entry, `x' = z + delta` where `delta` is non-zero only at
//! stored entries, so `x'.a = z.a + sum of delta_f a_f`, and likewise for norms and sums.
//!
//! Products of dense blocks always have the same shape (short blocks are padded), so that the bits
//! of a row's products do not depend on the rows around it: predict repeats what fit computed.

use std::ops::Range;

use crate::linalg::gemm::{self, Real};
use crate::matrix::{DenseRef, Samples};
use crate::normalize::Scaling;
use crate::random::mix;
use crate::solver::params::Scale;

/// Rows in a block.
pub(crate) const BLOCK: usize = 128;

/// Rows of a matrix, scaled when they are read.
#[derive(Clone)]
pub(crate) struct Table<'a> {
    samples: Samples<'a>,
    scaling: &'a Scaling,
    /// Rows of the matrix that take part; `None` means all.
    rows: Option<Vec<u32>>,
    /// Scaled value of an entry that is not stored (sparse only), and the sum of their squares.
    zero: Vec<f64>,
    zero_norm: f64,
}

/// Points (anchors, centres) made ready for products with the rows of a table.
pub(crate) struct Points {
    /// M × d, row-major, scaled space.
    pub values: Vec<f64>,
    pub n: usize,
    /// |a|^2 of every point.
    pub norms: Vec<f64>,
    kernel: Kernel,
}

enum Kernel {
    /// Dense f64 rows use `values`.
    Double,
    Single(Vec<f32>),
    /// d × M with the feature's factor multiplied in, and z.a of every point.
    Sparse {
        by_feature: Vec<f64>,
        offset: Vec<f64>,
    },
}

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    x32: Vec<f32>,
    out32: Vec<f32>,
    x64: Vec<f64>,
    out: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> Table<'a> {
    pub fn new(samples: Samples<'a>, scaling: &'a Scaling) -> Self {
        let zero = if samples.is_sparse() {
            let unit = scaling.kind == Scale::UnitRows;
            let scaled = |(s, f): (&f64, &f64)| if unit { -s } else { -s * f };
            scaling.shift.iter().zip(&scaling.factor).map(scaled).collect()
        } else {
            Vec::new()
        };
        let zero_norm = gemm::dot(&zero, &zero);
        Self { samples, scaling, rows: None, zero, zero_norm }
    }

    /// The same table with some of its rows, in the order given.
    pub fn subset(&self, positions: &[u32]) -> Self {
        let rows = positions.iter().map(|&p| self.source(p as usize) as u32).collect();
        Self { rows: Some(rows), ..self.clone() }
    }

    pub fn n(&self) -> usize {
        self.rows.as_ref().map_or(self.samples.n_rows(), Vec::len)
    }

    pub fn d(&self) -> usize {
        self.samples.n_cols()
    }

    pub fn is_sparse(&self) -> bool {
        self.samples.is_sparse()
    }

    fn source(&self, i: usize) -> usize {
        self.rows.as_ref().map_or(i, |rows| rows[i] as usize)
    }

    /// Makes points (M × d) ready for products with the rows.
    pub fn points(&self, values: Vec<f64>) -> Points {
        let d = self.d();
        let n = values.len() / d.max(1);
        let norms = values.chunks_exact(d).map(|a| gemm::dot(a, a)).collect();
        let kernel = match self.samples {
            Samples::Dense32(_) => Kernel::Single(values.iter().map(|&v| v as f32).collect()),
            Samples::Dense64(_) => Kernel::Double,
            Samples::Sparse32(_) | Samples::Sparse64(_) => {
                let mut by_feature = vec![0.0; d * n];
                for (m, a) in values.chunks_exact(d).enumerate() {
                    for f in 0..d {
                        by_feature[f * n + m] = a[f] * self.scaling.factor[f];
                    }
                }
                let offset = values.chunks_exact(d).map(|a| gemm::dot(a, &self.zero)).collect();
                Kernel::Sparse { by_feature, offset }
            }
        };
        Points { values, n, norms, kernel }
    }

    /// x.a for every row of the block (at most [`BLOCK`] rows) and every point: rows × M.
    pub fn products<'s>(
        &self,
        block: Range<usize>,
        points: &Points,
        scratch: &'s mut Scratch,
    ) -> &'s [f64] {
        debug_assert!(block.len() <= BLOCK);
        let (m, d, rows) = (points.n, self.d(), block.len());
        scratch.out.resize(BLOCK * m, 0.0);
        match (&self.samples, &points.kernel) {
            (Samples::Dense32(x), Kernel::Single(a)) => {
                scratch.x32.resize(BLOCK * d, 0.0);
                scratch.out32.resize(BLOCK * m, 0.0);
                self.load_block(x, block, &mut scratch.x32);
                gemm::times_transposed(&scratch.x32, a, &mut scratch.out32, (BLOCK, m, d));
                for (out, v) in scratch.out[..rows * m].iter_mut().zip(&scratch.out32) {
                    *out = f64::from(*v);
                }
            }
            (Samples::Dense64(x), _) => {
                scratch.x64.resize(BLOCK * d, 0.0);
                self.load_block(x, block, &mut scratch.x64);
                gemm::times_transposed(
                    &scratch.x64,
                    &points.values,
                    &mut scratch.out,
                    (BLOCK, m, d),
                );
            }
            (_, Kernel::Sparse { by_feature, offset }) => {
                for (r, i) in block.enumerate() {
                    let out = &mut scratch.out[r * m..(r + 1) * m];
                    out.copy_from_slice(offset);
                    let inverse = self.row_factor(i);
                    self.stored(i, |f, v| {
                        gemm::axpy(v * inverse, &by_feature[f * m..(f + 1) * m], out);
                    });
                }
            }
            _ => unreachable!("points are made by the table they are used with"),
        }
        &scratch.out[..rows * m]
    }

    /// Scales the rows of a block into `out`; rows past the end are zero.
    fn load_block<T: Real>(&self, x: &DenseRef<'_, T>, block: Range<usize>, out: &mut [T]) {
        let d = self.d();
        let rows = block.len();
        for (r, i) in block.enumerate() {
            self.load_row(x.row(self.source(i)), &mut out[r * d..(r + 1) * d]);
        }
        out[rows * d..BLOCK * d].fill(T::from_f64(0.0));
    }

    fn load_row<T: Real, U: Real>(&self, x: &[T], out: &mut [U]) {
        let Scaling { kind, shift, factor } = self.scaling;
        if *kind == Scale::UnitRows {
            let norm = x.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            for (out, (v, s)) in out.iter_mut().zip(x.iter().zip(shift)) {
                *out = U::from_f64(v.to_f64() * inverse - s);
            }
        } else {
            for (out, (v, (s, f))) in out.iter_mut().zip(x.iter().zip(shift.iter().zip(factor))) {
                *out = U::from_f64((v.to_f64() - s) * f);
            }
        }
    }

    /// 1/|x| when rows are scaled to unit length, else 1 (sparse rows).
    fn row_factor(&self, i: usize) -> f64 {
        if self.scaling.kind != Scale::UnitRows {
            return 1.0;
        }
        let mut norm = 0.0;
        self.stored(i, |_, v| norm += v * v);
        if norm > 0.0 { 1.0 / norm.sqrt() } else { 0.0 }
    }

    /// Visits the stored entries of a sparse row, unscaled.
    fn stored(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        let row = self.source(i);
        match &self.samples {
            Samples::Sparse32(x) => x.each(row, |f, v| visit(f, f64::from(v))),
            Samples::Sparse64(x) => x.each(row, visit),
            Samples::Dense32(_) | Samples::Dense64(_) => {}
        }
    }

    /// `delta` of a sparse row: what a stored entry adds to the scaled value of a zero.
    fn deltas(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        let inverse = self.row_factor(i);
        self.stored(i, |f, v| visit(f, v * inverse * self.scaling.factor[f]));
    }

    /// One scaled row in full.
    pub fn row(&self, i: usize, out: &mut [f64]) {
        match &self.samples {
            Samples::Dense32(x) => self.load_single(x.row(self.source(i)), out),
            Samples::Dense64(x) => self.load_row(x.row(self.source(i)), out),
            Samples::Sparse32(_) | Samples::Sparse64(_) => {
                out.copy_from_slice(&self.zero);
                self.deltas(i, |f, delta| out[f] += delta);
            }
        }
    }

    /// Rounds to single precision as blocks do, so that a row is one and the same everywhere.
    fn load_single(&self, x: &[f32], out: &mut [f64]) {
        self.load_row(x, out);
        out.iter_mut().for_each(|v| *v = f64::from(*v as f32));
    }

    /// |x|^2 of a row.
    pub fn squared_norm(&self, i: usize, scratch: &mut Scratch) -> f64 {
        if self.is_sparse() {
            let mut norm = self.zero_norm;
            self.deltas(i, |f, delta| norm += delta * (delta + 2.0 * self.zero[f]));
            norm.max(0.0)
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            gemm::dot(&scratch.row, &scratch.row)
        }
    }

    /// `out += weight * x`, for sparse rows without the part that all zeros share: when a sum is
    /// complete, [`Self::finish_sum`] adds that part once.
    pub fn add_row(&self, i: usize, weight: f64, out: &mut [f64], scratch: &mut Scratch) {
        if self.is_sparse() {
            self.deltas(i, |f, delta| out[f] += weight * delta);
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            gemm::axpy(weight, &scratch.row, out);
        }
    }

    /// Completes a weighted sum of rows made by [`Self::add_row`].
    pub fn finish_sum(&self, total_weight: f64, out: &mut [f64]) {
        if self.is_sparse() {
            gemm::axpy(total_weight, &self.zero, out);
        }
    }

    /// Squared distances of a row to some points. Dense rows compute differences, to full precision;
    /// sparse rows use their `products` and `norm`.
    pub fn distances(
        &self,
        i: usize,
        points: &Points,
        chosen: &[u32],
        (products, norm): (&[f64], f64),
        row: &mut Vec<f64>,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        if self.is_sparse() {
            out.extend(chosen.iter().map(|&m| {
                let m = m as usize;
                (norm - 2.0 * products[m] + points.norms[m]).max(0.0)
            }));
        } else {
            let d = self.d();
            row.resize(d, 0.0);
            self.row(i, row);
            out.extend(chosen.iter().map(|&m| {
                let a = &points.values[m as usize * d..(m as usize + 1) * d];
                squared_distance(row, a)
            }));
        }
    }

    /// The s × s Gram matrix of some points seen from a row: (a - x).(b - x).
    pub fn local_gram(
        &self,
        i: usize,
        points: &Points,
        chosen: &[u32],
        (products, norm): (&[f64], f64),
        work: &mut Vec<f64>,
        out: &mut Vec<f64>,
    ) {
        let (s, d) = (chosen.len(), self.d());
        out.clear();
        out.resize(s * s, 0.0);
        let point = |p: usize| {
            let m = chosen[p] as usize;
            &points.values[m * d..(m + 1) * d]
        };
        if self.is_sparse() {
            for p in 0..s {
                for q in 0..=p {
                    let (a, b) = (chosen[p] as usize, chosen[q] as usize);
                    let dot = gemm::dot(point(p), point(q));
                    out[p * s + q] = dot - products[a] - products[b] + norm;
                }
            }
        } else {
            work.resize((s + 1) * d, 0.0);
            let (x, differences) = work.split_at_mut(d);
            self.row(i, x);
            for p in 0..s {
                let difference = &mut differences[p * d..(p + 1) * d];
                difference
                    .iter_mut()
                    .zip(point(p).iter().zip(&*x))
                    .for_each(|(o, (a, x))| *o = a - x);
            }
            for p in 0..s {
                for q in 0..=p {
                    let (a, b) = (p * d..(p + 1) * d, q * d..(q + 1) * d);
                    out[p * s + q] = gemm::dot(&differences[a], &differences[b]);
                }
            }
        }
        for p in 0..s {
            for q in 0..p {
                out[q * s + p] = out[p * s + q];
            }
        }
    }

    /// A hash of the content of a scaled row: equal rows have equal keys.
    pub fn key(&self, i: usize, scratch: &mut Scratch) -> u64 {
        // Adding 0.0 turns -0.0 into 0.0: they are equal rows.
        if self.is_sparse() {
            let mut key = 0u64;
            self.deltas(i, |f, delta| {
                if delta != 0.0 {
                    key = key.wrapping_add(mix((delta + 0.0).to_bits() ^ mix(f as u64)));
                }
            });
            mix(key)
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            // Four chains side by side hide the latency of the multiplications.
            let mut chains = [1u64, 2, 3, 4];
            for (f, v) in scratch.row.iter().enumerate() {
                let chain = &mut chains[f & 3];
                *chain = (*chain ^ (v + 0.0).to_bits()).wrapping_mul(0x9fb2_1c65_1e98_df25);
                *chain ^= *chain >> 32;
            }
            chains.iter().fold(0, |key, c| mix(key ^ c))
        }
    }

    /// Whether two rows are equal in the scaled space.
    pub fn equal(&self, i: usize, j: usize, scratch: &mut Scratch) -> bool {
        let d = self.d();
        let mut other = vec![0.0; d];
        scratch.row.resize(d, 0.0);
        self.row(i, &mut scratch.row);
        self.row(j, &mut other);
        scratch.row.iter().zip(&other).all(|(a, b)| a == b)
    }
}

/// |a - b|^2 in eight lanes.
pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    for (x, y) in a8.zip(b8) {
        for l in 0..8 {
            lanes[l] += (x[l] - y[l]) * (x[l] - y[l]);
        }
    }
    lanes.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Csr, CsrRef, Ints};
    use crate::observer::Silent;
    use crate::parallel::Context;
    use crate::random::Stream;

    const KINDS: [Scale; 4] = [Scale::MinMax, Scale::Standard, Scale::UnitRows, Scale::None];

    /// Some dense values with zeros, and the same as sparse rows.
    fn data(n: usize, d: usize) -> (Vec<f64>, Csr<f64>) {
        let mut dense = Stream::new(5).values(n * d);
        dense.iter_mut().filter(|v| v.abs() < 0.5).for_each(|v| *v = 0.0);
        let mut sparse = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
        for row in dense.chunks_exact(d) {
            for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                sparse.columns.push(c as i64);
                sparse.values.push(*v);
            }
            sparse.offsets.push(sparse.columns.len() as i64);
        }
        (dense, sparse)
    }

    #[test]
    fn every_kernel_equals_the_plain_formula_on_scaled_rows() {
        let (n, d, m) = (BLOCK + 9, 7, 6);
        let (values, csr) = data(n, d);
        let single: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        let (offsets, columns) = (Ints::I64(&csr.offsets), Ints::I64(&csr.columns));
        let all: [(Samples<'_>, f64); 3] = [
            (DenseRef::new(&values, n, d).unwrap().into(), 1e-12),
            (DenseRef::new(&single, n, d).unwrap().into(), 1e-5),
            (CsrRef::new(offsets, columns, &csr.values, d).unwrap().into(), 1e-12),
        ];
        let context = Context::new(1, &Silent).unwrap();
        for (samples, tolerance) in all {
            for kind in KINDS {
                let scaling = Scaling::fit(&samples, None, kind, &context).unwrap();
                let table = Table::new(samples, &scaling);
                let points = table.points(Stream::new(6).values(m * d));
                let near = |a: f64, b: f64| assert!((a - b).abs() < tolerance, "{kind}: {a} {b}");
                let (mut scratch, mut other) = (Scratch::default(), Scratch::default());
                let (mut work, mut out) = (Vec::new(), Vec::new());
                let mut sum = vec![0.0; d];
                let mut plain_sum = vec![0.0; d];
                for block in [0..BLOCK, BLOCK..n] {
                    let products = table.products(block.clone(), &points, &mut scratch).to_vec();
                    for (r, i) in block.enumerate() {
                        let mut x = vec![0.0; d];
                        table.row(i, &mut x);
                        let row = &products[r * m..(r + 1) * m];
                        let point = |a: usize| &points.values[a * d..(a + 1) * d];
                        let norm = table.squared_norm(i, &mut other);
                        near(norm, gemm::dot(&x, &x));
                        (0..m).for_each(|a| near(row[a], gemm::dot(&x, point(a))));
                        table.distances(i, &points, &[4, 1], (row, norm), &mut work, &mut out);
                        near(out[0], squared_distance(&x, point(4)));
                        near(out[1], squared_distance(&x, point(1)));
                        table.local_gram(i, &points, &[0, 5, 2], (row, norm), &mut work, &mut out);
                        for (p, a) in [0, 5, 2].into_iter().enumerate() {
                            for (q, b) in [0, 5, 2].into_iter().enumerate() {
                                let seen: f64 = (0..d)
                                    .map(|f| (point(a)[f] - x[f]) * (point(b)[f] - x[f]))
                                    .sum();
                                near(out[p * 3 + q], seen);
                            }
                        }
                        table.add_row(i, 0.5, &mut sum, &mut other);
                        gemm::axpy(0.5, &x, &mut plain_sum);
                    }
                }
                table.finish_sum(0.5 * n as f64, &mut sum);
                sum.iter().zip(&plain_sum).for_each(|(a, b)| near(*a, *b));
            }
        }
    }

    #[test]
    fn equal_rows_have_equal_keys_and_others_do_not() {
        let x = [1.0, 0.0, 2.0, 1.0, -0.0, 2.0, 1.0, 2.0, 0.0];
        let scaling = Scaling::identity(3);
        let table = Table::new(DenseRef::new(&x, 3, 3).unwrap().into(), &scaling);
        let mut scratch = Scratch::default();
        let keys: Vec<u64> = (0..3).map(|i| table.key(i, &mut scratch)).collect();
        assert!(keys[0] == keys[1] && keys[0] != keys[2]);
        assert!(table.equal(0, 1, &mut scratch) && !table.equal(0, 2, &mut scratch));
    }
}
