"""What the estimators of the other methods share; their classes are in `_method_classes`.

They label the rows of the fit and no others.
"""

import inspect
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval

from obcut import _core
from obcut._docs import TEXTS, documented, filled
from obcut._input import check_enough_rows, engine_table, read_table, seed_of, threads_of
from obcut._parameters import SCALES
from obcut._progress import CallbackSupportMixin, listening, with_callbacks
from obcut._warnings import warn_of_fit

#: Parameters of all methods, which follow those of a method in its docstring.
_PARAMETERS = """
{random_state}
memory : int or None, default=None
    Maximum number of bytes to use besides the data. None means 12 GiB. If a fit
    needs more, it raises a ValueError with the number before it starts.
{n_jobs}
{verbose}

Attributes
----------
labels_ : ndarray of shape (n_samples,), int32
    Cluster of every row.
n_clusters_ : int
    Number of clusters found.
stage_seconds_ : dict
    Seconds of every stage.
{fitted}

Examples
--------
>>> from obcut import {name}, datasets
>>> X, y = datasets.make_blobs(300, 5, 3, random_state=0)
>>> {name}(n_clusters=3, random_state=0).fit(X).n_clusters_
3
"""


@documented
class Method(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """The parameters and the `fit` of all methods.

    A class of a method is declared with the name of the method.
    """

    _name: str
    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "memory": [Interval(Integral, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | np.random.RandomState | None = None,
        memory: int | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is None:  # a class that a user derives from one of ours
            return
        cls._name = name
        # A blank line ends a list of choices.
        own = inspect.cleandoc(cls.__doc__ or "").replace("{scales}", "{scales}\n")
        doc = own + _PARAMETERS.replace("{name}", cls.__name__)
        cls.__doc__ = filled(doc, {**TEXTS, "scales": SCALES})

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Cluster the rows of a table.

        {rows_alone}

        Returns
        -------
        {self}
        """
        X = read_table(self, X, reset=True)
        check_enough_rows(X.shape[0], self.n_clusters)
        given = self.get_params(deep=False).items()
        settings = [(name, _word(value)) for name, value in given if name not in SHARED_NAMES]
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
        warn_of_fit(self, found["warnings"])
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


#: Names of the parameters that all methods have.
SHARED_NAMES = frozenset(inspect.signature(Method).parameters)


def _word(value: Any) -> str:
    """A setting as the engine reads it."""
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)
