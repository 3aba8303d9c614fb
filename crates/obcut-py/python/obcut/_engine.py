"""Fits of large tables in partitions, by threads of this process or, in `obcut.dask`, by other machines.

A `PartitionEngine` starts tasks, reports their end, fetches their results, can cancel them and checks that its workers
are alive. The rest is the same for all engines: every pass runs one task per partition (small partitions in the same
place share a task), all tasks of a pass receive the same small state, and results are identified by the number of the
partition. Results are merged exactly, so the fit does not depend on the engine, the partitions or their order.
"""

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import obcut
from obcut import _core
from obcut._input import aligned

#: Seconds between two checks of the workers.
GLANCE = 0.2
#: Bounds of the numbers in the partitions that share a task. The lower bound keeps the cost of a task small.
SMALL = 1 << 18
SHARED = 1 << 23
#: Number of results that a worker merges at once. Workers merge only when all results exceed `LIGHT` bytes.
FAN = 16
LIGHT = 1 << 24


def as_table(block: Any, dtype: Any = None) -> NDArray[Any]:
    """Rows as the engine reads them. Without a type, single precision is kept and all others become double."""
    if sp.issparse(block):
        raise ValueError("partitions of sparse rows are not supported: pass dense rows")
    if hasattr(block, "dtypes") and hasattr(block, "to_numpy"):
        block = block.to_numpy(dtype=dtype or real_type(block.dtypes), na_value=np.nan)
    block = np.asarray(block)
    if block.ndim != 2:
        raise ValueError(f"expected a table with 2 dimensions, got {block.ndim}")
    return aligned(block, dtype or real_type([block.dtype]))


def real_type(types: Iterable[Any]) -> type[np.floating]:
    """The precision that numbers of these types are read in, by the rules of scikit-learn."""
    found = np.result_type(*(getattr(t, "numpy_dtype", t) for t in types))
    return np.float32 if found == np.float32 else np.float64


def load(index: int, block: Any, dtype: Any) -> NDArray[Any]:
    """Prepare a partition for the passes."""
    return _named(index, as_table, block, dtype)


def look(index: int, table: NDArray[Any]) -> tuple[int, int]:
    """Rows and columns of a partition."""
    return table.shape  # type: ignore[return-value]


def run(
    index: int,
    group: Sequence[int],
    tables: Sequence[NDArray[Any]],
    weights: Sequence[Any],
    task: bytes,
    firsts: Sequence[int],
    shapes: Sequence[tuple[int, int]],
    version: str,
) -> bytes:
    """Run the task of a pass on some partitions; `firsts` are the numbers of their first rows."""
    if version != obcut.__version__:
        raise RuntimeError(f"partition {index}: a worker has obcut {obcut.__version__}, but the client has {version}")
    pieces = []
    for i, table, weight, first, shape in zip(group, tables, weights, firsts, shapes, strict=True):
        if table.shape != tuple(shape):
            raise ValueError(f"partition {i} had shape {tuple(shape)} at first, but has shape {table.shape} now")
        pieces.append((aligned(table), None if weight is None else aligned(weight), first))
    return _core.run_task(task, pieces)


def pick(index: int, table: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Select some rows of a partition."""
    return aligned(table)[rows]


def merge(index: int, results: Sequence[bytes]) -> bytes:
    """Merge results on the worker that holds them."""
    return _core.merge(results)


def _named(index, function, *arguments):
    """Call a function. An error names the partition."""
    try:
        return function(*arguments)
    except (ValueError, TypeError) as error:
        raise ValueError(f"partition {index}: {error}") from error


class PartitionEngine(ABC):
    """Partitions of a table and the workers that process them.

    Parameters
    ----------
    tables : list
        The partitions: arrays, or futures of arrays.
    weights : list or None
        The weights of their rows.
    """

    def __init__(self, tables: Sequence[Any], weights: Sequence[Any] | None = None) -> None:
        self.tables = list(tables)
        self.weights = weights
        #: Number of the first row of every partition; the last entry is the number of all rows.
        self.firsts: list[int] = []
        self.n_cols = 0
        #: Number of tasks that run at the same time.
        self.n_threads = 1

    @abstractmethod
    def start(self, name: str, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """Start a task for every row of `columns` and return futures. The first column holds their numbers."""

    @abstractmethod
    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """Fetch the results of futures that have succeeded."""

    @abstractmethod
    def failure(self, future: Any) -> BaseException | None:
        """The exception of a finished future, if it raised one."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel all tasks and release the partitions."""

    def share(self, name: str, value: bytes) -> Any:
        """Send a value to all workers. The result stands for the value in the arguments of tasks."""
        return value

    def places(self) -> list[Any]:
        """The worker that holds every partition."""
        return [None] * len(self.tables)

    def check(self) -> None:
        """Raise RuntimeError if a worker has another version of obcut."""
        return

    def attend(self) -> None:
        """Raise RuntimeError if no worker is left. Called while waiting for results."""
        return

    def wait(
        self,
        futures: Sequence[Any],
        on_end: Callable[[int], object] | None = None,
        partitions: Sequence[int] | None = None,
    ) -> None:
        """Wait for futures. They are those of all partitions, unless `partitions` lists others.

        The first error ends the wait. `on_end` is called with the index of every finished future.
        """
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for i, future in enumerate(futures):
            future.add_done_callback(lambda future, i=i: ended.put((i, future)))
        for _ in futures:
            i, future = self._next(ended)
            error = self.failure(future)
            if error is not None:
                if isinstance(error, (ValueError, RuntimeError)) and str(error).startswith("partition "):
                    raise error
                at = i if partitions is None else partitions[i]
                raise RuntimeError(f"partition {at}: {type(error).__name__}: {error}") from error
            if on_end is not None:
                on_end(i)

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for futures and fetch their results."""
        self.wait(futures)
        return self._fetched(futures)

    def _fetched(self, futures: Sequence[Any]) -> list[Any]:
        """Fetch results, but stop waiting when all workers are lost."""
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def work():
            try:
                ended.put((self.fetch(futures), None))
            except BaseException as error:
                ended.put((None, error))

        threading.Thread(target=work, daemon=True).start()
        found, error = self._next(ended)
        if error is not None:
            raise error
        return found

    def _next(self, ended: queue.SimpleQueue[Any]) -> Any:
        while True:
            try:
                return ended.get(timeout=GLANCE)
            except queue.Empty:
                self.attend()

    def measure(self) -> None:
        """Find the sizes of the partitions, and check that all have the same number of columns."""
        looks = self.results(self.start("look", look, range(len(self.tables)), self.tables))
        self.firsts = [0, *np.cumsum([n for n, _ in looks]).tolist()]
        self.n_cols = looks[0][1]
        for i, (_, n_cols) in enumerate(looks):
            if n_cols != self.n_cols:
                raise ValueError(f"partition {i} has {n_cols} columns, but partition 0 has {self.n_cols}")

    def groups(self) -> list[list[int]]:
        """Groups of partitions that share a task: small partitions in the same place."""
        # Several tasks for every thread, so that no thread is idle at the end.
        most = min(SHARED, max(SMALL, self.firsts[-1] * self.n_cols // (4 * self.n_threads)))
        found: list[list[int]] = []
        places = self.places()
        open_groups: dict[Any, list[int]] = {}
        numbers: dict[Any, int] = {}
        for i, place in enumerate(places):
            size = (self.firsts[i + 1] - self.firsts[i]) * self.n_cols
            if place not in open_groups or numbers[place] + size > most:
                open_groups[place] = []
                numbers[place] = 0
                found.append(open_groups[place])
            open_groups[place].append(i)
            numbers[place] += size
        return found

    def map(self, name: str, task: bytes, on_progress: Callable[[int], object]) -> list[bytes]:
        """Run a task on all partitions and return a few merged results."""
        shared = self.share(name, task)
        groups = self.groups()
        columns: list[list[Any]] = [[], [], [], [], [], [], [], []]
        for group in groups:
            row = (
                group[0],
                group,
                [self.tables[i] for i in group],
                [None if self.weights is None else self.weights[i] for i in group],
                shared,
                [self.firsts[i] for i in group],
                [(self.firsts[i + 1] - self.firsts[i], self.n_cols) for i in group],
                obcut.__version__,
            )
            for column, value in zip(columns, row, strict=True):
                column.append(value)
        futures = self.start(name, run, *columns)
        joined, level = futures, 0
        if name.startswith("scan") or len(groups) * len(task) > LIGHT:
            while len(joined) > FAN:
                level += 1
                fans = [joined[i : i + FAN] for i in range(0, len(joined), FAN)]
                joined = self.start(f"merge-{level}-{name}", merge, range(len(fans)), fans)
        done = 0

        def count(i):
            nonlocal done
            done += len(groups[i])
            on_progress(done)

        self.wait(futures, count, [group[0] for group in groups])
        return self.results(joined) if level else self._fetched(futures)

    def gather(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The rows with these ascending numbers."""
        cuts = np.searchsorted(rows, self.firsts)
        wanted = [i for i in range(len(self.tables)) if cuts[i] < cuts[i + 1]]
        local = [rows[cuts[i] : cuts[i + 1]] - self.firsts[i] for i in wanted]
        futures = self.start("core", pick, wanted, [self.tables[i] for i in wanted], local)
        self.wait(futures, partitions=wanted)
        return np.concatenate(self._fetched(futures))

    def partition_of(self, row: int) -> int:
        """Number of the partition that contains a row."""
        return int(np.searchsorted(self.firsts, row, side="right")) - 1


class ThreadEngine(PartitionEngine):
    """Threads of this process: the reference for other engines.

    Parameters
    ----------
    tables : list of array-like
        The partitions.
    weights : list of ndarray or None
        The weights of their rows.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self, tables: Sequence[Any], weights: Sequence[NDArray[np.float64]] | None = None, n_threads: int = 1
    ) -> None:
        super().__init__([load(i, table, None) for i, table in enumerate(tables)], weights)
        self.pool = ThreadPoolExecutor(n_threads)
        self.n_threads = n_threads

    def start(self, name: str, function: Callable, *columns: Sequence[Any]) -> list[Future]:
        """Start a task for every row of `columns`."""
        return [self.pool.submit(_called, function, row) for row in zip(*columns, strict=True)]

    def fetch(self, futures: Sequence[Future]) -> list[Any]:
        """Fetch the results of futures."""
        return [future.result() for future in futures]

    def failure(self, future: Future) -> BaseException | None:
        """The exception of a future."""
        return future.exception()

    def cancel(self) -> None:
        """Cancel all tasks that have not started."""
        self.pool.shutdown(wait=False, cancel_futures=True)


def _called(function, arguments):
    """Call a function with futures replaced by their results. The futures were started earlier, so they end."""
    return function(*(_result(value) for value in arguments))


def _result(value):
    if isinstance(value, list):
        return [_result(part) for part in value]
    return value.result() if isinstance(value, Future) else value


def fit(
    engine: PartitionEngine,
    plan: dict[str, Any],
    is_single: bool,
    names: Sequence[str] | None = None,
    listener: Callable[..., object] | None = None,
) -> dict[str, Any]:
    """Cluster a large table, pass by pass.

    Parameters
    ----------
    engine : PartitionEngine
        The partitions, after `measure`.
    plan : dict
        The arguments of the engine that the estimator makes from its parameters.
    is_single : bool
        Whether the partitions are of single precision.
    names : list of str or None
        Names of the columns.
    listener : callable or None
        Called with the stage, the number of finished partitions, the number of partitions, None, and (passes, 0).

    Returns
    -------
    found : dict
        As from `_core.fit`, without labels.
    """
    large = _core.PartitionedFit(n_rows=engine.firsts[-1], n_cols=engine.n_cols, single=is_single, **plan)
    seconds = {"scan": 0.0, "round": 0.0}
    counts: dict[str, int] = {}
    while True:
        step, *rest = large.next()
        if step == "done":
            break
        if step == "core":
            large.take_core(engine.gather(*rest), listener)
            continue
        name, task = rest
        stage = "round" if name == "round" else "scan"
        place = (large.passes, 0)

        def on_progress(done, stage=stage, place=place):
            if listener is not None:
                listener(stage, done, len(engine.tables), None, place)

        begun = time.perf_counter()
        results = engine.map(f"{name}-{counts.get(name, 0)}", task, on_progress)
        counts[name] = counts.get(name, 0) + 1
        spent = time.perf_counter() - begun
        with_partition(engine, large.take, results, spent)
        seconds[stage] += spent
    found = large.finish(list(names or []))
    found["seconds"] = {"scan": seconds["scan"], **found["seconds"], "round": seconds["round"]}
    return found


def with_partition(engine: PartitionEngine, function: Callable, *arguments: Any, **options: Any) -> Any:
    """Call a function. An error about a row names the partition of the row."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        row = getattr(error, "row", None)
        if row is None:
            raise
        raise ValueError(f"partition {engine.partition_of(row)}: {error}") from None
