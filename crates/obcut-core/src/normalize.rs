//! Scaling of the features: fitted on the training rows, reused by predict.
//!
//! Every scaling also moves the mean of the rows to the origin. That changes nothing (rows of B sum
//! to one, so the whole method is blind to translation) and keeps the digits that `|x - a|^2` would
//! lose far from the origin. For sparse rows the move stays implicit: zeros are never stored.
//!
//! Differs from the authors' program: a constant feature becomes 0 here and 1 there, which is the
//! same to the method for the reason above.

mod columns;
mod spread;

use crate::error::{DataError, Error};
use crate::linalg::simd::vectorised;
use crate::matrix::Samples;
use crate::parallel::Context;
pub use crate::scaling::{Scale, Scaling};
pub use columns::{ColumnStatistics, Entries, SecondPass};

pub use spread::{Quantiles, Sliver, quantiles};

/// Share of zeros above which non-negative data count as sparse counts.
const SPARSE_COUNTS: f64 = 0.95;
/// Larger magnitudes overflow when they are squared and summed.
const LIMIT: f64 = 1e150;
/// The same for single precision that is not rescaled.
const LIMIT_F32: f64 = 1e15;

impl Scaling {
    /// Fits the scaling on the rows of positive weight, after checking that every value is finite.
    pub fn fit(
        samples: &Samples<'_>,
        weights: Option<&[f64]>,
        kind: Scale,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        Ok(Self::fit_and_look(samples, weights, kind, context)?.0)
    }

    /// The same, with the columns most of whose values lie in a sliver of their range.
    pub fn fit_and_look(
        samples: &Samples<'_>,
        weights: Option<&[f64]>,
        kind: Scale,
        context: &Context<'_>,
    ) -> Result<(Self, Vec<Sliver>), Error> {
        let (mut scaling, columns) = match samples {
            Samples::Dense32(x) => fit(x, weights, kind, context, true)?,
            Samples::Dense64(x) => fit(x, weights, kind, context, false)?,
            Samples::Sparse32(x) => fit(x, weights, kind, context, false)?,
            Samples::Sparse64(x) => fit(x, weights, kind, context, false)?,
        };
        if !scaling.needs_quantiles(samples) {
            return Ok((scaling, Vec::new()));
        }
        let found = quantiles(samples, weights, context)?;
        let slivers = scaling.take_quantiles(kind, &found, (&columns.min, &columns.max));
        Ok((scaling, slivers))
    }

    /// Whether quantiles change the scaling, or warn of columns with values far away.
    pub fn needs_quantiles(&self, samples: &Samples<'_>) -> bool {
        match self.kind {
            Scale::Robust => true,
            Scale::MinMax => !samples.is_sparse(),
            _ => false,
        }
    }

    /// Brings quantiles in: all features of a robust scaling are measured by their quartiles; of an
    /// automatic min-max scaling those by the span of most values that have a few far away. Returns
    /// the latter.
    pub fn take_quantiles(
        &mut self,
        asked: Scale,
        found: &[Quantiles],
        (min, max): (&[f64], &[f64]),
    ) -> Vec<Sliver> {
        let inverse = |span: f64| (span > 0.0).then(|| (1.0 / span).min(f64::MAX));
        let mut slivers = Vec::new();
        for (f, quantiles) in found.iter().enumerate() {
            let range = max[f] - min[f];
            let sliver = quantiles.sliver(f, range);
            if self.kind == Scale::Robust {
                // Where the quartiles are equal, the span of most values, then the range.
                let span = inverse(quantiles.third - quantiles.first)
                    .or_else(|| inverse(quantiles.span()));
                self.factor[f] = span.unwrap_or(self.factor[f]);
            } else if let Some(sliver) = sliver {
                slivers.push(sliver);
                if asked == Scale::Auto {
                    self.factor[f] = inverse(quantiles.span()).unwrap_or(self.factor[f]);
                }
            }
        }
        slivers
    }

    /// The same without moving the mean to the origin, for methods that go by inner products.
    pub fn unmoved(
        samples: &Samples<'_>,
        kind: Scale,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let mut scaling = Self::fit(samples, None, kind, context)?;
        match scaling.kind {
            Scale::MinMax | Scale::Robust => scaling.shift = minima(samples, context)?,
            // The mean is what the standard scaling takes away.
            Scale::Standard => {}
            _ => scaling.shift.fill(0.0),
        }
        Ok(scaling)
    }
}

/// The smallest value of every feature.
fn minima(samples: &Samples<'_>, context: &Context<'_>) -> Result<Vec<f64>, Error> {
    let (n, d) = (samples.n_rows(), samples.n_cols());
    let mut all = vec![(f64::INFINITY, 0usize); d];
    context.fold(
        n,
        |rows| {
            let mut part = vec![(f64::INFINITY, 0usize); d];
            for i in rows {
                samples.each(i, |f, v| part[f] = (part[f].0.min(v), part[f].1 + 1));
            }
            part
        },
        |part| {
            for (all, part) in all.iter_mut().zip(part) {
                *all = (all.0.min(part.0), all.1 + part.1);
            }
        },
    )?;
    // Entries that are not stored are zeros.
    Ok(all.into_iter().map(|(least, seen)| if seen < n { least.min(0.0) } else { least }).collect())
}

/// An error that names the first value that is not finite, if there is one.
pub fn check_finite(samples: &Samples<'_>, context: &Context<'_>) -> Result<(), Error> {
    match samples {
        Samples::Dense32(x) => finite(x, context),
        Samples::Dense64(x) => finite(x, context),
        Samples::Sparse32(x) => finite(x, context),
        Samples::Sparse64(x) => finite(x, context),
    }
}

/// The same on this thread, for a piece of the rows.
pub fn check_row_by_row(samples: &Samples<'_>) -> Result<(), Error> {
    let mut faults = Faults::default();
    (0..samples.n_rows()).for_each(|i| samples.each(i, |f, v| faults.see(i, f, v)));
    faults.judged()
}

/// Values that cannot be used.
#[derive(Default)]
struct Faults {
    /// How many are not finite.
    count: usize,
    /// Row, column and value of the first of them,
    first: Option<(usize, usize, f64)>,
    /// and of the first that is too large.
    large: Option<(usize, usize, f64)>,
}

impl Faults {
    #[inline(always)]
    fn see(&mut self, row: usize, col: usize, value: f64) {
        if !value.is_finite() {
            self.count += 1;
            self.first = self.first.or(Some((row, col, value)));
        } else if value.abs() > LIMIT {
            self.large = self.large.or(Some((row, col, value)));
        }
    }

    /// Takes in those of later rows.
    fn merge(&mut self, later: Self) {
        self.count += later.count;
        self.first = self.first.or(later.first);
        self.large = self.large.or(later.large);
    }

    fn judged(&self) -> Result<(), Error> {
        match (self.first, self.large) {
            (Some((row, col, value)), _) => {
                Err(DataError::NotFinite { row, col, value, count: self.count }.into())
            }
            (None, Some((row, col, value))) => {
                Err(DataError::TooLarge { row, col, value, limit: LIMIT }.into())
            }
            (None, None) => Ok(()),
        }
    }
}

fn finite<E: Entries>(x: &E, context: &Context<'_>) -> Result<(), Error> {
    let mut all = Faults::default();
    context.fold(
        x.shape().0,
        |rows| {
            let mut part = Faults::default();
            rows.for_each(|i| x.entries(i, |f, v| part.see(i, f, v)));
            part
        },
        |part| all.merge(part),
    )?;
    all.judged()
}

fn fit<E: Entries>(
    x: &E,
    weights: Option<&[f64]>,
    kind: Scale,
    context: &Context<'_>,
    single: bool,
) -> Result<(Scaling, ColumnStatistics), Error> {
    let (n, d) = x.shape();
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let limit = limit(single, kind);
    let mut columns = ColumnStatistics::new(d, x.n_folded());
    context.fold(
        n,
        |rows| {
            let mut part = ColumnStatistics::new(d, x.n_folded());
            vectorised(
                #[inline(always)]
                || rows.for_each(|i| part.add_row(x, (i, i as u64), weight(i), limit)),
            );
            part
        },
        |part| columns.merge(&part),
    )?;
    columns.settle(limit)?;
    let kind = columns.kind(kind);
    let largest = weights.map_or(1.0, |w| w.iter().fold(0.0, |a: f64, &b| a.max(b)));
    let second = SecondPass::new(kind, &columns, largest, n);
    if second.is_empty() {
        return Ok((columns.scaling(kind, second.mean, &[]), columns));
    }
    let mut total = Vec::new();
    context.fold(
        n,
        |rows| second.run(x, rows, weight),
        |part| {
            total.resize(part.len(), 0);
            total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        },
    )?;
    let values = second.values(&total);
    Ok((columns.scaling(kind, second.mean, &values), columns))
}

/// The largest magnitude that is accepted.
pub fn limit(single: bool, kind: Scale) -> f64 {
    if single && kind == Scale::None { LIMIT_F32 } else { LIMIT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CsrRef, DenseRef, Ints};
    use crate::observer::Silent;
    use crate::table::Table;

    fn scaled(
        samples: Samples<'_>,
        weights: Option<&[f64]>,
        kind: Scale,
    ) -> (Scale, Vec<Vec<f64>>) {
        let context = Context::new(2, &Silent).unwrap();
        let scaling = Scaling::fit(&samples, weights, kind, &context).unwrap();
        let table = Table::new(samples, &scaling);
        let rows = (0..table.n())
            .map(|i| {
                let mut row = vec![0.0; table.d()];
                table.row(i, &mut row);
                row
            })
            .collect();
        (scaling.kind, rows)
    }

    #[test]
    fn min_max_spans_one_and_ignores_absent_rows_and_constants() {
        let x = [0.0, 7.0, 10.0, 7.0, 5.0, 7.0, 1e9, 9.0];
        let x = DenseRef::new(&x, 4, 2).unwrap();
        let (_, rows) = scaled(x.into(), Some(&[1.0, 1.0, 1.0, 0.0]), Scale::MinMax);
        assert!((rows[1][0] - rows[0][0] - 1.0).abs() < 1e-15);
        assert!((rows[2][0] - rows[0][0] - 0.5).abs() < 1e-15);
        assert!(rows.iter().all(|r| r[1] == 0.0));
    }

    #[test]
    fn sparse_rows_scale_as_the_same_rows_stored_dense() {
        // Column 2 is stored in every row, column 1 has negative entries.
        let dense = [0.0, -2.0, 3.0, 1.0, 0.0, 5.0, 0.0, 4.0, 4.0, 2.0, 0.0, 7.0];
        let (offsets, columns) = ([0i32, 2, 4, 6, 8], [1i32, 2, 0, 2, 1, 2, 0, 2]);
        let values = [-2.0, 3.0, 1.0, 5.0, 4.0, 4.0, 2.0, 7.0];
        let sparse = CsrRef::new(Ints::I32(&offsets), Ints::I32(&columns), &values, 3).unwrap();
        for kind in [Scale::MinMax, Scale::Standard, Scale::UnitRows, Scale::None] {
            let (_, a) = scaled(DenseRef::new(&dense, 4, 3).unwrap().into(), None, kind);
            let (_, b) = scaled(sparse.into(), None, kind);
            for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
                assert!((a - b).abs() < 1e-12, "{kind}: {a} {b}");
            }
        }
    }

    #[test]
    fn counts_with_many_zeros_are_scaled_to_unit_rows() {
        let mut x = vec![0.0; 40 * 10];
        for i in 0..10 {
            x[i * 40 + i] = 3.0;
        }
        let (kind, _) = scaled(DenseRef::new(&x, 10, 40).unwrap().into(), None, Scale::Auto);
        assert_eq!(kind, Scale::Idf);
        // Fractions are no counts: they may be weighted already.
        x[0] = 2.5;
        let (kind, _) = scaled(DenseRef::new(&x, 10, 40).unwrap().into(), None, Scale::Auto);
        assert_eq!(kind, Scale::UnitRows);
        x[7] = -1.0;
        let (kind, _) = scaled(DenseRef::new(&x, 10, 40).unwrap().into(), None, Scale::Auto);
        assert_eq!(kind, Scale::MinMax);
    }

    #[test]
    fn rare_words_weigh_more_and_weights_are_copies() {
        // Word 0 is in every document, word 1 in the first alone.
        let x = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let context = Context::new(2, &Silent).unwrap();
        let four: Samples<'_> = DenseRef::new(&x, 4, 2).unwrap().into();
        let scaling = Scaling::fit(&four, None, Scale::Idf, &context).unwrap();
        let idf = |present: f64| (4.0 / present).ln() + 1.0f64;
        assert!((scaling.factor[0] - idf(4.0)).abs() < 1e-15);
        assert!((scaling.factor[1] - idf(1.0)).abs() < 1e-15);
        let two: Samples<'_> = DenseRef::new(&x[..4], 2, 2).unwrap().into();
        let weighted = Scaling::fit(&two, Some(&[1.0, 3.0]), Scale::Idf, &context).unwrap();
        assert_eq!(weighted.factor, scaling.factor);
        let half = Scaling::fit(&two, Some(&[0.5, 1.5]), Scale::Idf, &context).unwrap();
        assert_eq!(half.factor, scaling.factor);
        let table = Table::new(four, &scaling);
        let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
        table.row(0, &mut first);
        table.row(1, &mut second);
        let length = idf(4.0).hypot(idf(1.0));
        assert!((first[0] + scaling.shift[0] - idf(4.0) / length).abs() < 1e-12);
        assert!((first[1] + scaling.shift[1] - idf(1.0) / length).abs() < 1e-12);
        assert!((second[0] + scaling.shift[0] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_few_values_far_away_do_not_stretch_the_automatic_scaling() {
        let mut x: Vec<f64> = (0..1000).map(|i| f64::from(i % 100)).collect();
        x[500] = 1e6;
        let context = Context::new(1, &Silent).unwrap();
        let samples: Samples<'_> = DenseRef::new(&x, 1000, 1).unwrap().into();
        let (auto, slivers) = Scaling::fit_and_look(&samples, None, Scale::Auto, &context).unwrap();
        assert_eq!((auto.kind, slivers.len(), slivers[0].column), (Scale::MinMax, 1, 0));
        assert!((auto.factor[0] - 0.01).abs() < 5e-4, "{}", auto.factor[0]);
        let (named, slivers) =
            Scaling::fit_and_look(&samples, None, Scale::MinMax, &context).unwrap();
        assert_eq!((named.factor[0], slivers.len()), (1e-6, 1));
        // Zero in most rows: the rare values are no accident.
        let rare: Vec<f64> =
            (0..1000).map(|i| if i % 15 == 0 { f64::from(i) / 100.0 } else { 0.0 }).collect();
        let rare: Samples<'_> = DenseRef::new(&rare, 1000, 1).unwrap().into();
        let (plain, slivers) = Scaling::fit_and_look(&rare, None, Scale::Auto, &context).unwrap();
        assert_eq!((plain.factor[0], slivers.len()), (1.0 / 9.9, 0));
        let robust = Scaling::fit(&samples, None, Scale::Robust, &context).unwrap();
        assert!((robust.factor[0] - 0.02).abs() < 1e-3, "{}", robust.factor[0]);
    }

    #[test]
    fn bad_values_are_named_and_counted() {
        let context = Context::new(1, &Silent).unwrap();
        let x = [0.0, 1.0, f64::NAN, 2.0, f64::INFINITY, 3.0];
        let samples = DenseRef::new(&x, 3, 2).unwrap().into();
        match Scaling::fit(&samples, None, Scale::Auto, &context) {
            Err(Error::Data(DataError::NotFinite { row: 1, col: 0, count: 2, .. })) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn standard_scores_keep_their_digits_far_from_the_origin() {
        let near: Vec<f64> = (0..40).map(|i| f64::from(i % 5)).collect();
        let far: Vec<f64> = near.iter().map(|v| v + 1e9).collect();
        let (_, a) = scaled(DenseRef::new(&near, 40, 1).unwrap().into(), None, Scale::Standard);
        let (_, b) = scaled(DenseRef::new(&far, 40, 1).unwrap().into(), None, Scale::Standard);
        for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        let square = a.iter().flatten().map(|v| v * v).sum::<f64>() / 40.0;
        assert!((square - 1.0).abs() < 1e-5, "{square}");
    }

    #[test]
    fn subnormal_columns_are_not_constant() {
        let x = [0.0, 4e-310, 8e-310, 1e-310];
        for kind in [Scale::Auto, Scale::MinMax, Scale::Robust, Scale::Standard] {
            let (_, rows) = scaled(DenseRef::new(&x, 4, 1).unwrap().into(), None, kind);
            assert!(rows.iter().flatten().all(|v| v.is_finite()), "{kind}: {rows:?}");
            assert!(rows[0][0] < rows[3][0] && rows[3][0] < rows[1][0] && rows[1][0] < rows[2][0]);
        }
    }

    #[test]
    fn points_go_there_and_back() {
        let context = Context::new(1, &Silent).unwrap();
        let x = [1.0, 2.0, 3.0, 4.0, 9.0, 2.5];
        let samples = DenseRef::new(&x, 3, 2).unwrap().into();
        let scaling = Scaling::fit(&samples, None, Scale::MinMax, &context).unwrap();
        let mut points = x.to_vec();
        scaling.apply(&mut points);
        scaling.undo(&mut points);
        assert!(points.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
