"""Measures the seconds of obcut and its peers in turns, and writes docs/benchmarks.md: `make bench`.

Every figure is the median over repeats of a run in a process of its own; the methods take turns, so that
a disturbance of the machine meets all of them. Seconds are those of the fit, without the reading of the
file. Ratios are of medians; the spread is from the smallest to the largest ratio of runs in the
same round.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "target" / "bench-data"
OBCUT = ROOT / "target" / "release" / "obcut"
LLOYD = ROOT / "target" / "release" / "examples" / "lloyd"
K = 100
FULL = 195_537
PAPER = "--preset paper --max-iter 30 --tol 0 --lambda 1 --lambda-scale relative".split()
OURS = {
    "obcut": [],
    "obcut distance": ["--graph", "distance", "--anchors", "300"],
    "obcut local": ["--graph", "local", "--anchors", "300"],
    "obcut paper": PAPER,
}


def faces(n, d=512, k=K):
    """Rows like the YouTube Faces features: k people, each a linear subspace of few dimensions around its own mean."""
    path = DATA / f"faces-{n}.npy"
    if not path.exists():
        random = np.random.default_rng(1)
        of_row = random.integers(0, k, n)
        means = random.standard_normal((k, d), dtype=np.float32) * np.float32(0.5)
        sheets = random.standard_normal((k, 8, d), dtype=np.float32) / np.float32(np.sqrt(8))
        x = np.empty((n, d), np.float32)
        for j in range(k):
            rows = np.flatnonzero(of_row == j)
            x[rows] = means[j] + random.standard_normal((len(rows), 8), dtype=np.float32) @ sheets[j]
            x[rows] += np.float32(0.5) * random.standard_normal((len(rows), d), dtype=np.float32)
        save(path, x)
    return path


def pictures(n=832, d=30_000, k=5):
    """Rows like the Leeds butterflies: many more columns than rows."""
    path = DATA / f"pictures-{n}-{d}.npy"
    if not path.exists():
        random = np.random.default_rng(2)
        means = random.random((k, d), dtype=np.float32)
        x = means[random.integers(0, k, n)] + random.standard_normal((n, d), dtype=np.float32)
        save(path, x)
    return path


def save(path, x):
    DATA.mkdir(parents=True, exist_ok=True)
    np.save(path.with_suffix(".part.npy"), x)
    path.with_suffix(".part.npy").rename(path)


def run(command, timeout=None):
    """Runs a command and returns its standard output and peak memory in bytes, or None after the time limit."""
    out = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        text = out.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        out.kill()
        out.communicate()
        return None
    if out.returncode != 0:
        raise SystemExit(f"failed ({out.returncode}): {' '.join(map(str, command))}")
    return text


def measured(command, timeout=None):
    """The same through a small parent process that reports the memory of its only child."""
    wrapper = (
        "import resource, subprocess, sys\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024\n"
        "print('\\npeak', peak); sys.exit(code)\n"
    )
    text = run([sys.executable, "-c", wrapper, *map(str, command)], timeout)
    if text is None:
        return None
    body, _, peak = text.decode().rpartition("\npeak ")
    return body, int(peak)


class Rounds:
    """Runs that take turns."""

    def __init__(self, threads):
        self.threads = threads
        self.runs = {}

    def obcut(self, path, args, k=K, threads=None):
        threads = threads or self.threads
        command = [OBCUT, "cluster", path, "-k", k, "--threads", threads, "--json", *args]
        body, peak = measured(command)
        answer = json.loads(body)
        stages = answer["seconds"]["stages"]
        seconds = answer["seconds"]["total"] - stages["read"] - stages["write"]
        return {"seconds": seconds, "peak": peak, "stages": stages, "answer": answer}

    def lloyd(self, path):
        body, peak = measured([LLOYD, path, K, 20, self.threads])
        return {"seconds": json.loads(body)["seconds"], "peak": peak}

    def peer(self, method, path, timeout=None):
        script = ROOT / "bench" / "peer.py"
        found = measured([sys.executable, script, method, path, K, self.threads], timeout)
        if found is None:
            return None
        return {"seconds": json.loads(found[0])["seconds"], "peak": found[1]}

    def take(self, repeats, jobs):
        """Runs all jobs once per round; `jobs` maps a key to a function that runs it."""
        for r in range(repeats):
            for key, job in jobs.items():
                found = job()
                if found is None:
                    print(f"  round {r + 1}  {key}: out of time", flush=True)
                    continue
                print(f"  round {r + 1}  {key}: {found['seconds']:.2f} s", flush=True)
                self.runs.setdefault(key, []).append(found)

    def median(self, key, what="seconds"):
        return statistics.median(run[what] for run in self.runs[key])

    def ratio(self, key, other):
        """Ratio of the medians, and the smallest and largest ratio of a round."""
        if key not in self.runs or other not in self.runs:
            return None
        pairs = zip(self.runs[key], self.runs[other], strict=False)
        rounds = [a["seconds"] / b["seconds"] for a, b in pairs]
        return self.median(key) / self.median(other), min(rounds), max(rounds)


def shown(ratio):
    return "-" if ratio is None else f"{ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f})"


def row_problem():
    """Rows per second of the row solver on Letter Recognition, and the same over our port of the authors'."""
    command = ["cargo", "bench", "-p", "obcut", "--bench", "simplex", "--", "LR"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    for line in out.splitlines():
        if line.startswith("LR, M = 100"):
            numbers = line[28:].split()
            names = ["support", "cold", "warm", "unchanged", "authors", "ratio", "gap", "gap_authors"]
            return dict(zip(names, map(float, numbers), strict=True))
    return None


def machine():
    name = platform.processor() or platform.machine()
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":")[1].strip() if lines else name
    return f"{name}, {os.cpu_count()} cores"


def commit():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def bar(name, value, limit, at_most=True):
    if value is None:
        return [name, "not measured", ""]
    met = value <= limit if at_most else value >= limit
    sign = "at most" if at_most else "at least"
    return [name, f"{value:.2f}", f"{sign} {limit}: {'met' if met else '**missed**'}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, one round, nothing written")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "benchmarks.md")
    args = parser.parse_args()
    rows = 20_000 if args.quick else FULL
    repeats = 1 if args.quick else args.repeats
    sizes = [] if args.quick else [10_000, 20_000, 50_000, 100_000]
    rounds = Rounds(args.threads)
    path = faces(rows)
    print(f"{rows} x 512, k = {K}, {args.threads} threads", flush=True)
    jobs = {name: lambda a=a: rounds.obcut(path, a) for name, a in OURS.items()}
    for peer in ["faiss", "sklearn-kmeans", "sklearn-minibatch"]:
        jobs[peer] = lambda peer=peer: rounds.peer(peer, path)
    jobs["our Lloyd"] = lambda: rounds.lloyd(path)
    jobs["sklearn-lloyd"] = lambda: rounds.peer("sklearn-lloyd", path)
    for name in ["obcut", "obcut distance", "obcut local"]:
        jobs[f"{name}, one thread"] = lambda a=OURS[name]: rounds.obcut(path, a, threads=1)
    rounds.take(repeats, jobs)

    for n in sizes:
        print(f"{n} x 512", flush=True)
        part = faces(n)
        jobs = {
            (name, n): lambda a=OURS[name], p=part: rounds.obcut(p, a)
            for name in ["obcut", "obcut distance", "obcut local"]
        }
        jobs["faiss", n] = lambda p=part: rounds.peer("faiss", p)
        rounds.take(repeats, jobs)
    print("scikit-learn SpectralClustering", flush=True)
    for n in [10_000, 20_000] if not args.quick else [10_000]:
        part = faces(n)
        limit = 60 if args.quick else 300
        rounds.take(1, {("sklearn-spectral", n): lambda p=part, t=limit: rounds.peer("sklearn-spectral", p, t)})
        rounds.take(1, {("obcut beside it", n): lambda p=part: rounds.obcut(p, [])})
    print("832 x 30,000", flush=True)
    wide = pictures()
    jobs = {f"reduce {how}": lambda how=how: rounds.obcut(wide, ["--reduce", how], k=5) for how in ["auto", "never"]}
    rounds.take(1 if args.quick else 2, jobs)
    rounds.row_problem = None if args.quick else row_problem()
    text = report(rounds, rows, sizes, repeats)
    print("\n" + text)
    if not args.quick:
        part = args.out.with_suffix(".part")
        part.write_text(text)
        part.rename(args.out)
        print(f"written to {args.out.relative_to(ROOT)}")


def report(rounds, rows, sizes, repeats):
    names = [*OURS, "faiss", "sklearn-kmeans", "sklearn-minibatch"]
    bytes_of_x = rows * 512 * 4
    lines = []
    for name in names:
        peak = max(run["peak"] for run in rounds.runs[name])
        lines.append(
            [
                name,
                f"{rounds.median(name):.2f}",
                shown(rounds.ratio(name, "faiss")),
                shown(rounds.ratio(name, "sklearn-kmeans")),
                f"{peak / bytes_of_x:.2f}",
            ]
        )
    text = [
        "# Benchmarks\n",
        "Written by `make bench` (`bench/bench.py`); `make bench-quick` measures the same on fewer rows.\n",
        f"Machine: {machine()}; commit {commit()}; {rounds.threads} threads; {repeats} rounds in which the "
        "methods take turns; medians, and in brackets the smallest and largest ratio of a round. Seconds are those of "
        "the fit without reading files. Peak memory is that of the whole process, relative to the bytes of X as f32.\n",
        f"## {rows:,} x 512, f32, k = {K}\n",
        "Generated data: 100 groups, each a linear subspace of 8 dimensions around a mean, with noise. `obcut` is the "
        "automatic default, `distance` and `local` have 300 anchors, `paper` is Algorithm 1 as printed with 100 "
        "anchors, lambda 1 (relative), all 30 iterations. faiss: all points, 20 iterations and the assignment. "
        "scikit-learn: `KMeans(n_init=1)` and `MiniBatchKMeans(n_init=1)`, otherwise its defaults.\n",
        table(["method", "s", "x faiss", "x scikit-learn KMeans", "peak memory"], lines),
        "Seconds by stage (median run):\n",
    ]
    stages = list(dict.fromkeys(s for n in OURS for s in rounds.runs[n][0]["stages"]))
    stages = [s for s in stages if s not in ("read", "write")]
    lines = []
    for name in OURS:
        run = sorted(rounds.runs[name], key=lambda r: r["seconds"])[len(rounds.runs[name]) // 2]
        used = run["answer"]["settings"].get("graph_used", "")
        lines.append([f"{name} ({used})", *(f"{run['stages'].get(s, 0):.2f}" for s in stages)])
    text.append(table(["method (graph)", *stages], lines))
    text.append("## 20 iterations of Lloyd from random rows, all rows\n")
    names = ["our Lloyd", "faiss", "sklearn-lloyd"]
    text.append(
        table(
            ["method", "s", "x faiss", "x scikit-learn"],
            [
                [n, f"{rounds.median(n):.2f}", shown(rounds.ratio(n, "faiss")), shown(rounds.ratio(n, "sklearn-lloyd"))]
                for n in names
            ],
        )
    )
    growth, speedup = [], []
    if sizes:
        text.append("## Sizes and threads\n")
        lines = []
        ours = ["obcut", "obcut distance", "obcut local"]
        for name in [*ours, "faiss"]:
            times = [rounds.median((name, n)) for n in sizes] + [rounds.median(name)]
            steps = zip(times, times[1:], [*sizes, rows], [*sizes[1:], rows], strict=False)
            # Per doubling: the ratio of times, for the factor between the sizes.
            per = [(b / a) ** (np.log(2) / np.log(m / n)) for a, b, n, m in steps]
            if name in ours:
                growth.append(max(per))
            lines.append([name, *(f"{t:.2f}" for t in times), ", ".join(f"{p:.2f}" for p in per)])
        text.append(table(["method", *(f"{n:,}" for n in [*sizes, rows]), "growth per doubling"], lines))
    lines = []
    for name in ["obcut", "obcut distance", "obcut local"]:
        gain = rounds.median(f"{name}, one thread") / rounds.median(name)
        speedup.append(gain)
        lines.append([name, f"{rounds.median(f'{name}, one thread'):.2f}", f"{rounds.median(name):.2f}", f"{gain:.2f}"])
    text.append(table(["method", "1 thread, s", f"{rounds.threads} threads, s", "gain"], lines))
    text.append("## scikit-learn SpectralClustering (nearest neighbours)\n")
    lines = []
    for n in [10_000, 20_000]:
        if ("obcut beside it", n) in rounds.runs:
            peer = rounds.runs.get(("sklearn-spectral", n))
            seconds = f"{peer[0]['seconds']:.1f}" if peer else "out of time"
            lines.append([f"{n:,}", seconds, f"{rounds.median(('obcut beside it', n)):.1f}"])
    text.append(table(["rows", "SpectralClustering, s", "obcut, s"], lines))
    auto, never = rounds.runs["reduce auto"][0], rounds.runs["reduce never"][0]
    gain = rounds.median("reduce never") / rounds.median("reduce auto")
    same = auto["answer"]["labels"] == never["answer"]["labels"]
    text.append("## 832 x 30,000\n")
    text.append(
        f"Reduced to 832 columns {rounds.median('reduce auto'):.2f} s, direct "
        f"{rounds.median('reduce never'):.2f} s: {gain:.1f} times; labels {'the same' if same else 'NOT the same'}.\n"
    )
    solver = rounds.row_problem
    if solver:
        text.append("## The row problem: Letter Recognition, 100 anchors, one core\n")
        text.append(
            f"Cold start {solver['cold']:,.0f} rows/s (mean support {solver['support']:.1f}, largest KKT gap "
            f"{solver['gap']:.0e}), warm start after a small move of the anchors {solver['warm']:,.0f}; our port of "
            f"the authors' solver {solver['authors']:,.0f} rows/s (mean gap {solver['gap_authors']:.0e}): "
            f"{solver['ratio']:.0f} times. `cargo bench -p obcut --bench simplex`.\n"
        )
    faiss, sklearn = (lambda n: rounds.ratio(n, "faiss")[0]), (lambda n: rounds.ratio(n, "sklearn-kmeans")[0])
    peak = max(run["peak"] for run in rounds.runs["obcut"]) / bytes_of_x
    bars = [
        bar("distance, x faiss", faiss("obcut distance"), 1.0),
        bar("distance, x scikit-learn", sklearn("obcut distance"), 0.25),
        bar("local, x faiss", faiss("obcut local"), 1.0),
        bar("local, x scikit-learn", sklearn("obcut local"), 0.25),
        bar("default, x faiss", faiss("obcut"), 2.5),
        bar("default, x scikit-learn", sklearn("obcut"), 0.6),
        bar("paper, x faiss", faiss("obcut paper"), 5.0),
        bar("Lloyd, x faiss", faiss("our Lloyd"), 1.1),
        bar("Lloyd, x scikit-learn", rounds.ratio("our Lloyd", "sklearn-lloyd")[0], 0.7),
        bar("growth per doubling, largest", max(growth) if growth else None, 2.15),
        bar("two threads over one, smallest", min(speedup), 1.7, at_most=False),
        bar("peak memory of the default, x bytes of X", peak, 1.8),
        bar("row problem, 1,000 rows/s", solver and solver["cold"] / 1000, 300, at_most=False),
        bar("row problem, x the authors' solver", solver and solver["ratio"], 50, at_most=False),
        bar("reduced over direct at 832 x 30,000", gain, 10, at_most=False),
    ]
    text.append("## Targets\n")
    text.append(table(["what", "measured", "target"], bars))
    notes = ROOT / "bench" / "notes.md"
    if notes.exists():
        text.append(notes.read_text())
    return "\n".join(text)


if __name__ == "__main__":
    main()
