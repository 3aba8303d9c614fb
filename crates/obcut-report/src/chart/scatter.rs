//! Scatter charts.

use serde::Serialize;

use super::frame::{Frame, WIDTH};
use super::{Axis, AxisScale, Caption, figure, legend, marks, short, svg};
use crate::html::{Html, data};
use crate::number;

/// Positions and series of points. All lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterPoints {
    /// Horizontal positions.
    pub x: Vec<f64>,
    /// Vertical positions.
    pub y: Vec<f64>,
    /// Series of every point.
    pub series: Vec<usize>,
}

/// A field of every point, shown on hover.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Field {
    /// Name of the field.
    pub name: String,
    /// The value of every point.
    pub values: Vec<String>,
}

/// A scatter chart with hover and a legend that switches series on and off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Title and note.
    pub caption: Caption,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Names of the series.
    pub series: Vec<String>,
    /// The points.
    pub points: ScatterPoints,
    /// The fields of the points.
    pub fields: Vec<Field>,
    /// Whether both axes have the same scale.
    pub equal: bool,
}

/// The points for the script, with positions in SVG units.
#[derive(Serialize)]
struct ScatterSpots<'a> {
    x: Vec<f64>,
    y: Vec<f64>,
    series: &'a [usize],
    fields: &'a [Field],
}

impl Scatter {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let mut x_scale = AxisScale::tight(padded(&self.points.x), 6);
        let mut y_scale = AxisScale::tight(padded(&self.points.y), 6);
        if self.equal {
            // Both axes get the range of the longer one.
            let length = (x_scale.to - x_scale.from).max(y_scale.to - y_scale.from);
            let widen = |s: &AxisScale| {
                let more = (length - (s.to - s.from)) / 2.0;
                AxisScale::tight([s.from - more, s.to + more], 6)
            };
            (x_scale, y_scale) = (widen(&x_scale), widen(&y_scale));
        }
        let frame = Frame { right: 12.0, ..Frame::for_scale(400.0, &y_scale) };
        let mut out = frame.y_axis(&y_scale, &self.y) + &frame.x_axis(&x_scale, &self.x, true);
        let rounded = |v: f64| (v * 10.0).round() / 10.0;
        let xs: Vec<f64> =
            self.points.x.iter().map(|&x| rounded(frame.x(x_scale.place(x)))).collect();
        let ys: Vec<f64> =
            self.points.y.iter().map(|&y| rounded(frame.y(y_scale.place(y)))).collect();
        let mut places = vec![String::new(); self.series.len()];
        for ((x, y), &series) in xs.iter().zip(&ys).zip(&self.points.series) {
            if let Some(places) = places.get_mut(series) {
                *places += &format!("M{} {}", short(*x), short(*y));
            }
        }
        for (series, places) in places.iter().enumerate() {
            let drawn = marks(series, places);
            out += &format!("<g class=\"cloud\" data-series=\"{series}\">{drawn}</g>");
        }
        let more = " data-hover tabindex=\"0\"";
        let drawing = svg(WIDTH, frame.height, &self.description(), more, &out);
        let spots =
            ScatterSpots { x: xs, y: ys, series: &self.points.series, fields: &self.fields };
        let slots: Vec<usize> = (0..self.series.len()).collect();
        let legend = legend(&self.series, &slots);
        figure("scatter", &self.caption, &format!("{drawing}{}{legend}", data("spots", &spots)))
    }

    fn description(&self) -> String {
        format!(
            "Scatter chart: {}. {} in {}. Arrow keys move from point to point.",
            self.caption.title,
            number::plural(self.points.x.len(), "point"),
            number::plural(self.series.len(), "group")
        )
    }
}

/// The range of values with a margin.
fn padded(values: &[f64]) -> [f64; 2] {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        (finite().fold(f64::INFINITY, f64::min), finite().fold(-f64::INFINITY, f64::max));
    let more = 0.03 * (high - low);
    [low - more, high + more]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_drawn_by_series_and_carry_their_facts() {
        let scatter = Scatter {
            caption: Caption::new("Map", ""),
            series: vec!["cluster 0".into(), "cluster 1".into(), "</script>".into()],
            points: ScatterPoints {
                x: vec![0.0, 1.0, 2.0],
                y: vec![0.0, 1.0, 0.5],
                series: vec![0, 1, 1],
            },
            fields: vec![Field {
                name: "row".into(),
                values: vec!["0".into(), "1".into(), "</script>".into()],
            }],
            equal: true,
            ..Scatter::default()
        };
        let html = scatter.html().to_string();
        assert_eq!(html.matches("class=\"cloud\"").count(), 3);
        assert_eq!(html.matches("</script>").count(), 1, "only the end of the data");
        assert_eq!(html.matches("aria-pressed=\"true\"").count(), 3);
        assert!(html.contains("\"series\":[0,1,1]"));
        assert!(Scatter::default().html().as_str().contains("<svg"));
    }
}
