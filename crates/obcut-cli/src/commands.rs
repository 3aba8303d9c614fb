//! The commands, one file each: arguments, the job that they define, and its run.

pub mod cluster;
pub mod completions;
pub mod cut;
pub mod demo;
pub mod generate;
pub mod info;
pub mod man;
pub mod methods;
pub mod other;
pub mod predict;
pub mod score;
