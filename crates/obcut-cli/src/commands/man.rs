//! `obcut man`: the manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::Fault;

/// Print the manual page, or write all of them to a folder.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Folder for obcut.1, obcut-cluster.1 and so on; without it obcut.1 is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  obcut man | man -l -
  obcut man ~/.local/share/man/man1";

/// Runs the command.
pub fn run(args: &ManArgs) -> anyhow::Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return Ok(std::io::stdout().lock().write_all(&page)?);
    };
    if !folder.is_dir() {
        let text = format!("{} is no folder; make it first", folder.display());
        return Err(Fault::Usage(text).into());
    }
    let pages = std::iter::once(command.clone())
        .chain(command.get_subcommands().filter(|c| c.get_name() != "help").cloned());
    for page in pages {
        let page = Man::new(page);
        let mut text = Vec::new();
        page.render(&mut text)?;
        // Made by a package or an install script, again and again: always replaced.
        let path = folder.join(page.get_filename());
        obcut_data::write_atomic(&path, true, |file| file.write_all(&text))?;
    }
    Ok(())
}
