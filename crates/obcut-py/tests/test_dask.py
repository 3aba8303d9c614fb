"""A table in partitions gives the bits of the table in memory, whoever works on it and whoever is lost."""

import doctest
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import obcut
from obcut import _engine, datasets

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from obcut.dask import OBCut  # noqa: E402

SETTINGS = {"n_clusters": 4, "graph": "distance", "core_rows": 900, "random_state": 0}
ODD = (1, 2999, 17, 4000, 983)


@pytest.fixture(scope="module")
def X():
    return datasets.make_mixture(8000, 7, 4, random_state=3)[0].astype(np.float32)


@pytest.fixture(scope="module")
def expected(X):
    return obcut.OBCut(**SETTINGS).fit(X)


def cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as two, distributed.Client(two) as client:
        yield client


def parts(X, chunks=ODD):
    return da.from_array(X, chunks=(chunks, X.shape[1]))


def same(found, expected):
    assert found._model.to_bytes() == expected._model.to_bytes()
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(found.confidence_.compute(), expected.confidence_)
    np.testing.assert_array_equal(found.outlier_scores_.compute(), expected.outlier_scores_)
    if found.margin_ is not None:
        np.testing.assert_array_equal(found.margin_.compute(), expected.margin_)
    others = {"labels_", "confidence_", "outlier_scores_", "margin_", "stage_seconds_", "large_", "objective_"}
    for name in vars(expected):
        if name.endswith("_") and name not in others:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(found.objective_, expected.objective_)
    assert set(found.stage_seconds_) == set(expected.stage_seconds_)
    if expected.large_ is not None:
        assert found.large_ | {"pass_seconds": 0} == expected.large_ | {"pass_seconds": 0}
        assert len(found.large_["pass_seconds"]) == found.large_["passes"]


def test_small_partitions_share_a_task(X, monkeypatch):
    engine = _engine.ThreadEngine(np.split(X, 40))
    engine.measure()
    assert engine.groups() == [list(range(40))]
    monkeypatch.setattr(_engine, "SMALL", 1)
    assert len(engine.groups()) == 4
    engine.n_threads = 2
    assert len(engine.groups()) == 8
    monkeypatch.setattr(_engine, "SHARED", 200 * 7 * 3)
    assert engine.groups()[:2] == [[0, 1, 2], [3, 4, 5]] and len(engine.groups()) == 14
    monkeypatch.setattr(engine, "places", lambda: ["a", "b"] * 20)
    assert engine.groups()[:3] == [[0, 2, 4], [1, 3, 5], [6, 8, 10]]
    monkeypatch.setattr(_engine, "SHARED", 1)
    assert engine.groups() == [[i] for i in range(40)]


def test_a_partition_that_changes_is_noticed(X):
    with pytest.raises(ValueError, match=r"partition 3 had shape \(9, 7\) at first, but has shape \(8000, 7\) now"):
        _engine.run(3, [3], [X], [None], b"", [0], [(9, 7)], obcut.__version__)


def assert_let_go(client):
    """No partition is kept after a fit."""
    assert not [key for key in client.futures if str(key).startswith("obcut-load")]


@pytest.mark.parametrize("chunks", [(8000,), ODD, (100,) * 80])
@pytest.mark.parametrize(("n_threads", "shared"), [(1, 1 << 23), (3, 1)])
def test_the_reference_gives_the_same_bits(X, expected, monkeypatch, chunks, n_threads, shared):
    monkeypatch.setattr(_engine, "SHARED", shared)
    cuts = np.cumsum(chunks)[:-1]
    engine = _engine.ThreadEngine(np.split(X, cuts), n_threads=n_threads)
    engine.measure()
    told = []
    plan = obcut.OBCut(**SETTINGS)._plan(*X.shape)
    found = _engine.fit(engine, plan, True, listener=lambda *report: told.append(report))
    engine.cancel()
    assert found["model"].to_bytes() == expected._model.to_bytes()
    ends = [report for report in told if report[:3] in [(s, len(chunks), len(chunks)) for s in ("scan", "round")]]
    assert [stage for stage, *_ in ends] == ["scan"] + ["round"] * (expected.large_["passes"] - 1)


@pytest.mark.parametrize(("chunks", "persist"), [((8000,), True), (ODD, True), ((125,) * 64, True), (ODD, False)])
def test_two_workers_give_the_same_bits(client, X, expected, chunks, persist):
    found = OBCut(**SETTINGS, persist=persist).fit(parts(X, chunks))
    assert isinstance(found.labels_, da.Array) and found.labels_.dtype == np.int32
    assert found.labels_.chunks == (chunks,)
    same(found, expected)
    assert_let_go(client)


def test_one_worker_gives_the_same_bits(X, expected):
    with cluster(1) as one, distributed.Client(one):
        same(OBCut(**SETTINGS).fit(parts(X)), expected)


@pytest.mark.parametrize(
    "settings", [{"scale": "standard"}, {"graph": "auto", "effort": "fast"}, {"n_clusters": "auto"}]
)
def test_other_settings_give_the_same_bits(client, X, settings):
    settings = SETTINGS | settings
    same(OBCut(**settings).fit(parts(X.astype(np.float64))), obcut.OBCut(**settings).fit(X.astype(np.float64)))


def test_starts_and_anchors_are_used(client, X, expected):
    settings = SETTINGS | {"init": expected.labels_, "anchors": X[::80]}
    same(OBCut(**settings).fit(parts(X)), obcut.OBCut(**settings).fit(X))


@pytest.mark.parametrize("kind", ["array", "dask", "unknown", "series"])
def test_weights_are_those_of_the_rows(client, X, kind):
    weights = (np.arange(len(X)) % 3).astype(float)
    given = {
        "array": weights,
        "dask": da.from_array(weights, chunks=1234),
        "unknown": dd.from_pandas(pd.DataFrame({"w": weights}), npartitions=3)["w"].values,
        "series": dd.from_pandas(pd.DataFrame({"w": weights}), npartitions=3)["w"],
    }[kind]
    same(OBCut(**SETTINGS).fit(parts(X), sample_weight=given), obcut.OBCut(**SETTINGS).fit(X, sample_weight=weights))


def test_weights_are_refused_with_a_reason(client, X):
    with pytest.raises(ValueError, match="sample_weight"):
        OBCut(**SETTINGS).fit(parts(X), sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="sample_weight"):
        OBCut(**SETTINGS).fit(parts(X), sample_weight=da.ones(7))
    weights = np.ones(len(X))
    weights[5000] = -1
    with pytest.raises(ValueError, match="partition 3: .*weight"):
        OBCut(**SETTINGS).fit(parts(X), sample_weight=da.from_array(weights))


def test_frames_and_files_are_read(client, X, expected, tmp_path):
    pytest.importorskip("zarr")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = obcut.OBCut(**SETTINGS).fit(frame)
    table = dd.from_pandas(frame, npartitions=5)
    found = OBCut(**SETTINGS).fit(table)
    same(found, named)
    assert list(found.feature_names_in_) == list("abcdefg")
    np.testing.assert_array_equal(found.predict(table).compute(), named.labels_)
    with pytest.raises(ValueError, match="feature names"):
        found.predict(table.rename(columns={"a": "z"}))
    table.to_parquet(tmp_path / "x.parquet")
    same(OBCut(**SETTINGS).fit(tmp_path / "x.parquet"), named)
    parts(X, 2000).to_zarr(str(tmp_path / "x.zarr"))
    same(OBCut(**SETTINGS).fit(str(tmp_path / "x.zarr")), expected)
    # Chunks of unknown size, and columns in several chunks.
    same(OBCut(**SETTINGS).fit(table.values), expected)
    same(OBCut(**SETTINGS).fit(da.from_array(X, chunks=(1700, 3))), expected)
    with pytest.raises(ValueError, match="columns t are not numeric"):
        OBCut(**SETTINGS).fit(table.assign(t="text"))
    for wrong in [X, X.tolist(), sp.csr_array(X)]:
        with pytest.raises(TypeError, match="not a dask array"):
            OBCut(**SETTINGS).fit(wrong)


def test_labels_of_other_rows_are_lazy(client, X, expected):
    model = OBCut(**SETTINGS).fit(parts(X))
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    table = parts(X).map_blocks(read, meta=np.empty((0, 7), dtype=np.float32))
    labels, margins, links = model.predict(table), model.predict_confidence(table), model.transform(table)
    assert not reads
    with dask.config.set(scheduler="sync"):
        np.testing.assert_array_equal(labels.compute(), expected.labels_)
        assert reads == list(ODD) or sorted(reads) == sorted(ODD)
        np.testing.assert_array_equal(margins.compute(), expected.confidence_)
        found = links.compute()
    assert links.chunks == (ODD, (found.shape[1],)) and links.dtype == np.float32
    assert sp.issparse(found) and (found != expected.transform(X)).nnz == 0
    np.testing.assert_array_equal(model.labels_[:10].compute(), expected.labels_[:10])
    np.testing.assert_array_equal(model.predict(X), expected.labels_)
    np.testing.assert_array_equal(OBCut(**SETTINGS).fit_predict(parts(X)).compute(), expected.labels_)
    assert model.score(X) == expected.score(X)
    with pytest.raises(ValueError, match="a sample"):
        model.score(parts(X))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(parts(X[:, :3]))


def test_small_tables_are_clustered_by_the_client(client, X):
    settings = SETTINGS | {"core_rows": "auto"}
    weights = np.arange(len(X)) % 2
    expected = obcut.OBCut(**settings).fit(X, sample_weight=weights)
    found = OBCut(**settings).fit(parts(X), sample_weight=weights)
    assert found.large_ is None and found.labels_.chunks == (ODD,)
    same(found, expected)
    same(OBCut(**settings, persist=False).fit(parts(X), sample_weight=weights), expected)
    with pytest.raises(ValueError, match="partition 3: .*NaN|partition 3: .*nan"):
        OBCut(**settings).fit(parts(np.where(np.arange(len(X))[:, None] == 4000, np.nan, X)))


def test_it_is_an_estimator_like_the_local_one(tmp_path, client, X, expected):
    model = OBCut(**SETTINGS, timeout=5)
    theirs = obcut.OBCut(**SETTINGS).get_params()
    assert model.get_params() == theirs | {"persist": True, "timeout": 5}
    assert clone(model).get_params() == model.get_params()
    assert OBCut(5).set_params(n_clusters=3, persist=False).n_clusters == 3
    with pytest.raises(TypeError):
        OBCut(clusters=3)
    with pytest.raises(ValueError, match="'timeout' parameter"):
        OBCut(timeout=-1).fit(parts(X))
    model.fit(parts(X)).save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(obcut.OBCut.load(tmp_path / "m.safetensors").predict(X), expected.labels_)
    np.testing.assert_array_equal(OBCut.load(tmp_path / "m.safetensors").predict(parts(X)).compute(), expected.labels_)


def test_a_partition_may_be_empty(client, X, expected):
    same(OBCut(**SETTINGS).fit(parts(X, (0, 3000, 0, 0, 5000, 0))), expected)
    with pytest.raises(ValueError, match="0 sample"):
        OBCut(**SETTINGS).fit(parts(X[:0], (0,)))


def test_what_is_wrong_with_a_partition_is_said(client, X):
    blocks = np.split(X, 40)
    bad = [block.copy() for block in blocks]
    bad[17][3, 2] = np.nan
    with pytest.raises(ValueError, match="partition 17: .*340[34]"):
        OBCut(**SETTINGS).fit(da.concatenate([da.from_array(b) for b in bad]))

    def table(at, change):
        def block(i):
            return change(blocks[i]) if i == at else blocks[i]

        made = [da.from_delayed(dask.delayed(block)(i), (200, 7), dtype=np.float32) for i in range(40)]
        return da.concatenate(made)

    with pytest.raises(ValueError, match="partition 17 has 5 columns, but partition 0 has 7"):
        OBCut(**SETTINGS).fit(table(17, lambda b: b[:, :5]))
    with pytest.raises(ValueError, match="partition 23: .*text"):
        OBCut(**SETTINGS).fit(table(23, lambda b: np.full(b.shape, "text")))
    with pytest.raises(ValueError, match="partition 5: .*sparse"):
        OBCut(**SETTINGS).fit(table(5, sp.csr_array))
    with pytest.raises(RuntimeError, match="partition 30: ZeroDivisionError"):
        OBCut(**SETTINGS).fit(table(30, lambda b: b / (1 // 0)))
    assert_let_go(client)


def test_versions_must_agree(client, X):
    worker = sorted(client.nthreads())[1]

    def become(version):
        import obcut

        obcut.__version__ = version

    client.run(become, "0.0.7", workers=[worker])
    try:
        with pytest.raises(RuntimeError, match=f"{worker} has obcut 0.0.7, but the client has {obcut.__version__}"):
            OBCut(**SETTINGS).fit(parts(X))
    finally:
        client.run(become, obcut.__version__, workers=[worker])
    with pytest.raises(RuntimeError, match="partition 3: a worker has obcut"):
        _engine.run(3, [3], [X], [None], b"", [0], [X.shape], "0.0.7")


def test_the_example_in_the_docstring_holds():
    failed, tried = doctest.testmod(obcut.dask)
    assert failed == 0 and tried > 5


def test_a_client_is_needed(X, monkeypatch):
    def none():
        raise ValueError("No client found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match="there is no Dask client"):
        OBCut(**SETTINGS).fit(parts(X))


def slow(block, seconds=0.02):
    time.sleep(seconds)
    return block


class OnReport:
    """A listener in the place of a bar: acts once, when a stage is reported."""

    def __init__(self, monkeypatch, stage, act):
        self.stage, self.act, self.seen = stage, act, []
        monkeypatch.setattr("obcut._progress.Bar", lambda verbose: self)

    def __call__(self, stage, iteration, *_):
        self.seen.append(stage)
        if stage == self.stage and self.act is not None:
            act, self.act = self.act, None
            act()

    def close(self):
        pass


@pytest.mark.parametrize(("stage", "persist"), [("scan", True), ("round", True), ("round", False)])
def test_a_killed_worker_changes_nothing(X, expected, monkeypatch, stage, persist):
    with cluster(2) as two, distributed.Client(two) as client:
        process = sorted(client.run(os.getpid).values())[0]
        watcher = OnReport(monkeypatch, stage, lambda: os.kill(process, signal.SIGKILL))
        monkeypatch.setattr(_engine, "SHARED", 7000)
        table = parts(X, (800,) * 10).map_blocks(slow, 0.01, dtype=np.float32)
        found = OBCut(**SETTINGS, persist=persist, verbose=1).fit(table)
        assert watcher.act is None
        assert found._model.to_bytes() == expected._model.to_bytes()


def test_without_workers_a_fit_ends(X, monkeypatch):
    with cluster(2) as two, distributed.Client(two) as client:

        def leave():
            two.scale(0)
            while client.nthreads():
                time.sleep(0.05)

        OnReport(monkeypatch, "round", leave)
        with pytest.raises(RuntimeError, match="the Dask cluster had no worker for 2 seconds"):
            OBCut(**SETTINGS, timeout=2, verbose=1).fit(parts(X, (200,) * 40))


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, also where the tests were started in the background and inherit that it is not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_a_cancelled_fit_leaves_no_tasks(client, X, seconds, interruptible):
    # Reading the table once takes 80 seconds on two workers, longer than the wait for its tasks below.
    table = parts(X, (100,) * 80).map_blocks(slow, 2.0, dtype=np.float32)

    def press():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        OBCut(**SETTINGS).fit(table)
    for _ in range(400):
        if not any(client.processing().values()):
            return
        time.sleep(0.1)
    pytest.fail("tasks of the fit are still running")


def test_tasks_have_names(client, X, monkeypatch):
    seen = set()

    def look():
        seen.update(client.who_has())

    watcher = OnReport(monkeypatch, "round", look)
    OBCut(**SETTINGS, verbose=1).fit(parts(X))
    assert {"scan", "round"} <= set(watcher.seen)
    names = {key for key in seen if isinstance(key, str) and key.startswith("obcut-")}
    assert any(key.startswith("obcut-load-4-") for key in names), names
    assert any(key.startswith("obcut-round-0-") for key in names), names
