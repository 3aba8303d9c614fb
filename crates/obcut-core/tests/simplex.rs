//! The row solvers against the optimality conditions, against enumeration, and against an
//! independent interior-point solver.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, ZeroConeT,
};
use obcut_core::simplex::{
    ActiveSet, AugmentedLagrangian, Gradient, Gram, PlaneGram, kkt_gap, projection, value,
};
use proptest::prelude::*;

/// A row problem: anchors (d x n), hence a Gram of rank at most d, and a linear term.
#[derive(Clone, Debug)]
struct Row {
    n: usize,
    gram: Vec<f64>,
    f: Vec<f64>,
}

impl Row {
    fn new(anchors: &[Vec<f64>], f: Vec<f64>) -> Self {
        let n = anchors.len();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                gram[i * n + j] = anchors[i].iter().zip(&anchors[j]).map(|(a, b)| a * b).sum();
            }
        }
        Self { n, gram, f }
    }

    fn gram(&self, ridge: f64) -> Gram {
        Gram::new(self.gram.clone(), self.n, ridge)
    }
}

/// Sequence of numbers in [0, 1) for the tests that want many problems from one seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// Random anchors, some of them copies of others, and f = 2A'x + weight q.
fn row(numbers: &mut Numbers, n: usize, d: usize, copies: bool, weight: f64) -> Row {
    let mut anchors: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        if copies && i > 0 && numbers.next() < 0.3 {
            anchors.push(anchors[numbers.below(i)].clone());
        } else {
            anchors.push((0..d).map(|_| numbers.next() - 0.3).collect());
        }
    }
    let x: Vec<f64> = (0..d).map(|_| numbers.next() - 0.3).collect();
    let f = anchors
        .iter()
        .map(|a| {
            let inner: f64 = a.iter().zip(&x).map(|(a, x)| a * x).sum();
            2.0 * inner + weight * (numbers.next() - 0.5)
        })
        .collect();
    Row::new(&anchors, f)
}

fn start(numbers: &mut Numbers, n: usize, kind: usize) -> (Vec<u32>, Vec<f64>) {
    match kind {
        0 => (vec![], vec![]),
        1 => ((0..n as u32).collect(), vec![1.0 / n as f64; n]),
        _ => {
            let keep: Vec<u32> = (0..n as u32).filter(|_| numbers.next() < 0.5).collect();
            let raw: Vec<f64> = keep.iter().map(|_| numbers.next() + 1e-3).collect();
            let sum: f64 = raw.iter().sum();
            (keep, raw.iter().map(|w| w / sum).collect())
        }
    }
}

fn dense(n: usize, support: &[u32], weights: &[f64]) -> Vec<f64> {
    let mut b = vec![0.0; n];
    for (&m, &w) in support.iter().zip(weights) {
        b[m as usize] = w;
    }
    b
}

/// Solves, checks everything that must hold of a row, and returns it densely.
fn solved(
    solver: &mut ActiveSet,
    row: &Row,
    gram: &Gram,
    mut support: Vec<u32>,
    mut weights: Vec<f64>,
) -> Vec<f64> {
    let before =
        (!support.is_empty()).then(|| value(gram, &row.f, &dense(row.n, &support, &weights)));
    solver.solve(gram, &row.f, &mut support, &mut weights);
    assert!(!support.is_empty() && support.len() == weights.len());
    assert!(support.windows(2).all(|w| w[0] < w[1]), "ascending: {support:?}");
    assert!(weights.iter().all(|w| *w > 0.0 && w.is_finite()), "{weights:?}");
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let b = dense(row.n, &support, &weights);
    let gap = kkt_gap(gram, &row.f, &b);
    assert!(gap < 1e-8, "gap {gap:e}, n {}, support {support:?}", row.n);
    if let Some(before) = before {
        let after = value(gram, &row.f, &b);
        let size = row.f.iter().chain(&row.gram).fold(0.0_f64, |a, x| a.max(x.abs()));
        assert!(after <= before + 1e-14 * size, "{after} above {before}");
    }
    b
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_row_is_optimal_from_every_start(
        seed: u64,
        n in 1..80usize,
        d in 1..45usize,
        copies: bool,
        weight in prop::sample::select(vec![0.0, 1e-6, 1e-2, 1.0, 1e2, 1e8]),
        size in prop::sample::select(vec![1e-6, 1.0, 1e5]),
        offset in prop::sample::select(vec![0.0, 0.0, -3.0, 1e4]),
        ridge in prop::sample::select(vec![0.0, 0.0, 1e-4, 0.1]),
    ) {
        let numbers = &mut Numbers(seed);
        let mut row = row(numbers, n, d, copies, weight);
        row.gram.iter_mut().for_each(|g| *g *= size);
        row.f.iter_mut().for_each(|f| *f = *f * size + offset);
        let gram = row.gram(ridge * size);
        let mut solver = ActiveSet::new();
        let mut first = None;
        for kind in [0, 1, 2, 2] {
            let (support, weights) = start(numbers, n, kind);
            let b = solved(&mut solver, &row, &gram, support, weights);
            let v = value(&gram, &row.f, &b);
            let scale = row.f.iter().fold(size, |a, x| a.max(x.abs()));
            let first = *first.get_or_insert(v);
            prop_assert!((v - first).abs() <= 1e-8 * scale, "{v} from one start, {first} from another");
        }
    }

    #[test]
    fn the_small_solver_agrees_with_the_big_one(
        seed: u64, n in 1..16usize, d in 1..20usize, copies: bool, weight in 0.0..2.0f64,
    ) {
        let numbers = &mut Numbers(seed);
        let row = row(numbers, n, d, copies, weight);
        let gram = row.gram(1e-3);
        let mut solver = ActiveSet::new();
        for kind in [0, 1, 2] {
            let (support, weights) = start(numbers, n, kind);
            let mut small = dense(n, &support, &weights);
            let big = solved(&mut solver, &row, &gram, support, weights);
            solver.solve_small(&row.gram, n, &row.f, 1e-3, &mut small);
            prop_assert_eq!(&small, &big);
        }
    }

    #[test]
    fn a_used_workspace_changes_nothing(seed: u64, n in 1..30usize, d in 1..30usize) {
        let numbers = &mut Numbers(seed);
        let other = row(numbers, 35, 5, true, 1.0);
        let row = row(numbers, n, d, false, 0.1);
        let mut used = ActiveSet::new();
        solved(&mut used, &other, &other.gram(0.0), vec![], vec![]);
        let gram = row.gram(0.0);
        let (support, weights) = start(numbers, n, 2);
        let a = solved(&mut used, &row, &gram, support.clone(), weights.clone());
        let b = solved(&mut ActiveSet::new(), &row, &gram, support, weights);
        prop_assert_eq!(a, b);
        // Of the same size, so that what an earlier row left would fit.
        let earlier: Vec<f64> = row.f.iter().map(|f| 1.0 - 3.0 * f).collect();
        let (mut used, mut first, mut again) = (Gradient::new(), vec![0.0; n], vec![0.0; n]);
        used.solve(&gram, &earlier, &mut first);
        used.solve(&gram, &row.f, &mut first);
        Gradient::new().solve(&gram, &row.f, &mut again);
        prop_assert_eq!(&first, &again);
        let plane = PlaneGram::new(&gram).unwrap();
        let (mut used, uniform) = (AugmentedLagrangian::new(), vec![1.0 / n as f64; n]);
        first.clone_from(&uniform);
        used.solve(&gram, &plane, &earlier, &mut first);
        first.clone_from(&uniform);
        used.solve(&gram, &plane, &row.f, &mut first);
        again.clone_from(&uniform);
        AugmentedLagrangian::new().solve(&gram, &plane, &row.f, &mut again);
        prop_assert_eq!(first, again);
    }
}

/// The minimum by trying every support: the equality problem of each, by Gaussian elimination.
fn enumerate(row: &Row, ridge: f64) -> f64 {
    let n = row.n;
    let mut best = f64::INFINITY;
    for mask in 1u32..1 << n {
        let members: Vec<usize> = (0..n).filter(|m| mask >> m & 1 == 1).collect();
        let p = members.len();
        // 2 K b - mu = f, sum(b) = 1.
        let mut a = vec![vec![0.0; p + 2]; p + 1];
        for (r, &i) in members.iter().enumerate() {
            for (c, &j) in members.iter().enumerate() {
                a[r][c] = 2.0 * (row.gram[i * n + j] + if i == j { ridge } else { 0.0 });
            }
            a[r][p] = -1.0;
            a[r][p + 1] = row.f[i];
            a[p][r] = 1.0;
        }
        a[p][p + 1] = 1.0;
        for c in 0..=p {
            let pivot = (c..=p).max_by(|&x, &y| a[x][c].abs().total_cmp(&a[y][c].abs())).unwrap();
            a.swap(c, pivot);
            for r in 0..=p {
                if r != c {
                    let factor = a[r][c] / a[c][c];
                    for k in c..p + 2 {
                        a[r][k] -= factor * a[c][k];
                    }
                }
            }
        }
        let b: Vec<f64> = (0..p).map(|r| a[r][p + 1] / a[r][r]).collect();
        if b.iter().all(|w| *w >= 0.0) {
            let mut v = 0.0;
            for (r, &i) in members.iter().enumerate() {
                v += b[r] * (ridge * b[r] - row.f[i]);
                for (c, &j) in members.iter().enumerate() {
                    v += b[r] * b[c] * row.gram[i * n + j];
                }
            }
            best = best.min(v);
        }
    }
    best
}

#[test]
fn the_value_is_the_least_over_all_supports() {
    let numbers = &mut Numbers(5);
    let mut solver = ActiveSet::new();
    for case in 0..600 {
        let (n, d) = (1 + numbers.below(6), 1 + numbers.below(6));
        let row = row(numbers, n, d, case % 3 == 0, [0.0, 0.1, 3.0][case % 3]);
        let ridge = 1e-4; // so that elimination is sound on singular Grams
        let gram = row.gram(ridge);
        let b = solved(&mut solver, &row, &gram, vec![], vec![]);
        let (ours, least) = (value(&gram, &row.f, &b), enumerate(&row, gram.ridge()));
        assert!((ours - least).abs() < 1e-9, "case {case}: {ours} against {least}");
    }
}

/// The same program by clarabel: min 1/2 b'(2K)b - f'b.
fn interior_point(row: &Row, ridge: f64) -> Vec<f64> {
    let n = row.n;
    let mut values = Vec::new();
    let (mut rows, mut starts) = (Vec::new(), vec![0]);
    for j in 0..n {
        for i in 0..=j {
            rows.push(i);
            values.push(2.0 * (row.gram[i * n + j] + if i == j { ridge } else { 0.0 }));
        }
        starts.push(rows.len());
    }
    let p = CscMatrix::new(n, n, starts, rows, values);
    let q: Vec<f64> = row.f.iter().map(|f| -f).collect();
    // One equality row, then -b <= 0.
    let starts: Vec<usize> = (0..=n).map(|j| 2 * j).collect();
    let rows = (0..n).flat_map(|j| [0, j + 1]).collect();
    let a = CscMatrix::new(n + 1, n, starts, rows, [1.0, -1.0].repeat(n));
    let mut bounds = vec![0.0; n + 1];
    bounds[0] = 1.0;
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-12)
        .tol_gap_rel(1e-12)
        .tol_feas(1e-12)
        .build()
        .expect("valid settings");
    let cones = [ZeroConeT(1), NonnegativeConeT(n)];
    let mut solver = DefaultSolver::new(&p, &q, &a, &bounds, &cones, settings).expect("a valid QP");
    solver.solve();
    solver.solution.x
}

#[test]
fn values_agree_with_an_interior_point_solver() {
    let numbers = &mut Numbers(11);
    let mut solver = ActiveSet::new();
    let (mut worst_value, mut worst_row) = (0.0_f64, 0.0_f64);
    for case in 0..400 {
        let n = 1 + numbers.below(30);
        let d = [2, 5, 16, 40][case % 4];
        let row = row(numbers, n, d, case % 5 == 0, [0.0, 0.05, 1.0][case % 3]);
        let user_ridge = if case % 2 == 0 { 0.0 } else { 1e-2 };
        let gram = row.gram(user_ridge);
        let b = solved(&mut solver, &row, &gram, vec![], vec![]);
        let twin = interior_point(&row, gram.ridge());
        let difference = value(&gram, &row.f, &b) - value(&gram, &row.f, &twin);
        worst_value = worst_value.max(difference.abs());
        if user_ridge > 0.0 {
            let far = b.iter().zip(&twin).fold(0.0_f64, |a, (x, y)| a.max((x - y).abs()));
            worst_row = worst_row.max(far);
        }
    }
    println!("largest difference of values {worst_value:e}, of weights {worst_row:e}");
    assert!(worst_value < 1e-7, "values differ by {worst_value:e}");
    assert!(worst_row < 1e-4, "weights differ by {worst_row:e}");
}

#[test]
fn larger_rows_agree_with_a_long_projected_gradient() {
    let numbers = &mut Numbers(23);
    let mut solver = ActiveSet::new();
    for _ in 0..20 {
        let row = row(numbers, 60, 12, false, 0.2);
        let gram = row.gram(0.05);
        let b = solved(&mut solver, &row, &gram, vec![], vec![]);
        let norm: f64 = (0..60).map(|m| row.gram[m * 61]).sum::<f64>() + gram.ridge();
        let step = 0.5 / norm; // 1 / (2 trace), below 1 / Lipschitz constant
        let mut twin = vec![1.0 / 60.0; 60];
        for _ in 0..20_000 {
            let mut next = twin.clone();
            for m in 0..60 {
                let product: f64 = gram.row(m).iter().zip(&twin).map(|(g, w)| g * w).sum();
                next[m] -= step * (2.0 * (product + gram.ridge() * twin[m]) - row.f[m]);
            }
            projection::project(&mut next, &mut Vec::new());
            twin = next;
        }
        let far = b.iter().zip(&twin).fold(0.0_f64, |a, (x, y)| a.max((x - y).abs()));
        assert!(far < 1e-6, "weights differ by {far:e}");
    }
}

#[test]
fn degenerate_rows_give_finite_feasible_answers() {
    let mut solver = ActiveSet::new();
    let uniform = |n: usize| ((0..n as u32).collect::<Vec<_>>(), vec![1.0 / n as f64; n]);
    for n in [1, 2, 7, 50] {
        let zero = vec![0.0; n * n];
        let ones = vec![1.0; n * n];
        for gram in [&zero, &ones] {
            for size in [0.0, 1e-8, 1.0, 1e8, 1e150] {
                let f: Vec<f64> = (0..n).map(|m| size * ((m * 7 % 5) as f64)).collect();
                let row = Row { n, gram: gram.clone(), f };
                for (support, weights) in [(vec![], vec![]), uniform(n)] {
                    solved(&mut solver, &row, &row.gram(0.0), support, weights);
                }
            }
        }
    }
}

#[test]
fn numbers_that_are_not_finite_leave_the_start_alone() {
    let gram = Gram::new(vec![1.0, 0.0, 0.0, 1.0], 2, 0.0);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let (mut support, mut weights) = (vec![0, 1], vec![0.5, 0.5]);
        ActiveSet::new().solve(&gram, &[bad, 1.0], &mut support, &mut weights);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{support:?} {weights:?}");
    }
}

#[test]
fn the_authors_solver_is_feasible_and_never_below_the_optimum() {
    let numbers = &mut Numbers(3);
    let (mut exact, mut gradient) = (ActiveSet::new(), Gradient::new());
    for _ in 0..50 {
        let row = row(numbers, 40, 16, false, 0.1);
        let gram = row.gram(0.0);
        let b = solved(&mut exact, &row, &gram, vec![], vec![]);
        let mut theirs = vec![0.0; 40];
        gradient.solve(&gram, &row.f, &mut theirs);
        assert!((theirs.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(theirs.iter().all(|w| *w >= 0.0));
        assert!(value(&gram, &row.f, &theirs) >= value(&gram, &row.f, &b) - 1e-9);
    }
}

#[test]
fn the_augmented_lagrangian_reaches_the_value_of_the_active_set() {
    let numbers = &mut Numbers(17);
    let (mut exact, mut alm) = (ActiveSet::new(), AugmentedLagrangian::new());
    let (mut worst_gap, mut worst_value) = (0.0_f64, 0.0_f64);
    for case in 0..400 {
        let n = 1 + numbers.below(40);
        // Fewer dimensions than anchors, where many rows are optimal, and more.
        let d = [1, 2, 5, 16, 60][case % 5];
        let row = row(numbers, n, d, case % 3 == 0, [0.0, 0.05, 1.0, 100.0][case % 4]);
        let gram = row.gram([0.0, 0.01][case % 2]);
        let plane = PlaneGram::new(&gram).unwrap();
        let best = solved(&mut exact, &row, &gram, vec![], vec![]);
        let mut b = vec![1.0 / n as f64; n];
        alm.solve(&gram, &plane, &row.f, &mut b);
        assert!((b.iter().sum::<f64>() - 1.0).abs() < 1e-12 && b.iter().all(|w| *w >= 0.0));
        let gap = kkt_gap(&gram, &row.f, &b);
        let size = row.f.iter().chain(&row.gram).fold(0.0_f64, |a, x| a.max(x.abs()));
        let above = (value(&gram, &row.f, &b) - value(&gram, &row.f, &best)) / size;
        (worst_gap, worst_value) = (worst_gap.max(gap), worst_value.max(above.abs()));
    }
    println!("largest gap {worst_gap:e}, largest difference of values {worst_value:e}");
    assert!(worst_gap <= 1e-8, "gap {worst_gap:e}");
    assert!(worst_value <= 1e-8, "values differ by {worst_value:e}");
}
