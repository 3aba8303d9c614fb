//! The handwritten digits that come with the crate; `data/README.md` names their authors.

use std::io::Read;

use flate2::read::GzDecoder;
use obcut::Matrix;
use obcut::synthetic::Labelled;

/// The digits as compressed CSV: 64 pixels and the class.
pub const DIGITS_CSV_GZ: &[u8] = include_bytes!("../data/digits.csv.gz");

/// Returns the digits as CSV text with a header.
pub fn digits_csv() -> String {
    let mut text = String::new();
    GzDecoder::new(DIGITS_CSV_GZ).read_to_string(&mut text).expect("a test unpacks the same bytes");
    text
}

/// Returns the digits: 1,797 rows of 64 pixels from 0 to 16, and their classes.
pub fn digits() -> Labelled {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in digits_csv().lines().skip(1) {
        let mut fields: Vec<u32> =
            line.split(',').map(|v| v.parse().expect("a test reads the same text")).collect();
        labels.extend(fields.pop());
        values.extend(fields.into_iter().map(f64::from));
    }
    let n_rows = labels.len();
    let n_cols = values.len() / n_rows;
    Labelled { matrix: Matrix::Dense64 { values, n_rows, n_cols }, labels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_whole() {
        let Labelled { matrix: Matrix::Dense64 { values, n_rows, n_cols }, labels } = digits()
        else {
            panic!("a dense table");
        };
        assert_eq!((n_rows, n_cols, labels.len()), (1797, 64, 1797));
        assert!(values.iter().all(|&v| (0.0..=16.0).contains(&v)));
        assert_eq!(labels.iter().max(), Some(&9));
    }
}
