"""`OBCut` for tables on many machines, with Dask (``pip install 'obcut[dask]'``).

The partitions of a table stay where they are. Every pass runs one task per partition: the
task receives a small state, labels the rows of the partition and returns small sums for
the next pass. The sums are merged exactly, so the fit has the same bits as `obcut.OBCut`
on the same rows. It does not depend on the partitions, on the number of workers, or on
workers that are lost during the fit.
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
from obcut._docs import documented
from obcut._input import engine_table, read_weights
from obcut._progress import listening, with_callbacks

try:
    import dask
    import dask.array as da
    import distributed
except ImportError as error:
    raise ImportError("obcut.dask needs Dask: pip install 'obcut[dask]'") from error

__all__ = ["OBCut"]

#: Seconds between two requests for the list of workers.
ROLL_CALL = 1.0


@documented
class OBCut(_estimator.OBCut):
    """One-step bipartite graph cut of a table in partitions, on a Dask cluster.

    The class has the parameters and attributes of :class:`obcut.OBCut` and two more
    parameters. The attributes `labels_`, `confidence_` and `outlier_scores_` are lazy dask
    arrays; `margin_` is None for a large table. The current client does the work, so
    create a ``distributed.Client`` before the fit.

    A large table is clustered on a coreset: some distinct rows, which the client clusters
    itself with `n_jobs` threads. A smaller table is copied to the client and clustered
    there.

    Parameters
    ----------
    n_clusters : int, "auto" or tuple (low, high), default=8
        Number of clusters, as in :class:`obcut.OBCut`.
    persist : bool, default=True
        Whether the workers keep the partitions in memory during the fit. Otherwise every
        pass computes them again.
    timeout : float, default=60
        Seconds that a fit waits for a worker when all workers are lost.
    **parameters
        The other parameters of :class:`obcut.OBCut`.

    Attributes
    ----------
    labels_ : dask array of shape (n_samples,), int32
        Cluster of every row, in the chunks of the rows.
    confidence_ : dask array of shape (n_samples,)
        Confidence of every label.
    outlier_scores_ : dask array of shape (n_samples,)
        Outlier score of every row.
    margin_ : dask array of shape (n_samples,), or None
        As in :class:`obcut.OBCut`; None for a large table.

    See Also
    --------
    obcut.OBCut : The estimator for one machine, with the other attributes.

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
            The rows, as dense numbers. A path is that of a zarr array or of Parquet files.
        {y}
        sample_weight : dask array or array-like of shape (n_samples,), default=None
            Weights of the rows, as in :meth:`obcut.OBCut.fit`.

        Returns
        -------
        {self}
        """
        table = DaskTable(X)
        client = _client()
        engine = DaskEngine(client, table, is_kept=self.persist, timeout=self.timeout)
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
            functions = [("labels", "predict"), ("confidence", "confidence"), ("outlier_scores", "outlier_scores")]
            for name, function in functions:
                found[name] = table.blockwise(function, found["model"], chunks)
            found["margin"] = None
        else:
            found["labels"] = da.from_array(found["labels"], chunks=(chunks,))
            for name in ("confidence", "outlier_scores", "margin"):
                found[name] = da.from_array(found[name], chunks=(chunks,))
        self._keep(found)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the cluster of every row. Rows of the fit keep their labels.

        {lazy_rows}

        Returns
        -------
        labels : dask array of shape (n_samples,)
            Cluster of every row. For rows in memory it is an ndarray.
        """
        return super().predict(X)

    def predict_confidence(self, X: Any) -> Any:
        """Predict the confidence of the label of every row.

        {lazy_rows}

        Returns
        -------
        confidence : dask array of shape (n_samples,)
            Between 0 and 1 for every row. For rows in memory it is an ndarray.
        """
        return super().predict_confidence(X)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of every cluster for every row.

        {lazy_rows}

        Returns
        -------
        probabilities : dask array of shape (n_samples, n_clusters)
            Every row sums to one. For rows in memory it is an ndarray.
        """
        return super().predict_proba(X)

    def outlier_scores(self, X: Any) -> Any:
        """Compute the outlier score of every row.

        {lazy_rows}

        Returns
        -------
        scores : dask array of shape (n_samples,)
            About 1 for typical rows. For rows in memory it is an ndarray.
        """
        return super().outlier_scores(X)

    def transform(self, X: Any) -> Any:
        """Link rows to the anchors.

        {lazy_rows}

        Returns
        -------
        B : dask array of shape (n_samples, n_columns)
            Weights of the links. Its blocks are sparse matrices in CSR format. For rows
            in memory it is a sparse matrix.
        """
        if not _is_lazy(X):
            return super().transform(X)
        return self._checked(X).blockwise("transform", self._model)

    def _of_rows(self, function: Callable[..., Any], X: Any) -> Any:
        if not _is_lazy(X):
            return super()._of_rows(function, X)
        return self._checked(X).blockwise(function.__name__, self._model)

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Score the clusters of rows in memory, as :meth:`obcut.OBCut.score` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. For a large table, pass a sample of them.
        {y}
        {sample_weight}

        Returns
        -------
        {score}
        """
        if _is_lazy(X):
            raise ValueError("score takes rows in memory: pass a sample, such as X[:100_000].compute()")
        return super().score(X, sample_weight=sample_weight)

    def _checked(self, X: Any) -> "DaskTable":
        check_is_fitted(self)
        table = DaskTable(X)
        table.check(self, table.n_cols, reset=False)
        return table


def _signature():
    """The signature with all parameters, which scikit-learn reads."""
    ours = inspect.signature(OBCut.__init__).parameters
    theirs = inspect.signature(_estimator.OBCut.__init__).parameters
    added = [parameter for name, parameter in ours.items() if name in ("persist", "timeout")]
    return inspect.Signature([*theirs.values(), *added])


OBCut.__init__.__signature__ = _signature()  # type: ignore[attr-defined]


class DaskTable:
    """A table of Dask: an array with all columns in one block, and the column names of a data frame.

    Parameters
    ----------
    X : dask array, dask dataframe or path
        The table.
    """

    def __init__(self, X: Any) -> None:
        if isinstance(X, (str, os.PathLike)):
            X = _opened(X)
        self.meta = None
        if hasattr(X, "to_dask_array") and hasattr(getattr(X, "_meta", None), "columns"):
            self.meta = X._meta
            wrong = [str(c) for c, t in self.meta.dtypes.items() if getattr(t, "kind", "O") not in "fiub"]
            if wrong:
                raise ValueError(f"the columns {', '.join(wrong)} are not numeric: drop or encode them first")
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
                f"{type(X).__name__} is not a dask array, dask dataframe or path; use obcut.OBCut for rows in memory"
            )
        self.array = X

    @property
    def n_cols(self) -> int:
        """Number of columns, according to Dask."""
        return int(self.array.shape[1])

    def check(self, estimator: OBCut, n_cols: int, *, reset: bool) -> None:
        """Check or keep number and names of the columns, as scikit-learn does."""
        like = np.zeros((1, n_cols)) if self.meta is None else self.meta
        validate_data(estimator, like, reset=reset, skip_check_array=True)

    def blockwise(self, name: str, model: _core.Model, rows: tuple[int, ...] | None = None) -> da.Array:
        """Call a method of the model with every block, lazily; `rows` are the numbers of rows, if they are known."""
        width = {"predict_proba": model.n_clusters, "transform": model.n_columns}.get(name)
        meta = _empty(name, model, self.dtype)
        chunks: tuple[Any, ...] = (self.array.chunks[0] if rows is None else rows,)
        return self.array.map_blocks(
            _of_block,
            name=f"obcut-{name}-{uuid.uuid4().hex}",
            function=name,
            model=dask.delayed(model, name=f"obcut-model-{uuid.uuid4().hex}", traverse=False),
            precision=self.dtype.name,
            chunks=chunks if width is None else (*chunks, (width,)),
            dtype=meta.dtype,
            meta=meta,
            drop_axis=1 if width is None else [],
        )


def _opened(path: str | os.PathLike[str]) -> Any:
    """A table on disk, opened by Dask."""
    name = os.fspath(path)
    place = pathlib.Path(name)
    if name.rstrip("/").endswith(".zarr") or any((place / mark).exists() for mark in (".zarray", "zarr.json")):
        return da.from_zarr(name)
    if name.endswith(".npy"):
        raise ValueError(f"{name}: only obcut.OBCut reads NPY files; pass a zarr array or Parquet files")
    import dask.dataframe as dd

    return dd.read_parquet(name)


def _is_lazy(X: Any) -> bool:
    """Whether Dask reads the rows. NPY files are read by `obcut.OBCut`."""
    if isinstance(X, (str, os.PathLike)):
        return not os.fspath(X).endswith(".npy")
    return dask.is_dask_collection(X)


def _of_block(block: Any, function: str, model: _core.Model, precision: str) -> Any:
    """What a method of the model returns for a block."""
    table = _engine.as_table(block, precision)
    if not len(table):
        return _empty(function, model, np.dtype(precision))
    found = getattr(model, function)(table)
    if function != "transform":
        return found
    indptr, indices, data = found
    links = sp.csr_matrix((data, indices, indptr), shape=(len(table), model.n_columns))
    links.sort_indices()
    return links


def _empty(function: str, model: _core.Model, precision: np.dtype) -> Any:
    """What a method of the model returns for no rows."""
    if function == "transform":
        return sp.csr_matrix((0, model.n_columns), dtype=precision)
    if function == "predict_proba":
        return np.empty((0, model.n_clusters))
    return np.empty(0, dtype=np.int32 if function == "predict" else np.float64)


def _fit_here(engine: "DaskEngine", plan: dict[str, Any], names: list[str], listener: Any) -> dict[str, Any]:
    """Cluster a table that is not large in the client."""
    indices = range(len(engine.tables))
    rows = np.concatenate(engine.results(engine.start("bring", _second, indices, engine.tables)))
    weights = None if engine.weights is None else np.concatenate(engine.results(engine.weights))
    options = {"weights": weights, "names": names, "listener": listener}
    return _engine.with_partition(engine, _core.fit, engine_table(rows), **plan, **options)


def _client() -> distributed.Client:
    try:
        client = distributed.get_client()
    except ValueError:
        raise ValueError("there is no Dask client: create one, for example client = distributed.Client()") from None
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous: a fit needs a synchronous one")
    return client


class DaskEngine(_engine.PartitionEngine):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    table : DaskTable
        The table.
    is_kept : bool
        Whether the workers keep the partitions in memory.
    timeout : float
        Seconds to wait when all workers are lost.
    """

    def __init__(self, client: distributed.Client, table: DaskTable, *, is_kept: bool, timeout: float) -> None:
        self.client = client
        self.is_kept = is_kept
        self.timeout = timeout
        self.token = uuid.uuid4().hex[:8]
        #: Futures that have been started and are still in use.
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
        """Send the weights to the partitions, whose sizes are known."""
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
        """Send a value to all workers: as a task, so that it can be computed again when its workers are lost."""
        key = self._key(f"state-{name}", 0)
        return self._started([self.client.submit(_same, value, key=key, pure=False, priority=2)])[0]

    def places(self) -> list[Any]:
        """The workers that hold the partitions."""
        if not self.is_kept:
            return super().places()
        held = self.client.who_has(self.tables)
        return [min(held.get(table.key) or [None]) for table in self.tables]

    def fetch(self, futures: Sequence[distributed.Future]) -> list[Any]:
        """Fetch the results of futures."""
        return self.client.gather(list(futures))

    def failure(self, future: distributed.Future) -> BaseException | None:
        """The exception of a future."""
        if future.status == "error":
            return future.exception()
        if future.status == "cancelled":
            return RuntimeError("the task was cancelled by another client, or the connection to the scheduler was lost")
        return None  # it has finished; if its worker is lost, it runs again

    def cancel(self) -> None:
        """Cancel all tasks and release the partitions."""
        if self.client.status == "running":
            self.client.cancel(list(self.live), force=True)
        self.tables = []
        self.weights = None

    def check(self) -> None:
        """Raise RuntimeError if a worker has another version of obcut; count the threads."""
        self.n_threads = max(1, sum(self.client.nthreads().values()))

        def version():  # sent by value, because older packages do not have it
            import obcut

            return obcut.__version__

        for worker, found in sorted(self.client.run(version, on_error="return").items()):
            if isinstance(found, OSError):
                continue  # the worker is lost; others take over its work
            if isinstance(found, BaseException):
                raise RuntimeError(f"the worker {worker} cannot use obcut: {found}")
            if found != obcut.__version__:
                raise RuntimeError(
                    f"the worker {worker} has obcut {found}, but the client has {obcut.__version__}: "
                    "install the same version on all machines"
                )

    def attend(self) -> None:
        """Raise RuntimeError if there has been no worker for longer than the timeout."""
        now = time.monotonic()
        if now - self.called < ROLL_CALL:
            return
        if now - self.called > 3 * ROLL_CALL:
            self.gone = None  # results have arrived in the meantime
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
            raise RuntimeError(f"the Dask cluster had no worker for {self.timeout:g} seconds")


def _same(value: bytes) -> bytes:
    return value


def _second(index: int, value: Any) -> Any:
    return value
