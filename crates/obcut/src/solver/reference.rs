//! A table without clusters, made from the rows of another: what the path over k is compared with.
//!
//! Every row of it is the mean plus [`TERMS`] rows drawn at random, less the mean, with random signs and
//! divided by the root of their number. Such sums have the mean and the covariance of the rows and are
//! nearly normal, so the table has the size, the axes and the spread of the data in one group. Nothing of
//! the size of a covariance matrix is built, so wide tables cost no more than others.

use obcut_core::block::Scratch;
use obcut_core::error::Error;
use obcut_core::kmeans::Weighted;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;

/// Rows that are added up to a row of the reference.
const TERMS: usize = 24;

/// The rows of a reference.
pub(crate) struct Made {
    /// Rows × d, row-major.
    pub values: Vec<f64>,
    pub weights: Vec<f64>,
    pub keys: Vec<u64>,
}

/// Makes a reference of `count` rows, no more than there are. Rows are drawn by their weights and keys.
pub(crate) fn reference(
    rows: &Weighted<'_, '_>,
    count: usize,
    stream: Stream,
    context: &Context<'_>,
) -> Result<Made, Error> {
    let (n, d) = (rows.table.n(), rows.table.d());
    // Sums run in the order of the keys, so that they do not depend on the order of the rows.
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&i| rows.keys[i as usize]);
    let mut sum = 0.0;
    let up_to: Vec<f64> = (order.iter())
        .map(|&i| {
            sum += rows.weights[i as usize];
            sum
        })
        .collect();
    let mut mean = vec![0.0; d];
    let mut scratch = Scratch::default();
    for &i in &order {
        rows.table.add_row(i as usize, rows.weights[i as usize] / sum, &mut mean, &mut scratch);
    }
    let scale = 1.0 / (TERMS as f64).sqrt();
    let mut values = vec![0.0; count * d];
    context.map_into(count, &mut values, d, |range, out| {
        let mut scratch = Scratch::default();
        for (j, out) in range.zip(out.chunks_exact_mut(d)) {
            let stream = stream.nth(j);
            let mut of_mean = 1.0;
            for term in 0..TERMS as u64 {
                let at = up_to.partition_point(|&up| up <= stream.uniform(2 * term) * sum);
                let sign = if stream.rank(2 * term + 1) & 1 == 0 { scale } else { -scale };
                rows.table.add_row(order[at.min(n - 1)] as usize, sign, out, &mut scratch);
                of_mean -= sign;
            }
            out.iter_mut().zip(&mean).for_each(|(v, m)| *v += of_mean * m);
        }
    })?;
    let keys = (0..count as u64).map(|j| stream.named("keys").rank(j)).collect();
    let weights = order[..count].iter().map(|&i| rows.weights[i as usize]).collect();
    Ok(Made { values, weights, keys })
}

#[cfg(test)]
mod tests {
    use super::*;
    use obcut_core::matrix::DenseRef;
    use obcut_core::normalize::Scaling;
    use obcut_core::observer::Silent;
    use obcut_core::table::Table;

    #[test]
    fn a_reference_keeps_mean_and_covariance_and_does_not_depend_on_the_order() {
        let n = 3000;
        // Two groups far apart along the first axis; the second follows the first.
        let noise = Stream::new(1).values(2 * n);
        let x: Vec<f64> = (0..n)
            .flat_map(|i| {
                let a = 5.0 + if i % 2 == 0 { 3.0 } else { -3.0 } + noise[2 * i];
                [a, 0.5 * a + noise[2 * i + 1]]
            })
            .collect();
        let keys: Vec<u64> = (0..n as u64).map(obcut_core::random::mix).collect();
        let make = |x: &[f64], keys: &[u64]| {
            let scaling = Scaling::identity(2);
            let table = Table::new(DenseRef::new(x, n, 2).unwrap().into(), &scaling);
            let rows = Weighted { table: &table, weights: &vec![1.0; n], keys };
            reference(&rows, n, Stream::new(7), &Context::new(1, &Silent).unwrap()).unwrap().values
        };
        let made = make(&x, &keys);
        let moments = |x: &[f64]| {
            let mean = |f: &dyn Fn(&[f64]) -> f64| x.chunks(2).map(f).sum::<f64>() / n as f64;
            let (a, b) = (mean(&|r| r[0]), mean(&|r| r[1]));
            let product = |f: usize, g: usize| mean(&|r| (r[f] - [a, b][f]) * (r[g] - [a, b][g]));
            [a, b, product(0, 0), product(0, 1), product(1, 1)]
        };
        for (found, wanted) in moments(&made).iter().zip(moments(&x)) {
            assert!((found - wanted).abs() < 0.1 * wanted, "{found} instead of {wanted}");
        }
        // The gap between the groups is filled.
        let between = |x: &[f64]| x.chunks(2).filter(|r| (r[0] - 5.0).abs() < 1.0).count();
        assert!(between(&x) == 0 && between(&made) > n / 10);
        let rotated: Vec<f64> = x.chunks(2).rev().flatten().copied().collect();
        let turned_keys: Vec<u64> = keys.iter().rev().copied().collect();
        assert_eq!(make(&rotated, &turned_keys), made);
    }
}
