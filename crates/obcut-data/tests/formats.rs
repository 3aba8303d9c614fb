//! Files made by NumPy, SciPy and PyArrow (see `fixtures/README.md`) read as they were meant.

use std::io::Write;
use std::path::PathBuf;

use obcut::Matrix;
use obcut_data::{
    Dataset, Error, Format, LoadOptions, Source, describe, load, load_labels, load_truth,
};

const TABLE: [f64; 12] = [1.0, 0.0, 2.5, 0.0, -3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 0.0, 7.0];

fn fixture(name: &str) -> Source {
    Source::Path(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn read(name: &str) -> Dataset {
    load(&fixture(name), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn read_with(name: &str, options: &LoadOptions) -> Result<Dataset, Error> {
    load(&fixture(name), options)
}

fn message(name: &str) -> String {
    let error = load(&fixture(name), &LoadOptions::default()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

fn options(truth: Option<&str>, variable: Option<&str>) -> LoadOptions {
    LoadOptions {
        truth: truth.map(String::from),
        variable: variable.map(String::from),
        ..LoadOptions::default()
    }
}

/// All values row by row, zeros included, and whether they are stored in single precision and
/// sparse.
fn dense(matrix: &Matrix) -> (Vec<f64>, bool, bool) {
    fn fill<T: Copy + Into<f64>>(x: &obcut::Csr<T>) -> Vec<f64> {
        let mut values = vec![0.0; (x.offsets.len() - 1) * x.n_cols];
        for (i, row) in x.offsets.windows(2).enumerate() {
            for p in row[0] as usize..row[1] as usize {
                values[i * x.n_cols + x.columns[p] as usize] += x.values[p].into();
            }
        }
        values
    }
    assert!(matrix.samples().is_ok());
    match matrix {
        Matrix::Dense32 { values, .. } => {
            (values.iter().map(|&v| f64::from(v)).collect(), true, false)
        }
        Matrix::Dense64 { values, .. } => (values.clone(), false, false),
        Matrix::Sparse32(x) => (fill(x), true, true),
        Matrix::Sparse64(x) => (fill(x), false, true),
    }
}

fn table(change: impl Fn(f64) -> f64) -> Vec<f64> {
    TABLE.iter().map(|&v| change(v)).collect()
}

#[test]
fn npy_of_every_type_and_byte_order() {
    for name in ["le_f8", "be_f8", "fortran"] {
        assert_eq!(dense(&read(&format!("{name}.npy")).matrix), (TABLE.to_vec(), false, false));
    }
    for name in ["le_f4", "be_f4", "le_f2"] {
        assert_eq!(dense(&read(&format!("{name}.npy")).matrix), (TABLE.to_vec(), true, false));
    }
    for (name, single) in [("le_i8", false), ("be_i4", false), ("le_i2", true), ("i1", true)] {
        let values = dense(&read(&format!("{name}.npy")).matrix);
        assert_eq!(values, (table(f64::trunc), single, false), "{name}");
    }
    for (name, single) in [("le_u8", false), ("be_u4", false), ("le_u2", true), ("u1", true)] {
        let values = dense(&read(&format!("{name}.npy")).matrix);
        assert_eq!(values, (table(|v| v.abs().trunc()), single, false), "{name}");
    }
    let flags = dense(&read("b1.npy").matrix);
    assert_eq!(flags, (table(|v| f64::from(u8::from(v != 0.0))), true, false));
    assert!(message("objects.npy").contains("Python objects"));
    assert!(message("words.npy").contains("text"));
}

#[test]
fn npz_with_features_truth_and_weights() {
    let options = LoadOptions { weights: Some("w".into()), ..options(Some("y"), None) };
    let data = read_with("plain.npz", &options).unwrap();
    assert_eq!(dense(&data.matrix), (TABLE.to_vec(), false, false));
    let truth = data.truth.unwrap();
    assert_eq!((truth.codes, truth.names), (vec![1, 0, 1, 0], vec!["1".into(), "2".into()]));
    assert_eq!(data.weights.unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let data = read_with("plain.npz", &self::options(Some("names"), None)).unwrap();
    assert_eq!(data.truth.unwrap().names, ["a", "b"]);
    let data = read_with("packed.npz", &self::options(Some("gt"), None)).unwrap();
    assert_eq!(dense(&data.matrix), (TABLE.to_vec(), true, false));
    let data = read_with("packed.npz", &self::options(None, Some("extra"))).unwrap();
    assert_eq!((data.matrix.n_rows(), data.matrix.n_cols()), (3, 3));
    let error = read_with("packed.npz", &self::options(Some("extra"), None)).unwrap_err();
    assert!(error.to_string().contains("one per row"), "{error}");
    let error = read_with("packed.npz", &self::options(Some("g"), None)).unwrap_err();
    assert!(
        error.kind() == obcut_data::ErrorKind::Request
            && error.to_string().contains("did you mean 'gt'"),
        "{error}"
    );
    assert!(message("truth_only.npz").contains("array of features"));
}

#[test]
fn what_is_not_read_is_told_when_asked_for() {
    assert_eq!(dense(&read("objects.npz").matrix).0, TABLE);
    let error = read_with("objects.npz", &options(Some("people"), None)).unwrap_err().to_string();
    assert!(error.contains("array 'people': Python objects"), "{error}");
    let error = read_with("le_f8.npy", &options(None, Some("X"))).unwrap_err();
    assert!(
        error.kind() == obcut_data::ErrorKind::Request && error.to_string().contains("`variable`"),
        "{error}"
    );
    let error = read_with("le_f8.npy", &options(Some("9"), None)).unwrap_err();
    assert!(
        error.kind() == obcut_data::ErrorKind::Request && error.to_string().contains("from 0 to 2"),
        "{error}"
    );
}

#[test]
fn sparse_npz_of_every_layout_stays_sparse() {
    for layout in ["csr", "csc", "coo"] {
        let data = read(&format!("{layout}.npz"));
        assert_eq!(dense(&data.matrix), (TABLE.to_vec(), false, true), "{layout}");
    }
    assert_eq!(dense(&read("array64.npz").matrix), (TABLE.to_vec(), true, true));
    assert!(message("bsr.npz").contains("save it as csr"));
    let what = describe(&fixture("csr.npz"), &LoadOptions::default()).unwrap();
    assert_eq!((what.rows, what.cols, what.stored), (4, 3, Some(7)));
}

#[test]
fn mat_plain_packed_and_sparse() {
    for name in ["plain.mat", "packed.mat"] {
        let data = read_with(name, &options(Some("gt"), None)).unwrap();
        assert_eq!(dense(&data.matrix), (TABLE.to_vec(), false, false));
        assert_eq!(data.truth.unwrap().codes, [1, 0, 1, 0]);
    }
    for name in ["sparse.mat", "sparse_packed.mat"] {
        let data = read_with(name, &options(Some("gnd"), None)).unwrap();
        assert_eq!(dense(&data.matrix), (TABLE.to_vec(), false, true));
        assert_eq!(data.truth.unwrap().names, ["1", "2"]);
    }
    let weighted = LoadOptions { weights: Some("w".into()), ..LoadOptions::default() };
    let data = read_with("plain.mat", &weighted).unwrap();
    assert_eq!(data.weights.unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let error = read_with("packed.mat", &options(None, Some("note"))).unwrap_err();
    assert!(error.to_string().contains("class char"), "{error}");
}

#[test]
fn mat_of_every_class() {
    let absolute = table(f64::abs);
    let data = read_with("classes.mat", &options(None, Some("single"))).unwrap();
    assert_eq!(dense(&data.matrix), (absolute, true, false));
    let whole = table(|v| v.abs().trunc());
    for class in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"] {
        let data = read_with("classes.mat", &options(None, Some(class))).unwrap();
        let single = class.ends_with('8') || class.ends_with("16");
        assert_eq!(dense(&data.matrix), (whole.clone(), single, false), "{class}");
    }
    let flags = table(|v| f64::from(u8::from(v > 0.0)));
    let data = read_with("classes.mat", &options(None, Some("flags"))).unwrap();
    assert_eq!(dense(&data.matrix), (flags.clone(), true, false));
    let data = read_with("classes.mat", &options(None, Some("sparse_flags"))).unwrap();
    assert_eq!(dense(&data.matrix), (flags, true, true));
}

#[test]
fn mat_with_cells_structs_and_older_versions() {
    assert_eq!(dense(&read("others.mat").matrix).0, TABLE);
    for (name, class) in [("s", "struct"), ("c", "cell"), ("t", "char"), ("z", "complex")] {
        let error = read_with("others.mat", &options(None, Some(name))).unwrap_err().to_string();
        assert!(error.contains(&format!("class {class}")), "{error}");
    }
    let error = read_with("others.mat", &options(None, Some("cube"))).unwrap_err().to_string();
    assert!(error.contains("2-D"), "{error}");
    assert!(message("v4.mat").contains("save it with -v7"));
    let what = describe(&fixture("others.mat"), &LoadOptions::default()).unwrap();
    assert!(what.arrays.contains(&("table".into(), vec![4, 3], "float64".into())));
}

#[test]
fn matrix_market_of_every_kind() {
    assert_eq!(dense(&read("real.mtx").matrix), (TABLE.to_vec(), false, true));
    assert_eq!(dense(&read("dense.mtx").matrix), (TABLE.to_vec(), false, false));
    let ones = table(|v| f64::from(u8::from(v != 0.0)));
    assert_eq!(dense(&read("pattern.mtx").matrix), (ones, false, true));
    let square = [2.0, 1.0, 0.0, 1.0, 0.0, 3.0, 0.0, 3.0, 0.0];
    assert_eq!(dense(&read("symmetric.mtx").matrix), (square.to_vec(), false, true));
    let what = describe(&fixture("real.mtx"), &LoadOptions::default()).unwrap();
    assert_eq!((what.rows, what.cols, what.stored), (4, 3, Some(7)));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_with_every_codec_and_type() {
    for codec in ["none", "snappy", "gzip", "zstd"] {
        let data = read_with(&format!("{codec}.parquet"), &options(Some("class"), None)).unwrap();
        let expected = [
            [1.0, 0.0, 2.0, 1.0, 1.0],
            [0.0, -3.0, 0.0, 0.0, 2.0],
            [4.0, 5.0, 6.0, 1.0, 3.0],
            [0.0, 0.0, 7.0, 0.0, 250.0],
        ];
        assert_eq!(dense(&data.matrix), (expected.concat(), false, false), "{codec}");
        assert_eq!(data.feature_names.unwrap(), ["a", "b", "c", "flag", "u"]);
        assert_eq!(data.truth.unwrap().names, ["x", "y"]);
    }
    let columns = Some(vec!["u".to_string(), "b".to_string()]);
    let chosen = LoadOptions { columns, weights: Some("c".into()), ..LoadOptions::default() };
    let data = read_with("snappy.parquet", &chosen).unwrap();
    let expected = [1.0, 0.0, 2.0, -3.0, 3.0, 5.0, 250.0, 0.0];
    assert_eq!(dense(&data.matrix), (expected.to_vec(), true, false));
    assert_eq!(data.weights.unwrap(), [2.0, 0.0, 6.0, 7.0]);
    let data = read("unsigned.parquet");
    assert_eq!(dense(&data.matrix).0, [1.0, 1.0, 1.0, 2.0, 2f64.powi(63), 2f64.powi(31)]);
    let what = describe(&fixture("zstd.parquet"), &LoadOptions::default()).unwrap();
    assert_eq!((what.rows, what.cols, what.dtype.as_str()), (4, 6, "mixed"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_that_cannot_be_used_says_why() {
    let text = message("nulls.parquet");
    assert!(text.contains("row 1, column 'a' has no value"), "{text}");
    assert!(message("snappy.parquet").contains("column 'class' is text"));
    assert!(message("nested.parquet").contains("is nested"));
    let error = read_with("lz4.parquet", &options(Some("class"), None)).unwrap_err().to_string();
    assert!(error.contains("write it with snappy, zstd or gzip"), "{error}");
}

#[test]
fn labels_of_numpy_are_read() {
    assert_eq!(load_labels(&fixture("labels.npy")).unwrap().codes, [1, 0, 1, 0]);
    assert_eq!(load_labels(&fixture("words.npy")).unwrap().names, ["a", "b"]);
    assert_eq!(load_labels(&fixture("plain.npz")).unwrap().codes, [1, 0, 1, 0]);
    assert!(load_labels(&fixture("le_f8.npy")).is_err());
}

#[test]
fn packed_text_is_unpacked_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"a,b,class\n1,2,x\n3,4,y\n";
    let path = folder.path().join("t.csv.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gz.write_all(text).unwrap();
    gz.finish().unwrap();
    let data = load(&Source::Path(path.clone()), &options(Some("class"), None)).unwrap();
    assert_eq!(dense(&data.matrix).0, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(data.format, Format::Csv);

    let cut = folder.path().join("cut.csv.gz");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 6]).unwrap();
    let error = load(&Source::Path(cut), &options(Some("class"), None)).unwrap_err();
    assert!(error.to_string().contains("ends too early"), "{error}");

    let path = folder.path().join("t.csv.zst");
    std::fs::write(&path, zstd::encode_all(&text[..], 1).unwrap()).unwrap();
    let data = load(&Source::Path(path), &options(Some("2"), None)).unwrap();
    assert_eq!(data.truth.unwrap().names, ["x", "y"]);

    let path = folder.path().join("fake.csv.gz");
    std::fs::write(&path, text).unwrap();
    let error = load(&Source::Path(path), &options(None, None)).unwrap_err().to_string();
    assert!(error.contains("not compressed this way"), "{error}");

    // A packed array has no length to check, only an end.
    let path = folder.path().join("t.npy.zst");
    let array = std::fs::read(match fixture("le_f8.npy") {
        Source::Path(path) => path,
        Source::Stdin => unreachable!(),
    });
    std::fs::write(&path, zstd::encode_all(&array.unwrap()[..], 1).unwrap()).unwrap();
    let data = load(&Source::Path(path), &options(Some("0"), None)).unwrap();
    assert_eq!((data.matrix.n_cols(), data.truth.unwrap().names.len()), (2, 3));
}

#[test]
fn the_truth_alone_is_that_of_the_whole() {
    #[cfg(feature = "parquet")]
    let tables = [("plain.npz", "y"), ("plain.mat", "gt"), ("none.parquet", "class")];
    #[cfg(not(feature = "parquet"))]
    let tables = [("plain.npz", "y"), ("plain.mat", "gt")];
    for (name, word) in tables.into_iter().chain([("le_f8.npy", "0")]) {
        let options = options(Some(word), None);
        let alone = load_truth(&fixture(name), &options).unwrap_or_else(|e| panic!("{e}"));
        let whole = read_with(name, &options).unwrap().truth.unwrap();
        assert_eq!((alone.codes, alone.names), (whole.codes, whole.names), "{name}");
    }
}
