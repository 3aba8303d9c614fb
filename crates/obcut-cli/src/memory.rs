//! The memory that is available, and the memory that a run needs.

use std::fs;

use obcut::Params;
use obcut::front_ends::{self, TableSize};
use obcut_data::Measure;
use obcut_report::number::bytes;

use crate::failure::CliError;

/// Default limit, as a share of the free memory.
const SHARE: f64 = 0.7;
/// Bytes that are assumed to be free if the system does not report them.
const UNKNOWN: u64 = 8 << 30;
/// Bytes per row in addition to its features: label, scores and outputs.
const PER_ROW: u64 = 72;
/// Bytes that every run needs.
const BASE: u64 = 64 << 20;

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The whole table is loaded into memory.
    InMemory,
    /// The table is read in pieces, several times.
    InPieces,
}

/// The memory limit in bytes: 70 % of the free memory unless it is given.
pub fn limit(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| (SHARE * free().unwrap_or(UNKNOWN) as f64) as u64)
}

/// Bytes that are free, considering the limit of a container.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|max| max.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some((kib << 10).min(group.unwrap_or(u64::MAX)))
}

/// Decides how a table is read for a fit. A table of unknown size is loaded.
pub fn for_fit(size: &Measure, params: &Params, given: Option<u64>) -> Result<Reading, CliError> {
    let limit = limit(given);
    let (Some(rows), Some(cols)) = (size.rows, size.cols) else {
        return Ok(Reading::InMemory);
    };
    let table = TableSize {
        rows,
        // No more columns than entries hold any.
        cols: (cols as u64).min(size.stored.unwrap_or(u64::MAX)),
        stored: size.stored,
        value_bytes: size.value_bytes as u64,
    };
    let fit = table.fit_bytes(params);
    let whole = (table.bytes().saturating_add(fit)).saturating_add(rows.saturating_mul(PER_ROW));
    if whole <= limit {
        return Ok(Reading::InMemory);
    }
    let allowed = match given {
        Some(_) => format!("--memory {}", bytes(limit)),
        None => format!("70 % of the free memory, {}", bytes(limit)),
    };
    let raise = if given.is_some() { "raise it" } else { "allow more with --memory" };
    if !size.in_pieces {
        return Err(CliError::Usage(format!(
            "the table needs about {} of memory, more than {allowed}, and its format cannot be read in pieces; {raise}, or convert it to NPY or Parquet",
            bytes(whole),
        )));
    }
    let is_large = front_ends::is_large(params, rows as usize, cols);
    // Without a coreset the whole table is clustered at once.
    let in_pieces = if is_large { fit } else { fit.saturating_add(table.bytes()) };
    if in_pieces > limit {
        let core_rows = front_ends::core_rows(params, cols) as u64;
        let at_once = if is_large { core_rows } else { rows };
        let about = if size.is_estimate && !is_large { "about " } else { "" };
        let fewer = core_rows.min(at_once / 2);
        let smaller = if fewer > 100 {
            format!(", or use a smaller coreset: --core-rows {fewer}")
        } else {
            String::new()
        };
        return Err(CliError::Usage(format!(
            "clustering {about}{at_once} rows at once needs about {} of memory, more than {allowed}; {raise}{smaller}",
            bytes(in_pieces),
        )));
    }
    Ok(Reading::InPieces)
}

/// Decides how a table is read for prediction.
pub fn for_labels(size: &Measure, given: Option<u64>) -> Reading {
    match (size.bytes(), size.rows) {
        (Some(table), Some(rows)) if size.in_pieces => {
            let whole = table.saturating_add(rows.saturating_mul(PER_ROW)).saturating_add(BASE);
            if whole <= limit(given) { Reading::InMemory } else { Reading::InPieces }
        }
        _ => Reading::InMemory,
    }
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
        let read = |rows, in_pieces| for_fit(&measure(rows, in_pieces), &params, Some(512 << 20));
        assert!(matches!(read(100_000, true), Ok(Reading::InMemory)));
        assert!(matches!(read(20_000_000, true), Ok(Reading::InPieces)));
        let Err(CliError::Usage(text)) = read(20_000_000, false) else {
            panic!("it cannot be read")
        };
        assert!(text.contains("2.") && text.contains("512.0 MiB"), "{text}");
        let all = Params { core_rows: Some(0), ..Params::new(10) };
        let Err(CliError::Usage(text)) = for_fit(&measure(20_000_000, true), &all, Some(1 << 29))
        else {
            panic!("it does not fit")
        };
        assert!(text.contains("20000000 rows"), "{text}");
        // The same holds for the free memory, which no machine has enough of here.
        let Err(CliError::Usage(text)) = for_fit(&measure(1 << 45, false), &params, None) else {
            panic!("it does not fit")
        };
        assert!(text.contains("70 % of the free memory") && text.contains("--memory"), "{text}");
    }

    #[test]
    fn wide_tables_need_memory_for_padded_blocks() {
        let params = Params { threads: 1, ..Params::new(2) };
        let wide = Measure { rows: Some(3), cols: Some(1_000_000), ..measure(3, true) };
        let Err(CliError::Usage(text)) = for_fit(&wide, &params, Some(256 << 20)) else {
            panic!("it does not fit")
        };
        assert!(text.contains("1.2 GiB") && !text.contains("--core-rows"), "{text}");
        assert!(matches!(for_fit(&wide, &params, Some(2 << 30)), Ok(Reading::InMemory)));
        // Columns that are declared and empty need none.
        let sparse = Measure { cols: Some(1 << 33), stored: Some(3), ..wide };
        assert!(matches!(for_fit(&sparse, &params, Some(256 << 20)), Ok(Reading::InMemory)));
    }
}
