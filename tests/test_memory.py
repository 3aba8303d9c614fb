"""Peak memory of the command and of Python on files that declare much and hold little, and of tables in pieces."""

import gzip
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peaks are in KiB on Linux alone")

# A small process between the tests and the program: what a child inherits by fork counts for its peak.
LAUNCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
sys.stdout.flush()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(abs(done.returncode))
"""


class Run:
    """A finished process, with its peak in bytes."""

    def __init__(self, *command, cwd):
        launch = [sys.executable, "-S", "-c", LAUNCH, *map(str, command)]
        done = subprocess.run(launch, capture_output=True, text=True, cwd=cwd)
        self.code, self.stderr = done.returncode, done.stderr
        self.peak = 1024 * int(done.stdout.splitlines()[-1])

    def check(self, code=0):
        assert self.code == code, self.stderr
        return self


@pytest.fixture
def run(tmp_path):
    """Runs the command in a folder of its own."""
    return lambda *words: Run(ROOT / "target" / "debug" / "obcut", *words, cwd=tmp_path)


def rows(n_columns):
    """40 rows of two groups, with (row, column, value), columns from 0; the last column has one entry."""
    entries = [(0, n_columns - 1, 1.0)]
    for i in range(40):
        entries += [(i, 10 * (i % 2) + i % 5, 1.0 + i % 3), (i, 20 + i % 4, 1.0)]
    return entries


def write_sparse(path, n_columns):
    """A sparse table in the format of the suffix."""
    entries = rows(n_columns)
    i, j, values = (np.array(part) for part in zip(*entries, strict=True))
    table = scipy.sparse.coo_array((values, (i, j)), shape=(40, n_columns))
    if path.suffix == ".svm":
        lines = [" ".join(f"{c + 1}:{v}" for r, c, v in sorted(entries) if r == row) for row in range(40)]
        path.write_text("".join(f"{row % 2} {line}\n" for row, line in enumerate(lines)))
    elif path.suffix == ".mtx":
        scipy.io.mmwrite(path, table)
    elif path.suffix == ".mat":
        # Compressed columns hold an offset per column: it is rows that a file may declare for nothing.
        scipy.io.savemat(path, {"fea": scipy.sparse.csc_matrix(table)})
    else:
        scipy.sparse.save_npz(path, table.tocsr() if "csr" in path.stem else table)


WIDE = [100_000, 10_000_000, 1_000_000_000]


@pytest.mark.parametrize("name", ["t.svm", "t.mtx", "csr.npz", "coo.npz"])
def test_declared_columns_take_no_memory(run, tmp_path, name):
    commands = [
        ["cluster", name, "-k", 2, "-o", "l.npy", "--force", "--model", "m.st", "--report", "r.html"],
        ["cluster", name, "-k", 2, "-o", "l.npy", "--force", "--drop", 3, "--scale", "standard"],
        ["predict", "m.st", name, "-o", "p.npy", "--force"],
        ["info", name],
    ]
    write_sparse(tmp_path / name, 100)
    narrow = [run(*command).check().peak for command in commands]
    for n_columns in WIDE:
        write_sparse(tmp_path / name, n_columns)
        for command, usual in zip(commands, narrow, strict=True):
            peak = run(*command).check().peak
            assert peak < usual + 16 * MIB, f"{command} with {n_columns} columns: {peak} instead of {usual} bytes"


def test_declared_columns_of_a_graph_take_what_their_labels_take(run, tmp_path):
    write_sparse(tmp_path / "g.mtx", 100)
    command = ["cut", "g.mtx", "-k", 2, "-o", "l.npy", "--force"]
    usual = run(*command).check().peak
    write_sparse(tmp_path / "g.mtx", 1_000_000)
    assert run(*command).check().peak < usual + 32 * MIB
    write_sparse(tmp_path / "g.mtx", 1_000_000_000)
    refused = run(*command).check(3)
    assert "1000000000 columns are declared" in refused.stderr
    assert refused.peak < usual + 16 * MIB


def npy(shape, data=bytes(960)):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def npz(path, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array)


def liars(folder):
    """Files that declare far more than they hold."""
    for n in (10**7, 10**9, 10**12):
        (folder / f"plain-{n}.npy").write_bytes(npy((4, n)))
        (folder / f"long-{n}.npy").write_bytes(npy((n, 3)))
        (folder / f"packed-{n}.npy.gz").write_bytes(gzip.compress(npy((4, n))))
        npz(folder / f"packed-{n}.npz", X=npy((n, 30)))
        (folder / f"rows-{n}.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{n} 3 1\n1 1 1\n")
        (folder / f"entries-{n}.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n3 3 {n}\n1 1 1\n")
        (folder / f"dense-{n}.mtx").write_text(f"%%MatrixMarket matrix array real general\n{n} 100\n1\n")
    # Rows and columns of a sparse variable, and the entries that it allocates, in the places of the header.
    write_sparse(folder / "t.mat", 100)
    scipy.io.savemat(folder / "plain.mat", {"fea": scipy.io.loadmat(folder / "t.mat")["fea"]}, do_compression=False)
    whole = (folder / "plain.mat").read_bytes()
    for place, name in [(148, "entries"), (160, "rows"), (164, "columns")]:
        damaged = bytearray(whole)
        damaged[place : place + 4] = (2**31 - 1).to_bytes(4, "little")
        (folder / f"{name}.mat").write_bytes(damaged)


def test_headers_are_not_believed(run, tmp_path):
    (tmp_path / "small.npy").write_bytes(npy((40, 3)))
    usual = run("info", "small.npy").check().peak
    liars(tmp_path)
    names = [path.name for path in tmp_path.iterdir() if "-" in path.name] + ["rows.mat", "columns.mat"]
    assert len(names) == 23
    for name in names:
        refused = run("cluster", name, "-k", 2, "-o", "l.npy")
        # Rows by the billion may be meant; they are refused for the memory that they would take.
        too_much = refused.code == 2 and "of the free memory" in refused.stderr
        assert refused.code == 3 or too_much, f"{name}: {refused.stderr}"
        # Rows that a few entries justify: 1,000,000 offsets, twice.
        assert refused.peak < usual + 24 * MIB, f"{name}: {refused.peak} instead of {usual} bytes"
    # More room than entries is common, and no reason to refuse.
    assert run("cluster", "entries.mat", "-k", 2, "-o", "l.npy").check().peak < usual + 24 * MIB


@pytest.mark.parametrize("mib", [16, 300])
def test_a_cell_takes_memory_of_its_own_length(run, tmp_path, mib):
    """A file of a few hundred KiB with one cell of many MiB: read, refused, never more than a few times the cell."""
    part = gzip.compress(b"0" * (1 << 24), 6)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,") + part * (mib // 16) + gzip.compress(b"\n2,3\n4,5\n"))
    for limit, most in [([], 3 * mib * MIB + 32 * MIB), (["--memory", "128MiB"], 128 * MIB)]:
        refused = run("cluster", path.name, "-k", 2, "-o", "l.npy", "--force", *limit)
        assert refused.code in (0, 3), refused.stderr
        assert refused.peak < most, f"{limit}: {refused.peak} bytes"


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.npy"
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, 16))
    table = centers[rng.integers(0, 4, 700_000)] + 0.1 * rng.normal(size=(700_000, 16))
    np.save(path, table.astype(np.float32))
    return path


@pytest.mark.parametrize("graph", ["auto", "distance", "local", "global"])
def test_a_table_in_pieces_stays_below_the_limit(run, long_table, graph):
    words = ["-k", 4, "--graph", graph, "--anchors", 40, "--core-rows", 2000, "-o", "l.npy"]
    done = run("cluster", long_table, *words, "--memory", "128MiB").check()
    assert "read in pieces" in done.stderr
    assert done.peak < 128 * MIB, done.peak


SCIPY = """
import sys
import numpy as np, scipy.sparse
import obcut
n, kind = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
i = np.repeat(np.arange(40), 2)
j = np.stack([10 * (np.arange(40) % 2) + np.arange(40) % 5, 20 + np.arange(40) % 4], axis=1).ravel()
i, j = np.append(i, 0), np.append(j, n - 1)
x = getattr(scipy.sparse, kind)((np.ones(81), (i, j)), shape=(40, n))
try:
    model = obcut.OBCut(2).fit(x)
    assert (model.predict(x) == model.labels_).all()
except ValueError as error:
    # More columns than an index of 32 bits counts.
    assert n > 2**31 - 1, error
    sys.stderr.write(str(error))
"""


def test_declared_columns_of_scipy_take_no_memory(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(SCIPY)
    usual = Run(sys.executable, script, 100, "csr_array", cwd=tmp_path).check().peak
    for n_columns, kind in [(10**5, "coo_array"), (10**7, "csr_array"), (10**9, "csr_matrix"), (2**33, "csr_matrix")]:
        peak = Run(sys.executable, script, n_columns, kind, cwd=tmp_path).check().peak
        assert peak < usual + 48 * MIB, f"{n_columns} columns of {kind}: {peak} instead of {usual} bytes"
