//! Charts. Each is a struct of plain data that `html()` draws as a figure with inline SVG.
//!
//! | component | shows |
//! |---|---|
//! | [`Bars`] | a bar per category, or several side by side, vertical or horizontal |
//! | [`Lines`] | curves over a common axis, with a switch between linear and logarithmic axes |
//! | [`Histogram`] | counts of values in bins |
//! | [`Scatter`] | points in series, with hover and a legend that switches series on and off |
//! | [`Blocks`] | a sparse matrix whose rows and columns are sorted by group |
//! | [`Heat`] | a grid of values as colours and numbers |
//! | [`TableChart`] | rows that can be sorted by every column |
//!
//! Every figure has a title, a note, axes with units and a description for screen readers. It does not need
//! the script, which adds hover, switches and sorting.

mod axis;
mod bars;
mod blocks;
mod frame;
mod heat;
mod histogram;
mod lines;
mod scatter;
mod table;

pub use axis::{AxisScale, Tick};
pub use bars::{BarSeries, Bars, Direction};
pub use blocks::Blocks;
pub use heat::Heat;
pub use histogram::Histogram;
pub use lines::{Line, Lines, LogSwitch};
pub use scatter::{Field, Scatter, ScatterPoints};
pub use table::{Cell, Column, TableChart};

use crate::html::{Html, text};
use crate::palette;

/// The name and the unit of an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// The name.
    pub label: String,
    /// The unit; empty if there is none.
    pub unit: String,
}

impl Axis {
    /// Creates an axis; an empty unit means that there is none.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into() }
    }

    /// `seconds per run (s)`.
    pub fn text(&self) -> String {
        if self.unit.is_empty() {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, self.unit)
        }
    }
}

/// The title of a figure, and a note on what it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// The title.
    pub title: String,
    /// The note; may be empty.
    pub note: String,
}

impl Caption {
    /// Creates a caption from a title and a note.
    pub fn new(title: impl Into<String>, note: impl Into<String>) -> Self {
        Self { title: title.into(), note: note.into() }
    }
}

/// Creates a figure from a caption and a drawing. `kind` is a class of the style sheet.
pub(crate) fn figure(kind: &str, caption: &Caption, body: &str) -> Html {
    let note = match caption.note.as_str() {
        "" => String::new(),
        note => format!("<p>{}</p>", text(note)),
    };
    Html::trusted(format!(
        "<figure class=\"chart {kind}\"><figcaption><h3>{}</h3>{note}</figcaption>{body}</figure>\n",
        text(&caption.title)
    ))
}

/// Creates an SVG element with a description.
pub(crate) fn svg(width: f64, height: f64, description: &str, more: &str, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\"{more}>{body}</svg>",
        text(description)
    )
}

/// Formats a length with at most one decimal.
pub(crate) fn short(length: f64) -> String {
    let tenths = (length * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".into() } else { tenths.to_string() }
}

/// Draws the mark of a series for a legend.
pub(crate) fn swatch(series: usize) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\">{}</svg>",
        marks(series, "M0 0")
    )
}

/// Draws the marks of a series at the points of `places`, a path of moves (`M1 2M3 4`).
pub(crate) fn marks(series: usize, places: &str) -> String {
    let (mark, color) = (palette::mark(series), palette::color(series));
    let (outline, line) = mark.outline();
    let d: String = places.split('M').skip(1).map(|place| format!("M{place}{outline}")).collect();
    let width = mark.width();
    match line {
        None => format!("<path class=\"f{color}\" d=\"{d}\"/>"),
        Some(round) => {
            let cap = if round { "round" } else { "square" };
            format!(
                "<path class=\"l{color}\" stroke-width=\"{width}\" stroke-linecap=\"{cap}\" d=\"{d}\"/>"
            )
        }
    }
}

/// Draws a legend whose buttons switch series on and off.
pub(crate) fn legend(names: &[String], slots: &[usize]) -> String {
    let items: String = names
        .iter()
        .zip(slots)
        .enumerate()
        .map(|(i, (name, &slot))| {
            format!(
                "<li><button type=\"button\" aria-pressed=\"true\" data-series=\"{i}\">{}{}</button></li>",
                swatch(slot),
                text(name)
            )
        })
        .collect();
    let all = if names.len() > 2 {
        "<p class=\"switches\"><button type=\"button\" data-all=\"true\">all on</button> <button type=\"button\" data-all=\"false\">all off</button></p>"
    } else {
        ""
    };
    format!("<div class=\"legend\">{all}<ul>{items}</ul></div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_and_legends_are_escaped() {
        let html = figure("bars", &Caption::new("<b>", "\"a\" & b"), "");
        assert!(html.as_str().contains("<h3>&lt;b&gt;</h3><p>&quot;a&quot; &amp; b</p>"));
        let html = legend(&["<i>".into()], &[0]);
        assert!(html.contains("&lt;i&gt;") && !html.contains("<i>"));
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!([short(1.25), short(-0.04), short(3.0)], ["1.3", "0", "3"]);
    }

    #[test]
    fn marks_of_all_shapes_are_drawn_at_their_places() {
        for series in [0, 8, 16, 24, 32, 40] {
            let html = marks(series, "M1 2M3 4");
            assert!(html.contains("M1 2") && html.contains("M3 4"), "{html}");
        }
    }
}
