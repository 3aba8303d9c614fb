"""What the estimators share: tables, seeds, threads, as the engine takes them."""

import numbers
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

#: Numbers are read in the precision they come in.
DTYPES = [np.float64, np.float32]


def read_table(estimator: Any, X: Any, *, reset: bool, non_negative: bool = False) -> Any:
    """Check a table as scikit-learn does; nothing is copied that the engine can read in place."""
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=np.float32 if _is_single(X) else DTYPES,
        order="C",
        ensure_non_negative=non_negative,
    )


def _is_single(X: Any) -> bool:
    """Whether X is a polars or Arrow table in single precision, which scikit-learn would widen."""
    types = getattr(X, "dtypes", None)
    if types is None:
        types = getattr(getattr(X, "schema", None), "types", None)
    return isinstance(types, list) and bool(types) and {str(t) for t in types} <= {"Float32", "float"}


def engine_table(X: Any) -> Any:
    """The arrays of a checked table: itself, or the parts of a sparse one."""
    if not sp.issparse(X):
        return X
    short = X.indptr.dtype == X.indices.dtype == np.int32
    index = np.int32 if short else np.int64
    return (
        np.ascontiguousarray(X.indptr, dtype=index),
        np.ascontiguousarray(X.indices, dtype=index),
        np.ascontiguousarray(X.data),
        X.shape[1],
    )


def read_weights(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64] | None:
    """Weights in double precision, or None when all rows count alike."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(weights)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """The seed of the engine: a number is used as it is, a generator gives one."""
    if isinstance(random_state, (int, numbers.Integral)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state={random_state} must be between 0 and 2**64 - 1.")
        return int(random_state)
    generator = check_random_state(random_state)
    high, low = generator.randint(0, 2**32, size=2, dtype=np.uint64)
    return int(high) << 32 | int(low)


def threads_of(n_jobs: int | None) -> int:
    """Number of threads, by the rules of joblib: None is 1 unless a context says more."""
    return joblib.effective_n_jobs(n_jobs)


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Say it in scikit-learn's words."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")
