//! k-means itself: greedy k-means++ as in scikit-learn, several starts, all rows.

use crate::{Clusterer, Clustering, Run};
use obcut::{Error, Observer, Samples, Scale, Stage};

use crate::configure::{require, settings};
use crate::job::{self, Preparation};
use crate::pieces::means::{Flavour, cluster_rows};

settings! {
    /// Settings of k-means.
    KMeans {
        /// Starts, of which the best is kept
        n_init: usize = 10, "1 or more";
        /// Maximum number of iterations
        iterations: usize = 300, "1 or more";
        /// What is done to the features first
        scale: Scale = Scale::None, "none, minmax, standard or unit";
    }
}

impl Clusterer for KMeans {
    fn cluster(
        &self,
        samples: &Samples<'_>,
        k: usize,
        run: &Run,
        observer: &dyn Observer,
    ) -> Result<Clustering, Error> {
        let Self { n_init, iterations, scale } = *self;
        require(n_init > 0, "n_init", n_init, "1 or more")?;
        require(iterations > 0, "iterations", iterations, "1 or more")?;
        let preparation = Preparation { scale, may_move: true, allow_rotation: true };
        job::run(samples, k, run, observer, preparation, |job| {
            let flavour = Flavour::greedy(iterations, n_init);
            job.time(Stage::KMeans, |job| {
                cluster_rows(job.table, k, flavour, job.stream, job.context)
            })
        })
    }
}
