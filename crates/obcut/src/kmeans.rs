//! k-means: Lloyd's iteration from random rows or k-means++, for anchors and for starts.
//!
//! Rows for the start are chosen by content (see [`crate::random`]), so the result follows neither
//! the order of the rows nor the number of threads. Anchors start from random rows: k-means++ likes
//! outliers, and outlier anchors become fragments of the graph.

use crate::error::Error;
use crate::observer::Stage;
use crate::parallel::Context;
use crate::random::{self, Stream};
use crate::table::{BLOCK, Points, Scratch, Table, squared_distance};

/// How the centres start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeding {
    /// Distinct random rows.
    Rows,
    /// k-means++: rows far from the centres chosen so far are likelier.
    PlusPlus,
}

/// How much work is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub seeding: Seeding,
    /// Lloyd iterations at most.
    pub iterations: usize,
    pub restarts: usize,
    /// Rows per centre that are iterated on; `None` takes all.
    pub rows_per_center: Option<usize>,
    /// Iterations on all rows after those on a sample.
    pub full_passes: usize,
}

/// The result of k-means.
#[derive(Clone, Debug)]
pub(crate) struct Centers {
    /// k × d, scaled space.
    pub values: Vec<f64>,
    /// Weighted sum of squared distances on the rows that were iterated on.
    pub inertia: f64,
}

/// One assignment of all rows to their nearest centres.
pub(crate) struct Assignment {
    pub labels: Vec<u32>,
    /// Squared distance to the nearest centre.
    pub distances: Vec<f64>,
    pub inertia: f64,
}

/// Weighted rows with their keys.
#[derive(Clone)]
pub(crate) struct Weighted<'t, 'a> {
    pub table: &'t Table<'a>,
    pub weights: &'t [f64],
    pub keys: &'t [u64],
}

/// Finds `k` centres; there must be at least `k` rows.
pub(crate) fn fit(
    rows: &Weighted<'_, '_>,
    k: usize,
    schedule: Schedule,
    stream: Stream,
    context: &Context<'_>,
    stage: Stage,
) -> Result<Centers, Error> {
    let n = rows.table.n();
    let sample = schedule.rows_per_center.map_or(n, |per| per.saturating_mul(k).max(2_000)).min(n);
    if sample >= n {
        return best_of(rows, k, schedule, stream, context, stage);
    }
    let mut chosen = random::choose(rows.keys, sample, stream.named("sample"));
    chosen.sort_unstable(); // as they lie in memory
    let table = rows.table.subset(&chosen);
    let weights: Vec<f64> = chosen.iter().map(|&i| rows.weights[i as usize]).collect();
    let keys: Vec<u64> = chosen.iter().map(|&i| rows.keys[i as usize]).collect();
    let part = Weighted { table: &table, weights: &weights, keys: &keys };
    let centers = best_of(&part, k, schedule, stream, context, stage)?;
    lloyd(rows, centers, schedule.full_passes, context, stage)
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
            Seeding::PlusPlus => plus_plus(rows, k, stream, context)?,
        };
        let start = Centers { values: gather(rows.table, &chosen), inertia: f64::INFINITY };
        let centers = lloyd(rows, start, schedule.iterations, context, stage)?;
        if best.as_ref().is_none_or(|b| centers.inertia < b.inertia) {
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

/// k-means++ by exponential clocks: the row whose clock -ln(u)/(w D^2) rings first is drawn with
/// probability proportional to w D^2, and the draw depends on contents alone.
fn plus_plus(
    rows: &Weighted<'_, '_>,
    k: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Vec<u32>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    let mut nearest = vec![f64::INFINITY; n];
    let first = (0..n)
        .min_by(|&a, &b| {
            let clock = |i: usize| -stream.uniform(rows.keys[i]).ln() / rows.weights[i];
            clock(a).total_cmp(&clock(b)).then(rows.keys[a].cmp(&rows.keys[b]))
        })
        .expect("at least one row");
    let mut chosen = vec![first as u32];
    let mut center = vec![0.0; d];
    while chosen.len() < k {
        let stream = stream.nth(chosen.len());
        rows.table.row(*chosen.last().expect("one at least") as usize, &mut center);
        let points = rows.table.points(center.clone());
        let firsts = context.map_into(n, &mut nearest, 1, |range, nearest| {
            let (mut row, mut distance, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
            let mut best = (f64::INFINITY, u64::MAX, 0u32);
            for (i, near) in range.zip(nearest) {
                let (dot, norm) = if rows.table.is_sparse() {
                    let norm = rows.table.squared_norm(i, &mut scratch);
                    (rows.table.products(i..i + 1, &points, &mut scratch)[0], norm)
                } else {
                    (0.0, 0.0)
                };
                rows.table.distances(i, &points, &[0], (&[dot], norm), &mut row, &mut distance);
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
            best
        })?;
        let best = firsts
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .expect("at least one chunk");
        if best.0.is_finite() {
            chosen.push(best.2);
        } else {
            // Every row coincides with a centre at working precision: take any that is not one.
            let taken: std::collections::HashSet<u32> = chosen.iter().copied().collect();
            let free =
                (0..n as u32).filter(|i| !taken.contains(i)).min_by_key(|&i| rows.keys[i as usize]);
            chosen.push(free.unwrap_or(0));
        }
    }
    Ok(chosen)
}

/// Up to `iterations` of Lloyd, ending early when no label changes.
fn lloyd(
    rows: &Weighted<'_, '_>,
    mut centers: Centers,
    iterations: usize,
    context: &Context<'_>,
    stage: Stage,
) -> Result<Centers, Error> {
    let mut last: Vec<u32> = Vec::new();
    for iteration in 0..iterations {
        context.report(stage, iteration, iterations, None)?;
        let points = rows.table.points(centers.values);
        let assignment = assign(rows, &points, context)?;
        centers = Centers { inertia: assignment.inertia, values: points.values };
        if assignment.labels == last {
            break;
        }
        centers.values = means(rows, &assignment, centers.values, context)?;
        last = assignment.labels;
    }
    Ok(centers)
}

/// Nearest centre of every row; ties go to the lower index.
pub(crate) fn assign(
    rows: &Weighted<'_, '_>,
    points: &Points,
    context: &Context<'_>,
) -> Result<Assignment, Error> {
    let (n, m) = (rows.table.n(), points.n);
    let mut pairs = vec![(0u32, 0.0f64); n];
    let partials = context.map_into(n, &mut pairs, 1, |range, out| {
        let (mut scratch, mut norms) = (Scratch::default(), Scratch::default());
        let mut shifted = vec![0.0; m];
        let mut inertia = 0.0;
        for start in range.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(range.end);
            let products = rows.table.products(block.clone(), points, &mut scratch);
            for (r, i) in block.enumerate() {
                let best = smallest(&products[r * m..(r + 1) * m], &points.norms, &mut shifted);
                let distance = (best.0 + rows.table.squared_norm(i, &mut norms)).max(0.0);
                inertia += rows.weights[i] * distance;
                out[i - range.start] = (best.1 as u32, distance);
            }
        }
        inertia
    })?;
    Ok(Assignment {
        labels: pairs.iter().map(|p| p.0).collect(),
        distances: pairs.iter().map(|p| p.1).collect(),
        inertia: partials.iter().sum(),
    })
}

/// The smallest of |c|^2 - 2 x.c and its index, ties to the lower: one pass for the value and one to
/// find it, both without branches.
fn smallest(products: &[f64], norms: &[f64], shifted: &mut [f64]) -> (f64, usize) {
    let mut lanes = [f64::INFINITY; 8];
    for ((out, f), norm) in shifted.iter_mut().zip(products).zip(norms) {
        *out = norm - 2.0 * f;
    }
    let chunks = shifted.chunks_exact(8);
    let mut least =
        chunks.remainder().iter().fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
    for chunk in chunks {
        for l in 0..8 {
            lanes[l] = if chunk[l] < lanes[l] { chunk[l] } else { lanes[l] };
        }
    }
    least = lanes.iter().fold(least, |a, &b| if b < a { b } else { a });
    (least, shifted.iter().position(|&v| v == least).unwrap_or(0))
}

/// Weighted means of the clusters. An empty cluster takes the row that is farthest from its centre.
fn means(
    rows: &Weighted<'_, '_>,
    assignment: &Assignment,
    old: Vec<f64>,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    let k = old.len() / d;
    let mut labels = std::borrow::Cow::Borrowed(&assignment.labels);
    let mut counts = vec![0usize; k];
    labels.iter().for_each(|&l| counts[l as usize] += 1);
    if counts.contains(&0) {
        let mut farthest: Vec<u32> = (0..n as u32).collect();
        farthest.sort_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            let by_distance = assignment.distances[b].total_cmp(&assignment.distances[a]);
            by_distance.then(rows.keys[a].cmp(&rows.keys[b]))
        });
        let mut candidates = farthest.into_iter();
        for j in 0..k {
            if counts[j] > 0 {
                continue;
            }
            // A cluster of one must not be emptied to fill another.
            let Some(i) = candidates.by_ref().find(|&i| counts[labels[i as usize] as usize] > 1)
            else {
                break;
            };
            counts[labels[i as usize] as usize] -= 1;
            counts[j] = 1;
            labels.to_mut()[i as usize] = j as u32;
        }
    }
    let mut sums = vec![0.0; k * d];
    let mut weights = vec![0.0; k];
    context.fold(
        n,
        |range| {
            let (mut sums, mut weights) = (vec![0.0; k * d], vec![0.0; k]);
            let mut scratch = Scratch::default();
            for i in range {
                let j = labels[i] as usize;
                weights[j] += rows.weights[i];
                let sum = &mut sums[j * d..(j + 1) * d];
                rows.table.add_row(i, rows.weights[i], sum, &mut scratch);
            }
            (sums, weights)
        },
        |(part, part_weights)| {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
            weights.iter_mut().zip(part_weights).for_each(|(s, p)| *s += p);
        },
    )?;
    for j in 0..k {
        let center = &mut sums[j * d..(j + 1) * d];
        if weights[j] > 0.0 {
            rows.table.finish_sum(weights[j], center);
            center.iter_mut().for_each(|v| *v /= weights[j]);
        } else {
            center.copy_from_slice(&old[j * d..(j + 1) * d]);
        }
    }
    Ok(sums)
}

/// Minus the squared distance of a row to every point, to full precision.
pub(crate) fn nearest_point(table: &Table<'_>, i: usize, points: &Points) -> Vec<f64> {
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
    fn rows_go_to_their_nearest_centre() {
        let (n, d, m) = (300, 5, 17);
        let x = Stream::new(1).values(n * d);
        let centers = Stream::new(2).values(m * d);
        let (weights, keys, scaling) = table_of(&x, n);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(2, &Silent).unwrap();
        let found = assign(&rows, &table.points(centers.clone()), &context).unwrap();
        for i in 0..n {
            let distance =
                |j: usize| squared_distance(&x[i * d..(i + 1) * d], &centers[j * d..(j + 1) * d]);
            let best = (0..m).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap();
            assert_eq!(found.labels[i] as usize, best);
            assert!((found.distances[i] - distance(best)).abs() < 1e-12);
        }
    }

    #[test]
    fn lloyd_never_raises_the_inertia_and_fills_empty_clusters() {
        let (n, d, k) = (400, 3, 9);
        let x = Stream::new(3).values(n * d);
        let (weights, keys, scaling) = table_of(&x, n);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(2, &Silent).unwrap();
        // All centres but one far away: all but one are empty at first.
        let mut values = vec![50.0; k * d];
        values[..d].fill(0.0);
        let mut last = f64::INFINITY;
        for _ in 0..12 {
            let points = table.points(values);
            let assignment = assign(&rows, &points, &context).unwrap();
            assert!(assignment.inertia <= last + 1e-9);
            last = assignment.inertia;
            values = means(&rows, &assignment, points.values, &context).unwrap();
        }
        let labels = assign(&rows, &table.points(values), &context).unwrap().labels;
        assert!((0..k as u32).all(|j| labels.contains(&j)));
    }

    #[test]
    fn plus_plus_draws_distinct_rows_and_takes_every_far_group() {
        let (n, d, k) = (200, 2, 4);
        let x: Vec<f64> =
            (0..n).flat_map(|i| [f64::from((i % 4) as u8) * 100.0, i as f64 * 1e-3]).collect();
        let (weights, keys, scaling) = table_of(&x, n);
        let table = Table::new(DenseRef::new(&x, n, d).unwrap().into(), &scaling);
        let rows = Weighted { table: &table, weights: &weights, keys: &keys };
        let context = Context::new(1, &Silent).unwrap();
        for seed in 0..10 {
            let chosen = plus_plus(&rows, k, Stream::new(seed), &context).unwrap();
            let groups: std::collections::HashSet<u32> = chosen.iter().map(|i| i % 4).collect();
            assert_eq!(groups.len(), 4);
        }
    }

    /// The generated shapes are worth clustering by a graph because this cannot find them.
    #[test]
    fn k_means_finds_blobs_and_no_other_generated_shape() {
        use crate::metrics::{Average, nmi};
        use crate::synthetic;
        let context = Context::new(2, &Silent).unwrap();
        let sets = [
            (synthetic::blobs(2000, 8, 6, synthetic::BLOBS_SPREAD, 1), 6, true),
            (synthetic::moons(2000, synthetic::MOONS_NOISE, 1), 2, false),
            (synthetic::rings(3000, 3, synthetic::RINGS_NOISE, 1), 3, false),
            (synthetic::subspaces(2000, 30, 5, 4, 0.01, 1), 5, false),
        ];
        for (data, k, easy) in sets {
            let samples = data.matrix.samples().unwrap();
            let kind = crate::solver::params::Scale::MinMax;
            let scaling = Scaling::fit(&samples, None, kind, &context).unwrap();
            let table = Table::new(samples, &scaling);
            let n = table.n();
            let mut scratch = Scratch::default();
            let keys: Vec<u64> = (0..n).map(|i| table.key(i, &mut scratch)).collect();
            let rows = Weighted { table: &table, weights: &vec![1.0; n], keys: &keys };
            let schedule = Schedule {
                seeding: Seeding::PlusPlus,
                iterations: 100,
                restarts: 10,
                rows_per_center: None,
                full_passes: 0,
            };
            let stage = Stage::Start;
            let centers = fit(&rows, k, schedule, Stream::new(1), &context, stage).unwrap();
            let points = table.points(centers.values);
            let labels = assign(&rows, &points, &context).unwrap().labels;
            let score = nmi(&labels, &data.labels, Average::Max).unwrap();
            println!("k = {k}: NMI {score:.3}");
            assert!(if easy { score > 0.99 } else { score < 0.45 }, "k = {k}: {score}");
        }
    }
}
