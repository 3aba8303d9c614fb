//! Threads that do not change results: fixed chunks, merged in chunk order.
//!
//! Chunk boundaries depend on the number of rows alone, every chunk is worked on by one thread, and
//! partial results are merged by ascending chunk number. So the bits of a sum are the same for one
//! thread or eighty.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::Error;
use crate::observer::{Observer, Progress, Stage};

/// At most this many chunks, so that partial sums stay few when rows are many.
const MAX_CHUNKS: usize = 256;
/// Smaller chunks would cost more in merging than they win in balance.
const MIN_CHUNK: usize = 512;

/// Rows in a chunk (the last one may be shorter): a function of `n` and nothing else.
pub fn chunk_len(n: usize) -> usize {
    n.div_ceil(MAX_CHUNKS).next_multiple_of(64).max(MIN_CHUNK)
}

/// Rows in a chunk whose partial result is large.
fn large_chunk_len(n: usize) -> usize {
    n.div_ceil(MAX_CHUNKS / 4).next_multiple_of(128).max(2 * MIN_CHUNK)
}

/// A private thread pool and the observer of one fit.
pub struct Context<'a> {
    pool: Arc<rayon::ThreadPool>,
    observer: &'a dyn Observer,
    restart: (usize, usize),
    quiet: bool,
}

impl<'a> Context<'a> {
    /// A pool of `threads`; 0 takes what the machine (and its quota) allows.
    pub fn new(threads: usize, observer: &'a dyn Observer) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            // More threads than chunks would idle.
            .num_threads(threads.min(MAX_CHUNKS))
            .thread_name(|i| format!("obcut-{i}"))
            .build()
            .map_err(|e| Error::Threads { n_threads: threads, detail: e.to_string() })?;
        Ok(Self { pool: Arc::new(pool), observer, restart: (0, 1), quiet: false })
    }

    /// Makes a context and runs `work` with it on one of its threads: small pieces of work then start
    /// without waking a thread first.
    pub fn run<R: Send>(
        threads: usize,
        observer: &'a dyn Observer,
        work: impl FnOnce(Self) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        let context = Self::new(threads, observer)?;
        let pool = Arc::clone(&context.pool);
        pool.install(|| work(context))
    }

    /// How many threads there are.
    pub fn n_threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The same threads and observer for work that goes on beside other work: it can be cancelled, but
    /// does not report, since the reports would come in no order.
    pub fn quietly(&self) -> Self {
        Self { pool: Arc::clone(&self.pool), quiet: true, ..*self }
    }

    /// Says which restart the next reports belong to.
    pub fn set_restart(&mut self, number: usize, of: usize) {
        self.restart = (number, of);
    }

    /// Reports progress and returns an error when the observer wants to stop.
    pub fn report(
        &self,
        stage: Stage,
        iteration: usize,
        max_iterations: usize,
        objective: Option<f64>,
    ) -> Result<(), Error> {
        let restart = self.restart;
        if !self.quiet {
            let progress = Progress { stage, iteration, max_iterations, objective, restart };
            self.observer.progress(&progress);
        }
        self.check()
    }

    /// An error when the observer wants to stop.
    pub fn check(&self) -> Result<(), Error> {
        if self.observer.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Maps every chunk of `0..n`; results come in chunk order.
    pub fn map<R: Send>(
        &self,
        n: usize,
        map: impl Fn(Range<usize>) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let len = chunk_len(n);
        self.pool.install(|| {
            (0..n.div_ceil(len))
                .into_par_iter()
                .with_max_len(1)
                .map(|c| self.check().map(|()| map(c * len..((c + 1) * len).min(n))))
                .collect()
        })
    }

    /// Maps every chunk together with its part of `out`, which holds `stride` items per row.
    pub fn map_into<T: Send, R: Send>(
        &self,
        n: usize,
        out: &mut [T],
        stride: usize,
        map: impl Fn(Range<usize>, &mut [T]) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        assert_eq!(out.len(), n * stride, "one part of the output per row");
        let len = chunk_len(n);
        if stride == 0 {
            return Ok(Vec::new());
        }
        self.pool.install(|| {
            out.par_chunks_mut(len * stride)
                .with_max_len(1)
                .enumerate()
                .map(|(c, part)| self.check().map(|()| map(c * len..((c + 1) * len).min(n), part)))
                .collect()
        })
    }

    /// Maps chunks and merges the results by ascending chunk number while others are still computed, so
    /// that only a few partial results exist at once.
    pub fn fold<R: Send>(
        &self,
        n: usize,
        map: impl Fn(Range<usize>) -> R + Sync,
        merge: impl FnMut(R) + Send,
    ) -> Result<(), Error> {
        self.in_order(n, chunk_len(n), |_, range| map(range), merge)
    }

    /// The same for partial results that are large, in fewer chunks.
    pub fn fold_large<R: Send>(
        &self,
        n: usize,
        map: impl Fn(Range<usize>) -> R + Sync,
        merge: impl FnMut(R) + Send,
    ) -> Result<(), Error> {
        self.in_order(n, large_chunk_len(n), |_, range| map(range), merge)
    }

    /// The same together with the chunks' parts of `out`, which holds one item per row.
    pub fn fold_into<T: Send, R: Send>(
        &self,
        n: usize,
        out: &mut [T],
        map: impl Fn(Range<usize>, &mut [T]) -> R + Sync,
        merge: impl FnMut(R) + Send,
    ) -> Result<(), Error> {
        assert_eq!(out.len(), n, "one item of the output per row");
        let len = large_chunk_len(n);
        // Every chunk takes its own part, once.
        let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(len).map(Mutex::new).collect();
        let map = |c: usize, range: Range<usize>| {
            let mut part = parts[c].lock().unwrap_or_else(PoisonError::into_inner);
            map(range, &mut part)
        };
        self.in_order(n, len, map, merge)
    }

    /// Threads take the next chunk each, and whoever holds the one that is due merges it and those
    /// that wait behind it.
    fn in_order<R: Send>(
        &self,
        n: usize,
        len: usize,
        map: impl Fn(usize, Range<usize>) -> R + Sync,
        merge: impl FnMut(R) + Send,
    ) -> Result<(), Error> {
        let n_chunks = n.div_ceil(len);
        let next = AtomicUsize::new(0);
        let merged = Mutex::new((0, BTreeMap::new(), merge));
        let cancelled = AtomicBool::new(false);
        let work = || {
            loop {
                let c = next.fetch_add(1, Ordering::Relaxed);
                if c >= n_chunks || cancelled.load(Ordering::Relaxed) {
                    break;
                }
                if self.check().is_err() {
                    cancelled.store(true, Ordering::Relaxed);
                    break;
                }
                let part = map(c, c * len..((c + 1) * len).min(n));
                let mut guard = merged.lock().unwrap_or_else(PoisonError::into_inner);
                let (due, waiting, merge) = &mut *guard;
                waiting.insert(c, part);
                while let Some(part) = waiting.remove(due) {
                    merge(part);
                    *due += 1;
                }
            }
        };
        let n_threads = self.pool.current_num_threads().min(n_chunks);
        self.pool.install(|| {
            rayon::scope(|scope| (0..n_threads).for_each(|_| scope.spawn(|_| work())));
        });
        if cancelled.into_inner() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Runs `map` for every piece of `out`, `stride` items each. For work that is not by row.
    pub fn each_into<T: Send>(
        &self,
        out: &mut [T],
        stride: usize,
        map: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<(), Error> {
        self.pool.install(|| {
            (out.par_chunks_mut(stride.max(1)).enumerate())
                .try_for_each(|(i, piece)| self.check().map(|()| map(i, piece)))
        })
    }

    /// Runs `map` for every index; results come in order. For work that is not by row.
    pub fn each<R: Send>(
        &self,
        n: usize,
        map: impl Fn(usize) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        self.pool
            .install(|| (0..n).into_par_iter().map(|i| self.check().map(|()| map(i))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    #[test]
    fn chunks_cover_every_row_once_for_any_number_of_threads() {
        for n in [0, 1, 511, 512, 513, 20_000, 200_000] {
            for threads in [1, 3] {
                let context = Context::new(threads, &Silent).unwrap();
                let ranges = context.map(n, |r| r).unwrap();
                assert_eq!(ranges.iter().map(|r| r.len()).sum::<usize>(), n);
                assert!(ranges.windows(2).all(|w| w[0].end == w[1].start));
                assert!(ranges.len() <= MAX_CHUNKS);
            }
        }
    }

    #[test]
    fn a_fold_merges_in_chunk_order() {
        let context = Context::new(4, &Silent).unwrap();
        let mut seen = Vec::new();
        context.fold(30_000, |r| r.start, |start| seen.push(start)).unwrap();
        assert!(seen.is_sorted() && seen.len() == 30_000usize.div_ceil(chunk_len(30_000)));
        let (mut out, mut ends) = (vec![0; 30_000], Vec::new());
        let fill = |range: Range<usize>, part: &mut [usize]| {
            part.iter_mut().zip(range.clone()).for_each(|(p, i)| *p = i);
            range.end
        };
        context.fold_into(30_000, &mut out, fill, |end| ends.push(end)).unwrap();
        assert!(out.iter().enumerate().all(|(i, v)| i == *v));
        assert!(ends.is_sorted() && ends.last() == Some(&30_000));
    }

    #[test]
    fn a_cancelled_observer_ends_the_work() {
        struct No;
        impl Observer for No {
            fn cancelled(&self) -> bool {
                true
            }
        }
        let context = Context::new(2, &No).unwrap();
        assert!(matches!(context.map(10, |r| r.start), Err(Error::Cancelled)));
        assert!(matches!(context.fold(10, |r| r.start, |_| ()), Err(Error::Cancelled)));
    }
}
