"""Scalable graph clustering: one-step bipartite graph cut (OBCut).

The estimators are `OBCut`, which clusters the rows of a table and labels new
ones, and `BipartiteCut`, which clusters both sides of a graph that you already
have. The methods that OBCut is compared with are estimators too: `SSC`, `ESCG`,
`SSCOMP`, `LSC`, `FastESC`, `EulerSC`, `USPEC`, `RKSC`, `DCDPASC` and `KMeans`.
`obcut.metrics` holds the usual scores, `obcut.datasets` a few data sets,
`obcut.plot` pictures (with matplotlib).
"""

from obcut import datasets, metrics
from obcut._bipartite import BipartiteCut
from obcut._core import __version__
from obcut._estimator import OBCut
from obcut._methods import DCDPASC, ESCG, LSC, RKSC, SSC, SSCOMP, USPEC, EulerSC, FastESC, KMeans

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


def __getattr__(name):
    # matplotlib is optional, and slow to import.
    if name == "plot":
        import importlib

        return importlib.import_module("obcut.plot")
    raise AttributeError(f"module 'obcut' has no attribute '{name}'")
