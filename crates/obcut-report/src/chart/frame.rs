//! The frame of a chart: margins, axes and grid.

use super::{Axis, AxisScale, short};
use crate::html::text;

/// Width of a chart in SVG units; the page scales it to the width of its column.
pub(crate) const WIDTH: f64 = 400.0;

/// The size of a chart and the margins for its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// Creates a frame with margins for ticks and names of axes.
    pub fn new(height: f64, left_labels: impl Iterator<Item = usize>) -> Self {
        let widest = left_labels.max().unwrap_or(1) as f64;
        let left = (10.0 + 6.6 * widest).clamp(26.0, 150.0);
        Self { height, left, right: 10.0, top: 22.0, bottom: 38.0 }
    }

    /// Creates a frame with margins for the ticks of a vertical scale.
    pub fn for_scale(height: f64, y: &AxisScale) -> Self {
        Self::new(height, y.ticks.iter().map(|t| t.label.chars().count()))
    }

    pub fn plot_width(&self) -> f64 {
        WIDTH - self.left - self.right
    }

    pub fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }

    /// Converts a relative position (0 to 1) to a horizontal coordinate.
    pub fn x(&self, place: f64) -> f64 {
        self.left + place * self.plot_width()
    }

    /// Converts a relative position (0 to 1) to a vertical coordinate.
    pub fn y(&self, place: f64) -> f64 {
        self.height - self.bottom - place * self.plot_height()
    }

    /// Draws ticks and name of a horizontal axis, with vertical grid lines if requested.
    pub fn x_axis(&self, scale: &AxisScale, axis: &Axis, grid: bool) -> String {
        let (top, bottom) = (short(self.top), self.height - self.bottom);
        let mut out = String::new();
        for tick in &scale.ticks {
            let x = short(self.x(scale.place(tick.value)));
            let from = if grid { top.clone() } else { short(bottom) };
            let to = short(bottom + 4.0);
            out += &format!("<path class=\"grid\" d=\"M{x} {from}V{to}\"/>");
            let y = short(bottom + 15.0);
            out += &format!(
                "<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
                text(&tick.label)
            );
        }
        out + &self.x_name(axis)
    }

    /// Draws the name of the horizontal axis.
    pub fn x_name(&self, axis: &Axis) -> String {
        format!(
            "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{} →</text>",
            short(WIDTH - self.right),
            short(self.height - 5.0),
            text(&axis.text())
        )
    }

    /// Draws ticks, grid lines and name of a vertical axis.
    pub fn y_axis(&self, scale: &AxisScale, axis: &Axis) -> String {
        let (left, right) = (short(self.left), short(WIDTH - self.right));
        let mut out = String::new();
        for tick in &scale.ticks {
            let y = self.y(scale.place(tick.value));
            out += &format!("<path class=\"grid\" d=\"M{left} {}H{right}\"/>", short(y));
            out += &format!(
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                short(self.left - 5.0),
                short(y + 3.5),
                text(&tick.label)
            );
        }
        out + &self.y_name(axis)
    }

    /// Draws the name of the vertical axis horizontally above it.
    pub fn y_name(&self, axis: &Axis) -> String {
        format!("<text class=\"axis\" x=\"2\" y=\"10\">↑ {}</text>", text(&axis.text()))
    }

    /// Draws the name of a downward axis.
    pub fn down_name(&self, axis: &Axis) -> String {
        format!("<text class=\"axis\" x=\"2\" y=\"10\">↓ {}</text>", text(&axis.text()))
    }

    /// Draws the base line of bars at a relative position of the vertical scale.
    pub fn base(&self, place: f64) -> String {
        let y = short(self.y(place));
        format!(
            "<path class=\"base\" d=\"M{} {y}H{}\"/>",
            short(self.left),
            short(WIDTH - self.right)
        )
    }
}
