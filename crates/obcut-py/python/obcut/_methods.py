"""What the methods to compare with share; their classes are in `_method_classes`.

They label the rows they are fitted on, and no others.
"""

import inspect
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context

from obcut import _core
from obcut._input import check_enough_rows, engine_table, read_table, seed_of, threads_of
from obcut._progress import CALLER, CallbackSupportMixin, listening, with_callbacks

#: What the classes share; added to the documentation of each.
_SHARED = """

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
#: Parameters that all of them have.
_SHARED_NAMES = {"n_clusters", "random_state", "memory", "n_jobs", "verbose"}


class Method(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """What all of them do."""

    _name: str
    n_clusters: int
    random_state: int | np.random.RandomState | None
    memory: int | None
    n_jobs: int | None

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is None:  # a class that somebody derives from one of ours
            return
        cls._name = name
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _SHARED.format(name=cls.__name__)

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
        given = self.get_params(deep=False).items()
        settings = [(name, _word(value)) for name, value in given if name not in _SHARED_NAMES]
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
        self.warnings_ = [text for text, _ in found["warnings"]]
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
