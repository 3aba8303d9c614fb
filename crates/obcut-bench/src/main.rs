//! The command `obcut-bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(obcut_bench::command::run(std::env::args_os().collect()))
}
