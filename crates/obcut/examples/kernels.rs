//! One kernel on a fixed small problem, for `make bench-count`: `kernels NAME`, one thread.
//! `kernels solvers` prints the row solvers beside each other, with seconds instead of instructions.
//!
//! Instruction counts do not depend on what else the machine does, so that a regression of a few per cent
//! shows. What every name runs is in `main`.

use obcut::{CutParams, GraphKind, Learn, Matrix, OBCut, Params, Silent, cut, synthetic};
use obcut_core::means::{KMeansParams, k_means};
use obcut_core::simplex::{ActiveSet, AugmentedLagrangian, Gradient, Gram, PlaneGram, kkt_gap};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let data = synthetic::subspaces(4_000, 64, 5, 4, 0.05, 1);
    let samples = data.matrix.samples()?;
    let base = Params { threads: 1, n_anchors: Some(100), ..Params::new(5) };
    match name.as_str() {
        // The data alone: what all the others start with.
        "nothing" => {}
        "lloyd" => {
            let params = KMeansParams {
                plus_plus: false,
                max_iter: 5,
                rows_per_center: None,
                tol: 0.0,
                threads: 1,
                ..KMeansParams::new(100)
            };
            k_means(&samples, &params, &Silent)?;
        }
        "distance" | "local" | "global" => {
            let graph = match name.as_str() {
                "distance" => GraphKind::Distance,
                "local" => GraphKind::Local,
                _ => GraphKind::Global,
            };
            OBCut::from(Params { graph, ..base }).fit(&samples)?;
        }
        "loop" => {
            let learn = Learn::AnchorsAndGraph;
            let params = Params { graph: GraphKind::Global, learn, max_iter: 3, ..base };
            OBCut::from(params).fit(&samples)?;
        }
        "cut" => {
            // Any table of non-negative numbers is a graph.
            let values: Vec<f64> = (0..4_000 * 40).map(number).map(|v| v.powi(8)).collect();
            let matrix = Matrix::Dense64 { values, n_rows: 4_000, n_cols: 40 };
            cut(&matrix.samples()?, &CutParams { threads: 1, ..CutParams::new(8) }, &Silent)?;
        }
        "rows" => rows(),
        "solvers" => solvers(),
        other => return Err(format!("no kernel '{other}'").into()),
    }
    Ok(())
}

/// The i-th of some scattered numbers in [0, 1).
fn number(i: usize) -> f64 {
    f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / 16_777_216.0
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `m` anchors in `d` dimensions, centered, as their Gram matrix, and the linear terms of `n` rows.
fn problems(n: usize, m: usize, d: usize) -> (Gram, Vec<Vec<f64>>) {
    let anchors: Vec<f64> = (0..m * d).map(|p| number(p) - 0.5).collect();
    let anchor = |a: usize| &anchors[a * d..(a + 1) * d];
    let gram = (0..m * m).map(|p| dot(anchor(p / m), anchor(p % m))).collect();
    let linear = |i: usize| {
        let x: Vec<f64> = (0..d).map(|f| 0.6 * number(7_919 * (i * d + f) + 13) - 0.3).collect();
        (0..m).map(|a| 2.0 * dot(anchor(a), &x)).collect()
    };
    (Gram::new(gram, m, 0.0), (0..n).map(linear).collect())
}

/// The solvers of the row problem on the same rows, from a cold start: a table in Markdown.
fn solvers() {
    println!("| anchors | features | solver | µs per row | mean gap | largest gap | mean links |");
    println!("|---|---|---|---|---|---|---|");
    for (m, d) in [(30, 3), (100, 16), (100, 64), (100, 200), (300, 32)] {
        let (gram, rows) = problems(200, m, d);
        let plane = PlaneGram::new(&gram).expect("finite entries");
        let (mut exact, mut gradient) = (ActiveSet::new(), Gradient::new());
        let mut alm = AugmentedLagrangian::new();
        let (mut support, mut weights) = (Vec::new(), Vec::new());
        report((m, d), "exact", &gram, &rows, |f, b| {
            support.clear();
            weights.clear();
            exact.solve(&gram, f, &mut support, &mut weights);
            b.fill(0.0);
            support.iter().zip(&weights).for_each(|(&a, &w)| b[a as usize] = w);
        });
        report((m, d), "alm", &gram, &rows, |f, b| {
            b.fill(1.0 / m as f64);
            alm.solve(&gram, &plane, f, b);
        });
        report((m, d), "authors", &gram, &rows, |f, b| gradient.solve(&gram, f, b));
    }
}

/// A line of the table: the best of five passes over the rows.
fn report(
    (m, d): (usize, usize),
    name: &str,
    gram: &Gram,
    rows: &[Vec<f64>],
    mut solve: impl FnMut(&[f64], &mut [f64]),
) {
    let mut found = vec![vec![0.0; m]; rows.len()];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let clock = Instant::now();
        rows.iter().zip(&mut found).for_each(|(f, b)| solve(f, b));
        best = best.min(clock.elapsed().as_secs_f64());
    }
    let gaps: Vec<f64> = rows.iter().zip(&found).map(|(f, b)| kkt_gap(gram, f, b)).collect();
    let n = rows.len() as f64;
    let links = found.iter().flatten().filter(|&&w| w > 0.0).count() as f64 / n;
    let (mean, largest) =
        (gaps.iter().sum::<f64>() / n, gaps.iter().fold(0.0, |a: f64, &b| a.max(b)));
    let micros = 1e6 * best / n;
    println!("| {m} | {d} | `{name}` | {micros:.1} | {mean:.0e} | {largest:.0e} | {links:.1} |");
}

/// 2,000 row problems over 100 anchors in 16 dimensions, cold and then warm.
fn rows() {
    let (m, d) = (100, 16);
    let anchors: Vec<f64> = (0..m * d).map(number).collect();
    let anchor = |a: usize| &anchors[a * d..(a + 1) * d];
    let gram = (0..m * m).map(|p| dot(anchor(p / m), anchor(p % m))).collect();
    let gram = Gram::new(gram, m, 0.0);
    let mut solver = ActiveSet::new();
    let (mut support, mut weights) = (Vec::new(), Vec::new());
    for i in 0..2_000 {
        let x: Vec<f64> = (0..d).map(|f| 0.2 + 0.6 * number(7_919 * (i * d + f) + 13)).collect();
        let f: Vec<f64> = (0..m).map(|a| 2.0 * dot(anchor(a), &x)).collect();
        support.clear();
        weights.clear();
        solver.solve(&gram, &f, &mut support, &mut weights);
        solver.solve(&gram, &f, &mut support, &mut weights);
    }
}
