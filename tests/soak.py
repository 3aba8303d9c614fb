"""Runs that are killed, run out of disk, or lose their input while they read it.

The tests do a few rounds of each (test_faults.py). `make soak` does as many as there is time for; see
`python tests/soak.py --help`.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "debug" / "obcut"
# A table that is read in pieces, because it does not fit.
ROWS, COLUMNS = 40_000, 40
LITTLE = ["--memory", "70MiB", "--core-rows", "2000", "--graph", "distance", "--threads", "1"]


class Skipped(Exception):
    """What cannot be tried on this machine."""


def table(seed):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(6, COLUMNS))
    rows = centers[rng.integers(0, 6, ROWS)] + 0.3 * rng.normal(size=(ROWS, COLUMNS))
    return rows.astype(np.float32)


def bare(folder):
    """The names of all files in a folder, hidden ones too."""
    return sorted(os.listdir(folder))


class Bench:
    """A folder with a table, and what an undisturbed run of it gives."""

    def __init__(self, folder, seed=0):
        self.folder = pathlib.Path(folder)
        self.dice = random.Random(seed)
        np.save(self.folder / "x.npy", table(1))
        start = time.monotonic()
        self.finished("cluster", "x.npy", "-k", 6, *LITTLE, "-o", "whole.npy", "--model", "whole.st")
        self.seconds = time.monotonic() - start
        self.labels = (self.folder / "whole.npy").read_bytes()
        self.model = (self.folder / "whole.st").read_bytes()

    def start(self, *words):
        command = [PROGRAM, *map(str, words)]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def finished(self, *words, codes=(0,)):
        """Runs to the end: the exit code and what was said."""
        run = self.start(*words)
        _, stderr = run.communicate()
        assert run.returncode in codes, f"exit code {run.returncode}: {stderr}"
        return run.returncode, stderr

    def wait(self):
        """A moment of a run, any one, seldom after its end."""
        time.sleep(self.dice.uniform(0, 1.1 * self.seconds))

    def check_outputs(self, labels, model, report):
        """Files are whole or absent."""
        for name, expected in [(labels, self.labels), (model, self.model)]:
            path = self.folder / name
            assert not path.exists() or path.read_bytes() == expected, f"{name} is partial"
        page = self.folder / report
        assert not page.exists() or page.read_text().rstrip().endswith("</html>"), f"{report} is partial"


def kills(bench):
    """A run is killed until it comes to its end: its bytes are those of an undisturbed run, nothing else is left."""
    before = bare(bench.folder)
    names = ["killed.npy", "killed.st", "killed.html"]
    outputs = ["-o", names[0], "--model", names[1], "--report", names[2], "--force"]
    kept = bench.folder / "kept"
    line = ["cluster", "x.npy", "-k", 6, *LITTLE, "--checkpoint", kept.name, "--checkpoint-seconds", 0, *outputs]
    killed = 0
    while killed < 3:
        run = bench.start(*line, *(["--resume"] if kept.exists() else []))
        bench.wait()
        run.kill()
        _, stderr = run.communicate()
        assert run.returncode in (0, -9), stderr
        killed += run.returncode == -9
        bench.check_outputs(*names)
    bench.finished(*line, *(["--resume"] if kept.exists() else []))
    assert all((bench.folder / name).exists() for name in names)
    bench.check_outputs(*names)
    assert bare(bench.folder) == sorted(before + names), bare(bench.folder)
    for name in names:
        (bench.folder / name).unlink()
    return killed


@contextlib.contextmanager
def small_disk(folder, kib):
    """A file system of a few KiB, if root may make one."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        folder.rmdir()
        raise Skipped("only root can mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def full_disk(bench):
    """Labels, model, scratch file or checkpoint do not fit: an error that says so, and no partial file."""
    # The labels take 157 KiB, the rows 6,250 KiB.
    kib = 4 * bench.dice.randrange(1, 60)
    line = ["cluster", "x.npy", "-k", 6, *LITTLE]
    with small_disk(bench.folder / "small", kib) as disk:
        (disk / "mine").write_bytes(b"1")
        outputs = ["-o", "small/l.npy", "--model", "small/m.st", "--report", "small/r.html"]
        way = bench.dice.choice(["outputs", "checkpoint", "scratch"])
        if way == "outputs":
            words = outputs
        elif way == "checkpoint":
            words = ["--checkpoint", "small/kept", "--checkpoint-seconds", "0", "-o", "full.npy"]
        else:
            words = ["--scratch", "small", "-o", "full.npy"]
            line[1] = "x.csv"
            if not (bench.folder / "x.csv").exists():
                np.savetxt(bench.folder / "x.csv", table(1)[:5000], delimiter=",", fmt="%.4f")
            # A small table in pieces: only what needs no scratch file fits.
            line[3:] = [6, "--memory", "66MiB", "--core-rows", "500", "--graph", "distance", "--threads", "1"]
        code, stderr = bench.finished(*line, *words, codes=(0, 1))
        left = bare(disk)
        if code:
            assert "No space left" in stderr and len(stderr.strip().splitlines()) == 1, f"{way}: {stderr}"
            assert not (bench.folder / "full.npy").exists()
            allowed = {"mine", "kept"} if way == "checkpoint" else {"mine"}
            assert set(left) <= allowed, f"{way}: {left}"
        elif way == "outputs":
            assert left == ["l.npy", "m.st", "mine", "r.html"], left
            bench.check_outputs("small/l.npy", "small/m.st", "small/r.html")
        (bench.folder / "full.npy").unlink(missing_ok=True)
        # A run that found no room goes on when there is some.
        if way == "checkpoint" and code:
            subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
            bench.finished(*line, *words, "--resume")
            assert (bench.folder / "full.npy").read_bytes() == bench.labels
            (bench.folder / "full.npy").unlink()
    return code != 0


def overwritten(bench):
    """The input is overwritten during a run: an error that names it, or the labels of the one table or the other."""
    before = bare(bench.folder)
    if not hasattr(bench, "other"):
        bench.original = (bench.folder / "x.npy").read_bytes()
        np.save(bench.folder / "x.npy", table(2))
        bench.finished("cluster", "x.npy", "-k", 6, *LITTLE, "-o", "other.npy")
        bench.changed = (bench.folder / "x.npy").read_bytes()
        bench.other = (bench.folder / "other.npy").read_bytes()
        (bench.folder / "other.npy").unlink()
        (bench.folder / "x.npy").write_bytes(bench.original)
    run = bench.start("cluster", "x.npy", "-k", 6, *LITTLE, "-o", "l.npy")
    bench.wait()
    # In place, as a program does that writes the file again.
    with open(bench.folder / "x.npy", "r+b") as file:
        file.write(bench.changed)
    _, stderr = run.communicate()
    out = bench.folder / "l.npy"
    if run.returncode:
        assert run.returncode == 3 and "x.npy changed while it was read" in stderr, stderr
        assert not out.exists()
    else:
        assert out.read_bytes() in (bench.labels, bench.other), "labels of no table"
        out.unlink()
    (bench.folder / "x.npy").write_bytes(bench.original)
    assert bare(bench.folder) == before
    return run.returncode == 3


WAYS = {"kills": kills, "full-disk": full_disk, "overwritten": overwritten}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800, help="seconds for each way")
    parser.add_argument("--way", choices=WAYS, action="append", help="one way; may be repeated [default: all]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    args = parser.parse_args()
    for name in args.way or WAYS:
        folder = tempfile.mkdtemp()
        bench = Bench(folder, args.seed)
        end = time.monotonic() + args.seconds
        rounds = broken = 0
        try:
            while time.monotonic() < end:
                broken += WAYS[name](bench)
                rounds += 1
        except Skipped as why:
            print(f"{name:<12} skipped: {why}")
        except AssertionError:
            print(f"{name:<12} failed in round {rounds} of seed {args.seed}; its files are in {folder}")
            raise
        else:
            print(f"{name:<12} {rounds} rounds, {broken} of their runs stopped")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
