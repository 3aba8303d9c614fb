"""The estimator `OBCut`."""

import inspect
import json
import os
import textwrap
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
from sklearn.utils.validation import check_array, check_is_fitted

from obcut import _core
from obcut._input import (
    BatchedRows,
    check_enough_rows,
    engine_table,
    load,
    read_input,
    read_weights,
    seed_of,
    threads_of,
)
from obcut._parameters import PARAMETERS, OBCutParameters
from obcut._progress import CALLER, CallbackSupportMixin, listening, with_callbacks

try:
    from sklearn.utils._set_output import _get_output_config
except ImportError:  # moved, or gone

    def _get_output_config(method, estimator=None):
        return {"dense": "default"}


#: Parameters that are passed to the engine in another way.
_APART = {"n_clusters", "preset", "init", "anchors", "random_state", "n_jobs", "verbose"}


class OBCut(
    OBCutParameters,
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
    {parameters}

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
        if isinstance(X, BatchedRows) and not self._is_large(plan, *X.shape):
            X = load(self, X)
        weights = read_weights(sample_weight, X)
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        with listening(self, X, sample_weight) as listener:
            found = _core.fit(engine_table(X), weights=weights, names=names, listener=listener, **plan)
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
        self.warnings_ = [text for text, _ in found["warnings"]]
        for text, about_convergence in found["warnings"]:
            kind = ConvergenceWarning if about_convergence else UserWarning
            warnings.warn(text, kind, stacklevel=CALLER + 1)
        if not self.converged_ and not found["objective"].size:
            text = f"the cut was still rising after {self.n_iter_} iterations; raise max_iter to continue"
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
        indptr, indices, data = self._model.transform(engine_table(X), threads_of(self.n_jobs))
        kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        graph = kind((data, indices, indptr), shape=(X.shape[0], self._n_features_out))
        graph.sort_indices()
        frame = _get_output_config("transform", estimator=self)["dense"] != "default"
        return graph.toarray() if frame else graph

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
        if isinstance(X, BatchedRows):
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
        return self._model.predict_proba(engine_table(X), threads_of(self.n_jobs))

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
        return self._model.outlier_scores(engine_table(X), threads_of(self.n_jobs))

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
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        title: str | None = None,
        overwrite: bool = True,
    ) -> None:
        """Write a report with pictures: one HTML file that needs no network.

        The page shows cluster sizes, what sets every cluster apart, convergence,
        seconds and settings. With `X` it also shows a map of the rows, the graph, how
        sure the labels are, and typical rows; these are computed now, because the
        estimator does not keep the rows.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.html``.
        X : {array-like, sparse matrix, path} of shape (n_samples, n_features), default=None
            The rows to show: those of the fit or others, in memory or on disk, as
            `predict` takes them. Without them the page has no pictures of rows, and
            says how to add them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of `X`. They count when the typical rows are chosen.
        title : str, default=None
            Title of the page.
        overwrite : bool, default=True
            Whether an existing file is replaced.
        """
        check_is_fitted(self)
        weights = None
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight are weights of the rows of X: pass X as well.")
        if X is not None:
            X = read_input(self, X, reset=False)
            weights = read_weights(sample_weight, X)
        _core.report(
            self._model,
            os.fspath(path),
            overwrite=overwrite,
            facts=getattr(self, "_facts", None),
            table=None if X is None else engine_table(X),
            weights=weights,
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
        estimator = cls(**json.loads(model.parameters))
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
        settings: dict[str, Any] = {"random_state": seed_of(self.random_state), "n_jobs": threads_of(self.n_jobs)}
        if isinstance(self.n_clusters, Integral):
            check_enough_rows(n_samples, self.n_clusters)
            settings["n_clusters"] = int(self.n_clusters)
        elif isinstance(self.n_clusters, str):
            check_enough_rows(n_samples, 1)
            settings["n_clusters"] = self.n_clusters
        else:
            settings["n_clusters"] = _range(self.n_clusters)
            check_enough_rows(n_samples, settings["n_clusters"][1])
        for name, default in _defaults().items():
            value = getattr(self, name)
            if not (name in _APART or value is default or value == default):
                settings[name] = _plain(value)
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
    return [low, high]


def _plain(value):
    """A value as JSON writes it."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


OBCut.__doc__ = (OBCut.__doc__ or "").replace("{parameters}", textwrap.indent(PARAMETERS, "    ").strip())
