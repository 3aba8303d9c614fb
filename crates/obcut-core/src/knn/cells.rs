//! The nearest neighbors of all rows of a large table, through cells of near rows.
//!
//! Rows are grouped into cells around centers, and a row is compared with the rows of the cells whose
//! centers are nearest to it. How many cells that takes is measured: for a sample of the rows the exact
//! neighbors are found, and the ranks of their cells say how many cells must be searched so that
//! [`RECALL`] of all neighbors are among them.

use super::candidates::{Candidates, order, scan};
use super::stretches::cells;
use super::{DistanceMeasure, Neighbor, SLACK, groups};
use crate::block::{BLOCK, Scratch};
use crate::error::Error;
use crate::parallel::Context;
use crate::random::{Stream, choose};
use crate::table::Table;

/// Share of the true neighbors that must be found in the sample.
const RECALL: f64 = 0.993;
/// Rows of the sample.
const SAMPLE: usize = 512;
/// Rows in a cell that are aimed at.
const CELL_ROWS: usize = 256;
/// Rows that are searched for at once: near ones, so that they share cells.
const CHUNK: usize = 4096;

/// What a search through cells found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Neighbors of all rows, `count` for each, the nearest first.
    pub lists: Vec<Neighbor>,
    /// Share of the true neighbors of a sample of rows that were found.
    pub recall: f64,
    /// Share of the rows that a row was compared with.
    pub compared: f64,
}

/// The `count` nearest others of every row, nearly all of them; `keys` choose the sample.
pub fn nearest_by_cells(
    table: &Table<'_>,
    keys: &[u64],
    count: usize,
    context: &Context<'_>,
) -> Result<Found, Error> {
    let (n, d) = (table.n(), table.d());
    let count = count.min(n.saturating_sub(1));
    let (members, centers) = cells(table, CELL_ROWS, context)?;
    let n_cells = members.len();
    let points = table.points(centers);
    let mut cell_of = vec![0u32; n];
    for (c, rows) in members.iter().enumerate() {
        rows.iter().for_each(|&i| cell_of[i as usize] = c as u32);
    }
    // The sample, and how far down a row's list of cells its neighbors are.
    let mut sample = choose(keys, SAMPLE.min(n), Stream::new(0).named("recall"));
    sample.sort_unstable();
    let exact = groups(table, &sample, count, context, &|_, list: &[Neighbor]| list.to_vec())?;
    let subset = table.subset(&sample);
    let mut ranks: Vec<usize> = Vec::with_capacity(sample.len() * count);
    let mut place = vec![0usize; n_cells];
    let mut scratch = Scratch::default();
    let mut ordered = Vec::new();
    for start in (0..sample.len()).step_by(BLOCK) {
        let rows = start..(start + BLOCK).min(sample.len());
        let block = subset.block(rows.clone(), &points, &mut scratch);
        for (r, i) in rows.enumerate() {
            block.few_nearest(r, 0..n_cells, n_cells, &mut ordered);
            ordered.iter().enumerate().for_each(|(at, &c)| place[c as usize] = at);
            ranks.extend(exact[i].iter().map(|e| place[cell_of[e.1 as usize] as usize]));
        }
    }
    ranks.sort_unstable();
    let at = ((ranks.len() as f64 * RECALL).ceil() as usize).clamp(1, ranks.len().max(1));
    let probes = ranks.get(at - 1).map_or(n_cells, |rank| rank + 1).min(n_cells);

    // Rows in chunks of near ones; every chunk meets the cells that one of its rows asks for.
    let sequence: Vec<u32> = members.concat();
    let chunks: Vec<&[u32]> = sequence.chunks(CHUNK).collect();
    let found = context.each(chunks.len(), |c| {
        let ids = chunks[c];
        let rows = table.subset(ids);
        let mut asked: Vec<Vec<u32>> = vec![Vec::new(); n_cells];
        let (mut scratch, mut few) = (Scratch::default(), Vec::new());
        for start in (0..ids.len()).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(ids.len());
            let block = rows.block(range.clone(), &points, &mut scratch);
            for (r, i) in range.enumerate() {
                block.few_nearest(r, 0..n_cells, probes, &mut few);
                few.iter().for_each(|&cell| asked[cell as usize].push(i as u32));
            }
        }
        let kept = (count + SLACK).min(n);
        let mut lists: Vec<Candidates> = ids.iter().map(|_| Candidates::new()).collect();
        let mut compared = 0.0;
        let mut lane: Vec<(u32, Candidates)> = Vec::with_capacity(BLOCK);
        for (cell, asking) in asked.iter().enumerate().filter(|(_, a)| !a.is_empty()) {
            let others = &members[cell];
            let mut values = vec![0.0; others.len() * d];
            for (out, &i) in values.chunks_exact_mut(d).zip(others) {
                table.row(i as usize, out);
            }
            let points = table.points(values);
            compared += asking.len() as f64 * others.len() as f64;
            for part in asking.chunks(BLOCK) {
                let positions: Vec<u32> = part.to_vec();
                let queries = rows.subset(&positions);
                let block = queries.block(0..part.len(), &points, &mut scratch);
                lane.clear();
                for &p in part {
                    let list = std::mem::replace(&mut lists[p as usize], Candidates::new());
                    lane.push((ids[p as usize], list));
                }
                let own = lane.iter_mut().map(|(i, list)| (*i, list));
                scan(&block.products, own, |c| others[c], kept);
                for (&p, (_, list)) in part.iter().zip(lane.drain(..)) {
                    lists[p as usize] = list;
                }
            }
        }
        let mut measure = DistanceMeasure::new(table);
        let mut out: Vec<Neighbor> = Vec::with_capacity(ids.len() * count);
        for (&i, list) in ids.iter().zip(&mut lists) {
            list.cut(kept);
            let mut found = std::mem::take(&mut list.found);
            measure.turn(i as usize, &mut found);
            found.sort_unstable_by(order);
            found.truncate(count);
            // A row in small cells may have met fewer rows than asked for.
            while found.len() < count {
                found.push((f64::INFINITY, u32::MAX));
            }
            out.extend(found);
        }
        (out, compared)
    })?;
    let mut lists = vec![(f64::INFINITY, u32::MAX); n * count];
    let mut compared = 0.0;
    for (ids, (part, share)) in chunks.iter().zip(found) {
        compared += share / (n as f64 * n as f64);
        for (&i, list) in ids.iter().zip(part.chunks_exact(count.max(1))) {
            lists[i as usize * count..(i as usize + 1) * count].copy_from_slice(list);
        }
    }
    // Rows that met too few others are searched exactly.
    let short: Vec<u32> = (0..n as u32)
        .filter(|&i| {
            lists[i as usize * count..(i as usize + 1) * count].iter().any(|e| e.1 == u32::MAX)
        })
        .collect();
    if !short.is_empty() {
        let exact = groups(table, &short, count, context, &|_, list: &[Neighbor]| list.to_vec())?;
        for (&i, list) in short.iter().zip(exact) {
            lists[i as usize * count..(i as usize + 1) * count].copy_from_slice(&list);
        }
    }
    let (mut hits, mut all) = (0usize, 0usize);
    for (&i, list) in sample.iter().zip(&exact) {
        let mine = &lists[i as usize * count..(i as usize + 1) * count];
        hits += list.iter().filter(|e| mine.iter().any(|m| m.1 == e.1)).count();
        all += list.len();
    }
    let recall = if all == 0 { 1.0 } else { hits as f64 / all as f64 };
    Ok(Found { lists, recall, compared })
}
