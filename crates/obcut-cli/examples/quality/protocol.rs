//! Where the data come from, and how a run is prepared and summed up.

use std::path::PathBuf;

use obcut::{Csr, Matrix, synthetic};
use obcut_data::{LoadOptions, Source, load};

/// Rows with their classes.
pub struct Data {
    pub matrix: Matrix,
    pub truth: Vec<u32>,
    pub k: usize,
}

/// A data set by its name: generated, shipped, or `NAME.npz` in the folder `OBCUT_DATA`.
pub fn named(name: &str) -> Option<Data> {
    let made = |made: synthetic::Labelled, k| Data { matrix: made.matrix, truth: made.labels, k };
    match name {
        "moons" => Some(made(synthetic::moons(2000, synthetic::MOONS_NOISE, 1), 2)),
        "rings" => Some(made(synthetic::rings(3000, 3, synthetic::RINGS_NOISE, 1), 3)),
        "blobs" => Some(made(synthetic::blobs(2000, 8, 6, synthetic::BLOBS_SPREAD, 1), 6)),
        "subspaces" => Some(made(synthetic::subspaces(2000, 30, 5, 4, 0.01, 1), 5)),
        "digits" => {
            let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
            let options = LoadOptions { truth: Some("digit".into()), ..LoadOptions::default() };
            read(root, &options)
        }
        _ => {
            let folder = PathBuf::from(std::env::var_os("OBCUT_DATA")?);
            let options = LoadOptions {
                variable: Some("X".into()),
                truth: Some("y".into()),
                ..LoadOptions::default()
            };
            let data = read(folder.join(format!("{name}.npz")), &options)?;
            Some(if name.starts_with("NG20") { sparse(data) } else { data })
        }
    }
}

fn read(path: PathBuf, options: &LoadOptions) -> Option<Data> {
    if !path.exists() {
        return None;
    }
    let loaded = load(&Source::Path(path), options).unwrap_or_else(|e| panic!("{e}"));
    let truth = loaded.truth.expect("the truth was asked for");
    Some(Data { matrix: loaded.matrix, k: truth.names.len(), truth: truth.codes })
}

/// Counts stored dense, as sparse rows.
fn sparse(data: Data) -> Data {
    let Matrix::Dense32 { values, n_cols, .. } = &data.matrix else {
        return data;
    };
    let mut rows = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: *n_cols };
    for row in values.chunks_exact(*n_cols) {
        for (c, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            rows.columns.push(c as i64);
            rows.values.push(v);
        }
        rows.offsets.push(rows.columns.len() as i64);
    }
    Data { matrix: Matrix::Sparse32(rows), ..data }
}

/// The same rows in another order (Fisher-Yates with a generator of its own).
pub fn shuffle(data: &Data, seed: u64) -> Data {
    let n = data.truth.len();
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    for i in (1..n).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, ((state >> 33) % (i as u64 + 1)) as usize);
    }
    subset(data, &order)
}

/// Some rows, in the order given.
pub fn subset(data: &Data, order: &[usize]) -> Data {
    let matrix = match &data.matrix {
        Matrix::Dense32 { values, n_cols, .. } => Matrix::Dense32 {
            values: order
                .iter()
                .flat_map(|&i| &values[i * n_cols..(i + 1) * n_cols])
                .copied()
                .collect(),
            n_rows: order.len(),
            n_cols: *n_cols,
        },
        Matrix::Dense64 { values, n_cols, .. } => Matrix::Dense64 {
            values: order
                .iter()
                .flat_map(|&i| &values[i * n_cols..(i + 1) * n_cols])
                .copied()
                .collect(),
            n_rows: order.len(),
            n_cols: *n_cols,
        },
        Matrix::Sparse32(x) => Matrix::Sparse32(reorder(x, order)),
        Matrix::Sparse64(x) => Matrix::Sparse64(reorder(x, order)),
    };
    Data { matrix, truth: order.iter().map(|&i| data.truth[i]).collect(), k: data.k }
}

fn reorder<T: Copy>(x: &Csr<T>, order: &[usize]) -> Csr<T> {
    let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: x.n_cols };
    for &i in order {
        let range = x.offsets[i] as usize..x.offsets[i + 1] as usize;
        out.columns.extend_from_slice(&x.columns[range.clone()]);
        out.values.extend_from_slice(&x.values[range]);
        out.offsets.push(out.columns.len() as i64);
    }
    out
}

/// Mean and (sample) standard deviation.
pub fn mean_and_deviation(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}
