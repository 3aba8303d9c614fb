"""The same engine as the command: same bits, files, progress, interruption, threads."""

import itertools
import json
import pathlib
import pickle
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from obcut import OBCut, _core, datasets, metrics

COMMAND = pathlib.Path(sysconfig.get_path("scripts")) / "obcut"


def run(*arguments, **kwargs):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=True, **kwargs)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, []),
        ({"graph": "local", "n_anchors": 90}, ["--graph", "local", "--anchors", "90"]),
        ({"preset": "paper", "lam": 0.01}, ["--preset", "paper", "--lambda", "0.01"]),
        (
            {
                "graph": "global",
                "learn": "anchors-and-graph",
                "max_iter": 3,
                "n_init": 2,
                "anchor_weights": None,
            },
            "--graph global --learn anchors-and-graph --max-iter 3 --n-init 2 --anchor-weights none".split(),
        ),
        ({"n_clusters": (6, 9), "scale": "standard"}, ["-k", "6-9", "--scale", "standard"]),
        (
            {"graph": "distance", "rows_per_anchor": "all"},
            ["--graph", "distance", "--rows-per-anchor", "all"],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_labels_and_files_are_those_of_the_command(digits, tmp_path, settings, options):
    X = digits[0].astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    if "-k" not in options:
        options = ["-k", "10", *options]
    run(
        "cluster",
        tmp_path / "x.npy",
        *options,
        "--seed",
        7,
        "-o",
        tmp_path / "l.npy",
        "--model",
        tmp_path / "m.st",
    )
    expected = np.load(tmp_path / "l.npy")
    for n_jobs in [1, 3]:
        model = OBCut(**{"n_clusters": 10} | settings, random_state=7, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(model.labels_, expected)
        model.save(tmp_path / "ours.st")
        assert (tmp_path / "ours.st").read_bytes() == (tmp_path / "m.st").read_bytes()


def test_models_go_both_ways(digits, tmp_path):
    X = digits[0]
    model = OBCut(10, graph="distance", random_state=0).fit(X)
    model.save(tmp_path / "m.safetensors")
    np.save(tmp_path / "x.npy", X)
    run("predict", tmp_path / "m.safetensors", tmp_path / "x.npy", "-o", tmp_path / "l.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "l.npy"), model.labels_)
    again = OBCut.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.anchors_, model.anchors_)
    # A model that was loaded can be fitted again, to the same bits.
    np.testing.assert_array_equal(again.fit(X).labels_, model.labels_)
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "m.safetensors", overwrite=False)
    (tmp_path / "bad").write_bytes(b"no model")
    with pytest.raises(ValueError, match="bad: not a readable model"):
        OBCut.load(tmp_path / "bad")


def test_names_of_features_are_kept(tmp_path):
    frame, _ = datasets.load_digits(return_X_y=True, as_frame=True)
    model = OBCut(3, graph="distance", random_state=0).fit(frame[:200])
    model.save(tmp_path / "m.safetensors")
    again = OBCut.load(tmp_path / "m.safetensors")
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[:5].rename(columns={"pixel_0_0": "other"}))


def test_pickles_repeat_the_model(moons):
    X, _ = moons
    model = OBCut(2, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again._model.to_bytes() == model._model.to_bytes()


def test_attributes_fit_together(digits):
    X, y = digits
    model = OBCut(10, random_state=0, n_jobs=2).fit(X)
    assert model.anchors_.shape == (len(model.anchor_labels_), X.shape[1])
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
    np.testing.assert_array_equal(model.confidence_, model.predict_confidence(X))
    assert model.converged_ and model.n_iter_ == model.objective_.size >= 1
    assert (np.diff(model.objective_) >= -1e-9 * model.objective_[-1]).all()
    assert {"prepare", "anchors", "graph"} <= set(model.stage_seconds_)
    assert sum(tried["kept"] for tried in model.explanation_["tried"]) == 1
    assert len(model.explanation_["clusters"]) == 10
    assert metrics.nmi(y, model.labels_) > 0.83


def test_stability_is_measured_when_asked_for(tmp_path):
    X, _ = datasets.make_blobs(300, 4, 3, random_state=0)
    plain = OBCut(3, random_state=0).fit(X)
    assert plain.stability_ is None and plain.cluster_stability_ is None
    model = OBCut(3, stability=3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.stability_ > 0.95
    assert model.cluster_stability_.shape == (3,) and (model.cluster_stability_ > 0.95).all()
    model.save(tmp_path / "m.safetensors")
    read = OBCut.load(tmp_path / "m.safetensors")
    assert read.stability == 3 and read.stability_ == model.stability_
    np.testing.assert_array_equal(read.cluster_stability_, model.cluster_stability_)


def test_given_starts_and_anchors_are_used(moons):
    X, y = moons
    given = OBCut(2, graph="distance", init=y, anchors=X[::10], random_state=0).fit(X)
    np.testing.assert_array_equal(given.anchors_.round(9), X[::10].round(9))
    assert metrics.accuracy(y, given.labels_) == 1
    np.testing.assert_array_equal(given.labels_, y)


def test_the_number_of_clusters_is_chosen():
    X, _ = datasets.make_blobs(600, 5, 4, random_state=0)
    model = OBCut("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert model.explanation_["k_path"]["chosen"] == 4


def test_the_score_falls_when_clusters_are_torn(moons):
    X, _ = moons
    good = OBCut(2, graph="distance", random_state=0).fit(X)
    torn = OBCut(7, graph="distance", random_state=0).fit(X)
    assert good.score(X) > torn.score(X) > 0
    weights = np.arange(len(X)) % 3
    assert good.score(X, sample_weight=weights) == pytest.approx(good.score(np.repeat(X, weights, axis=0)))


def test_random_states_are_as_in_scikit_learn(moons):
    X, _ = moons

    def model(state):
        return OBCut(5, graph="distance", random_state=state)

    np.random.seed(3)
    a = model(None).fit_predict(X)
    np.random.seed(3)
    np.testing.assert_array_equal(model(None).fit_predict(X), a)
    np.testing.assert_array_equal(
        model(np.random.RandomState(5)).fit_predict(X), model(np.random.RandomState(5)).fit_predict(X)
    )


def test_progress_is_printed_by_stages(moons, capfd):
    OBCut(2, random_state=0, verbose=1).fit(moons[0])
    lines = capfd.readouterr().err.splitlines()
    stages = [line.split("] ")[1].split(",")[0] for line in lines]
    assert stages[0] == "prepare" and "choose" in stages and stages[-1] == "finish"


def test_progress_is_a_bar_in_a_terminal(moons, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    OBCut(2, graph="distance", random_state=0, verbose=1).fit(moons[0])
    assert "anchors" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    OBCut(2, graph="distance", random_state=0, verbose=1).fit(moons[0])
    text = capsys.readouterr().err
    assert "\r" in text and text.endswith("\r")


def test_callbacks_of_scikit_learn_see_the_stages(moons):
    seen = []

    class Watcher:
        def setup(self, estimator, context):
            seen.append("setup")

        def on_fit_task_begin(self, estimator, context):
            seen.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            return False

        def teardown(self, estimator, context):
            seen.append("teardown")

    OBCut(2, random_state=0).set_callbacks(Watcher()).fit(moons[0])
    assert seen[:3] == ["setup", "fit", "prepare"] and seen[-1] == "teardown"
    assert "iteration" in seen and "choose" in seen


def test_an_error_of_a_callback_ends_the_fit(moons):
    def listener(stage, *_):
        if stage == "graph":
            raise ZeroDivisionError("of the listener")

    settings = json.dumps({"n_clusters": 2})
    with pytest.raises(ZeroDivisionError):
        _core.fit(moons[0], settings, listener=listener)
    assert _core.fit(moons[0], settings)["labels"].shape == (600,)


INTERRUPTED = """
import json, sys, threading, time, signal, os
import numpy as np
from obcut import OBCut, datasets
# A process that is started in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
X, _ = datasets.make_mixture(60_000, 64, 20, random_state=0)
def press():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    OBCut(20, random_state=0, n_init=50, n_jobs=2).fit(X)
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
# The process is healthy.
print(len(set(OBCut(2, random_state=0).fit_predict(X[:500]))))
"""


@pytest.mark.parametrize("delay", [0.3, 1.1, 2.3])
def test_ctrl_c_ends_a_fit(delay):
    # The fit would take minutes. `make bench-python` measures how soon Ctrl-C returns.
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(delay)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert out.stdout.split() == ["interrupted", "2"]


def test_two_fits_at_once_give_right_results(digits):
    X, _ = digits
    expected = [OBCut(10, graph="distance", random_state=s).fit_predict(X) for s in range(2)]
    found = [None, None]

    def fit(s):
        found[s] = OBCut(10, graph="distance", random_state=s, n_jobs=2).fit_predict(X)

    threads = [threading.Thread(target=fit, args=(s,)) for s in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_threads_run_during_a_fit():
    X, _ = datasets.make_mixture(30_000, 64, 20, random_state=0)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    OBCut(20, graph="distance", random_state=0).fit(X)
    done.set()
    thread.join()
    # A fit that held the interpreter would let the other thread run before and after it only.
    assert len(ticks) > 5


def test_the_command_comes_with_the_package(tmp_path):
    assert "obcut" in run("--version").stdout
    again = subprocess.run([sys.executable, "-m", "obcut", "--version"], capture_output=True, text=True, check=True)
    assert again.stdout == run("--version").stdout
    wrong = subprocess.run([COMMAND, "cluster"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "Usage" in wrong.stderr
    missing = subprocess.run([COMMAND, "cluster", "no.csv", "-k", "2", "--json"], capture_output=True, text=True)
    assert json.loads(missing.stdout)["error"]["exit_code"] == missing.returncode


def test_the_command_is_interrupted(tmp_path):
    X, _ = datasets.make_mixture(60_000, 64, 20, random_state=0)
    np.save(tmp_path / "x.npy", X)
    process = subprocess.Popen(
        [COMMAND, "cluster", tmp_path / "x.npy", "-k", "20", "--n-init", "50", "-o", tmp_path / "l.csv"],
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not (tmp_path / "l.csv").exists()


@pytest.mark.parametrize(("load", "k"), [(load_iris, 3), (load_wine, 3), (load_breast_cancer, 2)])
def test_seeds_agree_on_small_tables(load, k):
    x = load().data
    labels = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(x))
        found = np.empty(len(x), dtype=int)
        found[order] = OBCut(k, random_state=seed).fit_predict(x[order])
        labels.append(found)
    agreement = [adjusted_rand_score(a, b) for a, b in itertools.combinations(labels, 2)]
    assert np.mean(agreement) >= 0.95
