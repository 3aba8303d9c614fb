//! The rows that stand for their cluster: those nearest to its mean, in the scaled space.

use crate::model::Prediction;
use crate::params::check::check_weights;
use obcut_core::block::Scratch;
use obcut_core::error::{Error, ParamError};
use obcut_core::linalg::simd::dot;
use obcut_core::parallel::Context;
use obcut_core::table::Table;

/// A row with its squared distance to the mean of its cluster.
type NearRow = (f64, u32);

impl Prediction<'_> {
    /// For every cluster the `count` rows nearest to its mean in the scaled space, the nearest first.
    /// Sparse rows stay sparse.
    ///
    /// # Errors
    /// When labels or weights do not fit the rows, or as [`Self::labels`].
    pub fn medoids(
        &self,
        labels: &[u32],
        weights: Option<&[f64]>,
        count: usize,
    ) -> Result<Vec<Vec<u32>>, Error> {
        let (n, k) = (self.samples.n_rows(), self.model.n_clusters());
        check_labels(labels, n, k)?;
        check_weights(weights, n)?;
        Context::run(self.threads, self.observer, |context| {
            self.model.check(&self.samples, &context)?;
            self.samples.with_columns_of(self.model.columns.as_ref(), |samples| {
                let table = Table::new(*samples, &self.model.scaling);
                let means = means(&table, labels, weights, k, &context)?;
                nearest(&table, labels, &means, k, count, &context)
            })
        })
    }
}

fn check_labels(labels: &[u32], n: usize, k: usize) -> Result<(), ParamError> {
    if labels.len() != n {
        return Err(ParamError::Length { name: "labels", found: labels.len(), expected: n });
    }
    match labels.iter().find(|&&label| label as usize >= k) {
        Some(label) => Err(ParamError::Range {
            name: "label",
            value: label.to_string(),
            expected: format!("less than the number of clusters, {k}"),
        }),
        None => Ok(()),
    }
}

/// Means of the clusters, k × d; zeros where a cluster has no weight.
fn means(
    table: &Table<'_>,
    labels: &[u32],
    weights: Option<&[f64]>,
    k: usize,
    context: &Context<'_>,
) -> Result<Vec<f64>, Error> {
    let d = table.d();
    let (mut sums, mut totals) = (vec![0.0; k * d], vec![0.0; k]);
    context.fold_large(
        table.n(),
        |range| {
            let (mut sums, mut totals) = (vec![0.0; k * d], vec![0.0; k]);
            let mut scratch = Scratch::default();
            for i in range {
                let (j, w) = (labels[i] as usize, weights.map_or(1.0, |w| w[i]));
                table.add_row(i, w, &mut sums[j * d..(j + 1) * d], &mut scratch);
                totals[j] += w;
            }
            (sums, totals)
        },
        |(part, weight)| {
            sums.iter_mut().zip(part).for_each(|(a, b)| *a += b);
            totals.iter_mut().zip(weight).for_each(|(a, b)| *a += b);
        },
    )?;
    for (sum, &total) in sums.chunks_exact_mut(d).zip(&totals) {
        if total > 0.0 {
            table.finish_sum(total, sum);
            sum.iter_mut().for_each(|s| *s /= total);
        }
    }
    Ok(sums)
}

fn nearest(
    table: &Table<'_>,
    labels: &[u32],
    means: &[f64],
    k: usize,
    count: usize,
    context: &Context<'_>,
) -> Result<Vec<Vec<u32>>, Error> {
    let d = table.d();
    let terms: Vec<(f64, f64)> =
        means.chunks_exact(d).map(|mean| (table.shared_product(mean), dot(mean, mean))).collect();
    let mut best: Vec<Vec<NearRow>> = vec![Vec::new(); k];
    context.fold(
        table.n(),
        |range| {
            let mut best: Vec<Vec<NearRow>> = vec![Vec::new(); k];
            let mut scratch = Scratch::default();
            for i in range {
                let j = labels[i] as usize;
                let mean = &means[j * d..(j + 1) * d];
                let distance = table.squared_distance(i, mean, terms[j], &mut scratch);
                insert(&mut best[j], (distance, i as u32), count);
            }
            best
        },
        |part| {
            for (all, part) in best.iter_mut().zip(part) {
                part.into_iter().for_each(|near| insert(all, near, count));
            }
        },
    )?;
    Ok(best.into_iter().map(|near| near.into_iter().map(|(_, i)| i).collect()).collect())
}

/// Keeps the `count` smallest, in order; of equal ones the first row comes first.
fn insert(best: &mut Vec<NearRow>, near: NearRow, count: usize) {
    let at = best.partition_point(|b| b.0.total_cmp(&near.0).then(b.1.cmp(&near.1)).is_lt());
    if at < count {
        best.insert(at, near);
        best.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use crate::fit::fit;
    use crate::params::Params;
    use crate::synthetic;
    use obcut_core::matrix::{CsrRef, DenseRef, Ints};
    use obcut_core::observer::Silent;

    #[test]
    fn the_row_in_the_middle_comes_first_dense_or_sparse() {
        // Two lines of five points each; the third of a line is its mean.
        let x: Vec<f64> =
            (0..10).flat_map(|i| [f64::from(i % 5), f64::from(i / 5) * 40.0]).collect();
        let dense = DenseRef::new(&x, 10, 2).unwrap().into();
        let model = fit(&dense, None, &Params::new(2), &Silent).unwrap().into_model();
        let labels: Vec<u32> = (0..10).map(|i| i / 5).collect();
        let typical = |samples, weights| {
            model.on(samples).unwrap().threads(1).medoids(&labels, weights, 3).unwrap()
        };
        assert_eq!(typical(&dense, None), [[2, 1, 3], [7, 6, 8]]);
        let offsets: Vec<i64> = (0..=10).map(|i| 2 * i).collect();
        let columns: Vec<i64> = (0..20).map(|i| i % 2).collect();
        let (offsets, columns) = (Ints::I64(&offsets), Ints::I64(&columns));
        let sparse = CsrRef::new(offsets, columns, &x, 2).unwrap().into();
        assert_eq!(typical(&sparse, None), typical(&dense, None));
        // All the weight at the end of a line moves its mean there.
        let mut weights = [1e-6; 10];
        weights[4] = 1.0;
        assert_eq!(typical(&dense, Some(&weights))[0], [4, 3, 2]);
    }

    #[test]
    fn threads_do_not_matter_and_labels_are_checked() {
        let data = synthetic::blobs(3_000, 4, 3, 0.5, 1);
        let samples = data.matrix.samples().unwrap();
        let found = fit(&samples, None, &Params::new(3), &Silent).unwrap();
        let at = |threads| {
            found
                .model()
                .on(&samples)
                .unwrap()
                .threads(threads)
                .medoids(&found.labels(), None, 5)
                .unwrap()
        };
        assert_eq!(at(1), at(3));
        assert!(at(1).iter().all(|rows| rows.len() == 5));
        let few = found.model().on(&samples).unwrap().medoids(&[0, 1], None, 5);
        assert!(few.is_err());
    }
}
