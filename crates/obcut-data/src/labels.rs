//! Reading one class per row from columns, arrays and files of labels.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value;

use crate::columns::check_shape;
use crate::detect::{Magic, check_head, inner_suffix};
use crate::error::Error;
use crate::message::shorten;
use crate::source::{Input, Source};
use crate::{Format, csv, npy, npz, svmlight};

/// The classes of rows: codes from 0 in the order of the sorted distinct values, and their names. If all values
/// are numbers, they are sorted as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Class of every row.
    pub codes: Vec<u32>,
    /// Name of every class.
    pub names: Vec<String>,
}

impl Truth {
    /// Creates the classes from numbers.
    pub(crate) fn from_numbers(source_name: &str, values: &[f64]) -> Result<Self, Error> {
        check_shape(source_name, values.len(), 1)?;
        check_numbers(source_name, 0, values)?;
        let mut distinct: Vec<f64> = values.iter().map(|v| v + 0.0).collect(); // -0 is 0
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        let code = |v: &f64| distinct.partition_point(|d| d < v) as u32;
        Ok(Self {
            codes: values.iter().map(code).collect(),
            names: distinct.iter().map(f64::to_string).collect(),
        })
    }
}

/// Checks that numbers are exact enough to be classes; `row` is the row of the first one.
fn check_numbers(source_name: &str, row: usize, values: &[f64]) -> Result<(), Error> {
    // From 2^53 on, neighbouring integers have the same double.
    let is_bad = |v: &f64| !v.is_finite() || v.abs() >= 2f64.powi(53);
    match values.iter().position(is_bad) {
        None => Ok(()),
        Some(at) => Err(Error::Label {
            source_name: source_name.to_string(),
            row: row + at,
            problem: format!("{}, which is not a class", values[at]),
        }),
    }
}

/// Collects classes, and stores each distinct one once.
#[derive(Default)]
pub(crate) struct TruthBuilder {
    seen: HashMap<String, u32>,
    /// Codes of numeric classes, by their bits.
    numbers: HashMap<u64, u32>,
    codes: Vec<u32>,
    /// Number of rows that are checked.
    n_checked: usize,
}

impl TruthBuilder {
    pub(crate) fn push(&mut self, text: &str) {
        let code = self.code(text.trim());
        self.codes.push(code);
    }

    /// Adds numeric classes; `name` is their file and `row` the row of the first one.
    pub(crate) fn push_numbers(
        &mut self,
        name: &str,
        row: usize,
        values: &[f64],
    ) -> Result<(), Error> {
        check_numbers(name, row, values)?;
        for value in values {
            let value = value + 0.0; // -0 is 0
            let code = match self.numbers.get(&value.to_bits()) {
                Some(&code) => code,
                None => {
                    let code = self.code(&value.to_string());
                    self.numbers.insert(value.to_bits(), code);
                    code
                }
            };
            self.codes.push(code);
        }
        Ok(())
    }

    fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.seen.get(text) {
            return code;
        }
        let code = self.seen.len() as u32;
        self.seen.insert(text.to_string(), code);
        code
    }

    /// Checks the rows since the last check, which are those of one file.
    pub(crate) fn check(&mut self, source_name: &str) -> Result<(), Error> {
        let missing = self.seen.iter().find(|(text, _)| text.is_empty() || is_nan(text));
        if let Some((text, &code)) = missing {
            let row = self.codes[self.n_checked..].iter().position(|&c| c == code).unwrap_or(0);
            let problem = match text.is_empty() {
                true => "missing".to_string(),
                false => format!("'{text}', which is not a class"),
            };
            return Err(Error::Label { source_name: source_name.to_string(), row, problem });
        }
        self.n_checked = self.codes.len();
        Ok(())
    }

    /// Sorts the classes and renumbers the rows.
    pub(crate) fn finish(mut self, source_name: &str) -> Result<Truth, Error> {
        self.check(source_name)?;
        let Self { seen, codes, .. } = self;
        check_shape(source_name, codes.len(), 1)?;
        let (places, names) = sort_classes(&seen);
        Ok(Truth { codes: codes.into_iter().map(|c| places[c as usize]).collect(), names })
    }
}

fn is_nan(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_nan)
}

/// Returns the new code of every old code, and the sorted names. Texts of the same number, such as `1` and
/// `1.0`, become one class.
fn sort_classes(seen: &HashMap<String, u32>) -> (Vec<u32>, Vec<String>) {
    let mut texts = vec![""; seen.len()];
    for (text, &code) in seen {
        texts[code as usize] = text;
    }
    // Large integers are exact only as integers.
    if let Some(keys) = texts.iter().map(|t| t.parse::<i64>().ok()).collect::<Option<Vec<_>>>() {
        return places(&keys, |a, b| a.cmp(b));
    }
    let numbers = texts.iter().map(|t| t.parse::<f64>().ok().map(|v| v + 0.0));
    if let Some(keys) = numbers.collect::<Option<Vec<_>>>() {
        return places(&keys, f64::total_cmp);
    }
    places(&texts, |a, b| a.cmp(b))
}

fn places<K: Copy + ToString>(
    keys: &[K],
    order: impl Fn(&K, &K) -> std::cmp::Ordering,
) -> (Vec<u32>, Vec<String>) {
    let mut by_key: Vec<usize> = (0..keys.len()).collect();
    by_key.sort_by(|&a, &b| order(&keys[a], &keys[b]));
    let mut places = vec![0u32; keys.len()];
    let mut names: Vec<String> = Vec::new();
    for (at, &old) in by_key.iter().enumerate() {
        let is_new = at == 0 || order(&keys[by_key[at - 1]], &keys[old]).is_ne();
        if is_new {
            names.push(keys[old].to_string());
        }
        places[old] = names.len() as u32 - 1;
    }
    (places, names)
}

/// Reads one label per row.
///
/// The file extension determines the format: NPY (1-D), CSV or TSV (one column, or the column `label`),
/// Parquet (the same), JSON (an array, or an object with `labels`), NPZ (`labels`, `y`, `gt` and others). The
/// format of standard input is detected from its first bytes.
///
/// # Errors
/// When the file is missing, damaged or has no labels.
pub fn load_labels(source: &Source) -> Result<Truth, Error> {
    let is_json = match source {
        Source::Path(path) => inner_suffix(path) == "json",
        Source::Stdin => false,
    };
    if is_json {
        let (input, _) = Input::open_any(source)?;
        return from_json(input);
    }
    if *source == Source::Stdin {
        let (mut input, head) = Input::open_any(source)?;
        match (Magic::of(&head), head.trim_ascii_start().first()) {
            (Some(Magic::Known(format)), _) => input.format = format,
            (_, Some(b'[' | b'{')) => return from_json(input),
            _ => check_head(&input.name, &head, Format::Csv)?,
        }
        return from_table(input);
    }
    from_table(Input::open(source, None)?)
}

fn from_table(input: Input) -> Result<Truth, Error> {
    match input.format {
        Format::Csv | Format::Tsv => csv::load_labels(input),
        Format::Npy => npy::load_labels(input),
        Format::Npz => npz::load_labels(input),
        Format::Svmlight => svmlight::load_labels(input),
        #[cfg(feature = "parquet")]
        Format::Parquet => crate::parquet::load_labels(input),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(crate::no_parquet(input.name)),
        format @ (Format::Mat | Format::MatrixMarket) => Err(Error::Option {
            source_name: input.name,
            option: "reading labels",
            format,
            hint: "give labels as CSV, NPY, NPZ, Parquet or JSON",
        }),
    }
}

fn from_json(mut input: Input) -> Result<Truth, Error> {
    let mut text = Vec::new();
    input.reader.read_to_end(&mut text).map_err(|e| Error::reading(&input.name, e))?;
    if text.trim_ascii().is_empty() {
        return Err(Error::Empty { source_name: input.name });
    }
    let json: Value = serde_json::from_slice(&text)
        .map_err(|e| Error::damaged(&input.name, format!("the JSON cannot be parsed: {e}")))?;
    let list = match &json {
        Value::Array(list) => Some(list),
        Value::Object(fields) => fields.get("labels").and_then(Value::as_array),
        _ => None,
    };
    let list = list.ok_or_else(|| {
        Error::unsupported(
            &input.name,
            "expected a JSON array of labels, or an object with the array 'labels'",
        )
    })?;
    let mut truth = TruthBuilder::default();
    for (row, value) in list.iter().enumerate() {
        match value {
            Value::String(text) => truth.push(text),
            Value::Number(number) => truth.push(&number.to_string()),
            Value::Bool(value) => truth.push(if *value { "true" } else { "false" }),
            other => {
                let problem = format!(
                    "'{}', which is neither a number nor text",
                    shorten(&other.to_string(), 40)
                );
                return Err(Error::Label { source_name: input.name, row, problem });
            }
        }
    }
    truth.finish(&input.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Truth {
        let mut truth = TruthBuilder::default();
        texts.iter().for_each(|t| truth.push(t));
        truth.finish("t").unwrap()
    }

    #[test]
    fn numbers_are_sorted_as_numbers_and_words_as_words() {
        assert_eq!(
            of(&["10", "9", "10"]),
            Truth { codes: vec![1, 0, 1], names: vec!["9".into(), "10".into()] }
        );
        assert_eq!(of(&["2.0", "1", "2"]).codes, [1, 0, 1]);
        assert_eq!(of(&["b", "10", "a"]).codes, [2, 0, 1]);
        let truth = Truth::from_numbers("t", &[3.0, -1.0, 3.0, -0.0, 0.0]).unwrap();
        assert_eq!(truth.codes, [2, 0, 2, 1, 1]);
        assert_eq!(truth.names, ["-1", "0", "3"]);
        // Beyond the exact range of doubles.
        assert_eq!(of(&["9007199254740993", "9007199254740992"]).codes, [1, 0]);
    }

    #[test]
    fn a_missing_class_is_named_by_its_row() {
        let mut truth = TruthBuilder::default();
        ["a", "b", " "].iter().for_each(|t| truth.push(t));
        let text = truth.finish("t.csv").unwrap_err().to_string();
        assert_eq!(text, "t.csv: the label of row 2 is missing (rows count from 0)");
        assert!(Truth::from_numbers("t", &[1.0, f64::NAN]).is_err());
        assert!(Truth::from_numbers("t", &[1e300]).is_err());
        assert!(Truth::from_numbers("t", &[]).is_err());
        assert!(TruthBuilder::default().finish("t").is_err());
    }

    #[test]
    fn json_is_an_array_or_an_object() {
        let json = |text: &str| {
            from_json(Input::from_bytes("t.json", text.as_bytes().to_vec(), Format::Csv).unwrap())
        };
        assert_eq!(json("[1, 0, 1]").unwrap().codes, [1, 0, 1]);
        assert_eq!(json("{\"labels\": [\"x\", \"y\"]}").unwrap().names, ["x", "y"]);
        assert!(json("{\"label\": 1}").is_err());
        assert!(json("[1, [2]]").is_err());
        assert!(json("[1, 2").is_err());
    }
}
