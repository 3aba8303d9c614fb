"""The built command, and the folder of the repository."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def obcut():
    """Runs the command and returns the finished process; a failure is an error of the test."""

    def run(*args, check=True, **options):
        program = ROOT / "target" / "debug" / "obcut"
        done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, **options)
        assert not check or done.returncode == 0, done.stderr
        return done

    return run
