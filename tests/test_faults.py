"""A few runs that are killed, run out of disk, or lose their input. `make soak` does many."""

import pathlib
import subprocess
import sys

import pytest
import soak

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return soak.Bench(tmp_path_factory.mktemp("faults"))


def test_a_killed_run_ends_in_the_same_bytes(bench):
    assert soak.kills(bench) == 3


def test_a_full_disk_leaves_no_partial_file(bench):
    try:
        stopped = [soak.full_disk(bench) for _ in range(6)]
    except soak.Skipped as why:
        pytest.skip(str(why))
    assert any(stopped)


def test_a_device_that_is_full_is_named(bench):
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    link = bench.folder / "device.npy"
    link.symlink_to("/dev/full")
    code, stderr = bench.finished("cluster", "x.npy", "-k", 6, *soak.LITTLE, "-o", link.name, codes=(0, 1, 2, 3))
    assert code == 1 and "device.npy" in stderr and "No space left" in stderr, stderr
    link.unlink()


def test_an_overwritten_input_is_refused_or_harmless(bench):
    for _ in range(2):
        soak.overwritten(bench)


def test_a_soak_says_how_many_rounds_it_did():
    done = subprocess.run(
        [sys.executable, soak.__file__, "--seconds", "0.01", "--way", "overwritten"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "overwritten  1 rounds" in done.stdout, done.stdout + done.stderr
