//! How sure labels are and how usual rows: the same meaning for any table.

mod common;

use common::{confidence, fit_ok, matrix, noisy, outlier_scores};
use obcut::Named;
use obcut::{Fit, GraphKind, Learn, Matrix, Model, Noise, OBCut, Params, RowScore, Samples};

/// Numbers that look random: uniform from 0 to 1.
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// Rows of blobs at random in a cube of side 20 with a deviation of `spread`, then uniform noise over their
/// bounding box, and which rows are noise.
fn noisy_blobs(
    (n, d, k): (usize, usize, usize),
    noise: f64,
    spread: f64,
    seed: u64,
) -> (Vec<f64>, Vec<bool>) {
    let mut draw = Draw(seed);
    let n_noise = (n as f64 * noise) as usize;
    // Centers that are not closer than ten deviations.
    let mut centers: Vec<Vec<f64>> = Vec::new();
    while centers.len() < k {
        let center: Vec<f64> = (0..d).map(|_| 20.0 * draw.uniform()).collect();
        let apart = |c: &Vec<f64>| {
            c.iter().zip(&center).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        if centers.iter().all(|c| apart(c) >= 10.0 * spread) {
            centers.push(center);
        }
    }
    let mut x = Vec::with_capacity(n * d);
    for i in 0..n - n_noise {
        x.extend(centers[i % k].iter().map(|c| c + spread * draw.normal()));
    }
    let bounds: Vec<(f64, f64)> = (0..d)
        .map(|f| {
            let column = || x.iter().skip(f).step_by(d).copied();
            (column().fold(f64::MAX, f64::min), column().fold(f64::MIN, f64::max))
        })
        .collect();
    for _ in 0..n_noise {
        x.extend(bounds.iter().map(|(low, high)| low + (high - low) * draw.uniform()));
    }
    (x, (0..n).map(|i| i >= n - n_noise).collect())
}

/// Chance that a marked row scores above one that is not.
fn auc(scores: &[f64], marked: &[bool]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let ones = marked.iter().filter(|m| **m).count() as f64;
    let ranks: f64 =
        order.iter().enumerate().filter(|(_, i)| marked[**i]).map(|(r, _)| (r + 1) as f64).sum();
    (ranks - ones * (ones + 1.0) / 2.0) / (ones * (scores.len() as f64 - ones))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Rows midway between the means of two blobs, where no other blob is near.
fn midway(x: &[f64], (n, d, k): (usize, usize, usize)) -> Vec<f64> {
    let mean = |j: usize| -> Vec<f64> {
        let rows: Vec<usize> = (j..n).step_by(k).collect();
        let sum = |f: usize| rows.iter().map(|i| x[i * d + f]).sum::<f64>();
        (0..d).map(|f| sum(f) / rows.len() as f64).collect()
    };
    let means: Vec<Vec<f64>> = (0..k).map(mean).collect();
    let mut rows = Vec::new();
    for a in 0..k {
        for b in 0..a {
            let middle: Vec<f64> =
                means[a].iter().zip(&means[b]).map(|(p, q)| 0.5 * (p + q)).collect();
            let far = |c: usize| -> f64 {
                means[c].iter().zip(&middle).map(|(p, q)| (p - q) * (p - q)).sum()
            };
            if (0..k).all(|c| c == a || c == b || far(c) > 1.5 * far(a)) {
                rows.extend(middle);
            }
        }
    }
    rows
}

fn explained(model: &Model, samples: &Samples<'_>) -> Vec<RowScore> {
    model.on(samples).unwrap().threads(1).rows().unwrap()
}

/// Whether a fit says of its rows what its model says of them.
fn assert_repeats(found: &Fit, samples: &Samples<'_>) {
    let rows = explained(found.model(), samples);
    assert!(rows.iter().map(|r| r.label).eq(found.labels().iter().copied()));
    assert!(rows.iter().map(|r| r.confidence).eq(confidence(found).iter().copied()));
    assert!(rows.iter().map(|r| r.outlier).eq(outlier_scores(found).iter().copied()));
    assert!(rows.iter().map(|r| r.noise).eq(noisy(found).iter().copied()));
    assert!(confidence(found).iter().all(|c| (0.0..=1.0).contains(c)));
    assert!(outlier_scores(found).iter().all(|s| s.is_finite() && *s >= 0.0));
    #[cfg(feature = "front-ends")]
    {
        let marked = found.model().on(samples).unwrap().threads(3).labels_or_noise().unwrap();
        assert_eq!(marked, found.labels_or_noise());
    }
}

/// Whether probabilities sum to one, have their maximum at the label, and make the confidence.
fn assert_probabilities(model: &Model, samples: &Samples<'_>) {
    let rows = explained(model, samples);
    let found = model.on(samples).unwrap().threads(2).probabilities().unwrap();
    for (row, p) in rows.iter().zip(found.values.chunks_exact(found.n_clusters)) {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{p:?}");
        let label = row.label as usize;
        assert!(p.iter().enumerate().all(|(j, v)| j == label || *v < p[label]), "{row:?} {p:?}");
        let second = p.iter().enumerate().filter(|(j, _)| *j != label).map(|(_, v)| *v);
        let second = second.fold(f64::NEG_INFINITY, f64::max).max(0.0);
        let apart = if p.len() == 1 { 1.0 } else { p[label] - second };
        assert!((apart - row.confidence).abs() < 1e-12, "{row:?} {p:?}");
    }
}

#[test]
fn rows_of_clear_clusters_are_sure_and_rows_midway_are_not_for_any_number_of_rows() {
    for (n, d, k, seeds) in [
        (300, 2, 3, &[3, 7][..]),
        (300, 10, 5, &[3, 7]),
        (3_000, 2, 2, &[3]),
        (3_000, 10, 5, &[7]),
        (10_000, 2, 3, &[3]),
    ] {
        for &seed in seeds {
            let (x, _) = noisy_blobs((n, d, k), 0.0, 0.5, seed);
            let between = midway(&x, (n, d, k));
            let m = between.len() / d;
            assert!(m > 0);
            let found = fit_ok(&matrix(x, n, d), None, &Params::new(k));
            assert!(median(&confidence(&found)) >= 0.9, "{n} {d} {k} {seed}");
            let between = matrix(between, m, d);
            for row in explained(found.model(), &between.samples().unwrap()) {
                assert!(row.confidence < 0.1, "{n} {d} {k} {seed}: {row:?}");
                assert!(row.outlier > 2.0, "{row:?}");
            }
        }
    }
}

#[test]
fn rows_midway_are_not_sure_when_they_take_part_in_the_fit() {
    let (n, d, k) = (3_000, 2, 2);
    let (mut x, _) = noisy_blobs((n, d, k), 0.0, 0.5, 7);
    x.extend(midway(&x, (n, d, k)));
    let found = fit_ok(&matrix(x, n + 1, d), None, &Params::new(k));
    assert!(confidence(&found)[n] < 0.1 && outlier_scores(&found)[n] > 5.0);
}

#[test]
fn uniform_noise_scores_above_the_rows_of_blobs() {
    for (d, sizes) in
        [(2, &[(300, 0), (1_000, 1), (3_000, 2)][..]), (10, &[(300, 0), (1_000, 1), (3_000, 2)])]
    {
        for &(n, seed) in sizes {
            let (x, marked) = noisy_blobs((n, d, 5), 0.1, 0.5, seed);
            let found = fit_ok(&matrix(x, n, d), None, &Params::new(5));
            let area = auc(&outlier_scores(&found), &marked);
            assert!(area >= 0.95, "{n} x {d}, seed {seed}: {area}");
            // Usual is about 1.
            assert!((0.8..1.25).contains(&median(&outlier_scores(&found))));
        }
    }
}

#[test]
fn a_single_cluster_has_outliers_too() {
    let (x, marked) = noisy_blobs((2_000, 10, 1), 0.1, 0.5, 1);
    let found = fit_ok(&matrix(x, 2_000, 10), None, &Params::new(1));
    assert!(auc(&outlier_scores(&found), &marked) > 0.9);
    assert!(confidence(&found).iter().all(|&c| c == 1.0));
}

#[test]
fn noise_is_marked_by_a_share_or_by_itself_and_changes_no_cluster() {
    let (n, d, k) = (1_500, 10, 5);
    let (x, marked) = noisy_blobs((n, d, k), 0.1, 0.5, 2);
    let table = matrix(x, n, d);
    let plain = fit_ok(&table, None, &Params::new(k));
    assert!(
        noisy(&plain).iter().all(|noise| !noise) && plain.model().info().noise_threshold.is_none()
    );
    for noise in [Noise::Share(0.1), Noise::Share(0.02), Noise::Auto] {
        let params = Params { noise: Some(noise), ..Params::new(k) };
        let found = fit_ok(&table, None, &params);
        assert_eq!(found.labels(), plain.labels());
        assert_eq!(outlier_scores(&found), outlier_scores(&plain));
        assert_repeats(&found, &table.samples().unwrap());
        let count = noisy(&found).iter().filter(|n| **n).count();
        let right = noisy(&found).iter().zip(&marked).filter(|(a, b)| **a && **b).count();
        match noise {
            Noise::Share(share) => assert_eq!(count, (n as f64 * share) as usize),
            _ => assert!(right >= 145 && count - right <= 7, "{right} of {count}"),
        }
        // A file keeps the threshold.
        let read = Model::from_bytes(&found.model().to_bytes().unwrap()).unwrap();
        assert_eq!(&read, found.model());
    }
    let clean = noisy_blobs((n, d, k), 0.0, 0.5, 2).0;
    let params = Params { noise: Some(Noise::Auto), ..Params::new(k) };
    let found = fit_ok(&matrix(clean, n, d), None, &params);
    assert!(noisy(&found).iter().filter(|n| **n).count() <= n / 100);
}

#[test]
fn a_share_of_noise_lies_between_0_and_1() {
    let table = matrix(noisy_blobs((50, 2, 2), 0.0, 0.5, 1).0, 50, 2);
    for share in [0.0, 1.0, -0.5, f64::NAN] {
        let params = Params { noise: Some(Noise::Share(share)), ..Params::new(2) };
        assert!(OBCut::from(params.clone()).fit(&table.samples().unwrap()).is_err());
    }
    for (word, noise) in [("auto", Noise::Auto), ("0.25", Noise::Share(0.25))] {
        assert_eq!(word.parse::<Noise>().unwrap(), noise);
        let json = serde_json::to_string(&noise).unwrap();
        assert_eq!(json.trim_matches('"'), word);
        assert_eq!(serde_json::from_str::<Noise>(&json).unwrap(), noise);
    }
    assert!("some".parse::<Noise>().is_err());
}

#[test]
fn probabilities_agree_with_labels_and_confidence_for_every_graph_and_for_remembered_rows() {
    let (n, d, k) = (400, 3, 4);
    let (x, _) = noisy_blobs((n, d, k), 0.2, 0.8, 5);
    let table = matrix(x, n, d);
    let samples = table.samples().unwrap();
    let base = Params::new(k);
    let mut settings: Vec<Params> =
        GraphKind::ALL.iter().map(|&graph| Params { graph, ..base.clone() }).collect();
    settings.push(Params { learn: Learn::AnchorsAndGraph, ..base.clone() });
    settings.push(Params { n_anchors: Some(30), ..Params::paper(k) });
    settings.push(Params::new(1));
    for params in settings {
        let params = Params { noise: Some(Noise::Share(0.1)), ..params };
        let found = fit_ok(&table, None, &params);
        assert_repeats(&found, &samples);
        assert_probabilities(found.model(), &samples);
    }
}

#[test]
fn threads_order_and_copies_change_no_score() {
    let (n, d, k) = (300, 4, 3);
    let (x, _) = noisy_blobs((n, d, k), 0.1, 0.6, 9);
    let table = matrix(x.clone(), n, d);
    let params = Params { noise: Some(Noise::Share(0.05)), threads: 1, ..Params::new(k) };
    let one = fit_ok(&table, None, &params);
    let three = fit_ok(&table, None, &Params { threads: 3, ..params.clone() });
    assert_eq!(confidence(&one), confidence(&three));
    assert_eq!(outlier_scores(&one), outlier_scores(&three));
    assert_eq!(noisy(&one), noisy(&three));

    let order: Vec<usize> = (0..n).map(|i| i * 7 % n).collect();
    let shuffled = order.iter().flat_map(|&i| x[i * d..(i + 1) * d].to_vec()).collect();
    let moved = fit_ok(&matrix(shuffled, n, d), None, &params);
    for (at, &i) in order.iter().enumerate() {
        assert_eq!(outlier_scores(&moved)[at], outlier_scores(&one)[i]);
        assert_eq!(confidence(&moved)[at], confidence(&one)[i]);
        assert_eq!(noisy(&moved)[at], noisy(&one)[i]);
    }

    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let mut copies = Vec::new();
    let mut of = Vec::new();
    for i in 0..n {
        for _ in 0..i % 3 {
            copies.extend_from_slice(&x[i * d..(i + 1) * d]);
            of.push(i);
        }
    }
    let weighted = fit_ok(&table, Some(&weights), &params);
    let copied = fit_ok(&matrix(copies, of.len(), d), None, &params);
    for (at, &i) in of.iter().enumerate() {
        assert_eq!(outlier_scores(&copied)[at], outlier_scores(&weighted)[i]);
        assert_eq!(confidence(&copied)[at], confidence(&weighted)[i]);
        assert_eq!(noisy(&copied)[at], noisy(&weighted)[i]);
    }
    assert_repeats(&weighted, &table.samples().unwrap());
}

#[test]
fn large_tables_are_scored_by_what_is_usual_in_their_core() {
    let (n, d, k) = (6_000, 4, 3);
    let (x, marked) = noisy_blobs((n, d, k), 0.1, 0.5, 4);
    let table = matrix(x, n, d);
    let samples = table.samples().unwrap();
    let noise = Some(Noise::Share(0.1));
    let params = Params { core_rows: Some(2_000), noise, threads: 1, ..Params::new(k) };
    let found = fit_ok(&table, None, &params);
    assert!(found.trace().large.is_some());
    assert_repeats(&found, &samples);
    assert_probabilities(found.model(), &samples);
    assert!(auc(&outlier_scores(&found), &marked) >= 0.95);
    let count = noisy(&found).iter().filter(|n| **n).count();
    assert!((450..750).contains(&count), "{count}");
    let two = fit_ok(&table, None, &Params { threads: 2, ..params });
    assert_eq!((confidence(&two), noisy(&two)), (confidence(&found), noisy(&found)));
}

#[test]
fn equal_rows_sparse_rows_and_single_precision_are_scored() {
    // Three distinct rows, many times.
    let x: Vec<f64> = (0..120).flat_map(|i| [f64::from(i % 3), 1.0]).collect();
    let found = fit_ok(&matrix(x, 120, 2), None, &Params::new(3));
    assert!(outlier_scores(&found).iter().all(|s| s.is_finite()));
    let (x, _) = noisy_blobs((500, 6, 3), 0.1, 0.5, 8);
    let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
    let table = Matrix::Dense32 { values: single, n_rows: 500, n_cols: 6 };
    assert_repeats(&fit_ok(&table, None, &Params::new(3)), &table.samples().unwrap());
    let sparse = common::to_sparse(&matrix(x.clone(), 500, 6));
    let dense = fit_ok(&matrix(x, 500, 6), None, &Params::new(3));
    let found = fit_ok(&sparse, None, &Params::new(3));
    assert_repeats(&found, &sparse.samples().unwrap());
    // One model says the same of rows however they are stored, but for rounding.
    let rows = explained(dense.model(), &sparse.samples().unwrap());
    for (row, score) in rows.iter().zip(&outlier_scores(&dense)) {
        assert!((row.outlier - score).abs() < 1e-6 * score.max(1.0));
    }
}
