"""docs/equations.md names code that exists."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
SOURCES = [ROOT / folder for folder in ("crates/obcut/src", "crates/obcut-core/src", "crates/obcut")]
PAGE = (ROOT / "docs" / "equations.md").read_text()


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`([\w/]+\.rs(?:::\w+)*)`", PAGE))))
def test_the_code_of_an_equation_is_there(place):
    path, *names = place.split("::")
    files = [folder / path for folder in SOURCES if (folder / path).exists()]
    assert files, f"no file {path}"
    assert any(all(re.search(rf"\b{name}\b", file.read_text()) for name in names) for file in files)
