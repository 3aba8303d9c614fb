"""The methods to compare with, as estimators."""

import doctest
import inspect
import re

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks

from obcut import _core, _method_classes, _methods, datasets, metrics

METHODS = [getattr(_method_classes, name) for name in _method_classes.__all__]
#: Settings that suit the tiny tables of the checks.
SMALL = {"USPEC": {"p": 60}, "FastESC": {"features": 100}, "SSC": {"n_init": 3}, "ESCG": {"n_init": 3}}


def small(kind, **settings):
    return kind(**SMALL.get(kind.__name__, {}), **settings)


def expected_failures(estimator):
    if estimator.__class__.__name__ == "SSCOMP":
        return {"check_clustering": "it sees subspaces through the origin, and the check has blobs"}
    return {}


@parametrize_with_checks([small(kind, n_clusters=3) for kind in METHODS], expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", METHODS)
def test_parameters_are_the_settings_of_the_engine(kind):
    shared = {"self", *_methods.SHARED_NAMES}
    signature = inspect.signature(kind.__init__).parameters
    ours = {name: p.default for name, p in signature.items() if name not in shared}
    settings = dict(_core.method_settings(kind._name))
    assert {name: _methods._word(value) for name, value in ours.items()} == {
        name: value if name not in ours or not isinstance(ours[name], float) else str(float(value))
        for name, value in settings.items()
    }
    text = inspect.getdoc(kind)
    for name in ours:
        assert re.search(rf"^{name} : .*default=", text, re.MULTILINE), name


@pytest.mark.parametrize("kind", METHODS)
def test_numbers_are_whole_where_the_engine_wants_them_whole(kind):
    """A fraction is taken by every parameter that the engine reads as one, and by no other."""
    X, _ = datasets.make_blobs(60, 3, 2, random_state=0)
    for name, p in inspect.signature(kind).parameters.items():
        if name in _methods.SHARED_NAMES or type(p.default) not in (int, float):
            continue
        model = small(kind, n_clusters=2).set_params(**{name: 0.5})
        try:
            _core.cluster(X, kind._name, 2, [(name, "0.5")], seed=0, threads=1)
            whole = False
        except ValueError as error:
            whole = f"setting '{name}' is 0.5" in str(error)
        assert whole == isinstance(p.default, int), name
        if whole:
            with pytest.raises(InvalidParameterError):
                model.fit(X)
        else:
            model.fit(X)


def test_a_class_of_ones_own_can_be_derived():
    class Mine(_method_classes.LSC):
        """Mine."""

    X, y = datasets.make_blobs(120, 3, 2, random_state=0)
    assert metrics.accuracy(y, Mine(n_clusters=2, p=30, random_state=0).fit_predict(X)) == 1


@pytest.mark.parametrize("kind", METHODS)
def test_labels_do_not_depend_on_threads(kind):
    X, y = datasets.make_blobs(300, 6, 3, random_state=5)
    if kind is _method_classes.SSCOMP:
        X, y = datasets.make_subspaces(240, 20, 3, dimension=4, noise=0, random_state=5)
    one = small(kind, n_clusters=3, random_state=1, n_jobs=1).fit_predict(X)
    np.testing.assert_array_equal(small(kind, n_clusters=3, random_state=1, n_jobs=3).fit_predict(X), one)
    assert metrics.accuracy(y, one) == 1


def test_memory_is_told_before_the_start():
    X = np.zeros((4000, 2))
    way_out = "but the limit is 0 MB; use fewer rows or OBCut, or raise memory"
    with pytest.raises(ValueError, match=f"needs .* MB for 4000 rows, {way_out}"):
        _method_classes.LSC(n_clusters=2, memory=1000).fit(X)


def test_the_examples_hold():
    failed, tried = doctest.testmod(_method_classes)
    assert failed == 0 and tried >= 3 * len(METHODS)
