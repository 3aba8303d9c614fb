//! Small files of every format, made by code: valid ones, and nasty ones that declare more than they hold.
//!
//! A specimen is kept in parts, such as header and data, that are joined after they were changed: lengths and
//! checksums of the container are right then, so that the damage reaches the code behind them.

use std::io::{Cursor, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Makes a file of its parts.
type Join = fn(&[Vec<u8>]) -> Vec<u8>;

/// A file to start from.
#[derive(Clone)]
pub struct Specimen {
    /// File extension: what reads it.
    pub suffix: &'static str,
    pub parts: Vec<Vec<u8>>,
    join: Join,
}

impl Specimen {
    /// The bytes of the file.
    pub fn join(&self) -> Vec<u8> {
        (self.join)(&self.parts)
    }

    pub fn plain(suffix: &'static str, bytes: impl AsRef<[u8]>) -> Self {
        Self { suffix, parts: vec![bytes.as_ref().to_vec()], join: <[Vec<u8>]>::concat }
    }

    /// With a length of 8 bytes before the first part, as in safetensors.
    pub fn measured(suffix: &'static str, bytes: &[u8]) -> Self {
        let length = bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n) as usize);
        let cut = (8 + length).min(bytes.len());
        Self { suffix, parts: vec![bytes[8..cut].to_vec(), bytes[cut..].to_vec()], join: measured }
    }
}

pub fn texts(suffix: &'static str, texts: &[&str]) -> Vec<Specimen> {
    texts.iter().map(|text| Specimen::plain(suffix, text)).collect()
}

pub fn csv() -> Vec<Specimen> {
    let mut all = texts(
        "csv",
        &[
            "a,\"b, c\",class\n1,2.5,x\n-3e2,nan,\"y\"\"z\"\n4,5,x\n",
            "1;2;3\r\n4;5;6\r\n7;8;9\r\n",
            "\u{feff}x,y,class,w\n1,2,a,1\n3,4,b,0.5\n5,6,a,2\n",
            "\"a\nb\",c\n\"1\",2\n3,\"4\"\n",
            "0.1,16777217,1e-300\n1,2,3\n,,\n4,5,6\n",
            "label\n1\n2\n1\n",
            // A quote that is never closed, a number of 400 digits, blank lines, one wide line.
            "a,b\n1,\"2\n3,4\n",
            &format!("a,b\n{},2\n1,2\n", "9".repeat(400)),
            "\n\n1,2\n\n3,4\n\n",
            &format!("{}\n", "1,".repeat(500)),
            "a\0b,c\n1\0,2\n",
            "1 2 3\n4 5 6\n",
        ],
    );
    all.extend(texts("tsv", &["a\tb\tclass\n1\t2\tx\n3\t4\ty\n", "1\t\t3\n4\t5\t6\n"]));
    all
}

pub fn svmlight() -> Vec<Specimen> {
    texts(
        "svm",
        &[
            "# note\n1 1:0.5 3:-2e1 # first\n-1 qid:3 2:1\n1 1:1 2:2 3:3\n",
            "0 0:1 1:2\n1 5:3\n2\n0 3:1\n",
            "1 2147483648:1\n0 1:2\n1 7:1\n",
            "1 4294967296:1\n0 1:2\n1 7:1\n",
            "1 9223372036854775807:1\n0 18446744073709551615:2\n",
            "1 1:1 999999999:2\n2 999999998:1\n1 3:nan 4:inf\n",
            "1,2 1:1\n3 2:1\n",
            "1 3:1 2:1\n1 2:1 2:1\n",
        ],
    )
}

pub fn matrix_market() -> Vec<Specimen> {
    texts(
        "mtx",
        &[
            "%%MatrixMarket matrix coordinate real general\n% note\n3 4 4\n1 1 0.5\n2 3 -1\n3 4 1e3\n1 2 1\n",
            "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n",
            "%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n6\n",
            "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 1 5\n",
            "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
            "%%MatrixMarket matrix coordinate real general\n3 2147483648 3\n1 1 1\n2 2147483648 1\n3 7 1\n",
            "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 1 1\n",
            "%%MatrixMarket matrix coordinate real general\n3 3 9223372036854775807\n1 1 1\n",
            "%%MatrixMarket matrix array real general\n100000000 100000\n1\n",
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n1 1 1 0\n",
        ],
    )
}

/// The header of an NPY file without its length.
fn npy_header(descr: &str, fortran: &str, shape: &str) -> Vec<u8> {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n").into_bytes()
}

fn npy_parts(descr: &str, fortran: &str, shape: &str, data: Vec<u8>) -> [Vec<u8>; 2] {
    [npy_header(descr, fortran, shape), data]
}

fn join_npy(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((parts[0].len() as u16).to_le_bytes());
    parts.iter().for_each(|part| bytes.extend(part));
    bytes
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// 12 numbers that differ.
fn dozen() -> Vec<f64> {
    (0..12).map(|i| f64::from(i * i) * 0.7 - 3.0).collect()
}

pub fn npy() -> Vec<Specimen> {
    let doubles = || f64s(&dozen());
    let singles: Vec<u8> = dozen().iter().flat_map(|&v| (v as f32).to_be_bytes()).collect();
    [
        npy_parts("<f8", "False", "(4, 3)", doubles()),
        npy_parts("<f8", "True", "(4, 3)", doubles()),
        npy_parts(">f4", "False", "(3, 4)", singles),
        npy_parts("<i4", "False", "(2, 3)", i32s(&[1, -2, 3, 1 << 30, 5, i32::MIN])),
        npy_parts("<i8", "False", "(6,)", i64s(&[0, 1, 0, 2, 1 << 60, 1])),
        npy_parts("|b1", "False", "(2, 2)", vec![0, 1, 1, 0]),
        npy_parts("<f2", "False", "(2, 2)", vec![0, 60, 0, 188, 1, 0, 255, 123]),
        npy_parts("<U2", "False", "(3,)", "a\0\0\0b\0\0\0".repeat(3).into_bytes()),
        npy_parts("|S3", "False", "(3,)", b"ab\0cd\0ab\0".to_vec()),
        npy_parts("|O", "False", "(3,)", vec![0x80, 4, b'.']),
        npy_parts("<f8", "False", "(3, 2147483648)", doubles()),
        npy_parts("<f8", "False", "(4294967296, 4294967296)", doubles()),
        npy_parts("|u1", "False", "(9223372036854775807, 2)", doubles()),
        npy_parts("<f8", "False", "(99999999999999999999,)", doubles()),
        npy_parts("<f8", "True", "(2, 1099511627776)", doubles()),
        npy_parts("|S2147483647", "False", "(3,)", doubles()),
        npy_parts("<f8", "False", "(0, 3)", vec![]),
        npy_parts("<f8", "False", "(3, 0)", vec![]),
        npy_parts("<f8", "False", "()", f64s(&[1.0])),
        npy_parts("<f8", "False", "(2, 2, 3)", doubles()),
    ]
    .into_iter()
    .map(|parts| Specimen { suffix: "npy", parts: parts.to_vec(), join: join_npy })
    .collect()
}

/// The parts are name, header and data of every array.
fn zipped(parts: &[Vec<u8>], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for array in parts.chunks_exact(3) {
        let options = SimpleFileOptions::default().compression_method(method);
        // A name that an archive cannot hold is left out.
        if zip.start_file(String::from_utf8_lossy(&array[0]), options).is_ok() {
            let _ = zip.write_all(&join_npy(&array[1..]));
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

fn npz_of(arrays: &[(&str, &str, &str, Vec<u8>)]) -> Vec<Specimen> {
    let parts: Vec<Vec<u8>> = arrays
        .iter()
        .flat_map(|(name, descr, shape, data)| {
            let [header, data] = npy_parts(descr, "False", shape, data.clone());
            [format!("{name}.npy").into_bytes(), header, data]
        })
        .collect();
    let stored: Join = |parts| zipped(parts, CompressionMethod::Stored);
    let packed: Join = |parts| zipped(parts, CompressionMethod::Deflated);
    [stored, packed].map(|join| Specimen { suffix: "npz", parts: parts.clone(), join }).to_vec()
}

pub fn npz() -> Vec<Specimen> {
    let sparse = |layout: &str, shape: [i64; 2], indices: [i64; 4], indptr: &[i64]| {
        npz_of(&[
            ("indices", "<i8", "(4,)", i64s(&indices)),
            ("indptr", "<i8", &format!("({},)", indptr.len()), i64s(indptr)),
            ("format", "|S3", "()", layout.into()),
            ("shape", "<i8", "(2,)", i64s(&shape)),
            ("data", "<f8", "(4,)", f64s(&[1.0, 2.0, 3.0, 4.0])),
        ])
    };
    let coo = npz_of(&[
        ("row", "<i4", "(3,)", i32s(&[0, 1, 2])),
        ("col", "<i4", "(3,)", i32s(&[3, 0, 1])),
        ("format", "|S3", "()", b"coo".to_vec()),
        ("shape", "<i8", "(2,)", i64s(&[3, 4])),
        ("data", "<f8", "(3,)", f64s(&[1.0, 2.0, 3.0])),
    ]);
    [
        npz_of(&[
            ("X", "<f8", "(4, 3)", f64s(&dozen())),
            ("y", "<i4", "(4,)", i32s(&[0, 1, 1, 0])),
            ("w", "<f8", "(4,)", f64s(&[1.0, 2.0, 1.0, 0.5])),
            ("class", "<U1", "(4,)", b"a\0\0\0b\0\0\0a\0\0\0b\0\0\0".to_vec()),
        ]),
        npz_of(&[("labels", "<i4", "(3,)", i32s(&[0, 1, 1]))]),
        sparse("csr", [3, 5], [0, 4, 1, 2], &[0, 2, 3, 4]),
        sparse("csc", [5, 3], [0, 4, 1, 2], &[0, 2, 3, 4]),
        sparse("csr", [3, 1 << 33], [0, 1 << 32, 1, 2], &[0, 2, 3, 4]),
        sparse("csc", [3, 1 << 40], [0, 1, 1, 2], &[0, 2, 3, 4]),
        sparse("csr", [1 << 40, 3], [0, 1, 1, 2], &[0, 2, 3, 4]),
        sparse("csr", [3, 5], [0, -1, i64::MAX, 2], &[0, i64::MAX, -3, 4]),
        sparse("bsr", [3, 5], [0, 4, 1, 2], &[0, 2, 3, 4]),
        coo,
        npz_of(&[("X", "<f8", "(1099511627776, 3)", f64s(&dozen()))]),
        npz_of(&[("X", "<f8", "(3, 2147483648)", f64s(&dozen()))]),
    ]
    .concat()
}

/// An element of a MAT file, filled up to 8 bytes.
fn element(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut all = kind.to_le_bytes().to_vec();
    all.extend((bytes.len() as u32).to_le_bytes());
    all.extend(bytes);
    all.resize(all.len().next_multiple_of(8), 0);
    all
}

/// A matrix of a class; `values` are the elements that follow the name.
fn mat_matrix(name: &str, class: u32, n_max: u32, shape: [i32; 2], values: &[Vec<u8>]) -> Vec<u8> {
    let mut body = element(6, &[class.to_le_bytes(), n_max.to_le_bytes()].concat());
    body.extend(element(5, &i32s(&shape)));
    body.extend(element(1, name.as_bytes()));
    values.iter().for_each(|value| body.extend(value));
    element(14, &body)
}

fn mat_header() -> Vec<u8> {
    let mut header = b"MATLAB 5.0 MAT-file, made by code".to_vec();
    header.resize(124, b' ');
    header.extend([0, 1, b'I', b'M']);
    header
}

fn join_mat(parts: &[Vec<u8>]) -> Vec<u8> {
    [mat_header(), parts.concat()].concat()
}

fn join_packed_mat(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = mat_header();
    for part in parts {
        let packed = written(
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast()),
            part,
            flate2::write::ZlibEncoder::finish,
        );
        bytes.extend(15u32.to_le_bytes());
        bytes.extend((packed.len() as u32).to_le_bytes());
        bytes.extend(packed);
    }
    bytes
}

pub fn mat() -> Vec<Specimen> {
    let dense = |shape| mat_matrix("fea", 6, 0, shape, &[element(9, &f64s(&dozen()))]);
    let classes = mat_matrix("gnd", 6, 0, [4, 1], &[element(2, &[1, 2, 2, 1])]);
    let sparse = |n_max: u32, shape, rows: &[i32], ends: &[i32]| {
        let values =
            [element(5, &i32s(rows)), element(5, &i32s(ends)), element(9, &f64s(&[1.0; 4]))];
        mat_matrix("fea", 5, n_max, shape, &values)
    };
    let sets: Vec<Vec<Vec<u8>>> = vec![
        vec![dense([4, 3]), classes],
        vec![mat_matrix("X", 12, 0, [2, 3], &[element(5, &i32s(&[1, 2, 3, 4, 5, 6]))])],
        vec![sparse(4, [3, 3], &[0, 2, 1, 0], &[0, 2, 3, 4])],
        vec![sparse(u32::MAX, [3, 3], &[0, 2, 1, 0], &[0, 2, 3, 4])],
        vec![sparse(4, [3, i32::MAX], &[0, 2, 1, 0], &[0, 2, 3, 4])],
        vec![sparse(4, [i32::MAX, 3], &[0, 2, 1, 0], &[0, 2, 3, 4])],
        vec![sparse(4, [3, 3], &[0, -2, i32::MAX, 0], &[0, i32::MAX, -3, 4])],
        vec![dense([i32::MAX, i32::MAX])],
        vec![dense([-1, 3])],
    ];
    let joins: [Join; 2] = [join_mat, join_packed_mat];
    sets.iter()
        .flat_map(|parts| joins.map(|join| Specimen { suffix: "mat", parts: parts.clone(), join }))
        .collect()
}

fn parquet_file(
    compression: Compression,
    n_groups: i64,
) -> Result<Vec<u8>, parquet::errors::ParquetError> {
    let schema = "message table { required double a; optional double b; required int64 c; required binary class (UTF8); }";
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = Arc::new(parse_message_type(schema)?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for group in 0..n_groups {
        let mut columns = file.next_row_group()?;
        let doubles: Vec<f64> = dozen().iter().map(|v| v + group as f64).collect();
        while let Some(mut column) = columns.next_column()? {
            match column.untyped() {
                ColumnWriter::DoubleColumnWriter(writer) => {
                    // The first value of an optional column is missing.
                    let mut levels = [1; 12];
                    levels[0] = 0;
                    match writer.get_descriptor().max_def_level() {
                        0 => writer.write_batch(&doubles, None, None)?,
                        _ => writer.write_batch(&doubles[1..], Some(&levels), None)?,
                    };
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let values: Vec<i64> = (0..12).map(|i| i * i + group).collect();
                    writer.write_batch(&values, None, None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let words = ["x", "y", "x"].repeat(4);
                    let words: Vec<_> = words.into_iter().map(Into::into).collect();
                    writer.write_batch(&words, None, None)?;
                }
                _ => {}
            }
            column.close()?;
        }
        columns.close()?;
    }
    file.into_inner()
}

pub fn parquet() -> Vec<Specimen> {
    [(Compression::UNCOMPRESSED, 1), (Compression::UNCOMPRESSED, 2), (Compression::SNAPPY, 1)]
        .into_iter()
        .filter_map(|(compression, n_groups)| parquet_file(compression, n_groups).ok())
        .map(|bytes| {
            // Pages, metadata, and the length of the metadata, which is right after a change.
            let end = bytes.len() - 8;
            let length = bytes[end..].first_chunk().map_or(0, |n| u32::from_le_bytes(*n) as usize);
            let cut = end - length.min(end);
            let parts = vec![bytes[..cut].to_vec(), bytes[cut..end].to_vec()];
            Specimen { suffix: "parquet", parts, join: join_parquet }
        })
        .collect()
}

fn join_parquet(parts: &[Vec<u8>]) -> Vec<u8> {
    let length = (parts[1].len() as u32).to_le_bytes();
    [&parts[0][..], &parts[1], &length, b"PAR1"].concat()
}

pub fn labels() -> Vec<Specimen> {
    let mut all = texts(
        "json",
        &[
            "[1, 0, 1]",
            "{\"labels\": [\"x\", \"y\", true]}",
            "[1e400, 2, -0.0, 9007199254740993]",
            &"[".repeat(5000),
            "{\"labels\": {\"labels\": []}}",
        ],
    );
    all.extend(texts("csv", &["label\n1\n2\n1\n", "a\nb\na\n", "x,label\n1,2\n3,4\n", "1\n\n2\n"]));
    let is_labels =
        |one: &Specimen| one.parts.iter().any(|part| part.windows(3).any(|w| w == b",),"));
    all.extend(npy().into_iter().filter(is_labels));
    all.extend(npz().into_iter().take(4));
    all.extend(parquet().into_iter().take(1));
    all.extend(svmlight().into_iter().take(2));
    all
}

/// Bytes as they are, or packed.
pub fn packed(bytes: &[u8], packing: Option<&str>) -> Vec<u8> {
    match packing {
        None => bytes.to_vec(),
        Some("gz") => written(
            flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()),
            bytes,
            flate2::write::GzEncoder::finish,
        ),
        Some(_) => zstd::encode_all(bytes, 1).unwrap_or_default(),
    }
}

/// What a packer makes of bytes; writing to memory does not fail.
fn written<W: Write>(
    mut packer: W,
    bytes: &[u8],
    finish: impl FnOnce(W) -> std::io::Result<Vec<u8>>,
) -> Vec<u8> {
    packer.write_all(bytes).and_then(|()| finish(packer)).unwrap_or_default()
}

fn measured(parts: &[Vec<u8>]) -> Vec<u8> {
    [&(parts[0].len() as u64).to_le_bytes()[..], &parts[0], &parts[1]].concat()
}
