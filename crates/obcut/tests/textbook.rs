//! The learning loop against the paper's equations written down densely: no sparse rows, no bounds, no shared
//! sums. Whatever the loop leaves out or takes in by mistake shows in the objective of some iteration.

mod common;

use common::{Numbers, fit_ok, matrix, random_matrix};
use obcut::{
    AnchorUpdate, AnchorWeights, Formulation, GraphKind, Init, LambdaScale, Learn, Matrix, Named,
    Params, RowSolver, Scale, SweepOrder, Trace,
};

const N: usize = 48;
const D: usize = 9;
const M: usize = 6;
const K: usize = 3;

/// Solves a square system by elimination with pivots: `a` is n × (n + r), the last r columns the right sides.
fn eliminate(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&x, &y| a[x][c].abs().total_cmp(&a[y][c].abs())).unwrap();
        a.swap(c, pivot);
        for r in 0..n {
            if r != c {
                let factor = a[r][c] / a[c][c];
                for j in c..a[r].len() {
                    a[r][j] -= factor * a[c][j];
                }
            }
        }
    }
    (0..n).map(|r| a[r][n..].iter().map(|v| v / a[r][r]).collect()).collect()
}

type Rows = Vec<Vec<f64>>;

fn product(a: &Rows, b: &Rows) -> Rows {
    let entry = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(v, b)| v * b[j]).sum::<f64>();
    a.iter().map(|row| (0..b[0].len()).map(|j| entry(row, j)).collect()).collect()
}

fn transposed(a: &Rows) -> Rows {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The unknowns, in the paper's letters (A by anchors), and what is given.
#[derive(Clone)]
struct Textbook {
    x: Rows,
    a: Rows,
    b: Rows,
    h: Rows,
    y: Vec<usize>,
    lambda: f64,
    ridge: f64,
    /// What the proximal update pulls with, and to where.
    pull: f64,
    first: Rows,
}

impl Textbook {
    fn sizes(&self) -> Vec<f64> {
        (0..K).map(|j| self.y.iter().filter(|&&l| l == j).count() as f64).collect()
    }

    /// Tr((Y'Y)^-1/2 Y'BH).
    fn cut(&self, y: &[usize]) -> f64 {
        let q = product(&self.b, &self.h);
        (0..K)
            .map(|j| {
                let members: Vec<usize> = (0..N).filter(|&i| y[i] == j).collect();
                members.iter().map(|&i| q[i][j]).sum::<f64>() / (members.len() as f64).sqrt()
            })
            .sum()
    }

    fn residual(&self) -> f64 {
        let fitted = product(&self.b, &self.a);
        self.x.iter().flatten().zip(fitted.iter().flatten()).map(|(x, f)| (x - f).powi(2)).sum()
    }

    fn objective(&self, with_cut: bool) -> f64 {
        let squares = |v: &Rows| v.iter().flatten().map(|v| v * v).sum::<f64>();
        let moved: f64 = self
            .a
            .iter()
            .flatten()
            .zip(self.first.iter().flatten())
            .map(|(a, b)| (a - b).powi(2))
            .sum();
        let cut = if with_cut { self.lambda * self.cut(&self.y) } else { 0.0 };
        self.residual() - cut + self.ridge * squares(&self.b) + self.pull * moved
    }

    /// Every row to the cluster where the whole cut is largest, up to ten sweeps.
    fn update_y(&mut self) {
        for _ in 0..10 {
            let before = self.y.clone();
            for i in 0..N {
                if self.sizes()[self.y[i]] == 1.0 {
                    continue;
                }
                let at = |j: usize| {
                    let mut tried = self.y.clone();
                    tried[i] = j;
                    self.cut(&tried)
                };
                let stay = at(self.y[i]);
                let best = (0..K).max_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
                if at(best) > stay + 1e-12 {
                    self.y[i] = best;
                }
            }
            if self.y == before {
                break;
            }
        }
    }

    /// H = Z (Z'Z)^-1/2 for Z = B'Y(Y'Y)^-1/2, the root by the iteration of Denman and Beavers.
    fn update_h(&mut self) {
        let sizes = self.sizes();
        let z: Rows = (0..M)
            .map(|m| {
                let sum = |j| (0..N).filter(|&i| self.y[i] == j).map(|i| self.b[i][m]).sum::<f64>();
                (0..K).map(|j| sum(j) / sizes[j].sqrt()).collect()
            })
            .collect();
        let unit: Rows =
            (0..K).map(|i| (0..K).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let inverse = |a: &Rows| {
            eliminate(a.iter().zip(&unit).map(|(a, e)| [a.clone(), e.clone()].concat()).collect())
        };
        let mean = |a: &Rows, b: &Rows| -> Rows {
            a.iter()
                .zip(b)
                .map(|(a, b)| a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect())
                .collect()
        };
        let (mut root, mut inverse_root) = (product(&transposed(&z), &z), unit.clone());
        for _ in 0..60 {
            let next = (mean(&root, &inverse(&inverse_root)), mean(&inverse_root, &inverse(&root)));
            (root, inverse_root) = next;
        }
        self.h = product(&z, &inverse_root);
    }

    /// Every row of B: the best of the solutions on all supports that are not negative.
    fn update_b(&mut self, lambda: f64) {
        let gram = product(&self.a, &transposed(&self.a));
        let sizes = self.sizes();
        for i in 0..N {
            let j = self.y[i];
            let f: Vec<f64> = (0..M)
                .map(|m| {
                    2.0 * dot(&self.a[m], &self.x[i]) + lambda * self.h[m][j] / sizes[j].sqrt()
                })
                .collect();
            let mut best = (f64::INFINITY, vec![]);
            for mask in 1u32..1 << M {
                let members: Vec<usize> = (0..M).filter(|m| mask >> m & 1 == 1).collect();
                // 2 (G + ridge) b - mu = f, sum(b) = 1.
                let mut system: Rows = (members.iter())
                    .map(|&r| {
                        let entry =
                            |&c: &usize| 2.0 * (gram[r][c] + if r == c { self.ridge } else { 0.0 });
                        members.iter().map(entry).chain([-1.0, f[r]]).collect()
                    })
                    .collect();
                system.push(members.iter().map(|_| 1.0).chain([0.0, 1.0]).collect());
                let found = eliminate(system);
                let mut b = vec![0.0; M];
                members.iter().zip(&found).for_each(|(&m, v)| b[m] = v[0]);
                let value =
                    (0..M).map(|r| b[r] * (dot(&gram[r], &b) + self.ridge * b[r] - f[r])).sum();
                if b.iter().all(|w| *w >= 0.0) && value < best.0 {
                    best = (value, b);
                }
            }
            self.b[i] = best.1;
        }
    }

    /// A' = (B'B + pull)^-1 (B'X + pull A0').
    fn update_a(&mut self) {
        let bt = transposed(&self.b);
        let (mut s, mut r) = (product(&bt, &self.b), product(&bt, &self.x));
        for m in 0..M {
            s[m][m] += self.pull;
            r[m].iter_mut().zip(&self.first[m]).for_each(|(r, a)| *r += self.pull * a);
        }
        self.a = eliminate(s.into_iter().zip(r).map(|(s, r)| [s, r].concat()).collect());
    }

    /// The learning loop of the settings: the objective, residual and cut as a fit records them, and the labels.
    fn run(mut self, params: &Params) -> (Trace, Vec<u32>) {
        let unified = params.formulation == Formulation::Unified;
        let mut trace: Trace = serde_json::from_value(serde_json::json!({
            "objective": [], "cut": [], "iteration_seconds": [], "seconds": [], "stop": "max-iter",
            "scores": [], "kept": 0, "tried": [], "loop_rejected": false,
        }))
        .unwrap();
        self.update_b(0.0); // the first graph
        self.update_h();
        if params.anchor_update == AnchorUpdate::Proximal && params.learn != Learn::GraphOnly {
            let diagonal: f64 = self.b.iter().flatten().map(|b| b * b).sum();
            self.pull = params.pull * diagonal / M as f64;
        }
        trace.objective.push(self.objective(unified));
        trace.residual.push(self.residual());
        for _ in 0..params.max_iter {
            if unified {
                self.update_y();
                self.update_h();
            }
            self.update_b(if unified { self.lambda } else { 0.0 });
            if params.learn != Learn::GraphOnly {
                self.update_a();
            }
            trace.objective.push(self.objective(unified));
            trace.residual.push(self.residual());
            if unified {
                trace.cut.push(self.cut(&self.y));
            }
        }
        if !unified {
            for _ in 0..params.max_iter {
                let before = self.y.clone();
                self.update_h();
                self.update_y();
                trace.cut.push(self.cut(&self.y));
                if self.y == before {
                    break;
                }
            }
        }
        (trace, self.y.iter().map(|&l| l as u32).collect())
    }
}

/// Rows in three groups, anchors near them, and labels that are partly wrong.
fn problem(seed: u64) -> (Textbook, Matrix) {
    let mut numbers = Numbers(seed);
    let centers: Rows = (0..K).map(|_| (0..D).map(|_| numbers.unit()).collect()).collect();
    let mut near = |j: usize, noise: f64| -> Vec<f64> {
        centers[j].iter().map(|c| c + noise * (numbers.unit() - 0.5)).collect()
    };
    let x: Rows = (0..N).map(|i| near(i % K, 1.0)).collect();
    let a: Rows = (0..M).map(|m| near(m % K, 1.2)).collect();
    let y = (0..N).map(|i| if i % 5 == 0 { (i / 5) % K } else { i % K }).collect();
    let table = matrix(x.concat(), N, D);
    let (b, h) = (vec![vec![0.0; M]; N], vec![vec![0.0; K]; M]);
    (Textbook { x, first: a.clone(), a, b, h, y, lambda: 0.0, ridge: 0.0, pull: 0.0 }, table)
}

fn settings(start: &Textbook) -> Params {
    Params {
        graph: GraphKind::Global,
        anchors: Some(start.a.concat()),
        n_neighbors: M,
        init: Init::Given(start.y.iter().map(|&l| l as u32).collect()),
        scale: Scale::None,
        anchor_weights: AnchorWeights::None,
        lambda: 2.0,
        lambda_scale: LambdaScale::Absolute,
        max_iter: 4,
        tol: 0.0,
        stop_on_labels: false,
        ..Params::new(K)
    }
}

fn assert_near(found: &[f64], expected: &[f64], scale: f64, what: &str) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-7 * scale;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "{what}: {found:?}, by the equations {expected:?}"
    );
}

#[test]
fn every_iteration_of_the_loop_has_the_value_of_the_equations() {
    for seed in 1..4 {
        let (start, table) = problem(seed);
        let variance: f64 = {
            let mean = |f: usize| start.x.iter().map(|x| x[f]).sum::<f64>() / N as f64;
            let means: Vec<f64> = (0..D).map(mean).collect();
            start.x.iter().flat_map(|x| x.iter().zip(&means)).map(|(x, m)| (x - m).powi(2)).sum()
        };
        let mut all = Vec::new();
        for learn in [Learn::AnchorsAndGraph, Learn::GraphOnly] {
            for formulation in [Formulation::Unified, Formulation::TwoStep] {
                for anchor_update in [AnchorUpdate::LeastSquares, AnchorUpdate::Proximal] {
                    for row_solver in [RowSolver::Exact, RowSolver::Alm] {
                        let base = settings(&start);
                        let params = Params {
                            learn,
                            formulation,
                            anchor_update,
                            row_solver,
                            pull: 0.3,
                            ridge: 0.02,
                            ..base
                        };
                        let name = format!(
                            "seed {seed}: {learn} {formulation} {anchor_update} {row_solver}"
                        );
                        let ridge = params.ridge * variance / N as f64;
                        let twin = Textbook { lambda: params.lambda, ridge, ..start.clone() };
                        let (expected, labels) = twin.run(&params);
                        let fit = fit_ok(&table, None, &params);
                        let found = fit.trace();
                        assert_near(&found.objective, &expected.objective, variance, &name);
                        assert_near(&found.residual, &expected.residual, variance, &name);
                        assert_near(&found.cut, &expected.cut, 1.0, &name);
                        assert_eq!(fit.labels(), labels, "{name}");
                        all.push((name, expected));
                    }
                }
            }
        }
        // The settings differ in what the loop does, so that none can stand for another, and lambda counts.
        for (i, (one, a)) in all.iter().enumerate() {
            let solver = one.ends_with("alm");
            for (other, b) in &all[..i] {
                let same = one.contains("graph-only") && other.contains("graph-only");
                let formulation = one.contains("unified") == other.contains("unified");
                if solver == other.ends_with("alm") && !(same && formulation) {
                    let far = (a.residual[4] - b.residual[4]).abs();
                    assert!(far > 1e-5 * variance, "{one} is like {other}");
                }
            }
        }
        let mut twin = Textbook { ridge: 0.02 * variance / N as f64, ..start.clone() };
        twin.lambda = 0.0;
        let (plain, _) = twin.run(&Params { learn: Learn::GraphOnly, ..settings(&start) });
        let unified = all.iter().find(|(name, _)| name.contains("graph-only unified")).unwrap();
        assert!((plain.residual[4] - unified.1.residual[4]).abs() > 1e-5 * variance);
        let found = fit_ok(&table, None, &settings(&start)).labels();
        assert!(start.y.iter().zip(found).any(|(&a, b)| a != b as usize), "no label moves");
    }
}

#[test]
fn a_relative_lambda_is_in_units_of_the_variance() {
    let (start, table) = problem(4);
    let means: Vec<f64> =
        (0..D).map(|f| start.x.iter().map(|x| x[f]).sum::<f64>() / N as f64).collect();
    let square = |x: &Vec<f64>| x.iter().zip(&means).map(|(x, m)| (x - m).powi(2)).sum::<f64>();
    let variance: f64 = start.x.iter().map(square).sum();
    let absolute = Params { lambda: 0.4 * variance / ((K * N) as f64).sqrt(), ..settings(&start) };
    let relative = Params { lambda: 0.4, lambda_scale: LambdaScale::Relative, ..settings(&start) };
    let (a, b) = (fit_ok(&table, None, &absolute), fit_ok(&table, None, &relative));
    assert_near(&b.trace().objective, &a.trace().objective, variance, "relative lambda");
}

/// Association times size entropy, from its definition: the score that `learn = auto` compares.
fn score(b: &obcut::Graph, labels: &[u32], k: usize) -> f64 {
    let mut joined = vec![vec![0.0; k]; b.n_cols];
    let mut sizes = vec![0.0; k];
    for (i, &label) in labels.iter().enumerate() {
        sizes[label as usize] += 1.0;
        let (columns, values) = b.row(i);
        columns.iter().zip(values).for_each(|(&m, v)| joined[m as usize][label as usize] += v);
    }
    let linked = joined.iter().filter(|row| row.iter().sum::<f64>() > 0.0);
    let association: f64 = linked
        .map(|row| {
            let degree: f64 = row.iter().sum();
            row.iter().zip(&sizes).map(|(v, n)| v * v / degree / n).sum::<f64>()
        })
        .sum();
    let n = labels.len() as f64;
    let entropy: f64 = sizes.iter().map(|s| -s / n * (s / n).ln()).sum();
    association / k as f64 * entropy / (k as f64).ln()
}

#[test]
fn learning_that_is_only_tried_never_lowers_the_score() {
    let (mut rejected, mut kept) = (0, 0);
    for seed in 0..30 {
        let data = random_matrix(150, 4, None, seed, false);
        let params = Params {
            graph: GraphKind::Global,
            n_anchors: Some(20),
            n_anchor_sets: Some(1),
            lambda: [0.003, 0.03, 0.3][seed as usize % 3],
            formulation: Formulation::ALL[seed as usize / 3 % 2],
            init: if seed % 2 == 0 { Init::Spectral } else { Init::KMeans },
            seed,
            ..Params::new(4)
        };
        let cut = fit_ok(&data, None, &params);
        let tried = fit_ok(&data, None, &Params { learn: Learn::Auto, ..params });
        let samples = data.samples().unwrap();
        let graph = cut.model().on(&samples).unwrap().graph().unwrap();
        let (before, after) = (score(&graph, &cut.labels(), 4), score(&graph, &tried.labels(), 4));
        assert!(after >= before - 1e-12, "seed {seed}: {before} falls to {after}");
        if tried.trace().loop_rejected {
            assert_eq!(tried.labels(), cut.labels());
            rejected += 1;
        } else {
            assert!(!tried.trace().objective.is_empty(), "seed {seed}: the loop did not run");
            kept += 1;
        }
    }
    // Both happen, or the test would hold of a loop that does nothing.
    assert!(rejected > 0 && kept > 0, "{rejected} rejected, {kept} kept");
}

/// The labels of copies are those of the first of them, which may empty a cluster.
#[test]
fn clusters_that_start_empty_get_a_row() {
    let once = random_matrix(40, 3, None, 2, false);
    let data = common::rows(&once, &(0..40).chain([0]).collect::<Vec<_>>());
    let start: Vec<u32> = (0..40).map(|i| i % 3).chain([3]).collect();
    for learn in [Learn::Nothing, Learn::AnchorsAndGraph] {
        let params = Params {
            graph: GraphKind::Global,
            n_anchors: Some(8),
            n_anchor_sets: Some(1),
            init: Init::Given(start.clone()),
            learn,
            ..Params::new(4)
        };
        let labels = fit_ok(&data, None, &params).labels();
        (0..4).for_each(|j| assert!(labels.contains(&j), "{learn}: cluster {j} is empty"));
    }
}

/// Rows that gain the same in both clusters go by the order in which they are visited.
#[test]
fn the_sweep_follows_the_order_that_was_asked_for() {
    let data = random_matrix(200, 3, None, 5, false);
    let base = Params {
        graph: GraphKind::Global,
        n_anchors: Some(30),
        n_anchor_sets: Some(1),
        max_iter: 1,
        max_sweeps: 1,
        init: Init::Given((0..200).map(|i| i % 5).collect()),
        anchors: Some(common::values(&data)[..90].to_vec()),
        ..Params::new(5)
    };
    let labels = |data: &Matrix, order: &[usize], sweep_order, seed| {
        let start = order.iter().map(|&i| (i % 5) as u32).collect();
        let params = Params { sweep_order, seed, init: Init::Given(start), ..base.clone() };
        let found = fit_ok(data, None, &params).labels();
        let mut back = vec![0; 200];
        order.iter().zip(found).for_each(|(&i, l)| back[i] = l);
        back
    };
    let file: Vec<usize> = (0..200).collect();
    let other = common::order(200, 3);
    let shuffled = common::rows(&data, &other);
    // By content and seed: another file with the same rows makes no difference, another seed does.
    let plain = labels(&data, &file, SweepOrder::Shuffled, 0);
    assert_eq!(plain, labels(&shuffled, &other, SweepOrder::Shuffled, 0));
    assert_ne!(plain, labels(&data, &file, SweepOrder::Shuffled, 1));
    // By the file: the other way round, whatever the seed.
    let by_file = labels(&data, &file, SweepOrder::Rows, 0);
    assert_eq!(by_file, labels(&data, &file, SweepOrder::Rows, 1));
    assert_ne!(by_file, labels(&shuffled, &other, SweepOrder::Rows, 0));
}
