//! Heat maps.

use super::frame::WIDTH;
use super::{Axis, Caption, figure, short, svg};
use crate::html::{Html, text};
use crate::{number, palette};

/// A heat map, with rows from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// Title and note.
    pub caption: Caption,
    /// The axis of the columns.
    pub x: Axis,
    /// The axis of the rows.
    pub y: Axis,
    /// The axis of the values.
    pub value: Axis,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// The value of every row and column; `None` is an empty cell.
    pub values: Vec<Vec<Option<f64>>>,
    /// The range of the colours; `None` uses the range of the values. Charts for comparison need the same
    /// range.
    pub range: Option<(f64, f64)>,
}

impl Heat {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let widest = self.rows.iter().map(|name| name.chars().count()).max().unwrap_or(1) as f64;
        let (left, top, right) = ((12.0 + 6.6 * widest).clamp(26.0, 130.0), 22.0, 8.0);
        let (n_rows, n_columns) = (self.rows.len().max(1), self.columns.len().max(1));
        let width = (WIDTH - left - right) / n_columns as f64;
        let row_height = (width * 0.7).clamp(14.0, 30.0);
        let bottom = top + row_height * n_rows as f64;
        let (low, high) = self.range.unwrap_or_else(|| self.ends());
        let mut out = String::new();
        for (i, row) in self.values.iter().enumerate().take(self.rows.len()) {
            for (j, value) in row.iter().enumerate().take(self.columns.len()) {
                let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                let place = if high > low { (value - low) / (high - low) } else { 0.5 };
                let (color, light) = palette::sequential(place);
                let (x, y) = (left + j as f64 * width, top + i as f64 * row_height);
                out += &format!(
                    "<rect fill=\"{color}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-tip=\"{}\"/>",
                    short(x + 0.5),
                    short(y + 0.5),
                    short(width - 1.0),
                    short(row_height - 1.0),
                    text(&self.tip(i, j, value))
                );
                let words = number::significant(value, 3);
                if words.chars().count() as f64 * 6.0 < width - 2.0 {
                    let ink = if light { "#fff" } else { "#000" };
                    out += &format!(
                        "<text class=\"cell\" fill=\"{ink}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                        short(x + width / 2.0),
                        short(y + row_height / 2.0 + 3.5),
                        text(&words)
                    );
                }
            }
        }
        for (i, name) in self.rows.iter().enumerate() {
            out += &format!(
                "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                short(left - 5.0),
                short(top + (i as f64 + 0.5) * row_height + 3.5),
                text(name)
            );
        }
        let widest = self.columns.iter().map(|name| name.chars().count()).max().unwrap_or(1) as f64;
        let every = ((widest * 6.6 + 4.0) / width).ceil().max(1.0) as usize;
        for (j, name) in self.columns.iter().enumerate().step_by(every) {
            out += &format!(
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                short(left + (j as f64 + 0.5) * width),
                short(bottom + 14.0),
                text(name)
            );
        }
        out += &format!("<text class=\"axis\" x=\"2\" y=\"10\">↓ {}</text>", text(&self.y.text()));
        out += &format!(
            "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{} →</text>",
            short(WIDTH - right),
            short(bottom + 30.0),
            text(&self.x.text())
        );
        out += &self.key(left, bottom + 40.0, (low, high));
        figure("heat", &self.caption, &svg(WIDTH, bottom + 74.0, &self.description(), "", &out))
    }

    /// Draws the colour bar.
    fn key(&self, left: f64, top: f64, (low, high): (f64, f64)) -> String {
        let (n, length) = (24, 150.0);
        let mut out = String::new();
        for i in 0..n {
            let (color, _) = palette::sequential(f64::from(i) / f64::from(n - 1));
            let step = length / f64::from(n);
            out += &format!(
                "<rect fill=\"{color}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"9\"/>",
                short(left + f64::from(i) * step),
                short(top),
                short(step + 0.3)
            );
        }
        let word = |x: f64, anchor: &str, words: &str| {
            format!(
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                short(x),
                short(top + 21.0),
                text(words)
            )
        };
        out += &word(left, "start", &number::significant(low, 3));
        out += &word(left + length, "end", &number::significant(high, 3));
        out + &format!(
            "<text class=\"axis\" x=\"{}\" y=\"{}\">{}</text>",
            short(left + length + 8.0),
            short(top + 8.5),
            text(&self.value.text())
        )
    }

    fn ends(&self) -> (f64, f64) {
        let values = || self.values.iter().flatten().flatten().copied().filter(|v| v.is_finite());
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(-f64::INFINITY, f64::max));
        if low.is_finite() { (low, high) } else { (0.0, 1.0) }
    }

    fn tip(&self, row: usize, column: usize, value: f64) -> String {
        format!(
            "{} {}, {} {}: {} {}",
            self.y.label,
            self.rows[row],
            self.x.label,
            self.columns[column],
            self.value.text(),
            number::number(value)
        )
    }

    fn description(&self) -> String {
        let best = (self.values.iter().enumerate())
            .flat_map(|(i, row)| {
                row.iter().enumerate().filter_map(move |(j, v)| Some((i, j, (*v)?)))
            })
            .filter(|(i, j, v)| *i < self.rows.len() && *j < self.columns.len() && v.is_finite())
            .max_by(|a, b| a.2.total_cmp(&b.2));
        let best = best.map(|(i, j, v)| format!(" Largest: {}.", self.tip(i, j, v)));
        format!("Heat map: {}.{}", self.caption.title, best.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_a_colour_a_number_and_a_tip() {
        let heat = Heat {
            caption: Caption::new("NMI", ""),
            x: Axis::new("anchors", ""),
            y: Axis::new("lambda", ""),
            value: Axis::new("NMI", "%"),
            columns: vec!["100".into(), "200".into()],
            rows: vec!["0.1".into(), "1<".into()],
            values: vec![vec![Some(50.0), None], vec![Some(75.25), Some(f64::NAN)]],
            range: None,
        };
        let html = heat.html().to_string();
        assert_eq!(html.matches("data-tip").count(), 2);
        assert!(html.contains("lambda 1&lt;, anchors 100: NMI (%) 75.25"), "{html}");
        assert!(html.contains("Largest: lambda 1&lt;"));
        assert!(Heat::default().html().as_str().contains("<svg"));
    }
}
