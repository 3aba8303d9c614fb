//! How much memory there is, and what a table takes.

use std::fs;

use obcut::{Params, large};
use obcut_data::Measure;

use crate::failure::Fault;

/// Share of the free memory that is used unless told otherwise.
const SHARE: f64 = 0.7;
/// Bytes that are taken for granted when the system does not tell.
const UNKNOWN: u64 = 8 << 30;
/// Bytes per row beside its features: label, figures and what is made of them.
const PER_ROW: u64 = 72;
/// Bytes per row of a core beside its features: links, embedding, labels.
const PER_CORE_ROW: u64 = 900;
/// Bytes of everything else.
const BASE: u64 = 64 << 20;

/// Whether a table is loaded or read in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Loaded.
    Load,
    /// Read in pieces.
    Pieces,
}

/// The memory that may be used.
pub fn limit(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| (SHARE * free().unwrap_or(UNKNOWN) as f64) as u64)
}

/// Bytes that are free, also for a container.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|max| max.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some((kib << 10).min(group.unwrap_or(u64::MAX)))
}

/// Rows that are clustered at once: those of a core, or all.
fn rows_at_once(params: &Params, rows: u64, cols: usize) -> u64 {
    let is_large = large::is_large(params, rows as usize, cols);
    if is_large { large::core_rows(params, cols) as u64 } else { rows }
}

/// Bytes that a fit of so many rows takes.
fn fit_bytes(rows: u64, cols: usize, value_bytes: usize) -> u64 {
    // A core is copied out of the table; all rows are read at once.
    let copy = cols as u64 * value_bytes as u64;
    BASE.saturating_add(rows.saturating_mul(copy + PER_CORE_ROW))
}

/// The way for a fit: in pieces when the table does not fit otherwise. A table of unknown size is loaded.
pub fn way(size: &Measure, params: &Params, given: Option<u64>) -> Result<Way, Fault> {
    let limit = limit(given);
    let (Some(bytes), Some(rows), Some(cols)) = (size.bytes(), size.rows, size.cols) else {
        return Ok(Way::Load);
    };
    let at_once = rows_at_once(params, rows, cols);
    let beside = fit_bytes(at_once, cols, size.value_bytes);
    let table = if at_once < rows { bytes } else { 0 };
    let whole = table.saturating_add(rows.saturating_mul(PER_ROW)).saturating_add(beside);
    if whole <= limit {
        return Ok(Way::Load);
    }
    if !size.in_pieces {
        // Without a limit of the user's it may still go well.
        return if given.is_none() {
            Ok(Way::Load)
        } else {
            Err(Fault::Usage(format!(
                "the table takes about {} of memory, more than --memory {}, and its format cannot be read in pieces; convert it to NPY or Parquet",
                size_text(whole),
                size_text(limit)
            )))
        };
    }
    if beside > limit && given.is_some() {
        let fewer = (large::core_rows(params, cols) as u64).min(at_once / 2).max(1);
        return Err(Fault::Usage(format!(
            "clustering {at_once} rows at once takes about {} of memory, more than --memory {}; raise it, or cluster by fewer: --core-rows {fewer}",
            size_text(beside),
            size_text(limit)
        )));
    }
    Ok(Way::Pieces)
}

/// The way for labelling.
pub fn way_to_label(size: &Measure, given: Option<u64>) -> Way {
    let whole = size.bytes().zip(size.rows).map(|(bytes, rows)| {
        bytes.saturating_add(rows.saturating_mul(PER_ROW)).saturating_add(BASE)
    });
    let fits = whole.is_none_or(|whole| whole <= limit(given));
    if fits || !size.in_pieces { Way::Load } else { Way::Pieces }
}

/// `2.4 GiB`.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(rows: u64, in_pieces: bool) -> Measure {
        Measure {
            rows: Some(rows),
            is_estimate: false,
            cols: Some(32),
            stored: None,
            value_bytes: 4,
            in_pieces,
        }
    }

    #[test]
    fn a_table_is_loaded_while_it_fits() {
        let params = Params::new(10);
        let way = |rows, in_pieces| way(&measure(rows, in_pieces), &params, Some(512 << 20));
        assert!(matches!(way(100_000, true), Ok(Way::Load)));
        assert!(matches!(way(20_000_000, true), Ok(Way::Pieces)));
        let Err(Fault::Usage(text)) = way(20_000_000, false) else { panic!("it cannot be read") };
        assert!(text.contains("2.") && text.contains("512.0 MiB"), "{text}");
        let all = Params { core_rows: Some(0), ..Params::new(10) };
        let Err(Fault::Usage(text)) = super::way(&measure(20_000_000, true), &all, Some(1 << 29))
        else {
            panic!("it does not fit")
        };
        assert!(text.contains("20000000 rows"), "{text}");
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size_text(900), "900 bytes");
        assert_eq!(size_text(2_560_000_000), "2.4 GiB");
        assert!(limit(None) > 0);
    }
}
