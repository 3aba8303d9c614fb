//! A map of the rows, for pictures: a disc for every cluster, on a circle, neighbors side by side.
//!
//! Anchors lie in the disc of their cluster, along the two main directions in which its anchors differ. A row
//! lies at the mean of its anchors, weighted by its links: well inside a disc when its cluster is
//! clear, on the way to another one when it is not. The map depends on the model alone, so new rows
//! find their place among the old ones.

use crate::model::Prediction;
use obcut_core::Graph;
use obcut_core::error::Error;
use obcut_core::linalg::gemm::gram;
use obcut_core::linalg::simd::squared_distance;
use obcut_core::linalg::{eigen, factor};
use obcut_core::random::Stream;

/// Part of the way to the neighboring disc that a disc fills.
const FILL: f64 = 0.8;

impl Prediction<'_> {
    /// A map of the rows, N × 2: every cluster has a disc on a circle, similar clusters side by side, and
    /// a row lies at the mean of its anchors. Rows that are hard to place lie between the discs.
    ///
    /// # Errors
    /// As [`Self::labels`].
    pub fn layout_2d(&self) -> Result<Vec<f64>, Error> {
        let (graph, model) = (self.graph()?, self.model);
        let anchor_labels = model.anchor_labels();
        let of_anchor = places(&model.anchors, model.width(), &anchor_labels, model.n_clusters())?;
        let of_column: Vec<[f64; 2]> =
            model.layout.anchor_of_column().iter().map(|&a| of_anchor[a as usize]).collect();
        Ok(map(&graph, &of_column))
    }
}

/// Two coordinates for every row of a graph whose columns lie at `places`.
fn map(graph: &Graph, places: &[[f64; 2]]) -> Vec<f64> {
    let mut out = Vec::with_capacity(2 * graph.n_rows());
    for i in 0..graph.n_rows() {
        let (columns, values) = graph.row(i);
        let place = columns.iter().zip(values).fold([0.0; 2], |sum, (&m, v)| {
            let [x, y] = places[m as usize];
            [sum[0] + v * x, sum[1] + v * y]
        });
        out.extend(place);
    }
    out
}

/// Places of the anchors (M × d, with their clusters).
fn places(anchors: &[f64], d: usize, labels: &[u32], k: usize) -> Result<Vec<[f64; 2]>, Error> {
    let members = |j: u32| (0..labels.len()).filter(move |&a| labels[a] == j);
    let centers: Vec<Option<Vec<f64>>> =
        (0..k as u32).map(|j| center(anchors, d, members(j))).collect();
    let middles = circle(&tour(&centers), k);
    let radius = if k == 1 { 1.0 } else { FILL * (std::f64::consts::PI / k as f64).sin() };
    let mut places = vec![[0.0; 2]; labels.len()];
    for (j, middle) in middles.iter().enumerate() {
        let chosen: Vec<usize> = members(j as u32).collect();
        if let Some(center) = &centers[j] {
            let inside = disc(anchors, d, &chosen, center)?;
            for (&a, [x, y]) in chosen.iter().zip(inside) {
                places[a] = [middle[0] + radius * x, middle[1] + radius * y];
            }
        }
    }
    Ok(places)
}

/// The mean of some anchors, if there are any.
fn center(anchors: &[f64], d: usize, members: impl Iterator<Item = usize>) -> Option<Vec<f64>> {
    let (mut sum, mut count) = (vec![0.0; d], 0.0);
    for a in members {
        sum.iter_mut().zip(&anchors[a * d..(a + 1) * d]).for_each(|(s, v)| *s += v);
        count += 1.0;
    }
    sum.iter_mut().for_each(|s| *s /= count);
    (count > 0.0).then_some(sum)
}

/// The clusters in the order of a walk that always goes to the nearest one not yet visited; those without
/// anchors come last.
fn tour(centers: &[Option<Vec<f64>>]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..centers.len()).collect();
    let mut order: Vec<usize> = Vec::new();
    while !left.is_empty() {
        let here = order.last().and_then(|&j| centers[j].as_ref());
        let distance = |j: usize| match (here, &centers[j]) {
            (Some(a), Some(b)) => squared_distance(a, b),
            (None, Some(_)) => 0.0,
            _ => f64::INFINITY,
        };
        let next = (0..left.len())
            .min_by(|&a, &b| distance(left[a]).total_cmp(&distance(left[b])))
            .unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// Middles of the discs, by cluster.
fn circle(order: &[usize], k: usize) -> Vec<[f64; 2]> {
    let mut middles = vec![[0.0; 2]; k];
    if k > 1 {
        for (rank, &j) in order.iter().enumerate() {
            let angle = rank as f64 * std::f64::consts::TAU / k as f64;
            middles[j] = [angle.sin(), angle.cos()];
        }
    }
    middles
}

/// Anchors of one cluster within the unit disc, along their two main directions.
fn disc(
    anchors: &[f64],
    d: usize,
    chosen: &[usize],
    center: &[f64],
) -> Result<Vec<[f64; 2]>, Error> {
    let m = chosen.len();
    let moved: Vec<f64> = chosen
        .iter()
        .flat_map(|&a| anchors[a * d..(a + 1) * d].iter().zip(center).map(|(v, c)| v - c))
        .collect();
    let products = gram(&moved, m, d);
    let (values, vectors) = if m <= 2 {
        let (values, vectors) = factor::symmetric_eigen(&products, m)?;
        let rotated = (0..m).flat_map(|i| (0..m).rev().map(move |j| (i, j)));
        (values.into_iter().rev().collect(), rotated.map(|(i, j)| vectors[i * m + j]).collect())
    } else {
        eigen::largest(&products, m, 2, Stream::new(0).named("plane"), || Ok(()))?
    };
    let width = values.len();
    let coordinate = |i: usize, c: usize| -> f64 {
        let along = |i: usize| vectors[i * width + c] * values[c].max(0.0).sqrt();
        // The sign of an eigenvector is arbitrary: its first entry shall not be negative.
        if c >= width {
            0.0
        } else if vectors[c] < 0.0 {
            -along(i)
        } else {
            along(i)
        }
    };
    let places: Vec<[f64; 2]> = (0..m).map(|i| [coordinate(i, 0), coordinate(i, 1)]).collect();
    let reach = places.iter().map(|[x, y]| x.hypot(*y)).fold(0.0, f64::max);
    let scale = if reach > 0.0 { 1.0 / reach } else { 0.0 };
    Ok(places.into_iter().map(|[x, y]| [x * scale, y * scale]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_get_discs_and_neighbors_lie_side_by_side() {
        // Four clusters on a line, in mixed order; each of five anchors.
        let at = [0.0, 20.0, 10.0, 30.0];
        let (mut anchors, mut labels) = (Vec::new(), Vec::new());
        for (j, x) in at.iter().enumerate() {
            for i in 0..5 {
                anchors.extend([x + 0.1 * f64::from(i), 0.01 * f64::from(i * i)]);
                labels.push(j as u32);
            }
        }
        let places = places(&anchors, 2, &labels, 4).unwrap();
        let middle = |j: usize| {
            let sum =
                places[5 * j..5 * j + 5].iter().fold([0.0; 2], |s, p| [s[0] + p[0], s[1] + p[1]]);
            [sum[0] / 5.0, sum[1] / 5.0]
        };
        let gap = |a: usize, b: usize| {
            let (a, b) = (middle(a), middle(b));
            (a[0] - b[0]).hypot(a[1] - b[1])
        };
        // 0, 2, 1, 3 is the order on the line.
        assert!(gap(0, 2) < gap(0, 1) && gap(2, 1) < gap(2, 3) && gap(1, 3) < gap(0, 1));
        for j in 0..4 {
            let far = |p: &[f64; 2]| (p[0] - middle(j)[0]).hypot(p[1] - middle(j)[1]);
            assert!(places[5 * j..5 * j + 5].iter().all(|p| far(p) < 0.5 * gap(0, 2)));
        }
        // One anchor, no spread, one cluster.
        assert_eq!(super::places(&[3.0], 1, &[0], 1).unwrap(), [[0.0, 0.0]]);
        let mut graph = Graph::empty(20);
        graph.push(&[0, 5], &[0.5, 0.5]);
        let row = map(&graph, &places);
        assert!((row[0] - (places[0][0] + places[5][0]) / 2.0).abs() < 1e-12);
    }
}
