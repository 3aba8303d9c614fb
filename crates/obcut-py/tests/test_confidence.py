"""How sure labels are, how outlying rows, and which are noise."""

import numpy as np
import pytest

from obcut import OBCut


@pytest.fixture(scope="module")
def blobs():
    draw = np.random.default_rng(0)
    centers = 20 * np.eye(4, 6)
    X = np.vstack([center + draw.normal(size=(200, 6)) for center in centers])
    noise = draw.uniform(X.min(0), X.max(0), (80, 6))
    return np.vstack([X, noise]), np.repeat([False, True], [800, 80])


def test_figures_of_a_fit_are_those_of_its_rows(blobs):
    X, is_noise = blobs
    model = OBCut(4, random_state=0).fit(X)
    assert (model.labels_ >= 0).all()
    np.testing.assert_array_equal(model.predict_confidence(X), model.confidence_)
    np.testing.assert_array_equal(model.outlier_scores(X), model.outlier_scores_)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert np.median(model.confidence_) > 0.9
    assert model.margin_.shape == (880,)
    assert model.outlier_scores_[is_noise].min() > np.median(model.outlier_scores_)


def test_probabilities_sum_to_one_and_agree_with_labels(blobs):
    X, _ = blobs
    model = OBCut(4, random_state=0, noise="auto").fit(X)
    proba = model.predict_proba(X)
    assert proba.shape == (880, 4)
    np.testing.assert_allclose(proba.sum(1), 1)
    kept = model.labels_ >= 0
    np.testing.assert_array_equal(proba.argmax(1)[kept], model.labels_[kept])
    top = np.sort(proba, axis=1)
    np.testing.assert_allclose(top[:, -1] - top[:, -2], model.confidence_, atol=1e-12)


@pytest.mark.parametrize("noise", ["auto", 0.05])
def test_noise_is_marked_in_fit_and_predict_and_kept_in_a_file(blobs, noise, tmp_path):
    X, is_noise = blobs
    plain = OBCut(4, random_state=0).fit(X)
    model = OBCut(4, random_state=0, noise=noise).fit(X)
    marked = model.labels_ == -1
    np.testing.assert_array_equal(model.labels_[~marked], plain.labels_[~marked])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert is_noise[marked].mean() > 0.9
    if noise == 0.05:
        assert marked.sum() == 44
    model.save(tmp_path / "m.safetensors")
    read = OBCut.load(tmp_path / "m.safetensors")
    assert read.noise == noise
    np.testing.assert_array_equal(read.predict(X), model.labels_)


@pytest.mark.parametrize("noise", [0.0, 1.0, "some"])
def test_a_share_of_noise_lies_between_0_and_1(blobs, noise):
    with pytest.raises(ValueError, match="noise"):
        OBCut(4, noise=noise).fit(blobs[0])
