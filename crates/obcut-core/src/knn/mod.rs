//! The exact nearest neighbors of all rows.
//!
//! Parts of the rows meet in pairs, as in a tournament: a product of two rows serves both of them, and
//! no two threads have the same part at once. Parts are of near rows and meet themselves first, so that
//! hardly a row of another part is nearer than what was found. Every row keeps a few more candidates
//! than asked for, whose distances are then taken from differences.
//!
//! Where the lists of all rows do not fit in memory, and for some of the rows, groups of rows meet all
//! rows, panel by panel. What is kept of a list is for the caller to say, row by row.

mod candidates;
mod cells;
mod measure;
pub mod stretches;

use std::ops::Range;

use crate::block::{BLOCK, Kernel, Points, Products, Scratch};
use crate::error::Error;
use crate::linalg::simd::vectorised;
use crate::parallel::Context;
use crate::sparse::Graph;
use crate::table::Table;

use candidates::{Candidates, order, scan, scan_both};
pub use cells::{Found, nearest_by_cells};
pub use measure::DistanceMeasure;
use stretches::stretches;

/// Candidates beside those asked for: products round where differences do not.
const SLACK: usize = 16;
/// Rows in a panel at most, and numbers.
const PANEL: usize = 2048;
const PANEL_NUMBERS: usize = 1 << 20;
/// Parts of a tournament that are aimed at, so that there is work for many threads.
const PARTS: usize = 64;
/// Candidates that a tournament may hold, in bytes.
const TOURNAMENT: f64 = 2.5e9;
/// Blocks of rows in a group at least and at most, and the candidates of a group that are aimed at.
const BLOCKS: (usize, usize) = (8, 64);
const CANDIDATES: usize = 1 << 24;
/// Rows between two questions whether to go on.
const ROWS: usize = 1024;

/// Squared distance and row.
pub type Neighbor = (f64, u32);

/// Bytes that a search for `count` neighbors holds beside its result.
pub fn search_bytes(n: usize, d: usize, count: usize) -> f64 {
    let kept = (count + SLACK).min(n);
    let rows = if is_tournament(n, kept) { n } else { group_len(n, kept) };
    let candidates = list_bytes(kept, n) * rows as f64;
    candidates + 24.0 * ((PANEL + d) * panel_len(d)) as f64
}

/// The `count` nearest others of every row, nearest first; ties go to the lower index.
pub fn nearest(
    table: &Table<'_>,
    count: usize,
    context: &Context<'_>,
) -> Result<Vec<Vec<Neighbor>>, Error> {
    visit(table, count, context, |_, list| list.to_vec())
}

/// What `finish` makes of every row and its `count` nearest others.
pub fn visit<R: Send>(
    table: &Table<'_>,
    count: usize,
    context: &Context<'_>,
    finish: impl Fn(usize, &[Neighbor]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let n = table.n();
    let count = count.min(n.saturating_sub(1));
    if is_tournament(n, (count + SLACK).min(n)) {
        tournament(table, count, context, &finish)
    } else {
        let all: Vec<u32> = (0..n as u32).collect();
        groups(table, &all, count, context, &finish)
    }
}

/// What `finish` makes of every row and its nearest others: first of `few` of them, and of all `count`
/// where that does not tell.
pub fn visit_twice<R: Send>(
    table: &Table<'_>,
    (few, count): (usize, usize),
    context: &Context<'_>,
    finish: impl Fn(usize, &[Neighbor]) -> Option<R> + Sync,
) -> Result<Vec<Option<R>>, Error> {
    let mut found = visit(table, few.min(count), context, &finish)?;
    if few < count {
        let open: Vec<u32> =
            (0..found.len() as u32).filter(|&i| found[i as usize].is_none()).collect();
        let count = count.min(table.n().saturating_sub(1));
        let more = groups(table, &open, count, context, &finish)?;
        open.iter().zip(more).for_each(|(&i, more)| found[i as usize] = more);
    }
    Ok(found)
}

/// Bytes of the candidates of a row.
fn list_bytes(kept: usize, n: usize) -> f64 {
    16.0 * (2 * kept).min(n) as f64
}

fn is_tournament(n: usize, kept: usize) -> bool {
    list_bytes(kept, n) * n as f64 <= TOURNAMENT
}

/// Rows that are searched for at once.
fn group_len(n: usize, kept: usize) -> usize {
    let each = (2 * kept).min(n).max(1);
    (CANDIDATES / each / BLOCK).clamp(BLOCKS.0, BLOCKS.1) * BLOCK
}

fn panel_len(d: usize) -> usize {
    (PANEL_NUMBERS / d.max(1)).clamp(64, PANEL)
}

/// Rows of a table as points of the same table.
fn points(table: &Table<'_>, rows: Range<usize>) -> Points {
    let d = table.d();
    let mut values = vec![0.0; rows.len() * d];
    vectorised(
        #[inline(always)]
        || rows.zip(values.chunks_exact_mut(d)).for_each(|(i, out)| table.row(i, out)),
    );
    table.points(values)
}

/// All parts meet.
fn tournament<R: Send>(
    table: &Table<'_>,
    count: usize,
    context: &Context<'_>,
    finish: &(impl Fn(usize, &[Neighbor]) -> R + Sync),
) -> Result<Vec<R>, Error> {
    let n = table.n();
    let len = n.div_ceil(PARTS).next_multiple_of(BLOCK).min(panel_len(table.d()));
    let ids = stretches(table, len, context)?.concat();
    let ordered = table.subset(&ids);
    let kept = (count + SLACK).min(n);
    let mut parts: Vec<Option<QueryPart>> = (0..n)
        .step_by(len)
        .map(|start| Some(QueryPart::new(start..(start + len).min(n))))
        .collect();
    let meeting = Meeting { table: &ordered, ids: &ids, kept };
    context.each_into(&mut parts, 1, |_, part| {
        part.iter_mut().flatten().for_each(|part| meeting.of_one(part));
    })?;
    if parts.len() % 2 == 1 {
        parts.push(None);
    }
    // The first stays where it is and the others go round.
    for _ in 1..parts.len() {
        let second = parts.split_off(parts.len() / 2);
        let mut pairs: Vec<_> = parts.into_iter().zip(second.into_iter().rev()).collect();
        context.each_into(&mut pairs, 1, |_, pair| {
            for pair in pair {
                if let (Some(a), Some(b)) = pair {
                    meeting.of_two(a, b);
                }
            }
        })?;
        let (first, second): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        parts = first;
        parts.extend(second.into_iter().rev());
        parts[1..].rotate_right(1);
    }
    let mut results: Vec<Option<R>> = (0..n).map(|_| None).collect();
    for part in parts.into_iter().flatten() {
        let mut searches: Vec<NeighborSearch<R>> = part.into_searches(&ids).collect();
        context.each_into(&mut searches, 1, |_, search| {
            search.iter_mut().for_each(|search| search.finish(table, (count, kept), finish));
        })?;
        for search in searches {
            for (i, result) in search.ids.into_iter().zip(search.results) {
                results[i as usize] = Some(result);
            }
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// The rows of `ids`, a group at a time, meet all rows.
fn groups<R: Send>(
    table: &Table<'_>,
    ids: &[u32],
    count: usize,
    context: &Context<'_>,
    finish: &(impl Fn(usize, &[Neighbor]) -> R + Sync),
) -> Result<Vec<R>, Error> {
    let n = table.n();
    let kept = (count + SLACK).min(n);
    let mut results = Vec::with_capacity(ids.len());
    for group in ids.chunks(group_len(n, kept)) {
        let rows = table.subset(group);
        let mut blocks: Vec<(Range<usize>, NeighborSearch<R>)> = (0..group.len())
            .step_by(BLOCK)
            .map(|start| start..(start + BLOCK).min(group.len()))
            .map(|block| (block.clone(), NeighborSearch::new(&group[block])))
            .collect();
        for first in (0..n).step_by(panel_len(table.d())) {
            let points = points(table, first..(first + panel_len(table.d())).min(n));
            context.each_into(&mut blocks, 1, |_, block| {
                for (block, search) in block {
                    search.scan(&rows, block.clone(), &points, (first, kept));
                }
            })?;
        }
        context.each_into(&mut blocks, 1, |_, block| {
            block.iter_mut().for_each(|block| block.1.finish(table, (count, kept), finish));
        })?;
        results.extend(blocks.into_iter().flat_map(|block| block.1.results));
    }
    Ok(results)
}

/// A part of the rows and what was found for them.
struct QueryPart {
    /// Places in the order of the tournament.
    rows: Range<usize>,
    lists: Vec<Candidates>,
    /// |x|^2 / 2 as products have them.
    half_norms: Vec<f64>,
}

impl QueryPart {
    fn new(rows: Range<usize>) -> Self {
        let lists = rows.clone().map(|_| Candidates::new()).collect();
        Self { rows, lists, half_norms: Vec::new() }
    }

    /// Blocks of the rows with their candidates.
    fn into_searches<R>(self, ids: &[u32]) -> impl Iterator<Item = NeighborSearch<R>> {
        let mut lists = self.lists.into_iter();
        ids[self.rows].chunks(BLOCK).map(move |ids| NeighborSearch {
            lists: lists.by_ref().take(ids.len()).collect(),
            ..NeighborSearch::new(ids)
        })
    }
}

/// What the parts of a tournament share.
struct Meeting<'t, 'a> {
    /// The rows in the order of the tournament, and their numbers.
    table: &'t Table<'a>,
    ids: &'t [u32],
    kept: usize,
}

impl Meeting<'_, '_> {
    fn of_one(&self, part: &mut QueryPart) {
        let points = points(self.table, part.rows.clone());
        part.half_norms = match &points.kernel {
            Kernel::Single { half_norms, .. } => half_norms.iter().map(|&h| h.into()).collect(),
            Kernel::Double(half_norms) | Kernel::Sparse { half_norms, .. } => half_norms.clone(),
        };
        let mut scratch = Scratch::default();
        for start in part.rows.clone().step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(part.rows.end);
            let block = self.table.block(rows.clone(), &points, &mut scratch);
            let lists = &mut part.lists[start - part.rows.start..][..rows.len()];
            let ids = &self.ids[part.rows.clone()];
            let own = rows.clone().map(|i| self.ids[i]);
            scan(&block.products, own.zip(lists), |c| ids[c], self.kept);
        }
    }

    fn of_two(&self, a: &mut QueryPart, b: &mut QueryPart) {
        let points = points(self.table, b.rows.clone());
        let mut scratch = Scratch::default();
        for start in a.rows.clone().step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(a.rows.end);
            let block = self.table.block(rows.clone(), &points, &mut scratch);
            let at = start - a.rows.start..rows.end - a.rows.start;
            let own = (&self.ids[rows], &mut a.lists[at.clone()], &a.half_norms[at]);
            let other = (&self.ids[b.rows.clone()], &mut b.lists[..]);
            match &block.products {
                Products::Single { values, half_norms, .. } => {
                    scan_both(values, half_norms, own, other, self.kept);
                }
                Products::Double { values, half_norms } => {
                    scan_both(values, half_norms, own, other, self.kept);
                }
            }
        }
    }
}

/// A block of rows and what was found for them.
struct NeighborSearch<R> {
    ids: Vec<u32>,
    lists: Vec<Candidates>,
    scratch: Scratch,
    results: Vec<R>,
}

impl<R> NeighborSearch<R> {
    fn new(ids: &[u32]) -> Self {
        let lists = ids.iter().map(|_| Candidates::new()).collect();
        Self { ids: ids.to_vec(), lists, scratch: Scratch::default(), results: Vec::new() }
    }

    /// Takes in a panel that starts with row `first`.
    fn scan(
        &mut self,
        rows: &Table<'_>,
        block: Range<usize>,
        points: &Points,
        (first, kept): (usize, usize),
    ) {
        let block = rows.block(block, points, &mut self.scratch);
        let own = self.ids.iter().copied().zip(&mut self.lists);
        scan(&block.products, own, |c| (first + c) as u32, kept);
    }

    /// Sorts by true distances and hands the lists over.
    fn finish(
        &mut self,
        table: &Table<'_>,
        (count, kept): (usize, usize),
        finish: &impl Fn(usize, &[Neighbor]) -> R,
    ) {
        self.scratch = Scratch::default();
        let mut measure = DistanceMeasure::new(table);
        for (&i, list) in self.ids.iter().zip(&mut self.lists) {
            list.cut(kept);
            let mut found = std::mem::take(&mut list.found);
            measure.turn(i as usize, &mut found);
            found.sort_unstable_by(order);
            found.truncate(count);
            self.results.push(finish(i as usize, &found));
        }
    }
}

/// The graph with an edge wherever one of two rows lists the other; values are squared distances.
pub fn union(lists: Vec<Vec<Neighbor>>, context: &Context<'_>) -> Result<Graph, Error> {
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
mod tests;
