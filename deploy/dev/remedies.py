"""Write docs/remedies.md from the catalogue of remedies: `make remedies`, or --check."""

import sys
from collections.abc import Iterator
from pathlib import Path

from remediations.plan.catalog import REMEDIES
from remediations.policy import PATH, Policy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "remedies.md"
HEAD = f"""# Remedies

What gpudiag could do to a node, in the order of trust: turn on what stands above before what
stands below. Nothing of this happens without the package `gpudiag-actor` and a line in
`{PATH}`; see [how to let it act](how-to-acting.md). Written by `make remedies`.

| remedy | takes | only if | risk | verified by | default | proved |
| --- | --- | --- | --- | --- | --- | --- |
"""
TAIL = """
`takes` is what it takes from those who work on the node while it acts: what takes a GPU or the node
needs the aggregator's leave. A remedy below `real-tool` refuses `act` until `allow_unproved` names
it. `proved` means the same as for checks, in [how this is verified](verification.md).

What no remedy does, and a person is only told, with command and risk: restart openibd or opensm,
bounce a port, load the driver again, cut the power through the BMC, return a part to its vendor.
"""


def rows() -> Iterator[str]:
    """Yield a row for each remedy."""
    shipped = Policy()
    for row in REMEDIES.values():
        cells = (
            f"`{row.name}`: {row.does}",
            row.takes,
            row.precondition,
            row.risk,
            row.verification,
            shipped.of(row.name),
            row.proved,
        )
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(rows()) + TAIL


def main() -> None:
    """Write the page, or say whether it is current."""
    if sys.argv[1:] == ["--check"]:
        current = page() == PAGE.read_text()
        sys.exit(0 if current else "docs/remedies.md is not current: run make remedies")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
