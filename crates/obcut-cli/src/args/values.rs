//! Parsers of single values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use obcut::Named;

use obcut_baselines::Method;
use obcut_data::Format;

/// A parser of methods, with clap's suggestions on a typo.
pub fn method() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.iter().map(|m| PossibleValue::new(m.name()).help(m.summary()));
    PossibleValuesParser::new(values)
        .map(|text| text.parse().expect("clap lets only possible values through"))
}

/// A parser of table formats.
pub fn format() -> impl TypedValueParser<Value = Format> {
    use Format::*;
    let all = [Csv, Tsv, Npy, Npz, Parquet, Mat, Svmlight, MatrixMarket];
    PossibleValuesParser::new(all.map(Format::name))
        .map(|text| text.parse().expect("clap lets only possible values through"))
}

/// The number of clusters, or a range to choose it from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterCount {
    /// A fixed number.
    Given(usize),
    /// The best number in a range. Without an upper bound, the bound depends on the number of rows.
    Choose(usize, Option<usize>),
}

/// Parses a number of clusters, 'auto', or a range like 5-30.
pub fn clusters(text: &str) -> Result<ClusterCount, String> {
    if text == "auto" {
        return Ok(ClusterCount::Choose(1, None));
    }
    let wrong = || "expected an integer, 'auto', or a range like 5-30".to_string();
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    match text.split_once('-') {
        Some((low, high)) => match (number(low)?, number(high)?) {
            (low, high) if low < 1 || high < low => Err(format!(
                "expected a range from 1 or more to a larger number, found {low} to {high}"
            )),
            (low, high) => Ok(ClusterCount::Choose(low, Some(high))),
        },
        None => Ok(ClusterCount::Given(number(text)?)),
    }
}

/// Parses a number of bytes: 800MB, 12GB, 12GiB, or without a unit.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" | "g" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err("expected a size like 800MB, 12GB or 12GiB".into()),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number >= 0.0 && number * unit < u64::MAX as f64 => {
            Ok((number * unit) as u64)
        }
        _ => Err("expected a size like 800MB, 12GB or 12GiB".into()),
    }
}

/// Parses a number of seconds above 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("expected a number of seconds above 0".into()),
    }
}

/// Parses the delimiter of a CSV file.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            &[byte] if byte.is_ascii() && byte != b'\n' && byte != b'"' => Ok(byte),
            _ => Err("expected one ASCII character, 'tab' or 'space'".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("12GiB"), Ok(12 << 30));
        assert_eq!(bytes("1.5mb"), Ok(1_500_000));
        assert_eq!(bytes("700"), Ok(700));
        assert!(bytes("many").is_err() && bytes("-3GB").is_err() && bytes("3 apples").is_err());
    }

    #[test]
    fn a_delimiter_is_one_byte_or_a_word() {
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert!(delimiter("").is_err());
        assert!(delimiter("ab").is_err());
        assert!(delimiter("é").is_err());
    }
}
