"""What the documents show is run: docstrings, examples, the README's lines, the stub."""

import doctest
import inspect
import os
import re
import subprocess
import sys
import zipfile

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp

import obcut
from obcut import BipartiteCut, OBCut, datasets, metrics

matplotlib.use("agg")


@pytest.mark.parametrize("name", ["", "_estimator", "_bipartite", "datasets", "metrics", "plot"])
def test_the_examples_in_docstrings_hold(name):
    module = sys.modules["obcut"] if not name else __import__(f"obcut.{name}", fromlist=["x"])
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried > 0 or not name


def test_every_docstring_is_filled():
    from obcut import _method_classes, plot

    methods = [getattr(_method_classes, name) for name in _method_classes.__all__]
    items = [OBCut, BipartiteCut, *methods]
    items += [value for kind in items for value in vars(kind).values()]
    items += [value for module in (datasets, metrics, plot) for value in vars(module).values()]
    docs = [inspect.getdoc(item) or "" for item in items]
    assert sum("Parameters\n---" in doc for doc in docs) > 30
    assert not [doc for doc in docs if re.search(r"^ *\{\w+\}$", doc, re.MULTILINE)]


@pytest.mark.parametrize("kind", [OBCut, BipartiteCut])
def test_every_parameter_and_attribute_is_described(kind):
    text = inspect.getdoc(kind)
    for name, parameter in inspect.signature(kind).parameters.items():
        line = re.search(rf"^{name} : .*", text, re.MULTILINE)
        assert line, name
        default = repr(parameter.default).replace("'", '"')
        assert line[0].endswith(f"default={default}"), line[0]
    X = np.random.default_rng(0).random((30, 4))
    for name in vars(kind(2, random_state=0).fit(X)):
        if name.endswith("_") and not name.startswith("_"):
            assert re.search(rf"^{name} : ", text, re.MULTILINE), name


@pytest.mark.parametrize("name", ["cluster", "predict", "pipeline", "documents", "plot"])
def test_the_example_runs(root, name, tmp_path):
    environment = os.environ | {"MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error::FutureWarning", root / "examples" / f"{name}.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    if name == "predict":
        assert "accuracy on new rows: 1.000" in said
    if name == "pipeline":
        assert "'obcut__n_clusters': 5" in said and "NMI with the classes: 1.000" in said
    if name == "documents":
        assert re.search(r"words: .*car.*\n(  text: .*car.*\n|  text: .*engine.*\n){4}", said), said
    if name == "plot":
        assert (tmp_path / "clustering.png").stat().st_size > 20_000


def test_all_examples_are_run(root):
    names = {path.stem for path in (root / "examples").glob("*.py")}
    assert names == {"cluster", "predict", "pipeline", "documents", "plot"}


def python_of_readme(root):
    found = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    assert len(found) == 1
    return found[0]


def test_the_lines_of_the_readme_run(root, tmp_path):
    code = python_of_readme(root)
    assert len(re.findall(r"^.+$", code, re.MULTILINE)) == 7  # the import and six lines
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"NMI 0\.8\d\d\n", done.stdout)


def test_the_wheel_installs_in_an_empty_environment(root, tmp_path):
    wheels = list((root / "target" / "wheels").glob("*.whl"))
    assert len(wheels) == 1, "make test-python builds one"
    names = zipfile.ZipFile(wheels[0]).namelist()
    assert {"obcut/py.typed", "obcut/_core.pyi", "obcut/_core.abi3.so"} <= set(names)
    assert any(name.endswith("licenses/LICENSE-MIT") for name in names)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    # What it depends on is downloaded by its metadata, as a user would.
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheels[0]]
    subprocess.run(install, check=True)
    code = python_of_readme(root)
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = subprocess.run([tmp_path / "venv" / "bin" / "obcut", "--version"], capture_output=True, text=True)
    assert command.stdout == f"obcut {obcut.__version__}\n"


def test_the_stub_is_that_of_the_module(root):
    command = [sys.executable, "-m", "mypy.stubtest", "obcut._core", "--ignore-disjoint-bases"]
    done = subprocess.run(command, cwd=root / "target", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_metrics_agree_with_scikit_learn():
    from sklearn import metrics as theirs

    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 5, 60), rng.integers(0, 4, 60)
        for method in ["max", "arithmetic", "geometric"]:
            expected = theirs.normalized_mutual_info_score(a, b, average_method=method)
            assert metrics.nmi(a, b, average_method=method) == pytest.approx(expected)
        assert metrics.ari(a, b) == pytest.approx(theirs.adjusted_rand_score(a, b))
        assert metrics.ami(a, b) == pytest.approx(theirs.adjusted_mutual_info_score(a, b))
        table = theirs.cluster.contingency_matrix(a, b)
        assert metrics.purity(a, b) == pytest.approx(table.max(axis=0).sum() / 60)
        # The best matching by trying all of them.
        from itertools import permutations

        best = max(sum(table[r, c] for c, r in enumerate(order)) for order in permutations(range(5), 4))
        assert metrics.accuracy(a, b) == pytest.approx(best / 60)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metrics.nmi([0, 1], [0])


def test_the_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    ours, theirs = datasets.load_digits(), load_digits()
    order = np.lexsort(ours.data.T), np.lexsort(theirs.data.T)
    np.testing.assert_array_equal(ours.data[order[0]], theirs.data[order[1]])
    np.testing.assert_array_equal(ours.target[order[0]], theirs.target[order[1]])


@pytest.mark.parametrize(
    ("maker", "shape", "k"),
    [
        (lambda: datasets.make_blobs(99, 3, 4, random_state=0), (99, 3), 4),
        (lambda: datasets.make_moons(99, random_state=0), (99, 2), 2),
        (lambda: datasets.make_rings(99, 3, random_state=0), (99, 2), 3),
        (lambda: datasets.make_subspaces(99, 9, 3, dimension=2, random_state=0), (99, 9), 3),
        (lambda: datasets.make_mixture(99, 4, 3, random_state=0), (99, 4), 3),
    ],
)
def test_generators_repeat_themselves(maker, shape, k):
    (X, y), (again, _) = maker(), maker()
    assert X.shape == shape and y.shape == (99,) and len(np.unique(y)) == k
    np.testing.assert_array_equal(X, again)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_criterion_is_minus_twice_the_trace(sparse):
    random = np.random.default_rng(0)
    X = random.random((30, 8)) * (random.random((30, 8)) < 0.4)
    rows, columns = np.arange(30) % 3, np.arange(8) % 3
    found = metrics.bipartite_cut(sp.csr_array(X) if sparse else X, rows, columns)
    sizes = np.bincount(rows) * np.bincount(columns)
    inside = np.array([X[np.ix_(rows == j, columns == j)].sum() for j in range(3)])
    assert found["total"] == pytest.approx(-2 * (inside / np.sqrt(sizes)).sum())
    leaving = [X[np.ix_(rows == j, columns != j)].sum() / 10 for j in range(3)]
    np.testing.assert_allclose(found["leaving"], leaving)
    with pytest.raises(ValueError, match="column_labels"):
        metrics.bipartite_cut(X, rows, columns[1:])
    with pytest.raises(ValueError, match="row_labels must be integers"):
        metrics.bipartite_cut(X, rows - 1, columns)
