//! Colours that are distinguishable with colour blindness, on light and dark backgrounds.
//!
//! The eight colours repeat after eight series with another shape of the mark, so that colour and shape together
//! distinguish [`N_MARKS`] series. Tests check a contrast of 3 to 1 with the background, and the distances between
//! the colours for normal vision and for three kinds of colour blindness.

/// Backgrounds of the charts, light and dark.
pub const PAPER: [&str; 2] = ["#ffffff", "#15181e"];
/// Colours of series on the light background.
pub const LIGHT: [&str; 8] =
    ["#0343a3", "#ad9320", "#00aa5d", "#d46db3", "#637bff", "#921c07", "#6d2a66", "#5c594c"];
/// Colours of series on the dark background.
pub const DARK: [&str; 8] =
    ["#2381bc", "#ff9907", "#3bdc7d", "#c091a0", "#afcbff", "#ca4326", "#9367ff", "#ffefe3"];
/// Colours from small to large values: the colour map cividis.
const SEQUENCE: [[f64; 3]; 9] = [
    [0.0, 34.0, 78.0],
    [18.0, 53.0, 112.0],
    [59.0, 73.0, 108.0],
    [87.0, 93.0, 109.0],
    [112.0, 113.0, 115.0],
    [138.0, 134.0, 120.0],
    [165.0, 156.0, 116.0],
    [195.0, 179.0, 105.0],
    [253.0, 231.0, 55.0],
];

/// The shape of the mark of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A diamond.
    Diamond,
    /// A plus.
    Plus,
    /// A cross.
    Cross,
}

const MARKS: [Mark; 6] =
    [Mark::Disc, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Plus, Mark::Cross];

/// Number of series that differ in colour or mark. Further series repeat them.
pub const N_MARKS: usize = LIGHT.len() * MARKS.len();

/// Index of the colour of a series, the `N` of `--cN` in the style sheet.
pub fn color(series: usize) -> usize {
    series % LIGHT.len()
}

/// The mark of a series.
pub fn mark(series: usize) -> Mark {
    MARKS[(series / LIGHT.len()) % MARKS.len()]
}

impl Mark {
    /// The outline around the current point of a path, and whether it is drawn as a line of round ends
    /// (`Some(true)`), square ends (`Some(false)`) or filled (`None`).
    pub(crate) fn outline(self) -> (&'static str, Option<bool>) {
        match self {
            Self::Disc => ("h0", Some(true)),
            Self::Square => ("h0", Some(false)),
            Self::Triangle => ("m0-3l2.8 5h-5.6z", None),
            Self::Diamond => ("m0-3l3 3-3 3-3-3z", None),
            Self::Plus => ("m-2.8 0h5.6m-2.8-2.8v5.6", Some(true)),
            Self::Cross => ("m-2-2l4 4m-4 0l4-4", Some(true)),
        }
    }

    /// Line width of the mark.
    pub(crate) fn width(self) -> f64 {
        match self {
            Self::Disc => 5.0,
            Self::Square => 4.4,
            Self::Triangle | Self::Diamond => 0.0,
            Self::Plus | Self::Cross => 1.7,
        }
    }
}

/// The colour of a value between 0 and 1, and whether text on it should be light.
pub fn sequential(value: f64) -> (String, bool) {
    let place = value.clamp(0.0, 1.0) * (SEQUENCE.len() - 1) as f64;
    let low = (place as usize).min(SEQUENCE.len() - 2);
    let part = place - low as f64;
    let mix = |c: usize| {
        (SEQUENCE[low][c] + part * (SEQUENCE[low + 1][c] - SEQUENCE[low][c])).round() as u8
    };
    let rgb = [mix(0), mix(1), mix(2)];
    // Light text if its contrast is higher than that of dark text.
    let light = luminance(rgb.map(|c| linear(f64::from(c) / 255.0))) < 0.18;
    (format!("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]), light)
}

fn linear(c: f64) -> f64 {
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The colours as custom properties of the style sheet, for the light or the dark background.
pub(crate) fn properties(dark: bool) -> String {
    let colors = if dark { &DARK } else { &LIGHT };
    let paper = PAPER[usize::from(dark)];
    let list: String = colors.iter().enumerate().map(|(i, c)| format!("--c{i}:{c};")).collect();
    format!("--paper:{paper};{list}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machado, Oliveira and Fernandes (2009), full severity, on linear RGB: normal, protan, deutan, tritan.
    const EYES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    fn rgb(color: &str) -> [f64; 3] {
        let part = |i: usize| {
            f64::from(u8::from_str_radix(&color[1 + 2 * i..3 + 2 * i], 16).unwrap()) / 255.0
        };
        [part(0), part(1), part(2)].map(linear)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(rgb(a)), luminance(rgb(b)));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn lab(c: [f64; 3], eye: &[[f64; 3]; 3]) -> [f64; 3] {
        let seen =
            eye.map(|row| row.iter().zip(c).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0));
        let [r, g, b] = seen;
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = f(luminance(seen));
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_stand_out_from_the_paper() {
        for (colors, paper) in [(LIGHT, PAPER[0]), (DARK, PAPER[1])] {
            for color in colors {
                assert!(contrast(color, paper) >= 3.0, "{color} on {paper}");
            }
        }
    }

    #[test]
    fn every_eye_tells_the_colours_apart() {
        for colors in [LIGHT, DARK] {
            for (i, a) in colors.iter().enumerate() {
                for b in &colors[..i] {
                    for eye in &EYES {
                        let (p, q) = (lab(rgb(a), eye), lab(rgb(b), eye));
                        let square: f64 = p.iter().zip(q).map(|(p, q)| (p - q).powi(2)).sum();
                        assert!(square.sqrt() > 20.0, "{a} and {b}: {}", square.sqrt());
                    }
                }
            }
        }
    }

    #[test]
    fn marks_change_when_colours_repeat() {
        assert_eq!((color(3), mark(3)), (3, Mark::Disc));
        assert_eq!((color(11), mark(11)), (3, Mark::Square));
        assert_eq!((color(N_MARKS), mark(N_MARKS)), (0, Mark::Disc));
    }

    #[test]
    fn text_on_the_sequence_can_be_read() {
        for i in 0..=20 {
            let (color, light) = sequential(f64::from(i) / 20.0);
            let ink = if light { "#ffffff" } else { "#000000" };
            assert!(contrast(&color, ink) >= 4.5, "{color} {}", contrast(&color, ink));
        }
        assert_eq!(sequential(-3.0).0, sequential(0.0).0);
    }
}
