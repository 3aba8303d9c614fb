//! The exact nearest neighbours of all rows.
//!
//! Groups of rows meet all rows, panel by panel, through products; every row keeps a few more
//! candidates than asked for, whose distances are then taken from differences. What is kept of a
//! list is for the caller to say, row by row, so that long lists need not all be in memory at once.

use std::cmp::Ordering;
use std::ops::Range;

use obcut::block::{BLOCK, Points, Products, Scratch};
use obcut::linalg::gemm::Real;
use obcut::linalg::simd::{squared_distance, vectorised};
use obcut::parallel::Context;
use obcut::table::Table;
use obcut::{Error, Graph};

/// Candidates beside those asked for: products round where differences do not.
const SLACK: usize = 16;
/// Rows in a panel at most, and numbers.
const PANEL: usize = 1024;
const PANEL_NUMBERS: usize = 1 << 24;
/// Blocks of rows in a group at least and at most, and the candidates of a group that are aimed at.
const BLOCKS: (usize, usize) = (8, 64);
const CANDIDATES: usize = 1 << 24;
/// Part of the norms below which a difference of products is all rounding.
const CANCELS: f64 = 1e-10;

/// Rows between two questions whether to go on.
const ROWS: usize = 1024;

/// Squared distance and row.
pub(crate) type Neighbor = (f64, u32);

/// Bytes that a search for `count` neighbours holds beside its result.
pub(crate) fn search_bytes(n: usize, d: usize, count: usize) -> f64 {
    let kept = (count + SLACK).min(n) as f64;
    let group = group_len(n, kept as usize) as f64;
    let candidates = (2.0 * kept).min(n as f64) * group * 16.0;
    candidates + group * (PANEL + d) as f64 * 12.0 + 24.0 * (panel_len(d) * d) as f64
}

/// The `count` nearest others of every row, nearest first; ties go to the lower index.
pub(crate) fn nearest(
    table: &Table<'_>,
    count: usize,
    context: &Context<'_>,
) -> Result<Vec<Vec<Neighbor>>, Error> {
    visit(table, count, context, |_, list| list.to_vec())
}

/// What `finish` makes of every row and its `count` nearest others.
pub(crate) fn visit<R: Send>(
    table: &Table<'_>,
    count: usize,
    context: &Context<'_>,
    finish: impl Fn(usize, &[Neighbor]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let n = table.n();
    let count = count.min(n.saturating_sub(1));
    let kept = (count + SLACK).min(n);
    let mut results = Vec::with_capacity(n);
    for start in (0..n).step_by(group_len(n, kept)) {
        let group = start..(start + group_len(n, kept)).min(n);
        let mut blocks: Vec<Search<R>> = group
            .clone()
            .step_by(BLOCK)
            .map(|start| Search::new(start..(start + BLOCK).min(group.end), kept))
            .collect();
        for first in (0..n).step_by(panel_len(table.d())) {
            let panel = first..(first + panel_len(table.d())).min(n);
            let points = points(table, panel.clone(), context)?;
            context.each_into(&mut blocks, 1, |_, block| {
                block.iter_mut().for_each(|block| block.scan(table, &points, first));
            })?;
        }
        context.each_into(&mut blocks, 1, |_, block| {
            block.iter_mut().for_each(|block| block.finish(table, count, &finish));
        })?;
        results.extend(blocks.into_iter().flat_map(|block| block.results));
    }
    Ok(results)
}

/// Rows that are searched for at once.
fn group_len(n: usize, kept: usize) -> usize {
    let each = (2 * kept).min(n).max(1);
    (CANDIDATES / each / BLOCK).clamp(BLOCKS.0, BLOCKS.1) * BLOCK
}

fn panel_len(d: usize) -> usize {
    (PANEL_NUMBERS / d.max(1)).clamp(64, PANEL)
}

fn points(table: &Table<'_>, rows: Range<usize>, context: &Context<'_>) -> Result<Points, Error> {
    let d = table.d();
    let mut values = vec![0.0; rows.len() * d];
    context.map_into(rows.len(), &mut values, d, |range, out| {
        vectorised(
            #[inline(always)]
            || {
                for (i, out) in range.zip(out.chunks_exact_mut(d)) {
                    table.row(rows.start + i, out);
                }
            },
        );
    })?;
    Ok(table.points(values))
}

/// By distance, then by index.
fn order(a: &Neighbor, b: &Neighbor) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Candidates of a row: |a|^2 / 2 - x.a, which orders as the distance does.
struct Candidates {
    found: Vec<Neighbor>,
    /// No candidate is of use from here on.
    bound: f64,
}

impl Candidates {
    fn push(&mut self, candidate: Neighbor, kept: usize) {
        self.found.push(candidate);
        if self.found.len() >= 2 * kept {
            self.found.select_nth_unstable_by(kept - 1, order);
            self.found.truncate(kept);
            self.bound = self.found[kept - 1].0;
        }
    }
}

/// A block of rows and what was found for them.
struct Search<R> {
    rows: Range<usize>,
    /// Candidates that are kept of a row.
    kept: usize,
    lists: Vec<Candidates>,
    scratch: Scratch,
    results: Vec<R>,
}

impl<R> Search<R> {
    fn new(rows: Range<usize>, kept: usize) -> Self {
        let list = |_| Candidates { found: Vec::new(), bound: f64::INFINITY };
        let lists = rows.clone().map(list).collect();
        Self { rows, kept, lists, scratch: Scratch::default(), results: Vec::new() }
    }

    /// Takes in a panel that starts with row `first`.
    fn scan(&mut self, table: &Table<'_>, points: &Points, first: usize) {
        let (m, kept) = (points.n, self.kept);
        let block = table.block(self.rows.clone(), points, &mut self.scratch);
        vectorised(
            #[inline(always)]
            || {
                for (r, (i, list)) in self.rows.clone().zip(&mut self.lists).enumerate() {
                    let range = r * m..(r + 1) * m;
                    match &block.products {
                        Products::Single { values, half_norms, .. } => {
                            scan_row(&values[range], half_norms, list, (i, first, kept));
                        }
                        Products::Double { values, half_norms } => {
                            scan_row(&values[range], half_norms, list, (i, first, kept));
                        }
                    }
                }
            },
        );
    }

    /// Sorts by true distances and hands the lists over.
    fn finish(
        &mut self,
        table: &Table<'_>,
        count: usize,
        finish: &impl Fn(usize, &[Neighbor]) -> R,
    ) {
        self.scratch = Scratch::default();
        let mut measure = Measure::new(table);
        for (i, list) in self.rows.clone().zip(&mut self.lists) {
            let mut found = std::mem::take(&mut list.found);
            if found.len() > self.kept {
                found.select_nth_unstable_by(self.kept - 1, order);
                found.truncate(self.kept);
            }
            measure.turn(i, &mut found);
            found.sort_unstable_by(order);
            found.truncate(count);
            self.results.push(finish(i, &found));
        }
    }
}

/// Takes in the products of row `i` with the rows from `first` on.
#[inline(always)]
fn scan_row<T: Real>(
    products: &[T],
    half_norms: &[T],
    list: &mut Candidates,
    (i, first, kept): (usize, usize, usize),
) {
    const LANES: usize = 16;
    let mut bound = T::from_f64(list.bound);
    for (c, (p, h)) in products.chunks(LANES).zip(half_norms.chunks(LANES)).enumerate() {
        let mut any = false;
        for (p, h) in p.iter().zip(h) {
            any |= *h - *p < bound;
        }
        if !any {
            continue;
        }
        for (l, (p, h)) in p.iter().zip(h).enumerate() {
            let j = first + c * LANES + l;
            if *h - *p < bound && j != i {
                list.push(((*h - *p).to_f64(), j as u32), kept);
                bound = T::from_f64(list.bound);
            }
        }
    }
}

/// True distances between rows.
pub(crate) struct Measure<'t, 'a> {
    table: &'t Table<'a>,
    row: Vec<f64>,
    other: Vec<f64>,
}

impl<'t, 'a> Measure<'t, 'a> {
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
    fn turn(&mut self, i: usize, list: &mut [Neighbor]) {
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

/// The graph with an edge wherever one of two rows lists the other; values are squared distances.
pub(crate) fn union(lists: Vec<Vec<Neighbor>>, context: &Context<'_>) -> Result<Graph, Error> {
    let n = lists.len();
    let mut lengths: Vec<usize> = lists.iter().map(Vec::len).collect();
    lists.iter().flatten().for_each(|entry| lengths[entry.1 as usize] += 1);
    let mut next: Vec<usize> = Vec::with_capacity(n + 1);
    next.push(0);
    lengths.iter().for_each(|length| next.push(next[next.len() - 1] + length));
    let starts = next.clone();
    let mut entries: Vec<(u32, f64)> = vec![(0, 0.0); starts[n]];
    for (i, list) in lists.into_iter().enumerate() {
        if i % ROWS == 0 {
            context.check()?;
        }
        for (squared, j) in list {
            for (from, to) in [(i, j as usize), (j as usize, i)] {
                entries[next[from]] = (to as u32, squared);
                next[from] += 1;
            }
        }
    }
    let mut graph = Graph::empty(n);
    for i in 0..n {
        if i % ROWS == 0 {
            context.check()?;
        }
        let row = &mut entries[starts[i]..starts[i + 1]];
        row.sort_unstable_by_key(|entry| entry.0);
        let mut last = None;
        for &(column, squared) in &*row {
            if last != Some(column) {
                graph.columns.push(column);
                graph.values.push(squared);
            }
            last = Some(column);
        }
        graph.offsets.push(graph.columns.len());
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, with_job};
    use obcut::random::Stream;
    use obcut::{Csr, Matrix, Scale};

    /// Whole numbers, so that there are ties and duplicates, with many zeros.
    fn values(n: usize, d: usize) -> Vec<f64> {
        Stream::new(4).values(n * d).iter().map(|v| (v * 2.0).round()).collect()
    }

    fn plain(values: &[f64], n: usize, d: usize, count: usize) -> Vec<Vec<Neighbor>> {
        let row = |i: usize| &values[i * d..(i + 1) * d];
        let distance = |i: usize, j: usize| -> f64 {
            row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum()
        };
        (0..n)
            .map(|i| {
                let mut all: Vec<Neighbor> =
                    (0..n).filter(|&j| j != i).map(|j| (distance(i, j), j as u32)).collect();
                all.sort_by(order);
                all.truncate(count);
                all
            })
            .collect()
    }

    #[test]
    fn the_search_equals_sorting_all_distances() {
        let (n, d) = (1300, 9);
        let values: Vec<f64> = Stream::new(4).values(n * d);
        let matrix = Matrix::Dense64 { values: values.clone(), n_rows: n, n_cols: d };
        for count in [1, 7, 200, n - 1, 5 * n] {
            let found =
                with_job(&matrix, 2, Scale::None, false, |j| nearest(j.table, count, j.context));
            for (found, plain) in found.iter().zip(plain(&values, n, d, count)) {
                assert!(found.iter().map(|e| e.1).eq(plain.iter().map(|e| e.1)));
                assert!(found.iter().zip(&plain).all(|(a, b)| near(a.0, b.0, 1e-12)));
            }
        }
    }

    #[test]
    fn dense_single_and_sparse_rows_with_duplicates_give_the_same_lists() {
        let (n, d, count) = (700, 4, 12);
        let values = values(n, d);
        let expected = plain(&values, n, d, count);
        let single = values.iter().map(|&v| v as f32).collect();
        let mut csr = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
        for row in values.chunks_exact(d) {
            for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                csr.columns.push(c as i64);
                csr.values.push(*v);
            }
            csr.offsets.push(csr.columns.len() as i64);
        }
        let all = [
            Matrix::Dense64 { values, n_rows: n, n_cols: d },
            Matrix::Dense32 { values: single, n_rows: n, n_cols: d },
            Matrix::Sparse64(csr),
        ];
        for matrix in all {
            let found =
                with_job(&matrix, 2, Scale::None, false, |j| nearest(j.table, count, j.context));
            assert!(found == expected);
        }
    }

    #[test]
    fn a_union_holds_every_edge_both_ways_and_once() {
        let lists = vec![vec![(1.0, 1), (4.0, 2)], vec![(1.0, 0)], vec![(2.0, 1)], vec![]];
        let context = Context::new(1, &obcut::Silent).unwrap();
        let graph = union(lists, &context).unwrap();
        assert_eq!(graph.row(0), (&[1, 2][..], &[1.0, 4.0][..]));
        assert_eq!(graph.row(1), (&[0, 2][..], &[1.0, 2.0][..]));
        assert_eq!(graph.row(2), (&[0, 1][..], &[4.0, 2.0][..]));
        assert!(graph.row(3).0.is_empty());
    }

    #[test]
    fn a_single_row_has_no_neighbours() {
        let matrix = Matrix::Dense64 { values: vec![1.0, 2.0], n_rows: 1, n_cols: 2 };
        let found = with_job(&matrix, 1, Scale::None, true, |j| nearest(j.table, 5, j.context));
        assert_eq!(found, vec![Vec::new()]);
    }
}
