"""What the actor shows of its caps, as those see it who only look."""

import asyncio
import json
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.gpu import caps
from collectors.gpu.caps import Cap, Ended, PowerCaps
from collectors.node.recorded import Recorded
from tests.recording import recorded

WHY = "0 C are left until it slows down, in 5 of 10 samples"
HELD = {"subject": "0000:1b:00.0", "limit": 630000, "before": 700000, "since": 17.5, "why": WHY}
OVER = {"subject": "dcmi", "how": "restored to 1850 W", "because": "it is cool", "at": 16.0}


def look(node: Recorded) -> PowerCaps | Missing:
    """Look once."""
    return asyncio.run(caps.collect(node, Wanted()))


def test_what_the_actor_shows(tmp_path: Path) -> None:
    """Caps that are on, and how the last ones ended, with the time of the look."""
    text = json.dumps({"held": [HELD], "ended": [OVER]})
    node = recorded(tmp_path, files={caps.PATH: text})
    seen = look(node)

    expected = PowerCaps(held=(Cap(**HELD),), ended=(Ended(**OVER),), now=node.now())  # type: ignore[arg-type]  # by test
    assert expected == seen


def test_no_actor(tmp_path: Path) -> None:
    """Where there is no actor, no cap was ever on."""
    seen = look(recorded(tmp_path))

    assert isinstance(seen, PowerCaps)
    assert ((), ()) == (seen.held, seen.ended)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not ours to read is no proof that nothing is capped."""
    seen = look(recorded(tmp_path, errors={caps.PATH: "EACCES"}))

    assert isinstance(seen, Missing)
    assert ("denied", "/run/gpudiag-actor/caps.json: EACCES") == (seen.cause, seen.detail)


def test_people_are_the_agents_to_name() -> None:
    """A file cannot call a person."""
    text = '{"handed_over": [{"subject": "x", "phase": "floor", "why": "y"}]}'

    assert PowerCaps(now=1.0) == caps.parse(text, 1.0)


COUNTS = st.integers(0, 1 << 40)
CAPS = st.builds(Cap, limit=COUNTS, before=COUNTS, since=st.floats(0, 1e10))


@given(st.lists(CAPS, max_size=4))
def test_round_trip(held: list[Cap]) -> None:
    """What is written is what is read."""
    told = PowerCaps(held=tuple(held), now=3.0)
    text = msgspec.json.encode(told).decode()

    assert told == caps.parse(text, 3.0)


@given(st.text(max_size=200))
def test_arbitrary_text(text: str) -> None:
    """No text raises."""
    assert isinstance(caps.parse(text, 0.0), PowerCaps | Missing)
