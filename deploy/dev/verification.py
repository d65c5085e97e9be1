"""Write the generated part of docs/verification.md: `make verification`, or --check.

It lists what no test machine can run, from the marks in tests, and how each check was proved,
from the catalog.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from diagnostics.catalog import WALK

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "verification.md"
BEGIN = "<!-- written by make verification; edit above -->\n"


def reasons(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, reason) for each mark unobtainable(reason) of one file."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        for mark in getattr(node, "decorator_list", ()):
            match mark:
                case ast.Call(
                    func=ast.Attribute(attr="unobtainable"),
                    args=[ast.Constant(value=str(reason))],
                ):
                    yield getattr(node, "name", ""), reason


def unobtainable() -> Iterator[str]:
    """Yield the rows of what cannot be run where this is built."""
    yield "## What no test machine could run\n"
    yield "| test | why |\n| --- | --- |"
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT)
        yield from (f"| `{file}::{name}` | {reason} |" for name, reason in reasons(path))


def proofs() -> Iterator[str]:
    """Yield the rows of how each check was proved, in the order of the walk."""
    yield "\n## How each check was proved\n"
    yield "| stage | check | proved |\n| --- | --- | --- |"
    yield from (f"| {check.stage} | `{check.name}` | {check.proved} |" for check in WALK)


def page() -> str:
    """Return the whole page: the part that people write, then the generated one."""
    written = PAGE.read_text().partition(BEGIN)[0]
    return written + BEGIN + "\n" + "\n".join([*unobtainable(), *proofs()]) + "\n"


def main() -> None:
    """Write the page, or say whether it is current."""
    wanted = page()
    if sys.argv[1:] == ["--check"]:
        current = wanted == PAGE.read_text()
        sys.exit(0 if current else "docs/verification.md is not current: run make verification")
    PAGE.write_text(wanted)


if __name__ == "__main__":
    main()
