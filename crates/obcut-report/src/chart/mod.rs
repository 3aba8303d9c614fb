//! Pictures: each a struct of plain data that `html()` draws as a figure with inline SVG.
//!
//! | component | shows |
//! |---|---|
//! | [`Bars`] | a bar per category, or several side by side, upright or lying |
//! | [`Lines`] | curves over a common axis, with a switch between linear and logarithmic axes |
//! | [`Histogram`] | how often values fall into bins |
//! | [`Scatter`] | points in series, with hover and a legend that switches series on and off |
//! | [`Blocks`] | a sparse matrix whose rows and columns are sorted by group |
//! | [`Heat`] | a grid of values by colour and number |
//! | [`Table`] | rows that can be sorted by every column |
//!
//! Every figure has a title, a sentence on what it says, axes with units and a description for people who
//! do not see it. They are drawn without the script; the script adds hover, switches and sorting.

mod axis;
mod bars;
mod blocks;
mod frame;
mod heat;
mod histogram;
mod lines;
mod scatter;
mod table;

pub use axis::{Scale, Tick};
pub use bars::{BarSeries, Bars, Direction};
pub use blocks::Blocks;
pub use heat::Heat;
pub use histogram::Histogram;
pub use lines::{Line, Lines, LogSwitch};
pub use scatter::{Field, Points, Scatter};
pub use table::{Cell, Column, Table};

use crate::html::{Html, text};
use crate::palette;

/// What an axis measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// In words.
    pub label: String,
    /// The unit; empty for plain numbers.
    pub unit: String,
}

impl Axis {
    /// Names an axis; an empty unit means plain numbers.
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

/// Title of a figure, and a sentence on what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// The title.
    pub title: String,
    /// The sentence; may be empty.
    pub note: String,
}

impl Caption {
    /// A title and a sentence.
    pub fn new(title: impl Into<String>, note: impl Into<String>) -> Self {
        Self { title: title.into(), note: note.into() }
    }
}

/// A figure: caption, then what is drawn. `kind` is a word of the style sheet.
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

/// An SVG element with its description.
pub(crate) fn svg(width: f64, height: f64, description: &str, more: &str, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\"{more}>{body}</svg>",
        text(description)
    )
}

/// A length with one decimal at most, as short as it can be written.
pub(crate) fn short(length: f64) -> String {
    let tenths = (length * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".into() } else { tenths.to_string() }
}

/// The mark of a series by itself, for legends.
pub(crate) fn swatch(series: usize) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\">{}</svg>",
        marks(series, "M0 0")
    )
}

/// The path of the marks of a series at the points of `places`, a path of moves (`M1 2M3 4`).
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

/// A legend whose buttons switch series on and off.
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
