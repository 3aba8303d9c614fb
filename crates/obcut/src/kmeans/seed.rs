//! First centres by k-means++: rows far from those chosen so far are likelier.

use std::ops::Range;

use super::{Weighted, gather};
use crate::block::{BLOCK, Points, Scratch};
use crate::error::Error;
use crate::parallel::Context;
use crate::random::Stream;

/// k-means++ by exponential clocks: the row whose clock -ln(u)/(w D^2) rings first is drawn with
/// probability proportional to w D^2, and the draw depends on contents alone.
pub(super) fn plus_plus(
    rows: &Weighted<'_, '_>,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    let mut nearest = vec![f64::INFINITY; n];
    let mut chosen = vec![first_row(rows, stream)];
    let mut center = vec![0.0; d];
    while chosen.len() < k {
        let stream = stream.nth(chosen.len());
        rows.table.row(*chosen.last().expect("one at least") as usize, &mut center);
        let points = rows.table.points(center.clone());
        let firsts = context.map_into(n, &mut nearest, 1, |range, nearest| {
            first_clock(rows, range, &points, nearest, stream)
        })?;
        let best = firsts
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .expect("at least one chunk");
        chosen.push(if best.0.is_finite() { best.2 } else { free_row(rows, &chosen) });
    }
    Ok(chosen)
}

/// The first row of a start, drawn by weight.
fn first_row(rows: &Weighted<'_, '_>, stream: Stream) -> u32 {
    (0..rows.table.n())
        .min_by(|&a, &b| {
            let clock = |i: usize| -stream.uniform(rows.keys[i]).ln() / rows.weights[i];
            clock(a).total_cmp(&clock(b)).then(rows.keys[a].cmp(&rows.keys[b]))
        })
        .expect("at least one row") as u32
}

/// Any row that is not chosen yet, when every row coincides with a centre at working precision.
fn free_row(rows: &Weighted<'_, '_>, chosen: &[u32]) -> u32 {
    let taken: std::collections::HashSet<u32> = chosen.iter().copied().collect();
    let n = rows.table.n() as u32;
    let free = (0..n).filter(|i| !taken.contains(i)).min_by_key(|&i| rows.keys[i as usize]);
    free.unwrap_or(0)
}

/// k-means++ with 2 + ln k draws for every centre: the one that leaves the least is kept, as
/// scikit-learn does.
pub(super) fn greedy(
    rows: &Weighted<'_, '_>,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let n = rows.table.n();
    let n_draws = 2 + (k as f64).ln() as usize;
    let mut chosen = vec![first_row(rows, stream)];
    let mut nearest = vec![f64::INFINITY; n];
    nearer(rows, &gather(rows.table, &chosen), &mut nearest, context)?;
    while chosen.len() < k {
        let stream = stream.nth(chosen.len());
        let draws = context.each(n_draws, |draw| {
            let stream = stream.nth(draw);
            let clock =
                |i: usize| -stream.uniform(rows.keys[i]).ln() / (rows.weights[i] * nearest[i]);
            (0..n)
                .filter(|&i| rows.weights[i] * nearest[i] > 0.0)
                .map(|i| (clock(i), rows.keys[i], i as u32))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        })?;
        let draws: Vec<u32> = draws.into_iter().flatten().map(|draw| draw.2).collect();
        if draws.is_empty() {
            chosen.push(free_row(rows, &chosen));
            continue;
        }
        let left = left_by(rows, &gather(rows.table, &draws), &nearest, context)?;
        let best = (0..left.len()).min_by(|&a, &b| left[a].total_cmp(&left[b])).unwrap_or(0);
        chosen.push(draws[best]);
        nearer(rows, &gather(rows.table, &draws[best..=best]), &mut nearest, context)?;
    }
    Ok(chosen)
}

/// Weighted sums of the squared distances to the nearest centre if one of some more were taken in.
fn left_by(
    rows: &Weighted<'_, '_>,
    centers: &[f64],
    nearest: &[f64],
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let points = rows.table.points(centers.to_vec());
    let all: Vec<u32> = (0..points.n as u32).collect();
    let parts = context.map(rows.table.n(), |range| {
        let (mut distances, mut scratch) = (Vec::new(), Scratch::default());
        let mut left = vec![0.0; points.n];
        for start in range.clone().step_by(BLOCK) {
            let end = (start + BLOCK).min(range.end);
            let block = rows.table.block(start..end, &points, &mut scratch);
            for i in start..end {
                block.distances(i - start, &all, &mut distances);
                for (left, d) in left.iter_mut().zip(&distances) {
                    *left += rows.weights[i] * d.min(nearest[i]);
                }
            }
        }
        left
    })?;
    Ok(parts.into_iter().fold(vec![0.0; points.n], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        sum
    }))
}

/// Takes one more centre into the squared distances to the nearest.
fn nearer(
    rows: &Weighted<'_, '_>,
    center: &[f64],
    nearest: &mut [f64],
    context: &Context<'_>,
) -> Result<(), Error> {
    let points = rows.table.points(center.to_vec());
    context.map_into(rows.table.n(), nearest, 1, |range, nearest| {
        let (mut distance, mut scratch) = (Vec::new(), Scratch::default());
        for (start, nearest) in range.step_by(BLOCK).zip(nearest.chunks_mut(BLOCK)) {
            let block = rows.table.block(start..start + nearest.len(), &points, &mut scratch);
            for (r, near) in nearest.iter_mut().enumerate() {
                block.distances(r, &[0], &mut distance);
                *near = near.min(distance[0]);
            }
        }
    })?;
    Ok(())
}

/// The row of a range whose clock rings first, after the distances to the nearest centre have taken in
/// one more centre.
fn first_clock(
    rows: &Weighted<'_, '_>,
    range: Range<usize>,
    points: &Points,
    nearest: &mut [f64],
    stream: Stream,
) -> (f64, u64, u32) {
    let (mut distance, mut scratch) = (Vec::new(), Scratch::default());
    let mut best = (f64::INFINITY, u64::MAX, 0u32);
    for (start, nearest) in range.step_by(BLOCK).zip(nearest.chunks_mut(BLOCK)) {
        let block = rows.table.block(start..start + nearest.len(), points, &mut scratch);
        for (r, near) in nearest.iter_mut().enumerate() {
            block.distances(r, &[0], &mut distance);
            let i = start + r;
            *near = near.min(distance[0]);
            let mass = rows.weights[i] * *near;
            let u = stream.uniform(rows.keys[i]);
            // -ln u >= 1 - u: most rows are out without their logarithm.
            if mass <= 0.0 || (1.0 - u) * (1.0 - 1e-9) > best.0 * mass {
                continue;
            }
            let this = (-u.ln() / mass, rows.keys[i], i as u32);
            if (this.0, this.1) < (best.0, best.1) {
                best = this;
            }
        }
    }
    best
}
