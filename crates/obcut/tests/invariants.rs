//! What must hold for any data: the paper's theorem, invariances, exactly k clusters, prediction.

mod common;

use common::{fit_ok, margins, matrix, random_matrix, scores_of};
use obcut::Named;
use obcut::metrics::{Average, bipartite_cut, nmi};
use obcut::{
    AnchorUpdate, Formulation, GraphKind, Init, Learn, Matrix, OBCut, Params, RowSolver, Scale,
    synthetic,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The theorem of the paper: the criterion of Eq. BiCut is -2 Tr(Y_N' B Y_M). And its terms are the sums
    /// over edges that the definition names, for clusters without rows or columns as well.
    #[test]
    fn the_cut_is_minus_twice_the_trace(
        n in 1usize..12, m in 1usize..9, k in 1u32..5,
        edges in prop::collection::vec(0.0f64..1.0, 12 * 9),
        draws in prop::collection::vec(0u32..100, 24),
        sparse: bool,
    ) {
        let b = &edges[..n * m];
        // More clusters than rows and columns are an error.
        let k = k.min((n + m) as u32);
        let rows: Vec<u32> = draws[..n].iter().map(|v| v % k).collect();
        let columns: Vec<u32> = draws[12..12 + m].iter().map(|v| v % k).collect();
        let size = |labels: &[u32], j: u32| labels.iter().filter(|&&l| l == j).count() as f64;
        let between = |pick: &dyn Fn(u32, u32) -> bool| -> f64 {
            let picked = (0..n * m).filter(|p| pick(rows[p / m], columns[p % m]));
            picked.map(|p| b[p]).sum()
        };
        let mut graph = matrix(b.to_vec(), n, m);
        if sparse {
            graph = common::to_sparse(&graph);
        }
        let terms = bipartite_cut(&graph, &rows, &columns).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-10;
        let mut trace = 0.0;
        for j in 0..*rows.iter().chain(&columns).max().unwrap() + 1 {
            let (r, c, at) = (size(&rows, j), size(&columns, j), j as usize);
            let over = |sum: f64, size: f64| if size > 0.0 { sum / size } else { 0.0 };
            let inside = between(&|x, y| x == j && y == j);
            prop_assert!(near(terms.leaving[at], over(between(&|x, y| x == j && y != j), r)));
            prop_assert!(near(terms.entering[at], over(between(&|x, y| x != j && y == j), c)));
            prop_assert!(near(terms.row_degrees[at], over(between(&|x, _| x == j), r)));
            prop_assert!(near(terms.column_degrees[at], over(between(&|_, y| y == j), c)));
            let uneven = if r * c > 0.0 { (r.sqrt() - c.sqrt()).powi(2) / (r * c) } else { 0.0 };
            prop_assert!(near(terms.uneven[at], inside * uneven));
            trace += over(inside, (r * c).sqrt());
        }
        prop_assert!(near(terms.total, -2.0 * trace), "{} {trace}", terms.total);
    }

    /// Exactly k clusters and a model that repeats the labels, on small random tables of all kinds.
    #[test]
    fn any_small_table_gives_k_clusters_that_predict_repeats(
        n in 2usize..40, d in 1usize..6, k in 1usize..8, levels in 2u64..6, seed in 0u64..1000,
        kind in 0..GraphKind::ALL.len(), single in any::<bool>(),
    ) {
        let graph = GraphKind::ALL[kind];
        // Few levels: many equal rows and many ties.
        let matrix = random_matrix(n, d, Some(levels), seed, single);
        let params = Params { graph, seed, threads: 1, ..Params::new(k) };
        let samples = matrix.samples().unwrap();
        match OBCut::from(params.clone()).fit(&samples) {
            Ok(found) => {
                for j in 0..k as u32 {
                    prop_assert!(found.labels().contains(&j), "cluster {j} is empty");
                }
                prop_assert_eq!(&found.labels(), &found.model().on(&samples).unwrap().threads(1).labels().unwrap());
                let rows = found.model().on(&samples).unwrap().threads(1).rows().unwrap();
                prop_assert!(rows.iter().zip(&found.labels()).all(|(r, l)| r.label == *l && r.margin >= 0.0));
                prop_assert!(rows.iter().map(|r| r.margin).eq(margins(&found).iter().copied()));
            }
            Err(e) => {
                let text = e.to_string();
                prop_assert!(text.contains("distinct") || text.contains("at least as many rows"), "{text}");
                prop_assert!(common::distinct_rows(&matrix) < k, "{text}");
            }
        }
    }
}

fn check_margins(found: &obcut::Fit, samples: &obcut::Samples<'_>) {
    let rows = found.model().on(samples).unwrap().threads(1).rows().unwrap();
    assert!(rows.iter().map(|row| row.margin).eq(margins(found).iter().copied()));
}

/// Also of rows of weight zero, copies, and rows that learning put elsewhere than the rule.
#[test]
fn margins_of_a_fit_are_those_of_its_model() {
    let data = random_matrix(120, 5, None, 4, false);
    let rows: Vec<usize> = (0..120).chain(0..60).collect();
    let twice = common::rows(&data, &rows);
    let weights: Vec<f64> = (0..180).map(|i| f64::from(i % 4)).collect();
    for learn in [Learn::Nothing, Learn::AnchorsAndGraph] {
        let params = Params { graph: GraphKind::Global, learn, ..Params::new(4) };
        let found = fit_ok(&twice, Some(&weights), &params);
        check_margins(&found, &twice.samples().unwrap());
    }
}

#[test]
fn the_score_of_a_model_weighs_rows_as_copies() {
    let data = synthetic::moons(300, 0.05, 1);
    let samples = data.matrix.samples().unwrap();
    let params = Params { graph: GraphKind::Distance, ..Params::new(2) };
    let found = fit_ok(&data.matrix, None, &params);
    let rows: Vec<usize> = (0..300).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let weights: Vec<f64> = (0..300).map(|i| f64::from(i % 3)).collect();
    let copies = common::rows(&data.matrix, &rows);
    let weighted = found.model().on(&samples).unwrap().threads(1).score(Some(&weights)).unwrap();
    let copied =
        found.model().on(&copies.samples().unwrap()).unwrap().threads(2).score(None).unwrap();
    assert!((weighted - copied).abs() < 1e-12 && weighted > 0.9, "{weighted} {copied}");
    assert!(found.model().on(&samples).unwrap().threads(1).score(Some(&weights[1..])).is_err());
    #[cfg(feature = "front-ends")]
    {
        // The discs of two clusters lie above each other, and the moons share no anchor.
        let places = found.model().on(&samples).unwrap().threads(1).layout_2d().unwrap();
        let above = |i: usize| places[2 * i + 1] > 0.0;
        let same = (0..300).filter(|&i| above(i) == (data.labels[i] == 0)).count();
        assert!(same == 0 || same == 300, "{same}");
    }
}

#[test]
fn predict_repeats_the_labels_for_every_graph_type_and_setting() {
    let data = synthetic::mixture(1500, 20, 6, 3);
    let wide = random_matrix(60, 200, None, 4, true);
    for matrix in
        [&data.matrix, &common::to_f64(&data.matrix), &common::to_sparse(&data.matrix), &wide]
    {
        for graph in GraphKind::ALL.iter().copied() {
            for scale in [Scale::MinMax, Scale::Standard, Scale::UnitRows, Scale::None] {
                let params = Params { graph, scale, ..Params::new(6) };
                let found = fit_ok(matrix, None, &params);
                let samples = matrix.samples().unwrap();
                let again = found.model().on(&samples).unwrap().threads(2).labels().unwrap();
                assert_eq!(found.labels(), again, "{graph} {scale}");
                check_margins(&found, &samples);
                // Also one row at a time, and from a file.
                let loaded = obcut::Model::from_bytes(&found.model().to_bytes().unwrap()).unwrap();
                assert_eq!(&loaded, found.model());
                for i in (0..matrix.n_rows()).step_by(97) {
                    let one = common::rows(matrix, &[i]);
                    let label =
                        loaded.on(&one.samples().unwrap()).unwrap().threads(1).labels().unwrap();
                    assert_eq!(label, [found.labels()[i]], "{graph} {scale} row {i}");
                }
            }
        }
    }
}

#[test]
fn shuffled_rows_get_the_same_clusters() {
    for (data, k) in [(synthetic::mixture(1200, 12, 5, 1), 5), (synthetic::moons(800, 0.05, 2), 2)]
    {
        for graph in GraphKind::ALL.iter().copied() {
            let params = Params { graph, ..Params::new(k) };
            let labels = fit_ok(&data.matrix, None, &params).labels();
            let order = common::order(data.labels.len(), 5);
            let shuffled = fit_ok(&common::rows(&data.matrix, &order), None, &params).labels();
            let back: Vec<u32> = order.iter().map(|&i| labels[i]).collect();
            let same = nmi(&shuffled, &back, Average::Max).unwrap();
            assert!(same > 0.99, "{graph}: {same}");
        }
    }
}

#[test]
fn a_sorted_file_is_no_hint() {
    // Pure noise with classes in file order: a method that deals rows out in order would score.
    let noise = random_matrix(600, 5, None, 11, false);
    let classes: Vec<u32> = (0..600).map(|i| i / 120).collect();
    for params in
        [Params::new(5), Params { lambda: 1e3, row_solver: RowSolver::Authors, ..Params::paper(5) }]
    {
        let labels = fit_ok(&noise, None, &params).labels();
        let score = nmi(&labels, &classes, Average::Max).unwrap();
        assert!(score < 0.06, "{score}");
    }
}

#[test]
fn integer_weights_equal_copies_and_zero_means_absent() {
    let data = synthetic::mixture(400, 8, 4, 9);
    let weights: Vec<f64> = (0..400).map(|i| f64::from((i * 7 % 4) as u8)).collect();
    let copies: Vec<usize> = (0..400).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let repeated = common::rows(&data.matrix, &copies);
    for graph in GraphKind::ALL.iter().copied() {
        for init in [Init::Spectral, Init::KMeans] {
            let params = Params { graph, init, ..Params::new(4) };
            let weighted = fit_ok(&data.matrix, Some(&weights), &params);
            let plain = fit_ok(&repeated, None, &params);
            let expected: Vec<u32> = copies.iter().map(|&i| weighted.labels()[i]).collect();
            assert_eq!(plain.labels(), expected, "{graph}");
            assert_eq!(plain.model().info().cluster_sizes, weighted.model().info().cluster_sizes);
            // Absent rows are labeled like new ones.
            let all = plain
                .model()
                .on(&data.matrix.samples().unwrap())
                .unwrap()
                .threads(1)
                .labels()
                .unwrap();
            assert_eq!(all, weighted.labels(), "{graph}");
        }
    }
}

#[test]
fn odd_shapes_work() {
    let constant = matrix(vec![3.0, 1.0, 3.0, 2.0, 3.0, 9.0, 3.0, 8.0], 4, 2);
    assert_eq!(common::partition(&fit_ok(&constant, None, &Params::new(2)).labels()), [0, 0, 1, 1]);
    let two = matrix(vec![0.0, 1.0], 2, 1);
    assert_eq!(common::partition(&fit_ok(&two, None, &Params::new(2)).labels()), [0, 1]);
    assert_eq!(fit_ok(&two, None, &Params::new(1)).labels(), [0, 0]);
    let one = matrix(vec![7.0, 7.0], 1, 2);
    assert_eq!(fit_ok(&one, None, &Params::new(1)).labels(), [0]);
    let data = synthetic::blobs(60, 3, 3, 1.0, 4);
    for graph in GraphKind::ALL.iter().copied() {
        for m in [3, 60] {
            let params =
                Params { graph, n_anchors: Some(m), n_anchor_sets: Some(1), ..Params::new(3) };
            let score = scores_of(&data, &params);
            // With every row an anchor the global graph links each row to itself and knows nothing.
            assert!(
                score > 0.99 || (graph, m) == (GraphKind::Global, 60),
                "{graph} M = {m}: {score}"
            );
        }
        // k = N: every row its own cluster.
        let tiny = common::rows(&data.matrix, &(0..15).collect::<Vec<_>>());
        let labels = fit_ok(&tiny, None, &Params { graph, ..Params::new(15) }).labels();
        assert_eq!(common::partition(&labels), (0..15).collect::<Vec<_>>(), "{graph}");
    }
}

#[test]
fn sparse_and_dense_storage_give_the_same_clusters() {
    let data = synthetic::blobs(300, 6, 3, 1.0, 8);
    let dense = common::to_f64(&data.matrix);
    let sparse = common::to_sparse(&dense);
    for graph in GraphKind::ALL.iter().copied() {
        for scale in [Scale::MinMax, Scale::UnitRows, Scale::None] {
            let params = Params { graph, scale, ..Params::new(3) };
            let (a, b) =
                (fit_ok(&dense, None, &params).labels(), fit_ok(&sparse, None, &params).labels());
            assert_eq!(nmi(&a, &b, Average::Max).unwrap(), 1.0, "{graph} {scale}");
        }
    }
}

#[test]
fn every_ablation_and_option_runs_and_the_exact_objective_never_rises() {
    let mut data = synthetic::mixture(500, 10, 4, 2);
    data.matrix = common::to_f64(&data.matrix);
    for learn in Learn::ALL.iter().copied() {
        for formulation in Formulation::ALL.iter().copied() {
            for anchor_update in AnchorUpdate::ALL.iter().copied() {
                for (graph, ridge) in [(GraphKind::Global, 0.0), (GraphKind::Local, 0.01)] {
                    let params = Params {
                        learn,
                        formulation,
                        anchor_update,
                        graph,
                        ridge,
                        max_iter: 8,
                        n_anchors: Some(30),
                        ..Params::new(4)
                    };
                    let found = fit_ok(&data.matrix, None, &params);
                    let samples = data.matrix.samples().unwrap();
                    assert_eq!(
                        found.labels(),
                        found.model().on(&samples).unwrap().threads(1).labels().unwrap()
                    );
                    let loaded =
                        obcut::Model::from_bytes(&found.model().to_bytes().unwrap()).unwrap();
                    assert_eq!(&loaded, found.model());
                    let values = &found.trace().objective;
                    let scale = values.first().map_or(1.0, |v| v.abs());
                    assert!(
                        values.windows(2).all(|w| w[1] <= w[0] + 1e-10 * scale),
                        "{learn} {formulation} {anchor_update} {graph}: {values:?}"
                    );
                    assert_eq!(
                        values.is_empty(),
                        learn == Learn::Nothing || found.trace().loop_rejected
                    );
                }
            }
        }
    }
}

#[test]
fn given_anchors_and_given_labels_are_used() {
    let data = synthetic::blobs(200, 2, 4, 0.5, 3);
    let values = common::values(&data.matrix);
    let anchors: Vec<f64> = values[..40].to_vec();
    let params = Params { anchors: Some(anchors.clone()), ..Params::new(4) };
    let found = fit_ok(&data.matrix, None, &params);
    assert_eq!(found.model().info().n_anchors, 20);
    let kept = found.model().anchors().unwrap();
    assert!(kept.iter().zip(&anchors).all(|(a, b)| (a - b).abs() < 1e-5));
    let params =
        Params { init: Init::Given(data.labels.clone()), learn: Learn::Nothing, ..Params::new(4) };
    let found = fit_ok(&data.matrix, None, &params);
    assert_eq!(found.labels(), data.labels);
}

#[test]
fn restarts_keep_the_best_score() {
    let data = synthetic::mixture(600, 8, 6, 5);
    let found = fit_ok(&data.matrix, None, &Params { n_init: 4, ..Params::new(6) });
    let scores = &found.trace().scores;
    assert_eq!(scores.len(), 4);
    assert!(scores.iter().all(|s| *s <= scores[found.trace().kept]));
}

#[test]
fn a_wide_table_gives_the_same_clusters_reduced_or_not() {
    let data = synthetic::mixture(120, 900, 4, 6);
    for graph in GraphKind::ALL.iter().copied() {
        let params = Params { graph, ..Params::new(4) };
        let direct = Params { reduce: obcut::Reduce::Never, ..params.clone() };
        let (a, b) = (fit_ok(&data.matrix, None, &params), fit_ok(&data.matrix, None, &direct));
        let same = nmi(&a.labels(), &b.labels(), Average::Max).unwrap();
        assert!(same > 0.97, "{graph}: {same}");
    }
}

#[test]
fn small_tables_of_single_and_double_precision_get_the_same_labels() {
    let Matrix::Dense64 { values, .. } = synthetic::blobs(300, 5, 4, 2.0, 3).matrix else {
        panic!("blobs are dense");
    };
    let values: Vec<f64> = values.iter().map(|v| f64::from(*v as f32)).collect();
    let single = values.iter().map(|v| *v as f32).collect();
    let double = Matrix::Dense64 { values, n_rows: 300, n_cols: 5 };
    let single = Matrix::Dense32 { values: single, n_rows: 300, n_cols: 5 };
    let params = Params::new(6);
    let (a, b) = (fit_ok(&double, None, &params), fit_ok(&single, None, &params));
    assert_eq!((&a.labels(), &a.model()), (&b.labels(), &b.model()));
    let read = obcut::Model::from_bytes(&b.model().to_bytes().unwrap()).unwrap();
    let found = read.on(&single.samples().unwrap()).unwrap().threads(1).labels().unwrap();
    assert_eq!(found, b.labels());
}

#[test]
fn rows_of_the_graph_lie_on_the_simplex() {
    let data = synthetic::mixture(700, 9, 5, 7);
    for graph in GraphKind::ALL.iter().copied() {
        let params = Params { graph, n_anchor_sets: Some(3), ..Params::new(5) };
        let found = fit_ok(&data.matrix, None, &params);
        let b =
            found.model().on(&data.matrix.samples().unwrap()).unwrap().threads(1).graph().unwrap();
        assert_eq!((b.n_rows(), b.n_cols), (700, found.model().info().n_columns));
        // Three sets of five links. A union has a part more, and where the nearest rows are unreliable eight times as
        // many anchors vote.
        let most = match graph {
            GraphKind::Auto => 8 * 30,
            GraphKind::Neighbors => 8 * 15,
            _ => 15,
        };
        for i in 0..700 {
            let (columns, values) = b.row(i);
            assert!(
                (values.iter().sum::<f64>() - 1.0).abs() < 1e-12 && values.iter().all(|v| *v > 0.0)
            );
            assert!(columns.is_sorted() && columns.len() <= most);
        }
    }
}

#[test]
fn i32_and_i64_indices_read_alike() {
    let data = synthetic::blobs(50, 4, 2, 1.0, 1);
    let Matrix::Sparse64(x) = common::to_sparse(&common::to_f64(&data.matrix)) else { panic!() };
    let offsets: Vec<i32> = x.offsets.iter().map(|&v| v as i32).collect();
    let columns: Vec<i32> = x.columns.iter().map(|&v| v as i32).collect();
    let wide = obcut::CsrRef::new(
        obcut::Ints::I64(&x.offsets),
        obcut::Ints::I64(&x.columns),
        &x.values,
        4,
    );
    let narrow =
        obcut::CsrRef::new(obcut::Ints::I32(&offsets), obcut::Ints::I32(&columns), &x.values, 4);
    let params = Params::new(2);
    let a = OBCut::from(params.clone()).fit(&wide.unwrap()).unwrap().labels();
    let b = OBCut::from(params.clone()).fit(&narrow.unwrap()).unwrap().labels();
    assert_eq!(a, b);
}

#[test]
fn entries_given_twice_count_as_their_sum_in_fit_and_predict() {
    let data = synthetic::mixture(200, 12, 3, 4);
    let Matrix::Sparse64(x) = common::to_sparse(&common::to_f64(&data.matrix)) else { panic!() };
    // Every entry as two halves, the second ones behind in reverse order.
    let mut halves = obcut::Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: 12 };
    for i in 0..200 {
        let range = x.offsets[i] as usize..x.offsets[i + 1] as usize;
        for p in range.clone().chain(range.rev()) {
            halves.columns.push(x.columns[p]);
            halves.values.push(x.values[p] / 2.0);
        }
        halves.offsets.push(halves.columns.len() as i64);
    }
    let (whole, halves) = (Matrix::Sparse64(x), Matrix::Sparse64(halves));
    for graph in GraphKind::ALL.iter().copied() {
        let params = Params { graph, scale: Scale::UnitRows, ..Params::new(3) };
        let found = fit_ok(&halves, None, &params);
        assert_eq!(found.labels(), fit_ok(&whole, None, &params).labels(), "{graph}");
        let again =
            found.model().on(&halves.samples().unwrap()).unwrap().threads(1).labels().unwrap();
        assert_eq!(found.labels(), again, "{graph}");
    }
}

#[test]
fn the_size_of_weights_does_not_matter() {
    let data = synthetic::blobs(90, 2, 3, 1.0, 5);
    let plain = fit_ok(&data.matrix, None, &Params::new(3));
    for unit in [1e-300, 1e-9, 1e9, 1e300] {
        let found = fit_ok(&data.matrix, Some(&vec![unit; 90]), &Params::new(3));
        let moved = found.labels().iter().zip(&plain.labels()).filter(|(a, b)| a != b).count();
        assert_eq!(moved, 0, "{unit:e}");
        let total: f64 = found.model().info().cluster_sizes.iter().map(|n| n / unit).sum();
        assert!((total - 90.0).abs() < 1e-9, "{unit:e}: {total}");
    }
}

#[test]
fn a_small_group_that_nothing_links_to_the_rest_is_a_cluster_on_every_graph() {
    // 480 rows about the origin and 20 far away.
    let mut values = common::values(&random_matrix(500, 2, None, 7, false));
    let far = values.len() - 40;
    values[far..].iter_mut().for_each(|v| *v += 20.0);
    let data = matrix(values, 500, 2);
    for graph in [GraphKind::Auto, GraphKind::Neighbors, GraphKind::Distance, GraphKind::Local] {
        let found = fit_ok(&data, None, &Params { graph, ..Params::new(2) });
        assert_eq!(found.model().info().cluster_sizes, [480.0, 20.0], "{graph}");
    }
}

#[test]
fn gaussian_groups_that_touch_are_separated_by_their_mixture() {
    // 1,900 and 100 rows, centers 5 deviations apart; the second group is narrow in one direction.
    let mut random = common::Numbers(11);
    let mut normal = || {
        let (u, v) = (random.unit().max(1e-12), random.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let mut x = Vec::new();
    for i in 0..2000 {
        let second = i >= 1900;
        x.push(if second { 5.0 } else { 0.0 } + normal());
        x.push(normal() * if second { 0.4 } else { 1.0 });
    }
    let truth: Vec<u32> = (0..2000).map(|i| u32::from(i >= 1900)).collect();
    // The Bayes rule knows the groups.
    let bayes: Vec<u32> = (x.chunks_exact(2))
        .map(|row| {
            let first = 0.95f64.ln() - 0.5 * (row[0].powi(2) + row[1].powi(2));
            let square = (row[0] - 5.0).powi(2) + (row[1] / 0.4).powi(2);
            u32::from(0.05f64.ln() - 0.4f64.ln() - 0.5 * square > first)
        })
        .collect();
    let table = matrix(x, 2000, 2);
    let ari = |labels: &[u32]| obcut::metrics::scores(labels, &truth).unwrap().ari;
    for seed in 0..3 {
        let fit = fit_ok(&table, None, &Params { seed, ..Params::new(2) });
        let kept = fit.trace().tried.iter().find(|tried| tried.kept).unwrap();
        assert_eq!(kept.graph, "mixture");
        let (found, best) = (ari(&fit.labels()), ari(&bayes));
        assert!(found > best - 0.02, "{found} {best}");
        let again = fit.model().on(&table.samples().unwrap()).unwrap().threads(0).labels().unwrap();
        assert_eq!(again, fit.labels());
    }
}
