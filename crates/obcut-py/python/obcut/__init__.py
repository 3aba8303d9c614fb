"""Scalable graph clustering: one-step bipartite graph cut (OBCut).

`OBCut` clusters the rows of a table and labels new rows. `BipartiteCut` clusters the
rows and the columns of a given graph. The methods that OBCut is compared with are
estimators too, from `KMeans` to `USPEC`: `obcut methods` lists them.

`obcut.metrics` contains scores against known classes, `obcut.datasets` data sets and
generators, `obcut.plot` plots (with matplotlib), and `obcut.dask` an `OBCut` for tables
on many machines (with Dask).
"""

import importlib
from typing import TYPE_CHECKING

from obcut._core import __version__

if TYPE_CHECKING:
    from obcut import datasets, metrics, plot
    from obcut._bipartite import BipartiteCut
    from obcut._estimator import OBCut
    from obcut._method_classes import DCDPASC, ESCG, LSC, RKSC, SSC, SSCOMP, USPEC, EulerSC, FastESC, KMeans

__all__ = [
    "DCDPASC",
    "ESCG",
    "LSC",
    "RKSC",
    "SSC",
    "SSCOMP",
    "USPEC",
    "BipartiteCut",
    "EulerSC",
    "FastESC",
    "KMeans",
    "OBCut",
    "__version__",
    "datasets",
    "metrics",
    "plot",
]

#: Modules of the names. They are imported when they are needed, so that the command starts quickly.
_MODULES = {"BipartiteCut": "obcut._bipartite", "OBCut": "obcut._estimator"}


def __getattr__(name):
    if name in ("dask", "datasets", "metrics", "plot"):
        return importlib.import_module(f"obcut.{name}")
    if name in __all__:
        return getattr(importlib.import_module(_MODULES.get(name, "obcut._method_classes")), name)
    raise AttributeError(f"module 'obcut' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(__all__))
