"""How well clusters agree with known classes.

All are fractions of 1 (the adjusted Rand index may be negative), and none
depends on how clusters and classes are named.

Examples
--------
>>> from obcut import metrics
>>> metrics.accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
0.75
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from obcut import _core

__all__ = ["accuracy", "ami", "ari", "nmi", "purity", "scores"]


def _codes(labels: ArrayLike, name: str) -> NDArray[np.uint32]:
    column = np.asarray(column_or_1d(labels))
    if column.size == 0:
        raise ValueError(f"{name} is empty; at least one label is needed.")
    return np.unique(column, return_inverse=True)[1].astype(np.uint32)


def _pair(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    check_consistent_length(labels_true, labels_pred)
    return _codes(labels_true, "labels_true"), _codes(labels_pred, "labels_pred")


def scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """All four scores of the paper at the price of one table.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes: numbers or strings.
    labels_pred : array-like of shape (n_samples,)
        The clusters.

    Returns
    -------
    scores : dict
        ``nmi``, ``acc``, ``purity`` and ``ari``.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.scores([0, 0, 1, 1], [1, 1, 0, 0])
    {'nmi': 1.0, 'acc': 1.0, 'purity': 1.0, 'ari': 1.0}
    """
    found = _core.scores(*_pair(labels_true, labels_pred))
    return dict(zip(["nmi", "acc", "purity", "ari"], found, strict=True))


def nmi(labels_true: ArrayLike, labels_pred: ArrayLike, *, average_method: str = "max") -> float:
    """Normalised mutual information.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes.
    labels_pred : array-like of shape (n_samples,)
        The clusters.
    average_method : {"max", "arithmetic", "geometric"}, default="max"
        What the mutual information is divided by: an average of the two
        entropies. The paper divides by the larger one, scikit-learn by the mean.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.nmi([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    """
    return _core.nmi(*_pair(labels_true, labels_pred), average_method)


def accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that are right under the best matching of clusters to classes.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes.
    labels_pred : array-like of shape (n_samples,)
        The clusters.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.accuracy([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return scores(labels_true, labels_pred)["acc"]


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that belong to the largest class of their cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes.
    labels_pred : array-like of shape (n_samples,)
        The clusters. A cluster for every sample scores 1.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return scores(labels_true, labels_pred)["purity"]


def ari(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Adjusted Rand index: agreement on pairs of samples, corrected for chance.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes.
    labels_pred : array-like of shape (n_samples,)
        The clusters.

    Returns
    -------
    score : float
        1 for equal partitions, about 0 for random ones.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return scores(labels_true, labels_pred)["ari"]


def ami(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Adjusted mutual information: what is shared beyond chance.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The known classes.
    labels_pred : array-like of shape (n_samples,)
        The clusters.

    Returns
    -------
    score : float
        1 for equal partitions, about 0 for random ones.

    Examples
    --------
    >>> from obcut import metrics
    >>> round(metrics.ami([0, 0, 1, 1], [1, 1, 0, 0]), 6)
    1.0
    """
    return _core.ami(*_pair(labels_true, labels_pred))
