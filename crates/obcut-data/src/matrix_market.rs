//! MatrixMarket files: `coordinate` becomes a sparse and `array` a dense table. Supported are the fields
//! `real`, `integer` and `pattern`, and the symmetries `general`, `symmetric` and `skew-symmetric`.

use obcut::Matrix;

use crate::columns::dataset_by_columns;
use crate::error::Error;
use crate::message::shorten;
use crate::source::Input;
use crate::sparse::Sparse;
use crate::text::{TextLines, number};
use crate::values::{Values, transpose};
use crate::{Dataset, Description, Format, LoadOptions};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

struct MtxHeader {
    is_array: bool,
    is_pattern: bool,
    dtype: &'static str,
    symmetry: Symmetry,
    n_rows: usize,
    n_cols: usize,
    /// Number of lines that follow, each with one value.
    n_lines: usize,
}

impl MtxHeader {
    fn read(lines: &mut TextLines<'_>) -> Result<Self, Error> {
        let first = lines.next_line()?.unwrap_or("").to_ascii_lowercase();
        let words: Vec<&str> = first.split_ascii_whitespace().collect();
        let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
            let problem = "expected '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY'";
            return Err(lines.error(problem));
        };
        let is_array = match layout {
            "coordinate" => false,
            "array" => true,
            other => return Err(lines.error(unknown("layout", other))),
        };
        let (is_pattern, dtype) = match field {
            "real" | "double" => (false, "float64"),
            "integer" | "unsigned-integer" => (false, "int64"),
            "pattern" if !is_array => (true, "bool"),
            other => return Err(lines.error(unknown("field", other))),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            other => return Err(lines.error(unknown("symmetry", other))),
        };
        let sizes = Self::read_sizes(lines)?;
        let (n_rows, n_cols, n_lines) = match (is_array, &sizes[..]) {
            (false, &[n_rows, n_cols, n_lines]) => (n_rows, n_cols, Some(n_lines)),
            (true, &[n_rows, n_cols]) => (n_rows, n_cols, array_lines(n_rows, n_cols, symmetry)),
            _ => {
                return Err(
                    lines.error("expected the sizes: rows, columns and, if coordinate, entries")
                );
            }
        };
        if symmetry != Symmetry::General && n_rows != n_cols {
            return Err(lines.error(format!("{n_rows} x {n_cols} cannot be symmetric")));
        }
        let n_lines = n_lines.ok_or_else(|| lines.error("the sizes are too large"))?;
        Ok(Self { is_array, is_pattern, dtype, symmetry, n_rows, n_cols, n_lines })
    }

    /// Reads the first line that is neither a comment nor empty.
    fn read_sizes(lines: &mut TextLines<'_>) -> Result<Vec<usize>, Error> {
        while let Some(line) = lines.next_line()? {
            if line.is_empty() || line.starts_with('%') {
                continue;
            }
            let sizes: Option<Vec<usize>> =
                line.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
            return sizes.ok_or_else(|| lines.error("the sizes are not whole numbers"));
        }
        Err(Error::damaged(lines.source_name, "the file ends before the sizes"))
    }
}

fn unknown(what: &str, word: &str) -> String {
    format!("{what} '{}' is not supported", shorten(word, 40))
}

/// Number of stored values of an array: all, or one triangle.
fn array_lines(n_rows: usize, n_cols: usize, symmetry: Symmetry) -> Option<usize> {
    let all = n_rows.checked_mul(n_cols)?;
    Some(match symmetry {
        Symmetry::General => all,
        Symmetry::Symmetric => all / 2 + n_rows.div_ceil(2),
        Symmetry::Skew => all.checked_sub(n_rows)? / 2,
    })
}

/// Calls `entry` with the words of every line of values.
fn each_line(
    lines: &mut TextLines<'_>,
    n_lines: usize,
    mut entry: impl FnMut(&mut dyn Iterator<Item = &str>) -> Result<(), String>,
) -> Result<(), Error> {
    let mut found = 0usize;
    while let Some(line) = lines.next_line()? {
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        if found == n_lines {
            return Err(lines.error(format!("more than the {n_lines} entries declared")));
        }
        found += 1;
        let mut words = line.split_ascii_whitespace();
        let mut done = entry(&mut words);
        if done.is_ok() && words.next().is_some() {
            done = Err("too many words in the line".to_string());
        }
        if let Err(problem) = done {
            return Err(lines.error(problem));
        }
    }
    if found < n_lines {
        let problem = format!("{n_lines} entries are declared, {found} are there");
        return Err(Error::damaged(lines.source_name, problem));
    }
    Ok(())
}

fn read_coordinates(header: &MtxHeader, lines: &mut TextLines<'_>) -> Result<Matrix, Error> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    each_line(lines, header.n_lines, |words| {
        let mut index = |n: usize| {
            let word = words.next().ok_or("too few words in the line")?;
            match word.parse::<usize>() {
                Ok(i) if (1..=n).contains(&i) => Ok(i as i64 - 1),
                _ => Err(format!("index '{}' is not in 1..{n}", shorten(word, 40))),
            }
        };
        let (i, j) = (index(header.n_rows)?, index(header.n_cols)?);
        let value = match header.is_pattern {
            true => 1.0,
            false => number(words.next().ok_or("too few words in the line")?)?,
        };
        let mirrored = match header.symmetry {
            Symmetry::Symmetric if i != j => Some(value),
            Symmetry::Skew if i != j => Some(-value),
            _ => None,
        };
        let entries = [Some((i, j, value)), mirrored.map(|value| (j, i, value))];
        for (i, j, value) in entries.into_iter().flatten() {
            rows.push(i);
            columns.push(j);
            values.push(value);
        }
        Ok(())
    })?;
    let (n_rows, n_cols) = (header.n_rows, header.n_cols);
    Sparse { name: lines.source_name, n_rows, n_cols, values: Values::F64(values) }
        .by_triples(&rows, &columns)
}

fn read_array(header: &MtxHeader, lines: &mut TextLines<'_>) -> Result<Matrix, Error> {
    let mut stored = Vec::new();
    each_line(lines, header.n_lines, |words| {
        stored.push(number(words.next().ok_or("too few words in the line")?)?);
        Ok(())
    })?;
    let (n_rows, n_cols) = (header.n_rows, header.n_cols);
    // Values are in column-major order; of a symmetric array, only the lower triangle is stored.
    let values = match header.symmetry {
        Symmetry::General => transpose(&stored, n_rows, n_cols),
        symmetry => {
            let sign = if symmetry == Symmetry::Skew { -1.0 } else { 1.0 };
            let skip = usize::from(symmetry == Symmetry::Skew);
            let mut values = vec![0.0; n_rows * n_cols];
            let places = (0..n_cols).flat_map(|j| (j + skip..n_rows).map(move |i| (i, j)));
            for ((i, j), value) in places.zip(stored) {
                values[j * n_cols + i] = sign * value;
                values[i * n_cols + j] = value;
            }
            values
        }
    };
    Ok(Matrix::Dense64 { values, n_rows, n_cols })
}

/// Reads a table, dense or sparse.
pub(crate) fn load(mut input: Input, options: &LoadOptions) -> Result<Dataset, Error> {
    let mut lines = TextLines::new(&mut input);
    let header = MtxHeader::read(&mut lines)?;
    let matrix = match header.is_array {
        true => read_array(&header, &mut lines)?,
        false => read_coordinates(&header, &mut lines)?,
    };
    dataset_by_columns(&input.name, matrix, options, Format::MatrixMarket)
}

/// Describes a file. Reads only the sizes; of a symmetric matrix, the stored triangle is counted.
pub(crate) fn describe(mut input: Input) -> Result<Description, Error> {
    let mut lines = TextLines::new(&mut input);
    let header = MtxHeader::read(&mut lines)?;
    let shape = (header.n_rows, header.n_cols);
    Ok(Description {
        stored: (!header.is_array).then_some(header.n_lines),
        ..Description::new(Format::MatrixMarket, shape, header.dtype)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut::Csr;

    fn read(text: &str) -> Result<Matrix, Error> {
        let text = format!("%%MatrixMarket matrix {text}").into_bytes();
        let input = Input::from_bytes("t.mtx", text, Format::MatrixMarket)?;
        load(input, &LoadOptions::default()).map(|data| data.matrix)
    }

    fn dense(values: &[f64], n_rows: usize, n_cols: usize) -> Matrix {
        Matrix::Dense64 { values: values.to_vec(), n_rows, n_cols }
    }

    #[test]
    fn coordinates_become_rows() {
        let x = read("coordinate real general\n% note\n2 3 3\n2 2 3.5\n1 1 1\n1 3 -2\n").unwrap();
        let expected = Csr {
            offsets: vec![0, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![1.0, -2.0, 3.5],
            n_cols: 3,
        };
        assert_eq!(x, Matrix::Sparse64(expected));
    }

    #[test]
    fn a_triangle_stands_for_both() {
        let x = read("coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n").unwrap();
        let Matrix::Sparse64(x) = x else { panic!() };
        assert_eq!((x.offsets, x.columns), (vec![0, 2, 3], vec![0, 1, 0]));
        let x = read("array real symmetric\n2 2\n1\n2\n3\n").unwrap();
        assert_eq!(x, dense(&[1.0, 2.0, 2.0, 3.0], 2, 2));
        let x = read("array real skew-symmetric\n2 2\n5\n").unwrap();
        assert_eq!(x, dense(&[0.0, -5.0, 5.0, 0.0], 2, 2));
    }

    #[test]
    fn arrays_come_column_by_column() {
        let x = read("array integer general\n2 3\n1\n4\n2\n5\n3\n6\n").unwrap();
        assert_eq!(x, dense(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3));
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        let message = |text| read(text).unwrap_err().to_string();
        assert!(message("coordinate complex general\n").contains("field 'complex'"));
        assert!(message("coordinate real general\n2 2 1\n3 1 1\n").contains("line 3: index '3'"));
        assert!(message("coordinate real general\n2 2 2\n1 1 1\n").contains("1 are there"));
        assert!(message("coordinate real general\n2 2 1\n1 1 1\n1 2 1\n").contains("more than"));
        assert!(message("coordinate real general\n2 2 1\n1 1\n").contains("too few"));
        assert!(message("coordinate real symmetric\n2 3 0\n").contains("cannot be symmetric"));
        let huge = "array real general\n4294967296 4294967296\n1\n";
        assert!(message(huge).contains("too large"));
        let huge = "coordinate real general\n99999999999999 2 1\n1 1 1\n";
        assert!(message(huge).contains("rows are declared"));
    }
}
