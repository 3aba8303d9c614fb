//! The stability of clusters on resamples.

mod common;

use common::{Numbers, fit_ok, matrix, order, rows};
use obcut::{Explanation, GraphKind, Init, Learn, Matrix, Params, synthetic};

fn explained(matrix: &Matrix, weights: Option<&[f64]>, params: &Params) -> Explanation {
    fit_ok(matrix, weights, params).model().explanation().clone()
}

fn stabilities(found: &Explanation) -> Vec<f64> {
    found.clusters.iter().map(|c| c.stability.expect("it was asked for")).collect()
}

/// One group without clusters, about normal.
fn one_group(n: usize) -> Matrix {
    let mut numbers = Numbers(3);
    let normal = |_| (0..12).map(|_| numbers.unit()).sum::<f64>() - 6.0;
    matrix((0..n * 2).map(normal).collect(), n, 2)
}

#[test]
fn separate_groups_are_stable() {
    let blobs = synthetic::blobs(600, 4, 4, 0.05, 1);
    let found = explained(&blobs.matrix, None, &Params { stability: 5, ..Params::new(4) });
    assert!(found.stability.is_some_and(|s| s > 0.95), "{:?}", found.stability);
    assert!(stabilities(&found).iter().all(|s| *s > 0.95), "{:?}", stabilities(&found));
}

#[test]
fn one_group_cut_into_five_is_not_stable() {
    let found = explained(&one_group(600), None, &Params { stability: 8, ..Params::new(5) });
    assert!(found.stability.is_some_and(|s| s < 0.8), "{:?}", found.stability);
    let clusters = stabilities(&found);
    assert!(clusters.iter().sum::<f64>() < 5.0 * 0.8, "{clusters:?}");
}

#[test]
fn stability_is_not_measured_unless_asked_for_and_changes_no_label() {
    let data = synthetic::moons(300, 0.1, 1).matrix;
    let without = fit_ok(&data, None, &Params::new(2));
    let with = fit_ok(&data, None, &Params { stability: 2, ..Params::new(2) });
    assert_eq!(without.labels(), with.labels());
    let facts = without.model().explanation();
    assert_eq!((facts.stability, facts.clusters[0].stability), (None, None));
    assert!(with.trace().seconds.iter().any(|(stage, _)| stage == "stability"));
}

#[test]
fn stability_does_not_depend_on_threads_or_the_order_of_rows() {
    let data = one_group(700);
    let shuffled = rows(&data, &order(700, 1));
    let of = |matrix: &Matrix, params: &Params, threads: usize| {
        let found = explained(matrix, None, &Params { threads, stability: 3, ..params.clone() });
        (found.stability, stabilities(&found))
    };
    for params in [Params::new(4), Params { graph: GraphKind::Distance, ..Params::new(4) }] {
        let one = of(&data, &params, 1);
        assert_eq!(one, of(&data, &params, 3));
        assert_eq!(one, of(&shuffled, &params, 3));
    }
}

#[test]
fn weights_are_copies_for_the_stability_too() {
    let data = one_group(200);
    let twice: Vec<usize> = (0..200).chain(0..50).collect();
    let weights: Vec<f64> = (0..200).map(|i| if i < 50 { 2.0 } else { 1.0 }).collect();
    let params = Params { stability: 3, ..Params::new(3) };
    let (a, b) =
        (explained(&data, Some(&weights), &params), explained(&rows(&data, &twice), None, &params));
    assert_eq!((a.stability, stabilities(&a)), (b.stability, stabilities(&b)));
}

#[test]
fn every_kind_of_procedure_is_repeated() {
    let blobs = synthetic::blobs(400, 3, 3, 0.05, 2);
    let base = Params { stability: 2, ..Params::new(3) };
    let given = Init::Given(blobs.labels.clone());
    let settings = [
        Params { graph: GraphKind::Neighbors, ..base.clone() },
        Params { graph: GraphKind::Global, ..base.clone() },
        Params { init: Init::KMeans, ..base.clone() },
        Params { init: given, graph: GraphKind::Distance, ..base.clone() },
        Params { learn: Learn::GraphOnly, max_iter: 3, ..base.clone() },
        Params { core_rows: Some(200), ..base.clone() },
    ];
    for params in settings {
        let found = explained(&blobs.matrix, None, &params);
        assert!(found.stability.is_some_and(|s| s > 0.9), "{params:?}: {:?}", found.stability);
        assert!(stabilities(&found).iter().all(|s| *s > 0.9), "{params:?}");
    }
    let single = explained(&blobs.matrix, None, &Params { n_clusters: 1, ..base });
    assert_eq!((single.stability, stabilities(&single)), (Some(1.0), vec![1.0]));
}

#[test]
fn as_many_clusters_as_rows_can_be_resampled() {
    let data = matrix(vec![0.0, 1.0, 2.5, 4.5, 7.0], 5, 1);
    let found = explained(&data, None, &Params { stability: 2, ..Params::new(5) });
    assert_eq!(found.stability, Some(1.0));
}
