//! What every method starts from and ends with: checked and scaled rows in, numbered labels out.

use crate::{Clustering, Run};
use obcut::{DenseRef, Error, Observer, ParamError, Samples, Scale, Stage, Warning};
use obcut_core::normalize::Scaling;
use obcut_core::observer::Clock;
use obcut_core::parallel::Context;
use obcut_core::random::Stream;
use obcut_core::reduce::{self, RankReduced};
use obcut_core::table::Table;

/// Rows, and all that is needed to work on them.
pub(crate) struct Job<'a> {
    /// The rows, scaled.
    pub table: &'a Table<'a>,
    pub n: usize,
    pub d: usize,
    /// Clusters asked for.
    pub k: usize,
    pub stream: Stream,
    pub context: &'a Context<'a>,
    pub clock: Clock,
    pub warnings: Vec<Warning>,
}

impl Job<'_> {
    /// Runs a part of the work and books its time.
    pub fn time<R>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.context.report(stage, 0, 0, None)?;
        let mut clock = std::mem::take(&mut self.clock);
        let result = clock.time(stage, || work(self));
        self.clock = clock;
        result
    }
}

/// How the rows are prepared.
#[derive(Clone, Copy)]
pub(crate) struct Preparation {
    pub scale: Scale,
    /// Whether the rows may be moved: true for methods that go by distances, which then keep more
    /// digits; false for those that go by inner products.
    pub may_move: bool,
    /// Whether the axes may be rotated: true for methods that go by distances or inner products, which
    /// a wide table then gives in as many columns as it has rows; false for those that look at single features.
    pub allow_rotation: bool,
}

/// Runs a method: checks, scales, works, numbers the labels.
pub(crate) fn run(
    samples: &Samples<'_>,
    k: usize,
    run: &Run,
    observer: &dyn Observer,
    preparation: Preparation,
    work: impl FnOnce(&mut Job<'_>) -> Result<Vec<u32>, Error> + Send,
) -> Result<Clustering, Error> {
    samples.check_clusters(k)?;
    let n = samples.n_rows();
    samples.with_stored_columns(None, |samples, _| {
        Context::run(run.threads, observer, |context| {
            let mut clock = Clock::default();
            context.report(Stage::Prepare, 0, 0, None)?;
            let scaling = clock.time(Stage::Prepare, || scaling(samples, preparation, &context))?;
            let full = Table::new(*samples, &scaling);
            // Half of the memory: the method itself needs some.
            let turn = preparation.allow_rotation
                && RankReduced::pays(&full)
                && RankReduced::bytes(&full, context.n_threads()) <= 0.5 * run.memory as f64;
            let rotated = clock.time(Stage::Prepare, || match turn {
                true => reduce::rotated(&full, &context),
                false => Ok(None),
            })?;
            let as_it_is = Scaling::identity(rotated.as_ref().map_or(0, |(_, d)| *d));
            let table = match &rotated {
                Some((rows, d)) => Table::new(DenseRef::new(rows, n, *d)?.into(), &as_it_is),
                None => full,
            };
            let (stream, d) = (Stream::new(run.seed), table.d());
            let (context, warnings) = (&context, Vec::new());
            let mut job = Job { table: &table, n, d, k, stream, context, clock, warnings };
            let labels = if k == 1 { vec![0; n] } else { work(&mut job)? };
            Ok(finish(labels, job))
        })
    })
}

fn scaling(
    samples: &Samples<'_>,
    Preparation { scale, may_move, .. }: Preparation,
    context: &Context<'_>,
) -> Result<Scaling, Error> {
    if may_move {
        Scaling::fit(samples, None, scale, context)
    } else {
        Scaling::unmoved(samples, scale, context)
    }
}

/// Numbers the labels without gaps and warns when there are fewer than asked for.
fn finish(mut labels: Vec<u32>, job: Job<'_>) -> Clustering {
    let mut number: Vec<Option<u32>> =
        vec![None; labels.iter().max().map_or(0, |&l| l as usize + 1)];
    labels.iter().for_each(|&l| number[l as usize] = Some(0));
    let mut n_clusters = 0;
    for slot in number.iter_mut().flatten() {
        *slot = n_clusters;
        n_clusters += 1;
    }
    for label in &mut labels {
        *label = number[*label as usize].unwrap_or_default();
    }
    let mut warnings = job.warnings;
    if (n_clusters as usize) < job.k {
        warnings.push(Warning::FewerClusters { found: n_clusters as usize, wanted: job.k });
    }
    Clustering { labels, n_clusters: n_clusters as usize, seconds: job.clock.finish(), warnings }
}

/// An error when a method would need more memory than it may use.
pub(crate) fn check_memory(
    method: &'static str,
    needed: f64,
    n_samples: usize,
    run: &Run,
) -> Result<(), Error> {
    if needed > run.memory as f64 {
        let (needed, limit) = (needed as u64, run.memory);
        return Err(ParamError::Memory { method, needed, limit, n_samples }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use obcut::{Matrix, Silent};

    use super::*;

    /// Columns and inner products of the rows that a method gets to see.
    fn seen(matrix: &Matrix, allow_rotation: bool, run: &Run) -> (usize, Vec<f64>) {
        let preparation = Preparation { scale: Scale::None, may_move: false, allow_rotation };
        let mut out = (0, Vec::new());
        let samples = matrix.samples().unwrap();
        super::run(&samples, 2, run, &Silent, preparation, |job| {
            let rows: Vec<Vec<f64>> = (0..job.n)
                .map(|i| {
                    let mut row = vec![0.0; job.d];
                    job.table.row(i, &mut row);
                    row
                })
                .collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            out = (job.d, rows.iter().flat_map(|a| rows.iter().map(|b| dot(a, b))).collect());
            Ok((0..job.n as u32).map(|i| i % 2).collect())
        })
        .unwrap();
        out
    }

    #[test]
    fn a_wide_table_is_turned_where_the_method_and_the_memory_allow() {
        let (n, d) = (40, 200);
        let mut values = Stream::new(4).values(n * d);
        values.copy_within(0..d, 7 * d);
        let matrix = Matrix::Dense64 { values, n_rows: n, n_cols: d };
        let run = Run::default();
        let (columns, products) = seen(&matrix, false, &run);
        let (fewer, same) = seen(&matrix, true, &run);
        assert_eq!((columns, fewer), (d, n - 1), "one row is there twice");
        let largest = products.iter().copied().fold(0.0, f64::max);
        assert!(products.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-10 * largest));
        let poor = Run { memory: 1000, ..run };
        assert_eq!(seen(&matrix, true, &poor).0, d);
    }
}
