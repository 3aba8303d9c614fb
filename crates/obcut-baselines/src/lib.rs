#![doc = include_str!("../README.md")]
//!
//! Each method is one file; what several need is in [`pieces`] or in the library `obcut`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod clusterer;
mod configure;
mod job;
mod means;
mod method;
pub mod pieces;
#[cfg(test)]
mod testing;

mod dcdp_asc;
mod escg;
mod euler_sc;
mod fast_esc;
mod lsc;
mod rksc;
mod ssc;
mod ssc_omp;
mod u_spec;

pub use clusterer::{Clusterer, Clustering, Run};
pub use configure::{Configure, Setting};
pub use dcdp_asc::DcdpAsc;
pub use escg::Escg;
pub use euler_sc::EulerSc;
pub use fast_esc::FastEsc;
pub use lsc::Lsc;
pub use means::KMeans;
pub use method::{Configurable, Method};
pub use rksc::Rksc;
pub use ssc::Ssc;
pub use ssc_omp::SscOmp;
pub use u_spec::USpec;
