"""Caps against whoever wants them to stay, or the disk to be full: a cap is always lifted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import pytest

from remediations.actor.journal import MOST_BYTES, Journal
from tests.remediations.actor.capped import GPU, OTHER, WHY, Node, simulated


@pytest.fixture(name="node")
def _node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Simulate a node."""
    with simulated(tmp_path, monkeypatch) as made:
        yield made


@pytest.mark.root
def test_a_full_disk_keeps_no_cap(node: Node) -> None:
    """What nobody renews is lifted on each GPU, though nothing can be written down any more."""
    run(["mount", "-t", "tmpfs", "-o", "size=96k,mode=700", "tmpfs", node.state], check=True)
    try:
        node.cap(630)
        node.cap(630, OTHER)
        full = node.state / "full"
        with contextlib.suppress(OSError), full.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)
        node.tick(901.0)
        lifted = [node.watts(0), node.watts(1)]
        full.unlink()
        node.tick(61.0)
        names = node.names()
    finally:
        run(["umount", node.state], check=True)

    assert ([700, 700], []) == (lifted, names)


def test_the_same_limit_again_is_no_news(node: Node) -> None:
    """Whoever asks for it a thousand times an hour fills no journal: it renews the lease."""
    for _ in range(5):
        node.cap(630, GPU)

    assert [f"700000 to 630000 mW: {WHY}"] == [line["said"] for line in node.journal()]


def test_caps_alone_fill_no_journal(node: Node) -> None:
    """Where nothing but caps may act, no action is begun, and the journal is rotated all the same.

    An action that is open stays known.
    """
    kept = Journal(node.state)
    kept.write({"kind": "begin", "id": "9f", "at": 1.0, "remedy": "slurm.drain"})
    with kept.path.open("a") as file:
        file.writelines(f'{{"kind": "cap", "id": "cap", "n": {n}}}\n' for n in range(120_000))
    node.cap(630)
    sizes = {path.name: path.stat().st_size > MOST_BYTES for path in node.state.glob("j*.jsonl")}
    expected = {"journal.jsonl": False, "journal.1.jsonl": True}

    assert (expected, ["9f"]) == (sizes, [*kept.actions()])
