"""The methods to compare with, as estimators: `LSC`, `USPEC` and the others.

They label the rows they are fitted on, and no others.
"""

import inspect
import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval

from obcut import _core
from obcut._input import check_enough_rows, engine_table, read_table, seed_of, threads_of
from obcut._progress import CALLER, CallbackSupportMixin, listening, with_callbacks

__all__ = ["DCDPASC", "ESCG", "EulerSC", "FastESC", "KMeans", "LSC", "RKSC", "SSC", "SSCOMP", "USPEC"]


#: What the classes share; added to the documentation of each.
_SHARED = """
random_state : int, RandomState instance or None, default=None
    Seed.
memory : int or None, default=None
    Bytes that may be used beside the data; None is 12 GiB. When more would be
    needed, a ValueError says how much before anything is done.
n_jobs : int or None, default=None
    Threads; they do not change the result.
verbose : int, default=0
    1 shows progress.

Attributes
----------
labels_ : ndarray of shape (n_samples,), int32
    Cluster of every row.
n_clusters_ : int
    Number of clusters found.
stage_seconds_ : dict
    Seconds of every stage.
warnings_ : list of str
    What you should know, in plain words.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if they have names.

Examples
--------
>>> from obcut import {name}, datasets
>>> X, y = datasets.make_blobs(300, 5, 3, random_state=0)
>>> {name}(n_clusters=3, random_state=0).fit(X).n_clusters_
3
"""
#: What a parameter may be, by the type of its default. The engine checks ranges and words.
_CONSTRAINTS: dict[type, list] = {
    bool: ["boolean"],
    int: [Interval(Integral, 0, None, closed="left")],
    float: [Interval(Real, 0, None, closed="left")],
    str: [str],
}


class _Method(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """What all of them do."""

    _name: str
    _shared_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "memory": [Interval(Integral, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is None:  # a class that somebody derives from one of ours
            return
        cls._name = name
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _SHARED.format(name=cls.__name__)
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        cls._parameter_constraints = cls._shared_constraints | {
            p.name: _CONSTRAINTS[type(p.default)] for p in own if p.name not in cls._shared_constraints
        }

    def __init__(
        self,
        n_clusters: int,
        random_state: int | np.random.RandomState | None,
        memory: int | None,
        n_jobs: int | None,
        verbose: int | bool,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster the rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used; here for consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = read_table(self, X, reset=True)
        check_enough_rows(X.shape[0], self.n_clusters)
        shared = self._shared_constraints
        settings = [(name, _word(value)) for name, value in self.get_params(deep=False).items() if name not in shared]
        with listening(self, X) as listener:
            found = _core.cluster(
                engine_table(X),
                self._name,
                int(self.n_clusters),
                settings,
                seed=seed_of(self.random_state),
                threads=threads_of(self.n_jobs),
                memory=self.memory,
                listener=listener,
            )
        self.labels_ = found["labels"]
        self.n_clusters_ = found["n_clusters"]
        self.stage_seconds_ = found["seconds"]
        self.warnings_ = found["warnings"]
        for text in self.warnings_:
            warnings.warn(text, UserWarning, stacklevel=CALLER)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _word(value: Any) -> str:
    """A setting as the engine reads it."""
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


class KMeans(_Method, name="kmeans"):
    """k-means, as one of the methods to compare with.

    Lloyd's k-means from greedy k-means++.
    Cost: N d k per iteration, N memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Starts, of which the best is kept; 1 or more.
    iterations : int, default=300
        Most iterations; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        iterations: int = 300,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.n_init = n_init
        self.iterations = iterations
        self.scale = scale


class SSC(_Method, name="ssc"):
    """Sparse subspace clustering.

    Spectral clustering of sparse self-expressions (Elhamifar and Vidal 2013).
    Cost: N^2 d per iteration time, N^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=20.0
        Weight of the fit against sparsity, in units of the smallest that gives coefficients; above 0, useful above 1.
    variant : str, default="plain"
        What the coefficients must do; plain, affine or outlier.
    rho : float, default=1.0
        Part of a row's coefficients, by size, that the affinity keeps; above 0, up to 1.
    r : int, default=0
        Dimensions that the rows are projected to first; 0 (no projection) or more.
    tol : float, default=0.0002
        Largest error at which the iteration ends; 0 or more.
    updates : int, default=0
        Updates at most; 0 (199, or 149 for outlier) or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 20.0,
        variant: str = "plain",
        rho: float = 1.0,
        r: int = 0,
        tol: float = 0.0002,
        updates: int = 0,
        n_init: int = 20,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.alpha = alpha
        self.variant = variant
        self.rho = rho
        self.r = r
        self.tol = tol
        self.updates = updates
        self.n_init = n_init
        self.scale = scale


class ESCG(_Method, name="escg"):
    """Efficient spectral clustering on graphs.

    Bipartite cut between rows and supernodes of a neighbour graph (Liu et al. 2013).
    Cost: N^2 d time for the neighbours, N (neighbors + k) memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    supernodes : int, default=50
        Supernodes, at most as many as rows; k or more.
    neighbors : int, default=50
        Neighbours that a row is linked to; as many as there are rows give the dense graph; 1 or more.
    rounds : int, default=1
        Rounds: 1 is ESCG, 10 is ESCG-R as published; 1 or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        supernodes: int = 50,
        neighbors: int = 50,
        rounds: int = 1,
        n_init: int = 20,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.supernodes = supernodes
        self.neighbors = neighbors
        self.rounds = rounds
        self.n_init = n_init
        self.scale = scale


class SSCOMP(_Method, name="ssc-omp"):
    """Sparse subspace clustering by orthogonal matching pursuit.

    The same, found by orthogonal matching pursuit (You et al. 2016).
    Cost: up to sparsity N^2 d time, less where near rows choose each other, N times up to 4096 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    sparsity : int, default=5
        Others that a row is explained by, at most; 1 or more.
    threshold : float, default=1e-06
        Squared length of what is left at which the search for others ends; 0 or more.
    form : str, default="matlab"
        Which of the authors' programs is followed; matlab or python.
    project : int, default=0
        Dimensions that the rows are projected to first; 0 (no projection) or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sparsity: int = 5,
        threshold: float = 1e-06,
        form: str = "matlab",
        project: int = 0,
        n_init: int = 20,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.sparsity = sparsity
        self.threshold = threshold
        self.form = form
        self.project = project
        self.n_init = n_init
        self.scale = scale


class LSC(_Method, name="lsc"):
    """Landmark spectral clustering.

    SVD of the links to the nearest landmarks (Chen and Cai 2011).
    Cost: N d p + N r^2 + p^3 time, N (r + k) + p^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    p : int, default=1000
        Landmarks, at most as many as rows; 1 or more.
    r : int, default=5
        Nearest landmarks that a row is linked to; 1 to p.
    landmarks : str, default="kmeans"
        Where landmarks come from; kmeans or random.
    sigma : str, default="squared"
        Width of the Gaussian; squared or distance.
    n_init : int, default=10
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        p: int = 1000,
        r: int = 5,
        landmarks: str = "kmeans",
        sigma: str = "squared",
        n_init: int = 10,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.p = p
        self.r = r
        self.landmarks = landmarks
        self.sigma = sigma
        self.n_init = n_init
        self.scale = scale


class FastESC(_Method, name="fastesc"):
    """Fast explicit spectral clustering.

    Normalised cut on random Fourier features (He et al. 2019).
    Cost: N d D + N D^2 + D^3 time, N k + D^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    form : str, default="auto"
        Which published program: small up to 5,000 rows, else large; small, large or auto.
    features : int, default=500
        Features that are drawn, made even; the small form keeps twice as many; 2 or more.
    oversampling : int, default=1000
        Features beyond those to draw from; 0 or more.
    sigma : float, default=1.0
        Width of the Gaussian in mean distances; above 0.
    rows : str, default="unit"
        What is clustered; unit, raw or dropped.
    n_init : int, default=5
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: str = "auto",
        features: int = 500,
        oversampling: int = 1000,
        sigma: float = 1.0,
        rows: str = "unit",
        n_init: int = 5,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.form = form
        self.features = features
        self.oversampling = oversampling
        self.sigma = sigma
        self.rows = rows
        self.n_init = n_init
        self.scale = scale


class EulerSC(_Method, name="eulersc"):
    """Euler spectral clustering (reconstructed without reference code).

    Normalised cut on Euler features, reconstructed (Wu et al. 2018).
    Cost: N d^2 + N d k per sweep time, N k + d^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=0.5
        Half turns that the range of a feature is mapped to; above 0.
    refine : bool, default=True
        Whether the labels are refined by weighted k-means; true or false.
    solver : str, default="svd"
        How eigenvectors are found; svd or stiefel.
    n_init : int, default=5
        Starts of the k-means on the eigenvectors; 1 or more.
    scale : str, default="minmax"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.5,
        refine: bool = True,
        solver: str = "svd",
        n_init: int = 5,
        scale: str = "minmax",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.alpha = alpha
        self.refine = refine
        self.solver = solver
        self.n_init = n_init
        self.scale = scale


class USPEC(_Method, name="u-spec"):
    """Ultra-scalable spectral clustering.

    Transfer cut over approximate nearest representatives (Huang et al. 2020).
    Cost: N d sqrt(p) + p^2 d + p^3 time, N (K + k) + p^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    p : int, default=1000
        Representatives, at most as many as rows; k or more.
    neighbors : int, default=5
        Nearest representatives that a row is linked to; 1 to p.
    n_init : int, default=3
        Starts of the last k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        p: int = 1000,
        neighbors: int = 5,
        n_init: int = 3,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.p = p
        self.neighbors = neighbors
        self.n_init = n_init
        self.scale = scale


class RKSC(_Method, name="rksc"):
    """Spectral clustering on a refined k-nearest-neighbour graph.

    Spectral clustering of trimmed mutual neighbours (Alshammari et al. 2021).
    Cost: N^2 d time for the neighbours, N times the neighbours kept memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_neighbors : int, default=2000
        Neighbours that a row may have at most; 1 or more.
    baseline : int, default=7
        Distances that make up the baseline of a row, the row itself counted; 2 or more.
    vectors : int, default=30
        Eigenvectors that the rows of the embedding are scaled over; at least k are taken; 1 or more.
    stride : int, default=1
        Step between the dimensions that are tried; 1 or more.
    n_init : int, default=3
        Starts of every k-means; 1 or more.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_neighbors: int = 2000,
        baseline: int = 7,
        vectors: int = 30,
        stride: int = 1,
        n_init: int = 3,
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.max_neighbors = max_neighbors
        self.baseline = baseline
        self.vectors = vectors
        self.stride = stride
        self.n_init = n_init
        self.scale = scale


class DCDPASC(_Method, name="dcdp-asc"):
    """Dense cores and density peaks (reconstructed without reference code).

    Spectral clustering of density cores, reconstructed (Cheng et al. 2022).
    Cost: N^2 d time for the neighbours, N neighbours + cores^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    cores : str, default="local"
        What represents the rows; local or ldp.
    similarity : str, default="local"
        Similarity of cores; local or global.
    scale : str, default="none"
        What is done to the features first; none, minmax, standard or unit.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        cores: str = "local",
        similarity: str = "local",
        scale: str = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state, memory, n_jobs, verbose)
        self.cores = cores
        self.similarity = similarity
        self.scale = scale
