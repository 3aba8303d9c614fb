"""Writes what follows from the engine's tables: the parameters of the Python classes, and docs/settings.md.

Run `make parameters` after a change of `crates/obcut/src/params.rs` or of a method's settings. A test compares
the files with what this program would write.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from obcut import _core

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates" / "obcut-py" / "python" / "obcut"
WIDTH = 88
HEAD = '"""{title} Generated from the engine\'s tables: run `make parameters`."""\n'
#: Parameters that scikit-learn's conventions spell in their own way. The texts of the others are in the package.
OWN = [
    {
        "name": "preset",
        "type": 'Literal["paper"] | None',
        "doc": '{"paper"} or None',
        "default": None,
        "constraint": '[StrOptions({"paper"}), None]',
        "help": '"paper" starts from the parameters of the paper: k-means on the rows scaled to [0, 1] gives 100 '
        "anchors and the first labels, then labels, embedding, graph and anchors are learned in turn. Rows are linked "
        'by the exact solver; row_solver="alm" is the one that the paper names. Parameters that differ from '
        "their defaults override the preset.",
    },
    {
        "name": "random_state",
        "type": "int | np.random.RandomState | None",
        "default": None,
        "constraint": '["random_state"]',
    },
    {"name": "n_jobs", "type": "int | None", "default": None, "constraint": "[Integral, None]"},
    {"name": "verbose", "type": "int | bool", "default": 0, "constraint": '["verbose"]'},
]
#: What every method has after its own settings, in the order of the signature.
SHARED = {
    "random_state": "int | np.random.RandomState | None = None",
    "memory": "int | None = None",
    "n_jobs": "int | None = None",
    "verbose": "int | bool = 0",
}


#: The choices of `scale`, which OBCut and the other methods share.
SCALES = next(p["values"]["choices"] for p in json.loads(_core.parameter_table()) if p["name"] == "scale")


def literal(names):
    """A type of these words."""
    return f"Literal[{', '.join(json.dumps(name) for name in names)}]"


def quoted(names):
    """Words between quotation marks."""
    return ", ".join(json.dumps(name) for name in names)


def row(name, values, default, summary, details="", words=()):
    """One parameter: its type, its documentation and its constraint."""
    kind = values["kind"]
    choices = values.get("choices", [])
    names = [choice["name"] for choice in choices]
    words = [word for word in words if word != "none"]
    takes_none = default is None or "auto" in words or "all" in words
    types, docs, constraints = [], [], []
    if kind == "clusters":
        types, docs = ["int", "tuple[int, int]"], ["int", "tuple (low, high)"]
        constraints = ['Interval(Integral, 1, None, closed="left")', "tuple"]
        takes_none = False
    elif kind == "integer":
        types, docs = ["int"], ["int"]
        constraints = [f'Interval(Integral, {values["min"]}, None, closed="left")']
    elif kind == "real":
        types, docs = ["float"], ["float"]
        top = "None" if values["max"] is None else f"{values['max']:g}"
        closed = "neither" if values["open"] else "left" if values["max"] is None else "both"
        constraints = [f'Interval(Real, {values["min"]:g}, {top}, closed="{closed}")']
    elif kind == "boolean":
        types, docs, constraints = ["bool"], ["bool"], ['"boolean"']
    elif kind in ("choice", "labels"):
        types, docs = [literal(names)], [f"{{{quoted(names)}}}"]
        constraints = [f"StrOptions({{{quoted(sorted(names))}}})"]
        takes_none = takes_none or "none" in names
        if kind == "labels":
            types.append("ArrayLike")
            docs.append("array-like of shape (n_samples,)")
            constraints.append('"array-like"')
    elif kind == "anchors":
        types, docs, constraints = ["ArrayLike"], ["array-like of shape (n_anchors, n_features)"], ['"array-like"']
        takes_none = True
    if words:
        types.insert(1, literal(words))
        docs.insert(1, quoted(words))
        constraints.append(f"StrOptions({{{quoted(sorted(words))}}})")
    if takes_none:
        types.append("None")
        constraints.append("None")
        if default is None or "none" in names:
            docs.append("None")
    text = summary if summary.endswith(".") else summary + "."
    if len(docs) > 1:
        docs = [", ".join(docs[:-1]) + " or " + docs[-1]]
    return {
        "name": name,
        "type": " | ".join(types),
        "doc": docs[0],
        "default": default,
        "constraint": f"[{', '.join(constraints)}]",
        "help": f"{text} {details}".strip(),
        "choices": choices,
    }


def documented(parameter):
    """The entry of a parameter in a docstring. A text of the package stands for what several classes have."""
    if "help" not in parameter:
        return f"{{{parameter['name']}}}"
    default = parameter["default"]
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    # A line of types may not be broken: numpydoc reads it as one.
    lines = [f"{parameter['name']} : {parameter['doc']}, default={shown}"]
    indent = "    "
    for paragraph in parameter["help"].split("\n\n"):
        lines += textwrap.wrap(paragraph, WIDTH - 4, initial_indent=indent, subsequent_indent=indent)
    choices = parameter.get("choices", [])
    if choices == SCALES:
        lines += ["", f"{indent}{{scales}}", ""]
    elif choices:
        lines += ["", textwrap.indent(choice_list(choices), indent), ""]
    return "\n".join(lines)


def choice_list(choices):
    """The choices of a parameter in a docstring."""
    lines = []
    for choice in choices:
        entry = f"- ``{json.dumps(choice['name'])}``: {choice['help']}"
        lines += textwrap.wrap(entry, WIDTH - 8, subsequent_indent="  ")
    return "\n".join(lines)


def signature(parameters):
    """The arguments of a constructor."""
    lines = []
    for i, p in enumerate(parameters):
        lines.append(f"        {p['name']}: {p['type']} = {p['default']!r},".replace("'", '"'))
        if i == 0:
            lines.append("        *,")
    return "\n".join(lines)


def body(parameters):
    """The assignments of a constructor."""
    return "\n".join(f"        self.{p['name']} = {p['name']}" for p in parameters)


def constraints(parameters, base=None):
    """What scikit-learn checks; `base` is a class whose constraints hold too."""
    lines = [f'        "{p["name"]}": {p["constraint"]},' for p in parameters]
    if base is not None:
        lines.insert(0, f"        **{base}._parameter_constraints,")
    return "\n".join(["    _parameter_constraints: dict = {", *lines, "    }"])


def initializer(arguments, body):
    """A constructor."""
    return f"    def __init__(\n        self,\n{arguments}\n    ) -> None:\n{body}\n"


IMPORTS = """
from numbers import Integral, Real
from typing import Literal

import numpy as np
{numpy}from sklearn.utils._param_validation import Interval, StrOptions
"""


def table():
    """The parameters of OBCut, in the order of the signature."""
    rows = {"Method": [], "Advanced": [], "Learning": []}
    for p in json.loads(_core.parameter_table()):
        if p["name"] not in ("random_state", "n_jobs"):
            made = row(p["name"], p["values"], p["default"], p["summary"], p["details"], p["words"])
            rows[p["group"]].append(made)
    return [*rows["Method"], *OWN, *rows["Advanced"], *rows["Learning"]]


def parameters_file():
    """The base class of `OBCut`."""
    parameters = table()
    text = "\n".join(documented(p) for p in parameters)
    return f'''{HEAD.format(title="The parameters of `OBCut`.")}{
        IMPORTS.format(numpy="from numpy.typing import ArrayLike" + chr(10))
    }
#: The section of the documentation.
PARAMETERS = """\\
{text}
"""
#: The choices of `scale`.
SCALES = """\\
{choice_list(SCALES)}"""


class OBCutParameters:
    """The parameters of `OBCut`."""

{constraints(parameters)}

{initializer(signature(parameters), body(parameters))}'''


def value(setting):
    """The default of a setting."""
    kind, text = setting["values"]["kind"], setting["default"]
    if kind == "boolean":
        return text == "true"
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


def methods_file():
    """The classes of the other methods."""
    methods = sorted(json.loads(_core.method_table()), key=lambda method: method["title"])
    names = ", ".join(json.dumps(method["title"]) for method in methods)
    out = [
        HEAD.format(title="The other methods as estimators."),
        IMPORTS.format(numpy=""),
        "\nfrom obcut._methods import Method\n",
        f"\n__all__ = [{names}]\n",
    ]
    listed = [(method, [setting_row(setting) for setting in method["settings"]]) for method in methods]
    for method, own in listed:
        entries = "\n".join(["n_clusters : int, default=8\n    Number of clusters.", *map(documented, own)])
        summary = method["summary"][0].upper() + method["summary"][1:]
        doc = f"{method['description']}\n\n{summary}.\nCost: {method['cost']}.\n\nParameters\n----------\n{entries}\n"
        doc = textwrap.indent(doc, "    ").lstrip()
        head = "        n_clusters: int = 8,\n        *,"
        tail = "\n".join(f"        {name}: {kind}," for name, kind in SHARED.items())
        settings = "\n".join(line for line in signature(own).splitlines() if line.strip() != "*,")
        shared = ", ".join(f"{name}={name}" for name in SHARED)
        start = f"        super().__init__(n_clusters, {shared})\n"
        constructor = initializer("\n".join([head, settings, tail]), start + body(own))
        out.append(f'''

class {method["title"]}(Method, name="{method["name"]}"):
    """{doc}    """

{constraints(own, base="Method")}

{constructor}''')
    return "".join(out)


def package_file():
    """The package: its other names, and those of the methods."""
    text = (PACKAGE / "__init__.py").read_text()
    titles = [method["title"] for method in json.loads(_core.method_table())]
    imports = re.compile(r"from obcut\._method_classes import (\([^)]*\)|.*)")
    listed = re.compile(r"__all__ = \[(.*?)\]", re.DOTALL)
    former = set(re.findall(r"\w+", imports.search(text)[1]))
    names = (set(re.findall(r"\w+", listed.search(text)[1])) - former) | set(titles)
    lines = "".join(f'    "{name}",\n' for name in sorted(names, key=constants_first))
    text = listed.sub(f"__all__ = [\n{lines}]", text)
    return imports.sub(f"from obcut._method_classes import {', '.join(titles)}", text)


def constants_first(name):
    """The order that ruff wants: constants, classes, the rest."""
    return (not name.isupper(), not name[0].isupper(), name)


def setting_row(setting):
    """A parameter from a setting of a method."""
    made = row(setting["name"], setting["values"], value(setting), setting["help"])
    if setting["values"]["kind"] != "choice":
        made["help"] = f"{setting['help']}; {setting['range']}."
    # The engine checks ranges, and names the setting.
    made["type"] = made["type"].replace(" | None", "")
    made["doc"] = made["doc"].replace(" or None", "")
    made["constraint"] = made["constraint"].replace(", None]", "]")
    return made


def settings_page():
    """docs/settings.md: every parameter in its three spellings, with both presets."""

    def cell(given):
        return (
            "none"
            if given is None
            else f"`{given}`"
            if isinstance(given, str)
            else f"{given:g}"
            if (isinstance(given, float))
            else str(given).lower()
        )

    titles = {
        "Method": "Method",
        "Advanced": "Advanced",
        "Learning": "Learning loop of the paper, off by default",
    }
    lines = [
        "# Settings",
        "",
        "Every parameter of a fit: its name in Python and Rust, its option of `obcut cluster`, its default, and its "
        "value in the preset `paper`. `make parameters` writes this page from the table in "
        "`crates/obcut/src/params.rs`, which also makes the options of the command and the signature of the Python "
        "class.",
    ]
    group = None
    for p in json.loads(_core.parameter_table()):
        if p["group"] != group:
            group = p["group"]
            lines += ["", f"## {titles[group]}", "", "| name | option | default | `paper` | what it does |"]
            lines.append("|---|---|---|---|---|")
        name = f"`{p['engine']}`" + (f" (Python `{p['name']}`)" if p["engine"] != p["name"] else "")
        choices = [f"`{choice['name']}`: {choice['help']}" for choice in p["values"].get("choices", [])]
        text = ". ".join(part.rstrip(".") for part in [p["summary"], p["details"], "; ".join(choices)] if part)
        paper = "" if p["paper"] == p["default"] else cell(p["paper"])
        option = "-k" if p["option"] == "clusters" else f"--{p['option']}"
        default = "required" if p["name"] == "n_clusters" else cell(p["default"])
        text = text.replace("|", "\\|").replace("\n\n", " ")
        lines.append(f"| {name} | `{option}` | {default} | {paper} | {text} |")
    return "\n".join(lines) + "\n"


def formatted(text):
    """Python as `make lint` wants it."""
    for step in (["check", "--fix-only", "--select", "F,I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--quiet", "--stdin-filename", str(PACKAGE / "x.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def files():
    """Every generated file with its text."""
    return {
        PACKAGE / "_parameters.py": formatted(parameters_file()),
        PACKAGE / "__init__.py": formatted(package_file()),
        PACKAGE / "_method_classes.py": formatted(methods_file()),
        ROOT / "docs" / "settings.md": settings_page(),
    }


def main():
    """Write all files."""
    for path, text in files().items():
        path.write_text(text)
    print("\n".join(str(path.relative_to(ROOT)) for path in files()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
