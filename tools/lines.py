"""Counts lines of Rust, tests apart: `python tools/lines.py [FOLDER]`.

Tests are files below `tests`, `tests.rs`, files that end in `_tests.rs`, and the last `#[cfg(test)] mod tests` of a
file. Every other line of a `.rs` file that git tracks counts: code, comments and blank lines, benches and examples too.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path


def test_lines(path, lines):
    """How many lines of a file are tests."""
    if "tests" in path.parts or path.name == "tests.rs" or path.name.endswith("_tests.rs"):
        return len(lines)
    for i in range(len(lines) - 1):
        if lines[i] == "#[cfg(test)]" and lines[i + 1] == "mod tests {":
            return len(lines) - i
    return 0


def main():
    """Prints the lines of every crate and their sum."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    tracked = subprocess.run(["git", "ls-files", "*.rs"], cwd=folder, check=True, capture_output=True, text=True)
    code, tests = Counter(), Counter()
    for path in map(Path, tracked.stdout.splitlines()):
        lines = (folder / path).read_text().splitlines()
        crate = path.parts[1] if path.parts[0] == "crates" else path.parts[0]
        tests[crate] += test_lines(path, lines)
        code[crate] += len(lines) - test_lines(path, lines)
    for crate in sorted(code):
        print(f"{crate:16} {code[crate]:6} lines, {tests[crate]:6} of tests")
    print(f"{'all':16} {sum(code.values()):6} lines, {sum(tests.values()):6} of tests")


if __name__ == "__main__":
    main()
