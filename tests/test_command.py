"""The command's files read by the tools that its users have, and its scores against scikit-learn's."""

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from safetensors import safe_open
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
)


@pytest.fixture
def digits(tmp_path):
    x, y = load_digits(return_X_y=True)
    path = tmp_path / "digits.npy"
    np.save(path, x.astype(np.float32))
    return path, y


def test_labels_are_an_integer_array_that_numpy_reads(obcut, digits, tmp_path):
    path, y = digits
    out = tmp_path / "labels.npy"
    obcut("cluster", path, "-k", 10, "-o", out, "--seed", 3, "--threads", 2)
    labels = np.load(out)
    assert labels.shape == y.shape and labels.dtype == np.int32
    assert sorted(set(labels)) == list(range(10))
    assert normalized_mutual_info_score(y, labels, average_method="max") > 0.8


def test_scores_equal_those_of_scikit_learn(obcut, digits, tmp_path):
    path, y = digits
    out, truth = tmp_path / "labels.npy", tmp_path / "truth.npy"
    obcut("cluster", path, "-k", 12, "-o", out)
    np.save(truth, y)
    scores = json.loads(obcut("score", out, truth, "--json").stdout)
    labels = np.load(out)
    text = json.dumps(scores)
    expected = {
        "nmi": normalized_mutual_info_score(y, labels, average_method="max"),
        "ari": adjusted_rand_score(y, labels),
    }
    for name, value in expected.items():
        found = scores[name] if name in scores else scores["scores"][name]
        assert abs(found - value) < 1e-9, text


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["npz", "mat", "mtx"])
def test_sparse_files_of_scipy_give_the_same_labels(obcut, tmp_path, index, kind):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 60)
    words = rng.poisson(0.05, (180, 90)) + (groups[:, None] == np.arange(90) // 30) * rng.poisson(0.8, (180, 90))
    x = scipy.sparse.csr_array(words.astype(float))
    x.indices, x.indptr = x.indices.astype(index), x.indptr.astype(index)
    dense, sparse = tmp_path / "dense.npy", tmp_path / f"sparse.{kind}"
    np.save(dense, x.toarray())
    if kind == "npz":
        scipy.sparse.save_npz(sparse, x)
    elif kind == "mat":
        scipy.io.savemat(sparse, {"fea": scipy.sparse.csc_matrix(x)})
    else:
        scipy.io.mmwrite(sparse, x)
    labels = []
    for path in (dense, sparse):
        out = tmp_path / "out.npy"
        obcut("cluster", path, "-k", 3, "-o", out, "--scale", "unit", "--graph", "global", "--force")
        labels.append(np.load(out))
    assert normalized_mutual_info_score(*labels) == pytest.approx(1.0)
    assert normalized_mutual_info_score(groups, labels[0]) > 0.9


def test_a_model_is_read_by_safetensors_and_says_what_it_is(obcut, tmp_path):
    x, _ = make_moons(400, noise=0.05, random_state=0)
    data, model, out = tmp_path / "x.npy", tmp_path / "m.safetensors", tmp_path / "labels.npy"
    np.save(data, x)
    obcut("cluster", data, "-k", 2, "-o", out, "--model", model)
    with safe_open(model, "numpy") as file:
        header = json.loads(file.metadata()["obcut"])
        anchors = file.get_tensor("anchors")
    assert header["params"]["n_clusters"] == 2 and header["format"] == 2
    assert anchors.shape[1] == 2 and np.isfinite(anchors).all()
    again = tmp_path / "again.npy"
    obcut("predict", model, data, "-o", again)
    assert (np.load(out) == np.load(again)).all()


def test_a_graph_is_cut_on_both_sides(obcut, tmp_path):
    rng = np.random.default_rng(1)
    graph = rng.random((80, 40)) * 0.05
    graph[:50, :15] += 1
    graph[50:, 15:] += 1
    path, rows, columns = tmp_path / "g.npy", tmp_path / "r.npy", tmp_path / "c.npy"
    np.save(path, graph)
    obcut("cut", path, "-k", 2, "-o", rows, "--columns-out", columns)
    r, c = np.load(rows), np.load(columns)
    assert len(set(r[:50])) == len(set(r[50:])) == 1 and r[0] != r[-1]
    assert (c[:15] == r[0]).all() and (c[15:] == r[-1]).all()


def test_a_part_of_an_svmlight_file_is_labelled_as_the_whole(obcut, tmp_path):
    """The part ends at a smaller index than the whole; what is not in it is zero."""
    rng = np.random.default_rng(2)
    lines = []
    for i in range(90):
        columns = sorted(rng.choice(10, 3, replace=False) + 1 + 10 * (i % 3))
        lines.append(f"{i % 3} " + " ".join(f"{c}:{rng.integers(1, 5)}" for c in columns))
    whole, part = tmp_path / "whole.svm", tmp_path / "part.svm"
    whole.write_text("\n".join(lines) + "\n")
    few = [i for i in range(90) if i % 3 == 0]
    part.write_text("\n".join(lines[i] for i in few) + "\n")
    model, all_labels, some = tmp_path / "m.safetensors", tmp_path / "a.npy", tmp_path / "b.npy"
    obcut("cluster", whole, "-k", 3, "--format", "svmlight", "-o", all_labels, "--model", model)
    obcut("predict", model, part, "--format", "svmlight", "-o", some)
    assert (np.load(all_labels)[few] == np.load(some)).all()
