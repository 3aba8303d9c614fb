#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! [`clustering()`] writes the report of a clustering. Its charts are the components of [`chart`], which can be
//! used in other pages too: each is a small struct of plain data that `html()` draws. A [`page::Page`] adds the
//! style and the script.
//!
//! All text is escaped by [`html::text`], so a column named `<script>` is harmless. A page contains no date and
//! does not depend on the number of threads: the same facts give the same bytes.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod chart;
pub mod clustering;
pub mod html;
pub mod number;
pub mod page;
pub mod palette;
pub mod report_data;

pub use clustering::{ClassScores, ClusteringFacts, Convergence, Data, FitFacts, clustering};
pub use html::Html;
pub use page::{Page, Section};
pub use report_data::{LabelledRows, ReportData};
