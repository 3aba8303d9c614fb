"""A type name means one thing: no two files of the crates declare types of the same name."""

import pathlib
import re
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPE = re.compile(r"^(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|type|union) (\w+)", re.MULTILINE)
# Macros declare the choices and the settings of methods.
MACRO = re.compile(r"^(?:\w+::)?(?:choices|settings|parameters)! \{\n.*?^\}", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"^    (\w+) (?:as \"\w+\" )?\{$", re.MULTILINE)
# Every crate may have its own.
SHARED = {"Error"}


def types():
    """The files that declare each type name, tests left out."""
    found = defaultdict(set)
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if path.name == "tests.rs" or path.name.endswith("_tests.rs"):
            continue
        code = path.read_text().split("\n#[cfg(test)]\nmod tests {")[0]
        made = "".join(MACRO.findall(code))
        for name in TYPE.findall(code) + MADE.findall(made):
            found[name].add(str(path.relative_to(ROOT / "crates")))
    return found


def test_no_type_name_has_two_meanings():
    shared = {name: sorted(files) for name, files in types().items() if len(files) > 1 and name not in SHARED}
    assert not shared
