//! The memory that is available, and the memory that a run needs.

use std::fs;

use obcut::{Params, front_ends};
use obcut_data::Measure;
use obcut_report::number::bytes;

use crate::failure::CliError;

/// Default limit, as a share of the free memory.
const SHARE: f64 = 0.7;
/// Bytes that are assumed to be free if the system does not report them.
const UNKNOWN: u64 = 8 << 30;
/// Bytes per row in addition to its features: label, scores and outputs.
const PER_ROW: u64 = 72;
/// Bytes per row of the coreset in addition to its features: links, embedding, labels.
const PER_CORE_ROW: u64 = 900;
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

/// The memory limit in bytes.
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

/// Bytes of memory that a run needs.
struct Demand {
    /// Bytes with the table in memory.
    whole: u64,
    /// Bytes with the table read in pieces.
    in_pieces: u64,
}

impl Demand {
    /// The demand of a run, from the bytes of the table and those in addition to it.
    fn new(rows: u64, table: u64, beside: u64) -> Self {
        let whole = table.saturating_add(rows.saturating_mul(PER_ROW)).saturating_add(beside);
        Self { whole, in_pieces: beside }
    }

    /// Loads a table that fits in memory, or that cannot be read in pieces.
    fn reading(&self, size: &Measure, limit: u64) -> Reading {
        let fits = self.whole <= limit || !size.in_pieces;
        if fits { Reading::InMemory } else { Reading::InPieces }
    }
}

/// Decides how a table is read for a fit. A table of unknown size is loaded.
pub fn for_fit(size: &Measure, params: &Params, given: Option<u64>) -> Result<Reading, CliError> {
    let limit = limit(given);
    let (Some(table), Some(rows), Some(cols)) = (size.bytes(), size.rows, size.cols) else {
        return Ok(Reading::InMemory);
    };
    let is_large = front_ends::is_large(params, rows as usize, cols);
    let core_rows = front_ends::core_rows(params, cols) as u64;
    let at_once = if is_large { core_rows } else { rows };
    // A coreset is a copy of rows; without one, the table itself is clustered.
    let copied = cols as u64 * size.value_bytes as u64;
    let beside = BASE.saturating_add(at_once.saturating_mul(copied + PER_CORE_ROW));
    let demand = Demand::new(rows, if at_once < rows { table } else { 0 }, beside);
    let reading = demand.reading(size, limit);
    // The estimate is rough: only a limit that the user sets is an error.
    if given.is_none() {
        return Ok(reading);
    }
    if reading == Reading::InMemory && demand.whole > limit {
        return Err(CliError::Usage(format!(
            "the table needs about {} of memory, more than --memory {}, and its format cannot be read in pieces; convert it to NPY or Parquet",
            bytes(demand.whole),
            bytes(limit)
        )));
    }
    if reading == Reading::InPieces && demand.in_pieces > limit {
        let fewer = core_rows.min(at_once / 2).max(1);
        return Err(CliError::Usage(format!(
            "clustering {at_once} rows at once needs about {} of memory, more than --memory {}; raise it, or use a smaller coreset: --core-rows {fewer}",
            bytes(demand.in_pieces),
            bytes(limit)
        )));
    }
    Ok(reading)
}

/// Decides how a table is read for prediction.
pub fn for_labels(size: &Measure, given: Option<u64>) -> Reading {
    match (size.bytes(), size.rows) {
        (Some(table), Some(rows)) => Demand::new(rows, table, BASE).reading(size, limit(given)),
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
    }
}
