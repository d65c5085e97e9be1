"""Write expected.json of the recorded nodes as they are diagnosed now, and print what changed.

The change is for a person to review: what is committed is what the product must say from then on.
"""

import difflib
import json
import sys
from typing import Any

from tests.nodes.replay import NAMES, NODES, expected, replay, summary


def text(told: dict[str, Any] | None) -> str:
    """Return the file's text."""
    return "" if told is None else json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def bless(name: str) -> bool:
    """Bless one node; return whether anything changed."""
    before, after = text(expected(name)), text(summary(replay(name)))
    if before == after:
        return False
    path = f"tests/nodes/{name}/expected.json"
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(old, new, path, path, n=2))
    (NODES / name / "expected.json").write_text(after, "utf-8")
    return True


def main(names: list[str]) -> int:
    """Bless the named nodes, or all."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.stderr.write(f"error: no such node: {unknown[0]}\nhelp: one of {', '.join(NAMES)}\n")
        return 64
    changed = [name for name in names or NAMES if bless(name)]
    sys.stdout.write(f"bless: {len(changed)} of {len(names or NAMES)} nodes changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
