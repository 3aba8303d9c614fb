"""Dask on one worker and on two, compared with the same fit without Dask, and the overhead of a round.

    pip install '.[dask]' && python bench/dask_bench.py

A mixture of 2 million x 64 in single precision, 20 clusters, the distance graph, 64 partitions. Workers
are processes of this machine with one thread each; the client cuts the core with one thread. The rows are
made by the workers before the clock runs, as they would be in a cluster that has them.
"""

import argparse
import time

import dask
import dask.array as da
import distributed
import numpy as np

import obcut
from obcut import _engine, datasets
from obcut.dask import OBCut

SETTINGS = {"n_clusters": 20, "graph": "distance", "random_state": 0}


def part(i, rows, n_features):
    # The generator puts its clusters by the seed: one table for all partitions, each with other rows.
    X, _ = datasets.make_mixture(rows, n_features, 20, random_state=0)
    noise = np.random.default_rng(i).normal(scale=0.01, size=X.shape)
    return (X + noise).astype(np.float32)


def table(n, n_features, n_parts):
    rows = n // n_parts
    make = dask.delayed(part)
    parts = [da.from_delayed(make(i, rows, n_features), (rows, n_features), dtype=np.float32) for i in range(n_parts)]
    return da.concatenate(parts)


def timed(client, X):
    """A fit, its seconds, and the processor seconds of the busiest worker, which depend less on other programs."""
    before = client.run(time.process_time)
    start = time.perf_counter()
    model = OBCut(**SETTINGS).fit(X)
    seconds = time.perf_counter() - start
    after = client.run(time.process_time)
    return model, seconds, max(after[worker] - before[worker] for worker in after)


def line(name, model, seconds):
    spent = model.stage_seconds_
    core = sum(spent.values()) - spent["scan"] - spent["round"]
    passes = sum(model.large_["pass_seconds"])
    print(f"{name:12} {seconds:7.2f} s, of which core {core:6.2f} s, {model.large_['passes']} passes {passes:6.2f} s")
    return passes


def overhead(n_parts, n_features):
    """Seconds of a round with partitions that need almost no computation."""
    X = datasets.make_mixture(64 * n_parts, n_features, 20, random_state=0)[0].astype(np.float32)
    settings = SETTINGS | {"core_rows": 2000}
    found = []
    for _ in range(3):
        model = OBCut(**settings).fit(da.from_array(X, chunks=(64, n_features)).persist())
        found.append(np.mean(model.large_["pass_seconds"][1:]))
    engine = _engine.Threads(np.split(X, n_parts))
    engine.measure()
    here = _engine.fit(engine, obcut.OBCut(**settings)._plan(*X.shape), True)
    work = here["seconds"]["round"] / (model.large_["passes"] - 1)
    return min(found), work


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--parts", type=int, default=64)
    arguments = parser.parse_args()
    n = arguments.rows // arguments.parts * arguments.parts
    print(f"{n:,} x {arguments.features} float32, {arguments.parts} partitions")
    seconds, passes, models, busiest = {}, {}, {}, {}
    for n_workers in [1, 2]:
        options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
        with (
            distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            X = table(n, arguments.features, arguments.parts).persist()
            distributed.wait(X)
            client.rebalance()
            models[n_workers], seconds[n_workers], busiest[n_workers] = timed(client, X)
            passes[n_workers] = line(f"{n_workers} worker(s)", models[n_workers], seconds[n_workers])
            if n_workers == 2:
                found, work = overhead(arguments.parts, arguments.features)
                rows = X.compute()
    same = models[1]._model.to_bytes() == models[2]._model.to_bytes()
    print(f"two workers over one: {seconds[1] / seconds[2]:.2f} x in all, {passes[1] / passes[2]:.2f} x in the passes")
    print(f"processor seconds of the busiest worker: {busiest[1]:.2f} s of one, {busiest[2]:.2f} s of two")
    print(f"a round of {arguments.parts} tiny partitions: {1000 * found:.1f} ms, of which work {1000 * work:.1f} ms")
    start = time.perf_counter()
    local = obcut.OBCut(**SETTINGS).fit(rows)
    line("no Dask", local, time.perf_counter() - start)
    print(f"same bits: {same and local._model.to_bytes() == models[2]._model.to_bytes()}")


if __name__ == "__main__":
    main()
