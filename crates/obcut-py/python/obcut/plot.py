"""Plots of a clustering, with matplotlib (``pip install obcut[plot]``).

Every function draws in the given axes, or in new axes, and returns them.

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
from obcut._docs import documented
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

#: Colors that remain distinct under the common forms of color blindness (Okabe and Ito).
_COLORS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#000000"]
_OTHER = "#bbbbbb"
#: Maximum number of rows in a scatter plot; more rows hide each other.
_MOST_ROWS = 20_000


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else plt.subplots(layout="constrained")[1]


def _colors(n: int) -> list[str]:
    if n <= len(_COLORS):
        return _COLORS[:n]
    return [matplotlib.colors.to_hex(c) for c in plt.get_cmap("turbo")(np.linspace(0.03, 0.97, n))]


def _chosen(model: OBCut, X: Any, max_rows: int) -> tuple[Any, NDArray[np.int32], int]:
    """Some of the rows, evenly spread, with their labels and the number of threads to use."""
    check_is_fitted(model)
    X = read_table(model, X, reset=False)
    n = X.shape[0]
    if n > max_rows:
        X = X[np.linspace(0, n - 1, max_rows).astype(np.intp)]
    table, threads = engine_table(X), threads_of(model.n_jobs)
    return table, model._model.predict(table, threads), threads


@documented
def convergence(model: OBCut | BipartiteCut, *, ax: Axes | None = None) -> Axes:
    """Plot the objective after every iteration, or the cut if nothing is learned.

    Parameters
    ----------
    model : OBCut or BipartiteCut
        A fitted estimator.
    {ax}

    Returns
    -------
    {axes}
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


@documented
def cluster_sizes(model: OBCut, *, ax: Axes | None = None) -> Axes:
    """Plot the size of every cluster, and a line at the average.

    Parameters
    ----------
    {model}
    {ax}

    Returns
    -------
    {axes}
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


@documented
def graph(model: OBCut, X: Any, *, ax: Axes | None = None, max_rows: int = 2000) -> Axes:
    """Plot the bipartite graph with rows and anchors sorted by cluster, which shows its blocks.

    Links within a cluster have the color of the cluster, links between clusters are gray.

    {drawn_rows}
    max_rows : int, default=2000
        Maximum number of rows to draw.

    Returns
    -------
    {axes}
    """
    table, labels, threads = _chosen(model, X, max_rows)
    ax = _axes(ax)
    columns = model._model.column_labels
    indptr, indices, _ = model._model.transform(table, threads)
    row_place = np.argsort(np.argsort(labels, kind="stable"))
    column_place = np.argsort(np.argsort(columns, kind="stable"))
    rows = np.repeat(np.arange(labels.size), np.diff(indptr))
    inside = labels[rows] == columns[indices]
    palette = np.asarray(_colors(model.n_clusters_))
    for drawn, colors in [(~inside, _OTHER), (inside, palette[labels[rows[inside]]])]:
        ax.scatter(column_place[indices[drawn]], row_place[rows[drawn]], s=2, c=colors, linewidths=0, rasterized=True)
    for size in np.cumsum(np.bincount(labels, minlength=model.n_clusters_))[:-1]:
        ax.axhline(size - 0.5, color="0.7", linewidth=0.5)
    for size in np.cumsum(np.bincount(columns, minlength=model.n_clusters_))[:-1]:
        ax.axvline(size - 0.5, color="0.7", linewidth=0.5)
    ax.set_xlim(-0.5, columns.size - 0.5)
    ax.set_ylim(labels.size - 0.5, -0.5)
    ax.set_xlabel("anchors, sorted by cluster")
    ax.set_ylabel("rows, sorted by cluster")
    ax.set_title(f"Graph ({model.graph_}): {inside.mean():.0%} of the links stay in their cluster")
    return ax


@documented
def embedding(model: OBCut, X: Any, *, ax: Axes | None = None, max_rows: int = _MOST_ROWS) -> Axes:
    """Plot the rows in the plane, colored by cluster.

    Every cluster is a disc on a circle, and similar clusters are neighbors on it. A row is
    drawn at the mean of its anchors, so uncertain rows lie between the discs.

    {drawn_rows}
    max_rows : int, default=20000
        Maximum number of rows to draw.

    Returns
    -------
    {axes}
    """
    table, labels, threads = _chosen(model, X, max_rows)
    ax = _axes(ax)
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
