//! A block of rows multiplied with points: where the time goes.
//!
//! Products always have the same shape (short blocks are padded), so that the bits of a row's products do
//! not depend on the rows around it: predict repeats what fit computed. Dense rows of single
//! precision are multiplied in single precision; distances and Gram matrices of the few points that
//! matter to a row are then taken from differences, with sums in double precision.

use std::ops::Range;

use crate::linalg::gemm;
use crate::linalg::gemm::Real;
use crate::linalg::row::RowProduct;
use crate::linalg::simd::{self, vectorised};
use crate::matrix::{DenseRef, Samples};
pub use crate::table::Scratch;
use crate::table::Table;

/// Rows in a block.
pub const BLOCK: usize = 128;

/// Points (anchors, centers) prepared for products with the rows of a table.
pub struct Points {
    /// M × d, row-major, scaled space.
    pub values: Vec<f64>,
    /// Number of points.
    pub n: usize,
    /// |a|^2 of every point.
    pub norms: Vec<f64>,
    /// The form in which the points are multiplied.
    pub kernel: Kernel,
}

/// What products with the points need, by the kind of rows.
pub enum Kernel {
    /// Dense f64 rows use `values`; |a|^2 / 2.
    Double(Vec<f64>),
    /// Single precision.
    Single {
        /// Points, one after the other.
        values: Vec<f32>,
        /// Half the squared length of every point.
        half_norms: Vec<f32>,
    },
    /// d × M with the feature's factor multiplied in, z.a of every point, and |a|^2 / 2.
    Sparse {
        /// Points by feature, of sparse tables.
        by_feature: Vec<f64>,
        /// The product of every point with a row of zeros.
        offset: Vec<f64>,
        /// Half the squared length of every point.
        half_norms: Vec<f64>,
    },
}

/// Some rows, scaled.
pub struct Loaded<'s> {
    /// The table that the rows are of.
    pub table: &'s Table<'s>,
    /// The first row.
    pub start: usize,
    /// Their values.
    pub rows: LoadedRows<'s>,
}

/// Scaled rows, BLOCK × d; sparse ones stay where they are.
pub enum LoadedRows<'s> {
    /// Dense, in single precision.
    Single(&'s [f32]),
    /// Dense, in double precision.
    Double(&'s [f64]),
    /// Sparse: read from the table.
    Sparse,
}

/// Rows and their products with points.
pub struct Block<'s> {
    /// The rows.
    pub loaded: Loaded<'s>,
    /// The points.
    pub points: &'s Points,
    /// What is known of their products.
    pub products: Products<'s>,
}

/// Products, BLOCK × M.
pub enum Products<'s> {
    /// Single precision: the products are computed when they are needed.
    Single {
        /// The rows.
        values: &'s [f32],
        /// The points.
        points: &'s [f32],
        /// Half the squared length of every point.
        half_norms: &'s [f32],
    },
    /// Double precision.
    Double {
        /// Products, a row for every row.
        values: &'s [f64],
        /// Half the squared length of every point.
        half_norms: &'s [f64],
    },
}

impl Table<'_> {
    /// Makes points (M × d) ready for products with the rows.
    pub fn points(&self, values: Vec<f64>) -> Points {
        let d = self.d();
        let n = values.len() / d.max(1);
        let norms: Vec<f64> = values.chunks_exact(d).map(|a| simd::dot(a, a)).collect();
        let kernel = match self.samples {
            Samples::Dense32(_) if !self.scaling.double => Kernel::Single {
                values: values.iter().map(|&v| v as f32).collect(),
                half_norms: norms.iter().map(|&v| (0.5 * v) as f32).collect(),
            },
            Samples::Dense32(_) | Samples::Dense64(_) => {
                Kernel::Double(norms.iter().map(|v| 0.5 * v).collect())
            }
            Samples::Sparse32(_) | Samples::Sparse64(_) => {
                let mut by_feature = vec![0.0; d * n];
                for (m, a) in values.chunks_exact(d).enumerate() {
                    for f in 0..d {
                        by_feature[f * n + m] = a[f] * self.scaling.factor[f];
                    }
                }
                let offset = values.chunks_exact(d).map(|a| simd::dot(a, &self.zero)).collect();
                let half_norms = norms.iter().map(|v| 0.5 * v).collect();
                Kernel::Sparse { by_feature, offset, half_norms }
            }
        };
        Points { values, n, norms, kernel }
    }

    /// The rows of a block (at most [`BLOCK`]).
    pub fn load<'s>(&'s self, block: Range<usize>, scratch: &'s mut Scratch) -> Loaded<'s> {
        let start = block.start;
        let rows = match &self.samples {
            Samples::Dense32(x) if self.scaling.double => {
                LoadedRows::Double(self.fill_block(x, block, &mut scratch.x64))
            }
            Samples::Dense32(x) => LoadedRows::Single(self.load_block(x, block, &mut scratch.x32)),
            Samples::Dense64(x) => LoadedRows::Double(self.load_block(x, block, &mut scratch.x64)),
            _ => LoadedRows::Sparse,
        };
        Loaded { table: self, start, rows }
    }

    /// The rows of a block (at most [`BLOCK`]) and their products with points.
    pub fn block<'s>(
        &'s self,
        block: Range<usize>,
        points: &'s Points,
        scratch: &'s mut Scratch,
    ) -> Block<'s> {
        debug_assert!(block.len() <= BLOCK);
        let (m, d, start) = (points.n, self.d(), block.start);
        let Scratch { x32, out32, x64, out, .. } = scratch;
        let (rows, products) = match (&self.samples, &points.kernel) {
            (Samples::Dense32(x), Kernel::Single { values, half_norms }) => {
                out32.resize(BLOCK * m, 0.0);
                let x = self.load_block(x, block, x32);
                gemm::times_transposed(x, values, out32, (BLOCK, m, d));
                (
                    LoadedRows::Single(x),
                    Products::Single { values: out32, points: values, half_norms },
                )
            }
            (Samples::Dense32(_) | Samples::Dense64(_), Kernel::Double(half_norms)) => {
                out.resize(BLOCK * m, 0.0);
                let x = match &self.samples {
                    Samples::Dense32(x) => self.fill_block(x, block, x64),
                    Samples::Dense64(x) => self.load_block(x, block, x64),
                    _ => unreachable!("the rows are dense"),
                };
                gemm::times_transposed(x, &points.values, out, (BLOCK, m, d));
                (LoadedRows::Double(x), Products::Double { values: out, half_norms })
            }
            (_, Kernel::Sparse { by_feature, offset, half_norms }) => {
                out.resize(BLOCK * m, 0.0);
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, out) in block.zip(out.chunks_exact_mut(m)) {
                            out.copy_from_slice(offset);
                            let inverse = self.row_factor(i);
                            self.stored(i, |f, v| {
                                simd::axpy(v * inverse, &by_feature[f * m..(f + 1) * m], out);
                            });
                        }
                    },
                );
                (LoadedRows::Sparse, Products::Double { values: out, half_norms })
            }
            _ => unreachable!("points are made by the table they are used with"),
        };
        Block { loaded: Loaded { table: self, start, rows }, points, products }
    }

    /// The first row of a dense table as a block of its own, with the bits that it has in any block.
    pub fn single_row<'s>(
        &'s self,
        points: &'s Points,
        product: &RowProduct,
        scratch: &'s mut Scratch,
    ) -> Block<'s> {
        let Kernel::Double(half_norms) = &points.kernel else {
            unreachable!("single rows are dense and of double precision")
        };
        let Scratch { x64, out, .. } = scratch;
        x64.resize(self.d(), 0.0);
        out.resize(points.n, 0.0);
        self.row(0, x64);
        product.times(x64, out);
        let products = Products::Double { values: out, half_norms };
        let loaded = Loaded { table: self, start: 0, rows: LoadedRows::Double(x64) };
        Block { loaded, points, products }
    }

    /// The scaled rows of a block, as they lie in memory or in the buffer; rows past the end are zero.
    fn load_block<'s, T: Real>(
        &self,
        x: &DenseRef<'s, T>,
        block: Range<usize>,
        buffer: &'s mut Vec<T>,
    ) -> &'s [T] {
        match self.lies_ready(x, &block) {
            Some(rows) => rows,
            None => self.fill_block(x, block, buffer),
        }
    }

    /// The scaled rows of a block in the buffer; rows past the end are zero.
    fn fill_block<'s, T: Real, U: Real>(
        &self,
        x: &DenseRef<'_, T>,
        block: Range<usize>,
        buffer: &'s mut Vec<U>,
    ) -> &'s [U] {
        let d = self.d();
        buffer.resize(BLOCK * d, U::from_f64(0.0));
        let rows = block.len();
        vectorised(
            #[inline(always)]
            || {
                for (r, i) in block.enumerate() {
                    self.load_row(x.row(self.source(i)), &mut buffer[r * d..(r + 1) * d]);
                }
            },
        );
        buffer[rows * d..BLOCK * d].fill(U::from_f64(0.0));
        buffer
    }

    /// The rows of a block when they can be used in place.
    fn lies_ready<'s, T: Real>(
        &self,
        x: &DenseRef<'s, T>,
        block: &Range<usize>,
    ) -> Option<&'s [T]> {
        let d = self.d();
        (self.plain && block.len() == BLOCK).then(|| &x.values()[block.start * d..block.end * d])
    }
}

/// The squared distances of some rows of a block, counted from its start, to all of a few points, as
/// [`Block::distances`] takes them, but without products where these are of no use.
pub fn few_distances(
    table: &Table<'_>,
    block: Range<usize>,
    chosen: impl Iterator<Item = usize>,
    points: &Points,
    scratch: &mut Scratch,
    mut visit: impl FnMut(usize, &[f64]),
) {
    let mut distances = vec![0.0; points.n];
    if table.is_sparse() {
        let all: Vec<u32> = (0..points.n as u32).collect();
        let products = table.block(block, points, scratch);
        for r in chosen {
            products.distances(r, &all, &mut distances);
            visit(r, &distances);
        }
        return;
    }
    let loaded = table.load(block, scratch);
    vectorised(
        #[inline(always)]
        || {
            for r in chosen {
                loaded.differences(r, points, &mut distances);
                visit(r, &distances);
            }
        },
    );
}

impl Loaded<'_> {
    /// `out += weight * x` of one row, as [`Table::add_row`] does.
    #[inline(always)]
    fn add(&self, r: usize, weight: f64, out: &mut [f64]) {
        let d = self.table.d();
        match &self.rows {
            LoadedRows::Single(x) => simd::axpy(weight, &x[r * d..(r + 1) * d], out),
            LoadedRows::Double(x) => simd::axpy(weight, &x[r * d..(r + 1) * d], out),
            LoadedRows::Sparse => self.table.add_stored(self.start + r, weight, out),
        }
    }

    /// Squared distances of a dense row to all points, by differences.
    #[inline(always)]
    fn differences(&self, r: usize, points: &Points, out: &mut [f64]) {
        let d = self.table.d();
        match (&self.rows, &points.kernel) {
            (LoadedRows::Single(x), Kernel::Single { values, .. }) => {
                let x = &x[r * d..(r + 1) * d];
                for (out, a) in out.iter_mut().zip(values.chunks_exact(d)) {
                    *out = simd::squared_distance(x, a);
                }
            }
            (LoadedRows::Double(x), _) => {
                let x = &x[r * d..(r + 1) * d];
                for (out, a) in out.iter_mut().zip(points.values.chunks_exact(d)) {
                    *out = simd::squared_distance(x, a);
                }
            }
            _ => unreachable!("only dense rows have differences"),
        }
    }

    /// Adds the rows, with the weights given, to the sums (M × d) of the points they are linked to.
    pub fn add_links<'g>(
        &self,
        links: impl Iterator<Item = ((&'g [u32], &'g [f64]), f64)>,
        sums: &mut [f64],
    ) {
        let d = self.table.d();
        vectorised(
            #[inline(always)]
            || {
                for (r, ((columns, values), w)) in links.enumerate() {
                    for (&a, &v) in columns.iter().zip(values) {
                        self.add(r, v * w, &mut sums[a as usize * d..(a as usize + 1) * d]);
                    }
                }
            },
        );
    }

    /// Adds the rows to the sums (M × d) of their nearest points.
    pub fn add_to(&self, nearest: &[(u32, f64)], weights: &[f64], sums: &mut [f64]) {
        let d = self.table.d();
        vectorised(
            #[inline(always)]
            || {
                for (r, (near, &w)) in nearest.iter().zip(weights).enumerate() {
                    self.add(r, w, &mut sums[near.0 as usize * d..(near.0 as usize + 1) * d]);
                }
            },
        );
    }
}

impl Block<'_> {
    fn d(&self) -> usize {
        self.loaded.table.d()
    }

    /// x.a of one row and some points.
    pub fn products(&self, r: usize, points: Range<usize>, out: &mut Vec<f64>) {
        let m = self.points.n;
        let range = r * m + points.start..r * m + points.end;
        out.resize(points.len(), 0.0);
        vectorised(
            #[inline(always)]
            || match &self.products {
                Products::Single { values, .. } => {
                    out.iter_mut().zip(&values[range]).for_each(|(o, &v)| *o = f64::from(v));
                }
                Products::Double { values, .. } => out.copy_from_slice(&values[range]),
            },
        );
    }

    /// The nearest point of every row with |a|^2 - 2 x.a; ties go to the lower index.
    pub fn nearest(&self, out: &mut [(u32, f64)]) {
        let m = self.points.n;
        vectorised(
            #[inline(always)]
            || {
                for (r, out) in out.iter_mut().enumerate() {
                    let range = r * m..(r + 1) * m;
                    let (j, product) = match &self.products {
                        Products::Single { values, half_norms, .. } => {
                            let j = simd::largest_difference(&values[range.clone()], half_norms);
                            (j, f64::from(values[range.start + j]))
                        }
                        Products::Double { values, half_norms } => {
                            let j = simd::largest_difference(&values[range.clone()], half_norms);
                            (j, values[range.start + j])
                        }
                    };
                    *out = (j as u32, self.points.norms[j] - 2.0 * product);
                }
            },
        );
    }

    /// The `count` nearest of some points to a row, nearest first; ties go to the lower index.
    pub fn few_nearest(&self, r: usize, points: Range<usize>, count: usize, out: &mut Vec<u32>) {
        let m = self.points.n;
        let range = r * m + points.start..r * m + points.end;
        out.clear();
        vectorised(
            #[inline(always)]
            || match &self.products {
                Products::Single { values, half_norms, .. } => {
                    let half_norms = &half_norms[points.clone()];
                    simd::few_largest(&values[range], half_norms, count, out);
                }
                Products::Double { values, half_norms } => {
                    let half_norms = &half_norms[points.clone()];
                    simd::few_largest(&values[range], half_norms, count, out);
                }
            },
        );
        out.iter_mut().for_each(|m| *m += points.start as u32);
    }

    /// Squared distances of a row to some points: of dense rows by differences, of sparse ones from
    /// norms and products.
    pub fn distances(&self, r: usize, chosen: &[u32], out: &mut Vec<f64>) {
        let (m, d) = (self.points.n, self.d());
        out.clear();
        vectorised(
            #[inline(always)]
            || match (&self.loaded.rows, &self.products) {
                (LoadedRows::Single(x), Products::Single { points, .. }) => {
                    let x = &x[r * d..(r + 1) * d];
                    for &a in chosen {
                        out.push(simd::squared_distance(x, point(points, a, d)));
                    }
                }
                (LoadedRows::Double(x), _) => {
                    let x = &x[r * d..(r + 1) * d];
                    for &a in chosen {
                        out.push(simd::squared_distance(x, point(&self.points.values, a, d)));
                    }
                }
                (_, Products::Double { values, .. }) => {
                    let norm = self.loaded.table.stored_norm(self.loaded.start + r);
                    for &a in chosen {
                        let product = values[r * m + a as usize];
                        out.push((norm - 2.0 * product + self.points.norms[a as usize]).max(0.0));
                    }
                }
                _ => unreachable!("products are of the kind of the rows"),
            },
        );
    }

    /// The s × s Gram matrix of some points seen from a row: (a - x).(b - x).
    pub fn local_gram(&self, r: usize, chosen: &[u32], work: &mut Vec<f64>, out: &mut Vec<f64>) {
        let (m, d, s) = (self.points.n, self.d(), chosen.len());
        out.clear();
        out.resize(s * s, 0.0);
        work.resize(s * d, 0.0);
        let all = &self.points.values;
        vectorised(
            #[inline(always)]
            || {
                match (&self.loaded.rows, &self.products) {
                    (LoadedRows::Single(x), Products::Single { points, .. }) => {
                        differences(&x[r * d..(r + 1) * d], points, chosen, work);
                        small_gram(work, d, out, s);
                    }
                    (LoadedRows::Double(x), _) => {
                        differences(&x[r * d..(r + 1) * d], all, chosen, work);
                        small_gram(work, d, out, s);
                    }
                    (_, Products::Double { values, .. }) => {
                        let norm = self.loaded.table.stored_norm(self.loaded.start + r);
                        let product = |a: u32| values[r * m + a as usize];
                        for (p, &a) in chosen.iter().enumerate() {
                            for (q, &b) in chosen[..=p].iter().enumerate() {
                                let dot = simd::dot(point(all, a, d), point(all, b, d));
                                out[p * s + q] = dot - product(a) - product(b) + norm;
                            }
                        }
                    }
                    _ => unreachable!("products are of the kind of the rows"),
                }
                for p in 0..s {
                    for q in 0..p {
                        out[q * s + p] = out[p * s + q];
                    }
                }
            },
        );
    }
}

#[inline(always)]
fn point<T>(points: &[T], a: u32, d: usize) -> &[T] {
    &points[a as usize * d..(a as usize + 1) * d]
}

#[inline(always)]
fn differences<T: Real>(x: &[T], points: &[T], chosen: &[u32], out: &mut [f64]) {
    let d = x.len();
    for (out, &a) in out.chunks_exact_mut(d).zip(chosen) {
        for ((out, a), x) in out.iter_mut().zip(point(points, a, d)).zip(x) {
            *out = a.to_f64() - x.to_f64();
        }
    }
}

#[inline(always)]
fn small_gram(rows: &[f64], d: usize, out: &mut [f64], s: usize) {
    for p in 0..s {
        for q in 0..=p {
            out[p * s + q] = simd::dot(&rows[p * d..(p + 1) * d], &rows[q * d..(q + 1) * d]);
        }
    }
}
