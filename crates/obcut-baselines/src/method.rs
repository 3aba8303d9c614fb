//! The registry of methods: the only one.

use obcut::{Clusterer, Params};

use crate::configure::{Configure, Setting};

obcut::choices! {
    /// A way to cluster samples.
    Method as "method" {
        /// One-step bipartite graph cut.
        Obcut = "obcut",
        /// k-means.
        KMeans = "kmeans",
        /// Sparse subspace clustering.
        Ssc = "ssc",
        /// Efficient spectral clustering on graphs.
        Escg = "escg",
        /// Sparse subspace clustering by orthogonal matching pursuit.
        SscOmp = "ssc-omp",
        /// Landmark spectral clustering.
        Lsc = "lsc",
        /// Fast explicit spectral clustering.
        FastEsc = "fastesc",
        /// Euler spectral clustering, reconstructed.
        EulerSc = "eulersc",
        /// Ultra-scalable spectral clustering.
        USpec = "u-spec",
        /// Spectral clustering on a refined neighbour graph.
        Rksc = "rksc",
        /// Dense cores and density peaks, reconstructed.
        DcdpAsc = "dcdp-asc",
    }
}

/// A method with its settings.
pub trait Configurable: Clusterer + Configure {}

impl<T: Clusterer + Configure> Configurable for T {}

impl Method {
    /// The method with its default settings. OBCut's are its own, see [`obcut::Params`].
    pub fn build(self) -> Box<dyn Configurable> {
        match self {
            Self::Obcut => Box::new(Obcut(Params::new(1))),
            Self::KMeans => Box::<crate::KMeans>::default(),
            Self::Lsc => Box::<crate::Lsc>::default(),
            Self::USpec => Box::<crate::USpec>::default(),
            Self::Ssc => Box::<crate::Ssc>::default(),
            Self::SscOmp => Box::<crate::SscOmp>::default(),
            Self::Escg => Box::<crate::Escg>::default(),
            Self::FastEsc => Box::<crate::FastEsc>::default(),
            Self::EulerSc => Box::<crate::EulerSc>::default(),
            Self::Rksc => Box::<crate::Rksc>::default(),
            Self::DcdpAsc => Box::<crate::DcdpAsc>::default(),
        }
    }

    /// One line on what it does.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Obcut => "one-step bipartite graph cut, everything automatic",
            Self::KMeans => "Lloyd's k-means from greedy k-means++",
            Self::Ssc => {
                "spectral clustering of sparse self-expressions (Elhamifar and Vidal 2013)"
            }
            Self::SscOmp => "the same, found by orthogonal matching pursuit (You et al. 2016)",
            Self::Escg => {
                "bipartite cut between rows and supernodes of a neighbour graph (Liu et al. 2013)"
            }
            Self::FastEsc => "normalised cut on random Fourier features (He et al. 2019)",
            Self::EulerSc => "normalised cut on Euler features, reconstructed (Wu et al. 2018)",
            Self::Rksc => {
                "spectral clustering of trimmed mutual neighbours (Alshammari et al. 2021)"
            }
            Self::DcdpAsc => {
                "spectral clustering of density cores, reconstructed (Cheng et al. 2022)"
            }
            Self::USpec => {
                "transfer cut over approximate nearest representatives (Huang et al. 2020)"
            }
            Self::Lsc => "SVD of the links to the nearest landmarks (Chen and Cai 2011)",
        }
    }

    /// Time and memory, in N rows, d features, k clusters and the settings.
    pub fn cost(self) -> &'static str {
        match self {
            Self::Obcut => "N d M time, N memory",
            Self::KMeans => "N d k per iteration, N memory",
            Self::Ssc => "N^2 d per iteration time, N^2 memory",
            Self::SscOmp => {
                "up to sparsity N^2 d time, less where near rows choose each other, N times up to 4096 memory"
            }
            Self::Escg => "N^2 d time for the neighbours, N (neighbors + k) memory",
            Self::FastEsc => "N d D + N D^2 + D^3 time, N k + D^2 memory",
            Self::EulerSc => "N d^2 + N d k per sweep time, N k + d^2 memory",
            Self::Rksc => "N^2 d time for the neighbours, N times the neighbours kept memory",
            Self::DcdpAsc => "N^2 d time for the neighbours, N neighbours + cores^2 memory",
            Self::USpec => "N d sqrt(p) + p^2 d + p^3 time, N (K + k) + p^2 memory",
            Self::Lsc => "N d p + N r^2 + p^3 time, N (r + k) + p^2 memory",
        }
    }
}

/// OBCut as one of the methods; its many settings have options of their own.
struct Obcut(Params);

impl Configure for Obcut {
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    fn set(&mut self, name: &str, _: &str) -> Result<(), obcut::ParamError> {
        Err(obcut::ParamError::Conflict(format!(
            "'{name}' is not set this way for obcut, which has options of its own"
        )))
    }
}

impl Clusterer for Obcut {
    fn cluster(
        &self,
        samples: &obcut::Samples<'_>,
        n_clusters: usize,
        run: &obcut::Run,
        observer: &dyn obcut::Observer,
    ) -> Result<obcut::Clustering, obcut::Error> {
        self.0.cluster(samples, n_clusters, run, observer)
    }
}
