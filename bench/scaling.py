"""The cost model of docs/scaling.md: seconds of the passes over a large table, fitted and checked.

    .venv/bin/python bench/scaling.py [--write]

Tables are made by `obcut generate`, clustered by `obcut cluster` in batches, and the seconds of every
pass are taken from its JSON. Constants are fitted (non-negative least squares on relative errors) to
some of the runs and checked against the others. `--write` puts the tables into docs/scaling.md.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
OBCUT = ROOT / "target/release/obcut"
PAGE = ROOT / "docs/scaling.md"
CORE_ROWS = 50_000

# Rows, features, anchors, clusters: those that are fitted, and those that are predicted.
FITTED = [
    (400_000, 16, 500, 10),
    (400_000, 16, 2000, 10),
    (400_000, 64, 500, 50),
    (400_000, 64, 1000, 10),
    (800_000, 32, 1000, 100),
    (300_000, 256, 500, 10),
    (300_000, 256, 1000, 100),
]
CHECKED = [
    (1_600_000, 32, 1000, 20),
    (600_000, 128, 1000, 50),
    (300_000, 512, 1000, 100),
    (400_000, 48, 1500, 30),
]
# What the model is asked about: rows, features, anchors, clusters.
ASKED = [(10**8, 128, 1000, 100), (10**9, 128, 1000, 100)]
WORKERS = [10, 100, 1000]
ROUNDS = 2
# A network of 10 Gbit/s, and seconds that a scheduler takes per task (measured by bench/dask_bench.py).
BANDWIDTH = 1.25e9
PER_TASK = 1e-3
TASKS_PER_WORKER = 4


def run(n, d, m, k, folder, threads):
    table = folder / f"t-{n}-{d}.npy"
    if not table.exists():
        subprocess.run([OBCUT, "generate", table, "-n", str(n), "-d", str(d), "-k", "50", "-q"], check=True)
    line = [OBCUT, "cluster", table, "-k", str(k), "--graph", "distance", "--anchors", str(m), "--json"]
    # Room for the core, and for no more.
    memory = (65 << 20) + CORE_ROWS * (4 * d + 900)
    line += ["--core-rows", str(CORE_ROWS), "--memory", str(memory), "-o", folder / "l.npy", "--force"]
    line += ["--threads", str(threads)]
    found = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    passes = found["passes"]["pass_seconds"]
    assert "bytes_read" in found["passes"], "it was not read in batches"
    core = sum(s for stage, s in found["seconds"]["stages"].items() if stage in CORE)
    return {"shape": (n, d, m, k), "scan": passes[0], "round": min(passes[1:]), "core": core}


CORE = ["prepare", "anchors", "graph", "choose", "start", "cut", "finish"]


def scan_terms(n, d, m, k):
    return [n * d, n]


def round_terms(n, d, m, k):
    return [n * m * d, n * m, n * k, n * d, n]


NAMES = {
    "scan": ["per value", "per row"],
    "round": ["per value and anchor", "per anchor", "per cluster", "per value", "per row"],
}


def fit(terms, runs, name):
    rows = np.array([terms(*r["shape"]) for r in runs], float)
    seconds = np.array([r[name] for r in runs])
    return nnls(rows / seconds[:, None], np.ones(len(runs)))


def nnls(a, b):
    """Non-negative least squares by trying every set of columns: there are few."""
    best = (np.inf, None)
    for size in range(1, a.shape[1] + 1):
        for columns in itertools.combinations(range(a.shape[1]), size):
            part, *_ = np.linalg.lstsq(a[:, columns], b, rcond=None)
            if (part < 0).any():
                continue
            error = ((a[:, columns] @ part - b) ** 2).sum()
            if error < best[0] * 0.999:
                whole = np.zeros(a.shape[1])
                whole[list(columns)] = part
                best = (error, whole)
    return best[1]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def predictions(scan, rounds, core, threads):
    """Seconds, rounds and bytes on many workers of as many threads as were measured."""
    for shape in ASKED:
        n, d, m, k = shape
        broadcast = 8 * (m * d + m * k)
        gathered = 8 * (m * k + k * d)
        for workers in WORKERS:
            tasks = workers * TASKS_PER_WORKER
            compute = (np.dot(scan_terms(*shape), scan) + ROUNDS * np.dot(round_terms(*shape), rounds)) / workers
            overhead = (1 + ROUNDS) * tasks * PER_TASK
            wire = ROUNDS * (broadcast * np.log2(workers) + gathered * np.log2(tasks) * 2) / BANDWIDTH
            total = core + compute + overhead + wire
            parts = {"core": core, "passes": compute, "tasks": overhead, "network": wire}
            yield [
                f"{n:.0e} x {d}".replace("e+0", "e"),
                workers,
                f"{n * d * 4 / workers / 2**30:.1f} GiB",
                f"{compute:.0f}",
                f"{core:.0f}",
                f"{overhead:.1f}",
                f"{wire:.2f}",
                f"{total:.0f}",
                max(parts, key=parts.get),
            ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scaling.md")
    parser.add_argument("--folder", type=pathlib.Path, default=None, help="where tables are made")
    arguments = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = pathlib.Path(folder)
        runs = {}
        for shape in FITTED + CHECKED:
            runs[shape] = run(*shape, folder, threads)
            print(runs[shape], flush=True)
            (folder / f"t-{shape[0]}-{shape[1]}.npy").unlink()
    fitted = [runs[shape] for shape in FITTED]
    constants = {
        "scan": fit(scan_terms, fitted, "scan"),
        "round": fit(round_terms, fitted, "round"),
    }
    rows = [
        [name, term, f"{1e9 * value:.4f}"]
        for name, values in constants.items()
        for term, value in zip(NAMES[name], values, strict=True)
    ]
    text = {"constants": table(["pass", "term", "nanoseconds"], rows)}
    rows = []
    for shape in FITTED + CHECKED:
        n, d, m, k = shape
        found = runs[shape]
        says = {
            "scan": np.dot(scan_terms(*shape), constants["scan"]),
            "round": np.dot(round_terms(*shape), constants["round"]),
        }
        both = [f"{says[p]:.2f} / {found[p]:.2f} ({says[p] / found[p]:.2f})" for p in ("scan", "round")]
        used = "fitted" if shape in FITTED else "**checked**"
        rows.append([f"{n:,} x {d}", m, k, used, *both, f"{found['core']:.1f}"])
    head = ["table", "anchors", "k", "", "scan: model / measured", "round: model / measured", "core s"]
    text["checks"] = table(head, rows)
    core = max(run["core"] for run in runs.values())
    head = ["table", "workers", "data each", "passes s", "core s", "tasks s", "network s", "all s", "most of it"]
    text["predictions"] = table(head, predictions(constants["scan"], constants["round"], core, threads))
    for name, block in text.items():
        print(f"\n{name}\n{block}")
    if arguments.write:
        page = PAGE.read_text()
        for name, block in text.items():
            start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
            before, rest = page.split(start)
            page = before + start + block + "\n" + end + rest.split(end, 1)[1]
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
