//! Several files as one table, its size before it is read, and what cannot be one.

mod common;

use std::fs;

use std::path::PathBuf;

use common::{array, check, fixture, gzip, message, number, open, text, words};
use obcut::{Matrix, RowSource};
use obcut_data::{Error, Format, LoadOptions, Source, expand, load, measure, open_rows};

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let part = |name: &str, first: usize, n: usize| {
        array(&at(name), "<f4", name.starts_with('f'), (n, 3), |i, j| {
            (number(first + i, j).round() as f32).to_le_bytes()
        })
    };
    let parts =
        [part("a.npy", 0, 10), part("f.npy", 10, 1), part("e.npy", 11, 0), part("z.npy", 11, 500)];
    let whole = part("whole.npy", 0, 511);
    for options in [
        LoadOptions::default(),
        LoadOptions { truth: Some("1".into()), weights: Some("2".into()), ..Default::default() },
    ] {
        let expected = load(&whole, &options).unwrap();
        let table = open(&parts, &options).unwrap();
        assert_eq!((&table.truth, &table.weights), (&expected.truth, &expected.weights));
        assert_eq!(table.scratch_bytes(), 0);
        check(table, &expected.matrix);
    }
    // One that needs double precision makes all double.
    let wide = array(&at("w.npy"), "<f8", false, (4, 3), |i, j| number(i, j).to_le_bytes());
    let table = open(&[parts[0].clone(), wide.clone()], &LoadOptions::default()).unwrap();
    let mut values: Vec<f64> = (0..30).map(|at| number(at / 3, at % 3).round()).collect();
    values.extend((0..12).map(|at| number(at / 3, at % 3)));
    check(table, &Matrix::Dense64 { values: values.clone(), n_rows: 14, n_cols: 3 });
    let single = LoadOptions { single: Some(true), ..LoadOptions::default() };
    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let table = open(&[parts[0].clone(), wide], &single).unwrap();
    check(table, &Matrix::Dense32 { values, n_rows: 14, n_cols: 3 });
}

#[test]
fn more_files_than_may_be_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = Vec::new();
    for part in 0..300 {
        let path = folder.path().join(format!("{part:03}.npy"));
        array(&path, "|u1", false, (2, 2), |i, j| [(part + i * 3 + j) as u8]);
        values.extend([part, part + 1, part + 3, part + 4].map(|v| f32::from(v as u8)));
    }
    let sources = expand(&Source::Path(folder.path().to_path_buf())).unwrap();
    let table = open(&sources, &LoadOptions::default()).unwrap();
    check(table, &Matrix::Dense32 { values, n_rows: 600, n_cols: 2 });
}

#[test]
fn texts_and_arrays_can_be_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = "a,b,class\n1,2,0\n3,4.5,1\n";
    fs::write(at("1.csv"), text).unwrap();
    fs::write(at("3.csv.gz"), gzip(text.as_bytes())).unwrap();
    let array =
        array(&at("2.npy"), "<i2", false, (2, 3), |i, j| ((9 + i + j) as i16).to_le_bytes());
    let sources = [Source::Path(at("1.csv")), array, Source::Path(at("3.csv.gz"))];
    let options = LoadOptions { truth: Some("2".into()), ..LoadOptions::default() };
    let table = open(&sources, &options).unwrap();
    assert_eq!(table.feature_names.as_ref().unwrap(), &["a", "b"]);
    assert_eq!((table.format, table.first_line), (Format::Csv, None));
    let truth = table.truth.clone().unwrap();
    assert_eq!(
        (truth.codes, truth.names),
        (vec![0, 1, 2, 3, 0, 1], words(&["0", "1", "11", "12"]))
    );
    let values = vec![1.0, 2.0, 3.0, 4.5, 9.0, 10.0, 10.0, 11.0, 1.0, 2.0, 3.0, 4.5];
    check(table, &Matrix::Dense64 { values, n_rows: 6, n_cols: 2 });
}

#[test]
fn files_that_do_not_fit_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.csv"), "a,b\n1,2\n").unwrap();
    fs::write(at("b.csv"), "a,b,c\n1,2,3\n").unwrap();
    fs::write(at("c.csv"), "b,a\n1,2\n").unwrap();
    fs::write(at("d.csv"), "a,b\n1,2\n,4\n").unwrap();
    fs::write(at("e.csv"), "a,b\n").unwrap();
    let of = |names: &[&str], options: &LoadOptions| {
        let sources: Vec<Source> = names.iter().map(|name| Source::Path(at(name))).collect();
        message(&sources, options)
    };
    let plain = LoadOptions::default();
    let text = of(&["a.csv", "b.csv"], &plain);
    assert!(
        text.contains("b.csv has 3 feature columns where ") && text.contains("has 2"),
        "{text}"
    );
    let text = of(&["a.csv", "c.csv"], &plain);
    assert!(
        text.contains("c.csv: feature 0 is called 'b' where ") && text.contains("'a'"),
        "{text}"
    );
    assert!(of(&["a.csv", "d.csv"], &plain).contains("d.csv, line 3, column 'a' has no value"));
    assert!(of(&["e.csv", "e.csv"], &plain).contains("0 rows x 2 columns"));
    let text = of(&["a.csv", "no.csv"], &plain);
    assert!(text.contains("no.csv: no such file"), "{text}");
    assert!(of(&[], &plain).contains("at least one file"));
    // By name, any order will do.
    let named = LoadOptions { columns: Some(words(&["a", "b"])), ..plain };
    let sources = ["a.csv", "c.csv", "e.csv"].map(|name| Source::Path(at(name)));
    let table = open(&sources, &named).unwrap();
    check(table, &Matrix::Dense64 { values: vec![1.0, 2.0, 2.0, 1.0], n_rows: 2, n_cols: 2 });
}

#[test]
fn formats_that_must_be_whole_say_so() {
    for name in ["plain.npz", "plain.mat", "real.mtx"] {
        let error = open(&[fixture(name)], &LoadOptions::default()).unwrap_err();
        assert!(
            error.kind() == obcut_data::ErrorKind::Request
                && error.to_string().contains("npy or parquet"),
            "{error}"
        );
    }
}

#[test]
fn opening_can_be_stopped_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, text(100_000)).unwrap();
    let source = [Source::Path(path)];
    let options = LoadOptions { drop: words(&["class"]), ..LoadOptions::default() };
    let mut seen = Vec::new();
    let stopped = open_rows(&source, &options, Some(scratch.path()), &mut |rows| {
        seen.push(rows);
        rows < 50_000
    });
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]) && seen[seen.len() - 1] < 100_000);
    let table = open_rows(&source, &options, Some(scratch.path()), &mut |_| true).unwrap();
    assert_eq!(table.scratch_bytes(), 100_000 * 3 * 8);
    // The scratch file has no name even while it is used.
    #[cfg(unix)]
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    let missing = scratch.path().join("no");
    let error = open_rows(&source, &options, Some(&missing), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("`scratch` or TMPDIR"), "{error}");
}

#[test]
fn threads_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let source = array(&path, "<f8", false, (10_000, 3), |i, j| number(i, j).to_le_bytes());
    let table = &open(&[source], &LoadOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for i in (thread * 100..10_000).step_by(777) {
                    let Matrix::Dense64 { values, .. } = table.read(i..i + 1).unwrap() else {
                        panic!()
                    };
                    assert_eq!(values, [number(i, 0), number(i, 1), number(i, 2)]);
                }
            });
        }
    });
}

#[test]
fn sizes_are_told_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let size = |source: Source, options: &LoadOptions| measure(&[source], options).unwrap();
    let plain = LoadOptions::default();
    let found = size(fixture("le_i2.npy"), &plain);
    assert_eq!((found.rows, found.cols, found.value_bytes), (Some(4), Some(3), 4));
    assert_eq!((found.bytes(), found.in_pieces, found.is_estimate), (Some(48), true, false));
    let truth = LoadOptions { truth: Some("class".into()), ..LoadOptions::default() };
    if cfg!(feature = "parquet") {
        let found = size(fixture("zstd.parquet"), &truth);
        assert_eq!((found.rows, found.cols, found.value_bytes), (Some(4), Some(5), 8));
    }
    let found = size(fixture("csr.npz"), &plain);
    assert_eq!((found.stored, found.in_pieces), (Some(7), false));
    fs::write(at("small.csv"), text(100)).unwrap();
    let found = size(Source::Path(at("small.csv")), &truth);
    assert_eq!((found.rows, found.cols, found.is_estimate), (Some(100), Some(3), false));
    let n_rows = 300_000;
    fs::write(at("t.csv"), text(n_rows)).unwrap();
    fs::write(at("t.csv.gz"), gzip(text(n_rows).as_bytes())).unwrap();
    let single = LoadOptions { single: Some(true), ..truth.clone() };
    for name in ["t.csv", "t.csv.gz"] {
        let found = size(Source::Path(at(name)), &single);
        assert!(found.is_estimate && found.value_bytes == 4);
        let ratio = found.rows.unwrap() as f64 / n_rows as f64;
        assert!((0.85..1.15).contains(&ratio), "{name}: {ratio}");
    }
    let both = [Source::Path(at("small.csv")), Source::Path(at("small.csv"))];
    assert_eq!(measure(&both, &truth).unwrap().rows, Some(200));
    let stdin = size(Source::Stdin, &plain);
    assert_eq!((stdin.rows, stdin.cols, stdin.bytes()), (None, None, None));
    assert!(measure(&[], &plain).is_err());
}

#[test]
fn folders_and_patterns_become_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let names = |path: PathBuf| -> Vec<String> {
        expand(&Source::Path(path))
            .unwrap()
            .iter()
            .map(|source| match source {
                Source::Path(path) => path.file_name().unwrap().to_str().unwrap().to_string(),
                Source::Stdin => "-".to_string(),
            })
            .collect()
    };
    let error = expand(&Source::Path(folder.path().into())).unwrap_err();
    assert!(
        error.kind() == obcut_data::ErrorKind::Request
            && error.to_string().contains("holds no .parquet"),
        "{error}"
    );
    for name in ["b-2.npy", "b-1.npy", "notes.txt"] {
        fs::write(at(name), "").unwrap();
    }
    assert_eq!(names(folder.path().into()), ["b-1.npy", "b-2.npy"]);
    for name in ["t.csv.gz", "s.csv", ".hidden.csv"] {
        fs::write(at(name), "").unwrap();
    }
    assert_eq!(names(folder.path().into()), ["s.csv", "t.csv.gz"]);
    fs::write(at("p.parquet"), "").unwrap();
    fs::create_dir(at("q.parquet")).unwrap();
    assert_eq!(names(folder.path().into()), ["p.parquet"]);
    assert_eq!(names(at("b-?.npy")), ["b-1.npy", "b-2.npy"]);
    assert_eq!(names(at("*.csv*")), ["s.csv", "t.csv.gz"]);
    assert_eq!(names(at("no.csv")), ["no.csv"]);
    let error = expand(&Source::Path(at("x*"))).unwrap_err().to_string();
    assert!(error.contains("no file matches") && error.contains("x*"), "{error}");
    assert_eq!(expand(&Source::Stdin).unwrap(), [Source::Stdin]);
}

#[test]
fn every_format_is_loaded_in_the_precision_asked_for() {
    let names = ["plain.npz", "packed.npz", "csr.npz", "array64.npz", "plain.mat", "sparse.mat"];
    for name in names.into_iter().chain(["real.mtx", "dense.mtx", "le_f8.npy", "i1.npy"]) {
        for single in [true, false] {
            let options = LoadOptions { single: Some(single), ..LoadOptions::default() };
            let whole = load(&fixture(name), &LoadOptions::default()).unwrap().matrix;
            let found = load(&fixture(name), &options).unwrap().matrix;
            let is_single = matches!(found, Matrix::Dense32 { .. } | Matrix::Sparse32(_));
            assert_eq!(is_single, single, "{name}");
            assert_eq!((found.n_rows(), found.n_cols()), (whole.n_rows(), whole.n_cols()));
        }
    }
}
