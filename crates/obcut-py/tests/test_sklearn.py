"""The contract of scikit-learn: every check of its suite but those that take `predict_proba` for a classifier's."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import SpectralCoclustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from obcut import BipartiteCut, OBCut


def excused(estimator):
    """Checks that read the tags of a classifier from whatever has `predict_proba`."""
    reason = "takes any estimator with predict_proba for a classifier"
    names = ["check_estimator_sparse_array", "check_estimator_sparse_matrix"]
    return dict.fromkeys(names, reason) if isinstance(estimator, OBCut) else {}


@parametrize_with_checks(
    [
        OBCut(n_clusters=3),
        OBCut(n_clusters=3, graph="distance"),
        OBCut(n_clusters=3, preset="paper"),
        BipartiteCut(n_clusters=2),
    ],
    expected_failed_checks=excused,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_weight_checks_are_among_them():
    names = {check.func.__name__ for _, check in estimator_checks_generator(OBCut(n_clusters=3))}
    assert "check_sample_weight_equivalence_on_dense_data" in names
    assert "check_sample_weight_equivalence_on_sparse_data" in names


def test_parameters_survive_cloning():
    model = OBCut(4, graph="local", n_anchors=50, lam=0.1, random_state=3)
    assert clone(model).get_params() == model.get_params()


def test_weights_are_routed(moons):
    X, _ = moons
    weights = np.ones(len(X))
    weights[::2] = 0
    with config_context(enable_metadata_routing=True):
        model = OBCut(2, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, sample_weight=weights)
    assert routed[-1].cluster_sizes_.sum() == weights.sum()


def test_a_search_over_settings_uses_the_score(moons):
    X, _ = moons
    grid = {"n_neighbors": [3, 5], "n_anchors": [40, 60]}
    search = GridSearchCV(OBCut(2, graph="distance", random_state=0), grid, cv=2).fit(X)
    assert 0 < search.best_score_ <= 1
    assert search.predict(X).shape == (len(X),)


def test_set_output_gives_frames(moons):
    X, _ = moons
    model = OBCut(2, graph="distance", n_anchors=20, random_state=0).fit(X)
    sparse = model.transform(X)
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert list(frame.columns)[:2] == ["obcut0", "obcut1"]
    np.testing.assert_array_equal(frame.to_numpy(), sparse.toarray())
    assert model.set_output(transform="polars").transform(X).shape == sparse.shape


def test_too_few_iterations_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as issued:
        model = OBCut(5, preset="paper", max_iter=1, random_state=0).fit(X)
    assert not model.converged_ and model.n_iter_ == 1
    assert {warning.filename for warning in issued} == {__file__}


def test_a_warning_names_the_line_of_the_fit():
    graph = np.kron(np.eye(2), np.ones((5, 4)))
    graph[0] = 0
    with pytest.warns(UserWarning, match="no edges|edge") as issued:
        BipartiteCut(2, random_state=0).fit(graph)
    assert {warning.filename for warning in issued} == {__file__}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "The 'n_clusters' parameter of OBCut must be"),
        ({"graph": "near"}, "The 'graph' parameter of OBCut must be"),
        ({"n_clusters": (5, 2)}, "1 <= low <= high"),
        ({"n_clusters": 11}, "n_samples=10 should be >= n_clusters=11"),
        ({"n_clusters": 3, "n_anchors": 2}, "3 clusters need at least as many anchors"),
        ({"n_clusters": 2, "init": [0, 1]}, r"init has shape \(2,\), but X has 10 samples"),
        ({"n_clusters": 2, "random_state": -1}, "random_state"),
    ],
)
def test_wrong_settings_are_told_in_the_words_of_scikit_learn(settings, message):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(ValueError, match=message):
        OBCut(**settings).fit(X)


def test_the_cut_has_the_attributes_of_coclustering():
    X = np.kron(np.eye(3), np.ones((10, 4))) + 0.01
    ours = BipartiteCut(3, random_state=0).fit(X)
    theirs = SpectralCoclustering(3, random_state=0).fit(X)
    for name in ["row_labels_", "column_labels_", "rows_", "columns_"]:
        assert getattr(ours, name).shape == getattr(theirs, name).shape
    assert ours.get_shape(0) == theirs.get_shape(0)
