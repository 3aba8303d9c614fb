//! Bar charts, with one bar per category or several side by side.

use super::frame::{Frame, WIDTH};
use super::{Axis, AxisScale, Caption, figure, legend, short, svg};
use crate::html::{Html, text};
use crate::{number, palette};

/// The direction of bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Upward bars, for many categories with short names.
    #[default]
    Up,
    /// Bars to the right, for categories with long names.
    Right,
}

/// A series of bars, one per category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// Name in the legend.
    pub name: String,
    /// The value of every category; `None` leaves a gap.
    pub values: Vec<Option<f64>>,
    /// Half the length of the error bars, such as a standard deviation; empty for none.
    pub spread: Vec<Option<f64>>,
    /// Index of the colour; `None` uses the position of the series.
    pub slot: Option<usize>,
}

/// A bar chart. It has a legend if there are several series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Title and note.
    pub caption: Caption,
    /// The axis of the categories.
    pub categories_axis: Axis,
    /// The axis of the values.
    pub values_axis: Axis,
    /// Names of the categories.
    pub categories: Vec<String>,
    /// The series, which are drawn side by side.
    pub series: Vec<BarSeries>,
    /// The direction of the bars.
    pub direction: Direction,
    /// Colours per category instead of per series, for one series.
    pub category_slots: Option<Vec<usize>>,
    /// Fixed ends of the scale, such as 0 and 100 %.
    pub limits: Option<(f64, f64)>,
}

impl Bars {
    /// Draws the figure.
    pub fn html(&self) -> Html {
        let values = self.series.iter().flat_map(|s| {
            let ends = s.values.iter().enumerate();
            let ends = ends.filter_map(|(i, v)| v.map(|v| [v - spread(s, i), v + spread(s, i)]));
            ends.flatten().collect::<Vec<_>>()
        });
        let n_ticks = if self.direction == Direction::Up { 4 } else { 5 };
        let scale = match self.limits {
            Some((from, to)) => AxisScale::linear([from, to], n_ticks),
            None => AxisScale::from_zero(values, n_ticks),
        };
        let drawn = match self.direction {
            Direction::Up => self.upright(&scale),
            Direction::Right => self.lying(&scale),
        };
        let legend = if self.series.len() > 1 {
            let names: Vec<String> = self.series.iter().map(|s| s.name.clone()).collect();
            let slots: Vec<usize> = (0..names.len()).map(|i| self.slot(i, 0)).collect();
            legend(&names, &slots)
        } else {
            String::new()
        };
        figure("bars", &self.caption, &(drawn + &legend))
    }

    fn slot(&self, series: usize, category: usize) -> usize {
        match &self.category_slots {
            Some(slots) => slots.get(category).copied().unwrap_or(category),
            None => self.series[series].slot.unwrap_or(series),
        }
    }

    fn upright(&self, scale: &AxisScale) -> String {
        let frame = Frame::for_scale(230.0, scale);
        let n = self.categories.len().max(1);
        let band = frame.plot_width() / n as f64;
        let mut out = frame.y_axis(scale, &self.values_axis);
        out += &self.bars(scale, |category, part, width, from, to| {
            let x = frame.left + (category as f64 + part) * band;
            let (top, bottom) = (frame.y(scale.place(to)), frame.y(scale.place(from)));
            [x, top.min(bottom), width * band, (bottom - top).abs()]
        });
        out += &frame.base(scale.place(0.0));
        // If names would overlap, only every n-th name is drawn.
        let widest = self.categories.iter().map(|c| c.chars().count()).max().unwrap_or(1);
        let every = ((widest as f64 * 6.4 + 5.0) / band).ceil().max(1.0) as usize;
        for (i, name) in self.categories.iter().enumerate().step_by(every) {
            out += &format!(
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                short(frame.left + (i as f64 + 0.5) * band),
                short(frame.height - frame.bottom + 14.0),
                text(name)
            );
        }
        out += &frame.x_name(&self.categories_axis);
        svg(WIDTH, frame.height, &self.description(), "", &out)
    }

    fn lying(&self, scale: &AxisScale) -> String {
        let per_category = 8.0 + 11.0 * self.series.len().max(1) as f64;
        let height = 60.0 + per_category * self.categories.len() as f64;
        let names: Vec<String> = self.categories.iter().map(|name| shortened(name, 32)).collect();
        let mut frame = Frame::new(height, names.iter().map(|name| name.chars().count()));
        frame.right = 44.0;
        let mut out = frame.x_axis(scale, &self.values_axis, true);
        out += &self.bars(scale, |category, part, width, from, to| {
            let y = frame.top + (category as f64 + part) * per_category;
            let (left, right) = (frame.x(scale.place(from)), frame.x(scale.place(to)));
            [left.min(right), y, (right - left).abs(), width * per_category]
        });
        for (i, name) in names.iter().enumerate() {
            out += &format!(
                "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                short(frame.left - 6.0),
                short(frame.top + (i as f64 + 0.5) * per_category + 3.5),
                text(name)
            );
        }
        if self.series.len() == 1 {
            let series = &self.series[0];
            for (i, value) in series.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let end = scale.place((value + spread(series, i)).min(scale.to));
                let end = frame.x(end.max(scale.place(0.0)));
                out += &format!(
                    "<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>",
                    short(end + 4.0),
                    short(frame.top + (i as f64 + 0.5) * per_category + 3.5),
                    text(&number::significant(*value, 3))
                );
            }
        }
        out += &frame.down_name(&self.categories_axis);
        svg(WIDTH, height, &self.description(), "", &out)
    }

    /// Draws bars and error bars. `place` converts (category, position in its band, width, from, to) to a rectangle.
    fn bars(
        &self,
        scale: &AxisScale,
        place: impl Fn(usize, f64, f64, f64, f64) -> [f64; 4],
    ) -> String {
        let inside = |value: f64| value.clamp(scale.from, scale.to);
        let n = self.series.len().max(1) as f64;
        let gap = if self.categories.len() > 40 { 0.05 } else { 0.14 };
        let width = (1.0 - 2.0 * gap) / n;
        let mut out = String::new();
        for (s, series) in self.series.iter().enumerate() {
            out += &format!("<g data-series=\"{s}\">");
            for (i, value) in series.values.iter().enumerate().take(self.categories.len()) {
                let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                let part = gap + s as f64 * width;
                let [x, y, w, h] = place(i, part, width * 0.96, 0.0, inside(value)).map(short);
                let color = palette::color(self.slot(s, i));
                out += &format!(
                    "<rect class=\"f{color}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" data-tip=\"{}\"/>",
                    text(&self.tip(series, i, value))
                );
                let half = spread(series, i);
                if half > 0.0 {
                    let (from, to) = (inside(value - half), inside(value + half));
                    let [x, y, w, h] = place(i, part + width / 2.0, 0.0, from, to);
                    let (x2, y2) = (short(x + w), short(y + h));
                    out += &format!(
                        "<path class=\"whisker\" d=\"M{} {}L{x2} {y2}\"/>",
                        short(x),
                        short(y)
                    );
                }
            }
            out += "</g>";
        }
        out
    }

    fn tip(&self, series: &BarSeries, category: usize, value: f64) -> String {
        let name = &self.categories[category];
        let of = if series.name.is_empty() { String::new() } else { format!(", {}", series.name) };
        let spread = match spread(series, category) {
            0.0 => String::new(),
            half => format!(" ± {}", number::number(half)),
        };
        let unit = match self.values_axis.unit.as_str() {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        format!("{name}{of}: {}{spread}{unit}", number::number(value))
    }

    fn description(&self) -> String {
        let few: Vec<String> = (self.series.iter())
            .flat_map(|s| {
                let values = s.values.iter().enumerate().take(self.categories.len());
                values.filter_map(move |(i, v)| v.map(|v| self.tip(s, i, v)))
            })
            .take(12)
            .collect();
        let n: usize = self.series.iter().map(|s| s.values.iter().flatten().count()).sum();
        let more = if n > few.len() { format!("; {} more", n - few.len()) } else { String::new() };
        format!("Bar chart: {}. {}{more}", self.caption.title, few.join("; "))
    }
}

fn spread(series: &BarSeries, category: usize) -> f64 {
    series.spread.get(category).copied().flatten().filter(|v| v.is_finite()).unwrap_or(0.0)
}

/// Shortens a name to `most` characters of its start and its end, which usually distinguish long names.
fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.into();
    }
    let end = most / 2;
    let start = most - 1 - end;
    let ends = [&letters[..start], &['…'], &letters[letters.len() - end..]];
    ends.concat().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(direction: Direction) -> Bars {
        let series = |name: &str, values: [f64; 3]| BarSeries {
            name: name.into(),
            values: values.iter().map(|&v| Some(v)).collect(),
            spread: vec![Some(0.5), None, None],
            slot: None,
        };
        Bars {
            caption: Caption::new("Scores", "Larger is better."),
            categories_axis: Axis::new("data set", ""),
            values_axis: Axis::new("NMI", "%"),
            categories: vec!["a".into(), "b<c".into(), "d".into()],
            series: vec![series("one", [1.0, 2.0, 3.0]), series("two", [2.0, f64::NAN, 1.0])],
            direction,
            category_slots: None,
            limits: None,
        }
    }

    #[test]
    fn groups_of_bars_have_a_legend_tips_and_whiskers() {
        for direction in [Direction::Up, Direction::Right] {
            let html = chart(direction).html().to_string();
            assert_eq!(html.matches("<rect").count(), 5, "a value that is no number has no bar");
            assert!(html.contains("data-tip=\"a, one: 1 ± 0.5 %\""), "{html}");
            assert_eq!(html.matches("whisker").count(), 2);
            assert!(html.contains("NMI (%)") && html.contains("aria-label=\"Bar chart: Scores."));
            assert!(html.contains("b&lt;c") && !html.contains("b<c"));
            assert!(html.contains("aria-pressed"));
        }
    }

    #[test]
    fn whiskers_stay_inside_natural_limits() {
        let bars = Bars {
            categories: vec!["a".into()],
            series: vec![BarSeries {
                values: vec![Some(90.0)],
                spread: vec![Some(40.0)],
                ..BarSeries::default()
            }],
            direction: Direction::Right,
            limits: Some((0.0, 100.0)),
            ..Bars::default()
        };
        let html = bars.html().to_string();
        assert!(html.contains(">100<") && !html.contains(">150<"), "{html}");
        let free = Bars { limits: None, ..bars }.html().to_string();
        assert!(free.contains(">150<"), "{free}");
    }

    #[test]
    fn many_categories_drop_some_names() {
        let bars = Bars {
            categories: (0..100).map(|i| i.to_string()).collect(),
            series: vec![BarSeries { values: vec![Some(1.0); 100], ..BarSeries::default() }],
            ..Bars::default()
        };
        let html = bars.html().to_string();
        assert!(html.matches("text-anchor=\"middle\"").count() <= 25);
        assert_eq!(html.matches("<rect").count(), 100);
    }

    #[test]
    fn long_names_keep_their_start_and_end() {
        assert_eq!(shortened("OBCut (as printed, one)", 11), "OBCut… one)");
        assert_eq!(shortened("short", 11), "short");
    }

    #[test]
    fn nothing_at_all_is_still_a_chart() {
        assert!(Bars::default().html().as_str().contains("<svg"));
        let lying = Bars { direction: Direction::Right, ..Bars::default() };
        assert!(lying.html().as_str().contains("<svg"));
    }
}
