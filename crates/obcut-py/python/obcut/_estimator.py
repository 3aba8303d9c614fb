"""The estimator `OBCut`."""

import inspect
import json
import os
from collections.abc import Callable
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
from sklearn.utils.validation import check_array, check_is_fitted

from obcut import _core
from obcut._docs import TEXTS, documented, filled
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
from obcut._parameters import PARAMETERS, SCALES, OBCutParameters
from obcut._progress import CallbackSupportMixin, listening, with_callbacks
from obcut._warnings import warn_of_fit

try:
    from sklearn.utils._set_output import _get_output_config
except ImportError:  # moved, or gone

    def _get_output_config(method, estimator=None):
        return {"dense": "default"}


#: Parameters that are not passed to the engine by `_settings`.
_APART = {"n_clusters", "preset", "init", "anchors", "random_state", "n_jobs", "verbose"}


@documented
class OBCut(
    OBCutParameters,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """One-step bipartite graph cut: scalable graph clustering that labels new rows.

    OBCut links every row to some of a few hundred anchors and cuts this graph into
    balanced parts in one step. The time is linear in the number of rows. Unlike k-means,
    it finds clusters such as curved shapes and unions of subspaces.

    The labels depend on the data and the seed only, not on the number of threads. A row
    with sample weight 3 counts as three copies of the row; a row with weight 0 is ignored.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of every row, -1 for noise if `noise` is given. Before noise is marked,
        every cluster has at least one row.
    confidence_ : ndarray of shape (n_samples,)
        Confidence of every label: 0 on the border of two clusters, 1 well inside a
        cluster. It is the difference of the two largest probabilities of
        `predict_proba`.
    outlier_scores_ : ndarray of shape (n_samples,)
        Outlier score of every row: about 1 for the typical rows of a cluster, larger the
        farther a row lies from the others.
    margin_ : ndarray of shape (n_samples,)
        Difference between the gains of the best and the second-best cluster.
    n_clusters_ : int
        Number of clusters.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors, in the units of the data.
    anchor_labels_ : ndarray of shape (n_anchors,)
        Cluster of every anchor.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Weight of the rows in every cluster.
    stability_ : float or None
        Stability of the clustering: the mean adjusted Rand index over the resamples.
        None if `stability` is 0.
    cluster_stability_ : ndarray of shape (n_clusters,) or None
        Stability of every cluster: its mean Jaccard index with the most similar cluster
        of a resample. Above 0.85 a cluster is very stable; below 0.6 it should not be
        trusted. NaN for a cluster without a row in any resample.
    objective_ : ndarray
        Value after every iteration: of the objective if something is learned (the first
        value is that of the start), otherwise of the cut.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the fit converged before the maximum number of iterations.
    graph_ : str
        The graph in use, such as "global+distance".
    scale_ : str
        The scaling in use.
    explanation_ : dict
        The features that set every cluster apart, the candidates that were compared, and
        the scores of other numbers of clusters if the number was chosen.
    large_ : dict or None
        For a table with more rows than `core_rows`: the number of distinct rows in its
        coreset ("core_rows"), the number of passes over all rows ("passes"), the share of
        the coreset that the next rule would move after every pass ("moved"), the
        relative increase of the cut by that rule ("gain"), and the seconds of every pass
        ("pass_seconds"). None for other tables.
    stage_seconds_ : dict
        Seconds of every stage.
    {fitted}

    See Also
    --------
    BipartiteCut : Clusters the rows and the columns of a given graph.

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
            The rows. Single precision and sparsity are kept. C-contiguous arrays,
            memory maps and CSR matrices are read in place. Tables on disk are read in
            batches: the path of a file, a folder or a pattern (NPY, Parquet, CSV), or an
            object with `shape`, `dtype` and slices of rows, such as an array of h5py or
            zarr. Integers of at most 16 bits and half precision are read in single
            precision then.
        {y}
        {copies}

        Returns
        -------
        {self}
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
        """The arguments of the engine, except for the rows."""
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
        """Whether a table of this size is clustered by a coreset."""
        return _core.is_large(plan["settings"], n_samples, n_features, paper=plan["paper"], anchors=plan["anchors"])

    def _keep(self, found: dict[str, Any]) -> None:
        """Set the attributes of a fit, and issue its warnings."""
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
        cut_is_rising = not self.converged_ and not found["objective"].size
        warn_of_fit(self, found["warnings"], cut_is_rising=cut_is_rising, depth=2)

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Cluster the rows of a table and return their labels.

        {rows_and_weights}

        Returns
        -------
        {labels}
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Cluster the rows of a table and return their links to the anchors.

        {rows_and_weights}

        Returns
        -------
        {links}
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Predict the cluster of every row. Rows of the fit keep their labels.

        {rows}

        Returns
        -------
        {labels}
        """
        return self._of_rows(_core.Model.predict, X)

    def predict_confidence(self, X: Any) -> NDArray[np.float64]:
        """Predict the confidence of the label of every row.

        {rows}

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
            Between 0 and 1, see `confidence_`.
        """
        return self._of_rows(_core.Model.confidence, X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of every cluster for every row.

        {rows}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            Every row sums to one. The cluster of the row has the largest probability,
            even if the row is marked as noise. Far from all clusters, the probabilities
            approach ``1 / n_clusters``.
        """
        return self._of_rows(_core.Model.predict_proba, X)

    def outlier_scores(self, X: Any) -> NDArray[np.float64]:
        """Compute the outlier score of every row.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            About 1 for typical rows, larger for outliers, see `outlier_scores_`.
        """
        return self._of_rows(_core.Model.outlier_scores, X)

    def transform(self, X: Any) -> Any:
        """Link rows to the anchors.

        {rows}

        Returns
        -------
        {links}
        """
        X = self._read(X)
        indptr, indices, data = self._model.transform(engine_table(X), threads_of(self.n_jobs))
        kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        graph = kind((data, indices, indptr), shape=(X.shape[0], self._n_features_out))
        graph.sort_indices()
        frame = _get_output_config("transform", estimator=self)["dense"] != "default"
        return graph.toarray() if frame else graph

    def score(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> float:
        """Score the clusters of rows without known classes.

        The score is the mean probability that a step from a row to an anchor and back
        stays in the cluster, times the normalized entropy of the cluster sizes. Use it to
        compare parameters of one kind of graph; to compare kinds of graphs, use
        ``graph="auto"``. All rows are read into memory.

        {rows_and_weights}

        Returns
        -------
        {score}
        """
        X = self._read(X)
        if isinstance(X, BatchedRows):
            X = load(self, X)
        weights = read_weights(sample_weight, X)
        return self._model.score(engine_table(X), weights, threads_of(self.n_jobs))

    def _read(self, X: Any) -> Any:
        """Check rows that a fitted estimator is given."""
        check_is_fitted(self)
        return read_input(self, X, reset=False)

    def _of_rows(self, function: Callable[..., Any], X: Any) -> Any:
        """Call a function of the model with rows."""
        table = engine_table(self._read(X))
        return function(self._model, table, threads_of(self.n_jobs))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model to a file, which the command ``obcut predict`` reads as well.

        Parameters
        ----------
        path : str or path-like
            The file. The usual extension is ``.safetensors``.
        {overwrite}
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
        """Write a report with charts: one HTML file that needs no network.

        The report shows cluster sizes, the features that set every cluster apart,
        convergence, seconds and parameters. With `X` it also shows a map of the rows, the
        graph, the confidence of the labels, and typical rows. They are computed by this
        call, because the estimator does not keep the rows.

        Parameters
        ----------
        path : str or path-like
            The file. The usual extension is ``.html``.
        X : {array-like, sparse matrix, path} of shape (n_samples, n_features), default=None
            The rows to show, in memory or on disk, as for `fit`. They need not be those
            of the fit. Without rows, the report has no charts of rows and explains how to
            add them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of `X`. They are used to choose the typical rows.
        title : str, default=None
            Title of the page.
        {overwrite}
        """
        check_is_fitted(self)
        weights = None
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight holds the weights of the rows of X: pass X as well.")
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
        """Read a model that was written by `save` or by the command.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        model : OBCut
            A fitted estimator. The file does not contain the labels of the rows of the fit.
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

    @property
    def anchors_(self) -> NDArray[np.float64]:
        """The anchors in the units of the data, computed from the model."""
        if "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'anchors_' before it is fitted")
        return self._model.anchors

    def _settings(self, n_samples: int) -> dict[str, Any]:
        """The parameters that differ from the preset, as the engine reads them."""
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
        """The code that fits the same model again."""
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
        """The given initial labels."""
        labels = np.asarray(self.init)
        if labels.shape != (n_samples,):
            raise ValueError(
                f"init has shape {labels.shape}, but X has {n_samples} samples: pass one label for every sample."
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
    """A value that JSON can write."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


OBCut.__doc__ = filled(OBCut.__doc__, {"parameters": filled(PARAMETERS.strip(), {**TEXTS, "scales": SCALES}) or ""})
