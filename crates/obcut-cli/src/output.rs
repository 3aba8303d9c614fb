//! Printing of JSON documents, labels and summaries.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use obcut_data::{RowLabels, visible};
pub use obcut_report::number::{count, plain as number, plural};
use serde::Serialize;

/// Colour of the word `error`.
pub const RED: Style = AnsiColor::Red.on_default().bold();
/// Colour of the word `warning`.
pub const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Style of titles.
const BOLD: Style = Style::new().bold();
/// Style of the names of lines.
const DIM: Style = Style::new().dimmed();

/// Width of text that is not printed to a terminal, in columns.
const PLAIN_WIDTH: usize = 80;
/// Minimum width.
const MIN_WIDTH: usize = 40;
/// Maximum width, for readable lines.
const MAX_WIDTH: usize = 100;
/// Width of the names in a summary.
const NAME_WIDTH: usize = 11;
/// Maximum number of classes and clusters for which all sizes and a contingency table are shown.
pub const TABLE_LIMIT: usize = 20;

/// Prints one JSON document to standard output.
pub fn print_json(document: &impl Serialize) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The JSON document of a run: the command, its version, and the facts.
#[derive(Serialize)]
struct Document<'a, T> {
    command: &'static str,
    version: &'static str,
    #[serde(flatten)]
    facts: &'a T,
}

/// Prints the facts of a run as a JSON document to standard output.
pub fn print_run(command: &'static str, facts: &impl Serialize) -> io::Result<()> {
    print_json(&Document { command, version: env!("CARGO_PKG_VERSION"), facts })
}

/// Prints one line per row to standard output: the label, then the scores if there are any.
pub fn print_labels(rows: &RowLabels) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    rows.write_lines(&mut out, None)?;
    out.flush()
}

/// A summary of a run: a title, named lines and warnings.
#[derive(Debug, Default)]
pub struct Summary {
    title: String,
    lines: Vec<(&'static str, String)>,
    warnings: Vec<String>,
}

impl Summary {
    /// Creates a summary with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a line. An empty name continues the line before.
    pub fn line(&mut self, name: &'static str, text: impl Into<String>) {
        self.lines.push((name, text.into()));
    }

    /// Adds a line for every file that was written.
    pub fn paths(&mut self, paths: &[(&'static str, Option<&PathBuf>)]) {
        for (name, path) in paths {
            if let Some(path) = path {
                self.line(name, path.display().to_string());
            }
        }
    }

    /// Adds warnings below the lines.
    pub fn warnings(&mut self, warnings: &[String]) {
        self.warnings.extend_from_slice(warnings);
    }

    /// Prints the summary to standard error.
    pub fn print_to_stderr(&self) {
        let mut out = anstream::stderr().lock();
        // If standard error is closed, there is nowhere to report it.
        let _ = out.write_all(self.render(width(&io::stderr())).as_bytes());
    }

    /// Prints the summary to standard output.
    pub fn print_to_stdout(&self) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(self.render(width(&io::stdout())).as_bytes())?;
        out.flush()
    }

    /// Formats the summary with styles, breaking lines at `width` columns where words allow.
    fn render(&self, width: usize) -> String {
        let mut out = format!("{BOLD}{}{BOLD:#}\n", wrap(&visible(&self.title), width, 2));
        for (name, text) in &self.lines {
            let text = wrap(&visible(text), width - NAME_WIDTH - 2, 0);
            for (i, line) in text.lines().enumerate() {
                let name = if i == 0 { name } else { "" };
                out += &format!("  {DIM}{name:<NAME_WIDTH$}{DIM:#}{line}\n");
            }
        }
        for warning in &self.warnings {
            let text = wrap(&format!("warning: {}", visible(warning)), width, 2);
            out += &format!("{YELLOW}warning:{YELLOW:#}{}\n", &text["warning:".len()..]);
        }
        out
    }
}

/// Breaks a text at spaces. Lines after the first start with `indent` spaces.
fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out += "\n";
            out += &" ".repeat(indent);
            column = indent;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

/// Width in columns: that of the terminal, else the variable COLUMNS, else 80.
fn width(stream: &impl IsTerminal) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let variable = || std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let found = if stream.is_terminal() { terminal() } else { variable() };
    found.unwrap_or(PLAIN_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH)
}

/// Width of standard output in columns.
pub fn stdout_width() -> usize {
    width(&io::stdout())
}

/// Formats a contingency table: a line per cluster, a column per class.
pub fn contingency(counts: &[Vec<u64>], clusters: &[String], classes: &[String]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let shown = |name: &String| visible(name).into_owned();
    let header = std::iter::once("cluster".to_string()).chain(classes.iter().map(shown));
    table.set_header(header);
    for (name, row) in clusters.iter().zip(counts) {
        let cells = row.iter().map(|&n| if n == 0 { ".".into() } else { n.to_string() });
        table.add_row(std::iter::once(shown(name)).chain(cells));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((1, 0));
    }
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_keeps_within_the_width() {
        let mut summary = Summary::new("a title that is longer than forty columns by a few words");
        summary.line("sizes", (100..130).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
        summary.warnings(&["something that takes more than one line to say at this width".into()]);
        let text = anstream::adapter::strip_str(&summary.render(40)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.lines().count() > 6, "{text}");
    }
}
