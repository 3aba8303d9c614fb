//! Selection of the array of features in an NPZ or MAT file.

use obcut::Matrix;

use crate::columns::dataset_by_columns;
use crate::error::Error;
use crate::message::{hint_for, shorten};
use crate::{Dataset, Description, Format, LoadOptions, Truth};

/// Usual names of arrays of features, in order of preference.
const FEATURES: [&str; 5] = ["X", "fea", "data", "features", "x"];
/// Usual names of arrays of classes. They are features only if named explicitly.
pub(crate) const TRUTHS: [&str; 7] = ["y", "gt", "gnd", "labels", "label", "Y", "target"];

/// An array, as the file declares it.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub shape: Vec<usize>,
    pub dtype: String,
    pub is_number: bool,
}

impl Variable {
    fn is_table(&self) -> bool {
        self.is_number && self.shape.len() == 2
    }
}

/// Finds an array by name.
pub(crate) fn find(source_name: &str, all: &[Variable], name: &str) -> Result<usize, Error> {
    all.iter().position(|v| v.name == name).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|v| v.name.clone()).collect();
        Error::NoVariable {
            source_name: source_name.to_string(),
            variable: name.to_string(),
            hint: hint_for(name, &names),
        }
    })
}

/// Finds the array of features: by the given name, else by the usual names, else the only numeric table.
pub(crate) fn choose(
    source_name: &str,
    all: &[Variable],
    options: &LoadOptions,
) -> Result<usize, Error> {
    if let Some(name) = &options.variable {
        return find(source_name, all, name);
    }
    let is_taken = |name: &String| {
        options.truth.as_ref() == Some(name) || options.weights.as_ref() == Some(name)
    };
    let is_free =
        |v: &Variable| v.is_number && !TRUTHS.contains(&v.name.as_str()) && !is_taken(&v.name);
    let usual =
        FEATURES.iter().find_map(|&name| all.iter().position(|v| v.name == name && is_free(v)));
    if let Some(at) = usual {
        return Ok(at);
    }
    let tables: Vec<usize> =
        (0..all.len()).filter(|&at| is_free(&all[at]) && all[at].is_table()).collect();
    // In MATLAB, scalars and vectors are tables too.
    let wide: Vec<usize> =
        tables.iter().copied().filter(|&at| all[at].shape.iter().all(|&n| n > 1)).collect();
    match (&tables[..], &wide[..]) {
        ([only], _) | (_, [only]) => Ok(*only),
        _ => {
            let list: Vec<String> = all
                .iter()
                .take(8)
                .map(|v| format!("{} {:?} {}", shorten(&v.name, 40), v.shape, v.dtype))
                .collect();
            let hint = match all.len() {
                0 => "it holds none".to_string(),
                n => format!("choose with `variable`; it holds {n}: {}", list.join(", ")),
            };
            Err(Error::WhichVariable { source_name: source_name.to_string(), hint })
        }
    }
}

/// Describes a file whose array of features is unknown.
pub(crate) fn undecided(all: &[Variable], format: Format) -> Description {
    Description {
        arrays: listed(all),
        undecided: true,
        ..Description::new(format, (0, 0), "mixed")
    }
}

/// Name, shape and type of every array.
pub(crate) fn listed(all: &[Variable]) -> Vec<(String, Vec<usize>, String)> {
    all.iter().map(|v| (v.name.clone(), v.shape.clone(), v.dtype.clone())).collect()
}

/// Creates a table from a matrix and from separate arrays of classes and weights.
pub(crate) fn with_roles(
    source_name: &str,
    matrix: Matrix,
    truth: Option<Truth>,
    weights: Option<Vec<f64>>,
    options: &LoadOptions,
    format: Format,
) -> Result<Dataset, Error> {
    let n_rows = matrix.n_rows();
    let lengths = [
        ("truth", &options.truth, truth.as_ref().map(|t| t.codes.len())),
        ("weights", &options.weights, weights.as_ref().map(Vec::len)),
    ];
    for (role, name, found) in lengths {
        if let Some(found) = found.filter(|&found| found != n_rows) {
            return Err(Error::Length {
                source_name: source_name.to_string(),
                role,
                name: name.clone().unwrap_or_default(),
                found,
                expected: n_rows,
            });
        }
    }
    // The roles name arrays here, so only columns are left to choose.
    let columns = LoadOptions { truth: None, weights: None, ..options.clone() };
    let data = dataset_by_columns(source_name, matrix, &columns, format)?;
    Ok(Dataset { truth, weights, ..data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, shape: &[usize]) -> Variable {
        Variable {
            name: name.into(),
            shape: shape.into(),
            dtype: "float64".into(),
            is_number: true,
        }
    }

    fn chosen(all: &[Variable]) -> Result<usize, Error> {
        choose("t.npz", all, &LoadOptions::default())
    }

    #[test]
    fn usual_names_come_first() {
        let all = [variable("A", &[3, 3]), variable("fea", &[9, 2]), variable("gt", &[9, 1])];
        assert_eq!(chosen(&all).unwrap(), 1);
    }

    #[test]
    fn truth_is_never_taken_for_features() {
        assert!(chosen(&[variable("y", &[9, 1])]).is_err());
        assert!(chosen(&[variable("gnd", &[9, 4])]).is_err());
        let all = [variable("x", &[9, 1]), variable("table", &[9, 4])];
        let options = LoadOptions { truth: Some("x".into()), ..LoadOptions::default() };
        assert_eq!(choose("t", &all, &options).unwrap(), 1);
    }

    #[test]
    fn the_only_table_is_taken_and_two_are_a_question() {
        let all = [variable("k", &[1, 1]), variable("table", &[9, 4])];
        assert_eq!(chosen(&all).unwrap(), 1);
        let all = [variable("a", &[9, 5]), variable("b", &[9, 4])];
        let text = chosen(&all).unwrap_err().to_string();
        assert!(text.contains("`variable`") && text.contains("a [9, 5] float64"), "{text}");
    }
}
