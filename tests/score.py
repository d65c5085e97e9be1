"""How often the diagnosis is true: recorded nodes against tests/nodes/truth.toml (`make score`).

What it found best so far stands in tests/nodes/score.toml and may not fall; `--raise` writes what
is better now. With CORPUS=DIR, DIR/score.py is run as well: a folder of real logs that scores
`gpudiag logs`.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnostics.document import Document
from tests.nodes.replay import NAMES, NODES, replay

KEPT = NODES / "score.toml"
# Shares of one fault, and of all recordings.
SHARES = ("precision", "recall", "top1")
# A remedy that is only spoken of.
SPOKEN = "advised"


@dataclass(frozen=True)
class Truth:
    """What is true of one node."""

    roots: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    verdict: str | None = None
    shape: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Truth":
        """Return the truth that a table states."""
        roots, follows, instead = (
            tuple(table.get(name, ())) for name in ("roots", "follows", "instead")
        )
        return cls(roots, follows, instead, table.get("verdict"), table.get("shape", ""))

    @property
    def healthy(self) -> bool:
        """Return whether nothing is wrong with the node and all of it can be judged."""
        return not self.roots and self.verdict is None

    @property
    def negative(self) -> bool:
        """Return whether nothing is known to be wrong with the node, be it for lack of sight."""
        return not self.roots


@dataclass(frozen=True)
class Judged:
    """One node's diagnosis held against its truth; `loud` are its faults above info."""

    name: str
    truth: Truth
    told: tuple[str, ...]
    loud: tuple[str, ...] = ()
    actions: int = 0
    verdict: str = "ok"

    @property
    def spurious(self) -> tuple[str, ...]:
        """Return what was told and is not true."""
        allowed = {*self.truth.roots, *self.truth.follows}
        return tuple(fault for fault in self.loud if fault not in allowed)

    @property
    def first(self) -> bool:
        """Return whether the first root cause that is told is the first true one."""
        return self.told[:1] == self.truth.roots[:1]

    @property
    def right(self) -> bool:
        """Return whether the told root causes are the true ones, the gravest first."""
        verdict = self.truth.verdict or ("ok" if self.truth.healthy else self.verdict)
        same = sorted(self.told) == sorted(self.truth.roots)
        return self.first and same and verdict == self.verdict

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
    loud = {f["id"]: f["fault"] for f in document.findings if f["severity"] != "info"}
    return Judged(
        name=name,
        truth=truth,
        told=tuple(loud[root] for root in document.root_causes if root in loud),
        loud=tuple(dict.fromkeys(loud.values())),
        actions=sum(line.decision != SPOKEN for line in document.plan),
        verdict=document.verdict,
    )


def truths() -> dict[str, Truth]:
    """Return the truth of each node."""
    table = tomllib.loads((NODES / "truth.toml").read_text("utf-8"))
    return {name: Truth.of(entry) for name, entry in table.items()}


def of_fault(fault: str, judged: Sequence[Judged]) -> dict[str, float]:
    """Return the shares of one fault: how often it is true, told as a root, and first of all.

    What no recording can tell is left out: of a fault that only follows there is no recall.
    """
    held = {
        "precision": [fault not in node.spurious for node in judged if fault in node.loud],
        "recall": [fault in node.told for node in judged if fault in node.truth.roots],
        "top1": [node.first for node in judged if fault in node.truth.roots[:1]],
    }
    return {name: _share(sum(true), len(true)) for name, true in held.items() if true}


def _share(right: int, of: int) -> float:
    return round(right / of, 3) if of else 1.0


def totals(judged: Sequence[Judged]) -> dict[str, float]:
    """Return the numbers of all recordings together."""
    sick = [node for node in judged if node.truth.roots]
    well = [node for node in judged if node.truth.negative]
    loud = sum(len(node.loud) for node in judged)
    spurious = sum(len(node.spurious) for node in judged)
    return {
        "recordings": len(judged),
        "negatives": len(well),
        "top1": _share(sum(node.first for node in sick), len(sick)),
        "precision": _share(loud - spurious, loud),
        "wrong": sum(not node.right for node in judged),
        "warnings_on_negatives": sum(len(node.loud) for node in well),
        "actions_on_negatives": sum(node.actions for node in well),
    }


# What is better when there is less of it.
LESS = ("wrong", "warnings_on_negatives", "actions_on_negatives")


def fallen(name: str, now: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """Return one line for each number that is worse than what was kept."""
    return [
        f"{name}: {key} is {now.get(key, 0)}, it was {was}"
        for key, was in kept.items()
        if (now.get(key, 0) > was if key in LESS else now.get(key, 0) < was)
    ]


def better(now: Mapping[str, float], kept: Mapping[str, float]) -> dict[str, float]:
    """Return what is to be kept: of each number the better one."""
    return {
        key: (min if key in LESS else max)(value, kept.get(key, value))
        for key, value in now.items()
    }


def text(all_of_it: Mapping[str, float], faults: Mapping[str, Mapping[str, float]]) -> str:
    """Return the text of score.toml."""
    head = "# The least that `make score` takes; `python -m tests.score --raise` writes what is\n"
    head += "# better now, and nobody lowers it.\n[all]\n"
    rows = [f"{name} = {value:g}" for name, value in all_of_it.items()]
    rows += ["", "[faults]"]
    for name, shares in sorted(faults.items()):
        inner = ", ".join(f"{key} = {value:g}" for key, value in shares.items())
        rows.append(f"{name} = {{ {inner} }}")
    return head + "\n".join(rows) + "\n"


def corpus(folder: str) -> int:
    """Run the score of a folder of logs with our command; return its exit status."""
    command = f"{Path(sys.executable).parent / 'gpudiag'} logs {{file}} --json"
    argv = [sys.executable, str(Path(folder) / "score.py"), "--command", command]
    return subprocess.run(argv, check=False).returncode


def _show(judged: Sequence[Judged], faults: Mapping[str, Mapping[str, float]]) -> None:
    sys.stdout.write(f"       {'node':<28} {'wanted':<27} {'told':<27}\n")
    sys.stdout.writelines(f"{node.row()}\n" for node in judged)
    sys.stdout.write(f"\n{'fault':<36} {'precision':>9} {'recall':>9} {'top-1':>9}\n")
    for name, shares in sorted(faults.items()):
        cells = (f"{shares[key]:.3f}" if key in shares else "-" for key in SHARES)
        sys.stdout.write(f"{name:<36} {' '.join(f'{cell:>9}' for cell in cells)}\n")


def main(words: Sequence[str]) -> int:
    """Print both tables and the closing line; 1 where something is worse than what was kept."""
    known = truths()
    judged = [judge(name, known[name], replay(name)) for name in NAMES]
    told = {fault for node in judged for fault in (*node.truth.roots, *node.loud)}
    faults = {fault: of_fault(fault, judged) for fault in told}
    now, kept = totals(judged), tomllib.loads(KEPT.read_text("utf-8"))
    _show(judged, faults)
    status = corpus(os.environ["CORPUS"]) if os.environ.get("CORPUS") else 0
    worse = fallen("all", now, kept["all"])
    for name, was in kept["faults"].items():
        worse += fallen(name, faults.get(name, {}), was)
    sys.stdout.writelines(f"score: {line}\n" for line in worse)
    if "--raise" in words:
        table = {name: better(faults[name], kept["faults"].get(name, {})) for name in faults}
        KEPT.write_text(text(better(now, kept["all"]), {**kept["faults"], **table}), "utf-8")
    sys.stdout.write(
        f"{now['recordings']} recordings, top-1 {now['top1']:.3f}, "
        f"precision {now['precision']:.3f}, actions on negatives {now['actions_on_negatives']}\n"
    )
    return 1 if worse or status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
