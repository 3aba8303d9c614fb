#![doc = include_str!("../README.md")]
//!
//! Other programs of this workspace use the modules for messages, exit codes and signals. These modules are
//! public but hidden from the documentation, and may change in any version.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

#[doc(hidden)]
pub mod args;
mod checkpoint;
mod commands;
#[doc(hidden)]
pub mod failure;
mod input;
#[doc(hidden)]
pub mod interrupt;
mod labels;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod page;
mod progress;
mod report;

use std::ffi::OsString;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

/// Runs the command and returns the exit code. The first argument is the name of the program.
pub fn run(arguments: Vec<OsString>) -> u8 {
    match parse::<Cli>(&arguments) {
        Ok(cli) => perform(cli.output.json, || start(&cli, &arguments)),
        Err(exit_code) => exit_code,
    }
}

/// Parses the arguments of a program. If they ask for help or are invalid, prints the help or the error and
/// returns the exit code.
#[doc(hidden)]
pub fn parse<C: Parser>(arguments: &[OsString]) -> Result<C, u8> {
    C::try_parse_from(arguments).map_err(|error| refuse(&error, arguments))
}

/// Runs the work of a program and returns its exit code. Handles signals, prints errors, and turns a panic
/// into an error of one line.
#[doc(hidden)]
pub fn perform(json: bool, work: impl FnOnce() -> anyhow::Result<()>) -> u8 {
    match interrupt::install(json)
        .and_then(|()| failure::guard(|| work().map_err(failure::about_stdout)))
    {
        Ok(()) => 0,
        Err(error) if failure::is_broken_pipe(&error) => 0,
        Err(error) => {
            let failure = Failure::of(&error);
            interrupt::claim_exit();
            failure.print(json);
            failure.exit_code
        }
    }
}

fn start(cli: &Cli, arguments: &[OsString]) -> anyhow::Result<()> {
    let output = &cli.output;
    match &cli.command {
        Command::Cluster(args) => commands::cluster::run(args, output, arguments),
        Command::Predict(args) => commands::predict::run(args, output),
        Command::Cut(args) => commands::cut::run(args, output),
        Command::Score(args) => commands::score::run(args, output),
        Command::Info(args) => commands::info::run(args, output),
        Command::Methods(args) => commands::methods::run(args, output),
        Command::Generate(args) => commands::generate::run(args, output),
        Command::Demo(args) => commands::demo::run(args, output, arguments),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args, output),
    }
}

/// Prints help, version or an error of clap, and returns the exit code. With `--json` among the arguments an
/// error is printed as JSON, even if the other arguments are invalid.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> u8 {
    let json = arguments.iter().skip(1).take_while(|a| *a != "--").any(|a| a == "--json");
    if error.use_stderr() && json {
        let failure = Failure::of_arguments(error);
        failure.print(true);
        return failure.exit_code;
    }
    // A closed pipe is not an error.
    let _ = error.print();
    if error.use_stderr() { 2 } else { 0 }
}
