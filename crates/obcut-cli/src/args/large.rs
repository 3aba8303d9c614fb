//! Options for tables that do not fit into memory.

use std::path::PathBuf;

use clap::Args;

use super::values;

/// Heading of the options in this module.
const LARGE: &str = "Large tables";

/// Options for reading a large table.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = LARGE)]
pub struct MemoryArgs {
    /// Memory limit, such as 12GB or 512MiB [default: 70 % of the free memory]
    ///
    /// A table that needs more is read in pieces (NPY, Parquet, CSV). Other methods fail if they need
    /// more than this in addition to the table [default for them: 12GiB].
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    pub memory: Option<u64>,
    /// Folder for scratch files, with space for the table [default: the temporary folder]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// Options for checkpoints of a long run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = LARGE)]
pub struct CheckpointArgs {
    /// Save a checkpoint to this folder every two minutes and on interruption
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Resume from the folder of --checkpoint; the labels are the same as without the interruption
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "S", default_value_t = 120.0, hide = true)]
    pub checkpoint_seconds: f64,
}
