"""The other methods as estimators. Generated from the engine's tables: run `make parameters`."""

from numbers import Integral, Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from obcut._methods import Method

__all__ = ["DCDPASC", "ESCG", "EulerSC", "FastESC", "KMeans", "LSC", "RKSC", "SSC", "SSCOMP", "USPEC"]


class DCDPASC(Method, name="dcdp-asc"):
    """Dense cores and density peaks, reconstructed.

    Spectral clustering of density cores, reconstructed (Cheng et al. 2022).
    Cost: N^2 d time for the neighbors, N neighbors + cores^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    cores : {"local", "ldp"}, default="local"
        What represents the rows.

        - ``"local"``: Local cores.
        - ``"ldp"``: Local density peaks, which are cheaper.

    similarity : {"local", "global"}, default="local"
        Similarity of cores.

        - ``"local"``: Scaled by the paths of both cores.
        - ``"global"``: Scaled by the mean of all paths.

    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "cores": [StrOptions({"ldp", "local"})],
        "similarity": [StrOptions({"global", "local"})],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        cores: Literal["local", "ldp"] = "local",
        similarity: Literal["local", "global"] = "local",
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.cores = cores
        self.similarity = similarity
        self.scale = scale


class ESCG(Method, name="escg"):
    """Efficient spectral clustering on graphs.

    Bipartite cut between rows and supernodes of a neighbor graph (Liu et al. 2013).
    Cost: N^2 d time for the neighbors, N (neighbors + k) memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    supernodes : int, default=50
        Supernodes, at most as many as rows; k or more.
    neighbors : int, default=50
        Neighbors that a row is linked to; as many as there are rows give the dense
        graph; 1 or more.
    rounds : int, default=1
        Rounds: 1 is ESCG, 10 is ESCG-R as published; 1 or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "supernodes": [Interval(Integral, 0, None, closed="left")],
        "neighbors": [Interval(Integral, 0, None, closed="left")],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        supernodes: int = 50,
        neighbors: int = 50,
        rounds: int = 1,
        n_init: int = 20,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.supernodes = supernodes
        self.neighbors = neighbors
        self.rounds = rounds
        self.n_init = n_init
        self.scale = scale


class EulerSC(Method, name="eulersc"):
    """Euler spectral clustering, reconstructed.

    Normalized cut on Euler features, reconstructed (Wu et al. 2018).
    Cost: N d^2 + N d k per sweep time, N k + d^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=0.5
        Half turns that the range of a feature is mapped to; above 0.
    refine : bool, default=True
        Whether the labels are refined by weighted k-means; true or false.
    solver : {"svd", "stiefel"}, default="svd"
        How eigenvectors are found.

        - ``"svd"``: By the singular value decomposition, through the smaller Gram
          matrix.
        - ``"stiefel"``: By ascent on the Stiefel manifold.

    n_init : int, default=5
        Starts of the k-means on the eigenvectors; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="minmax"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "refine": ["boolean"],
        "solver": [StrOptions({"stiefel", "svd"})],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.5,
        refine: bool = True,
        solver: Literal["svd", "stiefel"] = "svd",
        n_init: int = 5,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "minmax",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.alpha = alpha
        self.refine = refine
        self.solver = solver
        self.n_init = n_init
        self.scale = scale


class FastESC(Method, name="fastesc"):
    """Fast explicit spectral clustering.

    Normalized cut on random Fourier features (He et al. 2019).
    Cost: N d D + N D^2 + D^3 time, N k + D^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    form : {"small", "large", "auto"}, default="auto"
        Which published program: small up to 5,000 rows, else large.

        - ``"small"``: Features are drawn with weights, twice as many.
        - ``"large"``: Frequencies are drawn by some of the rows, weights are dropped.
        - ``"auto"``: Small up to 5,000 rows, else large.

    features : int, default=500
        Features that are drawn, made even; the small form keeps twice as many; 2 or
        more.
    oversampling : int, default=1000
        Features beyond those to draw from; 0 or more.
    sigma : float, default=1.0
        Width of the Gaussian in mean distances; above 0.
    rows : {"unit", "raw", "dropped"}, default="unit"
        What is clustered.

        - ``"unit"``: Rows of the eigenvectors, scaled to unit length.
        - ``"raw"``: Rows as they are.
        - ``"dropped"``: Rows as they are, without the first column, which is constant.

    n_init : int, default=5
        Starts of the last k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "form": [StrOptions({"auto", "large", "small"})],
        "features": [Interval(Integral, 0, None, closed="left")],
        "oversampling": [Interval(Integral, 0, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="left")],
        "rows": [StrOptions({"dropped", "raw", "unit"})],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: Literal["small", "large", "auto"] = "auto",
        features: int = 500,
        oversampling: int = 1000,
        sigma: float = 1.0,
        rows: Literal["unit", "raw", "dropped"] = "unit",
        n_init: int = 5,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.form = form
        self.features = features
        self.oversampling = oversampling
        self.sigma = sigma
        self.rows = rows
        self.n_init = n_init
        self.scale = scale


class KMeans(Method, name="kmeans"):
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
        Maximum number of iterations; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "iterations": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        iterations: int = 300,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.n_init = n_init
        self.iterations = iterations
        self.scale = scale


class LSC(Method, name="lsc"):
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
    landmarks : {"kmeans", "random"}, default="kmeans"
        Where landmarks come from.

        - ``"kmeans"``: Centers of a few iterations of k-means (LSC-K).
        - ``"random"``: Random rows (LSC-R).

    sigma : {"squared", "distance"}, default="squared"
        Width of the Gaussian.

        - ``"squared"``: Mean squared distance, as published.
        - ``"distance"``: Mean distance, which does not depend on the scale.

    n_init : int, default=10
        Starts of the last k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "p": [Interval(Integral, 0, None, closed="left")],
        "r": [Interval(Integral, 0, None, closed="left")],
        "landmarks": [StrOptions({"kmeans", "random"})],
        "sigma": [StrOptions({"distance", "squared"})],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        p: int = 1000,
        r: int = 5,
        landmarks: Literal["kmeans", "random"] = "kmeans",
        sigma: Literal["squared", "distance"] = "squared",
        n_init: int = 10,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.p = p
        self.r = r
        self.landmarks = landmarks
        self.sigma = sigma
        self.n_init = n_init
        self.scale = scale


class RKSC(Method, name="rksc"):
    """Spectral clustering on a refined neighbor graph.

    Spectral clustering of trimmed mutual neighbors (Alshammari et al. 2021).
    Cost: N^2 d time for the neighbors, N times the neighbors kept memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_neighbors : int, default=2000
        Neighbors that a row may have at most; 1 or more.
    baseline : int, default=7
        Distances that make up the baseline of a row, the row itself counted; 2 or more.
    vectors : int, default=30
        Eigenvectors that the rows of the embedding are scaled over; at least k are
        taken; 1 or more.
    stride : int, default=1
        Step between the dimensions that are tried; 1 or more.
    n_init : int, default=3
        Starts of every k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "max_neighbors": [Interval(Integral, 0, None, closed="left")],
        "baseline": [Interval(Integral, 0, None, closed="left")],
        "vectors": [Interval(Integral, 0, None, closed="left")],
        "stride": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_neighbors: int = 2000,
        baseline: int = 7,
        vectors: int = 30,
        stride: int = 1,
        n_init: int = 3,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.max_neighbors = max_neighbors
        self.baseline = baseline
        self.vectors = vectors
        self.stride = stride
        self.n_init = n_init
        self.scale = scale


class SSC(Method, name="ssc"):
    """Sparse subspace clustering.

    Spectral clustering of sparse self-expressions (Elhamifar and Vidal 2013).
    Cost: N^2 d per iteration time, N^2 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=20.0
        Weight of the fit against sparsity, in units of the smallest that gives
        coefficients; above 0, useful above 1.
    variant : {"plain", "affine", "outlier"}, default="plain"
        What the coefficients must do.

        - ``"plain"``: Explain the row up to noise.
        - ``"affine"``: The same, and sum to one.
        - ``"outlier"``: Explain the row but for a few gross errors.

    rho : float, default=1.0
        Part of a row's coefficients, by size, that the affinity keeps; above 0, up to
        1.
    r : int, default=0
        Dimensions that the rows are projected to first; 0 (no projection) or more.
    tol : float, default=0.0002
        Largest error at which the iteration ends; 0 or more.
    updates : int, default=0
        Updates at most; 0 (199, or 149 for outlier) or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "variant": [StrOptions({"affine", "outlier", "plain"})],
        "rho": [Interval(Real, 0, None, closed="left")],
        "r": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "updates": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 20.0,
        variant: Literal["plain", "affine", "outlier"] = "plain",
        rho: float = 1.0,
        r: int = 0,
        tol: float = 0.0002,
        updates: int = 0,
        n_init: int = 20,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.alpha = alpha
        self.variant = variant
        self.rho = rho
        self.r = r
        self.tol = tol
        self.updates = updates
        self.n_init = n_init
        self.scale = scale


class SSCOMP(Method, name="ssc-omp"):
    """Sparse subspace clustering by orthogonal matching pursuit.

    Sparse self-expressions found by orthogonal matching pursuit (You et al. 2016).
    Cost: up to sparsity N^2 d time, less where near rows choose each other, N times up to 4096 memory.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    sparsity : int, default=5
        Others that a row is explained by, at most; 1 or more.
    threshold : float, default=1e-06
        Squared length of what is left at which the search for others ends; 0 or more.
    form : {"matlab", "python"}, default="matlab"
        Which of the authors' programs is followed.

        - ``"matlab"``: The one of the paper.
        - ``"python"``: The later one.

    project : int, default=0
        Dimensions that the rows are projected to first; 0 (no projection) or more.
    n_init : int, default=20
        Starts of the last k-means; 1 or more.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "sparsity": [Interval(Integral, 0, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "form": [StrOptions({"matlab", "python"})],
        "project": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sparsity: int = 5,
        threshold: float = 1e-06,
        form: Literal["matlab", "python"] = "matlab",
        project: int = 0,
        n_init: int = 20,
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.sparsity = sparsity
        self.threshold = threshold
        self.form = form
        self.project = project
        self.n_init = n_init
        self.scale = scale


class USPEC(Method, name="u-spec"):
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
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between rows: cosine is meant for text, and takes the place of the
        scaling.

        - ``"euclidean"``: Euclidean distance between the scaled rows
        - ``"cosine"``: angle between rows: every row is scaled to length 1

    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="none"
        What is done to the features first.

        {scales}

    """

    _parameter_constraints: dict = {
        **Method._parameter_constraints,
        "p": [Interval(Integral, 0, None, closed="left")],
        "neighbors": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "metric": [StrOptions({"cosine", "euclidean"})],
        "scale": [StrOptions({"auto", "idf", "minmax", "none", "robust", "standard", "unit"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        p: int = 1000,
        neighbors: int = 5,
        n_init: int = 3,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        scale: Literal["auto", "minmax", "standard", "robust", "unit", "idf", "none"] = "none",
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(n_clusters, random_state=random_state, memory=memory, n_jobs=n_jobs, verbose=verbose)
        self.p = p
        self.neighbors = neighbors
        self.n_init = n_init
        self.metric = metric
        self.scale = scale
