//! Line charts.

use serde::Serialize;

use super::frame::{Frame, WIDTH};
use super::{Axis, AxisScale, Caption, figure, legend, marks, short, svg};
use crate::html::{Html, data};
use crate::{number, palette};

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// The points in order.
    pub points: Vec<(f64, f64)>,
    /// Index of the colour; `None` uses the position of the curve.
    pub slot: Option<usize>,
}

impl Line {
    /// Creates a curve whose colour depends on its position.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, slot: None }
    }
}

/// The axes that can be switched to a logarithmic scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogSwitch {
    /// No axis: both are linear.
    #[default]
    Never,
    /// The vertical axis.
    Values,
    /// Both axes.
    Both,
}

/// A line chart. It has a legend if there are several curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Title and note.
    pub caption: Caption,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub lines: Vec<Line>,
    /// Whether x is a count, so that all ticks are integers.
    pub whole_x: bool,
    /// Whether a linear vertical axis contains 0.
    pub from_zero: bool,
    /// The axes that the switch between linear and logarithmic changes.
    pub log: LogSwitch,
    /// Whether the chart is initially logarithmic.
    pub log_first: bool,
}

/// Positions and texts of the points, for hover.
#[derive(Serialize)]
struct LineSpots {
    x: Vec<f64>,
    y: Vec<f64>,
    series: Vec<usize>,
    text: Vec<String>,
}

impl Lines {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let mut body = String::new();
        if self.log == LogSwitch::Never {
            body += &self.view(false, None);
        } else {
            body += &format!(
                "<p class=\"switches\" role=\"group\" aria-label=\"Axes\"><button type=\"button\" data-view=\"linear\" aria-pressed=\"{}\">linear</button> <button type=\"button\" data-view=\"log\" aria-pressed=\"{}\">logarithmic</button></p>",
                !self.log_first, self.log_first
            );
            body += &self.view(false, Some("linear"));
            body += &self.view(true, Some("log"));
        }
        if self.lines.len() > 1 {
            let names: Vec<String> = self.lines.iter().map(|line| line.name.clone()).collect();
            let slots: Vec<usize> = (0..names.len()).map(|i| self.slot(i)).collect();
            body += &legend(&names, &slots);
        }
        figure("lines", &self.caption, &body)
    }

    fn slot(&self, line: usize) -> usize {
        self.lines[line].slot.unwrap_or(line)
    }

    /// Draws the chart with linear or logarithmic axes. If both exist, one of them is hidden.
    fn view(&self, log: bool, name: Option<&str>) -> String {
        let (log_x, log_y) = (log && self.log == LogSwitch::Both, log);
        let xs = || self.points().map(|p| p.0);
        let ys = || self.points().map(|p| p.1);
        let x_scale = match (log_x, self.whole_x) {
            (true, _) => AxisScale::log(xs(), 6),
            (false, true) => AxisScale::whole(xs(), 8),
            (false, false) => AxisScale::tight(xs(), 6),
        };
        let y_scale = match (log_y, self.from_zero) {
            (true, _) => AxisScale::log(ys(), 6),
            (false, true) => AxisScale::from_zero(ys(), 4),
            (false, false) => AxisScale::linear(ys(), 4),
        };
        let frame = Frame { right: 14.0, ..Frame::for_scale(230.0, &y_scale) };
        let mut out = frame.y_axis(&y_scale, &self.y) + &frame.x_axis(&x_scale, &self.x, false);
        let mut spots = LineSpots { x: vec![], y: vec![], series: vec![], text: vec![] };
        for (i, line) in self.lines.iter().enumerate() {
            let shown = |p: &&(f64, f64)| {
                p.0.is_finite() && p.1.is_finite() && (!log_x || p.0 > 0.0) && (!log_y || p.1 > 0.0)
            };
            let mut places = Vec::new();
            for &(x, y) in line.points.iter().filter(shown) {
                let at = (frame.x(x_scale.place(x)), frame.y(y_scale.place(y)));
                places.push(format!("{} {}", short(at.0), short(at.1)));
                spots.x.push((at.0 * 10.0).round() / 10.0);
                spots.y.push((at.1 * 10.0).round() / 10.0);
                spots.series.push(i);
                spots.text.push(self.tip(line, x, y));
            }
            let color = palette::color(self.slot(i));
            let dash = ["", "5 3", "1.5 3", "8 3 2 3"][(self.slot(i) / palette::LIGHT.len()) % 4];
            out += &format!("<g data-series=\"{i}\">");
            if !places.is_empty() {
                out += &format!(
                    "<path class=\"curve l{color}\" stroke-dasharray=\"{dash}\" d=\"M{}\"/>",
                    places.join("L")
                );
                // Marks are drawn only if they do not overlap.
                if places.len() <= 40 {
                    out += &marks(self.slot(i), &format!("M{}", places.join("M")));
                }
            }
            out += "</g>";
        }
        let kind = if log { "logarithmic axes" } else { "linear axes" };
        let more = match name {
            None => " data-hover tabindex=\"0\"".to_string(),
            Some(name) => {
                let hidden = if log == self.log_first { "" } else { " hidden" };
                format!(" data-hover tabindex=\"0\" data-view=\"{name}\"{hidden}")
            }
        };
        let drawing = svg(WIDTH, frame.height, &self.description(kind), &more, &out);
        format!("{drawing}{}", data("spots", &spots))
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().flat_map(|line| line.points.iter().copied())
    }

    fn tip(&self, line: &Line, x: f64, y: f64) -> String {
        let head = if line.name.is_empty() { String::new() } else { format!("{}\n", line.name) };
        let unit = |axis: &Axis| match axis.unit.as_str() {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        format!(
            "{head}{}: {}{}\n{}: {}{}",
            self.x.label,
            number::significant(x, 6),
            unit(&self.x),
            self.y.label,
            number::significant(y, 6),
            unit(&self.y)
        )
    }

    fn description(&self, kind: &str) -> String {
        let each: Vec<String> = (self.lines.iter().take(10))
            .filter_map(|line| {
                let (first, last) = (line.points.first()?, line.points.last()?);
                let name = if line.name.is_empty() { "the curve" } else { &line.name };
                Some(format!(
                    "{name} goes from {} at {} to {} at {}",
                    number::number(first.1),
                    number::number(first.0),
                    number::number(last.1),
                    number::number(last.0)
                ))
            })
            .collect();
        format!("Line chart, {kind}: {}. {}", self.caption.title, each.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(log: LogSwitch) -> Lines {
        Lines {
            caption: Caption::new("Seconds", ""),
            x: Axis::new("rows", ""),
            y: Axis::new("time", "s"),
            lines: vec![
                Line::new("obcut", vec![(1e3, 0.1), (1e4, 1.1), (1e5, 12.0)]),
                Line::new("<b>other", vec![(1e3, 1.0), (1e4, 0.0)]),
            ],
            log,
            ..Lines::default()
        }
    }

    #[test]
    fn curves_have_a_legend_and_text_for_hover() {
        let html = chart(LogSwitch::Never).html().to_string();
        assert_eq!(
            (html.matches("<svg viewBox=\"0 0").count(), html.matches("curve").count()),
            (1, 2)
        );
        assert!(html.contains("obcut\\nrows: 1,000\\ntime: 0.1 s"), "{html}");
        assert!(html.contains("time (s)") && !html.contains("<b>other"));
    }

    #[test]
    fn the_switch_has_two_drawings_of_which_one_is_hidden() {
        let html = chart(LogSwitch::Both).html().to_string();
        assert_eq!(html.matches("<svg viewBox=\"0 0").count(), 2);
        assert_eq!(html.matches("data-view=\"log\" hidden").count(), 1);
        // A logarithmic axis has no point at 0.
        assert_eq!(html.matches("time: 0 s").count(), 1);
        let first = Lines { log_first: true, ..chart(LogSwitch::Values) }.html().to_string();
        assert_eq!(first.matches("data-view=\"linear\" hidden").count(), 1);
    }

    #[test]
    fn a_chart_without_points_is_drawn() {
        assert!(Lines::default().html().as_str().contains("<svg"));
    }
}
