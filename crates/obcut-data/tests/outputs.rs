//! Outputs are whole or absent, and read back as written.

use std::fs;
use std::path::Path;

use obcut::{Matrix, RowScore};
use obcut_data::{
    Error, LabelFormat, LabelWriter, LoadOptions, Outputs, RowLabels, Source, check_output, load,
    load_labels, write_atomic, write_csr_npz, write_labels,
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
    let available = LabelFormat::ALL.iter().filter(|format| format.is_available());
    available.map(|format| format.extension).collect()
}

fn scored(label: u32, second: u32, [margin, confidence, outlier]: [f64; 3]) -> RowScore {
    RowScore { label, second, margin, confidence, outlier, noise: false }
}

#[test]
fn labels_read_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for suffix in suffixes() {
        let path = folder.path().join(format!("labels.{suffix}"));
        let full = RowLabels::Scored(vec![
            scored(0, 1, [0.5, 0.25, 1.0]),
            scored(2, 1, [1.0, 1.0, 0.75]),
            scored(1, 0, [0.25, 0.0, 3.0]),
        ]);
        for table in [RowLabels::of_clusters(&[0, 2, 1]), full] {
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
    let rows = vec![scored(0, 1, [0.5, 0.25, 1.5]), scored(2, 1, [2.0, 1.0, 0.75])];
    let table = RowLabels::Scored(rows);
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
        assert!(error.unwrap_err().kind() == obcut_data::ErrorKind::Request);
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

#[test]
fn the_outputs_of_a_run_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let visible = || names_in(folder.path()).into_iter().filter(|name| !name.starts_with('.'));
    let write = |outputs: &mut Outputs, name: &str| {
        outputs.write(&at(name), false, |out| out.write_all(name.as_bytes()))
    };
    let mut outputs = Outputs::default();
    write(&mut outputs, "a").unwrap();
    write(&mut outputs, "b").unwrap();
    assert_eq!(visible().count(), 0);
    outputs.publish().unwrap();
    assert_eq!(names_in(folder.path()), ["a", "b"]);
    // One that fails takes the others with it.
    let mut outputs = Outputs::default();
    write(&mut outputs, "c").unwrap();
    assert!(write(&mut outputs, "b").is_err());
    drop(outputs);
    assert_eq!(names_in(folder.path()), ["a", "b"]);
    // A name that is taken meanwhile.
    let mut outputs = Outputs::default();
    write(&mut outputs, "c").unwrap();
    write(&mut outputs, "d").unwrap();
    fs::write(at("d"), "theirs").unwrap();
    assert!(matches!(outputs.publish(), Err(Error::OutputExists { .. })));
    assert_eq!(names_in(folder.path()), ["a", "b", "d"]);
    assert_eq!(fs::read_to_string(at("d")).unwrap(), "theirs");
}

#[test]
fn temporary_files_of_killed_runs_are_removed_and_those_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at(".obcut-1234-abcdef.part"), "half").unwrap();
    fs::write(at(".obcut-xyz.part"), "half").unwrap();
    fs::write(at(".obcut-notes"), "mine").unwrap();
    let mut living = Outputs::default();
    living.write(&at("first"), false, |out| out.write_all(b"1")).unwrap();
    assert_eq!(names_in(folder.path()).len(), 2, "{:?}", names_in(folder.path()));
    check_output(&at("second.csv"), false).unwrap();
    write_atomic(&at("second"), false, |out| out.write_all(b"2")).unwrap();
    living.publish().unwrap();
    assert_eq!(names_in(folder.path()), [".obcut-notes", "first", "second"]);
}

/// Completes a file of labels and gives it its name.
fn finish(writer: LabelWriter) -> Result<(), Error> {
    let mut outputs = Outputs::default();
    writer.finish(&mut outputs)?;
    outputs.publish()
}

/// Rows from `first` on, with scores if wanted.
fn batch(first: usize, n_rows: usize, with_scores: bool) -> RowLabels {
    let rows = (first..first + n_rows).map(|i| {
        let figures = [1.0, 2.0, 3.0].map(|j| (i as f64 * j).sin());
        scored(i as u32 * 7 % 13, i as u32 % 5, figures)
    });
    let rows: Vec<RowScore> = rows.collect();
    match with_scores {
        true => RowLabels::Scored(rows),
        false => RowLabels::Plain(rows.iter().map(RowScore::label_or_noise).collect()),
    }
}

#[test]
fn labels_in_batches_are_the_bytes_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let n_rows = 1000;
    for suffix in suffixes() {
        for with_scores in [false, true] {
            let whole = folder.path().join(format!("whole.{suffix}"));
            write_labels(&whole, &batch(0, n_rows, with_scores), true).unwrap();
            for length in [1, 300, n_rows] {
                let path = folder.path().join(format!("pieces.{suffix}"));
                let mut writer = LabelWriter::begin(&path, true, n_rows, with_scores).unwrap();
                for first in (0..n_rows).step_by(length) {
                    let n = length.min(n_rows - first);
                    writer.push(&batch(first, n, with_scores)).unwrap();
                }
                finish(writer).unwrap();
                assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap(), "{suffix}");
            }
        }
    }
    assert_eq!(names_in(folder.path()).len(), 2 * suffixes().len());
}

#[test]
fn labels_in_batches_are_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.csv");
    let start = |with_scores| LabelWriter::begin(&path, false, 3, with_scores).unwrap();
    let mut writer = start(false);
    writer.push(&batch(0, 2, false)).unwrap();
    drop(writer);
    let mut writer = start(false);
    writer.push(&batch(0, 2, false)).unwrap();
    let text = finish(writer).unwrap_err().to_string();
    assert!(text.contains("2 labels where 3 were announced"), "{text}");
    let mut writer = start(true);
    assert!(writer.push(&batch(0, 2, false)).is_err());
    writer.push(&batch(0, 2, true)).unwrap();
    let text = writer.push(&batch(0, 2, true)).unwrap_err().to_string();
    assert!(text.contains("labels.csv") && text.contains("4 labels where 3"), "{text}");
    assert!(start(false).push(&batch(0, 2, true)).is_err());
    drop(writer);
    assert!(names_in(folder.path()).is_empty());

    fs::write(&path, "old").unwrap();
    let refused = LabelWriter::begin(&path, false, 3, false);
    assert!(matches!(refused, Err(Error::OutputExists { .. })));
    let mut writer = LabelWriter::begin(&path, true, 3, false).unwrap();
    writer.push(&batch(0, 3, false)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    finish(writer).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "row,label\n0,0\n1,7\n2,1\n");
    assert_eq!(names_in(folder.path()), ["labels.csv"]);
}
