//! Outputs are whole or absent, and read back as written.

use std::fs;
use std::path::Path;

use obcut::Matrix;
use obcut_data::{
    Error, LabelTable, LabelWriter, LoadOptions, Source, check_output, load, load_labels,
    write_atomic, write_csr_npz, write_labels,
};

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn suffixes() -> Vec<&'static str> {
    let mut all = vec!["npy", "csv", "json"];
    if cfg!(feature = "parquet") {
        all.push("parquet");
    }
    all
}

#[test]
fn labels_read_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for suffix in suffixes() {
        let path = folder.path().join(format!("labels.{suffix}"));
        let full = LabelTable {
            labels: &[0, 2, 1],
            second: Some(&[1, 1, 0]),
            margin: Some(&[0.5, 1.0, 0.25]),
            confidence: Some(&[0.25, 1.0, 0.0]),
            outlier: Some(&[1.0, 0.75, 3.0]),
        };
        for table in [LabelTable::new(&[0, 2, 1]), full] {
            write_labels(&path, &table, true).unwrap();
            let labels = load_labels(&Source::Path(path.clone())).unwrap();
            assert_eq!(labels.codes, [0, 2, 1], "{suffix}");
        }
    }
    let text = fs::read_to_string(folder.path().join("labels.csv")).unwrap();
    let names = "row,label,second,margin,confidence,outlier";
    assert_eq!(text, format!("{names}\n0,0,1,0.5,0.25,1\n1,2,1,1,1,0.75\n2,1,0,0.25,0,3\n"));
    let text = fs::read_to_string(folder.path().join("labels.json")).unwrap();
    let figures = r#""margin":[0.5,1.0,0.25],"confidence":[0.25,1.0,0.0],"outlier":[1.0,0.75,3.0]"#;
    assert_eq!(text, format!("{{\"labels\":[0,2,1],\"second\":[1,1,0],{figures}}}\n"));
    assert_eq!(names_in(folder.path()).len(), suffixes().len());
}

#[cfg(feature = "parquet")]
#[test]
fn all_columns_of_written_parquet_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.parquet");
    let table = LabelTable {
        labels: &[0, 2],
        second: Some(&[1, 1]),
        margin: Some(&[0.5, 2.0]),
        confidence: Some(&[0.25, 1.0]),
        outlier: Some(&[1.5, 0.75]),
    };
    write_labels(&path, &table, false).unwrap();
    let data = load(&Source::Path(path), &LoadOptions::default()).unwrap();
    let values = vec![0.0, 1.0, 0.5, 0.25, 1.5, 2.0, 1.0, 2.0, 1.0, 0.75];
    assert_eq!(data.matrix, Matrix::Dense64 { values, n_rows: 2, n_cols: 5 });
    let names = ["label", "second", "margin", "confidence", "outlier"];
    assert_eq!(data.feature_names.unwrap(), names);
}

#[test]
fn a_sparse_matrix_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.npz");
    write_csr_npz(&path, &[0, 2, 2, 3], &[0, 2, 1], &[1.0, 2.5, -3.0], (3, 3), false).unwrap();
    let data = load(&Source::Path(path.clone()), &LoadOptions::default()).unwrap();
    let expected = obcut::Csr {
        offsets: vec![0, 2, 2, 3],
        columns: vec![0, 2, 1],
        values: vec![1.0, 2.5, -3.0],
        n_cols: 3,
    };
    assert_eq!(data.matrix, Matrix::Sparse64(expected));
    assert!(write_csr_npz(&path, &[0, 2], &[0], &[1.0], (1, 3), true).is_err());
}

#[test]
fn an_output_is_checked_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(check_output(&at("a.csv"), false).is_ok());
    fs::write(at("b.csv"), "x").unwrap();
    assert!(matches!(check_output(&at("b.csv"), false), Err(Error::OutputExists { .. })));
    assert!(check_output(&at("b.csv"), true).is_ok());
    assert!(matches!(check_output(&at("a.xyz"), false), Err(Error::OutputSuffix { .. })));
    assert!(matches!(check_output(&at("no/a.csv"), false), Err(Error::OutputFolder { .. })));
    fs::create_dir(at("c.csv")).unwrap();
    assert!(matches!(check_output(&at("c.csv"), true), Err(Error::IsDirectory { .. })));
    // The check leaves nothing behind.
    assert_eq!(names_in(folder.path()), ["b.csv", "c.csv"]);
    for error in [check_output(&at("b.csv"), false), check_output(&at("a.xyz"), false)] {
        assert!(error.unwrap_err().is_usage());
    }
}

#[test]
fn a_failed_write_leaves_nothing_and_spoils_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    fs::write(&path, "old").unwrap();
    let failed = write_atomic(&path, true, |out| {
        out.write_all(b"half")?;
        Err(std::io::Error::other("disk on fire"))
    });
    let text = failed.unwrap_err().to_string();
    assert!(text.contains("out.csv") && text.contains("disk on fire"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    let refused = write_atomic(&path, false, |_| Ok(()));
    assert!(matches!(refused, Err(Error::OutputExists { .. })));
    write_atomic(&path, true, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names_in(folder.path()), ["out.csv"]);
}

#[cfg(unix)]
#[test]
fn outputs_are_as_readable_as_any_other_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (plain, ours) = (folder.path().join("plain"), folder.path().join("ours"));
    fs::write(&plain, "").unwrap();
    write_atomic(&ours, false, |_| Ok(())).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&ours), mode(&plain));
    // A device is written, not replaced.
    write_atomic(Path::new("/dev/null"), false, |out| out.write_all(b"x")).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// Labels of `rows`, with more about each row if wanted. The figures stand one after the other.
fn piece<'a>(
    (labels, figures): &'a (Vec<u32>, Vec<f64>),
    rows: std::ops::Range<usize>,
    with_margins: bool,
) -> LabelTable<'a> {
    let figure = |j: usize| with_margins.then(|| &figures[j * labels.len()..][rows.clone()]);
    LabelTable {
        labels: &labels[rows.clone()],
        second: with_margins.then(|| &labels[rows.clone()]),
        margin: figure(0),
        confidence: figure(1),
        outlier: figure(2),
    }
}

#[test]
fn labels_in_pieces_are_the_bytes_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let n_rows = 1000;
    let labels: Vec<u32> = (0..n_rows as u32).map(|i| i * 7 % 13).collect();
    let all = (labels, (0..3 * n_rows).map(|i| (i as f64).sin()).collect());
    for suffix in suffixes().into_iter().filter(|&suffix| suffix != "json") {
        for with_margins in [false, true] {
            let whole = folder.path().join(format!("whole.{suffix}"));
            write_labels(&whole, &piece(&all, 0..n_rows, with_margins), true).unwrap();
            for length in [1, 300, n_rows] {
                let path = folder.path().join(format!("pieces.{suffix}"));
                let mut writer = LabelWriter::new(&path, true, n_rows, with_margins).unwrap();
                for first in (0..n_rows).step_by(length) {
                    let rows = first..n_rows.min(first + length);
                    writer.push(&piece(&all, rows, with_margins)).unwrap();
                }
                writer.finish().unwrap();
                assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap(), "{suffix}");
            }
        }
    }
    assert_eq!(names_in(folder.path()).len(), 2 * (suffixes().len() - 1));
}

#[test]
fn labels_in_pieces_are_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.csv");
    let all = (vec![0, 1, 2], vec![0.5; 9]);
    let start = |with_margins| LabelWriter::new(&path, false, 3, with_margins).unwrap();
    let mut writer = start(false);
    writer.push(&piece(&all, 0..2, false)).unwrap();
    drop(writer);
    let mut writer = start(false);
    writer.push(&piece(&all, 0..2, false)).unwrap();
    let text = writer.finish().unwrap_err().to_string();
    assert!(text.contains("2 labels where 3 were announced"), "{text}");
    let mut writer = start(true);
    assert!(writer.push(&piece(&all, 0..2, false)).is_err());
    writer.push(&piece(&all, 0..2, true)).unwrap();
    let text = writer.push(&piece(&all, 0..2, true)).unwrap_err().to_string();
    assert!(text.contains("labels.csv") && text.contains("4 labels where 3"), "{text}");
    assert!(start(false).push(&piece(&all, 0..2, true)).is_err());
    drop(writer);
    assert!(names_in(folder.path()).is_empty());

    let error = LabelWriter::new(&folder.path().join("l.json"), false, 3, false).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains(".npy, .csv or .parquet"), "{error}");
    fs::write(&path, "old").unwrap();
    let refused = LabelWriter::new(&path, false, 3, false);
    assert!(matches!(refused, Err(Error::OutputExists { .. })));
    let mut writer = LabelWriter::new(&path, true, 3, false).unwrap();
    writer.push(&piece(&all, 0..3, false)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    writer.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "row,label\n0,0\n1,1\n2,2\n");
    assert_eq!(names_in(folder.path()), ["labels.csv"]);
}
