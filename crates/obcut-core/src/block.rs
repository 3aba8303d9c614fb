//! A block of rows multiplied with points: where the time goes.
//!
//! Products always have the same shape (short blocks are padded), so that the bits of a row's products do
//! not depend on the rows around it: predict repeats what fit computed. Dense rows of single
//! precision are multiplied in single precision; distances and Gram matrices of the few points that
//! matter to a row are then taken from differences, with sums in double precision.

use std::ops::Range;

use crate::linalg::gemm::Real;
use crate::linalg::simd::{self, vectorised};
use crate::table::Table;

/// Rows in a block.
pub const BLOCK: usize = 128;

/// Points (anchors, centres) made ready for products with the rows of a table.
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

/// Some rows, scaled and at hand.
pub struct Loaded<'s> {
    /// The table that the rows are of.
    pub table: &'s Table<'s>,
    /// The first row.
    pub start: usize,
    /// Their values.
    pub rows: Rows<'s>,
}

/// Scaled rows, BLOCK × d; sparse ones stay where they are.
pub enum Rows<'s> {
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
            Rows::Single(x) => simd::axpy(weight, &x[r * d..(r + 1) * d], out),
            Rows::Double(x) => simd::axpy(weight, &x[r * d..(r + 1) * d], out),
            Rows::Sparse => self.table.add_stored(self.start + r, weight, out),
        }
    }

    /// Squared distances of a dense row to all points, by differences.
    #[inline(always)]
    fn differences(&self, r: usize, points: &Points, out: &mut [f64]) {
        let d = self.table.d();
        match (&self.rows, &points.kernel) {
            (Rows::Single(x), Kernel::Single { values, .. }) => {
                let x = &x[r * d..(r + 1) * d];
                for (out, a) in out.iter_mut().zip(values.chunks_exact(d)) {
                    *out = simd::squared_distance(x, a);
                }
            }
            (Rows::Double(x), _) => {
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
                (Rows::Single(x), Products::Single { points, .. }) => {
                    let x = &x[r * d..(r + 1) * d];
                    for &a in chosen {
                        out.push(simd::squared_distance(x, point(points, a, d)));
                    }
                }
                (Rows::Double(x), _) => {
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
                    (Rows::Single(x), Products::Single { points, .. }) => {
                        differences(&x[r * d..(r + 1) * d], points, chosen, work);
                        small_gram(work, d, out, s);
                    }
                    (Rows::Double(x), _) => {
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
