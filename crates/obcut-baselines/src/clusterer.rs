//! One face for all methods: samples in, labels out.

use obcut::{Error, Fit, OBCut, Observer, Params, Samples, Warning};

/// What every run of every method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Seed of every random choice.
    pub seed: u64,
    /// Threads; 0 uses what the machine allows. Does not change the result.
    pub threads: usize,
    /// Bytes that a method may use beside the samples; one that would need more says so before it starts.
    pub memory: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self { seed: 0, threads: 0, memory: 12 << 30 }
    }
}

/// Labels, and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// Cluster of every row, numbered from 0 without gaps.
    pub labels: Vec<u32>,
    /// Number of clusters found: as many as asked for, or fewer where a method cannot give them.
    pub n_clusters: usize,
    /// Seconds per stage.
    pub seconds: Vec<(String, f64)>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
}

/// A method that clusters samples. Its own settings live in the type that implements it.
pub trait Clusterer: Send + Sync {
    /// Clusters samples into `n_clusters`.
    ///
    /// # Errors
    /// When a setting or the data cannot be used, it would take too much memory, or the observer
    /// cancels.
    fn cluster(
        &self,
        samples: &Samples<'_>,
        n_clusters: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error>;
}

impl From<Fit> for Clustering {
    fn from(fit: Fit) -> Self {
        let (labels, n_clusters) = (fit.labels(), fit.model().n_clusters());
        let (seconds, warnings) = (fit.trace().seconds.clone(), fit.warnings().to_vec());
        Self { labels, n_clusters, seconds, warnings }
    }
}

impl Clusterer for Params {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        n_clusters: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let params = Self { n_clusters, seed: run.seed, threads: run.threads, ..self.clone() };
        Ok(OBCut::from(params).observer(observer).fit(samples)?.into())
    }
}
