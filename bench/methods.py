"""Seconds and peak memory of all methods on rows like the YouTube Faces features: `make bench-methods`.

Every method runs in a process of its own, in turns, and is stopped at a limit of time. What was measured is
kept in bench/results/methods.json, a later run in the place of an earlier one, and docs/methods.md is made
of it. `--sizes 10000,50000 --only lsc,u-spec` measures a part.
"""

import argparse
import json
import os
import statistics
import subprocess
import threading
import time

from bench import DATA, FULL, OBCUT, ROOT, K, commit, faces, machine, table

ANCHORS = 1000
METHODS = {
    "obcut": [],
    "obcut distance": ["--graph", "distance", "--anchors", str(ANCHORS)],
    "u-spec": ["--method", "u-spec", "--set", f"p={ANCHORS}"],
    "lsc": ["--method", "lsc", "--set", f"p={ANCHORS}"],
    "fastesc": ["--method", "fastesc"],
    "eulersc": ["--method", "eulersc"],
    "kmeans": ["--method", "kmeans", "--set", "n_init=1"],
    "escg": ["--method", "escg", "--set", "supernodes=200"],
    "rksc": ["--method", "rksc"],
    "dcdp-asc": ["--method", "dcdp-asc"],
    "ssc-omp": ["--method", "ssc-omp"],
    "ssc": ["--method", "ssc"],
}
RIVALS = ["u-spec", "lsc", "fastesc"]
SIZES = [10_000, 50_000, FULL]
KEPT = ROOT / "bench" / "results" / "methods.json"
PAGE = ROOT / "docs" / "methods.md"


def measure(path, options, limit):
    """Seconds of the fit and peak bytes, or the message of an error or of the time limit."""
    command = [OBCUT, "cluster", path, "-k", str(K), "--threads", "2", "--json", *options]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = []
    reader = threading.Thread(target=lambda: text.append(process.stdout.read()))
    reader.start()
    start, pid, stopped = time.monotonic(), 0, False
    while pid == 0:
        if time.monotonic() - start > limit:
            process.kill()
            stopped = True
        time.sleep(0.02)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    if stopped:
        return {"over": limit, "bytes": usage.ru_maxrss * 1024}
    answer = json.loads(text[0])
    if process.returncode > 0:
        return {"error": answer["error"]["message"].split(": ", 1)[-1]}
    stages = answer["seconds"]["stages"]
    seconds = answer["seconds"]["total"] - stages["read"] - stages["write"]
    return {"seconds": seconds, "bytes": usage.ru_maxrss * 1024}


def cell(runs):
    first = runs[0]
    if "over" in first:
        return f"over {first['over']:.0f} s"
    if "error" in first:
        return first["error"]
    seconds = statistics.median(run["seconds"] for run in runs)
    return f"{seconds:.2f} s, {max(run['bytes'] for run in runs) / 1e9:.2f} GB"


def page(kept):
    """The page with all measurements."""
    names = [name for name in METHODS if name in kept]
    found = {(name, n): kept[name][str(n)] for name in names for n in SIZES if str(n) in kept[name]}
    commits = sorted({entry["commit"] for entry in found.values()})
    rows = [
        [name, *(cell(found[name, n]["runs"]) if (name, n) in found else "not run" for n in SIZES)]
        for name in names
    ]
    text = [
        "# All methods: seconds and memory\n",
        f"Written by `make bench-methods` (`bench/methods.py`). Rows of 512 features in f32, k = {K}, 2 threads, "
        "medians of three rounds (one if a run takes more than a minute), default settings except: "
        f"{ANCHORS} anchors, landmarks or representatives for `obcut distance`, `lsc` and `u-spec`, one start for "
        "`kmeans`, 200 supernodes for `escg`, which needs at least k. Seconds of the fit and peak memory of the "
        f"process, including the rows ({FULL * 512 * 4 / 1e9:.2f} GB at {FULL:,}). {machine()}; commits "
        f"{', '.join(commits)}.\n",
        table(["method", *(f"{n:,}" for n in SIZES)], rows),
    ]

    def median(name, n):
        runs = found[name, n]["runs"] if (name, n) in found else []
        return statistics.median(run["seconds"] for run in runs) if runs and "seconds" in runs[0] else None

    lines = []
    for n in SIZES:
        rivals = {name: median(name, n) for name in RIVALS if median(name, n)}
        near, auto = median("obcut distance", n), median("obcut", n)
        if rivals and near and auto:
            fastest = min(rivals, key=rivals.get)
            lines.append([f"{n:,}", f"{near / rivals[fastest]:.2f} ({fastest})", f"{auto / rivals[fastest]:.2f}"])
    if lines:
        text.append("Compared with the fastest of u-spec, lsc and fastesc:\n")
        header = ["rows", "obcut distance over it (bar: below 1)", "obcut, automatic, over it (bar: 3)"]
        text.append(table(header, lines))
    notes = ROOT / "bench" / "methods-notes.md"
    return "\n".join(text) + "\n" + (notes.read_text() if notes.exists() else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", default=None)
    parser.add_argument("--limit", type=float, default=900, help="seconds that a run may take")
    parser.add_argument("--repeats", type=int, default=3, help="rounds for the fast methods")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page again")
    args = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    names = args.only.split(",") if args.only else list(METHODS)
    for n in [] if args.page else [int(n) for n in args.sizes.split(",")]:
        path, found = faces(n), {name: [] for name in names}
        for r in range(args.repeats):
            for name in names:
                # What takes minutes is measured once.
                if r > 0 and found[name][0].get("seconds", 61) > 60:
                    continue
                found[name].append(measure(path, METHODS[name], args.limit))
                print(f"{n:,}  {name}: {found[name][-1]}", flush=True)
                kept.setdefault(name, {})[str(n)] = {"commit": commit(), "runs": found[name]}
                KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page(kept))
    print(PAGE.read_text())


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    main()
