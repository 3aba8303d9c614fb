//! What a row has seen of the others, and how products are looked through.

use std::cmp::Ordering;

use crate::block::Products;
use crate::linalg::gemm::Real;
use crate::linalg::simd::vectorised;

use super::Neighbor;

/// By distance, then by index.
pub(super) fn order(a: &Neighbor, b: &Neighbor) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Candidates of a row: |a|^2 / 2 - x.a, which orders as the distance does.
pub(super) struct Candidates {
    pub found: Vec<Neighbor>,
    /// No candidate is of use beyond.
    pub bound: f64,
}

impl Candidates {
    pub fn new() -> Self {
        Self { found: Vec::new(), bound: f64::INFINITY }
    }

    pub fn push(&mut self, candidate: Neighbor, kept: usize) {
        self.found.push(candidate);
        if self.found.len() >= 2 * kept {
            self.cut(kept);
            self.bound = self.found[kept - 1].0;
        }
    }

    /// Leaves the first `kept`, whatever the order in which they came.
    pub fn cut(&mut self, kept: usize) {
        if self.found.len() > kept {
            self.found.select_nth_unstable_by(kept - 1, order);
            self.found.truncate(kept);
        }
    }
}

/// Takes in the products of rows with points, whose numbers `id` gives.
pub(super) fn scan<'l>(
    products: &Products<'_>,
    rows: impl Iterator<Item = (u32, &'l mut Candidates)>,
    id: impl Fn(usize) -> u32,
    kept: usize,
) {
    vectorised(
        #[inline(always)]
        || match products {
            Products::Single { values, half_norms, .. } => {
                for (values, (i, list)) in values.chunks_exact(half_norms.len()).zip(rows) {
                    scan_row(values, half_norms, (i, list), &id, kept);
                }
            }
            Products::Double { values, half_norms } => {
                for (values, (i, list)) in values.chunks_exact(half_norms.len()).zip(rows) {
                    scan_row(values, half_norms, (i, list), &id, kept);
                }
            }
        },
    );
}

const LANES: usize = 16;

/// Takes in the products of row `i`.
#[inline(always)]
fn scan_row<T: Real>(
    products: &[T],
    half_norms: &[T],
    (i, list): (u32, &mut Candidates),
    id: &impl Fn(usize) -> u32,
    kept: usize,
) {
    let mut bound = T::from_f64(list.bound);
    for (c, (p, h)) in products.chunks(LANES).zip(half_norms.chunks(LANES)).enumerate() {
        let mut any = false;
        for (p, h) in p.iter().zip(h) {
            any |= *h - *p <= bound;
        }
        if !any {
            continue;
        }
        for (l, (p, h)) in p.iter().zip(h).enumerate() {
            let j = id(c * LANES + l);
            if *h - *p <= bound && j != i {
                list.push(((*h - *p).to_f64(), j), kept);
                bound = T::from_f64(list.bound);
            }
        }
    }
}

/// Takes in the products of rows with points for the lists of both; the rows have no row among the
/// points.
pub(super) fn scan_both<T: Real>(
    products: &[T],
    half_norms: &[T],
    (ids, lists, own): (&[u32], &mut [Candidates], &[f64]),
    (other_ids, other_lists): (&[u32], &mut [Candidates]),
    kept: usize,
) {
    let mut bounds: Vec<T> = other_lists.iter().map(|list| T::from_f64(list.bound)).collect();
    vectorised(
        #[inline(always)]
        || {
            let rows = ids.iter().zip(lists).zip(own);
            for (products, ((&i, list), &own)) in products.chunks_exact(half_norms.len()).zip(rows)
            {
                let (own, mut bound) = (T::from_f64(own), T::from_f64(list.bound));
                for start in (0..products.len()).step_by(LANES) {
                    let range = start..(start + LANES).min(products.len());
                    let (p, h) = (&products[range.clone()], &half_norms[range.clone()]);
                    let mut any = false;
                    for ((p, h), b) in p.iter().zip(h).zip(&bounds[range]) {
                        any |= (*h - *p <= bound) | (own - *p <= *b);
                    }
                    if !any {
                        continue;
                    }
                    for (l, (p, h)) in p.iter().zip(h).enumerate() {
                        let j = start + l;
                        if *h - *p <= bound {
                            list.push(((*h - *p).to_f64(), other_ids[j]), kept);
                            bound = T::from_f64(list.bound);
                        }
                        if own - *p <= bounds[j] {
                            other_lists[j].push(((own - *p).to_f64(), i), kept);
                            bounds[j] = T::from_f64(other_lists[j].bound);
                        }
                    }
                }
            }
        },
    );
}
