//! The solver held against recorded runs of the authors' own program, from the same start.
//!
//! The runs are not part of the repository; `OBCUT_GOLDEN` names their folder.

use std::path::{Path, PathBuf};

use super::learn::{Loop, LoopState, total_square};
use crate::params::{AnchorUpdate, RowSolver};
use crate::records::Trace;
use crate::update::anchors::LinkMoments;
use crate::update::cutting::Visits;
use crate::update::graph::Support;
use crate::update::{embedding, labels};
use obcut_core::Graph;
use obcut_core::linalg::{gemm, simd};
use obcut_core::matrix::DenseRef;
use obcut_core::normalize::Scaling;
use obcut_core::observer::Silent;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

struct Golden {
    name: String,
    n: usize,
    d: usize,
    k: usize,
    m: usize,
    lambda: f64,
    /// Scaled rows.
    x: Vec<f64>,
    start: LoopState,
    objective: Vec<f64>,
}

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("OBCUT_GOLDEN").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: OBCUT_GOLDEN does not name the folder of the authors' runs");
    }
    folder
}

fn read(path: &Path, key: &str) -> (Vec<u64>, Vec<f64>) {
    let mut file = npyz::npz::NpzArchive::open(path).expect("a readable archive");
    let array = file.by_name(key).expect("a readable array").expect("the array is there");
    let shape = array.shape().to_vec();
    let by_columns = array.order() == npyz::Order::Fortran && shape.len() == 2;
    let kind = array.dtype().descr();
    let values: Vec<f64> = match kind.as_str() {
        "'<f8'" => array.into_vec::<f64>().unwrap(),
        "'<i4'" => array.into_vec::<i32>().unwrap().into_iter().map(f64::from).collect(),
        "'<i8'" => array.into_vec::<i64>().unwrap().into_iter().map(|v| v as f64).collect(),
        other => panic!("{key} has type {other}"),
    };
    let values = match shape[..] {
        [rows, cols] if by_columns => transposed(&values, cols as usize, rows as usize),
        _ => values,
    };
    (shape, values)
}

fn transposed(values: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    (0..cols).flat_map(|c| (0..rows).map(move |r| values[r * cols + c])).collect()
}

/// Every feature to [0, 1], a constant one to 1, as the authors do.
fn min_max(x: &mut [f64], n: usize, d: usize) {
    for f in 0..d {
        let column = || (0..n).map(|i| x[i * d + f]);
        let (min, max) =
            (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
        for i in 0..n {
            let v = &mut x[i * d + f];
            *v = if max > min { (*v - min) / (max - min) } else { 1.0 };
        }
    }
}

fn load(path: &Path) -> Golden {
    let (shape, mut x) = read(path, "X_raw");
    let (n, d) = (shape[0] as usize, shape[1] as usize);
    min_max(&mut x, n, d);
    let k = read(path, "k").1[0] as usize;
    let m = read(path, "M").1[0] as usize;
    let b = read(path, "B0").1;
    let mut graph = Graph::empty(m);
    for row in b.chunks_exact(m) {
        let columns: Vec<u32> = (0..m as u32).filter(|&a| row[a as usize] != 0.0).collect();
        let values: Vec<f64> = columns.iter().map(|&a| row[a as usize]).collect();
        graph.push(&columns, &values);
    }
    Golden {
        name: path.file_stem().expect("a file").to_string_lossy().into(),
        n,
        d,
        k,
        m,
        lambda: read(path, "lam").1[0],
        start: LoopState {
            anchors: transposed(&read(path, "A0").1, d, m),
            graph,
            labels: read(path, "Y0").1.iter().map(|&l| l as u32).collect(),
            embedding: read(path, "H0").1,
        },
        objective: read(path, "objective").1,
        x,
    }
}

fn each(check: impl Fn(&Golden, &Table<'_>, &Context<'_>)) {
    let Some(folder) = folder() else { return };
    let context = Context::new(2, &Silent).unwrap();
    for name in ["pen400", "yale240", "letters390"] {
        let golden = load(&folder.join(format!("{name}.npz")));
        let scaling = Scaling::identity(golden.d);
        let rows = DenseRef::new(&golden.x, golden.n, golden.d).unwrap();
        check(&golden, &Table::new(rows.into(), &scaling), &context);
    }
}

fn settings<'a>(golden: &Golden, anchor_weights: &'a [f64]) -> Loop<'a> {
    Loop {
        n_clusters: golden.k,
        lambda: golden.lambda,
        learn_anchors: true,
        with_cut: true,
        anchor_update: AnchorUpdate::LeastSquares,
        pull: 0.0,
        solver: RowSolver::Exact,
        ridge: 0.0,
        support: Support::All,
        max_iter: 30,
        tol: 0.0,
        stop_on_labels: false,
        anchor_weights,
    }
}

#[test]
fn the_objective_at_the_start_is_the_authors() {
    each(|golden, table, context| {
        let (state, weights) = (&golden.start, vec![1.0; golden.n]);
        let square = total_square(table, &weights, context).unwrap();
        let moments = LinkMoments::new(table, &state.graph, &weights, context).unwrap();
        let residual = moments.residual(&state.anchors, golden.m, golden.d, square);
        let joined = embedding::joined(
            &state.graph,
            &state.labels,
            &weights,
            &vec![1.0; golden.m],
            golden.k,
        );
        let value = residual - golden.lambda * simd::dot(&joined, &state.embedding);
        let theirs = golden.objective[0];
        assert!((value - theirs).abs() <= 1e-9 * theirs.abs(), "{}: {value} {theirs}", golden.name);
    });
}

#[test]
fn the_first_label_step_is_the_naive_sweep_in_row_order() {
    each(|golden, _, context| {
        let (n, k) = (golden.n, golden.k);
        let (state, weights) = (&golden.start, vec![1.0; n]);
        let mut scores = vec![0.0; n * k];
        for (i, q) in scores.chunks_exact_mut(k).enumerate() {
            embedding::row_scores(state.graph.row(i), &state.embedding, k, q);
        }
        let mut ours = state.labels.clone();
        let visits = Visits { weights: &weights, order: None, max_sweeps: 10 };
        labels::update(&state.graph, &state.embedding, &mut ours, k, visits, context).unwrap();

        let cut = |labels: &[u32]| -> f64 {
            let (mut sums, mut sizes) = (vec![0.0; k], vec![0.0; k]);
            for (i, &l) in labels.iter().enumerate() {
                sums[l as usize] += scores[i * k + l as usize];
                sizes[l as usize] += 1.0;
            }
            sums.iter()
                .zip(&sizes)
                .filter(|(_, n)| **n > 0.0)
                .map(|(s, n): (&f64, &f64)| s / n.sqrt())
                .sum()
        };
        let mut naive = state.labels.clone();
        for _ in 0..10 {
            let before = naive.clone();
            for i in 0..n {
                let values: Vec<f64> = (0..k as u32)
                    .map(|j| {
                        naive[i] = j;
                        cut(&naive)
                    })
                    .collect();
                naive[i] = crate::model::rule::best(&values) as u32;
            }
            if naive == before {
                break;
            }
        }
        assert_eq!(ours, naive, "{}", golden.name);
    });
}

#[test]
fn no_half_step_raises_the_objective_and_the_end_is_near_the_authors() {
    each(|golden, table, context| {
        let (weights, ones) = (vec![1.0; golden.n], vec![1.0; golden.m]);
        let visits = Visits { weights: &weights, order: None, max_sweeps: 10 };
        let mut state = golden.start.clone();
        let mut trace = Trace::new();
        let decrease = golden.objective[0] - golden.objective[30];
        let mut last = golden.objective[0];
        settings(golden, &ones)
            .run(table, visits, &mut state, &mut trace, context, |step, value| {
                assert!(
                    value <= last + 1e-9 * golden.objective[0].abs(),
                    "{}: {step} rises from {last} to {value}",
                    golden.name
                );
                last = value;
            })
            .unwrap();
        let end = *trace.objective.last().unwrap();
        println!(
            "{}: {} -> {end} after {} iterations; the authors' end {}",
            golden.name,
            golden.objective[0],
            trace.n_iter(),
            golden.objective[30]
        );
        assert!(end <= golden.objective[30] + 0.03 * decrease, "{}: {end}", golden.name);
    });
}

#[test]
fn the_authors_row_solver_stops_early_on_their_first_graph() {
    each(|golden, _, _| {
        use obcut_core::simplex::{Gradient, Gram, kkt_gap};
        let (m, d) = (golden.m, golden.d);
        let gram = Gram::new(gemm::gram(&golden.start.anchors, m, d), m, 0.0);
        let mut gaps: Vec<f64> = (0..golden.n)
            .map(|i| {
                let x = &golden.x[i * d..(i + 1) * d];
                let f: Vec<f64> =
                    golden.start.anchors.chunks_exact(d).map(|a| 2.0 * simd::dot(a, x)).collect();
                let mut b = vec![0.0; m];
                Gradient::new().solve(&gram, &f, &mut b);
                assert!((b.iter().sum::<f64>() - 1.0).abs() < 1e-9 && b.iter().all(|v| *v >= 0.0));
                kkt_gap(&gram, &f, &b)
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        println!(
            "{}: median gap {:.1e}, largest {:.1e}",
            golden.name,
            gaps[golden.n / 2],
            gaps[golden.n - 1]
        );
        assert!(gaps[golden.n - 1] > 1e-6, "{}: the solver should not be exact", golden.name);
    });
}
