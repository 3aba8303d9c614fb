"""Every kind of table gives the same labels, and nothing is changed or copied without need."""

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


def fitted(X, **settings):
    return OBCut(**{"n_clusters": 3, "random_state": 0, "n_anchors": 20} | settings).fit(X)


@pytest.fixture(scope="module")
def blobs():
    return datasets.make_blobs(240, 4, 3, random_state=2)[0]


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
