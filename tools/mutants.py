"""Mutation testing: how many small faults in the solver do the fast tests notice? `make mutants` runs it.

A mutant is one changed place: an operator, a condition turned round, a statement left out, `min` for `max`, or a
function that returns nothing. A sample of them, drawn by seed, is written into one copy of the sources, each behind
a switch, so that one build serves all; the environment variable MUTANT then turns on one at a time. Mutants that do
not compile are dropped (unviable). The others are killed by a failing test or by the time limit, or survive.

The tests run without OBCUT_DATA and OBCUT_GOLDEN, and without the recorded hashes of results.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "target" / "mutants" / "tree"
#: What is mutated, by name of the part.
PARTS = {
    "solver": [
        "crates/obcut/src/solver.rs",
        "crates/obcut/src/solver",
        "crates/obcut/src/update",
        "crates/obcut/src/cut.rs",
    ],
    "simplex": ["crates/obcut-core/src/simplex"],
    "graph": ["crates/obcut/src/graph", "crates/obcut-core/src/graph"],
    "score": ["crates/obcut/src/score.rs", "crates/obcut/src/metrics/bipartite.rs"],
    "large": ["crates/obcut/src/large"],
}
#: Where the switch is put.
ROOTS = ["crates/obcut/src/lib.rs", "crates/obcut-core/src/lib.rs"]
#: Targets of the fast tests and what they may leave out, in the order in which they are tried.
CORE = ["obcut-core lib", "obcut-core simplex"]
LIBRARY = ["obcut lib", "obcut textbook", "obcut cut"]
TESTS = {
    "solver": [*LIBRARY, "obcut stability"],
    "simplex": [*CORE, *LIBRARY],
    "graph": [*CORE, *LIBRARY],
    "score": LIBRARY,
    "large": ["obcut lib", "obcut large"],
}
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
#: Return types that have a value of nothing.
EMPTY = re.compile(r"^(bool|f64|f32|u8|u32|u64|usize|String|(Vec|Option|HashMap)<.*>)$", re.DOTALL)
SWITCH = """
pub(crate) fn mutant(number: u32) -> bool {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("MUTANT").ok().and_then(|m| m.parse().ok()).unwrap_or(0)) == number
}
"""


@dataclass
class Mutant:
    """A place in a file and what becomes of it."""

    part: str
    path: str
    start: int
    end: int
    line: int
    kind: str
    shown: str
    detail: str = ""
    number: int = 0


def text_of(node):
    """The source of a node."""
    return node.text.decode()


def is_test(node):
    """Whether an item is compiled for tests only."""
    before = node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment"):
        if "test" in text_of(before) and before.type == "attribute_item":
            return True
        before = before.prev_named_sibling
    return False


def places(node):
    """Every place below a node that can be mutated, as (start, end, kind, shown, detail)."""
    skipped = {
        "const_item",
        "static_item",
        "macro_invocation",
        "attribute_item",
        "macro_definition",
        "use_declaration",
        "type_arguments",
    }
    if node.type in skipped or (node.type in ("mod_item", "function_item") and is_test(node)):
        return
    span = (node.start_byte, node.end_byte)
    if node.type in ("binary_expression", "compound_assignment_expr"):
        operator = text_of(node.child_by_field_name("operator"))
        lets = any(child.type in ("let_condition", "let_chain") for child in node.named_children)
        if operator in OPERATORS and not lets:
            yield *span, "operator", f"{operator} becomes {OPERATORS[operator]}", OPERATORS[operator]
    elif node.type == "expression_statement":
        inner = node.named_children[0]
        if inner.type in (
            "call_expression",
            "assignment_expression",
            "compound_assignment_expr",
            "break_expression",
            "continue_expression",
        ):
            yield *span, "statement", f"without `{' '.join(text_of(inner).split())[:60]}`", ""
    elif node.type == "if_expression":
        condition = node.child_by_field_name("condition")
        if condition.type not in ("let_condition", "let_chain"):
            yield condition.start_byte, condition.end_byte, "negate", "condition turned round", ""
    elif node.type == "unary_expression" and text_of(node).startswith("!"):
        yield *span, "negate", "without !", ""
    elif node.type == "call_expression":
        function = node.child_by_field_name("function")
        if function.type == "field_expression":
            name = function.child_by_field_name("field")
            other = {"min": "max", "max": "min"}.get(text_of(name))
            if other:
                yield (
                    *span,
                    "method",
                    f"{text_of(name)} becomes {other}",
                    f"{name.start_byte - node.start_byte} {other}",
                )
    elif node.type == "function_item":
        body, returns = node.child_by_field_name("body"), node.child_by_field_name("return_type")
        head = text_of(node).split("{")[0]
        if "const fn" not in head and len(body.named_children) and (returns is None or EMPTY.match(text_of(returns))):
            name = text_of(node.child_by_field_name("name"))
            yield (
                body.start_byte + 1,
                body.start_byte + 1,
                "return",
                f"{name} does nothing",
                "" if returns is None else "value",
            )
    for child in node.named_children:
        yield from places(child)


def sources():
    """The files that are mutated, by part and path."""
    for part, paths in PARTS.items():
        for path in map(ROOT.joinpath, paths):
            for file in [path] if path.is_file() else sorted(path.rglob("*.rs")):
                yield part, str(file.relative_to(ROOT))


def all_mutants(parser):
    """Every mutant of the sources, in the order of the files."""
    for part, path in sources():
        if "test" not in Path(path).stem:
            source = (ROOT / path).read_bytes()
            for start, end, kind, shown, detail in places(parser.parse(source).root_node):
                # What is copied is put on one line, which a comment would end.
                if b"//" not in source[start:end]:
                    line = source[:start].count(b"\n") + 1
                    yield Mutant(part, path, start, end, line, kind, shown, detail)


def render(parser, source, start, end, mutants):
    """The text between two places with the switches of the mutants there, outermost first."""
    inside = sorted(
        (m for m in mutants if start <= m.start and m.end <= end), key=lambda m: (m.start, -m.end, m.number)
    )
    out, at = [], start
    while inside:
        outer = inside.pop(0)
        below = [
            m
            for m in inside
            if m.end <= outer.end and m.start >= outer.start and m.start < max(outer.end, outer.start + 1)
        ]
        if outer.start == outer.end:
            below = []
        inside = [m for m in inside if m not in below]
        out.append(source[at : outer.start].decode())
        out.append(switched(parser, source, outer, below))
        at = outer.end
    out.append(source[at:end].decode())
    return "".join(out)


def switched(parser, source, mutant, below):
    """The text of one mutant: the changed and the plain form, and the switch between them."""
    on = f"crate::mutant({mutant.number})"
    plain = render(parser, source, mutant.start, mutant.end, below)
    original = " ".join(source[mutant.start : mutant.end].decode().split("\n"))
    if mutant.kind == "operator":
        root = parser.parse(
            original.encode() if original.endswith(";") else f"fn f() {{ {original}; }}".encode()
        ).root_node
        operator = first(root, ("binary_expression", "compound_assignment_expr")).child_by_field_name("operator")
        at = operator.start_byte - len("fn f() { ")
        encoded = original.encode()
        changed = (encoded[:at] + mutant.detail.encode() + encoded[at + len(operator.text) :]).decode()
        form = f"if {on} {{ {changed} }} else {{ {plain} }}"
        return f"{{ {form} }}" if mutant.detail in ("+=", "-=", "*=", "/=") else f"({form})"
    if mutant.kind == "statement":
        return f"if !{on} {{ {plain} }}"
    if mutant.kind == "negate":
        return f"(({plain}) ^ {on})"
    if mutant.kind == "method":
        offset, other = mutant.detail.split()
        encoded = original.encode()
        changed = (encoded[: int(offset)] + other.encode() + encoded[int(offset) + 3 :]).decode()
        return f"(if {on} {{ {changed} }} else {{ {plain} }})"
    value = "Default::default()" if mutant.detail else ""
    return f" if {on} {{ return {value}; }} "


def first(node, types):
    """The outermost node of some types, by breadth."""
    level = [node]
    while level:
        for found in level:
            if found.type in types:
                return found
        level = [child for found in level for child in found.named_children]
    raise ValueError("no such node")


def write(parser, mutants):
    """Writes the sources with all switches; files without a change keep their times."""
    for path in sorted({*(path for _, path in sources()), *ROOTS}):
        source = (ROOT / path).read_bytes()
        text = render(parser, source, 0, len(source), [m for m in mutants if m.path == path])
        if path in ROOTS:
            text += SWITCH
        target = TREE / path
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def copy_tree():
    """The tracked files as they are now, beside the build."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    wanted = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    for name in wanted:
        mutated = any(Path(name).is_relative_to(path) for paths in PARTS.values() for path in paths)
        if mutated or name in ROOTS:
            continue  # `write` sees to these, and a file that stays the same keeps its time
        target = TREE / name
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def environment(number=0):
    """The variables of builds and tests."""
    env = {k: v for k, v in os.environ.items() if k not in ("OBCUT_DATA", "OBCUT_GOLDEN", "RUST_BACKTRACE")}
    return {**env, "MUTANT": str(number), "CARGO_TARGET_DIR": str(TREE.parent / "build"), "PROPTEST_CASES": "64"}


def cargo(crate, targets):
    """The command that builds test targets of a crate."""
    features = ["--features", "front-ends"] if crate == "obcut" else []
    chosen = [word for name in targets for word in (["--lib"] if name == "lib" else ["--test", name])]
    return ["cargo", "test", "--quiet", "-p", crate, *features, *chosen, "--no-run", "--message-format=json"]


def build(crate, targets, check=False):
    """Builds; returns the programs by name, and the places of errors as (path, line)."""
    command = cargo(crate, targets)
    if check:
        command = [
            "cargo",
            "check",
            "--quiet",
            "-p",
            crate,
            "--lib",
            "--message-format=json",
            *(["--features", "front-ends"] if crate == "obcut" else []),
        ]
    done = subprocess.run(command, cwd=TREE, env=environment(), capture_output=True, text=True)
    programs, errors = {}, []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message.get("executable"):
            name = "lib" if "lib" in message["target"]["kind"] else message["target"]["name"]
            programs[f"{crate} {name}"] = message["executable"]
        elif message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            for span in message["message"]["spans"]:
                errors.append((span["file_name"], span["line_start"], span["line_end"]))
    if done.returncode and not errors:
        sys.exit(f"the build failed:\n{done.stderr[-3000:]}")
    return programs, errors


def viable(parser, mutants):
    """Writes the mutants that compile; returns them and the others."""
    dropped = []
    for crate in ("obcut-core", "obcut"):
        while True:
            write(parser, mutants)
            _, errors = build(crate, [], check=True)
            if not errors:
                break
            hit = [
                m
                for m in mutants
                if any(path.endswith(m.path) and first <= m.line <= last for path, first, last in errors)
            ]
            if not hit:
                height = {m.number: (ROOT / m.path).read_bytes()[m.start : m.end].count(b"\n") for m in mutants}
                hit = [
                    m
                    for m in mutants
                    if any(
                        path.endswith(m.path) and m.line <= last and first <= m.line + height[m.number]
                        for path, first, last in errors
                    )
                ]
            if not hit:
                sys.exit(f"errors that no mutant explains: {errors[:5]}")
            dropped += hit
            mutants = [m for m in mutants if m not in hit]
            print(f"{crate}: {len(hit)} mutants do not compile, {len(mutants)} left", flush=True)
    return mutants, dropped


def run(program, crate, number, limit, skipped=()):
    """Runs a test program until its first failure: whether it fails, and how."""
    started = time.monotonic()
    heard = TREE.parent / f"{os.getpid()}.txt"
    with heard.open("w") as output:
        process = subprocess.Popen(
            [program, *(word for name in skipped for word in ("--skip", name))],
            cwd=TREE / "crates" / crate,
            env=environment(number),
            start_new_session=True,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
    verdict = None
    while verdict is None:
        code = process.poll()
        failed = re.search(r"^test (.*) \.\.\. FAILED", heard.read_text(errors="replace"), re.MULTILINE)
        if failed:
            verdict = failed[1]
        elif code is not None:
            verdict = "" if code == 0 else f"exit code {code}"
        elif time.monotonic() - started > limit:
            verdict = f"no end in {limit:.0f} s"
        else:
            time.sleep(0.05)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    heard.unlink()
    return verdict, time.monotonic() - started


def wilson(hits, n, z=1.96):
    """The 95 % interval of a share."""
    if n == 0:
        return 0.0, 1.0
    p, square = hits / n, z * z / n
    middle, half = (p + square / 2) / (1 + square), z * math.sqrt(p * (1 - p) / n + square / (4 * n)) / (1 + square)
    return middle - half, middle + half


def main():
    """Draws, builds, runs and reports."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=120, help="mutants in the sample")
    options.add_argument("--seed", type=int, default=1, help="seed of the sample")
    options.add_argument("--part", choices=PARTS, action="append", help="only this part (may be repeated)")
    options.add_argument("--shard", default="1/1", help="I/N: only every N-th mutant of the sample, from the I-th on")
    options.add_argument("--minutes", type=float, default=math.inf, help="start no mutant after this time")
    options.add_argument("--list", action="store_true", help="list the sample and stop")
    given = options.parse_args()
    parser = Parser(Language(tree_sitter_rust.language()))
    found = [m for m in all_mutants(parser) if not given.part or m.part in given.part]
    sample = random.Random(given.seed).sample(found, min(given.count, len(found)))
    shard, shards = map(int, given.shard.split("/"))
    sample = sample[shard - 1 :: shards]
    for number, mutant in enumerate(sample, 1):
        mutant.number = number
    print(
        f"{len(found)} mutants in all, {len(sample)} in this sample (seed {given.seed}, shard {given.shard})",
        flush=True,
    )
    if given.list:
        for m in sample:
            print(f"{m.path}:{m.line}: {m.shown}")
        return
    copy_tree()
    mutants, unviable = viable(parser, sample)
    needed = {name for m in mutants for name in TESTS[m.part]}
    programs = {}
    for crate in ("obcut-core", "obcut"):
        targets = [name.split()[1] for name in sorted(needed) if name.split()[0] == crate]
        if targets:
            programs |= build(crate, targets)[0]
    limits, skipped = {}, {name: [] for name in needed}
    for name in sorted(needed):
        while True:
            verdict, seconds = run(programs[name], name.split()[0], 0, 900, skipped[name])
            if not verdict:
                break
            if verdict in skipped[name] or verdict.startswith(("exit code", "no end")):
                sys.exit(f"{name} fails without a mutant: {verdict}")
            print(f"{name}: left out, as it fails without a mutant: {verdict}", flush=True)
            skipped[name].append(verdict)
        limits[name] = 20 + 6 * seconds
        print(f"{name}: {seconds:.1f} s", flush=True)
    started, killed, survived = time.monotonic(), [], []
    # In the order of the sample, so that those that were reached are a sample as well.
    for m in mutants:
        if time.monotonic() - started > 60 * given.minutes:
            break
        verdict = ""
        for name in TESTS[m.part]:
            verdict, _ = run(programs[name], name.split()[0], m.number, limits[name], skipped[name])
            if verdict:
                verdict = f"{name}: {verdict}"
                break
        (killed if verdict else survived).append(m)
        word, by = ("killed  ", f" by {verdict}") if verdict else ("SURVIVED", "")
        print(f"{word} {m.path}:{m.line}: {m.shown}{by}", flush=True)
    tried = len(killed) + len(survived)
    low, high = wilson(len(killed), tried)
    print(f"\n{tried} mutants run, {len(killed)} killed, {len(survived)} survived, {len(unviable)} did not compile")
    print(f"score {100 * len(killed) / max(1, tried):.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")
    for part in PARTS:
        parts = [sum(m.part == part for m in group) for group in (killed, survived)]
        if sum(parts):
            print(f"{part}: {parts[0]} of {sum(parts)} killed")
    for m in survived:
        print(f"survived: {m.path}:{m.line}: {m.shown}")


if __name__ == "__main__":
    main()
