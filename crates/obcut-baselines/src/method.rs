//! The registry of methods: the only one.

use crate::Clusterer;
use obcut::Params;

use crate::configure::{Configure, Setting};

/// A method with its settings.
pub trait Configurable: Clusterer + Configure {}

impl<T: Clusterer + Configure> Configurable for T {}

/// Declares [`Method`]. A row is the variant, its name, its title (also the class in Python), what builds it,
/// what it does, and what it costs in N rows, d features, k clusters and the settings.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $title:literal, $build:expr,
        $summary:literal, $cost:literal;)+) => {
        obcut_core::choices! {
            /// A way to cluster samples.
            Method as "method" { $($(#[doc = $doc])+ $variant = $name,)+ }
        }

        impl Method {
            /// The method with its default settings. OBCut's are its own, see [`obcut::Params`].
            pub fn build(self) -> Box<dyn Configurable> {
                match self { $(Self::$variant => Box::new($build),)+ }
            }

            /// Its title, which is also the name of its class in Python.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// What it is, in a few words.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// One line on what it does.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }

            /// Time and memory, in N rows, d features, k clusters and the settings.
            pub fn cost(self) -> &'static str {
                match self { $(Self::$variant => $cost,)+ }
            }
        }
    };
}

methods! {
    /// One-step bipartite graph cut.
    Obcut = "obcut", "OBCut", Obcut(Params::new(1)),
        "one-step bipartite graph cut, everything automatic",
        "N d M time, N memory";
    /// k-means, as one of the methods to compare with.
    KMeans = "kmeans", "KMeans", crate::KMeans::default(),
        "Lloyd's k-means from greedy k-means++",
        "N d k per iteration, N memory";
    /// Sparse subspace clustering.
    Ssc = "ssc", "SSC", crate::Ssc::default(),
        "spectral clustering of sparse self-expressions (Elhamifar and Vidal 2013)",
        "N^2 d per iteration time, N^2 memory";
    /// Efficient spectral clustering on graphs.
    Escg = "escg", "ESCG", crate::Escg::default(),
        "bipartite cut between rows and supernodes of a neighbor graph (Liu et al. 2013)",
        "N^2 d time for the neighbors, N (neighbors + k) memory";
    /// Sparse subspace clustering by orthogonal matching pursuit.
    SscOmp = "ssc-omp", "SSCOMP", crate::SscOmp::default(),
        "sparse self-expressions found by orthogonal matching pursuit (You et al. 2016)",
        "up to sparsity N^2 d time, less where near rows choose each other, N times up to 4096 memory";
    /// Landmark spectral clustering.
    Lsc = "lsc", "LSC", crate::Lsc::default(),
        "SVD of the links to the nearest landmarks (Chen and Cai 2011)",
        "N d p + N r^2 + p^3 time, N (r + k) + p^2 memory";
    /// Fast explicit spectral clustering.
    FastEsc = "fastesc", "FastESC", crate::FastEsc::default(),
        "normalized cut on random Fourier features (He et al. 2019)",
        "N d D + N D^2 + D^3 time, N k + D^2 memory";
    /// Euler spectral clustering, reconstructed.
    EulerSc = "eulersc", "EulerSC", crate::EulerSc::default(),
        "normalized cut on Euler features, reconstructed (Wu et al. 2018)",
        "N d^2 + N d k per sweep time, N k + d^2 memory";
    /// Ultra-scalable spectral clustering.
    USpec = "u-spec", "USPEC", crate::USpec::default(),
        "transfer cut over approximate nearest representatives (Huang et al. 2020)",
        "N d sqrt(p) + p^2 d + p^3 time, N (K + k) + p^2 memory";
    /// Spectral clustering on a refined neighbor graph.
    Rksc = "rksc", "RKSC", crate::Rksc::default(),
        "spectral clustering of trimmed mutual neighbors (Alshammari et al. 2021)",
        "N^2 d time for the neighbors, N times the neighbors kept memory";
    /// Dense cores and density peaks, reconstructed.
    DcdpAsc = "dcdp-asc", "DCDPASC", crate::DcdpAsc::default(),
        "spectral clustering of density cores, reconstructed (Cheng et al. 2022)",
        "N^2 d time for the neighbors, N neighbors + cores^2 memory";
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
        run: &crate::Run,
        observer: &dyn obcut::Observer,
    ) -> Result<crate::Clustering, obcut::Error> {
        self.0.cluster(samples, n_clusters, run, observer)
    }
}
