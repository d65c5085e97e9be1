"""The journal: what was written is read, whatever was torn, and what counts outlives a rotation."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remediations.actor.journal import Journal


def begin(name: str, **other: Any) -> dict[str, Any]:
    return {"kind": "begin", "id": name, "remedy": "gpu.reset", "at": 1.0, **other}


def intent(name: str, n: int) -> dict[str, Any]:
    return {"kind": "intent", "id": name, "n": n, "verb": "put", "args": {}, "at": 1.0}


def outcome(name: str, n: int, *, ok: bool = True) -> dict[str, Any]:
    return {"kind": "outcome", "id": name, "n": n, "ok": ok, "said": "s"}


def end(name: str) -> dict[str, Any]:
    return {"kind": "end", "id": name, "outcome": "done", "said": "s"}


WHOLE = [begin("a"), intent("a", 1), outcome("a", 1), intent("a", 2), begin("b"), end("b")]


@given(st.integers(0, 2000), st.binary(max_size=40))
def test_torn_anywhere(at: int, rubbish: bytes) -> None:
    """Cut at any byte and followed by any bytes: all lines before the cut hold, and later ones."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        for line in WHOLE:
            journal.write(line)
        text = journal.path.read_bytes()
        kept = text[: min(at, len(text))]
        journal.path.write_bytes(kept + rubbish.replace(b"\n", b""))
        journal.write(begin("c"))
        # A cut behind a whole line only lost its end; rubbish behind it spoils that line.
        whole = kept.count(b"\n")
        found = [line["id"] + line["kind"] for line in journal.lines()]
        expected = [line["id"] + line["kind"] for line in WHOLE[:whole]]
        assert (expected, "cbegin") == (found[:whole], found[-1])


def test_step_without_outcome(tmp_path: Path) -> None:
    """A step that was meant and has no outcome stays unknown; the one before it is known."""
    journal = Journal(tmp_path)
    for line in WHOLE:
        journal.write(line)
    found = journal.actions()
    outcomes = [step.outcome and step.outcome["ok"] for step in found["a"].steps]
    assert ([True, None], None, True) == (outcomes, found["a"].end, found["b"].end is not None)


def test_rotation_keeps_what_counts(tmp_path: Path) -> None:
    """After many rotations by who begins often, what changed something is still known."""
    journal = Journal(tmp_path, most=2000)
    for line in (begin("touched"), intent("touched", 1), outcome("touched", 1), end("touched")):
        journal.write(line)
    for number in range(400):
        journal.write(begin(f"n{number}"))
        journal.write(end(f"n{number}"))
        journal.rotate(lambda acted: acted.touched)
    files = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    found = journal.actions()
    assert (True, 1, 4, True) == (
        found["touched"].end is not None,
        len(found["touched"].steps),
        len(files),
        sum(path.stat().st_size for path in tmp_path.iterdir()) < 20_000,
    )


@given(st.binary(max_size=400))
def test_any_bytes(text: bytes) -> None:
    """Whatever the disk gives: it is read, and nothing is raised."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        journal.path.write_bytes(text)
        assert {} == {k: v for k, v in journal.actions().items() if not isinstance(k, str)}
