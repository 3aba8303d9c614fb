"""Seconds of a fit in Python beside the command without `--report`, on the same rows and seed.

`make bench-front-ends` runs it and prints the numbers. Both front ends run the same compiled code: the command is
the one in the wheel. They take turns, every fit runs in a process of its own, and the best fit of each counts. The
labels must be equal, so both do the same work.

Two times are compared. The time of the engine is the sum of the stages of the fit, which are the same in both front
ends. The time of the front end has everything around them as well: in Python the call of `fit`, in the command all
but the stages "read" and "write". Neither has the start of the process or the import of the package.

The sparse table is NG20rec_counts.npz in the folder `OBCUT_DATA`. Without the file, this table is skipped.
"""

import argparse
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp


def tables(folder: pathlib.Path):
    """Name, file and number of clusters of every table."""
    from obcut import datasets

    X, _ = datasets.make_blobs(20_000, n_features=64, n_clusters=10, random_state=1)
    np.save(folder / "dense.npy", X)
    yield "dense 20,000 x 64", folder / "dense.npy", 10
    source = pathlib.Path(os.environ.get("OBCUT_DATA", "")) / "NG20rec_counts.npz"
    if not source.is_file():
        print(f"{source} does not exist: skipped", file=sys.stderr)
        return
    X = sp.csr_matrix(np.load(source)["X"].astype(np.float64))
    sp.save_npz(folder / "sparse.npz", X)
    yield f"sparse {X.shape[0]:,} x {X.shape[1]:,}", folder / "sparse.npz", 4


def fit(path: pathlib.Path, n_clusters: int, threads: int, labels: pathlib.Path) -> None:
    """Fit in this process; write the labels, print the seconds and the bytes of the pickled estimator."""
    from obcut import OBCut

    X = sp.load_npz(path) if path.suffix == ".npz" else np.load(path)
    start = time.perf_counter()
    model = OBCut(n_clusters, random_state=0, n_jobs=threads).fit(X)
    seconds = time.perf_counter() - start
    np.save(labels, model.labels_)
    engine = sum(model.stage_seconds_.values())
    print(json.dumps({"seconds": seconds, "engine": engine, "pickle": len(pickle.dumps(model))}))


def output(*words) -> dict:
    """What a process prints, as JSON."""
    return json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)


def python(path, k, threads, labels) -> dict:
    """Fit in a new Python process."""
    return output(sys.executable, __file__, "--threads", threads, "--fit", path, k, labels)


def command(path, k, threads, labels) -> dict:
    """Fit with the command; its seconds without reading and writing."""
    options = ["-k", k, "--seed", 0, "--threads", threads, "--json", "-o", labels, "--force"]
    seconds = output(sys.executable, "-m", "obcut", "cluster", path, *options)["seconds"]
    stages = seconds["stages"]
    outside = stages["read"] + stages["write"]
    return {"seconds": seconds["total"] - outside, "engine": sum(stages.values()) - outside}


def compare(title: str, path: pathlib.Path, k: int, threads: int, repeats: int) -> None:
    """Measure one table in both front ends and print one line."""
    found: dict[str, list[dict]] = {"python": [], "command": []}
    runs = [("python", python), ("command", command)]
    for i in range(repeats):
        # Neither front end always runs first.
        for name, run in runs if i % 2 == 0 else runs[::-1]:
            found[name].append(run(path, k, threads, path.parent / f"{name}.npy"))
        if not np.array_equal(*(np.load(path.parent / f"{name}.npy") for name in found)):
            sys.exit(f"{title}: the labels of the front ends differ")
    best = {
        (name, figure): min(run[figure] for run in all_runs)
        for name, all_runs in found.items()
        for figure in ("seconds", "engine")
    }
    print(
        f"{title}, {threads} threads, best of {repeats}: "
        f"fit in Python {best['python', 'seconds']:.2f} s, command {best['command', 'seconds']:.2f} s, "
        f"ratio {best['python', 'seconds'] / best['command', 'seconds']:.2f}; "
        f"engine alone {best['python', 'engine']:.2f} s and {best['command', 'engine']:.2f} s; "
        f"pickle {found['python'][-1]['pickle'] / 1e6:.2f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        path, n_clusters, labels = args.fit
        fit(pathlib.Path(path), int(n_clusters), args.threads, pathlib.Path(labels))
        return
    with tempfile.TemporaryDirectory() as name:
        for title, path, k in tables(pathlib.Path(name)):
            compare(title, path, k, args.threads, args.repeats)


if __name__ == "__main__":
    main()
