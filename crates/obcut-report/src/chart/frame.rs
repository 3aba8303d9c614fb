//! The frame of a chart: where the plot lies, its axes and its grid.

use super::{Axis, Scale, short};
use crate::html::text;

/// Width of a chart in its own units; the page draws it as wide as its column.
pub(crate) const WIDTH: f64 = 400.0;

/// A chart with room for its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub height: f64,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    /// Room for ticks on the left and below, and for the names of both axes.
    pub fn new(height: f64, left_labels: impl Iterator<Item = usize>) -> Self {
        let widest = left_labels.max().unwrap_or(1) as f64;
        let left = (10.0 + 6.6 * widest).clamp(26.0, 150.0);
        Self { height, left, right: 10.0, top: 22.0, bottom: 38.0 }
    }

    /// The same for the ticks of a vertical scale.
    pub fn for_scale(height: f64, y: &Scale) -> Self {
        Self::new(height, y.ticks.iter().map(|t| t.label.chars().count()))
    }

    pub fn plot_width(&self) -> f64 {
        WIDTH - self.left - self.right
    }

    pub fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }

    /// From a place on the scale (0 to 1) to a horizontal position.
    pub fn x(&self, place: f64) -> f64 {
        self.left + place * self.plot_width()
    }

    /// The same upwards.
    pub fn y(&self, place: f64) -> f64 {
        self.height - self.bottom - place * self.plot_height()
    }

    /// Ticks and name of a horizontal axis, with vertical lines of a grid if wanted.
    pub fn x_axis(&self, scale: &Scale, axis: &Axis, grid: bool) -> String {
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

    /// The name of the horizontal axis alone.
    pub fn x_name(&self, axis: &Axis) -> String {
        format!(
            "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{} →</text>",
            short(WIDTH - self.right),
            short(self.height - 5.0),
            text(&axis.text())
        )
    }

    /// Ticks, grid and name of a vertical axis.
    pub fn y_axis(&self, scale: &Scale, axis: &Axis) -> String {
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

    /// The name of the vertical axis alone, lying above it.
    pub fn y_name(&self, axis: &Axis) -> String {
        format!("<text class=\"axis\" x=\"2\" y=\"10\">↑ {}</text>", text(&axis.text()))
    }

    /// The name of an axis that runs downwards.
    pub fn down_name(&self, axis: &Axis) -> String {
        format!("<text class=\"axis\" x=\"2\" y=\"10\">↓ {}</text>", text(&axis.text()))
    }

    /// The line that bars stand on, at a place of the vertical scale.
    pub fn base(&self, place: f64) -> String {
        let y = short(self.y(place));
        format!(
            "<path class=\"base\" d=\"M{} {y}H{}\"/>",
            short(self.left),
            short(WIDTH - self.right)
        )
    }
}
