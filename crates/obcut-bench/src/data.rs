//! Data sets by name, and the shuffle that every run starts with.

use std::io::Read;
use std::path::{Path, PathBuf};

use obcut::synthetic::{self, Labelled};
use obcut::{Csr, Matrix};
use obcut_data::{LoadOptions, Source};
use serde::{Deserialize, Serialize};

/// Seed of generated data; the seed of a run changes the order of the rows and the method only.
const GENERATED: u64 = 1;

/// Rows with their classes.
#[derive(Clone, Debug)]
pub struct LabelledData {
    /// The samples.
    pub matrix: Matrix,
    /// Their classes, from 0.
    pub truth: Vec<u32>,
    /// Number of classes.
    pub k: usize,
}

/// Where the rows of a data set come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The handwritten digits that are shipped.
    Digits,
    /// Generated.
    Made(Shape),
    /// A file with features and classes.
    File {
        /// Where it is.
        path: PathBuf,
        /// Array of features (NPZ, MAT).
        variable: Option<String>,
        /// Column or array of classes.
        truth: String,
        /// Whether features stored dense are mostly zero.
        sparse: bool,
    },
}

/// A generated data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shape {
    /// `moons`, `rings`, `blobs`, `subspaces` or `mixture`.
    pub kind: ShapeKind,
    /// Number of rows.
    pub rows: usize,
    /// Number of features, where the kind leaves a choice.
    #[serde(default = "usual_features")]
    pub features: usize,
    /// Number of clusters, where the kind leaves a choice.
    #[serde(default)]
    pub clusters: Option<usize>,
}

/// The kinds of generated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeKind {
    /// Two half circles.
    Moons,
    /// Rings around one centre.
    Rings,
    /// Round clusters.
    Blobs,
    /// A union of subspaces.
    Subspaces,
    /// Uneven clusters, each a centre plus a subspace plus noise.
    Mixture,
}

/// Shapes that are generated where a suite does not say otherwise.
const FEATURES: usize = 30;
const CLUSTERS: usize = 5;
/// Spread of blobs, noise of moons and rings, and dimension and noise of subspaces.
const SPREAD: f64 = 1.0;
const NOISE: f64 = 0.05;
const SUBSPACE: (usize, f64) = (4, 0.01);

fn usual_features() -> usize {
    FEATURES
}

impl Shape {
    /// An error, in words, unless it can be made.
    pub fn check(&self) -> Result<(), String> {
        let Self { kind, rows, features, .. } = *self;
        let clusters = self.clusters();
        if rows == 0 || features == 0 || clusters == 0 {
            return Err("rows, features and clusters must be at least 1".into());
        }
        match kind {
            ShapeKind::Moons if self.clusters.is_some_and(|n| n != 2) => {
                Err("moons are 2 clusters; rings have as many as asked for".into())
            }
            _ if clusters > rows => {
                Err(format!("{clusters} clusters cannot be made of {rows} rows"))
            }
            _ => Ok(()),
        }
    }

    fn clusters(&self) -> usize {
        self.clusters.unwrap_or(CLUSTERS)
    }

    fn make(&self) -> LabelledData {
        let Self { kind, rows, features, .. } = *self;
        let clusters = self.clusters();
        let (Labelled { matrix, labels }, k) = match kind {
            ShapeKind::Moons => (synthetic::moons(rows, NOISE, GENERATED), 2),
            ShapeKind::Rings => (synthetic::rings(rows, clusters, NOISE, GENERATED), clusters),
            ShapeKind::Blobs => {
                (synthetic::blobs(rows, features, clusters, SPREAD, GENERATED), clusters)
            }
            ShapeKind::Subspaces => {
                let (dimension, noise) = SUBSPACE;
                let made =
                    synthetic::subspaces(rows, features, clusters, dimension, noise, GENERATED);
                (made, clusters)
            }
            ShapeKind::Mixture => {
                (synthetic::mixture(rows, features, clusters, GENERATED), clusters)
            }
        };
        LabelledData { matrix, truth: labels, k }
    }
}

impl Origin {
    /// The file `NAME.*` of a folder, if there is one in a format that holds features and classes.
    pub fn in_folder(folder: &Path, name: &str) -> Option<PathBuf> {
        ["npz", "mat", "csv", "csv.gz", "parquet", "svm"]
            .iter()
            .map(|suffix| folder.join(format!("{name}.{suffix}")))
            .find(|path| path.is_file())
    }

    /// Distinguishes origins of the same name: records of one are not used for the other.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Digits => "digits".into(),
            Self::Made(shape) => {
                let (Shape { kind, rows, features, .. }, clusters) = (shape, shape.clusters());
                format!("{kind:?}, {rows} rows, {features} features, {clusters} clusters")
            }
            Self::File { path, variable, truth, sparse } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let (bytes, hash) = content(path).unwrap_or_default();
                let array = variable.as_deref().unwrap_or("the features");
                let sparse = if *sparse { ", sparse" } else { "" };
                format!("{array} and {truth} of {name}, {bytes} bytes{sparse}{HASH}{hash:016x}")
            }
        }
    }

    /// Reads or makes the rows.
    ///
    /// # Errors
    /// When the file cannot be read or holds no classes, in words.
    pub fn load(&self) -> Result<LabelledData, String> {
        match self {
            Self::Made(shape) => Ok(shape.make()),
            Self::Digits => {
                let Labelled { matrix, labels } = obcut_data::digits();
                Ok(LabelledData { matrix, truth: labels, k: 10 })
            }
            Self::File { path, variable, truth, sparse } => {
                // The targets of svmlight files are their classes, whatever they are called.
                let is_svm = path.extension().is_some_and(|suffix| suffix == "svm");
                let options = LoadOptions {
                    variable: variable.clone(),
                    truth: (!is_svm).then(|| truth.clone()),
                    ..LoadOptions::default()
                };
                let source = Source::Path(path.clone());
                let loaded = obcut_data::load(&source, &options).map_err(|e| e.to_string())?;
                let Some(truth) = loaded.truth else {
                    return Err(format!("{} holds no classes", path.display()));
                };
                let k = truth.names.len();
                let data = LabelledData { matrix: loaded.matrix, truth: truth.codes, k };
                Ok(if *sparse { data.sparse() } else { data })
            }
        }
    }
}

/// A data set that `docs/quality.md` names: generated, shipped, or `NAME.npz` in the folder `OBCUT_DATA`.
///
/// # Errors
/// When its file cannot be read, in words.
pub fn named(name: &str) -> Result<Option<LabelledData>, String> {
    let made = |kind, rows, features, clusters| {
        Origin::Made(Shape { kind, rows, features, clusters: Some(clusters) })
    };
    let origin = match name {
        "moons" => made(ShapeKind::Moons, 2000, 2, 2),
        "rings" => made(ShapeKind::Rings, 3000, 2, 3),
        "blobs" => made(ShapeKind::Blobs, 2000, 8, 6),
        "subspaces" => made(ShapeKind::Subspaces, 2000, usual_features(), CLUSTERS),
        "digits" => Origin::Digits,
        _ => {
            let folder = std::env::var_os("OBCUT_DATA").map(PathBuf::from);
            let path = folder.and_then(|folder| Origin::in_folder(&folder, name));
            let Some(path) = path else { return Ok(None) };
            let sparse = name.starts_with("NG20");
            Origin::File { path, variable: None, truth: "y".into(), sparse }
        }
    };
    origin.load().map(Some)
}

impl LabelledData {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.truth.len()
    }

    /// Rows stored dense, as sparse ones.
    fn sparse(self) -> Self {
        let matrix = match self.matrix {
            Matrix::Dense32 { values, n_cols, .. } => Matrix::Sparse32(nonzero(&values, n_cols)),
            Matrix::Dense64 { values, n_cols, .. } => Matrix::Sparse64(nonzero(&values, n_cols)),
            sparse => sparse,
        };
        Self { matrix, ..self }
    }

    /// Puts the rows in another order: Fisher and Yates, with a generator of its own. Dense rows are swapped in
    /// place, so that the memory of a run is not that of a copy.
    pub fn shuffle(&mut self, seed: u64) {
        let swaps = swaps(self.n_rows(), seed);
        swaps.iter().for_each(|&(i, j)| self.truth.swap(i, j));
        match &mut self.matrix {
            Matrix::Dense32 { values, n_cols, .. } => swap_rows(values, *n_cols, &swaps),
            Matrix::Dense64 { values, n_cols, .. } => swap_rows(values, *n_cols, &swaps),
            Matrix::Sparse32(x) => *x = sparse_rows(x, &order(&swaps)),
            Matrix::Sparse64(x) => *x = sparse_rows(x, &order(&swaps)),
        }
    }

    /// Where a row was before a shuffle by some seed.
    pub fn place_before(&self, seed: u64, row: usize) -> usize {
        order(&swaps(self.n_rows(), seed)).get(row).copied().unwrap_or(row)
    }

    /// The same rows in another order.
    pub fn shuffled(&self, seed: u64) -> Self {
        let mut moved = self.clone();
        moved.shuffle(seed);
        moved
    }

    /// Some rows, in the order given.
    pub fn subset(&self, order: &[usize]) -> Self {
        let matrix = match &self.matrix {
            Matrix::Dense32 { values, n_cols, .. } => Matrix::Dense32 {
                values: rows(values, *n_cols, order),
                n_rows: order.len(),
                n_cols: *n_cols,
            },
            Matrix::Dense64 { values, n_cols, .. } => Matrix::Dense64 {
                values: rows(values, *n_cols, order),
                n_rows: order.len(),
                n_cols: *n_cols,
            },
            Matrix::Sparse32(x) => Matrix::Sparse32(sparse_rows(x, order)),
            Matrix::Sparse64(x) => Matrix::Sparse64(sparse_rows(x, order)),
        };
        Self { matrix, truth: order.iter().map(|&i| self.truth[i]).collect(), k: self.k }
    }
}

/// What stands before the hash of a file; records of older versions have none.
const HASH: &str = ", hash ";

/// Whether a record is of the current data, as far as it contains their size and hash.
pub fn is_same_source(was: &str, is: &str) -> bool {
    let plain = |text: &str| text.split_once(HASH).map_or(text, |(start, _)| start).to_string();
    was.is_empty() || was == is || (!was.contains(HASH) && was == plain(is))
}

/// Number of bytes and a hash of them (FNV-1a).
fn content(path: &Path) -> std::io::Result<(u64, u64)> {
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let (mut bytes, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((bytes, hash));
        }
        bytes += n as u64;
        for &byte in &buffer[..n] {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn nonzero<T: Copy + Default + PartialEq>(values: &[T], n_cols: usize) -> Csr<T> {
    let mut rows = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols };
    for row in values.chunks_exact(n_cols) {
        for (c, &v) in row.iter().enumerate().filter(|(_, v)| **v != T::default()) {
            rows.columns.push(c as i64);
            rows.values.push(v);
        }
        rows.offsets.push(rows.columns.len() as i64);
    }
    rows
}

/// The swaps of a shuffle.
fn swaps(n_rows: usize, seed: u64) -> Vec<(usize, usize)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let draw = |i: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (i, ((state >> 33) % (i as u64 + 1)) as usize)
    };
    (1..n_rows).rev().map(draw).collect()
}

/// Where every row comes from after some swaps.
fn order(swaps: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..=swaps.len()).collect();
    swaps.iter().for_each(|&(i, j)| order.swap(i, j));
    order
}

/// Swaps pairs of rows, the second of which never comes after the first.
fn swap_rows<T>(values: &mut [T], n_cols: usize, swaps: &[(usize, usize)]) {
    for &(i, j) in swaps.iter().filter(|(i, j)| j < i) {
        let (before, from) = values.split_at_mut(i * n_cols);
        before[j * n_cols..(j + 1) * n_cols].swap_with_slice(&mut from[..n_cols]);
    }
}

fn rows<T: Copy>(values: &[T], n_cols: usize, order: &[usize]) -> Vec<T> {
    order.iter().flat_map(|&i| &values[i * n_cols..(i + 1) * n_cols]).copied().collect()
}

fn sparse_rows<T: Copy>(x: &Csr<T>, order: &[usize]) -> Csr<T> {
    let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: x.n_cols };
    for &i in order {
        let range = x.offsets[i] as usize..x.offsets[i + 1] as usize;
        out.columns.extend_from_slice(&x.columns[range.clone()]);
        out.values.extend_from_slice(&x.values[range]);
        out.offsets.push(out.columns.len() as i64);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> LabelledData {
        let matrix =
            Matrix::Dense64 { values: vec![0.0, 1.0, 2.0, 0.0, 4.0, 5.0], n_rows: 3, n_cols: 2 };
        LabelledData { matrix, truth: vec![0, 1, 2], k: 3 }
    }

    #[test]
    fn a_shuffle_moves_rows_with_their_classes() {
        let shape = Shape { kind: ShapeKind::Blobs, rows: 50, features: 2, clusters: Some(3) };
        let data = shape.make();
        let moved = data.shuffled(7);
        let line = |data: &LabelledData, i: usize| match &data.matrix {
            Matrix::Dense64 { values, .. } => {
                (values[2 * i].to_bits(), values[2 * i + 1].to_bits(), data.truth[i])
            }
            _ => unreachable!("blobs are dense"),
        };
        let sorted = |data: &LabelledData| {
            let mut lines: Vec<_> = (0..50).map(|i| line(data, i)).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted(&data), sorted(&moved));
        assert_ne!(data.truth, moved.truth);
        assert_eq!(moved.truth, data.shuffled(7).truth);
        assert_ne!(moved.truth, data.shuffled(8).truth);
    }

    #[test]
    fn dense_and_sparse_rows_are_shuffled_alike() {
        let shape = Shape { kind: ShapeKind::Blobs, rows: 40, features: 3, clusters: Some(4) };
        let (dense, sparse) = (shape.make().shuffled(3), shape.make().sparse().shuffled(3));
        assert_eq!(dense.truth, sparse.truth);
        let (Matrix::Sparse64(a), Matrix::Sparse64(b)) = (&dense.sparse().matrix, &sparse.matrix)
        else {
            panic!("not sparse")
        };
        assert_eq!((&a.values, &a.columns, &a.offsets), (&b.values, &b.columns, &b.offsets));
    }

    #[test]
    fn another_content_of_the_same_size_is_another_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let now = || {
            let (path, truth) = (path.clone(), "y".to_string());
            Origin::File { path, variable: None, truth, sparse: true }.fingerprint()
        };
        std::fs::write(&path, "x,y\n1,0\n").unwrap();
        let (first, old) = (now(), "the features and y of a.csv, 8 bytes, sparse");
        assert_eq!(first, format!("{old}, hash {:016x}", content(&path).unwrap().1));
        std::fs::write(&path, "x,y\n2,0\n").unwrap();
        assert!(!is_same_source(&first, &now()), "{first}");
        assert!(is_same_source(old, &now()) && is_same_source("", &now()));
        assert!(!is_same_source("the features and y of a.csv, 9 bytes, sparse", &now()));
    }

    #[test]
    fn sparse_rows_hold_what_is_not_zero() {
        let Matrix::Sparse64(x) = three().sparse().subset(&[2, 0]).matrix else {
            panic!("not sparse")
        };
        assert_eq!(
            (x.offsets, x.columns, x.values),
            (vec![0, 2, 3], vec![0, 1, 1], vec![4.0, 5.0, 1.0])
        );
    }
}
