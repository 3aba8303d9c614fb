//! Data for the tests of single methods.

use std::path::PathBuf;

use obcut::{Error, Matrix, Scale, Silent};
use obcut_core::normalize::Scaling;
use obcut_core::observer::Clock;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::table::Table;
use obcut_data::{LoadOptions, Source};

use crate::job::Job;

/// Three planes of twenty rows in eight dimensions, in closed form, rows of unit length.
#[allow(dead_code)]
pub(crate) fn planes() -> Matrix {
    let mut values = Vec::new();
    for plane in 0..3 {
        let s = f64::from(plane);
        for t in 0..20 {
            let angle = 0.7 + 0.31 * f64::from(t);
            let row: Vec<f64> = (1..=8)
                .map(|i| {
                    let at = f64::from(i) * (s + 1.0);
                    angle.cos() * at.cos() + angle.sin() * (at + 0.5 * s).sin()
                })
                .collect();
            let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            values.extend(row.iter().map(|v| v / norm));
        }
    }
    Matrix::Dense64 { values, n_rows: 60, n_cols: 8 }
}

/// Every `step`-th row of a data set in `OBCUT_DATA`, with the classes; `None`, and a word, without it.
pub(crate) fn subset(name: &str, step: usize) -> Option<(Matrix, Vec<u32>)> {
    let Some(folder) = std::env::var_os("OBCUT_DATA") else {
        eprintln!("skipped: OBCUT_DATA is not set");
        return None;
    };
    let path = PathBuf::from(folder).join(format!("{name}.npz"));
    let options = LoadOptions { truth: Some("y".into()), ..LoadOptions::default() };
    let data = obcut_data::load(&Source::Path(path), &options).expect("a readable data set");
    let classes = data.truth.expect("classes").codes;
    let (n, d) = (data.matrix.n_rows(), data.matrix.n_cols());
    let rows = (0..n).step_by(step);
    let values: Vec<f64> = match &data.matrix {
        Matrix::Dense64 { values, .. } => {
            rows.clone().flat_map(|i| values[i * d..(i + 1) * d].to_vec()).collect()
        }
        Matrix::Dense32 { values, .. } => rows
            .clone()
            .flat_map(|i| {
                values[i * d..(i + 1) * d].iter().map(|&v| f64::from(v)).collect::<Vec<_>>()
            })
            .collect(),
        _ => panic!("a dense data set"),
    };
    let classes: Vec<u32> = rows.map(|i| classes[i]).collect();
    Some((Matrix::Dense64 { values, n_rows: classes.len(), n_cols: d }, classes))
}

/// Runs `work` on a job over all rows of a matrix, as [`crate::job::run`] does.
pub(crate) fn with_job<R: Send>(
    matrix: &Matrix,
    k: usize,
    scale: Scale,
    may_move: bool,
    work: impl FnOnce(&mut Job<'_>) -> Result<R, Error> + Send,
) -> R {
    let samples = matrix.samples().expect("a whole matrix");
    Context::run(2, &Silent, |context| {
        let scaling = if may_move {
            Scaling::fit(&samples, None, scale, &context)?
        } else {
            Scaling::unmoved(&samples, scale, &context)?
        };
        let table = Table::new(samples, &scaling);
        let (n, d, stream) = (table.n(), table.d(), Stream::new(0));
        let (context, clock, warnings) = (&context, Clock::default(), Vec::new());
        work(&mut Job { table: &table, n, d, k, stream, context, clock, warnings })
    })
    .expect("the work succeeds")
}

/// Whether two numbers agree to a part of their size.
pub(crate) fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * b.abs().max(1e-300)
}
