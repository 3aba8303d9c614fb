"""Data sets for examples and tests: the handwritten digits, and generators.

A generator returns the same bytes for the same ``random_state`` on every machine. The
rows are in random order, and the classes have equal sizes, except in `make_mixture`.

Examples
--------
>>> from obcut import datasets
>>> X, y = datasets.make_moons(500, random_state=1)
>>> X.shape, y.shape
((500, 2), (500,))
"""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from obcut import _core
from obcut._docs import documented
from obcut._input import seed_of

_State = int | np.random.RandomState | None
_LabelledRows = tuple[NDArray[Any], NDArray[np.int32]]

__all__ = ["load_digits", "make_blobs", "make_mixture", "make_moons", "make_rings", "make_subspaces"]


def _counts(**values: Any) -> list[int]:
    for name, value in values.items():
        if not isinstance(value, numbers.Integral) or value < 0:
            raise ValueError(f"{name}={value!r} must be an integer of 0 or more.")
    return [int(value) for value in values.values()]


def load_digits(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load 1,797 images of handwritten digits, 8 x 8 pixels each.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return a pandas DataFrame and a Series.

    Returns
    -------
    digits : Bunch or tuple
        ``data`` of shape (1797, 64) in double precision, ``target``, ``feature_names``,
        ``target_names`` and ``DESCR``.

    Examples
    --------
    >>> from obcut import datasets
    >>> datasets.load_digits().data.shape
    (1797, 64)
    """
    data, target = _core.digits()
    names = [f"pixel_{i // 8}_{i % 8}" for i in range(data.shape[1])]
    if as_frame:
        import pandas as pd

        data = pd.DataFrame(data, columns=names)
        target = pd.Series(target, name="digit")
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=names,
        target_names=list(range(10)),
        DESCR=(
            "Optical Recognition of Handwritten Digits: E. Alpaydin and C. Kaynak, UCI Machine "
            "Learning Repository, 1998, https://doi.org/10.24432/C50P49, CC BY 4.0."
        ),
    )


@documented
def make_blobs(
    n_samples: int = 1000, n_features: int = 2, n_clusters: int = 3, *, spread: float = 1.0, random_state: _State = None
) -> _LabelledRows:
    """Generate round clusters. With the default spread, k-means separates them without error.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=2
        Number of columns.
    n_clusters : int, default=3
        Number of classes.
    spread : float, default=1.0
        Standard deviation of every cluster.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    {class_of_row}

    Examples
    --------
    >>> from obcut import datasets
    >>> X, y = datasets.make_blobs(100, 5, 4, random_state=0)
    """
    n, d, k = _counts(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    return _core.blobs(n, d, k, float(spread), seed_of(random_state))


@documented
def make_moons(n_samples: int = 1000, *, noise: float = 0.05, random_state: _State = None) -> _LabelledRows:
    """Generate two interleaving half circles.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    noise : float, default=0.05
        Standard deviation of the noise.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows.
    {class_of_row}

    Examples
    --------
    >>> from obcut import datasets
    >>> X, y = datasets.make_moons(200, random_state=0)
    """
    (n,) = _counts(n_samples=n_samples)
    return _core.moons(n, float(noise), seed_of(random_state))


@documented
def make_rings(
    n_samples: int = 1000, n_rings: int = 3, *, noise: float = 0.05, random_state: _State = None
) -> _LabelledRows:
    """Generate concentric rings.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_rings : int, default=3
        Number of rings.
    noise : float, default=0.05
        Standard deviation of the noise.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows.
    {class_of_row}

    Examples
    --------
    >>> from obcut import datasets
    >>> X, y = datasets.make_rings(300, 3, random_state=0)
    """
    n, k = _counts(n_samples=n_samples, n_rings=n_rings)
    return _core.rings(n, k, float(noise), seed_of(random_state))


@documented
def make_subspaces(
    n_samples: int = 2000,
    n_features: int = 30,
    n_clusters: int = 5,
    *,
    dimension: int = 4,
    noise: float = 0.01,
    random_state: _State = None,
) -> _LabelledRows:
    """Generate rows in linear subspaces, one subspace for every class.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    n_features : int, default=30
        Number of columns.
    n_clusters : int, default=5
        Number of subspaces.
    dimension : int, default=4
        Dimension of every subspace.
    noise : float, default=0.01
        Standard deviation of the noise.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    {class_of_row}

    Examples
    --------
    >>> from obcut import datasets
    >>> X, y = datasets.make_subspaces(500, random_state=0)
    """
    n, d, k, dim = _counts(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters, dimension=dimension)
    return _core.subspaces(n, d, k, dim, float(noise), seed_of(random_state))


@documented
def make_mixture(
    n_samples: int = 10000, n_features: int = 32, n_clusters: int = 10, *, random_state: _State = None
) -> _LabelledRows:
    """Generate clusters of different sizes and shapes in single precision, for large experiments.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of rows.
    n_features : int, default=32
        Number of columns.
    n_clusters : int, default=10
        Number of classes.
    {random_state}

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
        The rows.
    {class_of_row}

    Examples
    --------
    >>> from obcut import datasets
    >>> X, y = datasets.make_mixture(1000, random_state=0)
    >>> X.dtype
    dtype('float32')
    """
    n, d, k = _counts(n_samples=n_samples, n_features=n_features, n_clusters=n_clusters)
    return _core.mixture(n, d, k, seed_of(random_state))
