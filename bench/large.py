"""Tables larger than memory: `make bench-large`.

    .venv/bin/python bench/large.py [--write] [--rows 20000000] [--only time,bits,kill]

time  a generated table, in memory and in batches, in turns: seconds of a round and peak memory. `--write` writes
      them to docs/scaling.md.
bits  195,537 rows like the YouTube Faces features from memory, NPY in batches, Parquet, CSV and dask: the
      labels must be the same bytes.
kill  a run with checkpoints, killed at ten random moments and resumed: the same bytes, no incomplete files.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

import numpy as np

from bench import FULL, OBCUT, ROOT, commit, faces, machine

PAGE = ROOT / "docs/scaling.md"
K = 20
GRAPH = ["--graph", "distance"]
# Less than half of the faces: without it they would be clustered whole.
CORE_ROWS = 80_000
CORE = ["--core-rows", CORE_ROWS]


def run(line):
    """The JSON of a command, its seconds and its peak bytes."""
    start = time.monotonic()
    process = subprocess.Popen(list(map(str, line)), stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, line
    return json.loads(text), time.monotonic() - start, usage.ru_maxrss * 1024


def digest(path):
    return hashlib.sha256(np.load(path).astype(np.int32).tobytes()).hexdigest()[:16]


def measure_time(folder, n, repeats):
    """In memory and in batches, in turns."""
    table = folder / "big.npy"
    subprocess.run([OBCUT, "generate", table, "-n", str(n), "-d", "32", "-k", str(K), "-q"], check=True)
    ways = {"in memory": ["--memory", "100GiB"], "in batches, `--memory 512MiB`": ["--memory", "512MiB"]}
    found = {name: [] for name in ways}
    labels = set()
    for _ in range(repeats):
        for name, options in ways.items():
            out = folder / "labels.npy"
            line = [OBCUT, "cluster", table, "-k", K, *GRAPH, *options, "-o", out, "--force", "--json"]
            found[name].append(run(line))
            labels.add(digest(out))
            print(name, found[name][-1][0]["passes"], found[name][-1][1:], flush=True)
    assert len(labels) == 1, "the labels differ"
    rows = []
    for name, runs in found.items():
        passes = [answer["passes"] for answer, _, _ in runs]
        rounds = min(min(p["pass_seconds"][1:]) for p in passes)
        scan = min(p["pass_seconds"][0] for p in passes)
        seconds = min(s for _, s, _ in runs)
        memory = max(m for _, _, m in runs)
        rows.append((name, scan, rounds, seconds, memory, passes[0]))
    base = rows[0][2]
    lines = ["| | scan s | round s | × in memory | passes | all s | peak memory |", "|---|---|---|---|---|---|---|"]
    for name, scan, rounds, seconds, memory, passes in rows:
        lines.append(
            f"| {name} | {scan:.1f} | {rounds:.1f} | {rounds / base:.2f} | {passes['passes']} | {seconds:.0f} "
            f"| {memory / 2**20:,.0f} MiB |"
        )
    lines.append("")
    lines.append(f"{n:,} rows, best of {repeats}, in turns; labels of the same bytes. {machine()}, {commit()}.")
    return "\n".join(lines)


def same_bits(folder):
    """The labels of one table from every format."""
    table = faces(FULL)
    x = np.load(table, mmap_mode="r")
    found = {}

    def cluster(name, path, *options):
        out = folder / "labels.npy"
        line = [OBCUT, "cluster", path, "-k", 100, *GRAPH, *CORE, *options, "-o", out, "--force", "--json"]
        answer, seconds, memory = run(line)
        in_pieces = "bytes_read" in answer["passes"]
        found[name] = digest(out)
        print(f"{name}: {found[name]} {seconds:.1f} s, {memory / 2**20:.0f} MiB, in batches: {in_pieces}", flush=True)

    little = ["--memory", "600MiB", "--scratch", str(folder)]
    cluster("memory", table, "--memory", "100GiB")
    cluster("npy in batches", table, *little)
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "faces.parquet"
    with pq.ParquetWriter(path, pa.schema([(f"c{j}", pa.float32()) for j in range(x.shape[1])])) as out:
        for start in range(0, len(x), 20_000):
            part = x[start : start + 20_000]
            columns = [pa.array(np.ascontiguousarray(part[:, j])) for j in range(x.shape[1])]
            out.write_table(pa.Table.from_arrays(columns, names=[f"c{j}" for j in range(x.shape[1])]))
    cluster("parquet in batches", path, *little)
    path.unlink()
    path = folder / "faces.csv"
    with open(path, "w") as out:
        for start in range(0, len(x), 20_000):
            for row in x[start : start + 20_000]:
                out.write(",".join(map(str, row.tolist())) + "\n")
    cluster("csv in batches", path, "--dtype", "float32", *little)
    path.unlink()
    found["dask"] = dask_labels(folder, x)
    print(f"dask: {found['dask']}")
    assert len(set(found.values())) == 1, found
    return found


def dask_labels(folder, x):
    import dask.array as da
    from distributed import Client, LocalCluster

    import obcut.dask

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        array = da.from_array(np.asarray(x), chunks=(30_001, x.shape[1]))
        model = obcut.dask.OBCut(100, graph="distance", core_rows=CORE_ROWS, random_state=0)
        labels = model.fit(array).labels_.compute()
    path = folder / "dask.npy"
    np.save(path, labels.astype(np.int32))
    return digest(path)


def kill(folder, n, times=10):
    """Kills a checkpointed run at random moments; the labels must not change."""
    table = folder / "table.npy"
    subprocess.run([OBCUT, "generate", table, "-n", str(n), "-d", "32", "-k", str(K), "-q"], check=True)
    line = [OBCUT, "cluster", table, "-k", K, *GRAPH, "--memory", "512MiB", "--json", "--force"]
    _, seconds, _ = run([*line, "-o", folder / "whole.npy"])
    expected = digest(folder / "whole.npy")
    line += ["--checkpoint", folder / "kept", "--checkpoint-seconds", "0.5"]
    for turn in range(times):
        kills, resume = 0, []
        chance = random.Random(turn)
        while True:
            process = subprocess.Popen(
                list(map(str, [*line, "-o", folder / "labels.npy", *resume])), stdout=subprocess.DEVNULL
            )
            try:
                process.wait(chance.uniform(0.1, 1.0) * seconds)
                assert process.returncode == 0
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills, resume = kills + 1, ["--resume"]
        assert digest(folder / "labels.npy") == expected, "the labels differ"
        left = sorted(path.name for path in folder.iterdir())
        assert left == ["labels.npy", "table.npy", "whole.npy"], left
        print(f"run {turn + 1}: killed {kills} times, same labels, nothing left behind", flush=True)
        (folder / "labels.npy").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/scaling.md")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="time,bits,kill")
    parser.add_argument("--folder", type=pathlib.Path, default=None, help="a folder with room for the tables")
    arguments = parser.parse_args()
    only = arguments.only.split(",")
    if "time" in only:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            text = measure_time(pathlib.Path(folder), arguments.rows, arguments.repeats)
        print(text)
        if arguments.write:
            start, end = "<!-- large -->\n", "<!-- end of large -->"
            before, rest = PAGE.read_text().split(start)
            PAGE.write_text(before + start + text + "\n" + end + rest.split(end, 1)[1])
    if "bits" in only:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            same_bits(pathlib.Path(folder))
    if "kill" in only:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            kill(pathlib.Path(folder), arguments.rows // 10)


if __name__ == "__main__":
    main()
