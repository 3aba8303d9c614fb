"""Finds the numbers in README.md that no generated table of the documentation contains: `python tools/claims.py`.

A number counts as found when a row of a table in one of the documents below has it, rounded or not. Code blocks, code
in a line, links and headings are left out. `KNOWN` has the numbers that no measurement makes, each with the reason.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ["baselines", "benchmarks", "methods", "quality", "results", "scaling"]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
KNOWN = {
    "0": "counting from 0, weight 0",
    "1": "a ratio to itself, weight 1",
    "3": "a weight in an example",
    "20,000": "rows of the comparison of candidates, a constant of the engine",
    "32": "bits of an index",
    "64": "bits of an index",
    "2.0": "Apache 2.0",
    "1998": "year of a reference",
    "4.0": "CC BY 4.0",
}


def numbers(text):
    """The numbers of a text with the lines they stand in, code, links and headings left out."""
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL)
    for at, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        line = re.sub(r"`[^`]*`|<[^>]*>|\]\([^)]*\)|https?://\S+|arXiv:\S+", " ", line)
        for word in NUMBER.findall(line):
            yield at, word.rstrip(",")


def measured():
    """All numbers in the tables of the documentation."""
    found = set()
    for name in TABLES:
        for line in (ROOT / "docs" / f"{name}.md").read_text().splitlines():
            if line.startswith("|"):
                found.update(float(word.replace(",", "")) for word in NUMBER.findall(line))
    return found


def is_found(word, found):
    """Whether a table has the number, or one that rounds to it."""
    value, digits = float(word.replace(",", "")), len(word.partition(".")[2])
    return any(round(other, digits) == value for other in found)


def main():
    """Prints the numbers that no table has, and fails if there are any."""
    found = measured()
    words = list(numbers((ROOT / "README.md").read_text()))
    lost = [(at, word) for at, word in words if word not in KNOWN and not is_found(word, found)]
    for at, word in lost:
        print(f"README.md:{at}: no table has {word}")
    print(f"{len(words)} numbers, {len(lost)} of them in no table")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
