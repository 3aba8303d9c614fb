"""Seconds and peak memory of all methods on rows like the YouTube Faces features: `make bench-methods`.

Every method runs in a process of its own, in turns, and is stopped at a limit of time. The table is written
to docs/methods.md. `--sizes 10000,50000 --only lsc,u-spec` runs a part and prints it.
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


def measure(path, options, limit):
    """Seconds of the fit and peak bytes; or the words of an error, or None when the time was up."""
    command = [OBCUT, "cluster", path, "-k", str(K), "--threads", "2", "--json", *options]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = []
    reader = threading.Thread(target=lambda: text.append(process.stdout.read()))
    reader.start()
    start, pid = time.monotonic(), 0
    while pid == 0:
        if time.monotonic() - start > limit:
            process.kill()
        time.sleep(0.02)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    if process.returncode < 0:
        return None
    answer = json.loads(text[0])
    if process.returncode > 0:
        return answer["error"]["message"].split(": ", 1)[-1]
    stages = answer["seconds"]["stages"]
    seconds = answer["seconds"]["total"] - stages["read"] - stages["write"]
    return seconds, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=f"10000,50000,{FULL}")
    parser.add_argument("--only", default=None)
    parser.add_argument("--limit", type=float, default=900, help="seconds that a run may take")
    parser.add_argument("--repeats", type=int, default=3, help="rounds for the fast methods")
    parser.add_argument("--write", action="store_true", help="write docs/methods.md also from a part")
    args = parser.parse_args()
    sizes = [int(n) for n in args.sizes.split(",")]
    names = args.only.split(",") if args.only else list(METHODS)
    cells, medians = {name: [] for name in names}, {}
    for n in sizes:
        path, found = faces(n), {name: [] for name in names}
        for r in range(args.repeats):
            for name in names:
                if r > 0 and not isinstance(found[name][0], tuple):
                    continue
                # What takes minutes is measured once.
                if r > 0 and found[name][0][0] > 60:
                    continue
                found[name].append(measure(path, METHODS[name], args.limit))
                print(f"{n:,}  {name}: {found[name][-1]}", flush=True)
        for name in names:
            first = found[name][0]
            if first is None:
                cells[name].append(f"over {args.limit:.0f} s")
            elif isinstance(first, str):
                cells[name].append(first)
            else:
                seconds = statistics.median(run[0] for run in found[name])
                peak = max(run[1] for run in found[name])
                medians[name, n] = seconds
                cells[name].append(f"{seconds:.2f} s, {peak / 1e9:.2f} GB")
    text = [
        "# All methods: seconds and memory\n",
        f"Written by `make bench-methods` (`bench/methods.py`). Rows of 512 features in f32, k = {K}, 2 threads, "
        f"median of {args.repeats} round(s) (one where a run takes more than a minute), default settings but for: "
        f"{ANCHORS} anchors, landmarks or representatives for `obcut distance`, `lsc` and `u-spec`, one start for "
        "`kmeans`, 200 supernodes for `escg`, which needs at least k. Seconds of the fit, peak memory of the process, "
        "which holds the rows "
        f"({FULL * 512 * 4 / 1e9:.2f} GB at {FULL:,}). {machine()}; commit {commit()}.\n",
        table(["method", *(f"{n:,}" for n in sizes)], [[name, *cells[name]] for name in names]),
    ]
    lines = []
    for n in sizes:
        rivals = {name: medians[name, n] for name in RIVALS if (name, n) in medians}
        if rivals and ("obcut distance", n) in medians and ("obcut", n) in medians:
            fastest = min(rivals, key=rivals.get)
            near, auto = medians["obcut distance", n], medians["obcut", n]
            lines.append([
                f"{n:,}",
                f"{near / rivals[fastest]:.2f} ({fastest})",
                f"{auto / rivals[fastest]:.2f}",
            ])
    if lines:
        text.append("Against the fastest of u-spec, lsc and fastesc:\n")
        header = ["rows", "obcut distance over it (bar: below 1)", "obcut, automatic, over it (bar: 3)"]
        text.append(table(header, lines))
    text = "\n".join(text)
    print("\n" + text)
    if args.write or (args.only is None and len(sizes) == 3):
        notes = ROOT / "bench" / "methods-notes.md"
        text += "\n" + notes.read_text() if notes.exists() else ""
        (ROOT / "docs" / "methods.md").write_text(text)


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    main()
