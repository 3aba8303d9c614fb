//! The extension module `obcut._core`. It takes views of NumPy arrays and returns vectors; the interpreter's lock
//! is released during the work. Users see the Python package, which calls this module.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]
// All public functions are called from Python, where their documentation becomes the docstring.
#![allow(missing_docs)]

mod arrays;
mod data;
mod errors;
mod files;
mod fit;
mod large;
mod methods;
mod metrics;
mod model;
mod page;
mod settings;
mod table;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::data::{blobs, digits, mixture, moons, rings, subspaces};
    #[pymodule_export]
    use super::files::RowFile;
    #[pymodule_export]
    use super::fit::{cut, fit};
    #[pymodule_export]
    use super::large::{PartitionedFit, is_large, merge, run_task};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::methods::{cluster, method_settings, method_table};
    #[pymodule_export]
    use super::metrics::{ami, bipartite_cut, nmi, scores};
    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::page::report;
    #[pymodule_export]
    use super::settings::parameter_table;

    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Runs the command `obcut` with these arguments and returns the exit code. The first argument is its name.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| obcut_cli::run(arguments))
}
