//! The file of a report, and the command line that it shows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::CliError;
use anyhow::bail;
use obcut_data::Outputs;

/// Checks that a report can be written, before any work is done for it.
pub fn check(path: &Path, force: bool) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        bail!(CliError::Usage("--report '-': a report cannot be printed; name a file".into()));
    }
    let is_html = |suffix: &std::ffi::OsStr| {
        suffix.eq_ignore_ascii_case("html") || suffix.eq_ignore_ascii_case("htm")
    };
    if !path.extension().is_some_and(is_html) {
        bail!(CliError::Usage(format!(
            "--report {}: a report is an HTML file; name it .html",
            path.display()
        )));
    }
    Ok(obcut_data::check_writable(path, force)?)
}

/// Writes a report to its file, if there is one.
pub fn write(
    outputs: &mut Outputs,
    path: Option<&PathBuf>,
    page: Option<&str>,
    force: bool,
) -> anyhow::Result<()> {
    if let (Some(path), Some(page)) = (path, page) {
        outputs.write(path, force, |file| file.write_all(page.as_bytes()))?;
    }
    Ok(())
}

/// The command line that repeats a run whose outputs exist already.
pub fn command_line(arguments: &[OsString]) -> String {
    let words = arguments.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let force = if arguments.iter().any(|word| word == "--force") { None } else { Some("--force") };
    let words = std::iter::once("obcut".to_string()).chain(words).chain(force.map(String::from));
    words.collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed_again() {
        let words = ["/usr/bin/obcut", "cluster", "my table.csv", "-k", "3", "--truth", "it's", ""];
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let expected = r"obcut cluster 'my table.csv' -k 3 --truth 'it'\''s' '' --force";
        assert_eq!(command_line(&arguments), expected);
        let arguments: Vec<OsString> = ["obcut", "demo", "--force"].map(OsString::from).to_vec();
        assert_eq!(command_line(&arguments), "obcut demo --force");
    }
}
