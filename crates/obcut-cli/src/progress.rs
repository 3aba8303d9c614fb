//! Progress on standard error: a bar on a terminal, lines with `--verbose`.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use obcut::{Observer, Progress, Stage};
use obcut_data::visible;

use crate::args::OutputArgs;
use crate::interrupt;
use crate::output::number;

/// Template for a step of unknown length.
const SPINNER: &str = "{spinner} {elapsed_precise} {wide_msg}";
/// Template for a step with a maximum number of iterations.
const BAR: &str = "{spinner} {elapsed_precise} [{bar:20}] {wide_msg}";

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    style.progress_chars("=> ")
}

/// Shows the progress of a run.
pub struct Watch {
    bar: Option<ProgressBar>,
    verbose: u8,
    start: Instant,
    /// The last stage and restart that were shown.
    shown: Mutex<Option<(Stage, usize)>>,
}

impl Watch {
    /// Shows a bar when standard error is a terminal, and logs as often as asked.
    pub fn new(output: &OutputArgs) -> Self {
        let bar = (stderr().is_terminal() && !output.quiet).then(|| {
            let bar = ProgressBar::new_spinner().with_style(style(SPINNER));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, verbose: output.verbose, start: Instant::now(), shown: Mutex::new(None) }
    }

    /// Shows a phase outside of a fit.
    pub fn phase(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_style(style(SPINNER));
            bar.set_message(visible(text).into_owned());
        }
        if self.verbose > 0 {
            self.log(&visible(text));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn log(&self, text: &str) {
        let line = format!("[{:8.3} s] {text}", self.start.elapsed().as_secs_f64());
        match &self.bar {
            Some(bar) => bar.suspend(|| anstream::eprintln!("{line}")),
            None => anstream::eprintln!("{line}"),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Watch {
    fn progress(&self, progress: &Progress) {
        if self.bar.is_none() && self.verbose == 0 {
            return;
        }
        let text = describe(progress);
        let place = Some((progress.stage, progress.restart.0));
        let mut shown = self.shown.lock().unwrap_or_else(|poison| poison.into_inner());
        let is_new = *shown != place;
        *shown = place;
        if let Some(bar) = &self.bar {
            let has_end = progress.max_iterations > 0;
            if is_new {
                bar.set_style(style(if has_end { BAR } else { SPINNER }));
                bar.set_length(progress.max_iterations as u64);
            }
            bar.set_position(progress.iteration as u64);
            bar.set_message(text.clone());
        }
        if self.verbose > 1 || (self.verbose > 0 && is_new) {
            self.log(&text);
        }
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}

/// Describes the progress of a fit in one line.
fn describe(progress: &Progress) -> String {
    let Progress { stage, iteration, max_iterations, objective, restart } = progress;
    let mut text = stage.name().to_string();
    if *max_iterations > 0 {
        text += &format!(", iteration {iteration} of {max_iterations}");
    }
    if let Some(value) = objective {
        text += &format!(", objective {}", number(*value));
    }
    if restart.1 > 1 {
        text += &format!(" (run {} of {})", restart.0 + 1, restart.1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let mut progress = Progress {
            stage: Stage::Loop,
            iteration: 3,
            max_iterations: 30,
            objective: Some(12.5),
            restart: (1, 5),
        };
        let text = describe(&progress);
        assert_eq!(text, "loop, iteration 3 of 30, objective 12.5 (run 2 of 5)");
        progress.max_iterations = 0;
        progress.objective = None;
        progress.restart = (0, 1);
        assert_eq!(describe(&progress), "loop");
    }
}
