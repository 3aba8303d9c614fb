//! Tables that are read in pieces hold the numbers of tables that are loaded whole.

mod common;

use std::fs;

use common::{array, check_source, fixture, gzip, header, message, number, open, text, words};
use obcut::{Matrix, RowSource};
use obcut_data::{LoadOptions, Source, load};

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
    let error = table.read(90..100).unwrap_err();
    assert!(error.to_string().contains("t.npy changed while it was read"), "{error}");
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
    assert!(text.contains("t.csv, line 50002, column 'a': 'red' is not a number"), "{text}");
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
    use obcut::RowScore;
    use obcut_data::{RowLabels, write_labels};
    // More rows than a group, and than a batch.
    let n_rows = (1 << 20) + 12_345;
    let labels: Vec<u32> = (0..n_rows as u32).map(|i| i % 1000).collect();
    let (confidence, noise) = (0.5, false);
    let row = |(i, &label): (usize, &u32)| {
        let (margin, outlier) = (number(i, 0), f64::from(label));
        RowScore { label, second: label, margin, confidence, outlier, noise }
    };
    let table = RowLabels::Scored(labels.iter().enumerate().map(row).collect());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_labels(&path, &table, false).unwrap();
    let options = LoadOptions { truth: Some("second".into()), ..LoadOptions::default() };
    let table = open(&[Source::Path(path)], &options).unwrap();
    assert_eq!(table.truth.as_ref().unwrap().codes, labels);
    for i in [0, 16_383, 16_384, (1 << 20) - 1, 1 << 20, n_rows - 1] {
        let Matrix::Dense64 { values, .. } = table.read(i..i + 1).unwrap() else { panic!() };
        let label = f64::from(labels[i]);
        assert_eq!(values, [label, number(i, 0), confidence, label]);
    }
}
