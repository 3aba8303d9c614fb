//! The same bits for any number of threads.

mod common;

use common::{fit_ok, random_matrix, to_sparse};
use obcut::{CutParams, Effort, GraphKind, Init, Learn, Params, RowSolver, Silent, cut, synthetic};

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    // More than one chunk of rows, so that threads have something to share.
    let data = synthetic::mixture(3000, 16, 7, 1);
    let sparse = to_sparse(&data.matrix);
    let base = Params::new(7);
    let settings = [
        base.clone(),
        Params { graph: GraphKind::Local, n_init: 2, ..base.clone() },
        Params {
            graph: GraphKind::Global,
            n_anchors: Some(60),
            learn: Learn::AnchorsAndGraph,
            max_iter: 4,
            ..base.clone()
        },
        Params {
            n_anchors: Some(40),
            max_iter: 3,
            row_solver: RowSolver::Authors,
            ..Params::paper(7)
        },
        Params {
            n_anchors: Some(20),
            max_iter: 2,
            row_solver: RowSolver::Alm,
            rows_per_anchor: Some(20),
            ..Params::paper(7)
        },
        Params { k_range: Some((2, Some(9))), effort: Effort::Fast, ..base.clone() },
        Params {
            graph: GraphKind::Distance,
            init: Init::KMeans,
            learn: Learn::GraphOnly,
            max_iter: 3,
            ..base
        },
    ];
    for matrix in [&data.matrix, &sparse] {
        for params in &settings {
            let one = fit_ok(matrix, None, &Params { threads: 1, ..params.clone() });
            let bytes = one.model().to_bytes().unwrap();
            for threads in [2, 5] {
                let many = fit_ok(matrix, None, &Params { threads, ..params.clone() });
                assert_eq!(one.labels(), many.labels(), "{threads} threads, {params:?}");
                assert_eq!(one.trace().objective, many.trace().objective);
                assert!(
                    bytes == many.model().to_bytes().unwrap(),
                    "{threads} threads: another model"
                );
                let samples = matrix.samples().unwrap();
                let a = one.model().on(&samples).unwrap().threads(1).probabilities().unwrap();
                let many = many.model().on(&samples).unwrap().threads(threads);
                assert_eq!(a, many.probabilities().unwrap());
            }
        }
    }
}

#[test]
fn a_cut_is_the_same_for_any_number_of_threads() {
    let data = synthetic::mixture(2000, 30, 4, 2);
    let samples = data.matrix.samples().unwrap();
    let one = cut(&samples, &CutParams { threads: 1, ..CutParams::new(4) }, &Silent).unwrap();
    let many = cut(&samples, &CutParams { threads: 5, ..CutParams::new(4) }, &Silent).unwrap();
    assert_eq!(one, many);
}

#[test]
fn a_choice_on_a_sample_of_the_rows_is_the_same_for_any_threads_and_order() {
    // More rows than the trial of this effort takes.
    let data = synthetic::blobs(11_000, 3, 4, 1.0, 2);
    let params = Params { effort: Effort::Fast, n_anchors: Some(100), ..Params::new(4) };
    let one = fit_ok(&data.matrix, None, &Params { threads: 1, ..params.clone() });
    let three = fit_ok(&data.matrix, None, &Params { threads: 3, ..params.clone() });
    assert_eq!((&one.labels(), &one.model()), (&three.labels(), &three.model()));
    assert!(one.trace().tried.len() > 3);
    assert_eq!(one.trace().tried.iter().filter(|t| t.kept).count(), 1);
    let samples = data.matrix.samples().unwrap();
    assert_eq!(one.labels(), one.model().on(&samples).unwrap().threads(2).labels().unwrap());
    let order = common::order(data.labels.len(), 3);
    let shuffled = fit_ok(&common::rows(&data.matrix, &order), None, &params);
    assert_eq!(one.model().info().graph, shuffled.model().info().graph);
    for (a, b) in one.trace().tried.iter().zip(&shuffled.trace().tried) {
        // Sums in another order.
        assert!((a.score - b.score).abs() < 1e-6, "{a:?} {b:?}");
    }
}

/// Rows without clusters, more than the choice is made on. With one of a few seeds another candidate is best on the sample,
/// and the graph of nearest rows on all rows.
#[test]
fn a_graph_of_nearest_rows_that_is_promising_is_tried_on_all_rows() {
    let matrix = random_matrix(21_000, 2, None, 1, false);
    let found = (0..5).find_map(|seed| {
        let params = Params { seed, threads: 1, ..Params::new(4) };
        let one = fit_ok(&matrix, None, &params);
        let tried = &one.model().explanation().tried;
        let kept: Vec<_> = tried.iter().filter(|t| t.kept).collect();
        let best = tried.iter().max_by(|a, b| a.score.total_cmp(&b.score)).unwrap();
        assert_eq!(kept.len(), 1);
        (kept[0].graph == "neighbors" && best.graph != "neighbors").then_some((params, one))
    });
    let (params, one) = found.expect("one of the seeds tries the graph on all rows");
    let samples = matrix.samples().unwrap();
    assert_eq!(one.model().on(&samples).unwrap().threads(2).labels().unwrap(), one.labels());
    let three = fit_ok(&matrix, None, &Params { threads: 3, ..params });
    assert_eq!(one.labels(), three.labels());
    assert!(one.model().to_bytes().unwrap() == three.model().to_bytes().unwrap());
}
