//! How well the clusters of a fit come back on parts of its rows.
//!
//! The way that led to the labels is gone again on resamples: parts of the distinct rows, with anchors or
//! nearest rows of their own. A cluster is compared with the most similar cluster of every resample by the
//! Jaccard index (rows in both over rows in either), as Hennig's `clusterboot` does (2007), and all clusters
//! at once by the adjusted Rand index. Rows count with their weights.

use std::collections::BTreeMap;

use crate::solver::init;
use crate::solver::judge::MANY;
use crate::solver::learn;
use crate::solver::plan::{CandidateKind, Plan};
use crate::solver::problem::{Problem, Procedure};
use crate::solver::propose::RowGraph;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::kmeans::Weighted;
use obcut_core::observer::Clock;
use obcut_core::observer::Stage;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

/// Share of the distinct rows in a resample,
const SHARE: f64 = 0.8;
/// but no more than these, or so many per cluster.
const ROWS: usize = 4000;
const ROWS_PER_CLUSTER: usize = 20;
/// Values of a resample up to which several are clustered at once.
const SMALL: usize = 1 << 22;

/// Agreement of a fit with its resamples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stability {
    /// The mean adjusted Rand index.
    pub fit: f64,
    /// The mean Jaccard index of every cluster with its best match; `None` where no resample has rows of it.
    pub clusters: Vec<Option<f64>>,
}

impl Problem<'_> {
    /// Repeats a procedure on resamples, and compares with the labels that it led to.
    pub fn stability(
        &self,
        labels: &[u32],
        procedure: &Procedure,
        given: Option<&[f64]>,
        context: &Context<'_>,
    ) -> Result<Stability, Error> {
        let (k, n) = (self.params.n_clusters, self.rows.table.n());
        if k == 1 {
            return Ok(Stability { fit: 1.0, clusters: vec![Some(1.0)] });
        }
        let most = ROWS.max(k.saturating_mul(ROWS_PER_CLUSTER));
        let count = ((SHARE * n as f64).ceil() as usize).min(most).max(k);
        let root = Stream::new(self.params.seed).named("stability");
        let quiet = context.quietly();
        let one = |at: usize| {
            let stream = root.nth(at);
            let sample = self.rows.sample(count, stream.named("rows"), &quiet)?;
            let table = sample.table()?;
            let rows = sample.rows(&table);
            let start = (self.start.as_ref())
                .map(|start| sample.chosen.iter().map(|&i| start[i as usize]).collect());
            let first_rows: Vec<u32> =
                sample.chosen.iter().map(|&i| self.first_rows[i as usize]).collect();
            let found =
                self.again(&rows, (&first_rows, start), procedure, given, stream, &quiet)?;
            let kept: Vec<u32> = sample.chosen.iter().map(|&i| labels[i as usize]).collect();
            Ok::<_, Error>(Agreement::new(&kept, &found, rows.weights, k))
        };
        let n_resamples = self.params.stability;
        let at_once = if count * self.rows.table.d() <= SMALL { n_resamples } else { 1 };
        let mut all: Vec<Agreement> = Vec::new();
        for first in (0..n_resamples).step_by(at_once) {
            context.report(Stage::Stability, first, n_resamples, None)?;
            for found in context.each(at_once, |at| one(first + at))? {
                all.push(found?);
            }
        }
        Ok(Stability::mean(&all, k))
    }

    /// The labels of some rows by the same procedure.
    fn again(
        &self,
        rows: &Weighted<'_, '_>,
        (first_rows, start): (&[u32], Option<Vec<u32>>),
        procedure: &Procedure,
        given: Option<&[f64]>,
        stream: Stream,
        context: &Context<'_>,
    ) -> Result<Vec<u32>, Error> {
        let params = self.params;
        let plan = Plan::new(params, rows.table.n(), rows.table.d(), given)?;
        let plan = plan.only(&procedure.job, procedure.vectors);
        let total: f64 = rows.weights.iter().sum();
        // A cluster of ten rows shows as fewer in a part of them.
        let row_weight = self.row_weight * total / self.total;
        let total_square = learn::total_square(rows.table, rows.weights, context)?;
        let plan = &plan;
        let part =
            Problem { rows, plan, params, total, row_weight, total_square, first_rows, start };
        let anchors = match given {
            Some(given) => given.to_vec(),
            None => init::anchors(rows, &plan.blocks, params, stream, context)?,
        };
        if let [CandidateKind::Anchors(way)] = &plan.jobs[..] {
            let clock = &mut Clock::default();
            let vectors = plan.only_vectors;
            let mut found = part.run(way, vectors, &anchors, stream, context, clock)?;
            if part.loops() {
                part.learn(&mut found, stream, context)?;
            }
            return Ok(found.labels);
        }
        let sources =
            if plan.sources.is_empty() { Vec::new() } else { part.sources(&anchors, context)? };
        let none = Graph::empty(0);
        let rule_graph = sources.get(plan.rule_graph).unwrap_or(&none);
        let row_graph = RowGraph::new(rows, MANY + 1, context)?;
        let graphs = (&sources[..], rule_graph);
        let choice = part.choose(&plan.jobs, graphs, &anchors, &row_graph, stream, context)?;
        Ok(choice.best.labeled.labels)
    }
}

impl Stability {
    fn mean(all: &[Agreement], k: usize) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let of_fit: Vec<f64> = all.iter().map(|a| a.ari).collect();
        let of_cluster = |j: usize| {
            let found: Vec<f64> = all.iter().filter_map(|a| a.jaccard[j]).collect();
            (!found.is_empty()).then(|| mean(&found))
        };
        Self { fit: mean(&of_fit), clusters: (0..k).map(of_cluster).collect() }
    }
}

/// Numbers of clusters up to which all cells of a table of two labelings are stored.
const FEW_CLUSTERS: usize = 256;

/// How two labelings of the same rows agree.
pub(crate) struct Agreement {
    /// The adjusted Rand index, with pairs counted by the product of their weights.
    pub ari: f64,
    /// Of every cluster of the first labeling that has rows.
    jaccard: Vec<Option<f64>>,
}

impl Agreement {
    pub fn new(kept: &[u32], found: &[u32], weights: &[f64], k: usize) -> Self {
        let cells = cells(kept, found, weights, k);
        let (mut a, mut b, mut own, mut total) = (vec![0.0; k], vec![0.0; k], 0.0, 0.0);
        for ((&i, &j), &w) in kept.iter().zip(found).zip(weights) {
            a[i as usize] += w;
            b[j as usize] += w;
            own += w * w;
            total += w;
        }
        let mut jaccard = vec![None; k];
        for &((i, j), both) in &cells {
            let (i, j) = (i as usize, j as usize);
            let value = (both / (a[i] + b[j] - both)).min(1.0);
            if jaccard[i].is_none_or(|best| value > best) {
                jaccard[i] = Some(value);
            }
        }
        // Pairs of different rows, by the product of their weights.
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
        let together = squares(&mut cells.iter().map(|cell| cell.1)) - own;
        let (a, b) = (squares(&mut a.into_iter()) - own, squares(&mut b.into_iter()) - own);
        let chance = a * b / (total * total - own);
        let most = 0.5 * (a + b);
        // Two equal partitions of single rows have no pairs at all.
        let ari = if together >= a.max(b) { 1.0 } else { (together - chance) / (most - chance) };
        Self { ari, jaccard }
    }
}

/// Weight of the rows of every two clusters that share rows, in the order of the clusters.
fn cells(kept: &[u32], found: &[u32], weights: &[f64], k: usize) -> Vec<((u32, u32), f64)> {
    let rows = kept.iter().zip(found).zip(weights);
    if k > FEW_CLUSTERS {
        let mut cells: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        rows.for_each(|((&i, &j), &w)| *cells.entry((i, j)).or_insert(0.0) += w);
        return cells.into_iter().collect();
    }
    let mut cells = vec![0.0; k * k];
    rows.for_each(|((&i, &j), &w)| cells[i as usize * k + j as usize] += w);
    let name = |at: usize| ((at / k) as u32, (at % k) as u32);
    cells.into_iter().enumerate().filter(|cell| cell.1 > 0.0).map(|(at, w)| (name(at), w)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clusters_are_counted_like_few() {
        let kept: Vec<u32> = (0..3000).map(|i| i * 7 % 11).collect();
        let found: Vec<u32> = (0..3000).map(|i| i * i % 13 % 11).collect();
        let weights: Vec<f64> = (0..3000).map(|i| 0.5 + f64::from(i % 4)).collect();
        assert_eq!(cells(&kept, &found, &weights, 11), cells(&kept, &found, &weights, 300));
    }

    #[test]
    fn agreement_of_plain_rows_is_the_adjusted_rand_index() {
        let (a, b) = ([0, 0, 0, 1, 1, 2, 2, 2], [1, 1, 0, 0, 0, 2, 2, 0]);
        let found = Agreement::new(&a, &b, &[1.0; 8], 3);
        assert!((found.ari - crate::metrics::ari(&a, &b).unwrap()).abs() < 1e-12);
        assert_eq!(found.jaccard, [Some(2.0 / 3.0), Some(0.5), Some(2.0 / 3.0)]);
        let same = Agreement::new(&a, &a, &[0.5; 8], 4);
        assert_eq!((same.ari, same.jaccard[3]), (1.0, None));
    }

    #[test]
    fn the_unit_of_the_weights_does_not_matter() {
        let (a, b) = ([0, 0, 1, 1, 1], [0, 1, 1, 1, 0]);
        let weights = [1.0, 2.0, 3.0, 1.0, 2.0];
        let halves = weights.map(|w| w / 2.0);
        let (x, y) = (Agreement::new(&a, &b, &weights, 2), Agreement::new(&a, &b, &halves, 2));
        assert_eq!((x.ari, x.jaccard), (y.ari, y.jaccard));
    }
}
