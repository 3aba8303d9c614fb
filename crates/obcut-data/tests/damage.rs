//! No input makes a reader panic, loop or take the memory: every prefix of small files of every
//! format, and thousands of flipped bits. What is still readable must be sound.

use std::fs;
use std::path::{Path, PathBuf};

use obcut_data::{
    Dataset, Error, Format, LoadOptions, RowTable, Source, describe, load, load_labels, measure,
    open_rows,
};

const CSV: &[u8] = b"a,\"b, c\",class\n1,2.5,x\n-3e2,nan,\"y\"\"z\"\n4,5,x\n";
const SVM: &[u8] = b"# note\n1 1:0.5 3:-2e1 # first\n-1 qid:3 2:1\n1 1:1 2:2 3:3\n";

/// Files that go through the same code as others here, only to take as long again.
const ALIKE: [&str; 19] = [
    "be_f4.npy",
    "be_f8.npy",
    "be_u4.npy",
    "i1.npy",
    "le_f4.npy",
    "le_i2.npy",
    "le_i8.npy",
    "le_u2.npy",
    "le_u8.npy",
    "u1.npy",
    "b1.npy",
    "labels.npy",
    "none.parquet",
    "gzip.parquet",
    "lz4.parquet",
    "unsigned.parquet",
    "nested.parquet",
    "array64.npz",
    "sparse.mat",
];

/// Small inputs of every format, with the suffix to save them under.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| Format::from_path(path).is_ok())
        .filter(|path| !ALIKE.contains(&path.file_name().unwrap().to_str().unwrap()))
        .map(|path| {
            (path.extension().unwrap().to_str().unwrap().to_string(), fs::read(&path).unwrap())
        })
        .collect();
    all.sort();
    all.push(("csv".into(), CSV.to_vec()));
    all.push(("svm".into(), SVM.to_vec()));
    all.push(("csv.zst".into(), zstd::encode_all(CSV, 3).unwrap()));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, CSV).unwrap();
    all.push(("csv.gz".into(), gz.finish().unwrap()));
    all
}

/// Everything that reads, on one file.
fn read(path: &Path) -> Result<Dataset, Error> {
    let source = Source::Path(path.to_path_buf());
    let _ = load_labels(&source);
    let _ = describe(&source, &LoadOptions::default());
    let _ = load(&source, &LoadOptions { truth: Some("class".into()), ..LoadOptions::default() });
    let _ = load(&source, &LoadOptions { truth: Some("y".into()), ..LoadOptions::default() });
    load(&source, &LoadOptions::default())
}

fn check(suffix: &str, folder: &Path, bytes: &[u8]) {
    let path = folder.join(format!("t.{suffix}"));
    // A new file each time: some file systems wait for the disk when an old one is cut.
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).unwrap();
    let whole = read(&path);
    check_pieces(&path, &whole);
    match whole {
        Ok(data) => assert!(data.matrix.samples().is_ok(), "{suffix}"),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 600, "{text}");
        }
    }
}

/// In pieces it must be the same table, or the same complaint.
fn check_pieces(path: &Path, whole: &Result<Dataset, Error>) {
    let source = [Source::Path(path.to_path_buf())];
    let truth = LoadOptions { truth: Some("class".into()), ..LoadOptions::default() };
    let _ = open_rows(&source, &truth, None, &mut |_| true);
    let _ = measure(&source, &LoadOptions::default());
    let table = open_rows(&source, &LoadOptions::default(), None, &mut |_| true);
    match (whole, table.and_then(RowTable::into_dataset)) {
        (_, Err(Error::NotInPieces { .. })) => {}
        // As text, since NaN is not equal to itself.
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(format!("{:?}", whole.matrix), format!("{:?}", pieces.matrix));
        }
        (Err(whole), Err(pieces)) => assert_eq!(whole.to_string(), pieces.to_string()),
        (whole, pieces) => panic!("{whole:?} is not {pieces:?}"),
    }
}

#[test]
fn every_prefix_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    for (suffix, bytes) in inputs() {
        // Cuts within the larger ones are much alike.
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 1000) {
            check(&suffix, folder.path(), &bytes[..end]);
        }
    }
}

#[test]
fn flipped_bits_are_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 7u64;
    let mut draw = |n: usize| {
        // Knuth's MMIX generator: the same damage on every run.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for (suffix, bytes) in inputs() {
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 500) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << draw(8);
            // Half of the time a second one, anywhere.
            if draw(2) == 0 {
                let at = draw(bytes.len());
                bytes[at] = draw(256) as u8;
            }
            check(&suffix, folder.path(), &bytes);
        }
    }
}

#[test]
fn cut_binary_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    for (suffix, bytes) in inputs() {
        if !["npy", "npz", "parquet", "mat"].contains(&suffix.as_str()) {
            continue;
        }
        for cut in [1, 2, 5, bytes.len() / 2] {
            let path = folder.path().join(format!("t.{suffix}"));
            fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
            // A variable that is not needed may be cut where its padding starts.
            let error = load(&Source::Path(path), &LoadOptions::default());
            assert!(error.is_err(), "{suffix} without its last {cut} bytes");
        }
    }
}

#[test]
fn the_wrong_format_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (suffix, bytes) in inputs() {
        for (wrong, format) in [("csv", Format::Csv), ("npy", Format::Npy), ("mat", Format::Mat)] {
            if suffix.starts_with(wrong) || (wrong == "csv" && ["mtx", "svm"].contains(&&*suffix)) {
                continue;
            }
            let path = folder.path().join("data.bin");
            fs::write(&path, &bytes).unwrap();
            let options = LoadOptions { format: Some(format), ..LoadOptions::default() };
            let error = load(&Source::Path(path), &options).unwrap_err();
            assert!(error.kind() != obcut_data::ErrorKind::Request, "{suffix} as {wrong}: {error}");
        }
    }
}

#[test]
fn mistaken_paths_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(read(&at("none.csv")), Err(Error::NotFound { .. })));
    assert!(matches!(read(folder.path()), Err(Error::IsDirectory { .. })));
    fs::write(at("t.xyz"), "1,2\n").unwrap();
    assert!(matches!(read(&at("t.xyz")), Err(Error::UnknownSuffix { .. })));
    for suffix in ["csv", "tsv", "npy", "npz", "mat", "svm", "mtx", "parquet", "csv.gz", "csv.zst"]
    {
        let path = at(&format!("empty.{suffix}"));
        fs::write(&path, "").unwrap();
        assert!(matches!(read(&path), Err(Error::Empty { .. })), "{suffix}");
    }
}

#[test]
fn a_header_that_promises_too_much_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    for shape in ["(1000000000000, 3)", "(4294967296, 4294967296)", "(99999999999999999999,)"] {
        let mut dict = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        dict.push_str(&" ".repeat(117 - dict.len()));
        dict.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(dict.as_bytes());
        bytes.extend([0; 64]);
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(read(&path), Err(Error::Damaged { .. })), "{shape}");
        // Packed, the length is not known beforehand.
        let packed = folder.path().join("t.npy.zst");
        fs::write(&packed, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
        assert!(matches!(read(&packed), Err(Error::Damaged { .. })), "{shape}");
    }
}

#[test]
fn names_in_messages_are_short_and_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let long = "n".repeat(5000);
    for name in ["a\nb", &long] {
        let path = folder.path().join("t.csv");
        for cell in ["x", ""] {
            fs::write(&path, format!("\"{name}\",c\n{cell},1\n2,3\n4,5\n")).unwrap();
            let options = LoadOptions { header: Some(true), ..LoadOptions::default() };
            let text = load(&Source::Path(path.clone()), &options).unwrap_err().to_string();
            assert!(!text.contains('\n') && text.len() < 600, "{text}");
        }
        let path = folder.path().join("t.npz");
        let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        for name in [name, "b"] {
            let file = format!("{name}.npy");
            zip.start_file(file, zip::write::SimpleFileOptions::default()).unwrap();
            let array = fs::read("tests/fixtures/le_f8.npy").unwrap();
            std::io::Write::write_all(&mut zip, &array).unwrap();
        }
        zip.finish().unwrap();
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("`variable`") && !text.contains('\n') && text.len() < 600, "{text}");
    }
}

#[test]
fn an_empty_array_holds_no_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }\n";
    let length = (dict.len() as u16).to_le_bytes();
    fs::write(&path, [b"\x93NUMPY\x01\x00", &length[..], dict.as_bytes()].concat()).unwrap();
    assert!(matches!(load_labels(&Source::Path(path)), Err(Error::NoRows { .. })));
}
