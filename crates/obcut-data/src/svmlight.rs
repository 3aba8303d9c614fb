//! svmlight files, also of LIBSVM: sparse rows as text, `target index:value index:value ... # comment`.
//!
//! Indices start at 1, unless the file contains an index of 0. `qid:` is ignored. The target is the class;
//! several targets (`1,3`) are one class with this name.

use obcut::{Csr, Matrix};

use crate::columns::dataset_by_columns;
use crate::error::Error;
use crate::labels::TruthBuilder;
use crate::message::shorten;
use crate::source::Input;
use crate::text::{TextLines, number};
use crate::{Dataset, Description, Format, LoadOptions, Truth};

/// Maximum index of a column: 32 bits, as in SciPy.
const MAX_INDEX: i64 = i32::MAX as i64;

/// Reads the rows and their targets.
fn read(input: &mut Input) -> Result<(Csr<f64>, TruthBuilder), Error> {
    let mut rows = Csr { offsets: vec![0], columns: vec![], values: vec![], n_cols: 0 };
    let mut targets = TruthBuilder::default();
    let mut lines = TextLines::new(input);
    while let Some(line) = lines.next_line()? {
        let line = line.split('#').next().unwrap_or("");
        let mut words = line.split_ascii_whitespace();
        let Some(target) = words.next() else { continue };
        let done = read_row(target, words, &mut rows);
        if let Err(problem) = done {
            return Err(lines.error(problem));
        }
        targets.push(target);
    }
    if rows.offsets.len() == 1 {
        return Err(Error::NoRows { source_name: input.name.clone(), n_rows: 0, n_cols: 0 });
    }
    let from_one = !rows.columns.contains(&0);
    if from_one {
        rows.columns.iter_mut().for_each(|j| *j -= 1);
    }
    rows.n_cols = rows.columns.iter().max().map_or(0, |&j| j as usize + 1);
    Ok((rows, targets))
}

/// Appends a row. Columns keep the indices of the file.
fn read_row<'a>(
    target: &str,
    words: impl Iterator<Item = &'a str>,
    rows: &mut Csr<f64>,
) -> Result<(), String> {
    if target.contains(':') {
        return Err(format!("expected a target, found '{}'", shorten(target, 40)));
    }
    for word in words {
        let Some((index, value)) = word.split_once(':') else {
            return Err(format!("'{}' is not index:value", shorten(word, 40)));
        };
        if index == "qid" {
            continue;
        }
        match index.parse::<i64>() {
            Ok(index) if (0..=MAX_INDEX).contains(&index) => rows.columns.push(index),
            _ => {
                let index = shorten(index, 40);
                return Err(format!("index '{index}' is not a number from 0 to {MAX_INDEX}"));
            }
        }
        rows.values.push(number(value)?);
    }
    rows.offsets.push(rows.columns.len() as i64);
    Ok(())
}

/// Reads a sparse table with its classes.
pub(crate) fn load(mut input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    for (option, is_given) in
        [("`truth`", options.truth.is_some()), ("`weights`", options.weights.is_some())]
    {
        if is_given {
            return Err(Error::Option {
                source_name: input.name,
                option,
                format: Format::Svmlight,
                hint: "the first word of every line is the truth, and there is nothing else",
            });
        }
    }
    let (rows, targets) = read(&mut input)?;
    let truth = targets.finish(&input.name)?;
    let data = dataset_by_columns(&input.name, Matrix::Sparse64(rows), options, Format::Svmlight)?;
    Ok(Dataset { truth: Some(truth), ..data })
}

/// Reads the targets only.
pub(crate) fn load_labels(mut input: Input) -> Result<Truth, Error> {
    let (_, targets) = read(&mut input)?;
    targets.finish(&input.name)
}

/// Describes a file. Reads all lines, since there is no header with the shape.
pub(crate) fn describe(mut input: Input) -> Result<Description, Error> {
    let (rows, _) = read(&mut input)?;
    let shape = (rows.offsets.len() - 1, rows.n_cols);
    Ok(Description {
        stored: Some(rows.values.len()),
        ..Description::new(Format::Svmlight, shape, "float64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> Input {
        Input::from_bytes("t.svm", text.as_bytes().to_vec(), Format::Svmlight).unwrap()
    }

    fn message(text: &str) -> String {
        load(input(text), &LoadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn rows_are_read_with_comments_and_queries() {
        let text = "# made by hand\n+1 qid:3 1:0.5 3:2 # first\n-1\n\n1 2:1e-3\n";
        let data = load(input(text), &LoadOptions::default()).unwrap();
        let expected = Csr {
            offsets: vec![0, 2, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![0.5, 2.0, 1e-3],
            n_cols: 3,
        };
        assert_eq!(data.matrix, Matrix::Sparse64(expected));
        let truth = data.truth.unwrap();
        assert_eq!((truth.codes, truth.names), (vec![1, 0, 1], vec!["-1".into(), "1".into()]));
    }

    #[test]
    fn an_index_of_zero_shifts_all() {
        let data = load(input("a 0:1\nb 4:1\n"), &LoadOptions::default()).unwrap();
        assert_eq!(data.matrix.n_cols(), 5);
        let data = load(input("a 1:1\nb 5:1\n"), &LoadOptions::default()).unwrap();
        assert_eq!(data.matrix.n_cols(), 5);
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(message("1 1:2\n1 5\n"), "t.svm, line 2: '5' is not index:value");
        assert_eq!(message("1 1:x\n"), "t.svm, line 1: 'x' is not a number");
        assert!(message("1 -1:2\n").contains("index '-1'"));
        assert!(message("1 99999999999:2\n").contains("index '99999999999'"));
        assert!(message("1:2 2:3\n").contains("target"));
        assert!(message("# nothing\n").contains("0 rows"));
        assert!(message("1\n2\n").contains("0 columns"));
    }
}
