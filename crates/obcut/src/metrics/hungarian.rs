//! Maximum-weight matching of clusters and classes: the Hungarian method by shortest augmenting
//! paths (Jonker and Volgenant 1987), on the non-empty cells only.
//!
//! Prices `row_price[i] + col_price[j] >= count[i, j]`, all 0 or more, bound every matching from
//! above; cells where they meet are *tight*. Rows enter one at a time: the shortest path in
//! `slack = row_price + col_price - count` from the new row to a free column, or to a row that is
//! cheapest to leave unmatched, is flipped, and prices move so that matched cells stay tight.
//! Leaving a row unmatched takes the place of padding the table to a square: with R rows, C
//! columns and E cells it needs O(E) memory and O(R E log C) time at worst. Counts are integers,
//! so the optimum is exact.

use super::contingency::CountCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The column of every row under the matching that covers most; `None` for a row left over.
///
/// `cells` must be in row order, with `row < n_rows` and `col < n_cols`.
pub(super) fn matching(n_rows: usize, n_cols: usize, cells: &[CountCell]) -> Vec<Option<usize>> {
    let mut solver = HungarianSolver::new(n_rows, n_cols, cells);
    for row in 0..n_rows {
        solver.enter(row);
    }
    solver.row_match
}

struct HungarianSolver<'a> {
    cells: &'a [CountCell],
    /// Cells of row i are `cells[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    // i128 holds every sum of two u64 counts.
    row_price: Vec<i128>,
    col_price: Vec<i128>,
    row_match: Vec<Option<usize>>,
    col_match: Vec<Option<usize>>,
    search: PathSearch,
}

/// Scratch of one shortest-path search; only what was touched is cleared.
struct PathSearch {
    distance: Vec<i128>,
    came_from: Vec<usize>,
    touched: Vec<usize>,
    /// Matched columns that were settled, in order.
    settled: Vec<usize>,
    /// (distance, whether it is matched, column): of columns equally near a free one comes first,
    /// without which chains of equal counts are walked to their end for every row.
    heap: BinaryHeap<Reverse<(i128, bool, usize)>>,
}

/// Where a path ends.
#[derive(Clone, Copy)]
enum End {
    FreeColumn(usize),
    UnmatchedRow(usize),
}

const UNREACHED: i128 = i128::MAX;

impl<'a> HungarianSolver<'a> {
    fn new(n_rows: usize, n_cols: usize, cells: &'a [CountCell]) -> Self {
        let mut row_price = vec![0; n_rows];
        let mut starts = vec![0; n_rows + 1];
        for cell in cells {
            row_price[cell.row] = i128::from(cell.count).max(row_price[cell.row]);
            starts[cell.row + 1] += 1;
        }
        for row in 0..n_rows {
            starts[row + 1] += starts[row];
        }
        Self {
            cells,
            starts,
            row_price,
            col_price: vec![0; n_cols],
            row_match: vec![None; n_rows],
            col_match: vec![None; n_cols],
            search: PathSearch {
                distance: vec![UNREACHED; n_cols],
                came_from: vec![0; n_cols],
                touched: Vec::new(),
                settled: Vec::new(),
                heap: BinaryHeap::new(),
            },
        }
    }

    /// Brings one more row into the matching.
    fn enter(&mut self, row: usize) {
        let (length, end) = self.shortest_path(row);
        self.move_prices(row, length);
        self.flip(row, end);
        self.search.clear();
    }

    /// The length and end of the shortest path from `root`.
    fn shortest_path(&mut self, root: usize) -> (i128, End) {
        // Leaving the new row itself unmatched is always possible.
        let mut best = (self.row_price[root], End::UnmatchedRow(root));
        self.relax(root, 0, best.0);
        while let Some(Reverse((distance, _, col))) = self.search.heap.pop() {
            if distance > self.search.distance[col] {
                continue; // a shorter way to this column was found meanwhile
            }
            if distance >= best.0 {
                break;
            }
            let Some(row) = self.col_match[col] else {
                return (distance, End::FreeColumn(col));
            };
            self.search.settled.push(col);
            // A matched cell is tight, so its row is as near as its column.
            let leave = distance + self.row_price[row];
            if leave < best.0 {
                best = (leave, End::UnmatchedRow(row));
            }
            self.relax(row, distance, best.0);
        }
        best
    }

    /// Offers the columns of `row`, itself at `distance`, if they are nearer than `limit`.
    fn relax(&mut self, row: usize, distance: i128, limit: i128) {
        let search = &mut self.search;
        for cell in &self.cells[self.starts[row]..self.starts[row + 1]] {
            let slack = self.row_price[row] + self.col_price[cell.col] - i128::from(cell.count);
            let through = distance + slack;
            let known = &mut search.distance[cell.col];
            if through >= limit || through >= *known {
                continue;
            }
            if *known == UNREACHED {
                search.touched.push(cell.col);
            }
            *known = through;
            search.came_from[cell.col] = row;
            let matched = self.col_match[cell.col].is_some();
            search.heap.push(Reverse((through, matched, cell.col)));
        }
    }

    /// Makes the path tight: rows get cheaper and columns dearer by what they are nearer than it.
    fn move_prices(&mut self, root: usize, length: i128) {
        self.row_price[root] -= length;
        for &col in &self.search.settled {
            let nearer = length - self.search.distance[col];
            self.col_price[col] += nearer;
            if let Some(row) = self.col_match[col] {
                self.row_price[row] -= nearer;
            }
        }
    }

    /// Swaps matched and unmatched cells from the end of the path back to `root`.
    fn flip(&mut self, root: usize, end: End) {
        let mut next = match end {
            End::FreeColumn(col) => Some(col),
            End::UnmatchedRow(row) => self.row_match[row].take(),
        };
        while let Some(col) = next {
            let row = self.search.came_from[col];
            next = self.row_match[row].replace(col);
            self.col_match[col] = Some(row);
            if row == root {
                break;
            }
        }
    }
}

impl PathSearch {
    fn clear(&mut self) {
        for col in self.touched.drain(..) {
            self.distance[col] = UNREACHED;
        }
        self.settled.clear();
        self.heap.clear();
    }
}
