import pathlib

import pytest

import obcut

ROOT = pathlib.Path(__file__).resolve().parents[3]


def pytest_report_header():
    return f"obcut {obcut.__version__} from {pathlib.Path(obcut.__file__).parent}"


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def digits():
    return obcut.datasets.load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def moons():
    return obcut.datasets.make_moons(600, random_state=1)
