"""The estimator `OBCut`."""

import inspect
import json
import os
import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from obcut import _core
from obcut._input import (
    Rows,
    check_enough_rows,
    engine_table,
    load,
    read_input,
    read_weights,
    seed_of,
    threads_of,
)
from obcut._progress import CALLER, CallbackSupportMixin, listening, with_callbacks

try:
    from sklearn.utils._set_output import _get_output_config
except ImportError:  # moved, or gone

    def _get_output_config(method, estimator=None):
        return {"dense": "default"}


#: How the engine begins to say that learning has not converged.
_STILL_FALLING = "the objective was still falling"
#: Parameters whose names differ in the engine.
_ENGINE_NAMES = {"lam": "lambda", "lam_scale": "lambda_scale"}
#: Parameters that are not settings of the engine, or are passed to it in another way.
_APART = {"n_clusters", "preset", "init", "anchors", "random_state", "n_jobs", "verbose"}


class OBCut(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """One-step bipartite graph cut: scalable graph clustering that labels new rows.

    Rows are linked to a few hundred anchors, and that graph is cut into balanced
    parts in one step, in time linear in the number of rows. It finds clusters that
    k-means cannot, such as curved shapes and unions of subspaces.

    The same data and seed give the same labels for any number of threads. A sample
    weight of 3 means the row three times, a weight of 0 that it is not there.

    Parameters
    ----------
    n_clusters : int, "auto" or tuple (low, high), default=8
        Number of clusters. "auto" chooses it from the data, a tuple from that
        range, both ends included. The choice compares the table with one of the
        same size, mean and covariance that has no clusters; 1 means that none were
        found. A warning says when the data do not tell the number clearly.
    graph : {"auto", "distance", "local", "global", "neighbors"}, default="auto"
        How rows are linked: to anchors by the distances to the nearest ones, as the
        best mixture of the nearest ones, or as the best mixture of all of them (the
        paper), or to their nearest rows. "auto" tries several graphs, trees and
        k-means, and keeps the best by a score that needs no labels.
    n_anchors : "auto" or int, default="auto"
        Anchors in a set.
    n_anchor_sets : int or None, default=None
        Independent anchor sets side by side. None is 5 for the global graph, else 1.
    n_neighbors : int, default=5
        Anchors that a row is linked to at first.
    scale : {"auto", "minmax", "standard", "robust", "unit", "idf", "none"}, default="auto"
        What is done to the features first: to [0, 1], to mean 0 and deviation 1, to
        the distance between the quartiles, rows to unit length, counts times inverse
        document frequencies and then rows to unit length, or nothing. "auto" is "idf"
        for sparse counts, "unit" for other sparse non-negative data, else "minmax",
        where columns with a few values far away are scaled by the span of the others.
    metric : {"euclidean", "cosine"}, default="euclidean"
        What distance means. "cosine" brings rows to unit length.
    balance : float, default=0.25
        How much equal cluster sizes count in the automatic choice, from 0 (not at
        all) to 1.
    noise : float, "auto" or None, default=None
        Marks outlying rows with the label -1: about this share of the rows, those with
        the largest outlier scores, or as many as the spread of the scores suggests.
        The clusters stay the same, and `predict` marks new rows alike. None labels
        every row.
    stability : int, default=0
        Number of resamples that the stability of the clusters is measured on, 0 for
        none. Each is the cost of clustering four fifths of the distinct rows, at most
        4,000, in the way that was kept. The labels stay the same.
    init : {"spectral", "kmeans"} or array-like of shape (n_samples,), default="spectral"
        Where the labels start: the spectral embedding of the graph, k-means, or given
        labels from 0 to ``n_clusters - 1``.
    anchor_weights : {"degree"} or None, default="degree"
        Weights of the anchors in the cut; None is as printed in the paper.
    lam : float, default=1.0
        Weight of the cut in the objective, where something is learned.
    lam_scale : {"relative", "absolute"}, default="relative"
        Whether `lam` is measured in units of the data.
    learn : {"nothing", "auto", "anchors-and-graph", "graph-only"}, default="nothing"
        What is learned together with the labels after the start.
    row_solver : {"exact", "authors"}, default="exact"
        How the problem of a row is solved: exactly, or as the authors' program does.
    effort : {"fast", "auto", "thorough"}, default="auto"
        How much ``graph="auto"`` tries.
    preset : {"paper"} or None, default=None
        "paper" is the method as printed. Parameters that differ from their defaults
        win over the preset.
    max_iter : int, default=30
        Most iterations of the learning, or of the cut.
    tol : float, default=1e-05
        Learning stops when the objective changes by less.
    n_init : int, default=1
        Restarts; the best by a score without labels is kept. With 1, ``graph="auto"``
        starts tables of up to 1,000 distinct rows six times and those of up to 2,500
        three times.
    random_state : int, RandomState instance or None, default=None
        Seed. A number is the ``--seed`` of the command.
    n_jobs : int or None, default=None
        Threads: None is 1 unless in a :obj:`joblib.parallel_config` context, -1 all.
        It does not change the result.
    verbose : int, default=0
        1 shows a progress bar (with tqdm if it is installed), 2 every iteration.
    formulation : {"unified", "two-step"}, default="unified"
        Whether the cut takes part in learning the graph.
    anchor_update : {"proximal", "least-squares"}, default="proximal"
        How the anchors are learned.
    pull : float, default=0.01
        Pull of the proximal update towards the first anchors.
    ridge : float, default=0.0
        Ridge on the rows of the graph.
    stop_on_labels : bool, default=True
        Stop learning also when no label changes.
    max_sweeps : int, default=10
        Most label sweeps in an iteration.
    sweep_order : {"shuffled", "rows"}, default="shuffled"
        Order in which the rows are visited.
    rows_per_anchor : int or "all", default=100
        Rows per anchor that train the anchors.
    reduce : {"auto", "never"}, default="auto"
        Whether wide tables are rotated to fewer columns first, which keeps all
        distances.
    core_rows : int, "auto" or "all", default="auto"
        Distinct rows that a table with more is clustered by, chosen at random, before
        all rows take part in passes of constant memory. "auto" is 32,768 to 131,072 by
        the number of features, and more for many clusters or anchors, for tables with
        more than twice as many rows; "all" clusters by all rows, however many there are.
    anchors : array-like of shape (n_anchors, n_features) or None, default=None
        Anchors to use instead of learned ones.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of every row, -1 for noise if `noise` is given; no cluster is empty
        before noise is marked.
    confidence_ : ndarray of shape (n_samples,)
        How sure every label is: 0 on the border of two clusters, 1 well inside one. It
        is the difference of the two largest probabilities of `predict_proba`.
    outlier_scores_ : ndarray of shape (n_samples,)
        How outlying every row is: about 1 for the usual rows of a cluster, larger the
        farther a row lies from the others.
    margin_ : ndarray of shape (n_samples,)
        The raw difference between the gains of the best two clusters.
    n_clusters_ : int
        Number of clusters.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors, in the units of the data.
    anchor_labels_ : ndarray of shape (n_anchors,)
        Cluster of every anchor.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Weight of the rows in every cluster.
    stability_ : float or None
        How well the clusters come back when parts of the rows are clustered: the mean
        adjusted Rand index over the resamples. None if `stability` is 0.
    cluster_stability_ : ndarray of shape (n_clusters,) or None
        The same of every cluster: its mean Jaccard index with the most similar cluster
        of a resample. Above 0.85 it is very stable, below 0.6 it should not be trusted.
        NaN for a cluster of which no resample holds a row.
    objective_ : ndarray
        Value after every iteration: of the objective where something is learned
        (the first value is that of the start), else of the cut.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the iterations ended by themselves.
    graph_ : str
        The graph in use, such as "global+distance".
    scale_ : str
        The scaling in use.
    explanation_ : dict
        What sets every cluster apart, what was tried, and the scores of other
        numbers of clusters if the number was chosen.
    large_ : dict or None
        For a table with more rows than `core_rows`: the distinct rows of its core
        ("core_rows"), how often all rows were read ("passes"), the share of the core
        that the next rule would move after every round ("moved"), the part by which
        it would raise the cut ("gain"), and the seconds of every pass
        ("pass_seconds"). None for other tables.
    stage_seconds_ : dict
        Seconds of every stage.
    warnings_ : list of str
        What you should know, in plain words; it was also given as warnings.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if they have names.

    See Also
    --------
    BipartiteCut : Clusters both sides of a graph that is given.

    References
    ----------
    S.-G. Fang, D. Huang, C.-D. Wang, J.-H. Lai, "One-step Bipartite Graph Cut: A
    Normalized Formulation and Its Application to Scalable Subspace Clustering",
    arXiv:2305.07386.

    Examples
    --------
    >>> from obcut import OBCut, datasets, metrics
    >>> X, y = datasets.make_moons(1000, random_state=1)
    >>> model = OBCut(n_clusters=2, random_state=0).fit(X)
    >>> metrics.accuracy(y, model.labels_)
    1.0
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), tuple],
        "graph": [StrOptions({"auto", "distance", "local", "global", "neighbors"})],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_anchor_sets": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "scale": [StrOptions({"auto", "minmax", "standard", "robust", "unit", "idf", "none"})],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "balance": [Interval(Real, 0, 1, closed="both")],
        "noise": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"}), None],
        "stability": [Interval(Integral, 0, None, closed="left")],
        "init": [StrOptions({"spectral", "kmeans"}), "array-like"],
        "anchor_weights": [StrOptions({"degree", "none"}), None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "lam_scale": [StrOptions({"relative", "absolute"})],
        "learn": [StrOptions({"nothing", "auto", "anchors-and-graph", "graph-only"})],
        "row_solver": [StrOptions({"exact", "authors"})],
        "effort": [StrOptions({"fast", "auto", "thorough"})],
        "preset": [StrOptions({"paper"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "formulation": [StrOptions({"unified", "two-step"})],
        "anchor_update": [StrOptions({"proximal", "least-squares"})],
        "pull": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "stop_on_labels": ["boolean"],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "sweep_order": [StrOptions({"shuffled", "rows"})],
        "rows_per_anchor": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "reduce": [StrOptions({"auto", "never"})],
        "core_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto", "all"})],
        "anchors": ["array-like", None],
    }

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] = 8,
        *,
        graph: str = "auto",
        n_anchors: int | str = "auto",
        n_anchor_sets: int | None = None,
        n_neighbors: int = 5,
        scale: str = "auto",
        metric: str = "euclidean",
        balance: float = 0.25,
        noise: float | str | None = None,
        stability: int = 0,
        init: str | ArrayLike = "spectral",
        anchor_weights: str | None = "degree",
        lam: float = 1.0,
        lam_scale: str = "relative",
        learn: str = "nothing",
        row_solver: str = "exact",
        effort: str = "auto",
        preset: str | None = None,
        max_iter: int = 30,
        tol: float = 1e-5,
        n_init: int = 1,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        formulation: str = "unified",
        anchor_update: str = "proximal",
        pull: float = 0.01,
        ridge: float = 0.0,
        stop_on_labels: bool = True,
        max_sweeps: int = 10,
        sweep_order: str = "shuffled",
        rows_per_anchor: int | str = 100,
        reduce: str = "auto",
        core_rows: int | str = "auto",
        anchors: ArrayLike | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph = graph
        self.n_anchors = n_anchors
        self.n_anchor_sets = n_anchor_sets
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.metric = metric
        self.balance = balance
        self.noise = noise
        self.stability = stability
        self.init = init
        self.anchor_weights = anchor_weights
        self.lam = lam
        self.lam_scale = lam_scale
        self.learn = learn
        self.row_solver = row_solver
        self.effort = effort
        self.preset = preset
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.formulation = formulation
        self.anchor_update = anchor_update
        self.pull = pull
        self.ridge = ridge
        self.stop_on_labels = stop_on_labels
        self.max_sweeps = max_sweeps
        self.sweep_order = sweep_order
        self.rows_per_anchor = rows_per_anchor
        self.reduce = reduce
        self.core_rows = core_rows
        self.anchors = anchors

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix, path} of shape (n_samples, n_features)
            The rows. Single precision stays single, sparse stays sparse; C-contiguous
            arrays, memory maps among them, and CSR matrices are read in place. The
            path of a file, a folder or a pattern (NPY, Parquet, CSV), and objects with
            `shape`, `dtype` and slices of rows, such as the arrays of h5py and zarr, are
            read piece by piece; integers of at most 16 bits and half precision are taken
            as single precision then.
        y : Ignored
            Not used; here for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights: an integer means that many copies, 0 that the row is not there.

        Returns
        -------
        self : OBCut
            The fitted estimator.
        """
        X = read_input(self, X, reset=True)
        plan = self._plan(*X.shape)
        if isinstance(X, Rows) and not self._is_large(plan, *X.shape):
            X = load(self, X)
        weights = read_weights(sample_weight, X)
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        with listening(self, X, sample_weight) as listener:
            plan |= {"weights": weights, "names": names, "listener": listener}
            if isinstance(X, Rows):
                n_rows, n_cols = X.shape
                found = _core.fit_rows(X.read, n_rows=n_rows, n_cols=n_cols, single=X.is_single, **plan)
            else:
                found = _core.fit(engine_table(X), **plan)
        self._keep(found)
        return self

    def _plan(self, n_samples: int, n_features: int) -> dict[str, Any]:
        """What the engine is told, but for the rows."""
        settings = self._settings(n_samples)
        anchors = None
        if self.anchors is not None:
            anchors = check_array(self.anchors, dtype=np.float64, order="C")
            if anchors.shape[1] != n_features:
                raise ValueError(f"anchors have {anchors.shape[1]} features, but X has {n_features} features.")
        return {
            "settings": json.dumps(settings, allow_nan=False),
            "paper": self.preset == "paper",
            "init": None if isinstance(self.init, str) else self._start(n_samples),
            "anchors": anchors,
        }

    @staticmethod
    def _is_large(plan: dict[str, Any], n_samples: int, n_features: int) -> bool:
        """Whether a table of this size is clustered by its core."""
        return _core.is_large(plan["settings"], n_samples, n_features, paper=plan["paper"], anchors=plan["anchors"])

    def _keep(self, found: dict[str, Any]) -> None:
        """Set the attributes of a fit, and say what there is to say."""
        self._take(found["model"])
        self._facts = found["facts"]
        self.labels_ = found["labels"]
        self.confidence_ = found["confidence"]
        self.outlier_scores_ = found["outlier_scores"]
        self.margin_ = found["margin"]
        self.objective_ = found["objective"] if found["objective"].size else found["cut"]
        self.n_iter_ = max(found["n_iter"], 1)
        self.converged_ = found["converged"]
        self.large_ = None if found["large"] is None else json.loads(found["large"])
        self.stage_seconds_ = found["seconds"]
        self.warnings_ = found["warnings"]
        for text in self.warnings_:
            kind = ConvergenceWarning if text.startswith(_STILL_FALLING) else UserWarning
            warnings.warn(text, kind, stacklevel=CALLER + 1)
        if not self.converged_ and not found["objective"].size:
            text = f"the cut was still rising after {self.n_iter_} turns; raise max_iter to go on"
            warnings.warn(text, ConvergenceWarning, stacklevel=CALLER + 1)

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Cluster the rows of a table and return their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used; here for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of every row, -1 for noise if `noise` is given.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Cluster the rows of a table and return their links to the anchors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used; here for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        B : sparse matrix of shape (n_samples, n_columns)
            As of `transform`.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label rows. The rows of the fit get the labels of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of every row, -1 for noise if `noise` is given.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        if isinstance(X, Rows):
            return self._labelled(X)[0]
        return self._model.predict(engine_table(X), threads_of(self.n_jobs))

    def transform(self, X: Any) -> Any:
        """Link rows to the anchors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        B : sparse matrix of shape (n_samples, n_columns)
            Weights of the links, summing to one in every row, in CSR. It is a dense
            table if `set_output` asks for a data frame.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        if isinstance(X, Rows):
            graph = sp.vstack([self._links(piece) for piece in X.pieces()], format="csr")
        else:
            graph = self._links(X)
        frame = _get_output_config("transform", estimator=self)["dense"] != "default"
        return graph.toarray() if frame else graph

    def _links(self, X: Any) -> Any:
        """Links of rows in memory."""
        indptr, indices, data = self._model.transform(engine_table(X), threads_of(self.n_jobs))
        kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        graph = kind((data, indices, indptr), shape=(X.shape[0], self._n_features_out))
        graph.sort_indices()
        return graph

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Score rows without labels: how well the clusters hold together, and how even they are.

        The mean chance that a step from a row to an anchor and back stays in the
        cluster, times the entropy of the cluster sizes over its largest value. It
        compares settings of one kind of graph; across graphs, trust ``graph="auto"``.
        All rows are read into memory.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used; here for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1; larger is better.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        if isinstance(X, Rows):
            X = load(self, X)
        weights = read_weights(sample_weight, X)
        return self._model.score(engine_table(X), weights, threads_of(self.n_jobs))

    def predict_confidence(self, X: Any) -> NDArray[np.float64]:
        """Tell how sure the labels of rows are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
            From 0 to 1, see `confidence_`.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        if isinstance(X, Rows):
            return self._labelled(X)[1]
        return self._model.confidence(engine_table(X), threads_of(self.n_jobs))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Tell how likely every cluster is for rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            They sum to 1, and the cluster of a row has the largest, also where the row
            is marked as noise. Far from all clusters they come near ``1 / n_clusters``.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        threads = threads_of(self.n_jobs)
        if isinstance(X, Rows):
            return np.concatenate([self._model.predict_proba(engine_table(piece), threads) for piece in X.pieces()])
        return self._model.predict_proba(engine_table(X), threads)

    def outlier_scores(self, X: Any) -> NDArray[np.float64]:
        """Tell how outlying rows are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            About 1 for usual rows, larger for outlying ones, see `outlier_scores_`.
        """
        check_is_fitted(self)
        X = read_input(self, X, reset=False)
        if isinstance(X, Rows):
            return self._labelled(X)[2]
        return self._model.outlier_scores(engine_table(X), threads_of(self.n_jobs))

    def _labelled(self, X: Rows) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Labels, confidence and outlier scores of rows that are read piece by piece."""
        threads = threads_of(self.n_jobs)
        return _core.predict_rows(self._model, X.read, *X.shape, single=X.is_single, threads=threads)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model to a file that the command ``obcut predict`` reads as well.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.safetensors``.
        overwrite : bool, default=True
            Whether an existing file is replaced.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path), overwrite=overwrite)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, *, title: str | None = None, overwrite: bool = True
    ) -> None:
        """Write a report with pictures: one HTML file that needs no network.

        Sizes, a map of the rows, the graph, how sure the labels are, what sets every
        cluster apart, convergence, seconds and settings. A fit keeps what the page
        shows of the rows, so the rows are not needed.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.html``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to show instead of those of the fit, also on disk, as `predict` takes
            them. A model that was read from a file
            knows no rows: without `X` its page has no pictures of them, and says so.
        title : str, default=None
            Title of the page.
        overwrite : bool, default=True
            Whether an existing file is replaced.
        """
        check_is_fitted(self)
        table, rows = None, None
        if X is not None:
            X = read_input(self, X, reset=False)
            if isinstance(X, Rows):
                rows = (X.read, *X.shape, X.is_single)
            else:
                table = engine_table(X)
        _core.report(
            self._model,
            os.fspath(path),
            overwrite=overwrite,
            facts=getattr(self, "_facts", None),
            table=table,
            rows=rows,
            title=title,
            command=self._command(),
            threads=threads_of(self.n_jobs),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "OBCut":
        """Read a model that `save` or the command wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        model : OBCut
            A fitted estimator. The labels of the training rows are not in the file.
        """
        with open(path, "rb") as file:
            content = file.read()
        try:
            model = _core.Model.from_bytes(content)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        estimator = cls(**_parameters(json.loads(model.settings)))
        estimator._take(model)
        estimator.n_features_in_ = model.n_features
        if model.feature_names:
            estimator.feature_names_in_ = np.asarray(model.feature_names, dtype=object)
        return estimator

    def _take(self, model: _core.Model) -> None:
        """Set the attributes that a model holds."""
        self._model = model
        self.n_clusters_ = model.n_clusters
        self.anchors_ = model.anchors
        self.anchor_labels_ = model.anchor_labels
        self.cluster_sizes_ = model.cluster_sizes
        self.graph_ = model.graph
        self.scale_ = model.scale
        self.explanation_ = json.loads(model.explanation)
        self.stability_ = self.explanation_["stability"]
        self.cluster_stability_ = None
        if self.stability_ is not None:
            found = [cluster["stability"] for cluster in self.explanation_["clusters"]]
            self.cluster_stability_ = np.array(found, dtype=np.float64)

    def _settings(self, n_samples: int) -> dict[str, Any]:
        """The settings of the engine that differ from the preset."""
        settings: dict[str, Any] = {"seed": seed_of(self.random_state), "threads": threads_of(self.n_jobs)}
        if isinstance(self.n_clusters, Integral):
            check_enough_rows(n_samples, self.n_clusters)
            settings["n_clusters"] = int(self.n_clusters)
        else:
            low, high = (1, None) if isinstance(self.n_clusters, str) else _range(self.n_clusters)
            check_enough_rows(n_samples, high or low)
            settings |= {"n_clusters": low, "k_range": [low, high]}
        for name, default in _defaults().items():
            value = getattr(self, name)
            if name in _APART or (value is default or value == default):
                continue
            if name == "anchor_weights" and value is None:
                value = "none"
            if name == "rows_per_anchor" and value == "all":
                value = None
            if name == "core_rows" and value == "all":
                value = 0
            settings[_ENGINE_NAMES.get(name, name)] = _plain(value)
        if isinstance(self.init, str) and self.init != "spectral":
            settings["init"] = self.init
        return settings

    def _command(self) -> str:
        """The lines that fit the same model again."""
        given = []
        for name, default in _defaults().items():
            value = getattr(self, name)
            if name in ("n_clusters", "random_state"):
                continue
            if name in ("init", "anchors") and not isinstance(value, (str, type(None))):
                given.append(f"{name}={name}")
            elif not (value is default or value == default):
                given.append(f"{name}={_plain(value)!r}")
        seed = json.loads(self._model.settings)["seed"]
        arguments = ", ".join([repr(self.n_clusters), *given, f"random_state={seed}"])
        return f"from obcut import OBCut\n\nmodel = OBCut({arguments}).fit(X)"

    def _start(self, n_samples: int) -> list[int]:
        """Given start labels."""
        labels = np.asarray(self.init)
        if labels.shape != (n_samples,):
            raise ValueError(
                f"init has shape {labels.shape}, but X has {n_samples} samples: give a label for every one."
            )
        if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
            raise ValueError("init must hold integers from 0 to n_clusters - 1.")
        return labels.tolist()

    @property
    def _n_features_out(self) -> int:
        return self._model.n_columns

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _defaults():
    signature = inspect.signature(OBCut.__init__)
    return {name: p.default for name, p in signature.parameters.items() if name != "self"}


def _range(limits):
    if len(limits) != 2 or not all(isinstance(limit, Integral) for limit in limits):
        raise ValueError(f"n_clusters={limits!r} must be two integers, (low, high).")
    low, high = map(int, limits)
    if not 1 <= low <= high:
        raise ValueError(f"n_clusters={limits!r} must satisfy 1 <= low <= high.")
    return low, high


def _plain(value):
    """A value as JSON writes it."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _parameters(settings):
    """The parameters of an estimator from all settings of a model."""
    python_names = {engine: name for name, engine in _ENGINE_NAMES.items()}
    known = _defaults()
    parameters = {python_names.get(name, name): value for name, value in settings.items()}
    parameters["random_state"] = parameters.pop("seed")
    if parameters["n_anchors"] is None:
        parameters["n_anchors"] = "auto"
    if parameters["rows_per_anchor"] is None:
        parameters["rows_per_anchor"] = "all"
    parameters["core_rows"] = {None: "auto", 0: "all"}.get(parameters["core_rows"], parameters["core_rows"])
    if parameters["anchor_weights"] == "none":
        parameters["anchor_weights"] = None
    if not isinstance(parameters["init"], str):
        # The labels that a fit was given are not in the file.
        parameters["init"] = "spectral"
    return {name: value for name, value in parameters.items() if name in known}
