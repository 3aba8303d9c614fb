//! The command `obcut`: parse, run, print the error, exit code.

mod args;
mod commands;
mod failure;
mod input;
mod interrupt;
mod output;
mod progress;
mod report;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let json = cli.talk.json;
    match interrupt::install(json)
        .and_then(|()| failure::guard(|| run(&cli).map_err(failure::about_stdout)))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let failure = Failure::of(&error);
            interrupt::claim_exit();
            failure.print(json);
            ExitCode::from(failure.exit_code)
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let talk = &cli.talk;
    match &cli.command {
        Command::Cluster(args) => commands::cluster::run(args, talk),
        Command::Predict(args) => commands::predict::run(args, talk),
        Command::Cut(args) => commands::cut::run(args, talk),
        Command::Score(args) => commands::score::run(args, talk),
        Command::Info(args) => commands::info::run(args, talk),
        Command::Demo(args) => commands::demo::run(args, talk),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args, talk),
    }
}

/// Help and version are what was asked for; anything else is a wrong use, told as JSON when the
/// arguments hold `--json`, readable or not.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_json = |argument: &OsString| argument == "--json";
    let json = std::env::args_os().skip(1).take_while(|a| a != "--").any(|a| is_json(&a));
    if error.use_stderr() && json {
        let failure = Failure::of_arguments(error);
        failure.print(true);
        return ExitCode::from(failure.exit_code);
    }
    // A closed pipe is no failure here either.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}
