"""`OBCut` for tables on many machines, with Dask (``pip install 'obcut[dask]'``).

The partitions of a table stay where they are. One task per partition and pass labels its
rows and adds up what the next pass needs; a small state goes out, small sums come back.
Joining them is exact: the fit has the bits of `obcut.OBCut` on the same rows, for any
partitions and any number of workers, also when workers are lost on the way.
"""

import inspect
import os
import pathlib
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

import obcut
from obcut import _core, _engine, _estimator
from obcut._input import engine_table, read_weights
from obcut._progress import listening, with_callbacks

try:
    import dask
    import dask.array as da
    import distributed
except ImportError as error:
    raise ImportError("obcut.dask needs Dask: pip install 'obcut[dask]'") from error

__all__ = ["OBCut"]

#: Seconds between two questions to the scheduler who is there.
ROLL_CALL = 1.0


class OBCut(_estimator.OBCut):
    """One-step bipartite graph cut of a table in partitions, on a Dask cluster.

    All parameters and attributes of :class:`obcut.OBCut` hold here; two parameters are
    added, and `labels_`, `confidence_` and `outlier_scores_` are lazy dask arrays. A large
    table has no `margin_`. The client that is current does the work: make a ``distributed.Client`` first.

    The core, some distinct rows that a large table is clustered by, is cut by the client
    itself, with `n_jobs` threads. A table with fewer rows is brought to the client and
    clustered there.

    Parameters
    ----------
    n_clusters : int, "auto" or tuple (low, high), default=8
        Number of clusters, as of :class:`obcut.OBCut`.
    persist : bool, default=True
        Whether the partitions are kept in the memory of the workers during the fit. If
        not, every pass computes them anew.
    timeout : float, default=60
        Seconds that a fit waits for a worker when none is left.
    **parameters
        The other parameters of :class:`obcut.OBCut`.

    Attributes
    ----------
    labels_ : dask array of shape (n_samples,), int32
        Cluster of every row, in the chunks of the rows, computed when asked for.
    confidence_ : dask array of shape (n_samples,)
        How sure every label is, computed when asked for.
    outlier_scores_ : dask array of shape (n_samples,)
        How outlying every row is, computed when asked for.
    margin_ : dask array of shape (n_samples,), or None
        As in :class:`obcut.OBCut`; None for a large table.

    See Also
    --------
    obcut.OBCut : The same for one machine, with all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from obcut.dask import OBCut
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).random((4000, 3), chunks=(1000, 3))
    >>> model = OBCut(2, graph="distance", core_rows=500, random_state=0).fit(X)
    >>> model.labels_.chunks
    ((1000, 1000, 1000, 1000),)
    >>> bool((model.predict(X) == model.labels_).all().compute())
    True
    >>> client.close()
    """

    _parameter_constraints: dict = {
        **_estimator.OBCut._parameter_constraints,
        "persist": ["boolean"],
        "timeout": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | tuple[int, int] = 8,
        *,
        persist: bool = True,
        timeout: float = 60,
        **parameters: Any,
    ) -> None:
        super().__init__(n_clusters, **parameters)
        self.persist = persist
        self.timeout = timeout

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of a table in partitions.

        Parameters
        ----------
        X : dask array, dask dataframe or path
            The rows, dense numbers. A path leads to a zarr array or to Parquet files.
        y : Ignored
            Not used; here for consistency.
        sample_weight : dask array or array-like of shape (n_samples,), default=None
            Weights: an integer means that many copies, 0 that the row is not there.

        Returns
        -------
        self : OBCut
            The fitted estimator.
        """
        table = _Table(X)
        client = _client()
        engine = Cluster(client, table, is_kept=self.persist, timeout=self.timeout)
        try:
            engine.check()
            engine.measure()
            shape = (engine.firsts[-1], engine.n_cols)
            table.check(self, engine.n_cols, reset=True)
            if shape[0] == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            plan = self._plan(*shape)
            engine.weigh(sample_weight)
            names = [str(name) for name in getattr(self, "feature_names_in_", [])]
            with listening(self, X, sample_weight) as listener:
                if self._is_large(plan, *shape):
                    is_single = table.dtype == np.float32
                    found = _engine.fit(engine, plan, is_single, names, listener)
                else:
                    found = _fit_here(engine, plan, names, listener)
        finally:
            engine.cancel()
        chunks = tuple(int(n) for n in np.diff(engine.firsts))
        is_large = found["large"] is not None
        if is_large:
            found["labels"] = _labels(found["model"], table, chunks)
            found["confidence"] = _figures(_block_confidence, found["model"], table, chunks)
            found["outlier_scores"] = _figures(_block_outliers, found["model"], table, chunks)
            found["margin"] = None
        else:
            found["labels"] = da.from_array(found["labels"], chunks=(chunks,))
            for name in ("confidence", "outlier_scores", "margin"):
                found[name] = da.from_array(found[name], chunks=(chunks,))
        self._keep(found)
        return self

    def predict(self, X: Any) -> Any:
        """Label rows. The rows of the fit get the labels of the fit.

        Parameters
        ----------
        X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` takes
            The rows.

        Returns
        -------
        labels : dask array of shape (n_samples,)
            Cluster of every row, computed block by block when asked for. For rows in
            memory it is an array.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict(X)
        return _labels(self._model, self._checked(X))

    def predict_confidence(self, X: Any) -> Any:
        """Tell how sure the labels of rows are.

        Parameters
        ----------
        X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` takes
            The rows.

        Returns
        -------
        confidence : dask array of shape (n_samples,)
            From 0 to 1 for every row, computed block by block when asked for.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict_confidence(X)
        return _figures(_block_confidence, self._model, self._checked(X))

    def predict_proba(self, X: Any) -> Any:
        """Tell how likely every cluster is for rows.

        Parameters
        ----------
        X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` takes
            The rows.

        Returns
        -------
        probabilities : dask array of shape (n_samples, n_clusters)
            They sum to 1; computed block by block when asked for.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict_proba(X)
        meta = np.empty((0, 0), dtype=np.float64)
        return self._checked(X).blockwise(_block_proba, self._model, meta, columns=self._model.n_clusters)

    def outlier_scores(self, X: Any) -> Any:
        """Tell how outlying rows are.

        Parameters
        ----------
        X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` takes
            The rows.

        Returns
        -------
        scores : dask array of shape (n_samples,)
            About 1 for usual rows, computed block by block when asked for.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().outlier_scores(X)
        return _figures(_block_outliers, self._model, self._checked(X))

    def transform(self, X: Any) -> Any:
        """Link rows to the anchors.

        Parameters
        ----------
        X : dask array, dask dataframe, path, or what :class:`obcut.OBCut` takes
            The rows.

        Returns
        -------
        B : dask array of shape (n_samples, n_columns)
            Weights of the links; its blocks are sparse matrices in CSR, computed when
            asked for.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().transform(X)
        table = self._checked(X)
        meta = sp.csr_matrix((0, 0), dtype=table.dtype)
        return table.blockwise(_block_links, self._model, meta, columns=self._model.n_columns)

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Score rows in memory without labels, as :meth:`obcut.OBCut.score` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; of a large table a sample will do.
        y : Ignored
            Not used; here for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1; larger is better.
        """
        if _is_lazy(X):
            raise ValueError("score takes rows in memory: give it a sample, such as X[:100_000].compute()")
        return super().score(X, sample_weight=sample_weight)

    def _checked(self, X: Any) -> "_Table":
        table = _Table(X)
        table.check(self, table.n_cols, reset=False)
        return table


def _signature():
    """The signature with all parameters, which scikit-learn asks for."""
    ours = inspect.signature(OBCut.__init__).parameters
    theirs = inspect.signature(_estimator.OBCut.__init__).parameters
    added = [parameter for name, parameter in ours.items() if name in ("persist", "timeout")]
    return inspect.Signature([*theirs.values(), *added])


OBCut.__init__.__signature__ = _signature()  # type: ignore[attr-defined]


class _Table:
    """A table as Dask has it: an array with all columns in one block, and the names of a frame."""

    def __init__(self, X: Any) -> None:
        if isinstance(X, (str, os.PathLike)):
            X = _opened(X)
        self.meta = None
        if hasattr(X, "to_dask_array") and hasattr(getattr(X, "_meta", None), "columns"):
            self.meta = X._meta
            wrong = [str(c) for c, t in self.meta.dtypes.items() if getattr(t, "kind", "O") not in "fiub"]
            if wrong:
                raise ValueError(f"the columns {', '.join(wrong)} are not numbers: drop or encode them first")
            self.dtype = np.dtype(_engine.real_type(self.meta.dtypes))
            self.blocks = X.to_delayed()
            X = X.to_dask_array()
        elif isinstance(X, da.Array):
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
            if X.dtype.kind not in "fiub":
                raise ValueError(f"the rows have the type {X.dtype}, but must be real numbers.")
            self.dtype = np.dtype(_engine.real_type([X.dtype]))
            if X.numblocks[1] > 1:
                X = X.rechunk({1: -1})
            self.blocks = X.to_delayed().ravel().tolist()
        else:
            raise TypeError(
                f"{type(X).__name__} is no dask array, dask dataframe or path; obcut.OBCut takes rows in memory"
            )
        self.array = X

    @property
    def n_cols(self) -> int:
        """Number of columns, as Dask believes."""
        return int(self.array.shape[1])

    def check(self, estimator: OBCut, n_cols: int, *, reset: bool) -> None:
        """Check or keep number and names of the columns, as scikit-learn does."""
        like = np.zeros((1, n_cols)) if self.meta is None else self.meta
        validate_data(estimator, like, reset=reset, skip_check_array=True)

    def blockwise(
        self,
        function: Callable,
        model: _core.Model,
        meta: Any,
        *,
        rows: tuple[int, ...] | None = None,
        columns: int | None = None,
    ) -> da.Array:
        """What a function makes of every block and the model."""
        shared = dask.delayed(model, name=f"obcut-model-{uuid.uuid4().hex}", traverse=False)
        chunks: tuple[Any, ...] = (self.array.chunks[0] if rows is None else rows,)
        options: dict[str, Any] = {"drop_axis": 1} if columns is None else {}
        if columns is not None:
            chunks = (*chunks, (columns,))
        return self.array.map_blocks(
            function,
            model=shared,
            precision=self.dtype.name,
            chunks=chunks,
            dtype=meta.dtype,
            meta=meta,
            name=f"obcut-{function.__name__.rsplit('_', 1)[-1]}-{uuid.uuid4().hex}",
            **options,
        )


def _opened(path: str | os.PathLike[str]) -> Any:
    """A table on disk, as Dask reads it."""
    name = os.fspath(path)
    place = pathlib.Path(name)
    if name.rstrip("/").endswith(".zarr") or any((place / mark).exists() for mark in (".zarray", "zarr.json")):
        return da.from_zarr(name)
    if name.endswith(".npy"):
        raise ValueError(f"{name}: obcut.OBCut reads NPY files; here give a zarr array or Parquet files")
    import dask.dataframe as dd

    return dd.read_parquet(name)


def _is_lazy(X: Any) -> bool:
    """Whether rows are Dask's to read; NPY files are read here."""
    if isinstance(X, (str, os.PathLike)):
        return not os.fspath(X).endswith(".npy")
    return dask.is_dask_collection(X)


def _labels(model: _core.Model, table: _Table, rows: tuple[int, ...] | None = None) -> da.Array:
    return table.blockwise(_block_labels, model, np.empty(0, dtype=np.int32), rows=rows)


def _figures(function: Callable, model: _core.Model, table: _Table, rows: tuple[int, ...] | None = None) -> da.Array:
    return table.blockwise(function, model, np.empty(0, dtype=np.float64), rows=rows)


def _block_labels(block: Any, model: _core.Model, precision: str) -> Any:
    table = _engine.as_table(block, precision)
    return model.predict(table) if len(table) else np.empty(0, dtype=np.int32)


def _block_confidence(block: Any, model: _core.Model, precision: str) -> Any:
    table = _engine.as_table(block, precision)
    return model.confidence(table) if len(table) else np.empty(0, dtype=np.float64)


def _block_outliers(block: Any, model: _core.Model, precision: str) -> Any:
    table = _engine.as_table(block, precision)
    return model.outlier_scores(table) if len(table) else np.empty(0, dtype=np.float64)


def _block_proba(block: Any, model: _core.Model, precision: str) -> Any:
    table = _engine.as_table(block, precision)
    return model.predict_proba(table) if len(table) else np.empty((0, model.n_clusters), dtype=np.float64)


def _block_links(block: Any, model: _core.Model, precision: str) -> Any:
    table = _engine.as_table(block, precision)
    shape = (len(table), model.n_columns)
    if not len(table):
        return sp.csr_matrix(shape, dtype=precision)
    indptr, indices, data = model.transform(table)
    links = sp.csr_matrix((data, indices, indptr), shape=shape)
    links.sort_indices()
    return links


def _fit_here(engine: "Cluster", plan: dict[str, Any], names: list[str], listener: Any) -> dict[str, Any]:
    """Cluster a table that is not large, in the client."""
    indices = range(len(engine.tables))
    rows = np.concatenate(engine.results(engine.start("bring", _second, indices, engine.tables)))
    weights = None if engine.weights is None else np.concatenate(engine.results(engine.weights))
    options = {"weights": weights, "names": names, "listener": listener}
    return _engine.with_partition(engine, _core.fit, engine_table(rows), **plan, **options)


def _client() -> distributed.Client:
    try:
        client = distributed.get_client()
    except ValueError:
        raise ValueError("there is no Dask client: make one first, such as client = distributed.Client()") from None
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous, which a fit is not")
    return client


class Cluster(_engine.Engine):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    table : _Table
        The table.
    is_kept : bool
        Whether the partitions stay in the memory of the workers.
    timeout : float
        Seconds to wait when no worker is left.
    """

    def __init__(self, client: distributed.Client, table: _Table, *, is_kept: bool, timeout: float) -> None:
        self.client = client
        self.is_kept = is_kept
        self.timeout = timeout
        self.token = uuid.uuid4().hex[:8]
        #: What has been started and is still of use.
        self.live: weakref.WeakSet[distributed.Future] = weakref.WeakSet()
        self.called = 0.0
        self.gone: float | None = None
        indices = range(len(table.blocks))
        load = dask.delayed(_engine.load, pure=False, traverse=False)
        blocks: list[Any] = [
            load(i, block, table.dtype.name, dask_key_name=self._key("load", i))
            for i, block in zip(indices, table.blocks, strict=True)
        ]
        super().__init__(self._started(client.compute(blocks)) if is_kept else blocks)

    def _key(self, name: str, index: int) -> str:
        return f"obcut-{name}-{index}-{self.token}"

    def _started(self, futures: list[distributed.Future]) -> list[distributed.Future]:
        self.live.update(futures)
        return futures

    def weigh(self, sample_weight: Any) -> None:
        """Bring the weights to the partitions, whose sizes are known."""
        if sample_weight is None:
            return
        sizes = tuple(int(n) for n in np.diff(self.firsts))
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array(lengths=True)
        if isinstance(sample_weight, da.Array):
            if np.isnan(sample_weight.shape[0]):
                sample_weight = sample_weight.compute_chunk_sizes()
            if sample_weight.shape != (self.firsts[-1],):
                raise ValueError(f"sample_weight.shape == {sample_weight.shape}, expected {(self.firsts[-1],)}!")
            parts = sample_weight.astype(np.float64).rechunk((sizes,)).to_delayed().tolist()
            self.weights = self._started(self.client.compute(parts))
            return
        like = np.broadcast_to(np.float64(0), (self.firsts[-1], self.n_cols))
        weights: Any = read_weights(sample_weight, like)
        parts = np.split(weights, self.firsts[1:-1])
        self.weights = self.start("weights", _second, range(len(parts)), parts)

    def start(self, name: str, function: Callable, *columns: Sequence[Any]) -> list[distributed.Future]:
        """Start a task for every row of `columns`."""
        columns = tuple(list(column) for column in columns)
        keys = [self._key(name, i) for i in columns[0]]
        if not self.is_kept:
            call = dask.delayed(function, pure=False)
            rows = zip(keys, zip(*columns, strict=True), strict=True)
            calls = [call(*row, dask_key_name=key) for key, row in rows]
            return self._started(self.client.compute(calls, priority=1))
        return self._started(self.client.map(function, *columns, key=keys, pure=False, priority=1))

    def share(self, name: str, value: bytes) -> distributed.Future:
        """Give a value to all workers: as a task, so that it can be had again when its holders are lost."""
        key = self._key(f"state-{name}", 0)
        return self._started([self.client.submit(_same, value, key=key, pure=False, priority=2)])[0]

    def places(self) -> list[Any]:
        """The workers that hold the partitions."""
        if not self.is_kept:
            return super().places()
        held = self.client.who_has(self.tables)
        return [min(held.get(table.key) or [None]) for table in self.tables]

    def fetch(self, futures: Sequence[distributed.Future]) -> list[Any]:
        """Bring the results of futures."""
        return self.client.gather(list(futures))

    def failure(self, future: distributed.Future) -> BaseException | None:
        """What a future raised."""
        if future.status == "error":
            return future.exception()
        if future.status == "cancelled":
            return RuntimeError("the task was cancelled, by somebody else or since the scheduler is gone")
        return None  # it has ended; if its worker was lost since, it will be done again

    def cancel(self) -> None:
        """End all that was started and let go of the partitions."""
        if self.client.status == "running":
            self.client.cancel(list(self.live), force=True)
        self.tables = []
        self.weights = None

    def check(self) -> None:
        """Raise RuntimeError if a worker has another version of obcut; count the threads."""
        self.n_threads = max(1, sum(self.client.nthreads().values()))

        def version():  # sent by value: an old package does not have it
            import obcut

            return obcut.__version__

        for worker, found in sorted(self.client.run(version, on_error="return").items()):
            if isinstance(found, OSError):
                continue  # lost since; others will do its work
            if isinstance(found, BaseException):
                raise RuntimeError(f"the worker {worker} cannot use obcut: {found}")
            if found != obcut.__version__:
                raise RuntimeError(
                    f"the worker {worker} has obcut {found}, but the client has {obcut.__version__}: "
                    "install the same version on all machines"
                )

    def attend(self) -> None:
        """Raise RuntimeError if no worker has been there for too long."""
        now = time.monotonic()
        if now - self.called < ROLL_CALL:
            return
        if now - self.called > 3 * ROLL_CALL:
            self.gone = None  # results came in the meantime
        self.called = now
        if self.client.status in ("closed", "closing"):
            raise RuntimeError("the Dask client was closed during the fit")
        try:
            is_anybody = bool(self.client.nthreads())
        except (OSError, TimeoutError):
            is_anybody = False
        if is_anybody:
            self.gone = None
        elif self.gone is None:
            self.gone = now
        elif now - self.gone >= self.timeout:
            raise RuntimeError(f"no worker of the Dask cluster was left for {self.timeout:g} seconds")


def _same(value: bytes) -> bytes:
    return value


def _second(index: int, value: Any) -> Any:
    return value
