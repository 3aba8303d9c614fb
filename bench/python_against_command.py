"""Seconds of a fit in Python beside the command without `--report`, on the same rows and seed.

`make bench-front-ends` runs it; the numbers are printed. The command is that of the same package, so both run the
same compiled code. Fits take turns, each in a process of its own, and the best of them counts. The seconds of the
command are its own without reading and writing: the work that `fit` does in Python.

The sparse table is NG20rec_counts.npz in the folder `OBCUT_DATA`; it is skipped if it is not there.
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
        print(f"{source}: not there, skipped", file=sys.stderr)
        return
    X = sp.csr_matrix(np.load(source)["X"].astype(np.float64))
    sp.save_npz(folder / "sparse.npz", X)
    yield f"sparse {X.shape[0]:,} x {X.shape[1]:,}", folder / "sparse.npz", 4


def fit(path: pathlib.Path, n_clusters: int, threads: int) -> None:
    """One fit in this process; prints its seconds, those of its stages, and the bytes of the pickled estimator."""
    from obcut import OBCut

    X = sp.load_npz(path) if path.suffix == ".npz" else np.load(path)
    start = time.perf_counter()
    model = OBCut(n_clusters, random_state=0, n_jobs=threads).fit(X)
    seconds = time.perf_counter() - start
    stages = sum(model.stage_seconds_.values())
    print(json.dumps({"seconds": seconds, "stages": stages, "pickle": len(pickle.dumps(model))}))


def output(*words) -> dict:
    """What a process prints, as JSON."""
    return json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        fit(pathlib.Path(args.fit[0]), int(args.fit[1]), args.threads)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, path, k in tables(folder):
            python, command, outside, size = [], [], [], 0
            for _ in range(args.repeats):
                found = output(sys.executable, __file__, "--threads", args.threads, "--fit", path, k)
                python.append(found["seconds"])
                outside.append(found["seconds"] - found["stages"])
                size = found["pickle"]
                line = ["cluster", path, "-k", k, "--seed", 0, "--threads", args.threads, "--json"]
                line += ["-o", folder / "labels.npy", "--force"]
                seconds = output(sys.executable, "-m", "obcut", *line)["seconds"]
                stages = seconds["stages"]
                command.append(seconds["total"] - stages["read"] - stages["write"])
            ours, its = min(python), min(command)
            print(
                f"{title}, {args.threads} threads, best of {args.repeats}: Python {ours:.2f} s, "
                f"command {its:.2f} s, ratio {ours / its:.2f}; outside the stages of the engine "
                f"{min(outside):.2f} s; pickle {size / 1e6:.2f} MB"
            )


if __name__ == "__main__":
    main()
