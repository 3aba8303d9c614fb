//! `obcut man`: prints or writes the manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::Man;
use obcut_data::Outputs;

use crate::args::{Cli, OUTPUT, OutputArgs};
use crate::failure::CliError;
use crate::output::plural;

/// Print the manual page, or write all of them to a folder.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Folder for obcut.1, obcut-cluster.1 and so on; by default obcut.1 is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Overwrite existing pages
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  obcut man | man -l -
  obcut man ~/.local/share/man/man1";

/// Runs the command.
pub fn run(args: &ManArgs, output: &OutputArgs) -> anyhow::Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return Ok(std::io::stdout().lock().write_all(&page)?);
    };
    if !folder.is_dir() {
        let text = format!("{} is not a folder; create it first", folder.display());
        return Err(CliError::Usage(text).into());
    }
    let pages = std::iter::once(command.clone())
        .chain(command.get_subcommands().filter(|c| c.get_name() != "help").cloned());
    let pages: Vec<Man> = pages.map(Man::new).collect();
    let paths: Vec<PathBuf> = pages.iter().map(|p| folder.join(p.get_filename())).collect();
    let mut outputs = Outputs::default();
    for (page, path) in pages.iter().zip(&paths) {
        let mut text = Vec::new();
        page.render(&mut text)?;
        outputs.write(path, args.force, |file| file.write_all(&text))?;
    }
    outputs.publish()?;
    if !output.quiet && !output.json {
        anstream::eprintln!("{} written to {}", plural(pages.len(), "page"), folder.display());
    }
    Ok(())
}
