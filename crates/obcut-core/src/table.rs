//! Rows in the scaled space: what every kernel works on.
//!
//! A [`Table`] is the caller's matrix, a scaling and a choice of rows. Nothing is copied: blocks of
//! rows are scaled into a scratch buffer that stays in cache, and sparse rows are never filled up.
//! With `z` the scaled value of a zero entry, `x' = z + delta` where `delta` is non-zero only at
//! stored entries, so `x'.a = z.a + sum of delta_f a_f`, and likewise for norms and sums.

use std::ops::Range;

use crate::error::Error;
use crate::linalg::gemm::Real;
use crate::linalg::simd::{self, vectorised};
use crate::matrix::{DenseRef, Matrix, Samples};
use crate::parallel::Context;
use crate::random::mix;
use crate::scaling::{Scale, Scaling};

/// Numbers that are copied to lie side by side, at most: beyond, memory matters more.
const LARGEST_COPY: usize = 16_000_000;

/// Buffers of one thread.
#[derive(Default)]
pub struct Scratch {
    /// Scaled rows in single precision.
    pub x32: Vec<f32>,
    /// Products in single precision.
    pub out32: Vec<f32>,
    /// Scaled rows in double precision.
    pub x64: Vec<f64>,
    /// Products in double precision.
    pub out: Vec<f64>,
    /// One scaled row.
    pub row: Vec<f64>,
}

/// Rows of a matrix, scaled when they are read.
#[derive(Clone)]
pub struct Table<'a> {
    pub(crate) samples: Samples<'a>,
    pub(crate) scaling: &'a Scaling,
    /// Rows of the matrix that take part; `None` means all.
    rows: Option<Vec<u32>>,
    /// Scaled value of an entry that is not stored (sparse only), and the sum of their squares.
    pub(crate) zero: Vec<f64>,
    zero_norm: f64,
    /// Whether the rows are used as they lie in memory.
    pub(crate) plain: bool,
}

/// Some rows of a table: a copy, scaled and side by side, of dense ones, a view of sparse ones.
pub enum Gathered<'a> {
    /// A copy of the rows, with its scaling.
    Copy {
        /// The rows.
        matrix: Matrix,
        /// Their scaling.
        scaling: Scaling,
    },
    /// Rows that are read in place.
    View(Table<'a>),
}

impl Gathered<'_> {
    /// The rows as a table.
    pub fn table(&self) -> Result<Table<'_>, Error> {
        Ok(match self {
            Self::Copy { matrix, scaling } => Table::new(matrix.samples()?, scaling),
            Self::View(table) => table.clone(),
        })
    }
}

impl<'a> Table<'a> {
    /// A view of samples that scales them while they are read.
    pub fn new(samples: Samples<'a>, scaling: &'a Scaling) -> Self {
        let zero = if samples.is_sparse() {
            let unit = scaling.kind.is_unit();
            let scaled = |(s, f): (&f64, &f64)| if unit { -s } else { -s * f };
            scaling.shift.iter().zip(&scaling.factor).map(scaled).collect()
        } else {
            Vec::new()
        };
        let zero_norm = simd::dot(&zero, &zero);
        let plain = !samples.is_sparse()
            && scaling.kind == Scale::None
            && scaling.shift.iter().all(|&s| s == 0.0)
            && scaling.factor.iter().all(|&f| f == 1.0);
        Self { samples, scaling, rows: None, zero, zero_norm, plain }
    }

    /// Some of the rows, in the order given, copied side by side when they are dense: what is read many
    /// times should lie side by side.
    pub fn gather(&self, positions: &[u32], context: &Context<'_>) -> Result<Gathered<'a>, Error> {
        let (n_rows, n_cols) = (positions.len(), self.d());
        if n_rows * n_cols > LARGEST_COPY {
            return Ok(Gathered::View(self.subset(positions)));
        }
        let matrix = match &self.samples {
            Samples::Dense32(x) if self.scaling.double => {
                Matrix::Dense64 { values: self.copied(x, positions, context)?, n_rows, n_cols }
            }
            Samples::Dense32(x) => {
                Matrix::Dense32 { values: self.copied(x, positions, context)?, n_rows, n_cols }
            }
            Samples::Dense64(x) => {
                Matrix::Dense64 { values: self.copied(x, positions, context)?, n_rows, n_cols }
            }
            _ => return Ok(Gathered::View(self.subset(positions))),
        };
        Ok(Gathered::Copy { matrix, scaling: Scaling::identity(n_cols) })
    }

    fn copied<T: Real, U: Real>(
        &self,
        x: &DenseRef<'_, T>,
        positions: &[u32],
        context: &Context<'_>,
    ) -> Result<Vec<U>, Error> {
        let (n, d) = (positions.len(), self.d());
        let mut values = vec![U::from_f64(0.0); n * d];
        context.map_into(n, &mut values, d, |range, out| {
            vectorised(
                #[inline(always)]
                || {
                    for (&p, out) in positions[range].iter().zip(out.chunks_exact_mut(d)) {
                        self.load_row(x.row(self.source(p as usize)), out);
                    }
                },
            );
        })?;
        Ok(values)
    }

    /// The same table with some of its rows, in the order given.
    pub fn subset(&self, positions: &[u32]) -> Self {
        let rows = positions.iter().map(|&p| self.source(p as usize) as u32).collect();
        Self { rows: Some(rows), plain: false, ..self.clone() }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.rows.as_ref().map_or(self.samples.n_rows(), Vec::len)
    }

    /// Number of features.
    pub fn d(&self) -> usize {
        self.samples.n_cols()
    }

    /// Columns without entries that the last column of a sparse table stands for, beside itself.
    pub fn n_folded(&self) -> usize {
        self.samples.n_folded()
    }

    /// Whether the rows are stored sparse.
    pub fn is_sparse(&self) -> bool {
        self.samples.is_sparse()
    }

    pub(crate) fn source(&self, i: usize) -> usize {
        self.rows.as_ref().map_or(i, |rows| rows[i] as usize)
    }

    #[inline(always)]
    pub(crate) fn load_row<T: Real, U: Real>(&self, x: &[T], out: &mut [U]) {
        let Scaling { kind, shift, factor, .. } = self.scaling;
        if kind.is_unit() {
            let scaled = |(v, f): (&T, &f64)| v.to_f64() * f;
            let norm = x.iter().zip(factor).map(scaled).map(|v| v * v).sum::<f64>().sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            for (out, (v, s)) in out.iter_mut().zip(x.iter().zip(factor).map(scaled).zip(shift)) {
                *out = U::from_f64(v * inverse - s);
            }
        } else {
            for (out, (v, (s, f))) in out.iter_mut().zip(x.iter().zip(shift.iter().zip(factor))) {
                *out = U::from_f64((v.to_f64() - s) * f);
            }
        }
    }

    /// 1/|x| when rows are scaled to unit length, else 1 (sparse rows).
    pub(crate) fn row_factor(&self, i: usize) -> f64 {
        if !self.scaling.kind.is_unit() {
            return 1.0;
        }
        let mut norm = 0.0;
        self.stored(i, |f, v| norm += (v * self.scaling.factor[f]).powi(2));
        if norm > 0.0 { 1.0 / norm.sqrt() } else { 0.0 }
    }

    /// Visits the stored entries of a sparse row, unscaled.
    pub(crate) fn stored(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
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
    #[inline(always)]
    pub fn row(&self, i: usize, out: &mut [f64]) {
        match &self.samples {
            Samples::Dense32(x) if self.scaling.double => {
                self.load_row(x.row(self.source(i)), out);
            }
            Samples::Dense32(x) => self.load_single(x.row(self.source(i)), out),
            Samples::Dense64(x) => self.load_row(x.row(self.source(i)), out),
            Samples::Sparse32(_) | Samples::Sparse64(_) => {
                out.copy_from_slice(&self.zero);
                self.deltas(i, |f, delta| out[f] += delta);
            }
        }
    }

    /// Rounds to single precision as blocks do, so that a row is one and the same everywhere.
    #[inline(always)]
    fn load_single(&self, x: &[f32], out: &mut [f64]) {
        self.load_row(x, out);
        out.iter_mut().for_each(|v| *v = f64::from(*v as f32));
    }

    /// |x|^2 of the rows of a range.
    pub fn squared_norms(&self, range: Range<usize>, out: &mut [f64]) {
        let mut scratch = Scratch::default();
        vectorised(
            #[inline(always)]
            || {
                for (i, out) in range.zip(out) {
                    *out = self.squared_norm(i, &mut scratch);
                }
            },
        );
    }

    /// |x|^2 of a row.
    #[inline(always)]
    pub fn squared_norm(&self, i: usize, scratch: &mut Scratch) -> f64 {
        if self.is_sparse() {
            self.stored_norm(i)
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            simd::dot(&scratch.row, &scratch.row)
        }
    }

    /// |x|^2 of a sparse row.
    pub fn stored_norm(&self, i: usize) -> f64 {
        let mut norm = self.zero_norm;
        self.deltas(i, |f, delta| norm += delta * (delta + 2.0 * self.zero[f]));
        norm.max(0.0)
    }

    /// [`Self::add_row`] for a sparse row.
    pub fn add_stored(&self, i: usize, weight: f64, out: &mut [f64]) {
        self.deltas(i, |f, delta| out[f] += weight * delta);
    }

    /// `out += weight * x`, for sparse rows without the part that all zeros share: when a sum is
    /// complete, [`Self::finish_sum`] adds that part once.
    pub fn add_row(&self, i: usize, weight: f64, out: &mut [f64], scratch: &mut Scratch) {
        if self.is_sparse() {
            self.add_stored(i, weight, out);
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            simd::axpy(weight, &scratch.row, out);
        }
    }

    /// Completes a weighted sum of rows made by [`Self::add_row`].
    pub fn finish_sum(&self, total_weight: f64, out: &mut [f64]) {
        if self.is_sparse() {
            simd::axpy(total_weight, &self.zero, out);
        }
    }

    /// |x - point|^2, where `shared` is the product of the point with what all zeros share
    /// ([`Self::shared_product`]) and `norm` its own |point|^2.
    pub fn squared_distance(
        &self,
        i: usize,
        point: &[f64],
        (shared, norm): (f64, f64),
        scratch: &mut Scratch,
    ) -> f64 {
        if self.is_sparse() {
            let mut product = shared;
            self.deltas(i, |f, delta| product += delta * point[f]);
            (self.stored_norm(i) - 2.0 * product + norm).max(0.0)
        } else {
            scratch.row.resize(self.d(), 0.0);
            self.row(i, &mut scratch.row);
            simd::squared_distance(&scratch.row, point)
        }
    }

    /// Product of a point with the scaled row of zeros; 0 for dense rows, which share nothing.
    pub fn shared_product(&self, point: &[f64]) -> f64 {
        if self.is_sparse() { simd::dot(&self.zero, point) } else { 0.0 }
    }

    /// A hash of the content of a scaled row: equal rows have equal keys.
    #[inline(always)]
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
            // Eight chains side by side hide the latency of the multiplications.
            let mut chains = [1u64, 2, 3, 4, 5, 6, 7, 8];
            for values in scratch.row.chunks(8) {
                for (chain, v) in chains.iter_mut().zip(values) {
                    *chain = (*chain ^ (v + 0.0).to_bits()).wrapping_mul(0x9fb2_1c65_1e98_df25);
                    *chain ^= *chain >> 32;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BLOCK;
    use crate::matrix::{Csr, CsrRef, Ints};
    use crate::observer::Silent;
    use crate::parallel::Context;
    use crate::random::Stream;

    const KINDS: [Scale; 6] =
        [Scale::MinMax, Scale::Standard, Scale::Robust, Scale::UnitRows, Scale::Idf, Scale::None];

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
                let (mut work, mut out, mut few) = (Vec::new(), Vec::new(), Vec::new());
                let mut sum = vec![0.0; d];
                let mut plain_sum = vec![0.0; d];
                for block in [0..BLOCK, BLOCK..n] {
                    let found = table.block(block.clone(), &points, &mut scratch);
                    let mut nearest = vec![(0, 0.0); block.len()];
                    found.nearest(&mut nearest);
                    for (r, i) in block.enumerate() {
                        let mut x = vec![0.0; d];
                        table.row(i, &mut x);
                        let mut row = Vec::new();
                        found.products(r, 0..m, &mut row);
                        let point = |a: usize| &points.values[a * d..(a + 1) * d];
                        let norm = table.squared_norm(i, &mut other);
                        near(norm, simd::dot(&x, &x));
                        (0..m).for_each(|a| near(row[a], simd::dot(&x, point(a))));
                        let mut order: Vec<u32> = (0..m as u32).collect();
                        let distance = |a: u32| simd::squared_distance(&x, point(a as usize));
                        order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                        assert_eq!(nearest[r].0, order[0]);
                        near(nearest[r].1 + norm, distance(order[0]));
                        found.few_nearest(r, 0..m, 3, &mut few);
                        assert_eq!(few, order[..3]);
                        found.distances(r, &[4, 1], &mut out);
                        near(out[0], distance(4));
                        near(out[1], distance(1));
                        found.local_gram(r, &[0, 5, 2], &mut work, &mut out);
                        for (p, a) in [0, 5, 2].into_iter().enumerate() {
                            for (q, b) in [0, 5, 2].into_iter().enumerate() {
                                let seen: f64 = (0..d)
                                    .map(|f| (point(a)[f] - x[f]) * (point(b)[f] - x[f]))
                                    .sum();
                                near(out[p * 3 + q], seen);
                            }
                        }
                        table.add_row(i, 0.5, &mut sum, &mut other);
                        simd::axpy(0.5, &x, &mut plain_sum);
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
