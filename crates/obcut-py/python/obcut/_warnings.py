"""Warnings of a fit as Python shows them."""

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from obcut._progress import CALLER


def warn_of_fit(
    estimator: Any, found: Sequence[tuple[str, bool]], *, cut_is_rising: bool = False, depth: int = 1
) -> None:
    """Set `warnings_`, and issue every warning at the line that called `fit`.

    Parameters
    ----------
    estimator : object
        The estimator.
    found : list of (str, bool)
        The warnings of the engine, each with whether it is about convergence.
    cut_is_rising : bool
        Whether the last iteration of the cut raised its value.
    depth : int
        Number of calls between `fit` and this function.
    """
    estimator.warnings_ = [text for text, _ in found]
    issued = list(found)
    if cut_is_rising:
        text = f"the cut was still rising after {estimator.n_iter_} iterations; raise max_iter to continue"
        issued.append((text, True))
    for text, is_about_convergence in issued:
        kind = ConvergenceWarning if is_about_convergence else UserWarning
        warnings.warn(text, kind, stacklevel=CALLER + depth)
