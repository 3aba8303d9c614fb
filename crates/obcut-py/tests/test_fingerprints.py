"""Recorded hashes of results: a change of the code that should not change any result is compared with them.

`make fingerprints` records them again after a change that alters results on purpose. Bits depend on the vector units
and the caches of the processor, so every kind has its own file; on a processor without a file the tests are skipped.
"""

import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sysconfig

import numpy as np
import pytest
import scipy.sparse as sp

import obcut
from obcut import datasets

COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "obcut"
RECORD = os.environ.get("OBCUT_RECORD_FINGERPRINTS") == "1"


def level():
    """What the bits of a result depend on: the vector units, and the caches that matrix products are split for."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:
        features = {}
    machine = platform.machine()
    if machine in ("x86_64", "AMD64"):
        machine = "x86-64"
        if features.get("AVX512F"):
            machine += "-avx512"
        elif features.get("AVX2") and features.get("FMA3"):
            machine += "-avx2"
    caches = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")
    known = {}
    for cache in sorted(caches.glob("index*")):
        if (cache / "type").read_text().strip() != "Instruction":
            known[(cache / "level").read_text().strip()] = (cache / "size").read_text().strip()
    sizes = [known.get(which, "unknown") for which in "12"]
    return "-".join([machine, *sizes])


FILE = pathlib.Path(__file__).parent / "fingerprints" / f"{level()}.json"


def digest(*arrays):
    found = hashlib.sha256()
    for array in arrays:
        if sp.issparse(array):
            array = sp.csr_array(array)
            array.sort_indices()
            array = np.concatenate([array.indptr, array.indices, array.data])
        array = np.ascontiguousarray(array)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def of_fit(model, new):
    """Labels, other figures of the rows, figures of the fit, what the model says of new rows, and the model itself."""
    rows = [model.confidence_, model.outlier_scores_]
    if model.margin_ is not None:
        rows.append(model.margin_)
    new = [model.predict(new), model.predict_proba(new), model.outlier_scores(new)]
    return {
        "labels": digest(model.labels_),
        "rows": digest(*map(np.asarray, rows)),
        "figures": digest(np.asarray(model.objective_), np.array([model.n_iter_, model.converged_])),
        "new rows": digest(*new),
        "model": hashlib.sha256(model._model.to_bytes()).hexdigest()[:16],
    }


@pytest.fixture(scope="module")
def tables():
    digits = datasets.load_digits(return_X_y=True)[0]
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.02 + 0.3 * (rng.random((3, 400)) < 0.1)[rng.integers(0, 3, 900)])
    counts = sp.csr_array(counts.astype(float))[np.asarray(counts.sum(1)).ravel() > 0]
    return {
        "digits": digits,
        "few digits": digits[:500],
        "moons": datasets.make_moons(600, random_state=1)[0],
        "rings": datasets.make_rings(900, random_state=2)[0],
        "subspaces": datasets.make_subspaces(500, random_state=3)[0],
        "mixture": datasets.make_mixture(6000, 7, 4, random_state=3)[0].astype(np.float32),
        "wide": rng.normal(size=(60, 300)) + 4.0 * np.repeat(np.eye(3, 300), 20, axis=0),
        "skewed": np.exp(rng.normal(size=(700, 4)) + np.repeat([0.0, 3.0], 350)[:, None]),
        "counts": counts,
    }


FITS = {
    "default": ("digits", 10, {}),
    "default, single precision": ("digits 32", 10, {}),
    "default, three threads": ("digits", 10, {"n_jobs": 3}),
    "default, moons": ("moons", 2, {}),
    "default, rings": ("rings", 3, {}),
    "default, subspaces": ("subspaces", 5, {}),
    "default, mixture": ("mixture", 4, {}),
    "default, wide": ("wide", 3, {}),
    "default, skewed": ("skewed", 2, {}),
    "default, weights": ("moons", 2, {"weights": True}),
    "global": ("digits", 10, {"graph": "global"}),
    "local": ("digits", 10, {"graph": "local"}),
    "distance": ("digits", 10, {"graph": "distance"}),
    "distance, single precision": ("digits 32", 10, {"graph": "distance"}),
    "distance, three threads": ("digits", 10, {"graph": "distance", "n_jobs": 3}),
    "neighbors": ("digits", 10, {"graph": "neighbors"}),
    "neighbors, three threads": ("mixture", 4, {"graph": "neighbors", "n_jobs": 3}),
    "fast": ("digits", 10, {"effort": "fast"}),
    "thorough": ("few digits", 10, {"effort": "thorough"}),
    "paper": ("few digits", 10, {"preset": "paper", "max_iter": 5}),
    "paper, weights": ("few digits", 10, {"preset": "paper", "max_iter": 3, "weights": True}),
    "paper, two steps": ("few digits", 10, {"preset": "paper", "formulation": "two-step", "max_iter": 3}),
    "paper, solver of the authors": ("few digits", 10, {"preset": "paper", "row_solver": "authors", "max_iter": 2}),
    "learn graph": ("few digits", 10, {"graph": "distance", "learn": "graph-only", "max_iter": 5}),
    "learn anchors and graph": ("few digits", 10, {"graph": "global", "learn": "anchors-and-graph", "max_iter": 5}),
    "learn automatically": ("few digits", 10, {"learn": "auto"}),
    "least squares": (
        "few digits",
        10,
        {"graph": "local", "learn": "anchors-and-graph", "anchor_update": "least-squares", "max_iter": 3},
    ),
    "start k-means": ("digits", 10, {"graph": "distance", "init": "kmeans"}),
    "start given": ("moons", 2, {"graph": "distance", "init": "given"}),
    "given anchors": ("moons", 2, {"graph": "distance", "anchors": "given"}),
    "minmax": ("skewed", 2, {"scale": "minmax"}),
    "standard": ("skewed", 2, {"scale": "standard"}),
    "robust": ("skewed", 2, {"scale": "robust"}),
    "unit": ("few digits", 10, {"scale": "unit"}),
    "idf": ("counts", 3, {"scale": "idf"}),
    "no scaling": ("skewed", 2, {"scale": "none"}),
    "cosine": ("few digits", 10, {"metric": "cosine"}),
    "sparse": ("counts", 3, {}),
    "sparse, 64-bit indices": ("counts 64", 3, {}),
    "sparse, single precision": ("counts single", 3, {}),
    "sparse, distance": ("counts", 3, {"graph": "distance", "n_jobs": 3}),
    "k from the data": ("rings", "auto", {}),
    "k from a range": ("few digits", (6, 12), {}),
    "balance 0": ("few digits", 10, {"balance": 0.0}),
    "balance 1": ("few digits", 10, {"balance": 1.0}),
    "noise": ("moons", 2, {"noise": 0.02}),
    "noise, automatic": ("skewed", 2, {"noise": "auto"}),
    "stability": ("moons", 2, {"stability": 3}),
    "restarts": ("digits", 10, {"graph": "distance", "n_init": 3}),
    "anchor sets": ("digits", 10, {"graph": "distance", "n_anchors": 90, "n_anchor_sets": 2}),
    "anchor weights": ("digits", 10, {"graph": "global", "anchor_weights": None}),
    "neighbours": ("digits", 10, {"graph": "distance", "n_neighbors": 9}),
    "order of the rows": ("digits", 10, {"graph": "distance", "sweep_order": "rows"}),
    "all rows for anchors": ("digits", 10, {"graph": "distance", "rows_per_anchor": "all"}),
    "never reduced": ("wide", 3, {"reduce": "never"}),
    "coreset": ("mixture", 4, {"core_rows": 900}),
    "coreset, weights": ("mixture", 4, {"core_rows": 900, "graph": "distance", "weights": True}),
    "coreset, three threads": ("mixture", 4, {"core_rows": 900, "graph": "global", "n_jobs": 3}),
}
METHODS = ["KMeans", "SSC", "ESCG", "SSCOMP", "LSC", "FastESC", "EulerSC", "USPEC", "RKSC", "DCDPASC"]


def table(tables, name):
    changes = {
        "digits 32": lambda: tables["digits"].astype(np.float32),
        "counts single": lambda: tables["counts"].astype(np.float32),
        "counts 64": lambda: sp.csr_array(
            (
                tables["counts"].data,
                tables["counts"].indices.astype(np.int64),
                tables["counts"].indptr.astype(np.int64),
            ),
            shape=tables["counts"].shape,
        ),
    }
    return changes[name]() if name in changes else tables[name]


def check(name, found):
    if RECORD:
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        known[name] = found
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        return
    if not FILE.exists():
        pytest.skip(f"no fingerprints for processors of the kind {level()}")
    known = json.loads(FILE.read_text())
    assert name in known, "new: record it with `make fingerprints`"
    assert found == known[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_fit(tables, name):
    source, k, settings = FITS[name]
    settings = dict(settings)
    X = table(tables, source)
    weights = 1.0 + np.arange(X.shape[0]) % 3 if settings.pop("weights", False) else None
    if isinstance(settings.get("init"), str) and settings["init"] == "given":
        settings["init"] = np.arange(X.shape[0]) % k
    if "anchors" in settings:
        settings["anchors"] = X[::10]
    model = obcut.OBCut(k, random_state=7, **{"n_jobs": 1, **settings}).fit(X, sample_weight=weights)
    check(name, of_fit(model, X[:200]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_method(tables, name):
    X = tables["few digits"] / 16.0
    method = getattr(obcut, name)
    small = {"SSC": {"n_init": 2}, "LSC": {"p": 200}, "USPEC": {"p": 200}, "RKSC": {"max_neighbors": 50}}
    fitted = method(10, random_state=3, n_jobs=1, **small.get(name, {})).fit(X)
    check(f"method {name}", {"labels": digest(fitted.labels_)})


def test_bipartite_cut(tables):
    fitted = obcut.BipartiteCut(3, random_state=1, n_jobs=1).fit(tables["counts"])
    found = {"labels": digest(fitted.row_labels_, fitted.column_labels_), "figures": digest(fitted.objective_)}
    check("cut", found)


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_file_in_pieces(tables, tmp_path, suffix):
    X = tables["mixture"]
    path = tmp_path / f"x.{suffix}"
    if suffix == "npy":
        np.save(path, X)
    else:
        pd = pytest.importorskip("pandas")
        pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).to_parquet(path)
    model = obcut.OBCut(4, core_rows=900, random_state=7, n_jobs=1).fit(path)
    check(f"file in pieces, {suffix}", of_fit(model, X[:200]))


def test_dask(tables):
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("obcut.dask")
    X = tables["mixture"]
    parts = da.from_array(X, chunks=((1, 2999, 3000), X.shape[1]))
    here = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with here, distributed.Client(here):
        model = dask.OBCut(4, core_rows=900, random_state=7).fit(parts)
        found = {
            "labels": digest(model.labels_.compute()),
            "rows": digest(model.confidence_.compute(), model.outlier_scores_.compute()),
            "model": hashlib.sha256(model._model.to_bytes()).hexdigest()[:16],
        }
    check("dask", found)


@pytest.mark.parametrize("options", [[], ["--graph", "distance", "--core-rows", "900", "--threads", "3"]])
def test_command(tables, tmp_path, options):
    np.save(tmp_path / "x.npy", tables["mixture"])
    labels, model = tmp_path / "labels.csv", tmp_path / "model.obcut"
    subprocess.run(
        [COMMAND, "cluster", tmp_path / "x.npy", "-k", "4", "--seed", "7", "-q"]
        + ["-o", labels, "--margins", "--model", model, *options],
        check=True,
    )
    hashed = {
        name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in (("labels", labels), ("model", model))
    }
    check(" ".join(["command", *options]), hashed)
