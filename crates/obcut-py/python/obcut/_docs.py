"""Text that several docstrings share.

A docstring has a line such as ``{random_state}`` where one of the texts stands; `documented` puts the texts in when
a class or function is defined, so `help` shows the whole docstring.
"""

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any, TypeVar

_X = """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows."""
_Y = """\
y : Ignored
    Not used, present for API consistency by convention."""
_WEIGHT = """\
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows."""
_MODEL = """\
model : OBCut
    A fitted estimator."""
_AX = """\
ax : matplotlib.axes.Axes or None, default=None
    The axes to draw in. None creates new axes."""


def _section(*parameters: str) -> str:
    return "\n".join(["Parameters", "----------", *parameters])


#: The texts by name.
TEXTS = {
    "rows": _section(_X),
    "rows_alone": _section(_X, _Y),
    "rows_and_weights": _section(_X, _Y, _WEIGHT),
    "lazy_rows": """\
Parameters
----------
X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` accepts
    The rows.""",
    "drawn_rows": _section(_MODEL, _X, _AX),
    "sample_weight": _WEIGHT,
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Seed of all random choices. An integer is the same as ``--seed`` of the command.""",
    "n_jobs": """\
n_jobs : int or None, default=None
    Number of threads. None means 1 unless in a :obj:`joblib.parallel_config`
    context, -1 means all cores. The result does not depend on it.""",
    "verbose": """\
verbose : int, default=0
    1 shows a progress bar (with tqdm if it is installed), 2 every iteration.""",
    "y": _Y,
    "copies": """\
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows. An integer weight counts as that many copies of the row.
    Rows of weight 0 are ignored.""",
    "self": """\
self : object
    The fitted estimator.""",
    "labels": """\
labels : ndarray of shape (n_samples,)
    Cluster of every row, -1 for noise if `noise` is given.""",
    "links": """\
B : sparse matrix of shape (n_samples, n_columns)
    Weights of the links in CSR format. Every row sums to one. If `set_output` asks
    for a data frame, the result is a dense table.""",
    "score": """\
score : float
    Between 0 and 1; larger is better.""",
    "overwrite": """\
overwrite : bool, default=True
    Whether an existing file is replaced.""",
    "fitted": """\
warnings_ : list of str
    The warnings of the fit.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if they have names.""",
    "class_of_row": """\
y : ndarray of shape (n_samples,)
    The class of every row.""",
    "partitions": """\
Parameters
----------
labels_true : array-like of shape (n_samples,)
    The known classes, as numbers or strings.
labels_pred : array-like of shape (n_samples,)
    The clusters.""",
    "share": """\
score : float
    Between 0 and 1.""",
    "adjusted": """\
score : float
    1 for equal partitions, about 0 for random ones.""",
    "model": _MODEL,
    "ax": _AX,
    "axes": """\
ax : matplotlib.axes.Axes
    The axes.""",
}

#: A line that stands for a text.
_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)

T = TypeVar("T")


def filled(doc: str | None, texts: Mapping[str, str] = TEXTS) -> str | None:
    """A docstring with the texts in their places; names without a text stay as they are."""

    def text(place: re.Match[str]) -> str:
        indent, name = place.groups()
        return textwrap.indent(texts[name], indent) if name in texts else place[0]

    return None if doc is None else _PLACE.sub(text, doc)


def documented(item: T) -> T:
    """Put the texts into the docstring of a function, or into those of a class and its methods."""
    parts: list[Any] = [item]
    if isinstance(item, type):
        methods = [getattr(value, "__func__", value) for value in vars(item).values()]
        parts += [method for method in methods if inspect.isfunction(method)]
    for part in parts:
        part.__doc__ = filled(part.__doc__)
    return item
