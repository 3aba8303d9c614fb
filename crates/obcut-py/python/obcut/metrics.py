"""How well clusters agree with known classes, and the criterion of the bipartite graph cut.

The scores do not depend on the names of clusters and classes. The largest value of all of
them is 1; the adjusted scores are about 0 for random clusters and may be negative.

Examples
--------
>>> from obcut import metrics
>>> metrics.accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
0.75
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from obcut import _core
from obcut._docs import documented
from obcut._input import engine_table

__all__ = ["accuracy", "ami", "ari", "bipartite_cut", "nmi", "purity", "scores"]


def _codes(labels: ArrayLike, name: str) -> NDArray[np.uint32]:
    column = np.asarray(column_or_1d(labels))
    if column.size == 0:
        raise ValueError(f"{name} is empty; at least one label is needed.")
    return np.unique(column, return_inverse=True)[1].astype(np.uint32)


def _pair(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    check_consistent_length(labels_true, labels_pred)
    return _codes(labels_true, "labels_true"), _codes(labels_pred, "labels_pred")


@documented
def scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Compute the four scores of the paper from one contingency table.

    {partitions}

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


@documented
def nmi(labels_true: ArrayLike, labels_pred: ArrayLike, *, average_method: str = "max") -> float:
    """Compute the normalized mutual information.

    {partitions}
    average_method : {"max", "arithmetic", "geometric"}, default="max"
        The average of the two entropies that the mutual information is divided by. The
        paper uses the maximum, scikit-learn the arithmetic mean.

    Returns
    -------
    {share}

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.nmi([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    """
    return _core.nmi(*_pair(labels_true, labels_pred), average_method)


@documented
def accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of correct labels under the best matching of clusters to classes.

    {partitions}

    Returns
    -------
    {share}

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.accuracy([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return scores(labels_true, labels_pred)["acc"]


@documented
def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of samples that belong to the largest class of their cluster.

    If every sample is a cluster of its own, the score is 1.

    {partitions}

    Returns
    -------
    {share}

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return scores(labels_true, labels_pred)["purity"]


@documented
def ari(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the adjusted Rand index: agreement on pairs of samples, corrected for chance.

    {partitions}

    Returns
    -------
    {adjusted}

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return scores(labels_true, labels_pred)["ari"]


@documented
def ami(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the adjusted mutual information: mutual information, corrected for chance.

    {partitions}

    Returns
    -------
    {adjusted}

    Examples
    --------
    >>> from obcut import metrics
    >>> round(metrics.ami([0, 0, 1, 1], [1, 1, 0, 0]), 6)
    1.0
    """
    return _core.ami(*_pair(labels_true, labels_pred))


def bipartite_cut(X: Any, row_labels: ArrayLike, column_labels: ArrayLike) -> dict[str, Any]:
    """Compute the criterion that the bipartite graph cut minimizes, term by term.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_columns)
        Weights of the edges, not negative.
    row_labels : array-like of shape (n_rows,)
        The clusters of the rows, as integers from 0.
    column_labels : array-like of shape (n_columns,)
        The clusters of the columns, as integers from 0.

    Returns
    -------
    terms : dict
        An array with a value for every cluster: ``leaving`` and ``entering`` (edges to
        columns and from rows of other clusters, over the size of the side that is in the
        cluster), ``uneven`` (a penalty if the two sides differ in size), ``row_degrees``
        and ``column_degrees`` (mean degrees, which are subtracted). ``total`` is the
        criterion, over all clusters.

    Examples
    --------
    >>> from obcut import metrics
    >>> metrics.bipartite_cut([[3, 0], [1, 1]], [0, 1], [0, 1])["total"]
    -8.0
    """
    graph = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
    labels = []
    for name, given in [("row_labels", row_labels), ("column_labels", column_labels)]:
        column = np.asarray(column_or_1d(given))
        if column.dtype.kind not in "iu" or (column.size and (column.min() < 0 or column.max() >= 2**32)):
            raise ValueError(f"{name} must be integers from 0 to 2**32 - 1.")
        labels.append(np.ascontiguousarray(column, dtype=np.uint32))
    return _core.bipartite_cut(engine_table(graph), *labels)
