"""Files that follow from the engine's tables are as the tables say."""

import importlib.util
import json
from pathlib import Path

import pytest

from obcut import OBCut, _core

ROOT = Path(__file__).resolve().parents[3]


def generator():
    spec = importlib.util.spec_from_file_location("parameters", ROOT / "tools" / "parameters.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_current():
    for path, text in generator().files().items():
        assert path.read_text() == text, f"{path.name} is not what the table says: run 'make parameters'"


def test_every_parameter_has_the_default_of_the_engine():
    defaults = OBCut().get_params()
    for row in json.loads(_core.parameter_table()):
        if row["name"] not in ("random_state", "n_jobs"):
            assert defaults[row["name"]] == row["default"], row["name"]


@pytest.mark.parametrize("row", json.loads(_core.parameter_table()), ids=lambda row: row["name"])
def test_every_choice_and_word_is_taken(row):
    """The constraints of the class let through what the engine takes."""
    X = [[0.0], [0.1], [1.0], [1.1], [2.0], [2.2]] * 3
    values = [choice["name"] for choice in row["values"].get("choices", [])]
    for value in values + [word for word in row["words"] if word != "none"]:
        if row["name"] == "metric" or value in ("idf", "unit") or row["name"] == "noise":
            continue  # these need other rows
        model = OBCut(n_clusters=2, random_state=0).set_params(**{row["name"]: value})
        model.fit(X)
