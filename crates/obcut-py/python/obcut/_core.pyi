"""The extension module: what the package calls. Not for users."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str
__all__ = [
    "Large",
    "Model",
    "RowFile",
    "__version__",
    "ami",
    "blobs",
    "cluster",
    "cut",
    "digits",
    "fit",
    "fit_rows",
    "is_large",
    "main",
    "merge",
    "method_settings",
    "method_table",
    "mixture",
    "moons",
    "nmi",
    "parameter_table",
    "predict_rows",
    "report",
    "rings",
    "run_task",
    "scores",
    "subspaces",
]

_Table = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
_Listener = Callable[[str, int, int, float | None, tuple[int, int]], object]
_Read = Callable[[Any, Any], NDArray[Any]]
_Labelled = tuple[NDArray[Any], NDArray[np.int32]]

@final
class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str | PathLike[str], *, overwrite: bool) -> None: ...
    @property
    def settings(self) -> str: ...
    @property
    def parameters(self) -> str: ...
    @property
    def explanation(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_clusters(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def graph(self) -> str: ...
    @property
    def scale(self) -> str: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def cluster_sizes(self) -> NDArray[np.float64]: ...
    @property
    def anchors(self) -> NDArray[np.float64]: ...
    @property
    def anchor_labels(self) -> NDArray[np.int32]: ...
    @property
    def column_labels(self) -> NDArray[np.int32]: ...
    def predict(self, table: _Table, threads: int = 1) -> NDArray[np.int32]: ...
    def confidence(self, table: _Table, threads: int = 1) -> NDArray[np.float64]: ...
    def outlier_scores(self, table: _Table, threads: int = 1) -> NDArray[np.float64]: ...
    def predict_proba(self, table: _Table, threads: int = 1) -> NDArray[np.float64]: ...
    @property
    def noise_threshold(self) -> float | None: ...
    def score(self, table: _Table, weights: NDArray[np.float64] | None = None, threads: int = 1) -> float: ...
    def plane(self, table: _Table, threads: int = 1) -> NDArray[np.float64]: ...
    def transform(
        self, table: _Table, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]: ...

def fit(
    table: _Table,
    settings: str,
    *,
    paper: bool = False,
    weights: NDArray[np.float64] | None = None,
    init: Sequence[int] | None = None,
    anchors: NDArray[np.float64] | None = None,
    names: Sequence[str] | None = None,
    listener: _Listener | None = None,
) -> dict[str, Any]: ...

@final
class RowFile:
    def __new__(cls, path: str | PathLike[str], needed: Sequence[str] | None = None) -> RowFile: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def names(self) -> list[str] | None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: slice, /) -> NDArray[Any]: ...

@final
class Large:
    def __new__(
        cls,
        settings: str,
        n_rows: int,
        n_cols: int,
        *,
        single: bool,
        paper: bool = False,
        init: Sequence[int] | None = None,
        anchors: NDArray[np.float64] | None = None,
    ) -> Large: ...
    @property
    def passes(self) -> int: ...
    def next(self) -> Any: ...
    def take(self, results: Sequence[bytes], seconds: float) -> None: ...
    def take_core(self, table: _Table, listener: _Listener | None = None) -> None: ...
    def finish(self, names: Sequence[str] | None = None) -> dict[str, Any]: ...

def is_large(
    settings: str, n_rows: int, n_cols: int, *, paper: bool = False, anchors: NDArray[np.float64] | None = None
) -> bool: ...
def run_task(task: bytes, pieces: Sequence[tuple[_Table, NDArray[np.float64] | None, int]]) -> bytes: ...
def merge(results: Sequence[bytes]) -> bytes: ...
def fit_rows(
    read: _Read,
    n_rows: int,
    n_cols: int,
    settings: str,
    *,
    single: bool,
    paper: bool = False,
    weights: NDArray[np.float64] | None = None,
    init: Sequence[int] | None = None,
    anchors: NDArray[np.float64] | None = None,
    names: Sequence[str] | None = None,
    listener: _Listener | None = None,
) -> dict[str, Any]: ...
def predict_rows(
    model: Model, read: _Read, n_rows: int, n_cols: int, *, single: bool, threads: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]: ...
def report(
    model: Model,
    path: str | PathLike[str],
    *,
    overwrite: bool,
    facts: str | None = None,
    table: _Table | None = None,
    rows: tuple[_Read, int, int, bool] | None = None,
    weights: NDArray[np.float64] | None = None,
    title: str | None = None,
    command: str | None = None,
    threads: int = 1,
) -> None: ...
def cut(
    table: _Table,
    n_clusters: int,
    *,
    anchor_weights: str,
    normalize_rows: bool,
    n_init: int,
    max_iter: int,
    seed: int,
    threads: int,
    listener: _Listener | None = None,
) -> dict[str, Any]: ...
def method_table() -> str: ...
def parameter_table() -> str: ...
def method_settings(method: str) -> list[tuple[str, str]]: ...
def cluster(
    table: _Table,
    method: str,
    n_clusters: int,
    settings: Sequence[tuple[str, str]],
    *,
    seed: int,
    threads: int,
    memory: int | None = None,
    listener: _Listener | None = None,
) -> dict[str, Any]: ...
def scores(truth: NDArray[np.uint32], labels: NDArray[np.uint32]) -> tuple[float, float, float, float]: ...
def nmi(truth: NDArray[np.uint32], labels: NDArray[np.uint32], average: str) -> float: ...
def ami(truth: NDArray[np.uint32], labels: NDArray[np.uint32]) -> float: ...
def digits() -> _Labelled: ...
def blobs(n: int, n_features: int, n_clusters: int, spread: float, seed: int) -> _Labelled: ...
def moons(n: int, noise: float, seed: int) -> _Labelled: ...
def rings(n: int, n_rings: int, noise: float, seed: int) -> _Labelled: ...
def subspaces(n: int, n_features: int, n_clusters: int, dimension: int, noise: float, seed: int) -> _Labelled: ...
def mixture(n: int, n_features: int, n_clusters: int, seed: int) -> _Labelled: ...
def main(arguments: Sequence[str]) -> int: ...
