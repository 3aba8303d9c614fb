//! The command `obcut`: parse, run, print the error, exit code. A library, so that the Python package
//! can bring the same command.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod args;
mod commands;
mod failure;
mod input;
mod interrupt;
mod memory;
mod output;
mod page;
mod progress;
mod report;
mod spill;

use std::ffi::OsString;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

/// Runs the command with its arguments, the first of which is its name. Returns the exit code.
pub fn run(arguments: Vec<OsString>) -> u8 {
    run_as(&[program()], arguments)
}

/// This program. Where the system has a name for it that outlives its file, a build or an upgrade while a
/// benchmark runs does not mix two programs in one table.
fn program() -> OsString {
    let own = std::path::Path::new("/proc/self/exe");
    if own.exists() {
        return own.into();
    }
    std::env::current_exe().map_or_else(|_| "obcut".into(), OsString::from)
}

/// The same, where the command is started by `program` and its first arguments.
pub fn run_as(program: &[OsString], arguments: Vec<OsString>) -> u8 {
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &arguments),
    };
    let json = cli.talk.json;
    match interrupt::install(json).and_then(|()| {
        failure::guard(|| start(&cli, program, &arguments).map_err(failure::about_stdout))
    }) {
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

fn start(cli: &Cli, program: &[OsString], arguments: &[OsString]) -> anyhow::Result<()> {
    let talk = &cli.talk;
    match &cli.command {
        Command::Cluster(args) => commands::cluster::run(args, talk, arguments),
        Command::Predict(args) => commands::predict::run(args, talk),
        Command::Cut(args) => commands::cut::run(args, talk),
        Command::Score(args) => commands::score::run(args, talk),
        Command::Info(args) => commands::info::run(args, talk),
        Command::Methods(args) => commands::methods::run(args, talk),
        Command::Bench(args) => commands::bench::run(args, talk, program),
        Command::BenchRun => commands::bench::run_one(),
        Command::Generate(args) => commands::generate::run(args, talk),
        Command::Demo(args) => commands::demo::run(args, talk, arguments),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args, talk),
    }
}

/// Help and version are what was asked for; anything else is a wrong use, told as JSON when the
/// arguments hold `--json`, readable or not.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> u8 {
    let json = arguments.iter().skip(1).take_while(|a| *a != "--").any(|a| a == "--json");
    if error.use_stderr() && json {
        let failure = Failure::of_arguments(error);
        failure.print(true);
        return failure.exit_code;
    }
    // A closed pipe is no failure here either.
    let _ = error.print();
    if error.use_stderr() { 2 } else { 0 }
}
