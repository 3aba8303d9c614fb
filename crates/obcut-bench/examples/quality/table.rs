//! A data set with its reference partitions, read or generated, and the score of a clustering.

use std::path::PathBuf;

use obcut::metrics::{Scores, scores};
use obcut::{Csr, Matrix};
use obcut_bench::data::{LabelledData, named};
use obcut_data::{LoadOptions, Source, describe, load, load_truth};

use crate::protocol::{Kind, Set};

/// The folder that `bench/keel.py` writes to, unless `OBCUT_QUALITY_DATA` names another.
const QUALITY_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/quality-data");

/// A reference partition: the class of every row, or `None` for noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Class of every row; noise has none and is left out of the score.
    pub classes: Vec<Option<u32>>,
    /// Number of classes, without noise.
    pub k: usize,
}

/// Rows with one or more reference partitions.
#[derive(Clone, Debug)]
pub struct Table {
    /// The samples; `truth` holds the number of each row, so that a shuffle can be undone.
    pub data: LabelledData,
    /// The reference partitions, at least one.
    pub partitions: Vec<Partition>,
}

impl Partition {
    /// Classes without noise.
    pub fn whole(classes: &[u32]) -> Self {
        Self::new(classes.iter().copied().map(Some).collect())
    }

    /// Classes of the suite: their names are numbers from 1, and 0 marks noise.
    fn of_suite(codes: &[u32], names: &[String]) -> Self {
        let class = |&code: &u32| (names.get(code as usize)? != "0").then_some(code);
        Self::new(codes.iter().map(class).collect())
    }

    /// Classes of every row, `None` for noise.
    pub fn new(classes: Vec<Option<u32>>) -> Self {
        let mut distinct: Vec<u32> = classes.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        Self { classes, k: distinct.len() }
    }

    /// The scores of labels against the classes; `rows` holds the row that each label belongs to.
    pub fn score(&self, labels: &[u32], rows: &[u32]) -> Result<Scores, String> {
        let pairs = labels.iter().zip(rows);
        let (found, truth): (Vec<u32>, Vec<u32>) =
            pairs.filter_map(|(&label, &row)| Some((label, self.classes[row as usize]?))).unzip();
        scores(&found, &truth).map_err(|error| error.to_string())
    }
}

impl Table {
    /// Rows with the partitions of all of them.
    pub fn new(matrix: Matrix, partitions: Vec<Partition>) -> Self {
        let n_rows = partitions.first().map_or(0, |partition| partition.classes.len());
        let k = partitions.first().map_or(0, |partition| partition.k);
        let data = LabelledData { matrix, truth: (0..n_rows as u32).collect(), k };
        Self { data, partitions }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.data.n_rows()
    }

    /// Number of clusters of the first partition.
    pub fn k(&self) -> usize {
        self.data.k
    }

    /// The first partition.
    pub fn partition(&self) -> &Partition {
        &self.partitions[0]
    }

    /// The distinct numbers of clusters of the partitions, ascending; 1 is no clustering to look for.
    pub fn numbers(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.partitions.iter().map(|p| p.k).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|&k| k > 1);
        numbers
    }

    /// The same rows in single or double precision.
    pub fn in_precision(&self, single: bool) -> Self {
        let matrix = match (&self.data.matrix, single) {
            (Matrix::Dense32 { values, n_rows, n_cols }, false) => Matrix::Dense64 {
                values: values.iter().map(|&v| f64::from(v)).collect(),
                n_rows: *n_rows,
                n_cols: *n_cols,
            },
            (Matrix::Dense64 { values, n_rows, n_cols }, true) => Matrix::Dense32 {
                values: values.iter().map(|&v| v as f32).collect(),
                n_rows: *n_rows,
                n_cols: *n_cols,
            },
            (Matrix::Sparse32(x), false) => Matrix::Sparse64(Csr {
                offsets: x.offsets.clone(),
                columns: x.columns.clone(),
                values: x.values.iter().map(|&v| f64::from(v)).collect(),
                n_cols: x.n_cols,
            }),
            (Matrix::Sparse64(x), true) => Matrix::Sparse32(Csr {
                offsets: x.offsets.clone(),
                columns: x.columns.clone(),
                values: x.values.iter().map(|&v| v as f32).collect(),
                n_cols: x.n_cols,
            }),
            (matrix, _) => matrix.clone(),
        };
        Self {
            data: LabelledData { matrix, ..self.data.clone() },
            partitions: self.partitions.clone(),
        }
    }
}

/// The file of a data set, unless it is generated or shipped; `None` when its folder is not known.
pub fn path(set: &Set) -> Option<PathBuf> {
    let data = || std::env::var_os("OBCUT_DATA").map(PathBuf::from);
    let file = format!("{}.npz", set.name);
    match set.kind {
        Kind::Generated | Kind::Shipped => None,
        Kind::Real => data().map(|folder| folder.join(file)),
        Kind::Suite => data().map(|folder| folder.join("suite").join(file)),
        Kind::Keel | Kind::Bundled => {
            let folder = std::env::var_os("OBCUT_QUALITY_DATA").map(PathBuf::from);
            Some(folder.unwrap_or_else(|| QUALITY_DATA.into()).join(file))
        }
    }
}

/// Reads or generates a data set; `None` when its file does not exist.
pub fn table(set: &Set) -> Result<Option<Table>, String> {
    match set.kind {
        Kind::Generated | Kind::Shipped | Kind::Real => Ok(named(&set.name)?.map(|data| {
            let partition = Partition::whole(&data.truth);
            Table::new(data.matrix, vec![partition])
        })),
        Kind::Keel | Kind::Bundled | Kind::Suite => match path(set) {
            Some(path) if path.is_file() => read(path, set.kind == Kind::Suite).map(Some),
            _ => Ok(None),
        },
    }
}

/// Reads `X` and the partitions `y`, `y1`, `y2`, ... of an NPZ file.
fn read(path: PathBuf, marks_noise: bool) -> Result<Table, String> {
    let name = path.display().to_string();
    let source = Source::Path(path);
    let options = LoadOptions { variable: Some("X".into()), ..LoadOptions::default() };
    let words = |error: obcut_data::Error| error.to_string();
    let arrays = describe(&source, &options).map_err(words)?.arrays;
    let is_partition = |name: &str| {
        name.strip_prefix('y').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut partitions = Vec::new();
    for (name, ..) in arrays.iter().filter(|(name, ..)| is_partition(name)) {
        let of = LoadOptions { truth: Some(name.clone()), ..options.clone() };
        let truth = load_truth(&source, &of).map_err(words)?;
        partitions.push(if marks_noise {
            Partition::of_suite(&truth.codes, &truth.names)
        } else {
            Partition::whole(&truth.codes)
        });
    }
    let matrix = load(&source, &options).map_err(words)?.matrix;
    if partitions.is_empty() || partitions.iter().any(|p| p.classes.len() != matrix.n_rows()) {
        return Err(format!("{name}: the array y with one class per row is missing"));
    }
    Ok(Table::new(matrix, partitions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use npyz::WriterBuilder;

    fn write(path: &std::path::Path, partitions: &[(&str, &[i32])]) {
        let mut file = npyz::npz::NpzWriter::create(path).unwrap();
        let n = partitions[0].1.len();
        let options = || npyz::zip::write::FileOptions::default();
        let mut x = file
            .array("X", options())
            .unwrap()
            .default_dtype()
            .shape(&[n as u64, 2])
            .begin_nd()
            .unwrap();
        x.extend((0..2 * n).map(|i| i as f64)).unwrap();
        x.finish().unwrap();
        for (name, classes) in partitions {
            let mut y = file
                .array(name, options())
                .unwrap()
                .default_dtype()
                .shape(&[n as u64])
                .begin_nd()
                .unwrap();
            y.extend(classes.iter().copied()).unwrap();
            y.finish().unwrap();
        }
    }

    #[test]
    fn a_file_of_the_suite_has_several_partitions_and_noise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write(&path, &[("y", &[1, 1, 2, 3]), ("y1", &[1, 0, 2, 2]), ("y2", &[0, 1, 1, 1])]);
        let table = read(path, true).unwrap();
        assert_eq!(table.partitions.iter().map(|p| p.k).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(table.numbers(), [2, 3]);
        assert_eq!(table.k(), 3);
        assert_eq!(table.partitions[1].classes, [Some(1), None, Some(2), Some(2)]);
        // The row of noise takes no part in the score, wherever the shuffle puts it.
        let score = table.partitions[1].score(&[7, 7, 5, 7], &[3, 2, 0, 1]).unwrap();
        assert_eq!(score.ari, 1.0);
    }

    #[test]
    fn other_files_have_a_class_zero() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write(&path, &[("y", &[0, 1, 1, 0])]);
        let table = read(path, false).unwrap();
        assert_eq!((table.k(), table.numbers()), (2, vec![2]));
    }

    #[test]
    fn a_shuffle_keeps_rows_and_classes_together() {
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        let matrix = Matrix::Dense64 { values, n_rows: 40, n_cols: 1 };
        let classes: Vec<u32> = (0..40).map(|i| i / 10).collect();
        let table = Table::new(matrix, vec![Partition::whole(&classes)]);
        let moved = table.data.shuffled(3);
        let Matrix::Dense64 { values, .. } = &moved.matrix else { panic!("not dense") };
        assert!(values.iter().zip(&moved.truth).all(|(&v, &row)| v as u32 == row));
        let labels: Vec<u32> = values.iter().map(|&v| 3 - v as u32 / 10).collect();
        assert_eq!(table.partition().score(&labels, &moved.truth).unwrap().ari, 1.0);
    }
}
