//! Benchmark suites: methods × data sets × grid × seeds, resumable, with tables and ranks.
//!
//! | module    | does                                                              |
//! |-----------|-------------------------------------------------------------------|
//! | `suite`   | a suite as it is written in TOML; the ones that are shipped        |
//! | `data`    | data sets by name: shipped, generated, or files; the shuffle       |
//! | `plan`    | the runs of a suite, each with a key                               |
//! | `worker`  | one run, in a process of its own                                   |
//! | `runner`  | processes, budgets, resuming                                       |
//! | `record`  | one JSON line per run                                              |
//! | `summary` | means, deviations, choice among a grid, ranks                      |
//! | `table`   | Markdown, CSV and LaTeX                                            |
//! | `printed` | the figures that the paper prints                                  |
//! | `results` | the document that a suite makes                                    |
//! | `page`    | the same as an HTML page                                           |
//! | `command` | the program `obcut-bench`: arguments, progress, summary, exit code |
//!
//! Labels are read by the scorer alone, except where a grid is chosen with them, which the tables say.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod command;
pub mod data;
mod error;
mod machine;
pub mod page;
pub mod plan;
pub mod printed;
pub mod record;
pub mod results;
pub mod runner;
pub mod suite;
pub mod summary;
pub mod table;
pub mod worker;

pub use error::Error;
pub use record::{RunRecord, Status};
pub use runner::{Budget, RunWatch, RunnerOptions, run};
pub use suite::Suite;
pub use summary::SuiteSummary;

/// The Rust code of the repository's README. It is tested here because this crate is never packaged, so that
/// it may name a file outside of its folder.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The code of the guide for Rust.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
