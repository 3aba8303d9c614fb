//! Rows in a plane, for pictures: their embedding along the two main directions of the anchors'.
//!
//! A row's embedding is b diag(w) H, a mean of its anchors', in k dimensions. The directions depend on
//! the model alone, so new rows find their place among the old ones.

use crate::error::Error;
use crate::graph::Graph;
use crate::linalg::factor::symmetric_eigen;
use crate::linalg::simd::dot;
use crate::solver::rule::Rule;
use crate::solver::update::embedding;

/// Two coordinates for every row of a graph.
pub(crate) fn plane(graph: &Graph, rule: &Rule) -> Result<Vec<f64>, Error> {
    let k = rule.n_clusters;
    let anchors = embedding::weighted(&rule.embedding, &rule.anchor_weights, k);
    let (center, directions) = directions(&anchors, k)?;
    // A row of B sums to one, so the anchors' places add up to the row's.
    let places: Vec<[f64; 2]> = anchors
        .chunks_exact(k)
        .map(|a| {
            let moved: Vec<f64> = a.iter().zip(&center).map(|(v, c)| v - c).collect();
            directions.each_ref().map(|d| dot(d, &moved))
        })
        .collect();
    let mut out = Vec::with_capacity(2 * graph.n_rows());
    for i in 0..graph.n_rows() {
        let (columns, values) = graph.row(i);
        let place = columns.iter().zip(values).fold([0.0; 2], |sum, (&m, v)| {
            let [x, y] = places[m as usize];
            [sum[0] + v * x, sum[1] + v * y]
        });
        out.extend(place);
    }
    Ok(out)
}

/// The mean of points (M × k) and the two directions in which they differ most.
fn directions(points: &[f64], k: usize) -> Result<(Vec<f64>, [Vec<f64>; 2]), Error> {
    let n = (points.len() / k) as f64;
    let mut center = vec![0.0; k];
    points.chunks_exact(k).for_each(|p| center.iter_mut().zip(p).for_each(|(c, v)| *c += v / n));
    let mut covariance = vec![0.0; k * k];
    for p in points.chunks_exact(k) {
        for a in 0..k {
            for b in 0..k {
                covariance[a * k + b] += (p[a] - center[a]) * (p[b] - center[b]) / n;
            }
        }
    }
    let (_, vectors) = symmetric_eigen(&covariance, k)?;
    let direction = |rank: usize| {
        let Some(column) = k.checked_sub(rank + 1) else { return vec![0.0; k] };
        let vector: Vec<f64> = (0..k).map(|a| vectors[a * k + column]).collect();
        // The sign of an eigenvector is arbitrary: its largest entry shall be positive.
        let largest = vector.iter().fold(0.0, |l: f64, v| if v.abs() > l.abs() { *v } else { l });
        vector.iter().map(|v| v * largest.signum()).collect()
    };
    Ok((center, [direction(0), direction(1)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_the_main_axes() {
        // Points on an ellipse, long along the first axis.
        let points: Vec<f64> = (0..100)
            .flat_map(|i| {
                let t = f64::from(i) * std::f64::consts::TAU / 100.0;
                [5.0 + 3.0 * t.cos(), 1.0 + t.sin(), 2.0]
            })
            .collect();
        let (center, [first, second]) = directions(&points, 3).unwrap();
        let near = |a: &[f64], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near(&center, [5.0, 1.0, 2.0]), "{center:?}");
        assert!(near(&first, [1.0, 0.0, 0.0]), "{first:?}");
        assert!(near(&second, [0.0, 1.0, 0.0]), "{second:?}");
        assert!(directions(&[1.0, 2.0], 1).unwrap().1[1] == [0.0]);
    }
}
