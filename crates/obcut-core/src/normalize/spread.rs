//! Where most values of a column lie: quantiles from a sample of the rows.
//!
//! The sample holds the distinct rows with the smallest hashes of their content, each with the weight of
//! all its copies, so it follows neither the order of the rows nor whether copies are weights.

use std::collections::BTreeMap;

use crate::block::Scratch;
use crate::error::Error;
use crate::matrix::Samples;
use crate::normalize::Scaling;
use crate::parallel::Context;
use crate::random::Stream;
use crate::table::Table;

/// Distinct rows of the sample at most.
const SAMPLE: usize = 4096;
/// Share of its range that nearly all values of a column lie in for it to count as a sliver.
const SLIVER: f64 = 0.1;
/// Nearly all values: those between these quantiles. Wider ones call columns slivers that are zero in most
/// rows, such as pixels at the border of a picture.
const MOST: (f64, f64) = (0.01, 0.99);

/// Quantiles of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// The smallest of the usual values: the first percentile.
    pub low: f64,
    /// The first quartile.
    pub first: f64,
    /// The third quartile.
    pub third: f64,
    /// The largest of the usual values: the 99th percentile.
    pub high: f64,
}

/// A column most of whose values lie in a sliver of its range.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sliver {
    /// The column.
    pub column: usize,
    /// Share of the range that 98 % of the values lie in.
    pub share: f64,
}

impl Quantiles {
    /// The span of nearly all values, as wide as the range of evenly spread ones.
    pub fn span(&self) -> f64 {
        (self.high - self.low) / (MOST.1 - MOST.0)
    }

    /// The share of a range that nearly all values lie in, if it is a sliver. Columns that have one value in
    /// most rows, as a pixel at the border of a picture, are none: their rare values are what they say.
    pub fn sliver(&self, column: usize, range: f64) -> Option<Sliver> {
        let share = (self.high - self.low) / range;
        let varies = self.third > self.first;
        (varies && share > 0.0 && share < SLIVER).then_some(Sliver { column, share })
    }
}

/// Quantiles of every column.
pub fn quantiles(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    context: &Context<'_>,
) -> Result<Vec<Quantiles>, Error> {
    let (n, d) = (samples.n_rows(), samples.n_cols());
    let rows = sample(samples, weights, context)?;
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let mut columns: Vec<Vec<(f64, f64)>> = vec![Vec::with_capacity(rows.len()); d];
    let mut row = vec![0.0; d];
    for &(i, w) in &rows {
        debug_assert!(i < n);
        row.fill(0.0);
        samples.each(i, |f, v| row[f] = v);
        columns.iter_mut().zip(&row).for_each(|(column, &v)| column.push((v, w)));
    }
    context.each(d, |f| {
        let mut column = columns[f].clone();
        column.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let at = |share: f64| {
            let mut passed = 0.0;
            for &(value, w) in &column {
                passed += w;
                if passed >= share * total {
                    return value;
                }
            }
            column.last().map_or(0.0, |last| last.0)
        };
        Quantiles { low: at(MOST.0), first: at(0.25), third: at(0.75), high: at(MOST.1) }
    })
}

/// Rows of the sample with the weight of all their copies.
fn sample(
    samples: &Samples<'_>,
    weights: Option<&[f64]>,
    context: &Context<'_>,
) -> Result<Vec<(usize, f64)>, Error> {
    let n = samples.n_rows();
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    if n <= SAMPLE {
        return Ok((0..n).map(|i| (i, weight(i))).filter(|r| r.1 > 0.0).collect());
    }
    let identity = Scaling::identity(samples.n_cols());
    let table = Table::new(*samples, &identity);
    let stream = Stream::new(0).named("quantiles");
    let mut ranks = vec![0u64; n];
    context.map_into(n, &mut ranks, 1, |range, out| {
        let mut scratch = Scratch::default();
        range.zip(out).for_each(|(i, out)| *out = stream.rank(table.key(i, &mut scratch)));
    })?;
    let mut kept: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
    for (i, &rank) in ranks.iter().enumerate() {
        let w = weight(i);
        if w <= 0.0 {
            continue;
        }
        let full = kept.len() >= SAMPLE;
        if full && kept.last_key_value().is_some_and(|last| rank > *last.0) {
            continue;
        }
        kept.entry(rank).and_modify(|e| e.1 += w).or_insert((i, w));
        if kept.len() > SAMPLE {
            kept.pop_last();
        }
    }
    Ok(kept.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::DenseRef;
    use crate::observer::Silent;

    #[test]
    fn quantiles_of_a_sample_are_near_those_of_all_rows_and_copies_are_weights() {
        let n = 20_000;
        let x: Vec<f64> = (0..n).map(|i| ((i * 7919) % n) as f64).collect();
        let context = Context::new(2, &Silent).unwrap();
        let all: Samples<'_> = DenseRef::new(&x, n, 1).unwrap().into();
        let found = quantiles(&all, None, &context).unwrap()[0];
        for (value, share) in
            [(found.low, 0.01), (found.first, 0.25), (found.third, 0.75), (found.high, 0.99)]
        {
            assert!((value / n as f64 - share).abs() < 0.02, "{value} {share}");
        }
        let twice: Vec<f64> = x.iter().chain(&x).copied().collect();
        let twice: Samples<'_> = DenseRef::new(&twice, 2 * n, 1).unwrap().into();
        assert_eq!(quantiles(&twice, None, &context).unwrap()[0], found);
        let weights = vec![2.0; n];
        assert_eq!(quantiles(&all, Some(&weights), &context).unwrap()[0], found);
    }

    #[test]
    fn one_huge_value_makes_a_sliver_and_a_sparse_column_does_not() {
        let mut x: Vec<f64> = (0..100).map(f64::from).collect();
        x[50] = 1e6;
        let context = Context::new(1, &Silent).unwrap();
        let samples: Samples<'_> = DenseRef::new(&x, 100, 1).unwrap().into();
        let found = quantiles(&samples, None, &context).unwrap()[0];
        assert!(found.sliver(0, 1e6).is_some());
        assert!((found.span() - 100.0).abs() < 5.0, "{found:?}");
        let sparse: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i == 3))).collect();
        let samples: Samples<'_> = DenseRef::new(&sparse, 100, 1).unwrap().into();
        assert!(quantiles(&samples, None, &context).unwrap()[0].sliver(0, 1.0).is_none());
    }
}
