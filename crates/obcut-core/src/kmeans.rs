//! k-means: Lloyd's iteration from random rows or k-means++, for anchors and for starts.
//!
//! Rows for the start are chosen by content (see [`crate::random`]), so the result follows neither
//! the order of the rows nor the number of threads. Anchors start from random rows: k-means++ likes
//! outliers, and outlier anchors become fragments of the graph.

mod seed;

use crate::block::{BLOCK, Points, Scratch};
use crate::error::Error;
use crate::linalg::simd::{squared_distance, vectorised};
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::{self, Stream};
use crate::table::{Gathered, Table};

/// How the centers start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeding {
    /// Distinct random rows.
    Rows,
    /// k-means++: rows far from the centers chosen so far are likelier.
    PlusPlus,
    /// The same with several draws for every center, of which the best is kept.
    Greedy,
}

/// How much work is done.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// How the first centers are chosen.
    pub seeding: Seeding,
    /// Lloyd iterations at most.
    pub iterations: usize,
    /// Number of starts; the best is kept.
    pub restarts: usize,
    /// Rows per center of the sample that the restarts run on; `None` takes all.
    pub rows_per_restart: Option<usize>,
    /// Rows per center that the best of them is iterated on; `None` takes all.
    pub rows_per_center: Option<usize>,
    /// Iterations on those.
    pub more_iterations: usize,
    /// Iterations on all rows after those on a sample.
    pub full_passes: usize,
    /// Fall of the inertia, as a part of it, below which an iteration is the last.
    pub tol: f64,
    /// Whether restarts are judged by plain distances rather than squared ones.
    pub plain: bool,
}

impl Schedule {
    /// Random rows as centers, all rows in every iteration, one start; how many is for the caller to say.
    pub const ALL_ROWS: Self = Self {
        seeding: Seeding::Rows,
        iterations: 0,
        restarts: 1,
        rows_per_restart: None,
        rows_per_center: None,
        more_iterations: 0,
        full_passes: 0,
        tol: 0.0,
        plain: false,
    };
}

/// The result of k-means.
#[derive(Clone, Debug)]
pub struct Centers {
    /// k × d, scaled space.
    pub values: Vec<f64>,
    /// Weighted sum of squared distances on the rows that were iterated on.
    pub inertia: f64,
    /// The same of plain distances.
    pub plain: f64,
}

/// One pass over the rows: the nearest center of each with the squared distance to it, and the sums that
/// the next centers are made of.
struct Pass {
    nearest: Vec<(u32, f64)>,
    inertia: f64,
    /// k × d.
    sums: Vec<f64>,
    weights: Vec<f64>,
}

/// Weighted rows with their keys.
#[derive(Clone)]
pub struct Weighted<'t, 'a> {
    /// The rows.
    pub table: &'t Table<'a>,
    /// Their weights.
    pub weights: &'t [f64],
    /// Their keys, hashes of their content.
    pub keys: &'t [u64],
}

/// Some of the rows.
pub struct Sample<'a> {
    /// Positions of the rows, ascending.
    pub chosen: Vec<u32>,
    rows: Gathered<'a>,
    weights: Vec<f64>,
    keys: Vec<u64>,
}

impl<'a> Weighted<'_, 'a> {
    /// `count` rows, or all, chosen at random by their content.
    pub fn sample(
        &self,
        count: usize,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Sample<'a>, Error> {
        let mut chosen = random::choose(self.keys, count, stream);
        chosen.sort_unstable();
        Ok(Sample {
            rows: self.table.gather(&chosen, context)?,
            weights: chosen.iter().map(|&i| self.weights[i as usize]).collect(),
            keys: chosen.iter().map(|&i| self.keys[i as usize]).collect(),
            chosen,
        })
    }
}

impl Sample<'_> {
    /// The rows as a table.
    pub fn table(&self) -> Result<Table<'_>, Error> {
        self.rows.table()
    }

    /// The sample with its table.
    pub fn rows<'t, 's>(&'t self, table: &'t Table<'s>) -> Weighted<'t, 's> {
        Weighted { table, weights: &self.weights, keys: &self.keys }
    }
}

/// Finds `k` centers; there must be at least `k` rows.
pub fn fit(
    rows: &Weighted<'_, '_>,
    k: usize,
    schedule: Schedule,
    stream: Stream,
    context: &Context<'_>,
    stage: Stage,
) -> Result<Centers, Error> {
    let n = rows.table.n();
    let count = |per: Option<usize>| per.map_or(n, |per| per.saturating_mul(k).max(2_000)).min(n);
    let some = count(schedule.rows_per_center);
    let few = count(schedule.rows_per_restart).min(some);
    // Samples of one stream: the smaller one is part of the larger.
    let sample = |count: usize| rows.sample(count, stream.named("sample"), context);
    if few == n {
        return best_of(rows, k, schedule, stream, context, stage);
    }
    let part = sample(few)?;
    let table = part.table()?;
    let mut centers = best_of(&part.rows(&table), k, schedule, stream, context, stage)?;
    if few < some && some < n {
        let part = sample(some)?;
        let table = part.table()?;
        let limits = (schedule.more_iterations, schedule.tol);
        centers = lloyd(&part.rows(&table), centers, limits, context, stage)?;
    }
    let passes = if some == n { schedule.more_iterations } else { schedule.full_passes };
    lloyd(rows, centers, (passes, schedule.tol), context, stage)
}

fn best_of(
    rows: &Weighted<'_, '_>,
    k: usize,
    schedule: Schedule,
    stream: Stream,
    context: &Context<'_>,
    stage: Stage,
) -> Result<Centers, Error> {
    let mut best: Option<Centers> = None;
    for restart in 0..schedule.restarts.max(1) {
        let stream = stream.nth(restart);
        let chosen = match schedule.seeding {
            Seeding::Rows => random::choose(rows.keys, k, stream),
            Seeding::PlusPlus => seed::plus_plus(rows, k, stream, context)?,
            Seeding::Greedy => seed::greedy(rows, k, stream, context)?,
        };
        let start = Centers {
            values: gather(rows.table, &chosen),
            inertia: f64::INFINITY,
            plain: f64::INFINITY,
        };
        let limits = (schedule.iterations, schedule.tol);
        let centers = lloyd(rows, start, limits, context, stage)?;
        let value = |c: &Centers| if schedule.plain { c.plain } else { c.inertia };
        if best.as_ref().is_none_or(|b| value(&centers) < value(b)) {
            best = Some(centers);
        }
    }
    Ok(best.expect("at least one restart"))
}

fn gather(table: &Table<'_>, chosen: &[u32]) -> Vec<f64> {
    let d = table.d();
    let mut values = vec![0.0; chosen.len() * d];
    for (out, &i) in values.chunks_exact_mut(d).zip(chosen) {
        table.row(i as usize, out);
    }
    values
}

/// Up to `iterations` of Lloyd, ending early when no label changes or the inertia hardly falls.
fn lloyd(
    rows: &Weighted<'_, '_>,
    mut centers: Centers,
    (iterations, tol): (usize, f64),
    context: &Context<'_>,
    stage: Stage,
) -> Result<Centers, Error> {
    let n = rows.table.n();
    let mut norms = vec![0.0; if iterations > 0 { n } else { 0 }];
    if iterations > 0 {
        context.map_into(n, &mut norms, 1, |range, out| rows.table.squared_norms(range, out))?;
    }
    let mut last: Vec<(u32, f64)> = Vec::new();
    for iteration in 0..iterations {
        context.report(stage, iteration, iterations, None)?;
        let points = rows.table.points(centers.values);
        let pass = pass(rows, &points, &norms, context)?;
        let settled = iteration > 0 && centers.inertia - pass.inertia < tol * pass.inertia;
        centers = Centers {
            inertia: pass.inertia,
            plain: pass.nearest.iter().zip(rows.weights).map(|(near, w)| w * near.1.sqrt()).sum(),
            values: points.values,
        };
        let same = |(a, b): (&(u32, f64), &(u32, f64))| a.0 == b.0;
        if iteration > 0 && pass.nearest.iter().zip(&last).all(same) {
            break;
        }
        let Pass { nearest, mut sums, mut weights, .. } = pass;
        fill_empty(rows, &nearest, &mut sums, &mut weights);
        let d = rows.table.d();
        for (center, (sum, &w)) in
            centers.values.chunks_exact_mut(d).zip(sums.chunks_exact_mut(d).zip(&weights))
        {
            if w > 0.0 {
                rows.table.finish_sum(w, sum);
                center.iter_mut().zip(&*sum).for_each(|(c, s)| *c = s / w);
            }
        }
        if settled {
            break;
        }
        last = nearest;
    }
    Ok(centers)
}

/// Nearest center of every row; ties go to the lower index.
pub fn assign(
    table: &Table<'_>,
    points: &Points,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let mut labels = vec![0; table.n()];
    context.map_into(table.n(), &mut labels, 1, |range, out| {
        let mut scratch = Scratch::default();
        let mut nearest = [(0, 0.0); BLOCK];
        for (start, out) in range.clone().step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let nearest = &mut nearest[..out.len()];
            table.block(start..start + out.len(), points, &mut scratch).nearest(nearest);
            out.iter_mut().zip(nearest).for_each(|(label, near)| *label = near.0);
        }
    })?;
    Ok(labels)
}

/// Assigns all rows and sums them up by center, in one reading of the rows.
fn pass(
    rows: &Weighted<'_, '_>,
    points: &Points,
    norms: &[f64],
    context: &Context<'_>,
) -> Result<Pass, Error> {
    let (n, k) = (rows.table.n(), points.n);
    let mut nearest = vec![(0u32, 0.0f64); n];
    let (mut sums, mut weights) = (vec![0.0; points.values.len()], vec![0.0; k]);
    let mut inertia = 0.0;
    context.fold_into(
        n,
        &mut nearest,
        |range, out| {
            let (mut sums, mut weights) = (vec![0.0; points.values.len()], vec![0.0; k]);
            let mut scratch = Scratch::default();
            let mut inertia = 0.0;
            for start in range.clone().step_by(BLOCK) {
                let block = start..(start + BLOCK).min(range.end);
                let out = &mut out[start - range.start..block.end - range.start];
                let found = rows.table.block(block.clone(), points, &mut scratch);
                found.nearest(out);
                found.loaded.add_to(out, &rows.weights[block.clone()], &mut sums);
                for (i, near) in block.zip(out) {
                    near.1 = (near.1 + norms[i]).max(0.0);
                    inertia += rows.weights[i] * near.1;
                    weights[near.0 as usize] += rows.weights[i];
                }
            }
            (sums, weights, inertia)
        },
        |(part, part_weights, part_inertia)| {
            vectorised(
                #[inline(always)]
                || sums.iter_mut().zip(&part).for_each(|(s, p)| *s += p),
            );
            weights.iter_mut().zip(part_weights).for_each(|(s, p)| *s += p);
            inertia += part_inertia;
        },
    )?;
    Ok(Pass { nearest, inertia, sums, weights })
}

/// Gives every empty cluster the row that is farthest from its center.
fn fill_empty(
    rows: &Weighted<'_, '_>,
    nearest: &[(u32, f64)],
    sums: &mut [f64],
    weights: &mut [f64],
) {
    let (k, d) = (weights.len(), rows.table.d());
    let mut counts = vec![0usize; k];
    nearest.iter().for_each(|near| counts[near.0 as usize] += 1);
    if !counts.contains(&0) {
        return;
    }
    let mut farthest: Vec<u32> = (0..nearest.len() as u32).collect();
    farthest.sort_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        nearest[b].1.total_cmp(&nearest[a].1).then(rows.keys[a].cmp(&rows.keys[b]))
    });
    let mut candidates = farthest.into_iter().map(|i| i as usize);
    let mut scratch = Scratch::default();
    for j in 0..k {
        if counts[j] > 0 {
            continue;
        }
        // A cluster of one must not be emptied to fill another.
        let Some(i) = candidates.by_ref().find(|&i| counts[nearest[i].0 as usize] > 1) else {
            break;
        };
        let (from, w) = (nearest[i].0 as usize, rows.weights[i]);
        rows.table.add_row(i, -w, &mut sums[from * d..(from + 1) * d], &mut scratch);
        rows.table.add_row(i, w, &mut sums[j * d..(j + 1) * d], &mut scratch);
        weights[from] -= w;
        weights[j] += w;
        counts[from] -= 1;
        counts[j] = 1;
    }
}

/// Minus the squared distance of a row to every point, to full precision.
pub fn nearest_point(table: &Table<'_>, i: usize, points: &Points) -> Vec<f64> {
    let mut row = vec![0.0; table.d()];
    table.row(i, &mut row);
    points.values.chunks_exact(table.d()).map(|a| -squared_distance(&row, a)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::DenseRef;
    use crate::normalize::Scaling;
    use crate::observer::Silent;

    fn table_of(values: &[f64], n: usize) -> (Vec<f64>, Vec<u64>, Scaling) {
        let keys = (0..n as u64).map(crate::random::mix).collect();
        (vec![1.0; n], keys, Scaling::identity(values.len() / n))
    }

    #[test]
    fn rows_go_to_their_nearest_center() {
        let (n, d, m) = (300, 5, 17);
        let x = Stream::new(1).values(n * d);
        let centers = Stream::new(2).values(m * d);
        let (_, keys, scaling) = table_of(&x, n);
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(2, &Silent).unwrap();
        let points = table.points(centers.clone());
        let labels = assign(&table, &points, &context).unwrap();
        let mut norms = vec![0.0; n];
        table.squared_norms(0..n, &mut norms);
        let found = pass(&rows, &points, &norms, &context).unwrap();
        let (mut sums, mut inertia) = (vec![0.0; m * d], 0.0);
        for i in 0..n {
            let distance =
                |j: usize| squared_distance(&x[i * d..(i + 1) * d], &centers[j * d..(j + 1) * d]);
            let best = (0..m).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap();
            assert_eq!(labels[i] as usize, best);
            assert_eq!(found.nearest[i].0 as usize, best);
            assert!((found.nearest[i].1 - distance(best)).abs() < 1e-12);
            inertia += weights[i] * distance(best);
            (0..d).for_each(|f| sums[best * d + f] += weights[i] * x[i * d + f]);
        }
        assert!((found.inertia - inertia).abs() < 1e-9);
        assert!(found.sums.iter().zip(&sums).all(|(a, b)| (a - b).abs() < 1e-10));
        assert!((found.weights.iter().sum::<f64>() - weights.iter().sum::<f64>()).abs() < 1e-9);
    }

    #[test]
    fn lloyd_never_raises_the_inertia_and_fills_empty_clusters() {
        let (n, d, k) = (400, 3, 9);
        let x = Stream::new(3).values(n * d);
        let (weights, keys, scaling) = table_of(&x, n);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(2, &Silent).unwrap();
        // All centers but one far away: all but one are empty at first.
        let mut values = vec![50.0; k * d];
        values[..d].fill(0.0);
        let mut centers = Centers { values, inertia: f64::INFINITY, plain: f64::INFINITY };
        for _ in 0..12 {
            let last = centers.inertia;
            centers = lloyd(&rows, centers, (1, 0.0), &context, Stage::Start).unwrap();
            assert!(centers.inertia <= last + 1e-9);
        }
        let labels = assign(&table, &table.points(centers.values), &context).unwrap();
        assert!((0..k as u32).all(|j| labels.contains(&j)));
    }

    #[test]
    fn seeds_are_distinct_rows_and_take_every_far_group() {
        let (n, d, k) = (200, 2, 4);
        let x: Vec<f64> =
            (0..n).flat_map(|i| [f64::from((i % 4) as u8) * 100.0, i as f64 * 1e-3]).collect();
        let (weights, keys, scaling) = table_of(&x, n);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(1, &Silent).unwrap();
        for number in 0..10 {
            for draw in [seed::plus_plus, seed::greedy] {
                let chosen = draw(&rows, k, Stream::new(number), &context).unwrap();
                let groups: std::collections::HashSet<u32> = chosen.iter().map(|i| i % 4).collect();
                assert_eq!(groups.len(), 4);
            }
        }
    }

    #[test]
    fn seeds_are_those_of_the_plain_procedure() {
        // Groups close together, so that most rows are passed over.
        let (n, d, k) = (700, 3, 40);
        let x: Vec<f64> = (Stream::new(8).values(n * d).iter().enumerate())
            .map(|(p, v)| f64::from((p / d % 9) as u8) * 4.0 + v)
            .collect();
        let (_, keys, scaling) = table_of(&x, n);
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(2, &Silent).unwrap();
        let row = |i: u32| &x[i as usize * d..(i as usize + 1) * d];
        for number in 0..5 {
            let stream = Stream::new(number);
            let chosen = seed::plus_plus(&rows, k, stream, &context).unwrap();
            for c in 1..k {
                let clock = |i: u32| {
                    let near = |j: &u32| squared_distance(row(i), row(*j));
                    let mass = chosen[..c].iter().map(near).fold(f64::INFINITY, f64::min);
                    let u = stream.nth(c).uniform(keys[i as usize]);
                    if mass > 0.0 { -u.ln() / (weights[i as usize] * mass) } else { f64::INFINITY }
                };
                let first = (0..n as u32).min_by(|&a, &b| clock(a).total_cmp(&clock(b))).unwrap();
                assert_eq!(chosen[c], first);
            }
        }
    }
}
