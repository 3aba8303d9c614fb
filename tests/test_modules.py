"""Modules depend on each other in one direction, in the order that docs/architecture.md lists."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def order(crate):
    """The layers of a crate, the highest first: a list of sets of modules that do not use each other."""
    block = re.search(rf"```text\n{crate}, highest first\n(.*?)```", PAGE, re.DOTALL)
    assert block, f"docs/architecture.md lists the modules of {crate}"
    lines = [line.split("  ")[0] for line in block.group(1).splitlines()]
    return [set(line.replace(",", " ").split()) for line in lines if line.strip()]


def code(path):
    """A source file without comments and without its tests."""
    text = path.read_text().split("\n#[cfg(test)]\nmod tests {")[0]
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)


def uses(crate):
    """The modules at the root of a crate, each with the modules that it names."""
    source = ROOT / "crates" / crate / "src"
    found = {}
    for path in source.rglob("*.rs"):
        if path.name in {"lib.rs", "tests.rs"} or path.name.endswith("_tests.rs"):
            continue
        module = path.relative_to(source).parts[0].removesuffix(".rs")
        named = set(re.findall(r"\bcrate::([a-z]\w*)::", code(path)))
        # Items that the root re-exports have no module in their path.
        for group in re.findall(r"\buse crate::\{([^;]*)\};", code(path)):
            named |= set(re.findall(r"(\w+)::", group))
        found.setdefault(module, set()).update(named - {module})
    return found


@pytest.mark.parametrize("crate", ["obcut", "obcut-core"])
def test_no_module_uses_one_above_it(crate):
    layers = order(crate)
    level = {module: i for i, layer in enumerate(layers) for module in layer}
    found = uses(crate)
    assert set(found) == set(level), "every module has its place in docs/architecture.md, and no other"
    wrong = [
        f"{module} uses {other}"
        for module, others in found.items()
        for other in others
        if level[other] <= level[module]
    ]
    assert not wrong


def test_only_one_module_names_the_linear_algebra_crate():
    naming = [path for path in (ROOT / "crates").glob("*/src/**/*.rs") if re.search(r"\bfaer::", code(path))]
    assert {path.relative_to(ROOT / "crates").parts[:3] for path in naming} == {("obcut-core", "src", "linalg")}
