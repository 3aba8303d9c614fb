//! True distances between rows, from differences.

use crate::linalg::simd::{squared_distance, vectorised};
use crate::table::Table;

use super::Neighbor;

/// Part of the norms below which a difference of products is all rounding.
const CANCELS: f64 = 1e-10;

/// True distances between rows.
pub struct DistanceMeasure<'t, 'a> {
    table: &'t Table<'a>,
    row: Vec<f64>,
    other: Vec<f64>,
}

impl<'t, 'a> DistanceMeasure<'t, 'a> {
    /// Distances between the rows of a table.
    pub fn new(table: &'t Table<'a>) -> Self {
        Self { table, row: vec![0.0; table.d()], other: vec![0.0; table.d()] }
    }

    /// The squared distance of two rows.
    pub fn squared(&mut self, i: usize, j: usize) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                self.table.row(i, &mut self.row);
                self.table.row(j, &mut self.other);
                squared_distance(&self.row, &self.other)
            },
        )
    }

    /// Turns the candidates of a row into squared distances. Sparse rows, which are long when they
    /// are filled up, are only where products cancel.
    pub(super) fn turn(&mut self, i: usize, list: &mut [Neighbor]) {
        let table = self.table;
        let norm = if table.is_sparse() { table.stored_norm(i) } else { 0.0 };
        let Self { row, other, .. } = self;
        vectorised(
            #[inline(always)]
            || {
                table.row(i, row);
                for (key, j) in list.iter_mut() {
                    let rough = norm + 2.0 * *key;
                    if table.is_sparse() && rough > CANCELS * norm {
                        *key = rough;
                    } else {
                        table.row(*j as usize, other);
                        *key = squared_distance(row, other);
                    }
                }
            },
        );
    }
}
