//! Scalings of rows: their names, and their figures for a table.

use serde::{Deserialize, Serialize};

use crate::choices;

choices! {
    /// How features are scaled before clustering. Fitted on the training rows, reused by predict.
    Scale as "scale" {
        /// idf or unit for counts with more than 95 % zeros, else minmax that a few distant values do not stretch
        Auto = "auto",
        /// every feature to [0, 1]; a constant feature is ignored
        MinMax = "minmax",
        /// every feature to mean 0 and standard deviation 1
        Standard = "standard",
        /// every feature to median 0 and interquartile range 1
        Robust = "robust",
        /// every row to length 1; a row of zeros stays zero
        UnitRows = "unit",
        /// counts times inverse document frequencies, then every row to length 1
        Idf = "idf",
        /// no scaling
        None = "none",
    }
}

impl Scale {
    /// Whether rows are scaled to length 1.
    pub fn is_unit(self) -> bool {
        matches!(self, Self::UnitRows | Self::Idf)
    }
}

/// What is done to a row: `(x - shift) * factor` by feature, or `y / |y| - shift` with `y = x * factor` for
/// unit rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Which scaling, never `Auto`.
    pub kind: Scale,
    /// What is subtracted from every feature.
    pub shift: Vec<f64>,
    /// What every feature is then multiplied by.
    pub factor: Vec<f64>,
    /// Whether rows of single precision are multiplied in double precision. It costs nothing worth speaking
    /// of on small tables, and their labels do not hang on the precision they came in.
    #[serde(default)]
    pub double: bool,
}

impl Scaling {
    /// No scaling, no shift: rows as they are.
    pub fn identity(d: usize) -> Self {
        Self { kind: Scale::None, shift: vec![0.0; d], factor: vec![1.0; d], double: false }
    }

    /// Moves points given in the units of the data into the scaled space, in place.
    pub fn apply(&self, points: &mut [f64]) {
        let d = self.shift.len();
        for point in points.chunks_exact_mut(d) {
            if self.kind.is_unit() {
                point.iter_mut().zip(&self.factor).for_each(|(v, f)| *v *= f);
                let norm = point.iter().map(|v| v * v).sum::<f64>().sqrt();
                let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
                point.iter_mut().zip(&self.shift).for_each(|(v, s)| *v = *v * inverse - s);
            } else {
                for f in 0..d {
                    point[f] = (point[f] - self.shift[f]) * self.factor[f];
                }
            }
        }
    }

    /// Moves points of the scaled space back to the units of the data. Unit rows stay on the unit
    /// scale, constant features take their constant.
    pub fn undo(&self, points: &mut [f64]) {
        let d = self.shift.len();
        for point in points.chunks_exact_mut(d) {
            for f in 0..d {
                point[f] = if self.kind.is_unit() {
                    point[f] + self.shift[f]
                } else if self.factor[f] > 0.0 {
                    point[f] / self.factor[f] + self.shift[f]
                } else {
                    self.shift[f]
                };
            }
        }
    }
}
