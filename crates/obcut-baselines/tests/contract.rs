//! What every method must do, whatever it is.

use obcut::Named;
use obcut::metrics::scores;
use obcut::synthetic::{self, Labelled};
use obcut::{Error, Matrix, Observer, Silent};
use obcut_baselines::Run;
use obcut_baselines::{Configurable, Method};

/// A method with settings that suit small tables.
fn small(method: Method) -> Box<dyn Configurable> {
    let mut built = method.build();
    for (name, value) in [("p", "60"), ("features", "200"), ("supernodes", "40"), ("sparsity", "4")]
    {
        if built.settings().iter().any(|s| s.name == name) {
            built.set(name, value).unwrap();
        }
    }
    built
}

fn run(threads: usize) -> Run {
    Run { seed: 3, threads, ..Run::default() }
}

fn labels(method: Method, matrix: &Matrix, k: usize, threads: usize) -> Result<Vec<u32>, Error> {
    let found = small(method).cluster(&matrix.samples()?, k, &run(threads), &Silent)?;
    let used = found.labels.iter().max().map_or(0, |&l| l as usize + 1);
    assert_eq!((found.labels.len(), used), (matrix.n_rows(), found.n_clusters), "{method}");
    assert!((0..used as u32).all(|l| found.labels.contains(&l)), "{method}: a gap in the labels");
    assert!(found.n_clusters <= k, "{method}");
    Ok(found.labels)
}

/// Three blobs; for the one method that sees nothing but subspaces through the origin, three flats.
fn easy(method: Method, spread: f64) -> Labelled {
    match method {
        Method::SscOmp => synthetic::subspaces(240, 20, 3, 4, 0.0, 5),
        _ => synthetic::blobs(300, 6, 3, spread, 5),
    }
}

#[test]
fn easy_groups_are_found_by_all() {
    for &method in Method::ALL {
        let data = easy(method, 1.0);
        let found = labels(method, &data.matrix, 3, 2).unwrap();
        let score = scores(&found, &data.labels).unwrap();
        assert!(score.acc == 1.0, "{method}: {score:?}");
    }
}

#[test]
fn easy_groups_are_found_in_wide_tables_too() {
    for &method in Method::ALL {
        let data = match method {
            Method::SscOmp => synthetic::subspaces(120, 500, 3, 4, 0.0, 5),
            _ => synthetic::blobs(120, 500, 3, 1.0, 5),
        };
        let found = labels(method, &data.matrix, 3, 2).unwrap();
        let score = scores(&found, &data.labels).unwrap();
        assert!(score.acc == 1.0, "{method}: {score:?}");
        assert_eq!(found, labels(method, &data.matrix, 3, 1).unwrap(), "{method} with 1 thread");
    }
}

#[test]
fn threads_and_repeats_change_no_bit() {
    let data = synthetic::mixture(700, 8, 5, 2);
    for &method in Method::ALL {
        let one = labels(method, &data.matrix, 5, 1).unwrap();
        assert_eq!(one, labels(method, &data.matrix, 5, 1).unwrap(), "{method} repeated");
        assert_eq!(one, labels(method, &data.matrix, 5, 3).unwrap(), "{method} with 3 threads");
    }
}

/// The rows of a dense table as sparse ones, and in the other precision.
fn kinds(matrix: &Matrix) -> [Matrix; 2] {
    let Matrix::Dense64 { values, n_rows, n_cols } = matrix else { panic!("double precision") };
    let mut sparse =
        obcut::Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: *n_cols };
    for row in values.chunks_exact(*n_cols) {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            sparse.columns.push(c as i64);
            sparse.values.push(*v);
        }
        sparse.offsets.push(sparse.columns.len() as i64);
    }
    let single = values.iter().map(|&v| v as f32).collect();
    [Matrix::Sparse64(sparse), Matrix::Dense32 { values: single, n_rows: *n_rows, n_cols: *n_cols }]
}

#[test]
fn sparse_and_single_precision_tables_are_taken() {
    for &method in Method::ALL {
        let data = easy(method, 0.5);
        for matrix in kinds(&data.matrix) {
            let found = labels(method, &matrix, 3, 2).unwrap();
            assert!(scores(&found, &data.labels).unwrap().acc == 1.0, "{method}");
        }
    }
}

#[test]
fn wrong_input_is_an_error() {
    let dense = |values: Vec<f64>, n_rows, n_cols| Matrix::Dense64 { values, n_rows, n_cols };
    let good = synthetic::blobs(40, 3, 2, 1.0, 1).matrix;
    let Matrix::Dense64 { mut values, .. } = good.clone() else { panic!("double precision") };
    values[7] = f64::NAN;
    let spoilt = dense(values.clone(), 40, 3);
    values[7] = f64::INFINITY;
    let endless = dense(values, 40, 3);
    for &method in Method::ALL {
        assert!(labels(method, &good, 0, 1).is_err(), "{method}: k = 0");
        assert!(labels(method, &good, 41, 1).is_err(), "{method}: k > n");
        let text = labels(method, &spoilt, 2, 1).unwrap_err().to_string();
        assert!(text.contains("row 2, column 1 is NaN"), "{method}: {text}");
        assert!(labels(method, &endless, 2, 1).is_err(), "{method}: infinity");
        assert!(labels(method, &dense(vec![], 0, 3), 1, 1).is_err(), "{method}: no rows");
        assert!(labels(method, &dense(vec![], 3, 0), 1, 1).is_err(), "{method}: no columns");
        assert!(small(method).set("no such", "1").is_err(), "{method}");
    }
}

/// Few rows, copies, constant and zero columns, one cluster, as many clusters as rows: labels or an error.
/// Sixty rows of which eight are different, in 200 columns.
fn wide_copies() -> Matrix {
    let distinct = obcut_core::random::Stream::new(3).values(8 * 200);
    let values = (0..60).flat_map(|i| distinct[i % 8 * 200..(i % 8 + 1) * 200].to_vec()).collect();
    Matrix::Dense64 { values, n_rows: 60, n_cols: 200 }
}

#[test]
fn copies_in_wide_tables_stay_together() {
    for method in [Method::KMeans, Method::Lsc, Method::USpec, Method::FastEsc] {
        for k in [8, 10] {
            let found = labels(method, &wide_copies(), k, 2).unwrap();
            assert!((8..60).all(|i| found[i] == found[i - 8]), "{method}, k = {k}: {found:?}");
        }
    }
}

#[test]
fn odd_tables_do_not_panic() {
    let copies: Vec<f64> = (0..30).flat_map(|i| [f64::from(i % 3), 1.0, 0.0]).collect();
    let zeros = vec![0.0; 24];
    let line: Vec<f64> = (0..9).map(f64::from).collect();
    let wide = vec![1.0; 8 * 40];
    let tables = [
        wide_copies(),
        Matrix::Dense64 { values: wide, n_rows: 8, n_cols: 40 },
        Matrix::Dense64 { values: copies, n_rows: 30, n_cols: 3 },
        Matrix::Dense64 { values: zeros, n_rows: 12, n_cols: 2 },
        Matrix::Dense64 { values: line, n_rows: 9, n_cols: 1 },
    ];
    for &method in Method::ALL {
        for table in &tables {
            for k in [1, 2, 5, table.n_rows()] {
                if let Ok(found) = labels(method, table, k, 2) {
                    assert_eq!(found.len(), table.n_rows());
                }
            }
        }
    }
}

#[test]
fn a_cancelled_run_ends() {
    struct No;
    impl Observer for No {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let data = synthetic::blobs(300, 6, 3, 1.0, 5);
    for &method in Method::ALL {
        let found = small(method).cluster(&data.matrix.samples().unwrap(), 3, &run(2), &No);
        assert!(matches!(found, Err(Error::Cancelled)), "{method}");
    }
}

#[test]
fn settings_are_read_and_set_by_name() {
    for &method in Method::ALL {
        assert_eq!(method.name().parse::<Method>().unwrap(), method);
        let mut built = method.build();
        for setting in built.settings() {
            built.set(setting.name, &setting.value).unwrap();
            assert!(built.set(setting.name, "no such value").is_err(), "{method} {}", setting.name);
        }
    }
}

#[test]
fn too_little_memory_is_told_before_the_start() {
    let data = synthetic::blobs(300, 6, 3, 1.0, 5);
    let run = Run { memory: 10, ..run(1) };
    for &method in Method::ALL {
        if matches!(method, Method::Obcut | Method::KMeans) {
            continue;
        }
        let found = small(method).cluster(&data.matrix.samples().unwrap(), 3, &run, &Silent);
        let text = found.unwrap_err().to_string();
        assert!(text.contains("needs") && text.contains("limit"), "{method}: {text}");
    }
}
