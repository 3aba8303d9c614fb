//! Small tables and shorthands for the tests.
#![allow(dead_code)] // every test file uses a part

use std::collections::HashSet;

use obcut::metrics::{Average, nmi};
use obcut::synthetic::Labelled;
use obcut::{Csr, Error, Fit, Matrix, OBCut, Params};

pub fn matrix(values: Vec<f64>, n_rows: usize, n_cols: usize) -> Matrix {
    Matrix::Dense64 { values, n_rows, n_cols }
}

pub fn fit_ok(matrix: &Matrix, weights: Option<&[f64]>, params: &Params) -> Fit {
    fit(matrix, weights, params).unwrap_or_else(|e| panic!("{params:?}: {e}"))
}

pub fn fit(matrix: &Matrix, weights: Option<&[f64]>, params: &Params) -> Result<Fit, Error> {
    let mut clusterer = OBCut::from(params.clone());
    if let Some(weights) = weights {
        clusterer = clusterer.weights(weights);
    }
    clusterer.fit(matrix)
}

pub fn margins(fit: &Fit) -> Vec<f64> {
    fit.rows().iter().map(|row| row.margin).collect()
}

pub fn confidence(fit: &Fit) -> Vec<f64> {
    fit.rows().iter().map(|row| row.confidence).collect()
}

pub fn outlier_scores(fit: &Fit) -> Vec<f64> {
    fit.rows().iter().map(|row| row.outlier).collect()
}

pub fn noisy(fit: &Fit) -> Vec<bool> {
    fit.rows().iter().map(|row| row.noise).collect()
}

/// NMI of a fit with the classes of generated data.
pub fn scores_of(data: &Labelled, params: &Params) -> f64 {
    let found = fit_ok(&data.matrix, None, params);
    nmi(&found.labels(), &data.labels, Average::Max).expect("equal lengths")
}

/// Pseudo-random numbers of our own, so that tests do not depend on the library's.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
    }

    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 53) as f64
    }
}

/// Uniform entries, or a few levels when `levels` says so.
pub fn random_matrix(n: usize, d: usize, levels: Option<u64>, seed: u64, single: bool) -> Matrix {
    let mut numbers = Numbers(seed + 1);
    let values: Vec<f64> = (0..n * d)
        .map(|_| {
            levels.map_or_else(|| 0.0, |l| (numbers.next() % l) as f64)
                + if levels.is_none() { numbers.unit() } else { 0.0 }
        })
        .collect();
    if single {
        let values = values.iter().map(|v| *v as f32).collect();
        Matrix::Dense32 { values, n_rows: n, n_cols: d }
    } else {
        matrix(values, n, d)
    }
}

pub fn values(matrix: &Matrix) -> Vec<f64> {
    match matrix {
        Matrix::Dense32 { values, .. } => values.iter().map(|v| f64::from(*v)).collect(),
        Matrix::Dense64 { values, .. } => values.clone(),
        Matrix::Sparse32(_) | Matrix::Sparse64(_) => panic!("a dense matrix is needed"),
    }
}

pub fn to_f64(matrix: &Matrix) -> Matrix {
    self::matrix(values(matrix), matrix.n_rows(), matrix.n_cols())
}

pub fn to_sparse(matrix: &Matrix) -> Matrix {
    let d = matrix.n_cols();
    let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
    for row in values(matrix).chunks_exact(d) {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            out.columns.push(c as i64);
            out.values.push(*v);
        }
        out.offsets.push(out.columns.len() as i64);
    }
    Matrix::Sparse64(out)
}

/// Some rows of a matrix, in the order given.
pub fn rows(matrix: &Matrix, order: &[usize]) -> Matrix {
    let d = matrix.n_cols();
    match matrix {
        Matrix::Dense32 { values, .. } => Matrix::Dense32 {
            values: order
                .iter()
                .flat_map(|&i| values[i * d..(i + 1) * d].iter().copied())
                .collect(),
            n_rows: order.len(),
            n_cols: d,
        },
        Matrix::Dense64 { values, .. } => Matrix::Dense64 {
            values: order
                .iter()
                .flat_map(|&i| values[i * d..(i + 1) * d].iter().copied())
                .collect(),
            n_rows: order.len(),
            n_cols: d,
        },
        Matrix::Sparse32(_) => panic!("not needed"),
        Matrix::Sparse64(x) => {
            let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: d };
            for &i in order {
                let range = x.offsets[i] as usize..x.offsets[i + 1] as usize;
                out.columns.extend_from_slice(&x.columns[range.clone()]);
                out.values.extend_from_slice(&x.values[range]);
                out.offsets.push(out.columns.len() as i64);
            }
            Matrix::Sparse64(out)
        }
    }
}

/// A random order of `0..n`.
pub fn order(n: usize, seed: u64) -> Vec<usize> {
    let mut numbers = Numbers(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, (numbers.next() % (i as u64 + 1)) as usize);
    }
    order
}

/// Labels renamed by first appearance.
pub fn partition(labels: &[u32]) -> Vec<usize> {
    let mut names: Vec<u32> = Vec::new();
    labels
        .iter()
        .map(|l| {
            names.iter().position(|n| n == l).unwrap_or_else(|| {
                names.push(*l);
                names.len() - 1
            })
        })
        .collect()
}

pub fn distinct_rows(matrix: &Matrix) -> usize {
    let d = matrix.n_cols();
    values(matrix)
        .chunks_exact(d)
        .map(|r| r.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<_>>())
        .collect::<HashSet<_>>()
        .len()
}
