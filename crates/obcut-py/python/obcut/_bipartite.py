"""The estimator `BipartiteCut`."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, BiclusterMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from obcut import _core
from obcut._docs import documented
from obcut._input import check_enough_rows, engine_table, read_table, seed_of, threads_of
from obcut._progress import CallbackSupportMixin, listening, with_callbacks
from obcut._warnings import warn_of_fit


@documented
class BipartiteCut(CallbackSupportMixin, BiclusterMixin, BaseEstimator):
    """One-step cut of a given bipartite graph: clusters the rows and the columns.

    The graph has an edge between a row and a column for every positive entry of the
    table, and the entry is the weight of the edge. Rows and columns may be documents and
    words, users and items, or any other two kinds of things.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    anchor_weights : {"degree"} or None, default="degree"
        Weights of the columns in the cut.
    normalize_rows : bool, default=True
        Whether every row is scaled to sum to one first. Otherwise rows with many edges
        have a larger weight.
    n_init : int, default=1
        Number of restarts. The result with the best score is kept; the score needs no
        labels.
    max_iter : int, default=30
        Maximum number of iterations of the cut.
    {random_state}
    {n_jobs}
    {verbose}

    Attributes
    ----------
    row_labels_ : ndarray of shape (n_rows,), int32
        Cluster of every row. Every cluster has at least one row.
    column_labels_ : ndarray of shape (n_columns,), int32
        Cluster of every column.
    rows_ : ndarray of shape (n_clusters, n_rows), bool
        Whether a row belongs to a cluster.
    columns_ : ndarray of shape (n_clusters, n_columns), bool
        Whether a column belongs to a cluster.
    objective_ : ndarray
        Value of the cut after every iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the cut converged before the maximum number of iterations.
    {fitted}

    See Also
    --------
    OBCut : Builds the graph from a table and cuts it.

    Examples
    --------
    >>> import numpy as np
    >>> from obcut import BipartiteCut
    >>> words = np.array([[2, 1, 0, 0], [1, 3, 0, 0], [0, 0, 1, 1], [0, 0, 2, 1]])
    >>> model = BipartiteCut(n_clusters=2, random_state=0).fit(words)
    >>> bool((model.row_labels_ == model.column_labels_).all())
    True
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "anchor_weights": [StrOptions({"degree", "none"}), None],
        "normalize_rows": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        anchor_weights: str | None = "degree",
        normalize_rows: bool = True,
        n_init: int = 1,
        max_iter: int = 30,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.anchor_weights = anchor_weights
        self.normalize_rows = normalize_rows
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster the rows and the columns of a graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_columns)
            Weights of the edges, not negative.
        {y}

        Returns
        -------
        {self}
        """
        X = read_table(self, X, reset=True, non_negative=True)
        check_enough_rows(X.shape[0], self.n_clusters)
        if X.shape[1] < self.n_clusters:
            raise ValueError(f"n_features={X.shape[1]} should be >= n_clusters={self.n_clusters}.")
        with listening(self, X) as listener:
            found = _core.cut(
                engine_table(X),
                int(self.n_clusters),
                anchor_weights=self.anchor_weights or "none",
                normalize_rows=bool(self.normalize_rows),
                n_init=int(self.n_init),
                max_iter=int(self.max_iter),
                seed=seed_of(self.random_state),
                threads=threads_of(self.n_jobs),
                listener=listener,
            )
        self.row_labels_ = found["row_labels"]
        self.column_labels_ = found["column_labels"]
        clusters = np.arange(self.n_clusters)[:, None]
        self.rows_ = self.row_labels_ == clusters
        self.columns_ = self.column_labels_ == clusters
        self.objective_ = found["cut"]
        self.n_iter_ = max(self.objective_.size, 1)
        self.converged_ = found["converged"]
        warn_of_fit(self, found["warnings"], cut_is_rising=not self.converged_)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
