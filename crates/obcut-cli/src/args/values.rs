//! Parsers of single values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use obcut_baselines::Method;
use obcut_data::Format;

/// One of the methods, with clap's suggestions on a typo.
pub fn method() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.iter().map(|m| PossibleValue::new(m.name()).help(m.summary()));
    PossibleValuesParser::new(values)
        .map(|text| text.parse().expect("clap lets only possible values through"))
}

/// A format of tables.
pub fn format() -> impl TypedValueParser<Value = Format> {
    use Format::*;
    let all = [Csv, Tsv, Npy, Npz, Parquet, Mat, Svmlight, MatrixMarket];
    PossibleValuesParser::new(all.map(Format::name))
        .map(|text| text.parse().expect("clap lets only possible values through"))
}

/// How many clusters: a number, or a range to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clusters {
    /// This many.
    Given(usize),
    /// The best of a range; without an upper end it follows from the rows.
    Choose(usize, Option<usize>),
}

/// A number of clusters, 'auto', or a range like 5-30.
pub fn clusters(text: &str) -> Result<Clusters, String> {
    if text == "auto" {
        return Ok(Clusters::Choose(1, None));
    }
    let wrong = || "neither a whole number, nor 'auto', nor a range like 5-30".to_string();
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    match text.split_once('-') {
        Some((low, high)) => match (number(low)?, number(high)?) {
            (low, high) if low < 1 || high < low => Err(format!(
                "a range goes from 1 or more to something larger, not from {low} to {high}"
            )),
            (low, high) => Ok(Clusters::Choose(low, Some(high))),
        },
        None => Ok(Clusters::Given(number(text)?)),
    }
}

/// A number of bytes: 800MB, 12GB, 12GiB, or the plain number.
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
        _ => return Err("a size like 800MB, 12GB or 12GiB is needed".into()),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number >= 0.0 && number * unit < u64::MAX as f64 => {
            Ok((number * unit) as u64)
        }
        _ => Err("a size like 800MB, 12GB or 12GiB is needed".into()),
    }
}

/// Seconds above 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("a number of seconds above 0 is needed".into()),
    }
}

/// One byte that separates cells.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            &[byte] if byte.is_ascii() && byte != b'\n' && byte != b'"' => Ok(byte),
            _ => Err("one ASCII character, 'tab' or 'space' is needed".into()),
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
