//! First centers by k-means++: rows far from those chosen so far are likelier.

use std::ops::Range;

use super::{Weighted, gather};
use crate::block::{BLOCK, Points, Scratch, few_distances};
use crate::error::Error;
use crate::linalg::simd::squared_distance;
use crate::parallel::Context;
use crate::random::Stream;

/// When a clock rings, the key of its row, and the row.
type SeedClock = (f64, u64, u32);
/// No clock at all.
const SILENT: SeedClock = (f64::INFINITY, u64::MAX, u32::MAX);

/// Puts the clock of a row, drawn by `u`, in the place of one that rings later; ties go to the lower
/// key.
#[inline(always)]
fn ring(first: &mut SeedClock, u: f64, mass: f64, (key, row): (u64, u32)) {
    // -ln u >= 1 - u: most rows are out without their logarithm.
    if mass <= 0.0 || (1.0 - u) * (1.0 - 1e-9) > first.0 * mass {
        return;
    }
    let this = -u.ln() / mass;
    if (this, key) < (first.0, first.1) {
        *first = (this, key, row);
    }
}

/// A center twice as far from the nearest one of a row as the row is, and by this part more, cannot be nearer:
/// by the triangle inequality, and in spite of rounding.
const BEYOND: f64 = 1.0 + 1e-6;

/// k-means++ by exponential clocks: the row whose clock -ln(u)/(w D^2) rings first is drawn with
/// probability proportional to w D^2, and the draw depends on contents alone.
pub(super) fn plus_plus(
    rows: &Weighted<'_, '_>,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    // The squared distance to the nearest center, and which one it is.
    let mut nearest = vec![(f64::INFINITY, 0u32); n];
    let mut chosen = vec![first_row(rows, stream)];
    let mut centers: Vec<f64> = Vec::new();
    while chosen.len() < k {
        let stream = stream.nth(chosen.len());
        let center = gather(rows.table, &chosen[chosen.len() - 1..]);
        let apart = |other: &[f64]| squared_distance(&center, other) / (4.0 * BEYOND);
        let reach: Vec<f64> = centers.chunks_exact(d).map(apart).collect();
        centers.extend_from_slice(&center);
        let points = rows.table.points(center);
        let firsts = context.map_into(n, &mut nearest, 1, |range, nearest| {
            first_clock(rows, range, (&points, &reach), nearest, stream)
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

/// Any row that is not chosen yet, when every row coincides with a center at working precision.
fn free_row(rows: &Weighted<'_, '_>, chosen: &[u32]) -> u32 {
    let taken: std::collections::HashSet<u32> = chosen.iter().copied().collect();
    let n = rows.table.n() as u32;
    let free = (0..n).filter(|i| !taken.contains(i)).min_by_key(|&i| rows.keys[i as usize]);
    free.unwrap_or(0)
}

/// k-means++ with 2 + ln k draws for every center: the one that leaves the least is kept, as
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
        let streams: Vec<Stream> = (0..n_draws).map(|draw| stream.nth(draw)).collect();
        let parts = context.map(n, |range| {
            let mut first = vec![SILENT; n_draws];
            for i in range {
                let mass = rows.weights[i] * nearest[i];
                for (first, stream) in first.iter_mut().zip(&streams) {
                    ring(first, stream.uniform(rows.keys[i]), mass, (rows.keys[i], i as u32));
                }
            }
            first
        })?;
        let first = |draw: usize| {
            let firsts = parts.iter().map(|part| part[draw]);
            firsts.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        };
        let draws: Vec<u32> = (0..n_draws)
            .filter_map(first)
            .filter(|draw| draw.2 != u32::MAX)
            .map(|draw| draw.2)
            .collect();
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

/// Weighted sums of the squared distances to the nearest center if one of some more were taken in.
fn left_by(
    rows: &Weighted<'_, '_>,
    centers: &[f64],
    nearest: &[f64],
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let points = rows.table.points(centers.to_vec());
    let parts = context.map(rows.table.n(), |range| {
        let mut scratch = Scratch::default();
        let mut left = vec![0.0; points.n];
        for start in range.clone().step_by(BLOCK) {
            let end = (start + BLOCK).min(range.end);
            let all = 0..end - start;
            few_distances(rows.table, start..end, all, &points, &mut scratch, |r, distances| {
                let i = start + r;
                for (left, d) in left.iter_mut().zip(distances) {
                    *left += rows.weights[i] * d.min(nearest[i]);
                }
            });
        }
        left
    })?;
    Ok(parts.into_iter().fold(vec![0.0; points.n], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        sum
    }))
}

/// Takes one more center into the squared distances to the nearest.
fn nearer(
    rows: &Weighted<'_, '_>,
    center: &[f64],
    nearest: &mut [f64],
    context: &Context<'_>,
) -> Result<(), Error> {
    let points = rows.table.points(center.to_vec());
    context.map_into(rows.table.n(), nearest, 1, |range, nearest| {
        let mut scratch = Scratch::default();
        for (start, nearest) in range.step_by(BLOCK).zip(nearest.chunks_mut(BLOCK)) {
            let block = start..start + nearest.len();
            let all = 0..nearest.len();
            few_distances(rows.table, block, all, &points, &mut scratch, |r, distance| {
                nearest[r] = nearest[r].min(distance[0]);
            });
        }
    })?;
    Ok(())
}

/// The row of a range whose clock rings first, after the distances to the nearest center have taken in
/// one more center. It leaves alone what is within reach, a squared distance, of one of those before.
fn first_clock(
    rows: &Weighted<'_, '_>,
    range: Range<usize>,
    (points, reach): (&Points, &[f64]),
    nearest: &mut [(f64, u32)],
    stream: Stream,
) -> SeedClock {
    let mut scratch = Scratch::default();
    let mut best = SILENT;
    let mut open: Vec<usize> = Vec::with_capacity(BLOCK);
    for (start, nearest) in range.step_by(BLOCK).zip(nearest.chunks_mut(BLOCK)) {
        let block = start..start + nearest.len();
        open.clear();
        open.extend((0..nearest.len()).filter(|&r| {
            let (distance, center) = nearest[r];
            reach.get(center as usize).is_none_or(|&reach| distance > reach)
        }));
        if !open.is_empty() {
            let open = open.iter().copied();
            few_distances(rows.table, block.clone(), open, points, &mut scratch, |r, distance| {
                if distance[0] < nearest[r].0 {
                    nearest[r] = (distance[0], reach.len() as u32);
                }
            });
        }
        for (i, near) in block.zip(nearest) {
            let u = stream.uniform(rows.keys[i]);
            ring(&mut best, u, rows.weights[i] * near.0, (rows.keys[i], i as u32));
        }
    }
    best
}
