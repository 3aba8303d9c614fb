//! How usual a row is and how sure its label: figures that mean the same for any table.
//!
//! Every anchor a has a reach r_a: the radius within which the anchors hold a small share of the rows. A
//! single row far away may have an anchor of its own, but its reach is long. The distance of a row is
//! `delta(x)^2 = min over its anchors of |x - a|^2 + r_a^2`, about the radius around the row that holds this
//! share of the rows.
//!
//! The outlier score is delta over the usual (median) delta of the cluster: 1 is usual, larger is more
//! outlying. Within the tail of its cluster a row's confidence is the difference of its two largest shares
//! of votes. Beyond, the anchors say little about it; the excess e1 of its squared distance over the tail is
//! compared with e2, the same from the nearest other cluster, and shares are drawn towards 1/k by
//! `g = max(0, (e2 - e1) / (e2 + e1))^2`. Halfway between two clusters g is 0, whatever the votes.

use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::model::rule::{RowScore, best, top_two};
use crate::params::Noise;
use obcut_core::Graph;
use obcut_core::block::{BLOCK, Scratch};
use obcut_core::error::Error;
use obcut_core::linalg::gemm::times_transposed;
use obcut_core::linalg::simd::{dot, squared_distance, vectorised};
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// Share of the rows within the reach of an anchor: so much of an average cluster,
const OF_CLUSTER: f64 = 0.1;
/// and never more of all.
const OF_ALL: f64 = 0.05;
/// The usual distance of a cluster is within this factor of that of all rows: a cluster of outlying rows
/// does not make them usual.
const APART: f64 = 2.0;
/// The tail begins at this quantile,
const TAIL: f64 = 0.95;
/// or, where many rows are outlying, where the step from median to upper quartile was made so many times.
const TAIL_STEPS: f64 = 3.0;
/// Steps from median to upper quartile up to the automatic threshold of noise, and its least value.
const NOISE_STEPS: f64 = 5.0;
const LEAST_NOISE: f64 = 1.5;
/// Clusters that are looked at from an anchor.
const RIVALS: usize = 9;
/// No anchor.
const NONE: u32 = u32::MAX;
/// Weights that differ by less are equal but for rounding.
const ROUNDING: f64 = 1e-9;
/// Anchors that the usual distance is taken from where a file does not hold it.
const LOOKED_AT: usize = 64;
/// How fast shares fall with the margin under the rule of old files, which has no votes.
const STEEP: f64 = 4.0;

/// What is usual among the fitted rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// Reach of every anchor.
    pub reach: Vec<f64>,
    /// Usual distance of the rows of every cluster, positive.
    pub usual: Vec<f64>,
    /// Distance where the tail of every cluster begins.
    pub tail: Vec<f64>,
    /// For every anchor, the nearest dense anchor of each of the nearest clusters.
    pub rivals: Vec<u32>,
    /// Rows with a larger outlier score are noise.
    pub threshold: Option<f64>,
}

impl Spread {
    /// Of fitted rows with their links, final labels and weights.
    pub fn fit(
        model: &Model,
        graph: &Graph,
        (table, labels, weights): (&Table<'_>, &[u32], &[f64]),
        noise: Option<Noise>,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let (n, k) = (table.n(), model.n_clusters());
        let mut found = Self { reach: reach(model, graph, weights, context)?, ..Self::default() };
        let mut distances = vec![0.0; n];
        {
            let near = AnchorDistances::new(model, table);
            context.map_into(n, &mut distances, 1, |range, out| {
                let mut work = JudgeWork::default();
                for (i, out) in range.zip(out) {
                    *out = near.distance((table, i), graph.row(i), &found.reach, &mut work);
                }
            })?;
        }
        let all: Vec<(f64, f64)> = distances.iter().copied().zip(weights.iter().copied()).collect();
        let mut by_cluster = vec![Vec::new(); k];
        labels.iter().zip(&all).for_each(|(&j, &pair)| by_cluster[j as usize].push(pair));
        let middle = Sorted::new(all).quantile(0.5);
        for rows in by_cluster {
            let rows = Sorted::new(rows);
            let [median, upper, tail] = [0.5, 0.75, TAIL].map(|share| rows.quantile(share));
            let usual = median.clamp(middle / APART, middle * APART);
            // Equal rows are at no distance; anything is far then, measured in the scaled space.
            found.usual.push(if usual > 0.0 { usual } else { 1.0 });
            found.tail.push(tail.min(stepped(median, upper, TAIL_STEPS)));
        }
        found.rivals = rivals(model, &found, context)?;
        if let Some(noise) = noise {
            let scores = distances.iter().zip(labels).map(|(d, &j)| d / found.usual[j as usize]);
            let scores = Sorted::new(scores.zip(weights.iter().copied()).collect());
            found.threshold = Some(match noise {
                Noise::Share(share) => scores.quantile(1.0 - share),
                Noise::Auto => {
                    let [median, upper] = [0.5, 0.75].map(|share| scores.quantile(share));
                    stepped(median, upper, NOISE_STEPS).max(LEAST_NOISE)
                }
            });
        }
        Ok(found)
    }

    /// For a model whose file does not say: distances to the anchors alone, in units of their own.
    pub fn of_anchors(anchors: &[f64], d: usize, k: usize) -> Self {
        let m = anchors.len() / d;
        let step = m.div_ceil(LOOKED_AT).max(1);
        let nearest = |a: usize| {
            let own = &anchors[a * d..(a + 1) * d];
            let others = anchors.chunks_exact(d).enumerate().filter(|(b, _)| *b != a);
            others.map(|(_, other)| squared_distance(own, other)).fold(f64::MAX, f64::min).sqrt()
        };
        let middle = Sorted::new((0..m).step_by(step).map(|a| (nearest(a), 1.0)).collect());
        let usual = middle.quantile(0.5);
        let usual = if m > 1 && usual > 0.0 { usual } else { 1.0 };
        Self {
            reach: vec![0.0; m],
            usual: vec![usual; k],
            tail: vec![f64::MAX; k],
            rivals: Vec::new(),
            threshold: None,
        }
    }

    /// Whether it fits a model of this size: a check of files.
    pub fn fits(&self, n_anchors: usize, n_clusters: usize) -> bool {
        let not_negative = |values: &[f64]| values.iter().all(|&v| v >= 0.0);
        self.reach.len() == n_anchors
            && self.usual.len() == n_clusters
            && self.tail.len() == n_clusters
            && not_negative(&self.reach)
            && not_negative(&self.tail)
            && self.usual.iter().all(|&v| v > 0.0)
            && (self.rivals.is_empty() || self.rivals.len().is_multiple_of(n_anchors))
            && self.rivals.iter().all(|&b| b == NONE || (b as usize) < n_anchors)
    }
}

/// The middle moved by the step to the upper value so many times, as a factor.
fn stepped(middle: f64, upper: f64, steps: f64) -> f64 {
    if middle > 0.0 { (middle * (upper / middle).powf(steps)).min(f64::MAX) } else { upper }
}

/// Values with weights, ascending.
struct Sorted {
    values: Vec<(f64, f64)>,
    total: f64,
}

impl Sorted {
    fn new(mut values: Vec<(f64, f64)>) -> Self {
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let total = values.iter().map(|v| v.1).sum();
        Self { values, total }
    }

    /// The smallest value up to which there is this share of the weight; 0 when there is none.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = share * self.total * (1.0 - ROUNDING);
        let mut sum = 0.0;
        for (value, weight) in &self.values {
            sum += weight;
            if sum >= wanted {
                return *value;
            }
        }
        self.values.last().map_or(0.0, |v| v.0)
    }
}

/// The reach of every anchor.
fn reach(
    model: &Model,
    graph: &Graph,
    weights: &[f64],
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let (m, d) = (model.n_anchors(), model.width());
    let of_column = model.layout.anchor_of_column();
    let mut mass = vec![0.0; m];
    for (i, w) in weights.iter().enumerate() {
        let (columns, values) = graph.row(i);
        for (&c, v) in columns.iter().zip(values) {
            mass[of_column[c as usize] as usize] += w * v;
        }
    }
    let share = (OF_CLUSTER / model.n_clusters() as f64).min(OF_ALL);
    let wanted = share * mass.iter().sum::<f64>() * (1.0 - ROUNDING);
    each_anchor(&model.anchors, d, context, |_, squares| {
        let mut near: Vec<(f64, f64)> =
            squares.iter().copied().zip(mass.iter().copied()).filter(|e| e.1 > 0.0).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let reached = near.iter().find(|(_, mass)| {
            sum += mass;
            sum >= wanted
        });
        reached.or(near.last()).map_or(0.0, |found| found.0.sqrt())
    })
}

/// For every anchor the nearest dense anchor of each of a few clusters, the nearest first.
fn rivals(model: &Model, spread: &Spread, context: &Context<'_>) -> Result<Vec<u32>, Error> {
    let (d, k) = (model.width(), model.n_clusters());
    let count = if k > 1 { RIVALS.min(k) } else { 0 };
    let (labels, dense) = dense(model, spread);
    if count == 0 {
        return Ok(Vec::new());
    }
    let found = each_anchor(&model.anchors, d, context, |_, squares| {
        let mut nearest = vec![(f64::MAX, NONE); k];
        for (b, &square) in squares.iter().enumerate().filter(|(b, _)| dense[*b]) {
            let nearest = &mut nearest[labels[b] as usize];
            if square < nearest.0 {
                *nearest = (square, b as u32);
            }
        }
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        nearest.truncate(count);
        nearest
    })?;
    Ok(found.into_iter().flatten().map(|found| found.1).collect())
}

/// What `map` makes of every anchor and its squared distances to all of them. They come from products of
/// blocks of anchors.
fn each_anchor<T: Send>(
    anchors: &[f64],
    d: usize,
    context: &Context<'_>,
    map: impl Fn(usize, &[f64]) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let m = anchors.len() / d;
    let norms: Vec<f64> = anchors.chunks_exact(d).map(|a| dot(a, a)).collect();
    let found = context.each(m.div_ceil(BLOCK), |block| {
        let range = block * BLOCK..((block + 1) * BLOCK).min(m);
        let mut rows = anchors[range.start * d..range.end * d].to_vec();
        rows.resize(BLOCK * d, 0.0);
        let mut products = vec![0.0; BLOCK * m];
        times_transposed(&rows, anchors, &mut products, (BLOCK, m, d));
        range
            .zip(products.chunks_exact_mut(m))
            .map(|(a, squares)| {
                let own = norms[a];
                squares
                    .iter_mut()
                    .zip(&norms)
                    .for_each(|(v, other)| *v = (own + other - 2.0 * *v).max(0.0));
                squares[a] = 0.0;
                map(a, squares)
            })
            .collect::<Vec<T>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Label of every anchor, and whether it lies among the usual rows of that cluster.
fn dense(model: &Model, spread: &Spread) -> (Vec<u32>, Vec<bool>) {
    let k = model.n_clusters();
    let votes = model.anchor_votes();
    let of = |(votes, &reach): (&[f64], &f64)| {
        let label = best(votes);
        let is_clear = 2.0 * votes[label] > votes.iter().sum::<f64>() || k == 1;
        (label as u32, is_clear && reach <= spread.tail[label])
    };
    votes.chunks_exact(k).zip(&spread.reach).map(of).unzip()
}

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct JudgeWork {
    scratch: Scratch,
    row: Vec<f64>,
    /// Squared distances to the linked anchors.
    squares: Vec<f64>,
    shares: Vec<f64>,
}

/// Distances of the rows of one table to anchors.
struct AnchorDistances<'m> {
    anchors: &'m [f64],
    of_column: Vec<u32>,
    /// For sparse rows: the product with what all zeros share, and the squared norm.
    terms: Vec<(f64, f64)>,
}

impl<'m> AnchorDistances<'m> {
    fn new(model: &'m Model, table: &Table<'_>) -> Self {
        let anchors = model.anchors.chunks_exact(model.width());
        let term = |a: &[f64]| (table.shared_product(a), dot(a, a));
        let terms = if table.is_sparse() { anchors.map(term).collect() } else { Vec::new() };
        Self { anchors: &model.anchors, of_column: model.layout.anchor_of_column(), terms }
    }

    /// Loads a row, for [`Self::square`].
    fn load(&self, (table, i): (&Table<'_>, usize), work: &mut JudgeWork) {
        if !table.is_sparse() {
            work.row.resize(table.d(), 0.0);
            vectorised(
                #[inline(always)]
                || table.row(i, &mut work.row),
            );
        }
    }

    /// Squared distance of the loaded row to an anchor.
    #[inline(always)]
    fn square(&self, (table, i): (&Table<'_>, usize), a: usize, work: &mut JudgeWork) -> f64 {
        let d = table.d();
        let anchor = &self.anchors[a * d..(a + 1) * d];
        if table.is_sparse() {
            table.squared_distance(i, anchor, self.terms[a], &mut work.scratch)
        } else {
            squared_distance(&work.row, anchor)
        }
    }

    /// Distance of a row with these links. It leaves the squared distances to its anchors in `work`.
    fn distance(
        &self,
        row: (&Table<'_>, usize),
        (columns, _): (&[u32], &[f64]),
        reach: &[f64],
        work: &mut JudgeWork,
    ) -> f64 {
        self.load(row, work);
        let mut squares = std::mem::take(&mut work.squares);
        squares.clear();
        let mut least = f64::MAX;
        vectorised(
            #[inline(always)]
            || {
                for &c in columns {
                    let a = self.of_column[c as usize] as usize;
                    let square = self.square(row, a, work);
                    squares.push(square);
                    least = least.min(square + reach[a] * reach[a]);
                }
            },
        );
        work.squares = squares;
        least.sqrt()
    }
}

/// What gains of a model are.
#[derive(Clone, Copy, PartialEq)]
enum GainKind {
    /// Shares of the votes.
    Votes,
    /// Changes of a frozen cut, as old files have it.
    Cut,
    /// Minus squared distances.
    Points,
}

/// Tells how usual rows of one table are, and how sure their labels.
pub(crate) struct RowJudge<'m> {
    model: &'m Model,
    near: AnchorDistances<'m>,
    labels: Vec<u32>,
    dense: Vec<bool>,
    gains: GainKind,
    unit: f64,
}

/// What is known of a row: its place, its links (none where points label it), and its gains.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub row: (&'a Table<'a>, usize),
    pub links: (&'a [u32], &'a [f64]),
    pub gains: &'a [f64],
}

impl<'m> RowJudge<'m> {
    pub fn new(model: &'m Model, table: &Table<'_>) -> Self {
        let (labels, dense) = dense(model, &model.spread);
        let gains = match () {
            () if model.prototypes.is_some() => GainKind::Points,
            () if model.rule.is_by_votes() => GainKind::Votes,
            () => GainKind::Cut,
        };
        Self {
            model,
            near: AnchorDistances::new(model, table),
            labels,
            dense,
            gains,
            unit: model.unit(),
        }
    }

    /// All figures of a row.
    pub fn score(&self, seen: &Seen<'_>, work: &mut JudgeWork) -> RowScore {
        let top = top_two(seen.gains, self.unit);
        let (first, second) = (top.label as usize, top.second as usize);
        let (distance, clarity) = self.place(seen, first, work);
        let mut shares = std::mem::take(&mut work.shares);
        self.shares(seen.gains, &mut shares);
        let apart = if first == second { 1.0 } else { shares[first] - shares[second] };
        work.shares = shares;
        let outlier = distance / self.model.spread.usual[first];
        RowScore {
            confidence: (clarity * apart).clamp(0.0, 1.0),
            outlier,
            noise: self.model.is_noise(outlier),
            ..top
        }
    }

    /// Probability of every cluster for a row: one in sum, the largest that of its label.
    pub fn probabilities(&self, seen: &Seen<'_>, work: &mut JudgeWork, out: &mut [f64]) {
        let label = best(seen.gains);
        let (_, clarity) = self.place(seen, label, work);
        let mut shares = std::mem::take(&mut work.shares);
        self.shares(seen.gains, &mut shares);
        let even = 1.0 / out.len() as f64;
        out.iter_mut().zip(&shares).for_each(|(p, s)| *p = clarity * s + (1.0 - clarity) * even);
        work.shares = shares;
        let others = out.iter().enumerate().filter(|(j, _)| *j != label);
        let rival = others.fold(f64::NEG_INFINITY, |top, (_, &p)| top.max(p));
        if out[label] <= rival {
            out[label] = rival.next_up();
        }
    }

    /// The distance of a row, and how much its votes count.
    fn place(&self, seen: &Seen<'_>, label: usize, work: &mut JudgeWork) -> (f64, f64) {
        if self.gains == GainKind::Points {
            return ((-seen.gains[label]).max(0.0).sqrt(), 1.0);
        }
        let spread = &self.model.spread;
        let distance = self.near.distance(seen.row, seen.links, &spread.reach, work);
        let tail = spread.tail[label];
        if distance <= tail || self.model.n_clusters() == 1 {
            return (distance, 1.0);
        }
        let beyond = |square: f64, a: usize, tail: f64| {
            (square + spread.reach[a] * spread.reach[a] - tail * tail).max(0.0)
        };
        let mut other = f64::MAX;
        let mut nearest = (f64::MAX, 0);
        for (&c, &square) in seen.links.0.iter().zip(&work.squares) {
            let a = self.near.of_column[c as usize] as usize;
            let reached = square + spread.reach[a] * spread.reach[a];
            if reached < nearest.0 {
                nearest = (reached, a);
            }
            if self.dense[a] && self.labels[a] as usize != label {
                other = other.min(beyond(square, a, spread.tail[self.labels[a] as usize]));
            }
        }
        let count = spread.rivals.len() / self.labels.len();
        for &b in &spread.rivals[nearest.1 * count..(nearest.1 + 1) * count] {
            if b != NONE && self.labels[b as usize] as usize != label {
                let b = b as usize;
                let square = self.near.square(seen.row, b, work);
                other = other.min(beyond(square, b, spread.tail[self.labels[b] as usize]));
            }
        }
        if other == f64::MAX {
            return (distance, 1.0);
        }
        let own = distance * distance - tail * tail;
        (distance, ((other - own) / (other + own)).max(0.0).powi(2))
    }

    /// Gains as shares of one.
    fn shares(&self, gains: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let top = gains[best(gains)];
        out.extend(gains.iter().map(|&gain| match self.gains {
            GainKind::Votes => gain.max(0.0),
            GainKind::Cut => (-STEEP * (top - gain) * self.unit).exp(),
            // By inverse squares of the distances, in units of the least one.
            GainKind::Points if top < 0.0 => top / gain,
            GainKind::Points => f64::from(gain == top),
        }));
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|share| *share /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{GraphKind, Params};
    use obcut_core::observer::Silent;

    /// The smallest distance from an anchor within which all anchors together hold the wanted share.
    fn slow_reach(model: &Model, graph: &Graph, weights: &[f64]) -> Vec<f64> {
        let (m, d) = (model.n_anchors(), model.width());
        let of_column = model.layout.anchor_of_column();
        let links = |a: usize| {
            let of_row = |i: usize| {
                let (columns, values) = graph.row(i);
                let ours = columns.iter().zip(values);
                let ours = ours.filter(|(c, _)| of_column[**c as usize] as usize == a);
                ours.map(|(_, v)| weights[i] * v).sum::<f64>()
            };
            (0..weights.len()).map(of_row).sum::<f64>()
        };
        let mass: Vec<f64> = (0..m).map(links).collect();
        let share = (0.1 / model.n_clusters() as f64).min(0.05);
        let wanted = share * weights.iter().sum::<f64>() - 1e-6;
        let distance = |a: usize, b: usize| {
            let pairs = model.anchors[a * d..(a + 1) * d].iter().zip(&model.anchors[b * d..]);
            pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
        };
        let of = |a: usize| {
            let within =
                |r: f64| -> f64 { (0..m).filter(|&b| distance(a, b) <= r).map(|b| mass[b]).sum() };
            let enough = (0..m).map(|b| distance(a, b)).filter(|&r| within(r) >= wanted);
            enough.fold(f64::MAX, f64::min)
        };
        (0..m).map(of).collect()
    }

    #[test]
    fn the_reach_of_an_anchor_is_the_radius_that_holds_a_share_of_the_rows() {
        let data = crate::synthetic::blobs(240, 3, 3, 0.8, 5);
        let samples = data.matrix.samples().unwrap();
        let context = Context::new(2, &Silent).unwrap();
        let even = vec![1.0; 240];
        let uneven: Vec<f64> = (0..240).map(|i| f64::from(i % 4)).collect();
        for graph in [GraphKind::Auto, GraphKind::Distance, GraphKind::Global] {
            for (k, weights) in [(3, &even), (3, &uneven), (1, &uneven)] {
                let params = Params { graph, threads: 1, ..Params::new(k) };
                let model = crate::fit::fit(&samples, Some(weights), &params, &Silent)
                    .unwrap()
                    .into_model();
                let graph = model.on(&samples).unwrap().threads(1).graph().unwrap();
                let found = reach(&model, &graph, weights, &context).unwrap();
                let slow = slow_reach(&model, &graph, weights);
                for (fast, slow) in found.iter().zip(&slow) {
                    assert!((fast - slow).abs() < 1e-9, "{fast} {slow}");
                }
                assert!(found.iter().any(|r| *r > 0.0) && found.len() == model.n_anchors());
            }
        }
    }

    #[test]
    fn distances_between_anchors_are_those_of_pairs() {
        let (m, d) = (BLOCK + 7, 5);
        let anchors = obcut_core::random::Stream::new(3).values(m * d);
        let context = Context::new(2, &obcut_core::observer::Silent).unwrap();
        let found = each_anchor(&anchors, d, &context, |a, squares| (a, squares.to_vec())).unwrap();
        for (at, (a, squares)) in found.iter().enumerate() {
            assert_eq!(at, *a);
            for (b, square) in squares.iter().enumerate() {
                let plain =
                    squared_distance(&anchors[a * d..(a + 1) * d], &anchors[b * d..(b + 1) * d]);
                assert!((square - plain).abs() < 1e-12, "{a} {b}: {square} {plain}");
            }
        }
    }

    #[test]
    fn quantiles_take_weights_for_copies() {
        let plain = |values: &[f64]| Sorted::new(values.iter().map(|&v| (v, 1.0)).collect());
        let copies = plain(&[3.0, 1.0, 1.0, 1.0, 2.0, 2.0, 9.0]);
        let weighted = Sorted::new(vec![(3.0, 1.0), (9.0, 1.0), (1.0, 3.0), (2.0, 2.0)]);
        for share in [0.01, 0.25, 0.5, 3.0 / 7.0, 0.75, 0.95, 1.0] {
            let mut slow = vec![1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 9.0];
            slow.truncate((share * 7.0 - 1e-6_f64).ceil() as usize);
            assert_eq!(copies.quantile(share), *slow.last().unwrap());
            assert_eq!(weighted.quantile(share), *slow.last().unwrap());
        }
        assert_eq!(plain(&[]).quantile(0.5), 0.0);
    }

    #[test]
    fn anchors_alone_tell_what_is_usual_where_a_file_does_not() {
        let found = Spread::of_anchors(&[0.0, 1.0, 3.0, 6.0], 1, 2);
        // Nearest ones at 1, 1, 2 and 3.
        assert_eq!(found.usual, [1.0, 1.0]);
        assert!(found.fits(4, 2) && !found.fits(3, 2) && !found.fits(4, 3));
        assert_eq!(Spread::of_anchors(&[5.0], 1, 1).usual, [1.0]);
    }
}
