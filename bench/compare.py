"""Scores of obcut and of other methods on the same data, written to docs/quality.md: `make compare`.

The data sets and their roles come from the quality harness (`quality sets`). Every run has a process of its own, with a
limit of time and memory, and one line in bench/results/compare/runs.jsonl. A run that is recorded for the same
tool, version, settings, data and seed is not made again. The table in docs/quality.md is made of all recorded runs
of the present versions.
"""

import argparse
import functools
import gzip
import hashlib
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
OBCUT = ROOT / "target" / "release" / "obcut"
QUALITY = ROOT / "target" / "release" / "examples" / "quality"
DIGITS = ROOT / "crates" / "obcut-data" / "data" / "digits.csv.gz"
RUNS = ROOT / "bench" / "results" / "compare" / "runs.jsonl"
PAGE = ROOT / "docs" / "quality.md"
BEGIN, END = "<!-- compare:begin -->", "<!-- compare:end -->"
SECONDS, BYTES = 600, 16 * 2**30
# Rows up to which the methods run that need time or memory by the square or the cube of them.
MOST_ROWS = {"spectral": 20_000, "ssc": 2_000, "ssc-omp": 12_000, "rksc": 12_000, "dcdp-asc": 12_000}
# The methods that the paper compares with, as the command has them.
PAPER = ["ssc", "escg", "ssc-omp", "lsc", "fastesc", "eulersc", "u-spec", "rksc", "dcdp-asc"]
METHODS = ROOT / "crates" / "obcut-baselines" / "src"
BATTERIES = ["wut", "sipu", "graves"]


# The tools: each takes scaled rows, k and a seed, and returns labels.


def umap_kmeans(x, k, seed):
    import umap
    from sklearn.cluster import KMeans

    reducer = umap.UMAP(n_components=10, n_neighbors=15, min_dist=0.0, random_state=seed, n_jobs=1)
    return KMeans(k, n_init=10, random_state=seed).fit_predict(reducer.fit_transform(x))


def genie(x, k, seed):
    from genieclust import Genie

    x = np.ascontiguousarray(x.toarray() if hasattr(x, "toarray") else x)
    return Genie(n_clusters=k, gini_threshold=0.3).fit_predict(x)


def spectral(x, k, seed):
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=10, assign_labels="cluster_qr", random_state=seed, n_jobs=-1
    )
    return model.fit_predict(x)


def kmeans(x, k, seed):
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=seed).fit_predict(x)


def of_paper(name, x, k, seed):
    return obcut(x, k, seed, ["--method", name])[0]


# Function, packages that make up the version, settings, number of seeds if it is deterministic.
TOOLS = {
    "umap-kmeans": (
        umap_kmeans,
        ["umap-learn", "pynndescent", "scikit-learn"],
        "n_components=10 n_neighbors=15 min_dist=0, k-means n_init=10",
        None,
    ),
    "genie": (genie, ["genieclust"], "gini_threshold=0.3", 1),
    "spectral": (spectral, ["scikit-learn"], "nearest_neighbors n_neighbors=10 cluster_qr", None),
    "kmeans": (kmeans, ["scikit-learn"], "n_init=10", None),
    "obcut": (None, [], "-k", None),
    **{name: (functools.partial(of_paper, name), [], f"--method {name}", None) for name in PAPER},
}


def version_of(tool):
    if tool == "obcut":
        text = subprocess.run([OBCUT, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        digest = hashlib.sha256(OBCUT.read_bytes()).hexdigest()[:12]
        return f"{text}, program {digest}"
    if tool in PAPER:
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(METHODS.glob("*.rs"))))
        return f"obcut-baselines, sources {digest.hexdigest()[:12]}"
    return ", ".join(f"{package} {version(package)}" for package in TOOLS[tool][1])


# Data.


def read(data):
    """Rows, and the reference partitions: arrays of classes in which -1 marks noise."""
    if data["name"] == "digits":
        with gzip.open(DIGITS, "rt") as file:
            table = np.genfromtxt(file, delimiter=",", skip_header=1)
        return table[:, :-1], [table[:, -1].astype(int)]
    with np.load(data["path"]) as file:
        x = file["X"]
        names = [name for name in file.files if name == "y" or (name[0] == "y" and name[1:].isdigit())]
        partitions = [file[name].astype(int) for name in names]
    if data["kind"] == "suite":
        partitions = [np.where(y == 0, -1, y) for y in partitions]
    return x, partitions


def is_text(data):
    return data["name"].startswith("NG20")


def scaled(x, data):
    """Scales columns to [0, 1], and rows of documents to unit length."""
    from scipy import sparse
    from sklearn.preprocessing import MinMaxScaler, normalize

    if is_text(data):
        return normalize(sparse.csr_matrix(x.astype(np.float64)))
    return MinMaxScaler().fit_transform(x.astype(np.float64))


def fingerprint(data):
    path = DIGITS if data["name"] == "digits" else pathlib.Path(data["path"])
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def scores(labels, classes):
    """NMI over the larger entropy, accuracy under the best matching, adjusted Rand index."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix

    keep = classes >= 0
    labels, classes = labels[keep], classes[keep]
    table = contingency_matrix(classes, labels)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return {
        "nmi": float(normalized_mutual_info_score(classes, labels, average_method="max")),
        "acc": float(table[rows, columns].sum() / len(labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
    }


# One run, in a process of its own.


def obcut(x, k, seed, options=()):
    """Labels and seconds of the command without reading and writing."""
    from scipy import sparse

    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "x.npz", pathlib.Path(folder) / "labels.npy"
        if sparse.issparse(x):
            sparse.save_npz(path, x)
        else:
            np.savez(path, X=x)
        command = [OBCUT, "cluster", path, "-k", k, "--seed", seed, "-o", out, "--json", "--quiet", *options]
        answer = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if answer.returncode:
            raise RuntimeError(answer.stdout.strip() or answer.stderr.strip())
        told = json.loads(answer.stdout)["seconds"]
        return np.load(out), told["total"] - told["stages"]["read"] - told["stages"]["write"]


def child(tool, data, seed):
    """Fits once for every distinct k of the partitions, and prints the best scores by ARI."""
    x, partitions = read(data)
    order = np.random.default_rng(seed).permutation(len(x))
    x, partitions = x[order], [y[order] for y in partitions]
    numbers = [len(np.unique(y[y >= 0])) for y in partitions]
    if tool == "obcut":
        from scipy import sparse

        rows = sparse.csr_matrix(x) if is_text(data) else x
    else:
        rows = scaled(x, data)
        # What is compiled at the first call is not counted.
        if tool not in PAPER:
            TOOLS[tool][0](np.random.default_rng(0).random((200, 3)), 2, 0)
    best, seconds = None, 0.0
    distinct = sorted({k for k in numbers if k > 1})
    for k in distinct:
        clock = time.perf_counter()
        if tool == "obcut":
            labels, taken = obcut(rows, k, seed)
        else:
            labels = np.asarray(TOOLS[tool][0](rows, k, seed))
            taken = time.perf_counter() - clock
        seconds += taken / len(distinct)
        for y, of in zip(partitions, numbers, strict=True):
            found = {"k": k, **scores(labels, y)} if of == k else None
            if found and (best is None or found["ari"] > best["ari"]):
                best = found
    print(json.dumps({"rows": len(x), "features": x.shape[1], **best, "seconds": round(seconds, 3)}))


def run(tool, data, seed):
    """The result of one run: its scores, or the reason for their absence."""
    if rows_of(data) > MOST_ROWS.get(tool, np.inf):
        return {"status": f"not run above {MOST_ROWS[tool]:,} rows"}
    command = [sys.executable, __file__, "--child", tool, json.dumps(data), str(seed)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
    )
    try:
        out, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"status": f"over {SECONDS} s"}
    if process.returncode:
        lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
        return {"status": "over 16 GB" if "MemoryError" in lines[-1] else f"failed: {lines[-1][:200]}"}
    return {"status": "done", **json.loads(out.strip().splitlines()[-1])}


def rows_of(data):
    if data["name"] == "digits":
        return 1797
    with np.load(data["path"]) as file:
        return len(file["y"])


# The page.


def cell(runs, names, factor=None):
    """Mean ± deviation of the first score and means of the others, or the reason for their absence."""
    done = [r for r in runs if r["status"] == "done"]
    if not done:
        return (runs[0]["status"] if len(runs[0]["status"]) < 40 else "failed") if runs else "-"
    # One score is a fraction of 1, several are per cent.
    factor = factor or (1 if len(names) == 1 else 100)
    digits = 3 if factor == 1 else 1
    means = [f"{factor * statistics.mean(r[name] for r in done):.{digits}f}" for name in names]
    if len(done) > 1:
        means[0] += f" ± {factor * statistics.stdev(r[names[0]] for r in done):.{digits}f}"
    failed = f" ({len(runs) - len(done)} of {len(runs)} without a result)" if len(done) < len(runs) else ""
    return ", ".join(means) + failed


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def page(records, sets):
    """Tables of all recorded runs."""
    ran = [tool for tool in TOOLS if any(r["tool"] == tool for r in records)]
    tools, paper = [[tool for tool in ran if (tool in PAPER) == is_paper] for is_paper in (False, True)]
    found = {(data["name"], tool): [] for data in sets for tool in ran}
    for record in records:
        if (record["data"], record["tool"]) in found:
            found[record["data"], record["tool"]].append(record)

    def rows(of_suite, make, tools=tools):
        for data in sets:
            name = data["name"]
            if (data["kind"] == "suite") == of_suite and any(found[name, tool] for tool in tools):
                yield [name, data["role"], *(make(found[name, tool]) for tool in tools)]

    def seconds(runs):
        done = [r["seconds"] for r in runs if r["status"] == "done"]
        return f"{statistics.mean(done):.1f}" if done else (runs[0]["status"] if runs else "-")

    def mean(battery, tool):
        names = [data["name"] for data in sets if data["name"].startswith(f"{battery}-")]
        done = [[r["ari"] for r in found[name, tool] if r["status"] == "done"] for name in names]
        each = [statistics.mean(runs) for runs in done if runs]
        if len(each) < len(names):
            return f"{len(each)} of {len(names)} sets run"
        return f"{statistics.mean(each):.3f}"

    name = {tool: "the paper's nine" if tool in PAPER else f"`{tool}`" for tool in ran}
    versions = sorted({f"{name[r['tool']]}: {r['version']}" for r in records})
    text = [f"Versions: {'; '.join(versions)}.\n"]
    text += ["NMI ± deviation, ACC, ARI:\n", table(["data", "role", *tools], rows(False, scores_cell))]
    load = max((r["load"] for r in records), default=0)
    text += [
        f"Seconds of a fit (load average of the machine when a run began: up to {load}):\n",
        table(["data", "role", *tools], rows(False, seconds)),
    ]
    if paper:
        text += [
            "The methods that the paper compares with, NMI ± deviation:\n",
            table(["data", "role", *paper], rows(False, lambda runs: cell(runs, ["nmi"], 100), paper)),
        ]
    role = {data["name"].split("-")[0]: data["role"] for data in sets if data["kind"] == "suite"}
    means = [[b, role.get(b, ""), *(mean(b, tool) for tool in tools)] for b in BATTERIES]
    text += ["The suite, mean ARI as a fraction of 1:\n", table(["battery", "role", *tools], means)]
    text += [
        "Set by set, ARI as a fraction of 1:\n",
        table(["data", "role", *tools], rows(True, lambda runs: cell(runs, ["ari"]))),
    ]
    return "\n".join(text)


def scores_cell(runs):
    return cell(runs, ["nmi", "acc", "ari"])


def recorded():
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


def write_page(sets):
    versions = {}
    for record in recorded():
        versions[record["tool"]] = (record["version"], record["settings"])
    # Runs of the latest version of each tool, the latest run of a seed.
    latest = {}
    for record in recorded():
        if versions[record["tool"]] == (record["version"], record["settings"]):
            latest[record["tool"], record["data"], record["seed"]] = record
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{page(list(latest.values()), sets)}{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["tuning", "final"], help="run only the sets of one role")
    parser.add_argument("--tools", default=",".join(TOOLS), help="tools to run, separated by commas")
    parser.add_argument("--data", help="data sets to run, separated by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--page", action="store_true", help="run nothing, write the tables again")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        tool, data, seed = args.child
        child(tool, json.loads(data), int(seed))
        return
    lines = subprocess.run([QUALITY, "sets"], capture_output=True, text=True, check=True).stdout.splitlines()
    sets = [json.loads(line) for line in lines]
    sets = [data for data in sets if data["kind"] not in ("generated", "scikit-learn")]
    tools = args.tools.split(",")
    if unknown := [tool for tool in tools if tool not in TOOLS]:
        parser.error(f"no tool {', '.join(unknown)}; choose among {', '.join(TOOLS)}")
    missing = []
    for data in [] if args.page else sets:
        wanted = args.only in (None, data["role"]) and (args.data is None or data["name"] in args.data.split(","))
        if not wanted:
            continue
        if data["name"] != "digits" and not (data["path"] and os.path.isfile(data["path"])):
            missing.append(data["name"])
            continue
        run_all(data, tools, args.seeds)
    if missing:
        print(f"Skipped {len(missing)} data sets that have no file: {', '.join(missing)}.")
    write_page(sets)


def run_all(data, tools, seeds):
    """Makes the missing runs of one data set."""
    source = fingerprint(data)
    keys = ["tool", "version", "settings", "data", "source", "seed"]
    known = {tuple(record[key] for key in keys) for record in recorded()}
    for tool in tools:
        for seed in range(min(seeds, TOOLS[tool][3] or seeds)):
            head = dict(zip(keys, [tool, version_of(tool), TOOLS[tool][2], data["name"], source, seed], strict=True))
            if tuple(head.values()) in known:
                continue
            record = {**head, "role": data["role"], "load": round(os.getloadavg()[0], 1), **run(tool, data, seed)}
            RUNS.parent.mkdir(parents=True, exist_ok=True)
            with RUNS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{data['name']}  {tool}  seed {seed}: {cell([record], ['nmi', 'acc', 'ari'])}", flush=True)


if __name__ == "__main__":
    main()
