//! One kernel on a fixed small problem, for `make bench-count`: `kernels NAME`, one thread.
//!
//! Instruction counts do not depend on what else the machine does, so that a regression of a few per cent
//! shows. What every name runs is in `main`.

use obcut::{CutParams, GraphKind, Learn, Matrix, OBCut, Params, Silent, cut, synthetic};
use obcut_core::means::{KMeansParams, k_means};
use obcut_core::simplex::{ActiveSet, Gram};

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
        other => return Err(format!("no kernel '{other}'").into()),
    }
    Ok(())
}

/// The i-th of some scattered numbers in [0, 1).
fn number(i: usize) -> f64 {
    f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / 16_777_216.0
}

/// 2,000 row problems over 100 anchors in 16 dimensions, cold and then warm.
fn rows() {
    let (m, d) = (100, 16);
    let anchors: Vec<f64> = (0..m * d).map(number).collect();
    let anchor = |a: usize| &anchors[a * d..(a + 1) * d];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
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
