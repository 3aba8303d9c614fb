//! What a benchmark shows on a terminal: a grid of scores, and how far it is.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use obcut_cli::args::OutputArgs;
use obcut_cli::interrupt;
use obcut_report::number::{fixed, significant};

use crate::runner::Standing;
use crate::summary::{ScoreCell, ScoreKind};
use crate::{RunWatch, SuiteSummary};

/// Methods in lines, data sets in columns, for a terminal.
pub struct PrintedTable {
    corner: &'static str,
    columns: Vec<String>,
    lines: Vec<(String, Vec<String>)>,
}

impl PrintedTable {
    fn new(
        summary: &SuiteSummary,
        corner: &'static str,
        text: impl Fn(&ScoreCell) -> String,
    ) -> Self {
        let lines = summary.methods.iter().enumerate().map(|(m, method)| {
            let cells = summary.cells.iter();
            let cells = cells.map(|row| row[m].as_ref().map_or("".into(), &text)).collect();
            (method.label.clone(), cells)
        });
        Self {
            corner,
            columns: summary.data.iter().map(|data| data.name.clone()).collect(),
            lines: lines.collect(),
        }
    }

    /// Mean NMI.
    pub fn nmi(summary: &SuiteSummary) -> Self {
        Self::new(summary, "NMI %", |cell| match cell {
            ScoreCell::Scored(scored) => fixed(scored.score(ScoreKind::Nmi).0, 1),
            ScoreCell::NotAvailable(_) => "N/A".into(),
        })
    }

    /// Mean seconds.
    pub fn seconds(summary: &SuiteSummary) -> Self {
        Self::new(summary, "seconds", |cell| match cell {
            ScoreCell::Scored(scored) => significant(scored.seconds(), 3),
            ScoreCell::NotAvailable(_) => "N/A".into(),
        })
    }

    /// As many columns side by side as fit.
    pub fn lay_out(&self, width: usize) -> String {
        let length = |text: &String| text.chars().count();
        let first = self
            .lines
            .iter()
            .map(|(name, _)| length(name))
            .max()
            .unwrap_or(0)
            .max(self.corner.len());
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(c, name)| {
                let cells = self.lines.iter().map(|(_, cells)| length(&cells[c]));
                cells.max().unwrap_or(0).max(length(name)) + 2
            })
            .collect();
        let mut out = String::new();
        let mut start = 0;
        while start < self.columns.len() {
            let mut end = start + 1;
            while end < self.columns.len()
                && first + widths[start..=end].iter().sum::<usize>() <= width
            {
                end += 1;
            }
            out += &format!("{:<first$}", self.corner);
            for c in start..end {
                out += &format!("{:>w$}", self.columns[c], w = widths[c]);
            }
            out.push('\n');
            for (name, cells) in &self.lines {
                out += &format!("{name:<first$}");
                for c in start..end {
                    out += &format!("{:>w$}", cells[c], w = widths[c]);
                }
                out = out.trim_end().to_string() + "\n";
            }
            out.push('\n');
            start = end;
        }
        out
    }
}

/// Shows how far a suite is.
pub struct BenchWatch {
    bar: Option<ProgressBar>,
    verbose: bool,
}

impl BenchWatch {
    /// A bar on a terminal, lines when asked for.
    pub fn new(talk: &OutputArgs, total: usize) -> Self {
        let bar = (stderr().is_terminal() && !talk.quiet).then(|| {
            let template = "{elapsed_precise} [{bar:20}] {pos}/{len} {wide_msg}";
            let style =
                ProgressStyle::with_template(template).expect("the template is well formed");
            let bar = ProgressBar::new(total as u64).with_style(style.progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, verbose: talk.verbose > 0 }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl RunWatch for BenchWatch {
    fn standing(&self, standing: &Standing<'_>) {
        let Standing { finished, total, spec, outcome, seconds_left } = standing;
        let left = seconds_left.map_or(String::new(), |s| format!(", {} left", duration(s)));
        if let Some(bar) = &self.bar {
            bar.set_position(*finished as u64);
            bar.set_message(format!("{} on {}, seed {}{left}", spec.method, spec.data, spec.seed));
        }
        if let Some(outcome) = outcome.filter(|_| self.verbose) {
            let ended = match (outcome.scores, &outcome.reason) {
                (Some(scores), _) => format!("NMI {:.4} in {:.2} s", scores.nmi, outcome.seconds),
                (None, Some(reason)) => reason.clone(),
                (None, None) => "no score".into(),
            };
            let line = format!(
                "[{finished} of {total}{left}] {} on {}, seed {}: {ended}",
                spec.method, spec.data, spec.seed
            );
            // A line that nobody can read is no reason to stop.
            let print = || {
                let _ = writeln!(anstream::stderr(), "{line}");
            };
            match &self.bar {
                Some(bar) => bar.suspend(print),
                None => print(),
            }
        }
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_grid_is_broken_into_blocks() {
        let grid = PrintedTable {
            corner: "NMI %",
            columns: (0..6).map(|i| format!("data set {i}")).collect(),
            lines: vec![("a method".into(), vec!["99.9".into(); 6])],
        };
        let text = grid.lay_out(40);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert_eq!(text.matches("99.9").count(), 6);
        assert_eq!(grid.lay_out(200).lines().filter(|l| !l.is_empty()).count(), 2);
    }

    #[test]
    fn durations_are_short() {
        assert_eq!([5.0, 600.0, 9000.0].map(duration), ["5 s", "10 min", "2.5 h"]);
    }
}
