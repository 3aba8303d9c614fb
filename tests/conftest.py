"""The built programs, and the folder of the repository."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def runner(name):
    """A function that runs a built program and returns the finished process; a failure is an error."""

    def run(*args, check=True, **options):
        program = ROOT / "target" / "debug" / name
        done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, **options)
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def obcut():
    """Runs the command."""
    return runner("obcut")


@pytest.fixture(scope="session")
def obcut_bench():
    """Runs the program of the paper's evaluation."""
    return runner("obcut-bench")
