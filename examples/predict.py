"""Fit on some rows and label new rows, if needed in another process.

Run it with ``python examples/predict.py``.
"""

# %% Two moons; half of the rows are held out.
import pathlib
import tempfile

from obcut import OBCut, datasets, metrics

X, y = datasets.make_moons(2000, random_state=1)
old, new = slice(0, 1000), slice(1000, 2000)

# %% Fit and save. The command `obcut predict` reads the same file.
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "moons.safetensors"
    OBCut(n_clusters=2, random_state=0).fit(X[old]).save(path)
    model = OBCut.load(path)

# %% Label rows that were not part of the fit.
labels = model.predict(X[new])
print(f"accuracy on new rows: {metrics.accuracy(y[new], labels):.3f}")
print(f"least confidence: {model.predict_confidence(X[new]).min():.3f}")
