//! The figures that the paper prints, to be shown beside ours and never chased.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::summary::ScoreKind;

/// Mean and deviation in percent; none where the paper has N/A.
pub type Figure = Option<(f64, f64)>;

/// The paper's three tables.
#[derive(Debug, Deserialize)]
pub struct Printed {
    /// Columns of the tables.
    pub methods: Vec<String>,
    /// Rows, features and classes by data set.
    size: BTreeMap<String, (usize, usize, usize)>,
    /// NMI by data set.
    nmi: BTreeMap<String, Vec<[f64; 2]>>,
    acc: BTreeMap<String, Vec<[f64; 2]>>,
    pur: BTreeMap<String, Vec<[f64; 2]>>,
}

impl Printed {
    /// The tables.
    pub fn tables() -> &'static Self {
        static TABLES: OnceLock<Printed> = OnceLock::new();
        TABLES.get_or_init(|| {
            toml::from_str(include_str!("../suites/printed.toml"))
                .expect("a test reads the same text")
        })
    }

    /// The figures of a data set, by method; the paper has no ARI.
    pub fn row(&self, metric: ScoreKind, data: &str) -> Option<Vec<Figure>> {
        let table = match metric {
            ScoreKind::Nmi => &self.nmi,
            ScoreKind::Acc => &self.acc,
            ScoreKind::Pur => &self.pur,
            ScoreKind::Ari => return None,
        };
        let figure = |&[mean, deviation]: &[f64; 2]| (!mean.is_nan()).then_some((mean, deviation));
        table.get(data).map(|row| row.iter().map(figure).collect())
    }

    /// One figure: none where the paper has no such row or column.
    pub fn figure(&self, metric: ScoreKind, data: &str, method: &str) -> Option<Figure> {
        let column = self.methods.iter().position(|name| name == method)?;
        self.row(metric, data).map(|row| row[column])
    }

    /// Rows, features and classes of a data set.
    pub fn size(&self, data: &str) -> Option<(usize, usize, usize)> {
        self.size.get(data).copied()
    }

    /// Names of the data sets.
    pub fn data(&self) -> impl Iterator<Item = &String> {
        self.nmi.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::averages;

    /// The paper prints averages below its tables: a check of the figures and of our ranks at once.
    #[test]
    fn averages_and_ranks_are_those_that_the_paper_prints() {
        let printed = Printed::tables();
        assert_eq!(printed.methods.len(), 10);
        assert!(printed.data().all(|data| printed.size(data).is_some()));
        let expected = [
            (
                ScoreKind::Nmi,
                [26.03, 41.03, 43.31, 32.76, 41.53, 34.42, 25.87, 54.77],
                [6.88, 5.25, 5.63, 5.13, 5.13, 7.13, 4.75, 6.63, 5.88, 1.13],
            ),
            (
                ScoreKind::Acc,
                [29.54, 38.68, 42.40, 37.01, 38.45, 38.70, 29.14, 50.91],
                [7.50, 5.25, 5.50, 6.00, 5.25, 6.25, 5.00, 5.63, 5.75, 1.38],
            ),
            (
                ScoreKind::Pur,
                [31.90, 43.13, 45.19, 39.36, 43.83, 41.42, 30.87, 54.62],
                [7.13, 4.75, 5.88, 5.38, 5.75, 6.25, 4.63, 6.38, 5.88, 1.50],
            ),
        ];
        for (metric, scores, ranks) in expected {
            let rows: Vec<Vec<f64>> = printed
                .data()
                .map(|data| {
                    let row = printed.row(metric, data).unwrap();
                    row.iter().map(|figure| figure.map_or(f64::NAN, |(mean, _)| mean)).collect()
                })
                .collect();
            assert_eq!(rows.len(), 8);
            let found = averages(&rows);
            // SSC and ESCG have gaps, and so no mean.
            assert!(found[..2].iter().all(|(score, _)| score.is_none()));
            for ((score, _), expected) in found[2..].iter().zip(scores) {
                assert!(
                    (score.unwrap() - expected).abs() < 0.0051,
                    "{metric:?}: {score:?} {expected}"
                );
            }
            for ((_, rank), expected) in found.iter().zip(ranks) {
                assert!((rank - expected).abs() < 0.0051, "{metric:?}: {rank} {expected}");
            }
        }
    }
}
