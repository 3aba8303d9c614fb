//! The `obcut` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(obcut_cli::run(std::env::args_os().collect()))
}
