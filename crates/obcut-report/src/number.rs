//! Formatting of numbers.

use serde::{Deserialize, Deserializer};

/// Formats a number with at most `digits` significant digits and commas between thousands.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "–".into() } else { value.to_string() };
    }
    let size = value.abs();
    // With more than six digits, large integers are written in full.
    let largest = if digits > 6 { 1e15 } else { 1e9 };
    if size != 0.0 && !(1e-4..largest).contains(&size) {
        let text = format!("{value:.*e}", digits.saturating_sub(1));
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = trimmed(mantissa);
        return format!("{mantissa} × 10{}", raised(exponent.parse().unwrap_or(0)));
    }
    let whole_digits = if size < 1.0 {
        // Zeros after the decimal point are not significant.
        if size == 0.0 { 1 } else { 1 + size.log10().floor() as i64 }
    } else {
        size.log10().floor() as i64 + 1
    };
    let decimals = (digits as i64 - whole_digits).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = trimmed(&text);
    let (sign, text) = match text.strip_prefix('-') {
        Some("0") => ("", "0"),
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    match text.split_once('.') {
        Some((whole, part)) => format!("{sign}{}.{part}", commas(whole)),
        None => format!("{sign}{}", commas(text)),
    }
}

/// Formats a number for plain text: at most six significant digits, no commas, an exponent if it is very large or
/// very small.
pub fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.4e}");
    }
    let whole_digits = if size < 1.0 { 1 } else { size.log10() as usize + 1 };
    let text = format!("{value:.*}", 6usize.saturating_sub(whole_digits));
    trimmed(&text).to_string()
}

/// Formats a number of bytes in a suitable unit, such as `2.4 GiB`.
pub fn bytes(value: u64) -> String {
    let (mut size, mut units) = (value as f64, ["KiB", "MiB", "GiB", "TiB"].iter());
    let mut unit = None;
    while size >= 1024.0
        && let Some(next) = units.next()
    {
        size /= 1024.0;
        unit = Some(next);
    }
    unit.map_or_else(|| format!("{value} bytes"), |unit| format!("{size:.1} {unit}"))
}

/// Formats a number with four significant digits, for tables and sentences.
pub fn number(value: f64) -> String {
    significant(value, 4)
}

/// Formats a number with a fixed number of decimals. A number that rounds to 0 has no sign.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.into(),
        _ => text,
    }
}

/// Formats a number for a tick: short, with k, M and G for thousands.
pub fn tick(value: f64) -> String {
    let size = value.abs();
    let (unit, letter) = match size {
        s if s >= 1e12 => return significant(value, 3),
        s if s >= 1e9 => (1e9, "G"),
        s if s >= 1e6 => (1e6, "M"),
        s if s >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    significant(value / unit, 6) + letter
}

/// Formats a count with commas between thousands.
pub fn count(value: usize) -> String {
    commas(&value.to_string())
}

/// Formats a count and its noun: `1 row`, `2 rows`.
pub fn plural(value: usize, word: &str) -> String {
    format!("{} {word}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Formats a fraction in per cent with one decimal.
pub fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.0005 { "< 0.1 %".into() } else { format!("{:.1} %", 100.0 * part) }
}

/// Formats seconds with a suitable unit.
pub fn seconds(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{} s", significant(v, 4)),
        v if v >= 1.0 => format!("{} s", significant(v, 3)),
        v if v >= 0.001 => format!("{} ms", significant(1e3 * v, 3)),
        0.0 => "0 s".into(),
        _ => "below 1 ms".into(),
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn commas(digits: &str) -> String {
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats an exponent in superscript digits.
pub(crate) fn raised(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    exponent.to_string().chars().map(raise).collect()
}

/// Reads numbers from JSON, which writes infinity as null. Null becomes NaN.
///
/// # Errors
/// When an item of the list is neither a number nor null.
pub fn or_nan<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(source)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-0.0), "0");
        assert_eq!(number(1234.56), "1,235");
        assert_eq!(number(-0.012345), "−0.01235");
        assert_eq!(number(1.5e12), "1.5 × 10¹²");
        assert_eq!(number(2e-7), "2 × 10⁻⁷");
        assert_eq!(number(f64::NAN), "–");
        assert_eq!((fixed(-0.004, 2), fixed(-0.006, 2)), ("0.00".into(), "-0.01".into()));
    }

    #[test]
    fn numbers_in_plain_text_keep_six_digits() {
        assert_eq!(plain(0.0), "0");
        assert_eq!(plain(12.5), "12.5");
        assert_eq!(plain(-0.123_456_78), "-0.12346");
        assert_eq!(plain(123_456.78), "123457");
        assert_eq!(plain(1.0e9), "1.0000e9");
        assert_eq!(plain(100.0), "100");
        assert_eq!((bytes(900), bytes(2_560_000_000)), ("900 bytes".into(), "2.4 GiB".into()));
    }

    #[test]
    fn ticks_counts_and_shares() {
        assert_eq!(
            (tick(200_000.0), tick(2.5e6), tick(0.2)),
            ("200k".into(), "2.5M".into(), "0.2".into())
        );
        assert_eq!((count(1_234_567), plural(1, "row")), ("1,234,567".into(), "1 row".into()));
        assert_eq!((percent(0.1234), percent(1e-5)), ("12.3 %".into(), "< 0.1 %".into()));
        assert_eq!((seconds(0.0123), seconds(12.345)), ("12.3 ms".into(), "12.3 s".into()));
    }
}
