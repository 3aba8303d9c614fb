//! Where the points lie, that they never change, and that no size panics.

use obcut_core::kmeans::{Schedule, Seeding, Weighted, assign, fit};
use obcut_core::normalize::{Scale, Scaling};
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;
use obcut_core::{Silent, Stage, block::Scratch};

use super::mixture::Mixture;
use super::*;
use crate::metrics::{self, Average, nmi};
use crate::synthetic;

/// Usual settings of the shapes.
const BLOBS_SPREAD: f64 = 1.0;
const MOONS_NOISE: f64 = 0.05;
const RINGS_NOISE: f64 = 0.05;
const SUBSPACES_FEATURES: usize = 30;
const SUBSPACES_CLUSTERS: usize = 5;
const SUBSPACES_DIMENSION: usize = 4;
const SUBSPACES_NOISE: f64 = 0.01;

fn dense(data: &Labelled) -> (&[f64], usize) {
    match &data.matrix {
        Matrix::Dense64 { values, n_cols, .. } => (values, *n_cols),
        other => panic!("not a dense matrix of f64: {other:?}"),
    }
}

fn single(data: &Labelled) -> &[f32] {
    match &data.matrix {
        Matrix::Dense32 { values, .. } => values,
        other => panic!("not a dense matrix of f32: {other:?}"),
    }
}

fn rows(data: &Labelled) -> impl Iterator<Item = (&[f64], usize)> {
    let (values, n_cols) = dense(data);
    values.chunks_exact(n_cols).zip(data.labels.iter().map(|&label| label as usize))
}

fn sizes(labels: &[u32], k: usize) -> Vec<usize> {
    let mut sizes = vec![0; k];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    sizes
}

fn means(data: &Labelled, labels: &[u32], k: usize) -> Vec<Vec<f64>> {
    let (values, d) = dense(data);
    let mut means = vec![vec![0.0; d]; k];
    for (row, &label) in values.chunks_exact(d).zip(labels) {
        means[label as usize].iter_mut().zip(row).for_each(|(m, x)| *m += x);
    }
    for (mean, size) in means.iter_mut().zip(sizes(labels, k)) {
        mean.iter_mut().for_each(|m| *m /= size.max(1) as f64);
    }
    means
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Labels after 50 rounds of k-means.
fn lloyd(data: &Labelled, mut centers: Vec<Vec<f64>>) -> Vec<u32> {
    let mut labels = Vec::new();
    for _ in 0..50 {
        let nearest = |row: &[f64]| {
            let near = |a: &usize, b: &usize| {
                distance(row, &centers[*a]).total_cmp(&distance(row, &centers[*b]))
            };
            (0..centers.len()).min_by(near).unwrap() as u32
        };
        labels = rows(data).map(|(row, _)| nearest(row)).collect();
        centers = means(data, &labels, centers.len());
    }
    labels
}

#[test]
fn every_generator_takes_any_size() {
    for n in [0, 1, 2, 3, 7, 300] {
        for k in [0, 1, 3, 10, usize::MAX] {
            let sets = [
                blobs(n, 4, k, BLOBS_SPREAD, 1),
                blobs(n, 0, k, f64::NAN, 1),
                blobs(n, 1, k, -1.0, 1),
                moons(n, MOONS_NOISE, 1),
                rings(n, k, RINGS_NOISE, 1),
                subspaces(n, 6, k, 2, SUBSPACES_NOISE, 1),
                subspaces(n, 3, k, usize::MAX, 0.0, 1),
                mixture(n, 5, k, 1),
                mixture(n, 0, k, 1),
            ];
            for data in sets {
                assert_eq!((data.matrix.n_rows(), data.labels.len()), (n, n));
                assert!(data.matrix.samples().is_ok());
            }
        }
    }
}

#[test]
fn classes_are_even_and_in_random_order() {
    let sets = [
        (blobs(103, 3, 4, BLOBS_SPREAD, 5), 4),
        (moons(103, MOONS_NOISE, 5), 2),
        (rings(103, 3, RINGS_NOISE, 5), 3),
        (subspaces(103, 8, 5, 2, SUBSPACES_NOISE, 5), 5),
    ];
    for (data, k) in sets {
        let sizes = sizes(&data.labels, k);
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        assert!(!data.labels.is_sorted());
        let first = &data.labels[..k];
        assert_ne!(first, (0..k as u32).collect::<Vec<_>>(), "not dealt in turn");
    }
}

#[test]
fn the_seed_decides_everything() {
    let make = |seed| {
        [
            blobs(50, 3, 4, BLOBS_SPREAD, seed),
            moons(50, MOONS_NOISE, seed),
            rings(50, 3, RINGS_NOISE, seed),
            subspaces(50, 8, 5, 2, SUBSPACES_NOISE, seed),
            mixture(50, 8, 5, seed),
        ]
    };
    assert_eq!(make(1), make(1));
    for (one, two) in make(1).iter().zip(&make(2)) {
        assert_ne!(one.matrix, two.matrix);
        assert_ne!(one.labels, two.labels);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let make = || (blobs(2000, 3, 4, 1.0, 9), mixture(2000, 17, 5, 9));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let five = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    assert_eq!(one.install(make), five.install(make));
}

#[test]
fn k_means_finds_blobs_without_error() {
    for seed in 0..5 {
        for (d, k) in [(2, 4), (1, 9), (2, 40), (16, 10)] {
            let data = blobs(1000, d, k, BLOBS_SPREAD, seed);
            let centers = means(&data, &data.labels, k);
            for (i, a) in centers.iter().enumerate() {
                assert!(centers[..i].iter().all(|b| distance(a, b) > 10.0));
            }
            // From the point of each class that comes first, as a good seeding would give.
            let first = |j| rows(&data).find(|(_, label)| *label == j).unwrap().0.to_vec();
            let labels = lloyd(&data, (0..k).map(first).collect());
            assert_eq!(metrics::nmi(&labels, &data.labels, metrics::Average::Max).unwrap(), 1.0);
        }
    }
}

#[test]
fn blobs_have_the_spread_asked_for() {
    let data = blobs(4000, 5, 3, 2.5, 3);
    let centers = means(&data, &data.labels, 3);
    let square: f64 = rows(&data).map(|(row, j)| distance(row, &centers[j]).powi(2)).sum();
    assert!(((square / (4000.0 * 5.0)).sqrt() - 2.5).abs() < 0.05);
}

#[test]
fn moons_are_two_interleaved_half_circles() {
    for (row, class) in rows(&moons(401, 0.0, 7)) {
        let (x, y) = (row[0], row[1]);
        let (radius, inside) = match class {
            0 => (x.hypot(y), y >= 0.0),
            _ => ((x - 1.0).hypot(y - 0.5), y <= 0.5),
        };
        assert!((radius - 1.0).abs() < 1e-15 && inside, "{row:?} of moon {class}");
    }
    let (exact, noisy) = (moons(400, 0.0, 7), moons(400, MOONS_NOISE, 7));
    let away: Vec<f64> =
        rows(&exact).zip(rows(&noisy)).map(|((a, _), (b, _))| distance(a, b)).collect();
    assert!(away.iter().all(|&d| d > 0.0 && d < 6.0 * MOONS_NOISE));
}

#[test]
fn rings_have_radii_one_two_three() {
    let data = rings(900, 3, RINGS_NOISE, 7);
    let mut turned = [[0; 4]; 3];
    for (row, class) in rows(&data) {
        let radius = row[0].hypot(row[1]);
        assert!((radius - (class + 1) as f64).abs() < 5.0 * RINGS_NOISE, "{row:?}");
        turned[class][usize::from(row[0] > 0.0) + 2 * usize::from(row[1] > 0.0)] += 1;
    }
    assert!(turned.iter().flatten().all(|&count| (65..85).contains(&count)), "{turned:?}");
}

/// Share of the variance of a class that is off its `dimension` main axes, by deflation.
fn off_subspace(data: &Labelled, class: usize, dimension: usize) -> f64 {
    let mut points: Vec<Vec<f64>> =
        rows(data).filter(|(_, j)| *j == class).map(|(row, _)| row.to_vec()).collect();
    let total = |points: &[Vec<f64>]| points.iter().flatten().map(|x| x * x).sum::<f64>();
    let before = total(&points);
    for _ in 0..dimension {
        // `dimension` points span the subspace: project along the largest that is left.
        let norm = |p: &[f64]| p.iter().map(|x| x * x).sum::<f64>();
        let longest = points.iter().max_by(|a, b| norm(a).total_cmp(&norm(b))).unwrap().clone();
        for point in &mut points {
            let along: f64 = point.iter().zip(&longest).map(|(x, y)| x * y).sum::<f64>();
            let factor = along / norm(&longest);
            point.iter_mut().zip(&longest).for_each(|(x, y)| *x -= factor * y);
        }
    }
    total(&points) / before
}

fn usual_subspaces(noise: f64, seed: u64) -> Labelled {
    subspaces(2000, SUBSPACES_FEATURES, SUBSPACES_CLUSTERS, SUBSPACES_DIMENSION, noise, seed)
}

#[test]
fn subspaces_are_flat_and_of_the_dimension_asked_for() {
    let (exact, noisy) = (usual_subspaces(0.0, 2), usual_subspaces(SUBSPACES_NOISE, 2));
    for class in 0..SUBSPACES_CLUSTERS {
        assert!(off_subspace(&exact, class, SUBSPACES_DIMENSION) < 1e-20);
        assert!(off_subspace(&exact, class, SUBSPACES_DIMENSION - 1) > 0.01);
        assert!(off_subspace(&noisy, class, SUBSPACES_DIMENSION) < 2e-3);
    }
    // Orthonormal axes and standard normal coefficients: the mean square length is the dimension.
    let square: f64 = dense(&exact).0.iter().map(|x| x * x).sum();
    assert!((square / 2000.0 - SUBSPACES_DIMENSION as f64).abs() < 0.2);
}

#[test]
fn k_means_is_lost_on_subspaces() {
    for seed in 0..3 {
        let data = usual_subspaces(SUBSPACES_NOISE, seed);
        let (values, d) = dense(&data);
        let start = values.chunks_exact(d).take(SUBSPACES_CLUSTERS).map(<[f64]>::to_vec).collect();
        let labels = lloyd(&data, start);
        let nmi = metrics::nmi(&labels, &data.labels, metrics::Average::Max).unwrap();
        assert!(nmi < 0.4, "{nmi}");
    }
}

#[test]
fn rows_of_a_mixture_do_not_depend_on_their_number_nor_on_the_piece() {
    let (d, k, n) = (33, 7, 1000);
    let all = mixture(n, d, k, 4);
    let fewer = mixture(600, d, k, 4);
    assert_eq!(single(&fewer), &single(&all)[..600 * d]);
    assert_eq!(fewer.labels, all.labels[..600]);
    let source = Mixture::new(d, k, 4);
    let (mut values, mut labels) = (vec![0.0; 301 * d], vec![0; 301]);
    source.fill(450, &mut values, &mut labels);
    assert_eq!(values, single(&all)[450 * d..751 * d]);
    assert_eq!(labels, all.labels[450..751]);
}

#[test]
fn a_mixture_fills_the_unit_interval_with_uneven_clusters() {
    let (n, d, k) = (20_000, 24, 15);
    let data = mixture(n, d, k, 6);
    let values = single(&data);
    for f in 0..d {
        let column = || values.iter().skip(f).step_by(d).copied();
        assert!(column().all(|x| (0.0..=1.0).contains(&x)));
        assert!(column().fold(1.0, f32::min) < 0.1 && column().fold(0.0, f32::max) > 0.9);
        let clipped = column().filter(|&x| x == 0.0 || x == 1.0).count();
        assert!(clipped < n / 200, "{clipped} of {n}");
    }
    let sizes = sizes(&data.labels, k);
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(*least > 0 && most > &(2 * least), "{sizes:?}");
    let small = mixture(k, d, k, 6);
    assert!(self::sizes(&small.labels, k).iter().all(|&size| size == 1), "none is empty");
}

#[test]
fn the_first_values_are_those_once_recorded() {
    // Written down at the first version: a change here changes everybody's data.
    let recorded = [
        (
            blobs(100, 3, 4, BLOBS_SPREAD, 42),
            [8.667770267594639, -8.957563194252463, -8.68055037231215, 4.083912744938971],
            [3, 0, 2, 1, 1, 3, 0, 3],
        ),
        (
            moons(100, MOONS_NOISE, 42),
            [1.6358203242506968, -0.30083988645060283, -1.0026937100996318, 0.403243803230623],
            [1, 0, 0, 1, 1, 1, 0, 1],
        ),
        (
            rings(100, 3, RINGS_NOISE, 42),
            [-0.9688733675603005, -2.8540108601265786, 1.3938301131211772, -1.2920224377572216],
            [2, 1, 1, 1, 1, 2, 1, 1],
        ),
        (
            subspaces(100, 6, 3, 2, SUBSPACES_NOISE, 42),
            [0.05821268843347226, 0.21524883859343727, 0.23469564524398703, 0.27661075241513405],
            [2, 1, 1, 1, 1, 2, 1, 1],
        ),
    ];
    for (data, values, labels) in recorded {
        assert_eq!(dense(&data).0[..4], values);
        assert_eq!(data.labels[..8], labels);
    }
    let data = mixture(100, 8, 5, 42);
    assert_eq!(single(&data)[..4], [0.73856246, 0.35473466, 0.4981841, 0.45626608]);
    assert_eq!(data.labels[..8], [4, 3, 1, 2, 0, 0, 4, 1]);
}

/// The generated shapes are worth clustering by a graph because this cannot find them.
#[test]
fn k_means_finds_blobs_and_no_other_generated_shape() {
    let context = Context::new(2, &Silent).unwrap();
    let sets = [
        (synthetic::blobs(2000, 8, 6, BLOBS_SPREAD, 1), 6, true),
        (synthetic::moons(2000, MOONS_NOISE, 1), 2, false),
        (synthetic::rings(3000, 3, RINGS_NOISE, 1), 3, false),
        (synthetic::subspaces(2000, 30, 5, 4, 0.01, 1), 5, false),
    ];
    for (data, k, easy) in sets {
        let samples = data.matrix.samples().unwrap();
        let kind = Scale::MinMax;
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
            ..Schedule::ALL_ROWS
        };
        let stage = Stage::Start;
        let centers = fit(&rows, k, schedule, Stream::new(1), &context, stage).unwrap();
        let points = table.points(centers.values);
        let labels = assign(&table, &points, &context).unwrap();
        let score = nmi(&labels, &data.labels, Average::Max).unwrap();
        println!("k = {k}: NMI {score:.3}");
        assert!(if easy { score > 0.99 } else { score < 0.45 }, "k = {k}: {score}");
    }
}
