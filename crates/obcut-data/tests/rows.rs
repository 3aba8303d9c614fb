//! Tables that are read in pieces hold the numbers of tables that are loaded whole.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use obcut::{Matrix, RowSource};
use obcut_data::{Error, Format, LoadOptions, RowTable, Source, expand, load, measure, open_rows};

fn fixture(name: &str) -> Source {
    Source::Path(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn open(sources: &[Source], options: &LoadOptions) -> Result<RowTable, Error> {
    open_rows(sources, options, None, &mut |_| true)
}

fn message(sources: &[Source], options: &LoadOptions) -> String {
    let text = open(sources, options).unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| word.to_string()).collect()
}

/// Bits of all values, row after row, and whether they are in single precision.
fn bits(matrix: &Matrix) -> (Vec<u64>, bool) {
    match matrix {
        Matrix::Dense32 { values, .. } => {
            (values.iter().map(|v| u64::from(v.to_bits())).collect(), true)
        }
        Matrix::Dense64 { values, .. } => (values.iter().map(|v| v.to_bits()).collect(), false),
        other => panic!("{other:?}"),
    }
}

/// Reads a table in pieces of several lengths and some of its rows, and compares with the whole.
fn check(table: RowTable, whole: &Matrix) {
    let (expected, single) = bits(whole);
    let (n_rows, n_cols) = (whole.n_rows(), whole.n_cols());
    assert_eq!((table.n_rows(), table.n_cols(), table.is_single()), (n_rows, n_cols, single));
    // Row by row only where that is quick.
    for length in [1, 2, 3, 7, 997, 16_500, n_rows] {
        if n_rows / length > 1000 {
            continue;
        }
        let mut found = Vec::new();
        for first in (0..n_rows).step_by(length) {
            let piece = table.read(first..n_rows.min(first + length)).unwrap();
            found.extend(bits(&piece).0);
        }
        assert!(found == expected, "in pieces of {length}");
    }
    let all: Vec<u64> = (0..n_rows as u64).collect();
    let some: Vec<u64> = all.iter().copied().filter(|row| row * row % 7 < 2).collect();
    let far: Vec<u64> = all.iter().copied().step_by(997).collect();
    let last = n_rows as u64 - 1;
    for rows in [&all[..], &some, &far, &[], &[0], &[last], &[last, 0, 0]] {
        let values = |&row: &u64| expected[row as usize * n_cols..][..n_cols].to_vec();
        let found = table.gather(rows).unwrap();
        assert_eq!(found.n_rows(), rows.len());
        assert!(bits(&found).0 == rows.iter().flat_map(values).collect::<Vec<_>>());
    }
    assert!(table.read(2..2).unwrap().n_rows() == 0 || n_rows < 2);
    let error = table.read(0..n_rows + 1).unwrap_err();
    assert!(matches!(error, obcut::Error::Read { .. }), "{error}");
    assert!(table.gather(&[last + 1]).is_err());
    assert!(table.bytes_read() > 0);
    assert_eq!(bits(&table.into_dataset().unwrap().matrix), (expected, single));
}

/// One table, by pieces and whole: everything must agree.
fn check_source(source: &Source, options: &LoadOptions) {
    let whole = load(source, options).unwrap_or_else(|e| panic!("{e}"));
    let table = open(std::slice::from_ref(source), options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(table.feature_names, whole.feature_names);
    assert_eq!(table.feature_columns, whole.feature_columns);
    assert_eq!(table.truth, whole.truth);
    assert_eq!(table.weights, whole.weights);
    assert_eq!((table.format, table.first_line), (whole.format, whole.first_line));
    check(table, &whole.matrix);
}

/// The header of an array.
fn header(descr: &str, fortran: bool, shape: &str) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// An array of the type of the bytes, which are made from row and column.
fn array<const W: usize>(
    path: &Path,
    descr: &str,
    fortran: bool,
    (n_rows, n_cols): (usize, usize),
    bytes: impl Fn(usize, usize) -> [u8; W],
) -> Source {
    let mut out = header(descr, fortran, &format!("{n_rows}, {n_cols}"));
    match fortran {
        false => (0..n_rows).for_each(|i| (0..n_cols).for_each(|j| out.extend(bytes(i, j)))),
        true => (0..n_cols).for_each(|j| (0..n_rows).for_each(|i| out.extend(bytes(i, j)))),
    }
    fs::write(path, out).unwrap();
    Source::Path(path.to_path_buf())
}

fn number(i: usize, j: usize) -> f64 {
    ((i * 31 + j * 17) as f64).sin() * 100.0
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

fn text(n_rows: usize) -> String {
    let mut text = "a,b,class,w\n".to_string();
    for i in 0..n_rows {
        let class = ["x", "y", "z"][i % 3];
        text += &format!("{},{},{class},{}\n", number(i, 0), number(i, 1), i % 5);
    }
    text
}

#[test]
fn arrays_of_every_type_and_order() {
    let columns = |list: &[&str]| LoadOptions { columns: Some(words(list)), ..Default::default() };
    let roles = LoadOptions {
        truth: Some("2".into()),
        weights: Some("0".into()),
        ..LoadOptions::default()
    };
    let single = |single| LoadOptions { single: Some(single), ..LoadOptions::default() };
    for name in [
        "le_f8", "be_f8", "fortran", "le_f4", "be_f4", "le_f2", "le_i8", "be_i4", "le_i2", "i1",
        "le_u8", "be_u4", "le_u2", "u1", "b1", "labels",
    ] {
        let source = fixture(&format!("{name}.npy"));
        check_source(&source, &LoadOptions::default());
        check_source(&source, &single(true));
        check_source(&source, &single(false));
        if name != "labels" {
            check_source(&source, &columns(&["2", "0"]));
            check_source(&source, &LoadOptions { drop: words(&["1"]), ..Default::default() });
            check_source(&source, &LoadOptions { single: Some(true), ..roles.clone() });
            check_source(&source, &roles);
        }
    }
}

#[test]
fn arrays_longer_than_what_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let shape = (40_000, 5);
    let options = LoadOptions { columns: Some(words(&["4", "1"])), ..LoadOptions::default() };
    for fortran in [false, true] {
        let source = array(&path, "<f8", fortran, shape, |i, j| number(i, j).to_le_bytes());
        check_source(&source, &LoadOptions::default());
        check_source(&source, &options);
        let source =
            array(&path, ">f4", fortran, shape, |i, j| (number(i, j) as f32).to_be_bytes());
        check_source(&source, &LoadOptions::default());
        check_source(&source, &options);
        let truth = LoadOptions { truth: Some("3".into()), ..LoadOptions::default() };
        let source = array(&path, ">i2", fortran, shape, |i, j| ((i * j % 9) as i16).to_be_bytes());
        check_source(&source, &truth);
    }
    // One row is more than a piece.
    let source = array(&path, "<i2", false, (3, 600_000), |i, j| ((i + j) as i16).to_le_bytes());
    let table = open(&[source], &LoadOptions::default()).unwrap();
    let Matrix::Dense32 { values, .. } = table.gather(&[0, 2]).unwrap() else { panic!() };
    assert_eq!((values[0], values[7], values[600_000]), (0.0, 7.0, 2.0));
    assert_eq!((table.bytes_read(), table.scratch_bytes()), (2_400_000, 0));
}

#[test]
fn only_the_rows_that_are_asked_for_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let source = array(&path, "<f8", false, (5000, 1000), |i, j| ((i * j) as f64).to_le_bytes());
    let table = open(&[source], &LoadOptions::default()).unwrap();
    assert_eq!(table.bytes_read(), 0);
    table.read(7..17).unwrap();
    assert_eq!(table.bytes_read(), 80_000);
    table.gather(&[1, 500, 4999]).unwrap();
    assert_eq!(table.bytes_read(), 80_000 + 24_000);
}

#[test]
fn an_array_that_is_cut_short_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let source = array(&path, "<f8", false, (100, 3), |i, j| number(i, j).to_le_bytes());
    let table = open(std::slice::from_ref(&source), &LoadOptions::default()).unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let text = message(std::slice::from_ref(&source), &LoadOptions::default());
    assert!(text.contains("t.npy") && text.contains("promises 2400 bytes, 2399 are"), "{text}");
    // Cut while it is open.
    table.read(0..99).unwrap();
    let text = table.read(90..100).unwrap_err().to_string();
    assert!(text.starts_with("rows 90 to 99 cannot be read: ") && text.contains("t.npy"), "{text}");
    // Nothing there, and nothing promised.
    let empty = array(&path, "<f8", false, (0, 3), |_, _| [0; 8]);
    assert!(message(&[empty], &LoadOptions::default()).contains("0 rows x 3 columns"));
    fs::write(&path, header("<f8", false, "2, 3, 4")).unwrap();
    assert!(open(&[source], &LoadOptions::default()).is_err());
}

#[test]
fn packed_arrays_are_unpacked_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    array(&path, ">f4", true, (3000, 4), |i, j| (number(i, j).round() as f32).to_be_bytes());
    let packed = Source::Path(folder.path().join("p.npy.gz"));
    fs::write(folder.path().join("p.npy.gz"), gzip(&fs::read(&path).unwrap())).unwrap();
    let options = LoadOptions {
        truth: Some("1".into()),
        weights: Some("3".into()),
        ..LoadOptions::default()
    };
    check_source(&packed, &LoadOptions::default());
    check_source(&packed, &options);
    assert_eq!(open(&[packed], &options).unwrap().scratch_bytes(), 3000 * 4 * 4);
}

#[test]
fn text_is_decoded_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = text(40_000);
    fs::write(at("t.csv"), &text).unwrap();
    fs::write(at("t.tsv"), text.replace(',', "\t")).unwrap();
    fs::write(at("t.csv.gz"), gzip(text.as_bytes())).unwrap();
    fs::write(at("t.csv.zst"), zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let options = LoadOptions {
        truth: Some("class".into()),
        weights: Some("w".into()),
        ..LoadOptions::default()
    };
    for name in ["t.csv", "t.tsv", "t.csv.gz", "t.csv.zst"] {
        check_source(&Source::Path(at(name)), &options);
    }
    let source = Source::Path(at("t.csv"));
    check_source(&source, &LoadOptions { columns: Some(words(&["w", "a"])), ..Default::default() });
    check_source(&source, &LoadOptions { single: Some(true), ..options.clone() });
    // Rounded once, as the whole is.
    let single = load(&source, &LoadOptions { single: Some(true), ..options.clone() }).unwrap();
    let Matrix::Dense32 { values, .. } = single.matrix else { panic!() };
    assert_eq!(values[2 * 777 + 1], number(777, 1) as f32);
    let table = open(&[source], &options).unwrap();
    assert_eq!(table.scratch_bytes(), 40_000 * 2 * 8);
    assert_eq!(table.bytes_read(), text.len() as u64);
}

#[test]
fn cells_that_are_no_numbers_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let source = [Source::Path(path.clone())];
    let options = LoadOptions { truth: Some("class".into()), ..LoadOptions::default() };
    let with = |row: &str| {
        fs::write(&path, text(50_000) + row + "\n").unwrap();
        message(&source, &options)
    };
    let text = with("1,,x,0");
    assert!(text.contains("t.csv, line 50002, column 'b' has no value"), "{text}");
    let text = with("red,1,x,0");
    assert!(text.contains("t.csv, line 50002, column 'a': 'red' is no number"), "{text}");
    let text = with("1,1,x");
    assert!(text.contains("t.csv, line 50002: 3 cells"), "{text}");
    let text = with("1,1,,0");
    assert!(text.contains("the label of row 50000 is missing"), "{text}");
    fs::write(&path, "a,class\n").unwrap();
    assert!(message(&source, &options).contains("0 rows x 1 columns"));
}

#[cfg(feature = "parquet")]
#[test]
fn columns_are_decoded_once() {
    let truth = LoadOptions { truth: Some("class".into()), ..LoadOptions::default() };
    for codec in ["none", "snappy", "gzip", "zstd"] {
        check_source(&fixture(&format!("{codec}.parquet")), &truth);
    }
    let chosen = LoadOptions {
        columns: Some(words(&["u", "b"])),
        weights: Some("c".into()),
        ..LoadOptions::default()
    };
    check_source(&fixture("snappy.parquet"), &chosen);
    check_source(&fixture("snappy.parquet"), &LoadOptions { single: Some(false), ..chosen });
    check_source(&fixture("snappy.parquet"), &LoadOptions { single: Some(true), ..truth });
    check_source(&fixture("unsigned.parquet"), &LoadOptions::default());
    let text = message(&[fixture("nulls.parquet")], &LoadOptions::default());
    assert!(text.contains("row 1, column 'a' has no value"), "{text}");
}

#[cfg(feature = "parquet")]
#[test]
fn groups_of_rows_follow_each_other() {
    use obcut_data::{LabelTable, write_labels};
    // More rows than a group, and than a batch.
    let n_rows = (1 << 20) + 12_345;
    let labels: Vec<u32> = (0..n_rows as u32).map(|i| i % 1000).collect();
    let margin: Vec<f64> = (0..n_rows).map(|i| number(i, 0)).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let second = Some(&labels[..]);
    let table = LabelTable { labels: &labels, second, margin: Some(&margin) };
    write_labels(&path, &table, false).unwrap();
    let options = LoadOptions { truth: Some("second".into()), ..LoadOptions::default() };
    let table = open(&[Source::Path(path)], &options).unwrap();
    assert_eq!(table.truth.as_ref().unwrap().codes, labels);
    for i in [0, 16_383, 16_384, (1 << 20) - 1, 1 << 20, n_rows - 1] {
        let Matrix::Dense64 { values, .. } = table.read(i..i + 1).unwrap() else { panic!() };
        assert_eq!(values, [f64::from(labels[i]), margin[i]]);
    }
}

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
        assert!(error.is_usage() && error.to_string().contains("npy or parquet"), "{error}");
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
    assert!(error.to_string().contains("--scratch or TMPDIR"), "{error}");
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
    assert!(error.is_usage() && error.to_string().contains("holds no .parquet"), "{error}");
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
