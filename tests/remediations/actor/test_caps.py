"""Caps on simulated GPUs: lent, renewed, lifted, and another's limit left alone."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pynvml  # type: ignore[import-untyped]  # nvidia-ml-py ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.helpers.children.loop import Refused
from remediations.actor import caps, held
from remediations.policy import parse
from tests.remediations.actor.capped import ALLOWED, GPU, OTHER, STANDING, WHY, Node, simulated


@pytest.fixture(name="node")
def _node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Simulate a node."""
    with simulated(tmp_path, monkeypatch) as made:
        yield made


def test_a_step_down(node: Node) -> None:
    """One step is set, written down, and shown to those who only look."""
    answer = node.cap(630)
    seen = node.public()["held"][0]

    expected = ({"limit": 630_000, "before": 700_000}, 630, (GPU, 630_000, 700_000, WHY))
    shown = (seen["subject"], seen["limit"], seen["before"], seen["why"])
    assert expected == (answer, node.watts(), shown)


def test_what_is_refused(node: Node) -> None:
    """Too fast, too far, too low, too high, nothing, and no address: each with its sentence."""
    said = [node.refused(600), node.refused(700), node.refused(800)]
    node.cap(630)
    said += [node.refused(560), node.refused(630, "../../x")]

    expected = [
        "700000 to 600000 is more than one step of 70000",
        "nothing is capped at 700000 mW",
        "800000 is above 700000, which was in force before",
        "the last step was 0 s ago, one in 300 s is allowed",
        "'../../x' is no address of a GPU",
    ]
    assert expected == said


def test_never_below_the_floor(node: Node) -> None:
    """Four steps end at 60 %; a fifth is refused."""
    for watts in (630, 560, 490, 420):
        node.cap(watts)
        node.up_s += 300.0

    assert "350000 is below the floor of 420000" == node.refused(350)


def test_up_and_lifted(node: Node) -> None:
    """A step up keeps the lease; what was before ends it."""
    node.cap(630)
    node.up_s += 300.0
    node.cap(560)
    up = node.cap(630)
    limits = [node.watts()]
    lifted = node.cap(700)
    limits.append(node.watts())

    assert (630_000, "restored to 700000 mW") == (up["limit"], lifted["ended"])
    assert ([630, 700], []) == (limits, node.names())


def test_15_minutes_without_renewal(node: Node) -> None:
    """A cap that nobody renews is lifted by the actor itself, and one that is renewed stays."""
    node.cap(630)
    node.tick(899.0)
    held_still = node.watts()
    caps.renew_caps(node.kept)
    node.tick(899.0)
    renewed = node.watts()
    node.tick(2.0)
    ended = node.public()["ended"][-1]

    expected = (630, 630, 700, ("restored to 700000 mW", "nobody renewed it"))
    assert expected == (held_still, renewed, node.watts(), (ended["how"], ended["because"]))


def test_what_ran_out_is_not_renewed(node: Node) -> None:
    """An agent that comes too late does not bring a cap back."""
    node.cap(630)
    node.up_s += 901.0

    assert {"renewed": []} == caps.renew_caps(node.kept)


@pytest.mark.parametrize("text", ["", '[mode]\n"gpu.power_cap" = "act"\n', None])
def test_disabled(node: Node, text: str | None) -> None:
    """Where the policy does not allow caps any more, or cannot be trusted, all are lifted."""
    node.cap(630)
    caps.caps_tick(node.state, None if text is None else parse(text))

    assert (700, "the policy does not allow it any more") == (
        node.watts(),
        node.public()["ended"][-1]["because"],
    )


def test_not_proved_is_not_set(node: Node) -> None:
    """In `act`, but not named among what is not proved, nothing is capped."""
    node.policy = parse('[mode]\n"gpu.power_cap" = "act"\n')

    assert "gpu.power_cap is not proved, and allow_unproved does not name it" == node.refused(630)


def test_anothers_limit_is_respected(node: Node) -> None:
    """A limit that another set is neither lowered nor raised."""
    node.another_sets(500)
    said = [node.refused(450), node.refused(600)]

    why = "another's limit of 500000 is in force, and is left as it is"
    assert ([why, why], 500) == (said, node.watts())


def test_under_a_standing_limit(node: Node) -> None:
    """Steps, floor and what is put back follow from the limit that the site keeps."""
    node.policy = parse(STANDING)
    node.another_sets(600)
    said = [node.refused(539)]
    for watts in (540, 480, 420, 360):
        node.cap(watts)
        node.up_s += 300.0
    said += [node.refused(359), node.refused(601)]
    ended = node.cap(600)["ended"]

    expected = [
        "600000 to 539000 is more than one step of 60000",
        "359000 is below the floor of 360000",
        "601000 is above 600000, which was in force before",
    ]
    assert (expected, "restored to 600000 mW", 600) == (said, ended, node.watts())


def test_lifted_to_the_standing_limit(node: Node) -> None:
    """What nobody renews goes back to the site's limit, though its file is gone by then."""
    node.policy = parse(STANDING)
    node.another_sets(600)
    node.cap(540)
    caps.caps_tick(node.state, None)

    assert (600, []) == (node.watts(), node.names())


def test_a_gpu_without_its_standing_limit(node: Node) -> None:
    """Where the site keeps 600 W, the default of 700 W is another's limit, and is left."""
    node.policy = parse(STANDING)

    assert ("another's limit of 700000 is in force, and is left as it is", 700) == (
        node.refused(630),
        node.watts(),
    )


@pytest.mark.parametrize("watts", [500, 650])
def test_another_sets_it_meanwhile(node: Node, watts: int) -> None:
    """A limit that is no longer ours at the end is left, and that is said."""
    node.cap(630)
    node.another_sets(watts)
    node.tick(901.0)

    how = f"left: another's limit of {watts}000 mW is in force"
    assert (watts, how) == (node.watts(), node.public()["ended"][-1]["how"])


def test_another_sets_it_before_a_step(node: Node) -> None:
    """The next step finds another's limit: ours is forgotten, and nothing is set."""
    node.cap(630)
    node.another_sets(650)
    said = node.refused(560)

    assert ("650000 mW is in force, which is not ours", 650, []) == (
        said.partition(": ")[2],
        node.watts(),
        node.names(),
    )


def test_each_gpu_for_itself(node: Node) -> None:
    """Two GPUs are held and lifted apart."""
    node.cap(630)
    node.cap(630, OTHER)
    node.cap(700)

    assert ([OTHER], 700, 630) == (node.names(), node.watts(), node.watts(1))


def test_lifted_when_asked(node: Node) -> None:
    """The agent can give all back at once."""
    node.cap(630)
    node.cap(630, OTHER)
    ended = caps.lift_caps(node.kept)["ended"]

    assert ({GPU, OTHER}, 700, 700) == (set(ended), node.watts(), node.watts(1))


@pytest.mark.parametrize("text", ["", "{", '{"held": 3}', '{"held": {"x": {}}}', "[]"])
def test_a_file_that_is_none(node: Node, text: str) -> None:
    """What is no file of ours holds no cap, and the next one is written over it."""
    (node.state / held.NAME).write_text(text)
    node.tick()
    node.cap(630)

    assert [GPU] == node.names()


def test_all_is_in_the_journal(node: Node) -> None:
    """Every change is in the actor's journal, with what was before and why."""
    node.cap(630)
    node.tick(901.0)

    expected = [
        f"700000 to 630000 mW: {WHY}",
        "restored to 700000 mW; nobody renewed it",
    ]
    assert expected == [line["said"] for line in node.journal()]


def test_locked_clocks(node: Node) -> None:
    """Where the site chose clocks they are held instead, in MHz, and unlocked at the end."""
    node.policy = parse(f"{ALLOWED}[heat]\nlocked_clocks = true\n")
    node.start(**{"clocks.graphics_mhz": 1980, "clocks.max_graphics_mhz": 1980})
    caps.cap_clocks(node.kept, GPU, 1782, WHY)
    locked, shown = node.megahertz(), node.public()["held"][0]
    assert "0001:10:00.0 is held down in MHz: lift that first" == node.refused(630)
    node.tick(901.0)

    assert (1782, 1782, "MHz") == (locked, shown["limit"], shown["unit"])
    assert (1980, "restored to 1980 MHz") == (node.megahertz(), node.public()["ended"][-1]["how"])


def test_clocks_are_not_locked_unasked(node: Node) -> None:
    """Without the site's word no clock is locked."""
    with pytest.raises(Refused, match="does not let clocks be locked"):
        caps.cap_clocks(node.kept, GPU, 1782, WHY)


WANTED = st.sampled_from([420, 490, 560, 630, 700]) | st.integers(-1, 900)
ASKED = st.tuples(WANTED, st.sampled_from([0.0, 10.0, 299.0, 300.0, 500.0]))


@settings(max_examples=60, deadline=None)
@given(asked=st.lists(ASKED, max_size=25))
def test_a_captured_agent(asked: list[tuple[int, float]]) -> None:
    """Whatever is asked for, no limit is below the floor, above what was, or lowered too fast."""
    before = pynvml.nvmlLib, pynvml._nvmlLib_refcount
    limits, falls = [700], [-1e9]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.delenv("RUNTIME_DIRECTORY", raising=False)
        node = Node(Path(folder), patched)
        for watts, gap in asked:
            node.up_s += gap
            with suppress(Refused):
                node.cap(watts)
            limits.append(node.watts())
            if limits[-1] < limits[-2]:
                falls.append(node.up_s)
        node.tick(2000.0)
        ended = node.watts()
    pynvml.nvmlLib, pynvml._nvmlLib_refcount = before
    pynvml._nvmlGetFunctionPointer_cache.clear()

    assert (420 <= min(limits), max(limits), ended) == (True, 700, 700)
    assert all(was - now <= 70 for was, now in itertools.pairwise(limits))
    assert all(b - a >= 300.0 for a, b in itertools.pairwise(falls))
