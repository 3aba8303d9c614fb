//! What the command, the Python package and the benchmarks are made of: the table of parameters, the passes
//! over a large table one by one, and the size of what they need. A program that clusters its own rows needs none of
//! it. The versions of these items follow the front ends, not the library.

#[doc(no_inline)]
pub use obcut_core::choice::{Choice, Kind};

pub use crate::large::{
    InMemory, Next, OutOfCoreFit, Partial, Piece, ReadyTask, TableSize, Task, check_memory,
    core_rows, is_large, predict_rows,
};
pub use crate::params::spell::{Vocabulary, spell};
pub use crate::params::table::{Group, Parameter, Stored, Word};
pub use crate::params::{PARAMETERS, parameter};
pub use crate::synthetic::mixture::Mixture;
