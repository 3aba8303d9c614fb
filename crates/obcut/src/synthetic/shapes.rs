//! The textbook shapes: blobs, moons, rings and a union of subspaces.

use super::random::{NumberStream, Use, direction};
use super::{Labelled, generate, possible_clusters};

/// Least distance of two centers of blobs, in deviations: 6 on either side of the border.
const SEPARATION: f64 = 12.0;
/// Half the side of the box that centers are first drawn from, in deviations.
const BOX: f64 = 10.0;
/// Draws of a center before the box is made larger.
const DRAWS: usize = 64;
/// How often the box is made larger before a near center is accepted.
const GROWTHS: usize = 64;

/// Round clusters: normal noise of deviation `spread` in every direction around centers at least
/// 12 deviations apart. k-means finds them at any `spread`; 1 is usual.
pub fn blobs(n: usize, n_features: usize, n_clusters: usize, spread: f64, seed: u64) -> Labelled {
    let k = possible_clusters(n, n_clusters);
    let centers = blob_centers(n_features, k, spread, seed);
    generate(n, n_features, k, seed, |place, stream, row| {
        for (value, center) in row.iter_mut().zip(&centers[place.class]) {
            *value = center + spread * stream.normal();
        }
    })
}

/// Uniform centers in a box that grows until they keep their distance.
fn blob_centers(n_features: usize, k: usize, spread: f64, seed: u64) -> Vec<Vec<f64>> {
    let unit = if spread.abs() > 0.0 { spread.abs() } else { 1.0 };
    let apart = (SEPARATION * unit) * (SEPARATION * unit);
    let mut stream = NumberStream::new(seed, Use::Shape, 0);
    let mut half_side = BOX * unit;
    let mut centers: Vec<Vec<f64>> = Vec::with_capacity(k);
    while centers.len() < k {
        let mut draw = |half| -> Vec<f64> {
            (0..n_features).map(|_| half * (2.0 * stream.uniform() - 1.0)).collect()
        };
        let mut center = draw(half_side);
        for attempt in 1..DRAWS * GROWTHS {
            // With no features, or distances beyond f64, no draw is ever far enough.
            if n_features == 0
                || centers.iter().all(|other| square_distance(&center, other) >= apart)
            {
                break;
            }
            if attempt % DRAWS == 0 {
                half_side *= 1.25;
            }
            center = draw(half_side);
        }
        centers.push(center);
    }
    centers
}

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// Two interleaved half circles, as scikit-learn's `make_moons`: points at even angles, plus normal
/// noise in both features. 0.05 leaves a clear gap.
pub fn moons(n: usize, noise: f64, seed: u64) -> Labelled {
    generate(n, 2, 2, seed, |place, stream, row| {
        let share = place.rank as f64 / (place.size - 1).max(1) as f64;
        let [cos, sin] = direction(0.5 * share);
        let point = if place.class == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] };
        for (value, exact) in row.iter_mut().zip(point) {
            *value = exact + noise * stream.normal();
        }
    })
}

/// Circles of radius 1, 2, 3, … around the origin: points at even angles, plus normal noise in
/// both features. 0.05 leaves clear gaps.
pub fn rings(n: usize, n_rings: usize, noise: f64, seed: u64) -> Labelled {
    generate(n, 2, possible_clusters(n, n_rings), seed, |place, stream, row| {
        let radius = (place.class + 1) as f64;
        let point = direction(place.rank as f64 / place.size as f64);
        for (value, exact) in row.iter_mut().zip(point) {
            *value = radius * exact + noise * stream.normal();
        }
    })
}

/// Random linear subspaces through the origin: standard normal coefficients on an orthonormal
/// basis, plus normal noise in every feature. All classes share one mean, so k-means is lost on
/// them. Usual are 5 subspaces of dimension 4 in 30 features with noise 0.01, about 400 rows each; a
/// `dimension` above `n_features` is taken as `n_features`.
pub fn subspaces(
    n: usize,
    n_features: usize,
    n_clusters: usize,
    dimension: usize,
    noise: f64,
    seed: u64,
) -> Labelled {
    let k = possible_clusters(n, n_clusters);
    let bases: Vec<_> = (0..k)
        .map(|j| orthonormal(n_features, dimension, &mut NumberStream::new(seed, Use::Shape, j)))
        .collect();
    generate(n, n_features, k, seed, |place, stream, row| {
        for axis in &bases[place.class] {
            let coefficient = stream.normal();
            add(row, coefficient, axis);
        }
        for value in row {
            *value += noise * stream.normal();
        }
    })
}

/// Random orthonormal vectors, by Gram-Schmidt on normal vectors.
fn orthonormal(n_features: usize, dimension: usize, stream: &mut NumberStream) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < dimension.min(n_features) {
        let mut axis: Vec<f64> = (0..n_features).map(|_| stream.normal()).collect();
        // Once leaves rounding errors of the order of what it cancels; twice is enough.
        for other in basis.iter().chain(&basis) {
            let along = -dot(&axis, other);
            add(&mut axis, along, other);
        }
        let norm = dot(&axis, &axis).sqrt();
        // Only when the draw fell into the span of the others, which no seed will live to see.
        if norm > 1e-9 {
            axis.iter_mut().for_each(|value| *value /= norm);
            basis.push(axis);
        }
    }
    basis
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `to += factor * from`.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (value, other) in to.iter_mut().zip(from) {
        *value += factor * other;
    }
}
