//! Readers of tables and labels, and fits of what they read.

use std::path::Path;

use obcut::{GraphKind, Matrix, Named, OBCut, Params, RowSource, Scale};
use obcut_data::{
    Dataset, Error, LoadOptions, Source, Truth, describe, load, load_labels, load_truth, measure,
    open_rows,
};

use super::{check_message, shown};
use crate::corpus::{self, Specimen};
use crate::random::Dice;

/// Ways to read a table.
fn options(dice: &mut Dice) -> LoadOptions {
    let word = |dice: &mut Dice, words: &[&str]| dice.pick(words).to_string();
    let mut options = LoadOptions::default();
    if dice.one_in(4) {
        options.truth = Some(word(dice, &["class", "y", "0", "-1", "gnd", "c"]));
    }
    if dice.one_in(6) {
        options.weights = Some(word(dice, &["w", "1", "0", "y"]));
    }
    if dice.one_in(6) {
        options.columns = Some(vec![word(dice, &["0", "1", "0-1", "a", "x", "2147483647"])]);
    }
    if dice.one_in(6) {
        options.drop = vec![word(dice, &["0", "1", "1-2", "class", "0-4294967295"])];
    }
    if dice.one_in(6) {
        options.single = Some(dice.one_in(2));
    }
    if dice.one_in(8) {
        options.header = Some(dice.one_in(2));
    }
    if dice.one_in(8) {
        options.delimiter = Some(*dice.pick(b",; \tx"));
    }
    if dice.one_in(8) {
        options.variable = Some(word(dice, &["X", "fea", "y", "data"]));
    }
    if dice.one_in(8) {
        options.max_line = Some(1 << dice.below(12));
    }
    options
}

/// Reads a table in every way: whole, described, measured, and in pieces, which must be the same table.
pub fn table(path: &Path, bytes: &[u8]) -> Result<bool, String> {
    let source = Source::Path(path.to_path_buf());
    let mut is_accepted = false;
    let mut dice = Dice::of_bytes(bytes);
    for options in [LoadOptions::default(), options(&mut dice)] {
        for error in [
            describe(&source, &options).err(),
            measure(std::slice::from_ref(&source), &options).err(),
            load_truth(&source, &options).err(),
        ] {
            error.map_or(Ok(()), |error| check_message(&error.to_string()))?;
        }
        let whole = load(&source, &options);
        match &whole {
            Err(error) => check_message(&error.to_string())?,
            Ok(data) => check_dataset(data, &options)?,
        }
        is_accepted |= whole.is_ok();
        in_pieces(&source, &options, &whole, &mut dice)
            .map_err(|text| format!("{text}; {options:?}"))?;
    }
    Ok(is_accepted)
}

fn check_dataset(data: &Dataset, options: &LoadOptions) -> Result<(), String> {
    let n_rows = data.matrix.n_rows();
    data.matrix.samples().map_err(|error| format!("rows that are not sound: {error}"))?;
    let lengths =
        [data.truth.as_ref().map(|truth| truth.codes.len()), data.weights.as_ref().map(Vec::len)];
    if lengths.iter().flatten().any(|&length| length != n_rows) {
        return Err(format!("{n_rows} rows with {lengths:?} classes and weights"));
    }
    let names = data.feature_names.as_ref().map_or(data.matrix.n_cols(), Vec::len);
    if names != data.matrix.n_cols() {
        return Err(format!("{names} names for {} columns", data.matrix.n_cols()));
    }
    if options.truth.is_some() && data.truth.is_none() {
        return Err("no classes although they were asked for".into());
    }
    data.truth.as_ref().map_or(Ok(()), check_truth)
}

fn check_truth(truth: &Truth) -> Result<(), String> {
    match truth.codes.iter().find(|&&code| code as usize >= truth.names.len()) {
        Some(code) => Err(format!("class {code} of {}", truth.names.len())),
        None => Ok(()),
    }
}

/// The values by their bits, NaN included.
fn bits(matrix: &Matrix) -> (usize, usize, Vec<u64>) {
    let bits = match matrix {
        Matrix::Dense32 { values, .. } => values.iter().map(|v| u64::from(v.to_bits())).collect(),
        Matrix::Dense64 { values, .. } => values.iter().map(|v| v.to_bits()).collect(),
        _ => Vec::new(),
    };
    (matrix.n_rows(), matrix.n_cols(), bits)
}

/// In pieces it must be the same table, or the same complaint.
fn in_pieces(
    source: &Source,
    options: &LoadOptions,
    whole: &Result<Dataset, Error>,
    dice: &mut Dice,
) -> Result<(), String> {
    let is_special = format!("{options:?}") != format!("{:?}", LoadOptions::default());
    let table = match open_rows(std::slice::from_ref(source), options, None, &mut |_| true) {
        Err(Error::NotInPieces { .. }) => return Ok(()),
        table => table,
    };
    if let Ok(table) = &table {
        // Some rows, by two ways.
        let n = table.n_rows();
        let start = dice.below(n);
        let end = (start + 1 + dice.below(5)).min(n);
        let rows: Vec<u64> = (start as u64..end as u64).collect();
        let pair = (table.read(start..end), table.gather(&rows));
        if let (Ok(read), Ok(gathered)) = &pair
            && bits(read) != bits(gathered)
        {
            return Err(format!("rows {start}..{end} differ when they are gathered"));
        }
    }
    let pieces = table.and_then(|table| table.into_dataset());
    match (whole, &pieces) {
        (Ok(whole), Ok(pieces)) => {
            let facts = |data: &Dataset| {
                let Dataset { feature_names, feature_columns, first_line, truth, weights, .. } =
                    data;
                format!(
                    "{feature_names:?} {feature_columns:?} {first_line:?} {truth:?} {weights:?}"
                )
            };
            if bits(&whole.matrix) != bits(&pieces.matrix) {
                return Err("in pieces the values differ".into());
            }
            match (facts(whole), facts(pieces)) {
                (a, b) if a == b => Ok(()),
                (a, b) => Err(format!("in pieces {} instead of {}", shown(&b), shown(&a))),
            }
        }
        (Err(whole), Err(pieces)) => match (whole.to_string(), pieces.to_string()) {
            // When a file and a request are both wrong, either may be named.
            (a, b) if a == b || is_special => Ok(()),
            (a, b) => Err(format!("in pieces {} instead of {}", shown(&b), shown(&a))),
        },
        (Ok(_), Err(error)) => Err(format!("only in pieces: {}", shown(&error.to_string()))),
        (Err(error), Ok(_)) => Err(format!("only as a whole: {}", shown(&error.to_string()))),
    }
}

pub fn labels(path: &Path) -> Result<bool, String> {
    match load_labels(&Source::Path(path.to_path_buf())) {
        Ok(truth) if truth.codes.is_empty() => Err("no labels, and no error".into()),
        Ok(truth) => check_truth(&truth).map(|()| true),
        Err(error) => check_message(&error.to_string()).map(|()| false),
    }
}

/// Tables that are clustered: two groups, wide ones, and ones with strange values.
pub fn to_fit() -> Vec<Specimen> {
    let mut groups = String::new();
    let mut sparse = String::new();
    for i in 0..40 {
        let far = 10 * (i % 2);
        groups.push_str(&format!("{},{}.5,{}\n", far + i % 5, far + i % 7, i % 3));
        sparse.push_str(&format!("{} {}:{} {}:1\n", i % 2, 1 + far + i % 4, 1 + i % 3, 30 + i % 5));
    }
    let mut all = corpus::texts(
        "csv",
        &[
            &groups,
            &"1,2\n".repeat(20),
            "1,2\n3,4\n5,6\n",
            "1e300,1\n-1e300,2\n1e-300,3\n0,4\n5e-324,5\n",
            "1e38,1\n-1e38,2\n1e-38,3\n0,4\n",
            "0,0\n0,0\n0,1\n",
        ],
    );
    all.extend(corpus::texts("svm", &[&sparse, "0 1:1\n1 2147483648:1\n1 7:2\n0 9:1\n"]));
    all
}

/// A fit that succeeds has a label below k for every row, and its model repeats the labels.
pub fn fit(path: &Path, bytes: &[u8]) -> Result<bool, String> {
    let Ok(data) = load(&Source::Path(path.to_path_buf()), &LoadOptions::default()) else {
        return Ok(false);
    };
    // Damage that repeats rows makes tables that take seconds.
    if data.matrix.n_rows() > 200 {
        return Ok(false);
    }
    let mut dice = Dice::of_bytes(bytes);
    let k = 2 + dice.below(3);
    let (graph, scale) = (*dice.pick(GraphKind::ALL), *dice.pick(Scale::ALL));
    let params = Params { threads: 1, graph, scale, ..Params::new(k) };
    let told = format!("{graph:?} {scale:?} k={k}");
    let clusterer = OBCut::from(params);
    match clusterer.fit(&data.matrix) {
        Err(error) => check_message(&error.to_string()).map(|()| false),
        Ok(fit) => {
            let labels = fit.labels();
            let model = fit.model();
            let again = model.predict(&data.matrix).map_err(|e| format!("{told}: {e}"))?;
            if labels.len() != data.matrix.n_rows() || labels.iter().any(|&l| l as usize >= k) {
                return Err(format!("{told}: labels {labels:?}"));
            }
            if labels != again {
                return Err(format!("{told}: the model does not repeat the labels"));
            }
            let bytes = model.to_bytes().map_err(|e| format!("{told}: {e}"))?;
            match obcut::Model::from_bytes(&bytes) {
                Ok(read) if read == *model => Ok(true),
                Ok(_) => Err(format!("{told}: the model changes when it is written and read")),
                Err(e) => Err(format!("{told}: its own model is refused: {e}")),
            }
        }
    }
}
