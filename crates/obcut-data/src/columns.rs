//! Selection of the columns for features, truth and weights.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use obcut::{Csr, Matrix};

use crate::error::Error;
use crate::labels::TruthBuilder;
use crate::message::{hint_for, list_of, shorten};
use crate::values::Float;
use crate::{Dataset, Format, LoadOptions, Truth};

/// Columns in a chosen order, as indices from 0. Neighbors are kept as ranges: a header may declare more columns
/// than fit in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnList {
    ranges: Vec<Range<usize>>,
    /// Position of the first column of every range in the list.
    starts: Vec<usize>,
    len: usize,
}

impl ColumnList {
    /// Appends neighboring columns.
    fn push(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let len = range.len();
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => {
                self.starts.push(self.len);
                self.ranges.push(range);
            }
        }
        self.len += len;
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// The column at a position of the list.
    pub fn get(&self, position: usize) -> Option<usize> {
        let at = self.starts.partition_point(|&start| start <= position).checked_sub(1)?;
        let column = self.ranges[at].start + (position - self.starts[at]);
        (position < self.len).then_some(column)
    }

    /// Whether these are the first `n_cols` columns in the order of the table.
    pub(crate) fn is_all(&self, n_cols: usize) -> bool {
        self.ranges.iter().eq([&(0..n_cols)])
    }

    /// For every range, ascending: the columns, and the position of the first of them in the list.
    fn places(&self) -> Vec<(Range<usize>, usize)> {
        let mut places: Vec<_> =
            self.ranges.iter().cloned().zip(self.starts.iter().copied()).collect();
        places.sort_by_key(|(range, _)| range.start);
        places
    }
}

impl FromIterator<usize> for ColumnList {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut list = Self::default();
        columns.into_iter().for_each(|j| list.push(j..j + 1));
        list
    }
}

/// A set of columns as disjoint ranges: end of every range by its start.
#[derive(Default)]
struct ColumnSet(BTreeMap<usize, usize>);

impl ColumnSet {
    /// The range of the set that a column is in, or the next one after it.
    fn at_or_after(&self, j: usize) -> Option<Range<usize>> {
        let before = self.0.range(..=j).next_back().filter(|&(_, &end)| end > j);
        before.or_else(|| self.0.range(j..).next()).map(|(&start, &end)| start..end)
    }

    fn contains(&self, j: usize) -> bool {
        self.at_or_after(j).is_some_and(|range| range.contains(&j))
    }

    /// The parts of a range that are not in the set.
    fn gaps(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut gaps = Vec::new();
        let mut from = range.start;
        while from < range.end {
            let taken = self.at_or_after(from).unwrap_or(range.end..range.end);
            if from < taken.start {
                gaps.push(from..taken.start.min(range.end));
            }
            from = taken.end;
        }
        gaps
    }

    fn insert(&mut self, range: Range<usize>) {
        for gap in self.gaps(range) {
            self.0.insert(gap.start, gap.end);
        }
    }
}

/// Columns by role, as indices from 0.
#[derive(Debug, PartialEq)]
pub(crate) struct Selection {
    pub features: ColumnList,
    pub truth: Option<usize>,
    pub weights: Option<usize>,
}

/// Truth and weights, read beside the features.
#[derive(Default)]
pub(crate) struct Roles {
    pub truth: TruthBuilder,
    pub weights: Vec<f64>,
}

/// The columns of a table, by name or index.
struct Columns<'a> {
    source_name: &'a str,
    names: Option<&'a [String]>,
    n_cols: usize,
}

impl Selection {
    /// Creates a table from values, classes and weights that were read.
    pub(crate) fn read_rows<T: Float>(
        self,
        source_name: &str,
        (values, n_rows): (Vec<T>, usize),
        roles: Roles,
        format: Format,
    ) -> Result<Dataset, Error> {
        check_shape(source_name, n_rows, self.features.len())?;
        Ok(Dataset {
            matrix: T::matrix(values, n_rows, self.features.len()),
            feature_names: None,
            feature_columns: Some(self.features),
            first_line: None,
            truth: self.truth.map(|_| roles.truth.finish(source_name)).transpose()?,
            weights: self.weights.map(|_| roles.weights),
            format,
        })
    }

    /// Looks up the columns that the options name.
    pub(crate) fn new(
        source_name: &str,
        names: Option<&[String]>,
        n_cols: usize,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let columns = Columns { source_name, names, n_cols };
        let one = |word: &Option<String>| word.as_deref().map(|w| columns.find(w)).transpose();
        let truth = one(&options.truth)?;
        let weights = one(&options.weights)?;
        let mut out = ColumnSet::default();
        for word in &options.drop {
            out.insert(columns.find_all(word)?);
        }
        let mut features = ColumnList::default();
        let mut chosen = ColumnSet::default();
        match &options.columns {
            None => {
                truth.into_iter().chain(weights).for_each(|j| chosen.insert(j..j + 1));
                for range in out.gaps(0..n_cols) {
                    chosen.gaps(range).into_iter().for_each(|gap| features.push(gap));
                }
            }
            Some(words) => {
                for word in words {
                    for range in out.gaps(columns.find_all(word)?) {
                        if let Some(twice) =
                            chosen.at_or_after(range.start).filter(|next| next.start < range.end)
                        {
                            let column = columns.name(twice.start.max(range.start));
                            return Err(Error::ChosenTwice { column });
                        }
                        chosen.insert(range.clone());
                        features.push(range);
                    }
                }
                for (j, role) in [(truth, "the truth"), (weights, "the weights")] {
                    if let Some(j) = j.filter(|&j| chosen.contains(j)) {
                        return Err(Error::TwoRoles { column: columns.name(j), role });
                    }
                }
            }
        }
        if let Some(names) = names.filter(|_| !options.needed.is_empty()) {
            let chosen = options.columns.as_ref().map(|_| &chosen);
            features = columns.needed(names, &options.needed, &out, chosen)?;
            for (j, role) in [(truth, "the truth"), (weights, "the weights")] {
                if let Some(j) = j.filter(|&j| features.iter().any(|f| f == j)) {
                    return Err(Error::TwoRoles { column: columns.name(j), role });
                }
            }
        }
        if features.is_empty() {
            return Err(Error::NoFeatures { source_name: source_name.to_string() });
        }
        Ok(Self { features, truth, weights })
    }
}

impl Selection {
    /// Looks up columns without names. `None` if all of them are features.
    pub(crate) fn if_wanted(
        source_name: &str,
        n_cols: usize,
        options: &LoadOptions,
    ) -> Result<Option<Self>, Error> {
        let wants = options.columns.is_some()
            || !options.drop.is_empty()
            || options.truth.is_some()
            || options.weights.is_some();
        if !wants {
            return Ok(None);
        }
        Self::new(source_name, None, n_cols, options).map(Some)
    }
}

/// Finds a column by name, else by index from 0.
pub(crate) fn find_column(
    source_name: &str,
    names: Option<&[String]>,
    n_cols: usize,
    word: &str,
) -> Result<usize, Error> {
    Columns { source_name, names, n_cols }.find(word)
}

impl Columns<'_> {
    fn name(&self, j: usize) -> String {
        column_name(self.names, j)
    }

    /// Finds a column by name, else by index.
    fn find(&self, word: &str) -> Result<usize, Error> {
        if let Some(j) = self.names.and_then(|names| names.iter().position(|name| name == word)) {
            return Ok(j);
        }
        match word.parse::<usize>() {
            Ok(j) if j < self.n_cols => Ok(j),
            _ => Err(self.missing(word)),
        }
    }

    /// Finds a column, or a range of indices that includes both ends.
    fn find_all(&self, word: &str) -> Result<Range<usize>, Error> {
        let error = match self.find(word) {
            Ok(j) => return Ok(j..j + 1),
            Err(error) => error,
        };
        let ends = word.split_once('-').and_then(|(a, b)| {
            Some((a.trim().parse::<usize>().ok()?, b.trim().parse::<usize>().ok()?))
        });
        match ends {
            Some((first, last)) if first <= last && last < self.n_cols => Ok(first..last + 1),
            _ => Err(error),
        }
    }

    /// Finds the columns of a model, by name only: an index could be any column.
    fn needed(
        &self,
        names: &[String],
        wanted: &[String],
        out: &ColumnSet,
        chosen: Option<&ColumnSet>,
    ) -> Result<ColumnList, Error> {
        let is_left = |j: usize| !out.contains(j) && chosen.is_none_or(|set| set.contains(j));
        // Columns with the same name are taken in order.
        let mut left: HashMap<&str, Vec<usize>> = HashMap::new();
        for j in (0..names.len()).rev().filter(|&j| is_left(j)) {
            left.entry(&names[j]).or_default().push(j);
        }
        let mut of_one = |name: &String| {
            if let Some(j) = left.get_mut(name.as_str()).and_then(Vec::pop) {
                return Ok(j);
            }
            let hint = match names.iter().position(|other| other == name) {
                Some(j) if out.contains(j) => "it is excluded with `drop`".to_string(),
                Some(j) if !is_left(j) => "it is not among `columns`".to_string(),
                Some(_) => "the model has more columns of this name".to_string(),
                None => list_of(names),
            };
            let source_name = self.source_name.to_string();
            Err(Error::NeededColumn { source_name, column: shorten(name, 40), hint })
        };
        wanted.iter().map(&mut of_one).collect()
    }

    fn missing(&self, word: &str) -> Error {
        let hint = match self.names {
            Some(names) => hint_for(word, names),
            None => {
                format!("its columns have no names, only numbers from 0 to {}", self.n_cols - 1)
            }
        };
        Error::NoColumn { source_name: self.source_name.to_string(), column: word.into(), hint }
    }
}

/// The name of a column for messages, or its index if it has none.
pub(crate) fn column_name(names: Option<&[String]>, j: usize) -> String {
    names.and_then(|names| names.get(j)).map_or_else(|| j.to_string(), |name| shorten(name, 40))
}

/// Splits a matrix without names into features, truth and weights.
pub(crate) fn dataset_by_columns(
    source_name: &str,
    matrix: Matrix,
    options: &LoadOptions,
    format: Format,
) -> Result<Dataset, Error> {
    check_not_empty(source_name, &matrix)?;
    let mut data = Dataset {
        matrix,
        feature_names: None,
        feature_columns: None,
        first_line: None,
        truth: None,
        weights: None,
        format,
    };
    let Some(selection) = Selection::if_wanted(source_name, data.matrix.n_cols(), options)? else {
        return Ok(data);
    };
    data.truth = selection
        .truth
        .map(|j| Truth::from_numbers(source_name, &column(&data.matrix, j)))
        .transpose()?;
    data.weights = selection.weights.map(|j| column(&data.matrix, j));
    data.matrix = take(data.matrix, &selection.features);
    data.feature_columns = Some(selection.features);
    Ok(data)
}

/// Checks that a table has a row and a column.
pub(crate) fn check_not_empty(source_name: &str, matrix: &Matrix) -> Result<(), Error> {
    check_shape(source_name, matrix.n_rows(), matrix.n_cols())
}

/// Like [`check_not_empty`], for a shape.
pub(crate) fn check_shape(source_name: &str, n_rows: usize, n_cols: usize) -> Result<(), Error> {
    if n_rows == 0 || n_cols == 0 {
        return Err(Error::NoRows { source_name: source_name.to_string(), n_rows, n_cols });
    }
    Ok(())
}

/// A column in double precision.
fn column(matrix: &Matrix, j: usize) -> Vec<f64> {
    fn of_rows<T: Float>(x: &Csr<T>, j: usize) -> Vec<f64> {
        let mut out = vec![0.0; x.offsets.len() - 1];
        for (i, value) in out.iter_mut().enumerate() {
            let row = x.offsets[i] as usize..x.offsets[i + 1] as usize;
            for p in row.filter(|&p| x.columns[p] == j as i64) {
                *value += x.values[p].to_f64();
            }
        }
        out
    }
    match matrix {
        Matrix::Dense32 { values, n_cols, .. } => {
            values.iter().skip(j).step_by(*n_cols).map(|&v| f64::from(v)).collect()
        }
        Matrix::Dense64 { values, n_cols, .. } => {
            values.iter().skip(j).step_by(*n_cols).copied().collect()
        }
        Matrix::Sparse32(x) => of_rows(x, j),
        Matrix::Sparse64(x) => of_rows(x, j),
    }
}

/// The matrix with only the given columns, in this order.
fn take(matrix: Matrix, keep: &ColumnList) -> Matrix {
    fn dense<T: Copy>(values: &[T], n_cols: usize, keep: &ColumnList) -> Vec<T> {
        values.chunks_exact(n_cols).flat_map(|row| keep.iter().map(|j| row[j])).collect()
    }
    fn sparse<T: Copy>(x: &Csr<T>, keep: &ColumnList) -> Csr<T> {
        let places = keep.places();
        let mut out = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: keep.len() };
        for row in x.offsets.windows(2) {
            for p in row[0] as usize..row[1] as usize {
                let j = x.columns[p] as usize;
                let at = places.partition_point(|(range, _)| range.end <= j);
                if let Some((range, first)) = places.get(at).filter(|place| place.0.contains(&j)) {
                    out.columns.push((first + j - range.start) as i64);
                    out.values.push(x.values[p]);
                }
            }
            out.offsets.push(out.columns.len() as i64);
        }
        out
    }
    if keep.is_all(matrix.n_cols()) {
        return matrix;
    }
    match &matrix {
        Matrix::Dense32 { values, n_rows, n_cols } => Matrix::Dense32 {
            values: dense(values, *n_cols, keep),
            n_rows: *n_rows,
            n_cols: keep.len(),
        },
        Matrix::Dense64 { values, n_rows, n_cols } => Matrix::Dense64 {
            values: dense(values, *n_cols, keep),
            n_rows: *n_rows,
            n_cols: keep.len(),
        },
        Matrix::Sparse32(x) => Matrix::Sparse32(sparse(x, keep)),
        Matrix::Sparse64(x) => Matrix::Sparse64(sparse(x, keep)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["id", "a", "b", "c", "class"].map(String::from).to_vec()
    }

    fn select(options: &LoadOptions) -> Result<Selection, Error> {
        Selection::new("t.csv", Some(&names()), 5, options)
    }

    fn listed(options: &LoadOptions) -> Vec<usize> {
        select(options).unwrap().features.iter().collect()
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|w| w.to_string()).collect()
    }

    #[test]
    fn columns_are_found_by_name_number_and_range() {
        let options =
            LoadOptions { columns: Some(words(&["3", "a-b", "1-2"])), ..LoadOptions::default() };
        assert!(select(&options).unwrap_err().to_string().contains("no column 'a-b'"));
        let options = LoadOptions { columns: Some(words(&["c", "1-2"])), ..options };
        assert_eq!(listed(&options), [3, 1, 2]);
    }

    #[test]
    fn truth_and_dropped_columns_are_no_features() {
        let options = LoadOptions {
            truth: Some("class".into()),
            drop: words(&["id"]),
            ..LoadOptions::default()
        };
        let selection = select(&options).unwrap();
        assert_eq!(selection.features.iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(selection.truth, Some(4));
    }

    #[test]
    fn columns_of_a_model_are_found_by_name_or_missed() {
        let options = LoadOptions { needed: words(&["c", "a"]), ..LoadOptions::default() };
        assert_eq!(listed(&options), [3, 1]);
        let message = |options: &LoadOptions| {
            let error = select(options).unwrap_err();
            assert!(error.kind() == crate::ErrorKind::Request);
            error.to_string()
        };
        let missing = LoadOptions { needed: words(&["a", "3"]), ..LoadOptions::default() };
        assert_eq!(
            message(&missing),
            "t.csv has no column '3', which the model needs; there are 5: id, a, b, c, class"
        );
        let dropped = LoadOptions { drop: words(&["a"]), ..options.clone() };
        assert!(message(&dropped).ends_with("it is excluded with `drop`"));
        let chosen = LoadOptions { columns: Some(words(&["1-2"])), ..options.clone() };
        assert!(
            message(&chosen).ends_with("'c', which the model needs; it is not among `columns`")
        );
        let chosen = LoadOptions { columns: Some(words(&["1-3"])), ..options.clone() };
        assert_eq!(listed(&chosen), [3, 1]);
        let role = LoadOptions { truth: Some("c".into()), ..options.clone() };
        assert!(message(&role).contains("the truth"));
        let names = words(&["a", "b", "a"]);
        let twice = LoadOptions { needed: words(&["a", "a", "b"]), ..LoadOptions::default() };
        let found = Selection::new("t", Some(&names), 3, &twice).unwrap().features;
        assert_eq!(found.iter().collect::<Vec<_>>(), [0, 2, 1]);
        assert!(message(&twice).ends_with("the model has more columns of this name"));
        // Without names on either side the position counts.
        assert!(Selection::new("t", None, 2, &options).unwrap().features.is_all(2));
    }

    #[test]
    fn one_column_cannot_have_two_roles() {
        let options = LoadOptions {
            truth: Some("class".into()),
            columns: Some(words(&["0-4"])),
            ..LoadOptions::default()
        };
        let error = select(&options).unwrap_err();
        assert!(
            error.kind() == crate::ErrorKind::Request && error.to_string().contains("the truth"),
            "{error}"
        );
        let options = LoadOptions { columns: Some(words(&["a", "0-2"])), ..LoadOptions::default() };
        assert!(select(&options).unwrap_err().to_string().contains("chosen twice"));
        let options = LoadOptions { drop: words(&["0-4"]), ..LoadOptions::default() };
        assert!(matches!(select(&options), Err(Error::NoFeatures { .. })));
    }

    #[test]
    fn columns_of_all_kinds_of_matrix_can_be_taken() {
        let x = Csr {
            offsets: vec![0, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![1.0, 2.0, 3.0],
            n_cols: 3,
        };
        let m = Matrix::Sparse64(x);
        assert_eq!(column(&m, 2), [2.0, 0.0]);
        let Matrix::Sparse64(y) = take(m, &ColumnList::from_iter([2, 1])) else { panic!() };
        assert_eq!((y.offsets, y.columns, y.n_cols), (vec![0, 1, 2], vec![0, 1], 2));
        let m = Matrix::Dense32 { values: vec![1.0, 2.0, 3.0, 4.0], n_rows: 2, n_cols: 2 };
        assert_eq!(column(&m, 1), [2.0, 4.0]);
        let Matrix::Dense32 { values, .. } = take(m, &ColumnList::from_iter([1])) else { panic!() };
        assert_eq!(values, [2.0, 4.0]);
    }
}
