//! Histograms.

use super::frame::{Frame, WIDTH};
use super::{Axis, AxisScale, Caption, figure, short, svg};
use crate::html::{Html, text};
use crate::number;

/// A histogram with bins of equal width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Title and note.
    pub caption: Caption,
    /// The axis of the values.
    pub x: Axis,
    /// The axis of the counts.
    pub y: Axis,
    /// Lower end of the first bin.
    pub from: f64,
    /// Upper end of the last bin.
    pub to: f64,
    /// Number of values per bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let y_scale = AxisScale::from_zero(self.counts.iter().map(|&c| c as f64), 4);
        let x_scale = AxisScale::tight([self.from, self.to], 6);
        let frame = Frame { right: 14.0, ..Frame::for_scale(230.0, &y_scale) };
        let mut out = frame.y_axis(&y_scale, &self.y) + &frame.x_axis(&x_scale, &self.x, false);
        let band = frame.plot_width() / self.counts.len().max(1) as f64;
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let top = frame.y(y_scale.place(count as f64));
            // Even the smallest bar is visible.
            let height = (frame.y(0.0) - top).max(0.8);
            out += &format!(
                "<rect class=\"f0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-tip=\"{}\"/>",
                short(frame.left + i as f64 * band + 0.04 * band),
                short(frame.y(0.0) - height),
                short(0.92 * band),
                short(height),
                text(&self.tip(i))
            );
        }
        out += &frame.base(0.0);
        let drawn = svg(WIDTH, frame.height, &self.description(), "", &out);
        figure("histogram", &self.caption, &drawn)
    }

    fn tip(&self, bin: usize) -> String {
        let width = (self.to - self.from) / self.counts.len() as f64;
        let end = |i: usize| number::significant(self.from + i as f64 * width, 3);
        let count = number::count(self.counts[bin] as usize);
        format!("{} {} to {}: {count} {}", self.x.label, end(bin), end(bin + 1), self.y.label)
    }

    fn description(&self) -> String {
        let most = (0..self.counts.len()).max_by_key(|&i| (self.counts[i], usize::MAX - i));
        let most =
            most.map(|i| format!(" The highest bar is {}.", self.tip(i))).unwrap_or_default();
        format!("Histogram: {}.{most}", self.caption.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_drawn_with_their_ends() {
        let histogram = Histogram {
            caption: Caption::new("Margins", ""),
            x: Axis::new("margin", ""),
            y: Axis::new("rows", ""),
            from: 0.0,
            to: 2.0,
            counts: vec![3, 0, 1200, 1],
        };
        let html = histogram.html().to_string();
        assert_eq!(html.matches("<rect").count(), 3);
        assert!(html.contains("margin 1 to 1.5: 1,200 rows"), "{html}");
        assert!(Histogram::default().html().as_str().contains("<svg"));
    }
}
