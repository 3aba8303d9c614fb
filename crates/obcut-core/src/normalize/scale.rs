//! The scalings, by name.

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
