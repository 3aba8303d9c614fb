//! `obcut completions`: prints the completion script of a shell.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;

/// Print the completion script of a shell.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// Name of the shell
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  obcut completions bash > ~/.local/share/bash-completion/completions/obcut
  obcut completions zsh > \"${fpath[1]}/_obcut\"
  obcut completions fish > ~/.config/fish/completions/obcut.fish";

/// Runs the command.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "obcut", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}
