//! Scales of axes, with ticks at round numbers.

use crate::number;

/// A tick on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value of the tick.
    pub value: f64,
    /// The label; empty for a tick without a label.
    pub label: String,
}

/// A range of values, linear or logarithmic, with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisScale {
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Whether the scale is logarithmic.
    pub log: bool,
    /// Ticks in ascending order.
    pub ticks: Vec<Tick>,
}

impl AxisScale {
    /// Creates a linear scale that contains the values, ends at round numbers and has about `n_ticks` ticks.
    pub fn linear(values: impl IntoIterator<Item = f64>, n_ticks: usize) -> Self {
        let (low, high) = range(values);
        let step = step((high - low) / n_ticks.max(1) as f64);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        Self::of_steps(first, last, step)
    }

    /// Creates a linear scale that also contains 0.
    pub fn from_zero(values: impl IntoIterator<Item = f64>, n_ticks: usize) -> Self {
        Self::linear(values.into_iter().chain([0.0]), n_ticks)
    }

    /// Creates a linear scale that ends at the smallest and the largest value.
    pub fn tight(values: impl IntoIterator<Item = f64>, n_ticks: usize) -> Self {
        let (low, high) = range(values);
        let step = step((high - low) / n_ticks.max(1) as f64);
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        Self { from: low, to: high, ..Self::of_steps(first, last, step) }
    }

    /// Creates a scale for integers, such as iterations. All ticks are integers.
    pub fn whole(values: impl IntoIterator<Item = f64>, n_ticks: usize) -> Self {
        let (low, high) = range(values);
        let step = step((high - low) / n_ticks.max(1) as f64).max(1.0);
        let (first, last) = ((low / step).ceil(), (high / step).floor());
        Self { from: low, to: high, ..Self::of_steps(first, last, step) }
    }

    /// Creates a logarithmic scale for the positive values. At most `n_ticks` of its ticks have labels.
    pub fn log(values: impl IntoIterator<Item = f64>, n_ticks: usize) -> Self {
        let positive = values.into_iter().filter(|&v| v > 0.0 && v.is_finite());
        let (low, high) = ends(positive).unwrap_or((1.0, 10.0));
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = (last - first).max(1) as usize;
        // A scale of at most two decades ends at 1, 2 or 5 times a power of ten, so that the curve fills the frame.
        let (from, to) = if decades <= 2 {
            let round = |v: f64, up: bool| round_one_two_five(v, up);
            let (from, to) = (round(low, false), round(high, true));
            if from < to { (from, to) } else { (from, from * 10.0) }
        } else {
            (10f64.powi(first), 10f64.powi(last))
        };
        let every = decades.div_ceil(n_ticks.max(1)) as i32;
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * 10f64.powi(power);
                if value < from * (1.0 - 1e-9) || value > to * (1.0 + 1e-9) {
                    continue;
                }
                let worded = if digit == 1.0 { (power - first) % every == 0 } else { decades <= 2 };
                if worded || (digit == 1.0) {
                    let label =
                        if worded { power_of_ten(value, power, digit) } else { String::new() };
                    ticks.push(Tick { value, label });
                }
            }
        }
        Self { from, to, log: true, ticks }
    }

    /// The relative position of a value: 0 at the start of the scale, 1 at the end.
    pub fn place(&self, value: f64) -> f64 {
        let place = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        if place.is_finite() { place } else { 0.0 }
    }

    fn of_steps(first: f64, last: f64, step: f64) -> Self {
        let last = last.max(first);
        let n = (last - first).round() as usize;
        // Each value is a product of an integer and a round number, so that rounding errors do not add up.
        let value = |i: usize| rounded((first + i as f64) * step, step);
        let label = |i: usize| number::tick(value(i));
        // If short labels are ambiguous, all digits are shown.
        let long = (0..n).any(|i| label(i) == label(i + 1));
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let ticks = (0..=n)
            .map(|i| Tick {
                value: value(i),
                label: if long { number::fixed(value(i), decimals) } else { label(i) },
            })
            .collect();
        Self { from: first * step, to: (last.max(first + 1.0)) * step, log: false, ticks }
    }
}

fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// The smallest and the largest value, with a minimum distance.
fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = ends(values).unwrap_or((0.0, 1.0));
    if high - low > 1e-12 * low.abs().max(high.abs()) {
        (low, high)
    } else {
        let half = if low == 0.0 { 0.5 } else { 0.1 * low.abs() };
        (low - half, low + half)
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let digit = raw / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| digit <= r * (1.0 + 1e-9)).unwrap_or(10.0);
    round * power
}

/// Rounds a product to a thousandth of a step.
fn rounded(value: f64, step: f64) -> f64 {
    let decimals = (3.0 - step.log10().floor()).clamp(0.0, 300.0) as i32;
    let unit = 10f64.powi(decimals);
    let out = (value * unit).round() / unit;
    if out.is_finite() { out } else { value }
}

fn round_one_two_five(value: f64, up: bool) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digit = value / power;
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = if up {
        steps.into_iter().find(|s| digit <= s * (1.0 + 1e-9))
    } else {
        steps.into_iter().rev().find(|s| digit >= s * (1.0 - 1e-9))
    };
    found.unwrap_or(1.0) * power
}

fn power_of_ten(value: f64, power: i32, digit: f64) -> String {
    match power {
        -3..=8 => number::tick(value),
        _ if digit == 1.0 => format!("10{}", number::raised(power)),
        _ => format!("{digit} × 10{}", number::raised(power)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(scale: &AxisScale) -> Vec<&str> {
        scale.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_hold_the_values() {
        let scale = AxisScale::linear([0.13, 0.87], 4);
        assert_eq!(words(&scale), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!((scale.place(0.0), scale.place(0.5), scale.place(1.0)), (0.0, 0.5, 1.0));
        let scale = AxisScale::from_zero([180.0], 4);
        assert_eq!(words(&scale), ["0", "50", "100", "150", "200"]);
        let scale = AxisScale::linear([-3.2, 2.1], 5);
        assert!(scale.from <= -3.2 && scale.to >= 2.1);
    }

    #[test]
    fn tight_scales_end_with_the_values() {
        let scale = AxisScale::tight([0.3, 7.9], 4);
        assert_eq!((scale.from, scale.to), (0.3, 7.9));
        assert_eq!(words(&scale), ["2", "4", "6"]);
        assert_eq!(words(&AxisScale::whole([1.0, 4.0], 8)), ["1", "2", "3", "4"]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        let scale = AxisScale::log([0.02, 3000.0, -1.0, 0.0], 10);
        assert_eq!(words(&scale), ["0.01", "0.1", "1", "10", "100", "1,000", "10k"]);
        assert!((scale.place(1.0) - 1.0 / 3.0).abs() < 1e-12);
        let narrow = AxisScale::log([12.0, 40.0], 6);
        assert_eq!(words(&narrow), ["10", "20", "50"]);
        let wide = AxisScale::log([1e-12, 1e12], 6);
        assert!(wide.ticks.iter().filter(|t| !t.label.is_empty()).count() <= 7);
    }

    #[test]
    fn strange_values_still_make_a_scale() {
        for values in [vec![], vec![5.0], vec![0.0, 0.0], vec![f64::NAN, f64::INFINITY], vec![-2.0]]
        {
            for scale in [
                AxisScale::linear(values.clone(), 4),
                AxisScale::from_zero(values.clone(), 4),
                AxisScale::tight(values.clone(), 4),
                AxisScale::whole(values.clone(), 4),
                AxisScale::log(values.clone(), 4),
            ] {
                assert!(scale.from < scale.to, "{values:?} {scale:?}");
                assert!(scale.place(scale.to) == 1.0 && scale.ticks.len() < 30, "{scale:?}");
            }
        }
    }

    #[test]
    fn far_values_have_ticks_without_dust() {
        let scale = AxisScale::linear([0.1, 0.7], 6);
        assert!(scale.ticks.iter().all(|t| t.value.to_string().len() < 5), "{scale:?}");
        let scale = AxisScale::linear([1e6 + 1.0, 1e6 + 3.0], 4);
        assert!(scale.ticks.len() >= 3, "{scale:?}");
        let scale = AxisScale::linear([5_433_890.0, 5_433_904.0], 4);
        assert_eq!(words(&scale), ["5433890", "5433895", "5433900", "5433905"]);
    }
}
