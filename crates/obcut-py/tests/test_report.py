"""`OBCut.report`: the page of a fit, of other rows, and of a model from a file."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import obcut
from obcut import OBCut

ROWS = "Map of the rows"


@pytest.fixture(scope="module")
def table():
    X, _ = obcut.datasets.make_blobs(400, n_features=3, n_clusters=3, random_state=1)
    return pd.DataFrame(X, columns=["<script>alert(1)</script>", "height (cm)", "c"])


@pytest.fixture(scope="module")
def model(table):
    return OBCut(3, graph="distance", random_state=4).fit(table)


def test_a_page_with_rows_shows_everything(model, table, tmp_path):
    path = tmp_path / "page.html"
    model.report(path, table, title="My <table>")
    page = path.read_text()
    assert ROWS in page and "Least certain rows" in page and "Seconds per stage" in page
    assert "<title>My &lt;table&gt;</title>" in page and "height (cm)" in page
    assert "<script>alert" not in page
    command = "OBCut(3, graph=&#39;distance&#39;, random_state=4).fit(X)"
    assert command in page


def test_a_page_without_rows_says_how_to_add_them(model, tmp_path):
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert ROWS not in page and "model.report(path, X)" in page
    assert "Seconds per stage" in page and "height (cm)" in page and "Settings" in page
    assert "Convergence and time" in page


def test_a_fit_keeps_nothing_that_only_a_page_needs(model):
    facts = json.loads(model._facts)
    assert set(facts) == {"convergence", "seconds", "warnings", "noise"}
    assert len(model._facts) < 10_000


def test_weights_choose_the_typical_rows(model, table, tmp_path):
    typical = []
    for weights in [None, np.exp(3 * table["c"])]:
        model.report(tmp_path / "page.html", table, sample_weight=weights)
        typical.append(re.findall(r"Nearest to the centre.*?</p>", (tmp_path / "page.html").read_text(), re.DOTALL))
    assert typical[0] and typical[0] != typical[1]
    with pytest.raises(ValueError, match="pass X"):
        model.report(tmp_path / "page.html", sample_weight=np.ones(len(table)))


def test_the_page_is_that_of_the_command(model, table, tmp_path):
    mine, its = tmp_path / "mine.html", tmp_path / "its.html"
    model.report(mine, table)
    table.to_parquet(tmp_path / "x.parquet")
    line = ["cluster", tmp_path / "x.parquet", "-k", 3, "--graph", "distance", "--seed", 4, "-q", "--report", its]
    line += ["-o", tmp_path / "l.csv"]
    assert obcut._core.main(["obcut", *map(str, line)]) == 0
    map_of = re.compile(r'<figure class="chart scatter">.*?</figure>', re.DOTALL)
    assert map_of.search(mine.read_text()).group() == map_of.search(its.read_text()).group()


def test_a_file_is_replaced_only_if_it_may_be(model, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        model.report(path, overwrite=False)
    assert path.read_text() == "mine"
    model.report(path)
    assert path.read_text().startswith("<!doctype html>")
    with pytest.raises(OSError):
        model.report(tmp_path / "no" / "page.html")


def test_a_model_from_a_file_needs_the_rows(model, table, tmp_path):
    model.save(tmp_path / "m.safetensors")
    again = OBCut.load(tmp_path / "m.safetensors")
    again.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert ROWS not in page and "written without the rows" in page and "height (cm)" in page
    again.report(tmp_path / "page.html", table)
    assert ROWS in (tmp_path / "page.html").read_text()
    with pytest.raises(ValueError, match="features"):
        again.report(tmp_path / "page.html", np.zeros((5, 2)))


def test_a_pickled_model_keeps_what_it_knows(model, table, tmp_path):
    data = pickle.dumps(model)
    assert len(data) < 100_000
    pickle.loads(data).report(tmp_path / "a.html", table)
    model.report(tmp_path / "b.html", table)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_pickles_of_older_versions_are_read(model, table, tmp_path):
    model.report(tmp_path / "now.html", table)
    older = pickle.loads(pickle.dumps(model))
    # They kept all facts of the page, with what it shows of the rows.
    older._facts = json.dumps({"title": "", "version": "0.1.0", "sketch": {"n_rows": 1}} | json.loads(model._facts))
    older = pickle.loads(pickle.dumps(older))
    older.report(tmp_path / "then.html", table)
    assert (tmp_path / "now.html").read_bytes() == (tmp_path / "then.html").read_bytes()
    del older._facts
    older.report(tmp_path / "then.html")
    assert (older.predict(table) == model.labels_).all()


def test_sparse_rows_one_cluster_and_threads(table, tmp_path):
    X = sp.random(200, 50, 0.1, format="csr", random_state=1)
    for n_clusters in [1, 2]:
        OBCut(n_clusters, graph="distance", random_state=0).fit(X).report(tmp_path / "s.html", X)
        assert ROWS in (tmp_path / "s.html").read_text()
    pages = []
    for n_jobs in [1, 3]:
        model = OBCut(3, graph="distance", random_state=0, n_jobs=n_jobs).fit(table)
        model.report(tmp_path / "t.html", table)
        page = (tmp_path / "t.html").read_text()
        pages.append(re.search(r'<figure class="chart scatter">.*?</figure>', page, re.DOTALL).group())
    assert pages[0] == pages[1]


def test_tables_on_disk_have_pictures_of_some_rows(tmp_path):
    X, _ = obcut.datasets.make_blobs(30_000, n_features=4, n_clusters=3, random_state=1)
    # Not in the order of rows, so that it is read in pieces and not mapped.
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    model = OBCut(3, graph="distance", core_rows=25_000, random_state=0).fit(tmp_path / "x.npy")
    model.report(tmp_path / "fit.html", tmp_path / "x.npy")
    page = (tmp_path / "fit.html").read_text()
    assert ROWS in page and "of 30,000 rows, spread evenly" in page
    looked_at = int(re.search(r"Margins of ([\d,]+) rows", page).group(1).replace(",", ""))
    assert 19_990 <= looked_at <= 20_000
    # A model from a file shows the same.
    model.save(tmp_path / "m.safetensors")
    OBCut.load(tmp_path / "m.safetensors").report(tmp_path / "again.html", tmp_path / "x.npy")
    map_of = re.compile(r'<figure class="chart scatter">.*?</figure>', re.DOTALL)
    again = (tmp_path / "again.html").read_text()
    assert map_of.search(again).group() == map_of.search(page).group()


def test_what_is_not_fitted_has_no_page(tmp_path):
    with pytest.raises(NotFittedError):
        OBCut(3).report(tmp_path / "page.html")
