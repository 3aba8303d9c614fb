//! Options for tables that do not fit into memory.

use std::path::PathBuf;

use clap::Args;

use super::values;

/// Heading of these options.
const LARGE: &str = "Large tables";

/// How a large table is read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = LARGE)]
pub struct MemoryArgs {
    /// Memory to use, like 12GB or 512MiB [default: most of what is free]
    ///
    /// A table that needs more is read in pieces (NPY, Parquet, CSV). Other methods refuse what takes
    /// more beside the table [default for them: 12GiB].
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    pub memory: Option<u64>,
    /// Folder of scratch files, on a disk with room for the table [default: the temporary folder]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// How a long run is kept safe.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = LARGE)]
pub struct CheckpointArgs {
    /// Save the state of the run in this folder every few minutes, and when it is interrupted
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the state in the folder of --checkpoint, to the same labels
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// Seconds between two states
    #[arg(long, value_name = "S", default_value_t = 120.0, hide = true)]
    pub checkpoint_seconds: f64,
}
