//! Made-up data with known classes, for examples, tests and benchmarks.
//!
//! Everything follows from a seed: the same call gives the same bytes on every machine, with any
//! number of threads and, we promise, in every later version. Rows come in random order. Class
//! sizes are even to within one, except for [`mixture`]. A cluster count of 0 is taken as 1, and
//! one above the number of rows as that number. The caller sees to it that the rows fit in memory.

pub(crate) mod mixture;
mod random;
mod shapes;

pub use mixture::mixture;
pub use shapes::{blobs, moons, rings, subspaces};

use crate::Matrix;
use random::{NumberStream, Use};
use rayon::prelude::*;

/// Rows and the class of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The samples, one per row.
    pub matrix: Matrix,
    /// The class of every row, from 0.
    pub labels: Vec<u32>,
}

/// Rows made by one task; any number gives the same values, since every row has its own stream.
const ROWS_PER_TASK: usize = 256;

/// The place of a row in its class.
#[derive(Clone, Copy)]
struct ShapePlace {
    class: usize,
    /// Its number among the rows of the class, from 0.
    rank: usize,
    /// Number of rows of the class.
    size: usize,
}

/// A cluster count that `n` rows can have.
fn possible_clusters(n: usize, n_clusters: usize) -> usize {
    n_clusters.clamp(1, n.max(1))
}

/// Deals `n` rows to classes of even size in random order, and lets `fill` make each.
fn generate(
    n: usize,
    n_features: usize,
    n_classes: usize,
    seed: u64,
    fill: impl Fn(ShapePlace, &mut NumberStream, &mut [f64]) + Sync,
) -> Labelled {
    let mut cards: Vec<usize> = (0..n).collect();
    shuffle(&mut cards, &mut NumberStream::new(seed, Use::Order, 0));
    let place = |card: usize| ShapePlace {
        class: card % n_classes,
        rank: card / n_classes,
        size: n / n_classes + usize::from(card % n_classes < n % n_classes),
    };
    let mut values = vec![0.0; n * n_features];
    if n_features > 0 {
        let rows = values.par_chunks_exact_mut(n_features).with_min_len(ROWS_PER_TASK);
        rows.zip(&cards).enumerate().for_each(|(i, (row, &card))| {
            fill(place(card), &mut NumberStream::new(seed, Use::Row, i), row);
        });
    }
    Labelled {
        matrix: Matrix::Dense64 { values, n_rows: n, n_cols: n_features },
        labels: cards.iter().map(|&card| (card % n_classes) as u32).collect(),
    }
}

/// Fisher-Yates.
fn shuffle(values: &mut [usize], stream: &mut NumberStream) {
    for i in (1..values.len()).rev() {
        values.swap(i, stream.below(i + 1));
    }
}

#[cfg(test)]
mod tests;
