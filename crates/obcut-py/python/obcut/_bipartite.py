"""The estimator `BipartiteCut`."""

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, BiclusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from obcut import _core
from obcut._input import check_enough_rows, engine_table, read_table, seed_of, threads_of
from obcut._progress import CALLER, CallbackSupportMixin, listening, with_callbacks


class BipartiteCut(CallbackSupportMixin, BiclusterMixin, BaseEstimator):
    """The one-step cut alone: clusters rows and columns of a non-negative graph.

    Documents and words, users and items, or any graph between two kinds of things:
    an entry is the weight of the edge between its row and its column.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    anchor_weights : {"degree"} or None, default="degree"
        Weights of the columns in the cut.
    normalize_rows : bool, default=True
        Whether rows are scaled to sum one first. Without it, rows with many edges
        count for more.
    n_init : int, default=1
        Restarts; the best by a score without labels is kept.
    max_iter : int, default=30
        Most turns of the cut.
    random_state : int, RandomState instance or None, default=None
        Seed. A number is the ``--seed`` of the command.
    n_jobs : int or None, default=None
        Threads: None is 1 unless in a :obj:`joblib.parallel_config` context, -1 all.
        It does not change the result.
    verbose : int, default=0
        1 shows a progress bar, 2 every iteration.

    Attributes
    ----------
    row_labels_ : ndarray of shape (n_rows,), int32
        Cluster of every row; no cluster is without rows.
    column_labels_ : ndarray of shape (n_columns,), int32
        Cluster of every column.
    rows_ : ndarray of shape (n_clusters, n_rows), bool
        Which rows belong to which cluster.
    columns_ : ndarray of shape (n_clusters, n_columns), bool
        Which columns belong to which cluster.
    objective_ : ndarray
        Value of the cut after every turn.
    n_iter_ : int
        Number of turns.
    converged_ : bool
        Whether the turns ended by themselves.
    warnings_ : list of str
        What you should know, in plain words.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if they have names.

    See Also
    --------
    OBCut : Makes the graph from a table and cuts it.

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
        """Cluster both sides of a graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_columns)
            Weights of the edges, not negative.
        y : Ignored
            Not used; here for consistency.

        Returns
        -------
        self : BipartiteCut
            The fitted estimator.
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
        self.warnings_ = [text for text, _ in found["warnings"]]
        for text in self.warnings_:
            warnings.warn(text, UserWarning, stacklevel=CALLER)
        if not self.converged_:
            text = f"the cut was still rising after {self.n_iter_} iterations; raise max_iter to continue"
            warnings.warn(text, ConvergenceWarning, stacklevel=CALLER)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
