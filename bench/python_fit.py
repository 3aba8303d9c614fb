"""A fit of the Python package at full size: seconds, extra memory, and how soon Ctrl-C returns.

`make bench-python` runs it; the numbers are printed.
"""

import os
import pathlib
import resource
import signal
import sys
import threading
import time

import numpy as np

from obcut import OBCut

ROOT = pathlib.Path(__file__).resolve().parent.parent


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    sys.path.insert(0, str(ROOT / "bench"))
    from bench import FULL, faces

    X = np.load(faces(FULL))
    before = peak()
    start = time.perf_counter()
    model = OBCut(n_clusters=100, random_state=0, n_jobs=2).fit(X)
    seconds = time.perf_counter() - start
    extra = (peak() - before) / X.nbytes
    print(f"{X.shape[0]:,} x {X.shape[1]} {X.dtype}: {seconds:.1f} s, graph {model.graph_}")
    print(f"extra memory at the peak: {extra:.2f} times the bytes of X (bar: below 1.8)")
    waits = []
    for delay in np.linspace(0.3, seconds - 0.5, 10):
        pressed = []

        def press(delay=delay, pressed=pressed):
            time.sleep(delay)
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()
        try:
            OBCut(n_clusters=100, random_state=0, n_jobs=2).fit(X)
        except KeyboardInterrupt:
            waits.append(time.monotonic() - pressed[0])
    print(f"Ctrl-C at {len(waits)} moments: back after {max(waits):.2f} s at most (bar: 1 s)")


if __name__ == "__main__":
    main()
