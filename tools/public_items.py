"""Counts the public items that the documentation of a crate shows: `python tools/public_items.py [CRATE] [--list]`.

The features that are off by default are off. Modules, types, traits, functions, constants and macros count, and so do
the methods of types and traits. Fields, variants and what a derive or a trait of others brings do not. Items of other
crates that are shown as re-exports are on the pages of those crates.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = re.compile(r"^(struct|enum|trait|fn|constant|macro|type|static|union)\.(\w+)\.html$")


def members(page):
    """Methods and constants of a type or trait of its own, by name."""
    # What other traits bring stands in sections of its own.
    own = re.split(r'<h2 id="(?:trait-implementations|synthetic-implementations|implementors)"', page)[0]
    return re.findall(r'<section id="(?:method|tymethod|associatedconstant)\.([\w.-]+)"', own)


def items(folder):
    """Every public item below a folder of rustdoc's pages, as (kind, path)."""
    for page in sorted(folder.rglob("*.html")):
        if 'http-equiv="refresh"' in page.read_text()[:500]:
            continue  # a private module, of which rustdoc keeps the address
        place = page.parent.relative_to(folder)
        if page.name == "index.html":
            if page.parent != folder:
                yield "module", str(place)
        elif match := PAGE.match(page.name):
            kind, name = match.groups()
            path = str(place / name)
            yield kind, path
            for member in members(page.read_text()):
                yield "method", f"{path}::{member}"


def main():
    """Builds the documentation and prints the counts, with ``--list`` every item as well."""
    crate = next((word for word in sys.argv[1:] if not word.startswith("-")), "obcut")
    target = ROOT / "target" / "public-items"
    command = ["cargo", "doc", "--quiet", "--no-deps", "--lib", "-p", crate, "--target-dir", target]
    subprocess.run(command, cwd=ROOT, check=True)
    found = sorted(set(items(target / "doc" / crate.replace("-", "_"))))
    if "--list" in sys.argv:
        print("\n".join(f"{kind} {path}" for kind, path in found))
    counts = Counter(kind for kind, _ in found)
    print(", ".join(f"{count} {kind}s" for kind, count in counts.most_common()))
    print(f"{crate}: {len(found)} public items")


if __name__ == "__main__":
    main()
