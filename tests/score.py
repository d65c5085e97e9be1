"""How often the diagnosis is true: recorded nodes against tests/nodes/truth.toml (`make score`).

With CORPUS=DIR, DIR/score.py is run as well: a folder of real logs that scores `gpudiag logs`.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diagnostics.document import Document
from tests.nodes.replay import NAMES, NODES, replay

FLOOR = ("wrong", "false_alarms", "spurious")


@dataclass(frozen=True)
class Truth:
    """What is true of one node."""

    roots: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    verdict: str | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Truth":
        """Return the truth that a table states."""
        roots, follows = tuple(table.get("roots", ())), tuple(table.get("follows", ()))
        return cls(roots, follows, table.get("verdict"))

    @property
    def healthy(self) -> bool:
        """Return whether nothing is wrong with the node and all of it can be judged."""
        return not self.roots and self.verdict is None


@dataclass(frozen=True)
class Judged:
    """One node's diagnosis held against its truth."""

    name: str
    truth: Truth
    told: tuple[str, ...]
    spurious: tuple[str, ...] = field(default=())
    verdict: str = "ok"

    @property
    def right(self) -> bool:
        """Return whether the told root causes are the true ones, the gravest first."""
        verdict = self.truth.verdict or ("ok" if self.truth.healthy else self.verdict)
        first = self.told[:1] == self.truth.roots[:1]
        return first and sorted(self.told) == sorted(self.truth.roots) and verdict == self.verdict

    @property
    def false_alarm(self) -> bool:
        """Return whether a healthy node got a finding above info."""
        return self.truth.healthy and bool(self.spurious)

    def row(self) -> str:
        """Return one line of the table."""
        wanted = ", ".join(self.truth.roots) or self.truth.verdict or "healthy"
        told = ", ".join(self.told) or self.verdict
        missed = [root for root in self.truth.roots if root not in self.told]
        notes = [f"missed {', '.join(missed)}"] * bool(missed)
        notes += [f"spurious {', '.join(self.spurious)}"] * bool(self.spurious)
        mark = "right" if self.right else "WRONG"
        return f"{mark}  {self.name:<28} {wanted:<27} {told:<27} {'; '.join(notes)}".rstrip()


def judge(name: str, truth: Truth, document: Document) -> Judged:
    """Hold one diagnosis against the truth."""
    loud = [f for f in document.findings if f["severity"] != "info"]
    roots = [next(f["fault"] for f in loud if f["id"] == root) for root in document.root_causes]
    allowed = {*truth.roots, *truth.follows}
    return Judged(
        name=name,
        truth=truth,
        told=tuple(roots),
        spurious=tuple(dict.fromkeys(f["fault"] for f in loud if f["fault"] not in allowed)),
        verdict=document.verdict,
    )


def truths() -> dict[str, Truth]:
    """Return the truth of each node."""
    table = tomllib.loads((NODES / "truth.toml").read_text("utf-8"))
    return {name: Truth.of(entry) for name, entry in table.items()}


def counts(judged: list[Judged]) -> dict[str, int]:
    """Return what the floor is about."""
    return {
        "wrong": sum(not node.right for node in judged),
        "false_alarms": sum(node.false_alarm for node in judged),
        "spurious": sum(len(node.spurious) for node in judged if not node.truth.healthy),
    }


def corpus(folder: str) -> int:
    """Run the score of a folder of logs with our command; return its exit status."""
    command = f"{Path(sys.executable).parent / 'gpudiag'} logs {{file}} --json"
    argv = [sys.executable, str(Path(folder) / "score.py"), "--command", command]
    return subprocess.run(argv, check=False).returncode


def main() -> int:
    """Print the table and the closing line; 1 where something is worse than the floor."""
    known = truths()
    judged = [judge(name, known[name], replay(name)) for name in NAMES]
    sys.stdout.write(f"       {'node':<28} {'wanted':<27} {'told':<27}\n")
    sys.stdout.writelines(f"{node.row()}\n" for node in judged)
    got = counts(judged)
    floor = tomllib.loads((NODES / "score.toml").read_text("utf-8"))["floor"]
    below = [name for name in FLOOR if got[name] > floor[name]]
    fewer = len(judged) < floor["nodes"]
    status = corpus(os.environ["CORPUS"]) if os.environ.get("CORPUS") else 0
    for name in below:
        sys.stdout.write(f"score: {name} is {got[name]}, the floor is {floor[name]}\n")
    if fewer:
        sys.stdout.write(f"score: {len(judged)} nodes, the floor is {floor['nodes']}\n")
    healthy = sum(node.truth.healthy for node in judged)
    sys.stdout.write(
        f"score: {len(judged) - got['wrong']} of {len(judged)} nodes right, "
        f"{got['false_alarms']} false alarms on {healthy} healthy, {got['spurious']} spurious\n"
    )
    return 1 if below or fewer or status else 0


if __name__ == "__main__":
    sys.exit(main())
