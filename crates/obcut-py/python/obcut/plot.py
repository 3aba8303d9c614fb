"""Pictures of a clustering, with matplotlib (``pip install obcut[plot]``).

Every function draws into the axes that it is given, or into new ones, and
returns them.

Examples
--------
>>> from obcut import OBCut, datasets, plot
>>> X, y = datasets.make_moons(300, random_state=1)
>>> model = OBCut(n_clusters=2, random_state=0).fit(X)
>>> plot.cluster_sizes(model).get_ylabel()
'rows (weight)'
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obcut._bipartite import BipartiteCut
from obcut._estimator import OBCut
from obcut._input import engine_table, read_table, threads_of

try:
    import matplotlib
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise ImportError("obcut.plot needs matplotlib: pip install obcut[plot]") from error

__all__ = ["cluster_sizes", "convergence", "embedding", "graph"]

#: Colours that people with the usual colour blindnesses can tell apart (Okabe and Ito).
_COLORS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#000000"]
_OTHER = "#bbbbbb"
#: Rows drawn in a scatter, at most; more only hide each other.
_MOST_ROWS = 20_000


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(layout="constrained")[1]


def _colors(n: int) -> list[str]:
    if n <= len(_COLORS):
        return _COLORS[:n]
    return [matplotlib.colors.to_hex(c) for c in plt.get_cmap("turbo")(np.linspace(0.03, 0.97, n))]


def _chosen(n: int, most: int) -> NDArray[np.intp]:
    """Some of the rows, evenly spread."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


def convergence(model: OBCut | BipartiteCut, *, ax: Axes | None = None) -> Axes:
    """Draw the objective (or the cut, where nothing is learned) after every iteration.

    Parameters
    ----------
    model : OBCut or BipartiteCut
        A fitted estimator.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes new axes.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    check_is_fitted(model, "objective_")
    ax = _axes(ax)
    values = np.asarray(model.objective_)
    learned = values.size == model.n_iter_ + 1
    ax.plot(np.arange(values.size) + (0 if learned else 1), values, "o-", color=_COLORS[0], markersize=4)
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective" if learned else "value of the cut")
    state = "converged" if model.converged_ else "not converged"
    ax.set_title(f"{'Objective, smaller' if learned else 'Cut, larger'} is better: {state}")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def cluster_sizes(model: OBCut, *, ax: Axes | None = None) -> Axes:
    """Draw the size of every cluster, and a line at the average.

    Parameters
    ----------
    model : OBCut
        A fitted estimator.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes new axes.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    sizes = np.asarray(model.cluster_sizes_)
    ax.bar(np.arange(sizes.size), sizes, color=_colors(sizes.size))
    ax.axhline(sizes.mean(), color="0.3", linestyle="--", linewidth=1, label="average")
    ax.set_xlabel("cluster")
    ax.set_ylabel("rows (weight)")
    ax.set_title(f"Sizes of {sizes.size} clusters")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return ax


def graph(model: OBCut, X: Any, *, ax: Axes | None = None, max_rows: int = 2000) -> Axes:
    """Draw the bipartite graph with rows and anchors sorted by cluster, so that its blocks are seen.

    Links within a cluster have its colour, links between clusters are grey.

    Parameters
    ----------
    model : OBCut
        A fitted estimator.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes new axes.
    max_rows : int, default=2000
        Rows that are drawn, at most.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    X = read_table(model, X, reset=False)
    X = X[_chosen(X.shape[0], max_rows)]
    table, threads = engine_table(X), threads_of(model.n_jobs)
    labels = model._model.predict(table, threads)
    columns = model._model.column_labels
    indptr, indices, _ = model._model.transform(table, threads)
    row_place = np.argsort(np.argsort(labels, kind="stable"))
    column_place = np.argsort(np.argsort(columns, kind="stable"))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(indptr))
    inside = labels[rows] == columns[indices]
    palette = np.asarray(_colors(model.n_clusters_))
    for drawn, colors in [(~inside, _OTHER), (inside, palette[labels[rows[inside]]])]:
        ax.scatter(column_place[indices[drawn]], row_place[rows[drawn]], s=2, c=colors, linewidths=0, rasterized=True)
    for size in np.cumsum(np.bincount(labels, minlength=model.n_clusters_))[:-1]:
        ax.axhline(size - 0.5, color="0.7", linewidth=0.5)
    for size in np.cumsum(np.bincount(columns, minlength=model.n_clusters_))[:-1]:
        ax.axvline(size - 0.5, color="0.7", linewidth=0.5)
    ax.set_xlim(-0.5, columns.size - 0.5)
    ax.set_ylim(X.shape[0] - 0.5, -0.5)
    ax.set_xlabel("anchors, sorted by cluster")
    ax.set_ylabel("rows, sorted by cluster")
    ax.set_title(f"Graph ({model.graph_}): {inside.mean():.0%} of the links stay in their cluster")
    return ax


def embedding(model: OBCut, X: Any, *, ax: Axes | None = None, max_rows: int = _MOST_ROWS) -> Axes:
    """Draw the rows in a plane, coloured by cluster.

    Every cluster has a disc on a circle, similar clusters side by side; a row lies at
    the mean of its anchors. Rows that are hard to place lie between the discs.

    Parameters
    ----------
    model : OBCut
        A fitted estimator.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes new axes.
    max_rows : int, default=20000
        Rows that are drawn, at most.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    X = read_table(model, X, reset=False)
    X = X[_chosen(X.shape[0], max_rows)]
    table, threads = engine_table(X), threads_of(model.n_jobs)
    labels = model._model.predict(table, threads)
    places = model._model.plane(table, threads)
    for cluster, color in enumerate(_colors(model.n_clusters_)):
        x, y = places[labels == cluster].T
        ax.scatter(x, y, s=6, color=color, linewidths=0, alpha=0.7, label=str(cluster), rasterized=True)
    if model.n_clusters_ <= 20:
        ax.legend(title="cluster", markerscale=2, fontsize="small", loc="center")
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title("Map of the rows: mixed ones lie between the clusters")
    return ax
