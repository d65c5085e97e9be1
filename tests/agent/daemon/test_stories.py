"""What was told of an incident last can be told after it is over, also by the next agent."""

from pathlib import Path

import msgspec

from agent.daemon.stories import MOST, NAME, Stories, Told, cut
from diagnostics.incidents.life import Life
from tests.agent.daemon.documents import document, finding, incident

LIFE = Life(first_seen=1_796_000_000.0, check="gpu.count")
OVER = msgspec.structs.replace(LIFE, state="resolved", resolved=1_796_000_600.0)
THERE = document(finding(1), finding(2), incidents=(incident("f1"),))


def told(folder: Path, life: Life) -> tuple[str, tuple[str, ...], str] | None:
    """Return what the next agent tells of it: sentence, its findings, state."""
    one = Stories(folder).of("aa", life)
    if one is None:
        return None
    ids = tuple(f["id"] for f in one.findings)
    return one.incidents[0].sentence, ids, one.incidents[0].state


def test_what_is_gone_is_told_as_it_was_told_last(tmp_path: Path) -> None:
    """Its own findings alone are kept, and its state is that of its life."""
    stories = Stories(tmp_path)
    stories.walked(THERE, {"aa": LIFE})
    before = told(tmp_path, LIFE)
    stories.walked(document(), {"aa": LIFE})

    assert (None, True, ("Message of f1.", ("f1",), "resolved")) == (
        before,
        stories.close(60.0),
        told(tmp_path, OVER),
    )


def test_what_is_there_at_the_end_is_kept_for_the_next_agent(tmp_path: Path) -> None:
    """It may be over by then, and nobody else has its story."""
    stories = Stories(tmp_path)
    stories.walked(THERE, {"aa": LIFE})
    stories.end({"aa": LIFE})

    assert (True, ("Message of f1.", ("f1",), "open")) == (
        stories.close(60.0),
        told(tmp_path, LIFE),
    )


def test_it_is_forgotten_with_its_life_and_bounded(tmp_path: Path) -> None:
    """No more than so many are kept, and none whose life is forgotten."""
    names = [f"{number:016x}" for number in range(MOST + 5)]
    every = tuple(incident("f1", name) for name in names)
    lives = dict.fromkeys(names, LIFE)
    stories = Stories(tmp_path)
    stories.walked(document(finding(1), incidents=every), lives)
    stories.walked(document(), lives)
    kept = [name for name in names if stories.of(name, LIFE)]
    stories.walked(document(), {names[-1]: LIFE})
    stories.close(60.0)
    left = msgspec.json.decode((tmp_path / NAME).read_bytes(), type=Told).told

    assert (MOST, [names[-1]]) == (len(kept), list(left))


def test_of_many_consequences_the_first_are_kept() -> None:
    """A file of state stays small."""
    many = tuple(finding(number) for number in range(1, 40))
    follows = tuple(one["id"] for one in many[1:])
    whole = incident("f1", consequences=follows)
    small = cut(document(*many, incidents=(whole,)), whole)

    assert (8, 7, ()) == (
        len(small.findings),
        len(small.incidents[0].consequences),
        small.stages,
    )
