"""Input of the estimators: checks tables, weights, seeds and threads, and converts them for the engine."""

import numbers
import os
import warnings
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from . import _core

#: Numbers keep their precision.
DTYPES = [np.float64, np.float32]


def read_table(estimator: Any, X: Any, *, reset: bool, non_negative: bool = False, is_checked: bool = True) -> Any:
    """Check a table as scikit-learn does. Tables that the engine can read in place are not copied."""
    check_mask(X)
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=np.float32 if _is_single(X) else DTYPES,
        order="C",
        ensure_all_finite=is_checked,
        ensure_non_negative=non_negative,
    )


def check_mask(X: Any) -> None:
    """Refuse masked values: NumPy would drop the mask in silence and show what lies below it."""
    if isinstance(X, np.ma.MaskedArray) and (masked := int(np.ma.count_masked(X))):
        rows = np.unique(np.nonzero(np.ma.getmaskarray(X))[0])
        raise ValueError(
            f"X has {masked} masked value(s), the first in row {rows[0]}: fill them with X.filled(...), "
            f"or leave out the {len(rows)} row(s) that have any."
        )


class BatchedRows:
    """Rows that are read in batches from an object with `shape`, `dtype` and slices of rows.

    Single precision, half precision and integers of at most 16 bits are read in single
    precision, which holds all of their values; all others are read in double precision.

    Parameters
    ----------
    source : object
        The rows.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.shape: tuple[int, int] = tuple(map(int, source.shape))  # type: ignore[assignment]
        dtype = np.dtype(source.dtype)
        if dtype.kind not in "fiub":
            raise ValueError(f"rows of type {dtype} cannot be clustered: they must be real numbers.")
        self.is_single = dtype.kind == "b" or dtype.itemsize <= (4 if dtype.kind == "f" else 2)
        self.dtype = np.dtype(np.float32 if self.is_single else np.float64)
        chunks: Any = getattr(source, "chunks", None)
        self._block = int(chunks[0]) if _is_regular(chunks) else max(1, (1 << 16) // max(1, self.shape[1]))

    def read(self, start: Any, stop: int | None) -> NDArray[Any]:
        """Rows from `start` to `stop`; without `stop`, the rows with the ascending numbers `start`."""
        if stop is not None:
            return aligned(self.source[start:stop], self.dtype)
        # Whole blocks are read and rows are selected: libraries are slow to read scattered rows.
        found = np.empty((len(start), self.shape[1]), dtype=self.dtype)
        blocks, places = np.unique(np.asarray(start) // self._block, return_index=True)
        for block, at, end in zip(blocks, places, [*places[1:], len(start)], strict=True):
            first = int(block) * self._block
            rows = np.asarray(self.source[first : min(first + self._block, self.shape[0])])
            found[at:end] = rows[start[at:end] - first]
        return found

    def all(self) -> NDArray[Any]:
        """All rows at once."""
        return self.read(0, self.shape[0])


def _is_regular(chunks: Any) -> bool:
    return isinstance(chunks, tuple) and len(chunks) == 2 and all(isinstance(c, numbers.Integral) for c in chunks)


def open_table(path: str | os.PathLike[str], needed: list[str] | None = None) -> Any:
    """Open a table on disk without reading its rows; `read_input` accepts the result."""
    name = os.fspath(path)
    if name.endswith(".npy") and os.path.exists(name):
        array = np.load(name, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            return array
        # Numbers of other types, or in another order, are converted in batches.
        return _core.RowFile(name) if _is_sliced(array) else array
    return _core.RowFile(name, needed)


def read_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check a table, which may be on disk: `BatchedRows` where it is read in batches, else as `read_table`."""
    if isinstance(X, (str, os.PathLike)):
        known = [] if reset else getattr(estimator, "feature_names_in_", [])
        X = open_table(X, [str(name) for name in known])
    if not _is_sliced(X):
        # A memory map may be larger than memory, and the engine checks the values anyway.
        return read_table(estimator, X, reset=reset, is_checked=not isinstance(X, np.memmap))
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(X.shape)}D array instead.")
    rows = BatchedRows(X)
    # scikit-learn checks the shape only; the engine checks the values.
    with warnings.catch_warnings():
        # Columns of a file are found by their names when it is opened.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        validate_data(estimator, _stand_in(rows), reset=reset, skip_check_array=True)
    if reset and getattr(X, "names", None):
        estimator.feature_names_in_ = np.asarray(X.names, dtype=object)
    if min(rows.shape) == 0:
        raise ValueError(f"Found array with shape {rows.shape} while a minimum of 1 sample and feature is required.")
    return rows


def load(estimator: Any, rows: BatchedRows) -> Any:
    """Read all rows, and check them as a table in memory. The column names are kept."""
    table = aligned(rows.all())
    assert_all_finite(table, input_name="X", estimator_name=type(estimator).__name__)
    return table


def _is_sliced(X: Any) -> bool:
    """Whether the rows are read in slices, because the table may not fit in memory."""
    if isinstance(X, np.memmap):
        is_plain = X.dtype in DTYPES and X.dtype.isnative and X.flags.c_contiguous and X.flags.aligned
        return X.ndim != 2 or not is_plain
    if isinstance(X, (np.ndarray, np.generic)) or sp.issparse(X) or hasattr(X, "iloc"):
        return False
    if not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    try:
        np.dtype(X.dtype)
    except TypeError:  # the type of another library
        return False
    return True


def _stand_in(X: Any) -> Any:
    """An array of the same shape that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype=X.dtype), X.shape) if isinstance(X, BatchedRows) else X


def _is_single(X: Any) -> bool:
    """Whether X is a polars or Arrow table in single precision, which scikit-learn would widen."""
    types = getattr(X, "dtypes", None)
    if types is None:
        types = getattr(getattr(X, "schema", None), "types", None)
    return isinstance(types, list) and bool(types) and {str(t) for t in types} <= {"Float32", "float"}


def aligned(array: Any, dtype: Any = None) -> NDArray[Any]:
    """An array as the engine reads it. Arrays from a network or a file may start at any byte."""
    return np.require(array, dtype, ["C", "A"])


def engine_table(X: Any) -> Any:
    """What the engine reads a checked table from: an array, the parts of a sparse matrix, or rows in batches."""
    if isinstance(X, BatchedRows):
        # The engine reads the rows of a file itself.
        return X.source if isinstance(X.source, _core.RowFile) else (X.read, *X.shape, X.is_single)
    if not sp.issparse(X):
        return aligned(X)
    short = X.indptr.dtype == X.indices.dtype == np.int32
    index = np.int32 if short else np.int64
    return (
        aligned(X.indptr, index),
        aligned(X.indices, index),
        aligned(X.data),
        X.shape[1],
    )


def read_weights(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64] | None:
    """Weights in double precision, or None if all rows have the same weight."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, _stand_in(X), dtype=np.float64, ensure_non_negative=True)
    return aligned(weights)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """The seed of the engine: an integer itself, or a random integer from a generator."""
    if isinstance(random_state, (int, numbers.Integral)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state={random_state} must be between 0 and 2**64 - 1.")
        return int(random_state)
    generator = check_random_state(random_state)
    high, low = generator.randint(0, 2**32, size=2, dtype=np.uint64)
    return int(high) << 32 | int(low)


def threads_of(n_jobs: int | None) -> int:
    """Number of threads by the rules of joblib: None is 1 unless a context sets another number."""
    return joblib.effective_n_jobs(n_jobs)


def check_enough_rows(n_samples: int, n_clusters: int) -> None:
    """Raise the ValueError of scikit-learn if there are fewer rows than clusters."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")
