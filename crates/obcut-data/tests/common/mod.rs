//! Tables of known numbers, and the comparison of pieces with the whole.
#![allow(dead_code)] // every test file uses its own part

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use obcut::{Matrix, RowSource};
use obcut_data::{Error, LoadOptions, RowTable, Source, load, open_rows};

pub fn fixture(name: &str) -> Source {
    Source::Path(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

pub fn open(sources: &[Source], options: &LoadOptions) -> Result<RowTable, Error> {
    open_rows(sources, options, None, &mut |_| true)
}

pub fn message(sources: &[Source], options: &LoadOptions) -> String {
    let text = open(sources, options).unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

pub fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| word.to_string()).collect()
}

/// Bits of all values, row after row, and whether they are in single precision.
pub fn bits(matrix: &Matrix) -> (Vec<u64>, bool) {
    match matrix {
        Matrix::Dense32 { values, .. } => {
            (values.iter().map(|v| u64::from(v.to_bits())).collect(), true)
        }
        Matrix::Dense64 { values, .. } => (values.iter().map(|v| v.to_bits()).collect(), false),
        other => panic!("{other:?}"),
    }
}

/// Reads a table in pieces of several lengths and some of its rows, and compares with the whole.
pub fn check(table: RowTable, whole: &Matrix) {
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
pub fn check_source(source: &Source, options: &LoadOptions) {
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
pub fn header(descr: &str, fortran: bool, shape: &str) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// An array of the type of the bytes, which are made from row and column.
pub fn array<const W: usize>(
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

pub fn number(i: usize, j: usize) -> f64 {
    ((i * 31 + j * 17) as f64).sin() * 100.0
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

pub fn text(n_rows: usize) -> String {
    let mut text = "a,b,class,w\n".to_string();
    for i in 0..n_rows {
        let class = ["x", "y", "z"][i % 3];
        text += &format!("{},{},{class},{}\n", number(i, 0), number(i, 1), i % 5);
    }
    text
}
