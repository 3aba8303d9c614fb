"""Every kind of table gives the same labels, and nothing is changed or copied without need."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from obcut import BipartiteCut, OBCut, datasets
from obcut._input import BatchedRows


def fitted(X, **settings):
    return OBCut(**{"n_clusters": 3, "random_state": 0, "n_anchors": 20} | settings).fit(X)


@pytest.fixture(scope="module")
def blobs():
    return datasets.make_blobs(240, 4, 3, random_state=2)[0]


def misaligned(X):
    """The same rows, as a network or a file may bring them."""
    found = np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)
    assert not found.flags.aligned
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_containers_agree(blobs, dtype, tmp_path):
    X = np.ascontiguousarray(blobs, dtype=dtype)
    expected = fitted(X).labels_
    np.save(tmp_path / "x.npy", X)
    names = list("abcd")
    tables = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "read-only map": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "at an odd byte": misaligned(X),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
        "pyarrow": pa.table({name: X[:, j] for j, name in enumerate(names)}),
        "list": X.tolist(),
    }
    for name, table in tables.items():
        if name == "list" and dtype == np.float32:
            continue
        model = fitted(table)
        np.testing.assert_array_equal(model.labels_, expected, err_msg=name)
        np.testing.assert_array_equal(model.predict(table), expected, err_msg=name)
        if name in ("pandas", "polars", "pyarrow"):
            assert list(model.feature_names_in_) == names


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_containers_agree(dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 30)) < 0.1, rng.integers(1, 5, (200, 30)), 0).astype(dtype)
    X[np.arange(200), rng.integers(0, 30, 200)] = 1
    expected = fitted(sp.csr_matrix(X), graph="distance")
    for kind in [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_array]:
        table = kind(X)
        model = fitted(table, graph="distance")
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.transform(table).dtype == dtype
    wide = sp.csr_array(X)
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    np.testing.assert_array_equal(fitted(wide, graph="distance").labels_, expected.labels_)


def test_transform_keeps_the_kind_and_precision(blobs):
    model = fitted(blobs)
    for dtype in [np.float32, np.float64]:
        B = model.transform(blobs.astype(dtype))
        assert B.dtype == dtype and B.format == "csr" and isinstance(B, sp.csr_matrix)
        np.testing.assert_allclose(np.asarray(B.sum(axis=1)).ravel(), 1, rtol=1e-6)
    assert isinstance(model.transform(sp.csr_array(blobs)), sp.csr_array)


def test_the_data_are_left_alone(blobs):
    before = blobs.copy()
    fitted(blobs).predict(blobs)
    np.testing.assert_array_equal(blobs, before)


tables = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.tuples(st.integers(1, 40), st.integers(1, 6)),
    elements=st.floats(-1e3, 1e3, width=32),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables, st.integers(1, 5), st.sampled_from(["auto", "distance", "local", "global"]), st.integers(0, 99))
def test_any_table_is_clustered_or_refused(X, k, graph, seed):
    n_distinct = len(np.unique(X + 0.0, axis=0))
    try:
        model = OBCut(k, graph=graph, random_state=seed).fit(X)
    except ValueError as error:
        # Rows that differ may become equal when features are scaled, so only the other way is sure.
        assert "n_samples" in str(error) or "distinct" in str(error), error
        assert n_distinct < k or "distinct rows" in str(error)
        return
    assert n_distinct >= k
    assert np.array_equal(np.unique(model.labels_), np.arange(k))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[::-1]), model.labels_[::-1])
    np.testing.assert_array_equal(model.predict_confidence(X), model.confidence_)
    assert (model.confidence_ >= 0).all()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables, st.data())
def test_weights_are_copies(X, data):
    weights = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)))
    if len(np.unique(X[weights > 0] + 0.0, axis=0)) < 2:
        return
    try:
        model = OBCut(2, graph="distance", random_state=0).fit(X, sample_weight=weights)
    except ValueError as error:
        assert "distinct" in str(error)
        return
    copies = OBCut(2, graph="distance", random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(copies.labels_, np.repeat(model.labels_, weights))
    np.testing.assert_array_equal(copies.predict(X), model.predict(X))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 20), st.integers(2, 20)), elements=st.sampled_from([0, 0, 1, 3]))
)
def test_any_graph_is_cut_or_refused(X):
    try:
        model = BipartiteCut(2, random_state=0).fit(X)
    except ValueError:
        assert (X.sum(axis=1) > 0).sum() < 2 or (X.sum(axis=0) > 0).sum() < 2 or len(np.unique(X, axis=0)) < 2
        return
    assert set(model.row_labels_) == {0, 1}
    np.testing.assert_array_equal(BipartiteCut(2, random_state=0).fit(sp.csr_array(X)).row_labels_, model.row_labels_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_numbers_are_refused(blobs, value):
    X = blobs.copy()
    X[7, 2] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        fitted(X)


@pytest.fixture(scope="module")
def mixture():
    """More rows than the cores of the tests have."""
    return datasets.make_mixture(6000, 7, 4, random_state=3)[0].astype(np.float32)


def cored(X, **settings):
    return OBCut(**{"n_clusters": 4, "graph": "distance", "random_state": 0, "core_rows": 900} | settings).fit(X)


def same_fit(a, b):
    assert a._model.to_bytes() == b._model.to_bytes()
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.confidence_, b.confidence_)


def test_large_tables_are_clustered_by_their_core(mixture, tmp_path):
    model = cored(mixture)
    assert model.large_["core_rows"] == 900 and model.large_["passes"] == len(model.large_["pass_seconds"])
    assert len(model.large_["moved"]) == model.large_["passes"] - 1
    assert model.labels_.shape == (6000,)
    np.testing.assert_array_equal(model.predict(mixture), model.labels_)
    for rows in ["auto", "all", 6000]:
        assert cored(mixture, core_rows=rows).large_ is None
    assert cored(mixture, core_rows=5999).large_["core_rows"] == 5999
    for rows in [900, "auto", "all"]:
        cored(mixture, core_rows=rows).save(tmp_path / "m.safetensors")
        assert OBCut.load(tmp_path / "m.safetensors").core_rows == rows
    paper = OBCut(4, preset="paper", n_anchors=20, max_iter=2, random_state=0).fit(mixture[:500])
    paper.save(tmp_path / "m.safetensors")
    assert OBCut.load(tmp_path / "m.safetensors").core_rows == "all"
    for wrong in [0, "some", 1.5]:
        with pytest.raises(ValueError, match="core_rows"):
            cored(mixture, core_rows=wrong)


class Sliced:
    """The least that a table on disk is: it counts what is read at once."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.most = 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        found = self.X[rows].copy()
        self.most = max(self.most, len(found))
        return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_on_disk_give_the_same_bits(mixture, tmp_path, dtype, weighted):
    X = np.ascontiguousarray(mixture, dtype=dtype)
    weights = np.arange(len(X)) % 3 if weighted else None

    def model(table):
        return OBCut(4, graph="distance", core_rows=900, random_state=0).fit(table, sample_weight=weights)

    expected = model(X)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "odd").write_bytes(b"odd" + X.tobytes())
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    np.save(tmp_path / "s.npy", X.astype(X.dtype.newbyteorder()))
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        tables = {
            "map": np.load(tmp_path / "x.npy", mmap_mode="r"),
            "map at an odd byte": np.memmap(tmp_path / "odd", dtype, "r", offset=3, shape=X.shape),
            "path": tmp_path / "x.npy",
            "text": str(tmp_path / "x.npy"),
            "fortran": tmp_path / "f.npy",
            "swapped": tmp_path / "s.npy",
            "h5py": file.create_dataset("plain", data=X),
            "h5py in chunks": file.create_dataset("chunks", data=X, chunks=(1000, 3), compression="gzip"),
            "zarr": zarr.array(X, chunks=(700, 4)),
            "slices": Sliced(X),
        }
        for name, table in tables.items():
            found = model(table)
            assert found._model.to_bytes() == expected._model.to_bytes(), name
            np.testing.assert_array_equal(found.labels_, expected.labels_, err_msg=name)
            np.testing.assert_array_equal(found.confidence_, expected.confidence_, err_msg=name)
            np.testing.assert_array_equal(found.predict(table), expected.labels_, err_msg=name)
            np.testing.assert_array_equal(found.predict_confidence(table), expected.confidence_, err_msg=name)
            links = found.transform(table)
            assert links.dtype == dtype and (links != expected.transform(X)).nnz == 0
            assert found.score(table) == expected.score(X)
            assert found.n_features_in_ == 7 and found.large_["core_rows"] == 900


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", ">i2", "u2", "f2", "i4", "i8", "f8"])
def test_other_numbers_are_read_piece_by_piece(mixture, dtype):
    X = (mixture * 20).astype(dtype)
    single = dtype not in ("i4", "i8", "f8")
    wide = X.astype(np.float32 if single else np.float64)
    same_fit(cored(Sliced(X)), cored(wide))
    # A table that is not large is read at once.
    same_fit(cored(Sliced(X), core_rows="auto"), cored(wide, core_rows="auto"))


def test_what_is_read_at_once_is_small():
    X = datasets.make_mixture(60_000, 64, 4, random_state=3)[0].astype(np.float32)
    table = Sliced(X)
    model = cored(table)
    assert 0 < table.most <= 20_000
    table.most = 0
    model.predict(table)
    assert 0 < table.most <= 20_000


def test_tables_on_disk_are_refused_with_a_reason(mixture, tmp_path):
    X = mixture.copy()
    X[4321, 5] = np.nan
    np.save(tmp_path / "x.npy", X)
    for table in [tmp_path / "x.npy", Sliced(X)]:
        with pytest.raises(ValueError, match="4321|4322"):
            cored(table)
        with pytest.raises(ValueError, match="4321|4322"):
            cored(mixture).predict(table)
    with pytest.raises(ValueError, match="2D array"):
        cored(Sliced(mixture[:, 0]))
    with pytest.raises(ValueError, match="real numbers"):
        cored(Sliced(mixture.astype(complex)))
    with pytest.raises(ValueError, match="3 features, but OBCut is expecting 7"):
        cored(mixture).predict(Sliced(mixture[:, :3]))
    with pytest.raises(ValueError, match="sample"):
        cored(Sliced(mixture[:0]))
    with pytest.raises(ValueError, match="sample_weight"):
        OBCut(4, core_rows=900).fit(Sliced(mixture), sample_weight=np.ones(3))
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="x.xlsx"):
        cored(tmp_path / "x.xlsx")
    with pytest.raises(FileNotFoundError):
        cored("none.npy")

    class Torn(Sliced):
        def __getitem__(self, rows):
            if rows.stop > 3000:
                raise OSError("the disk is gone")
            return super().__getitem__(rows)

    with pytest.raises(RuntimeError, match="the disk is gone"):
        cored(Torn(mixture))


def test_files_of_other_formats_are_read_in_pieces(mixture, tmp_path):
    X = mixture[:, :6].astype(np.float32)
    names = [f"c{j}" for j in range(6)]
    frame = pd.DataFrame(X, columns=names)
    half = len(X) // 2 + 1
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=777)
    (tmp_path / "parts").mkdir()
    frame[:half].to_parquet(tmp_path / "parts" / "1.parquet")
    frame[half:].to_parquet(tmp_path / "parts" / "2.parquet")
    frame.astype(np.float64).to_csv(tmp_path / "x.csv", index=False)
    expected = cored(frame)
    for path in [tmp_path / "x.parquet", tmp_path / "parts", str(tmp_path / "parts" / "*.parquet")]:
        model = cored(path)
        assert np.array_equal(model.labels_, expected.labels_)
        assert list(model.feature_names_in_) == names
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(model.predict(path), expected.labels_)
    double = cored(X.astype(np.float64))
    assert np.array_equal(cored(tmp_path / "x.csv").labels_, double.labels_)
    # Columns are found by their names; a small table keeps them too.
    frame[names[::-1]].to_parquet(tmp_path / "turned.parquet")
    assert np.array_equal(expected.predict(tmp_path / "turned.parquet"), expected.labels_)
    frame[:500].to_csv(tmp_path / "small.csv", index=False)
    small = OBCut(3, graph="distance", random_state=0).fit(tmp_path / "small.csv")
    assert small.large_ is None and list(small.feature_names_in_) == names
    frame.drop(columns="c3").to_parquet(tmp_path / "less.parquet")
    with pytest.raises(ValueError, match="c3"):
        expected.predict(tmp_path / "less.parquet")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n3,four\n")
    with pytest.raises(ValueError, match="line 3"):
        OBCut(2).fit(tmp_path / "words.csv")


def test_the_rows_of_files_are_read_without_python(mixture, tmp_path, monkeypatch):
    X = mixture[:, :6].astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "fortran.npy", np.asfortranarray(X))
    np.save(tmp_path / "half.npy", X.astype(np.float16))

    def refused(*arguments):
        raise AssertionError("a batch of rows went through Python")

    monkeypatch.setattr(BatchedRows, "read", refused)
    for name in ["x.parquet", "fortran.npy", "half.npy"]:
        path = tmp_path / name
        wide = X.astype(np.float16).astype(np.float32) if name == "half.npy" else X
        expected = cored(frame if name == "x.parquet" else wide)
        found = cored(path)
        same_fit(found, expected)
        np.testing.assert_array_equal(found.predict(path), expected.labels_)
        np.testing.assert_array_equal(found.predict_confidence(path), expected.confidence_)
        np.testing.assert_array_equal(found.predict_proba(path), expected.predict_proba(wide))
        np.testing.assert_array_equal(found.outlier_scores(path), expected.outlier_scores(wide))
        assert (found.transform(path) != expected.transform(wide)).nnz == 0
        found.report(tmp_path / "report.html", path)
        assert "6,000" in (tmp_path / "report.html").read_text()


MEMORY = """
import sys, threading, time
import numpy as np
from obcut import OBCut

def own():
    line = next(line for line in open("/proc/self/status") if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024

def watch():
    while True:
        most.append(max(most.pop(), own()))
        time.sleep(0.005)

X = np.load(sys.argv[1], mmap_mode="r")
start = own()
most = [start]
threading.Thread(target=watch, daemon=True).start()
OBCut(3, graph="distance", core_rows=2000, random_state=0).fit(X).predict(X)
print((most[0] - start) / X.nbytes)
"""


def test_a_map_is_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((400_000, 64), dtype=np.float32))
    done = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "x.npy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.6, done.stdout


def test_masked_values_are_refused(blobs):
    masked = np.ma.MaskedArray(blobs, mask=False)
    assert np.array_equal(fitted(masked).labels_, fitted(blobs).labels_)
    masked[[3, 7], 1] = np.ma.masked
    for use in [OBCut(3).fit, fitted(blobs).predict, BipartiteCut(3).fit]:
        with pytest.raises(ValueError, match=r"2 masked value\(s\), the first in row 3.*X\.filled.*2 row\(s\)"):
            use(masked)


def test_a_fit_that_does_not_fit_in_memory_is_refused(tmp_path):
    # Rows of this width are multiplied in blocks of 80 GB per thread. The file has a hole in place of zeros.
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 100e9:
        pytest.skip("this machine has the memory")
    wide = np.memmap(tmp_path / "wide", dtype=np.float32, mode="w+", shape=(150, 80_000_000))
    with pytest.raises(MemoryError, match=r"needs about .*B of memory in addition to the table"):
        OBCut(3).fit(wide)
