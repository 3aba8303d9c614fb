"""Runs one peer once: `peer.py METHOD FILE K THREADS` prints one JSON line with its seconds.

Data are read before the clock starts; peak memory is the caller's to measure.
"""

import json
import sys
import time

import numpy as np


def faiss_kmeans(x, k, threads):
    """k-means on all points, 20 iterations, then the assignment of all rows."""
    import faiss

    faiss.omp_set_num_threads(threads)
    clock = time.perf_counter()
    kmeans = faiss.Kmeans(x.shape[1], k, niter=20, max_points_per_centroid=len(x), seed=1)
    kmeans.train(x)
    kmeans.index.search(x, 1)
    return time.perf_counter() - clock


def timed(estimator, x):
    clock = time.perf_counter()
    estimator.fit(x)
    return time.perf_counter() - clock


def sklearn_kmeans(x, k, threads):
    from sklearn.cluster import KMeans

    return timed(KMeans(k, n_init=1, random_state=1), x)


def sklearn_lloyd(x, k, threads):
    """20 iterations of Lloyd from random rows: no k-means++."""
    from sklearn.cluster import KMeans

    start = x[np.random.default_rng(1).choice(len(x), k, replace=False)]
    return timed(KMeans(k, init=start, n_init=1, max_iter=20, tol=0.0, algorithm="lloyd"), x)


def sklearn_minibatch(x, k, threads):
    from sklearn.cluster import MiniBatchKMeans

    return timed(MiniBatchKMeans(k, n_init=1, random_state=1), x)


def sklearn_spectral(x, k, threads):
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(k, affinity="nearest_neighbors", n_jobs=threads, random_state=1)
    return timed(model, x)


METHODS = {
    "faiss": faiss_kmeans,
    "sklearn-kmeans": sklearn_kmeans,
    "sklearn-lloyd": sklearn_lloyd,
    "sklearn-minibatch": sklearn_minibatch,
    "sklearn-spectral": sklearn_spectral,
}

if __name__ == "__main__":
    method, path, k, threads = sys.argv[1:]
    seconds = METHODS[method](np.load(path), int(k), int(threads))
    print(json.dumps({"seconds": seconds}))
