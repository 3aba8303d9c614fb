#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! [`clustering()`] writes the page of a clustering. Its pictures are the components of [`chart`], which
//! serve other pages as well: each is a small struct of plain data, and `html()` draws it. A [`page::Page`]
//! holds them together with the style and the script.
//!
//! All text goes through [`html::text`], so that a column named `<script>` is only text. A page holds no date
//! and depends on no thread: the same facts give the same bytes.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod chart;
pub mod clustering;
pub mod html;
pub mod number;
pub mod page;
pub mod palette;
pub mod report_data;

pub use clustering::{Clustering, Convergence, Data, FitFacts, Scores, clustering};
pub use html::Html;
pub use page::{Page, Section};
pub use report_data::{Labelled, ReportData};
