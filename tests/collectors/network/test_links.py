"""Links while they are watched: since when up or down, how often they dropped, what is no drop."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.links import (
    KEPT_S,
    MOST_DROPS,
    WAIT_S,
    Answer,
    LinkHistory,
    LinkRecord,
    Told,
    Watching,
    collect,
)
from tests.recording import recorded

UP = ("4: ACTIVE\n", "5: LinkUp\n", "400 Gb/sec (4X NDR)\n")
DOWN = ("1: DOWN\n", "2: Polling\n", "10 Gb/sec (4X SDR)\n")
INIT = ("2: INIT\n", "5: LinkUp\n", "400 Gb/sec (4X NDR)\n")


def port(*looks: tuple[str, str, str]) -> LinkRecord | None:
    """Return the record of a port that was looked at every second."""
    watching = Watching()
    for at, texts in enumerate(looks):
        watching.take(Answer(ports={"mlx5_0/1": texts}), float(at))
    return watching.seen(len(looks) - 1.0).of("mlx5_0/1")


def nic(*looks: Told) -> LinkRecord | None:
    watching = Watching()
    for at, told in enumerate(looks):
        watching.take(Answer(interfaces={"eth0": told}), float(at))
    return watching.seen(len(looks) - 1.0).of("eth0")


def test_a_port_that_stays_up_has_no_drops() -> None:
    """It is up for as long as it was watched."""
    expected = LinkRecord(
        name="mlx5_0/1", kind="port", up=True, said="ACTIVE, LinkUp", rate_gbps=400.0, for_s=2.0
    )
    assert expected == port(UP, UP, UP)


def test_a_port_that_goes_down_says_when() -> None:
    """Two seconds after the look that saw it down, that is two seconds ago."""
    record = port(UP, UP, DOWN, DOWN, DOWN)

    assert record is not None
    assert (False, 2.0, (2.0,), None) == (record.up, record.for_s, record.drops, record.outage_s)


def test_a_port_that_comes_back_is_up_from_active_on() -> None:
    """INIT is on the way: what it was still holds, and the outage lasts until ACTIVE."""
    record = port(UP, DOWN, INIT, INIT, UP, UP)

    assert record is not None
    assert (True, 1.0, (4.0,), 3.0) == (record.up, record.for_s, record.drops, record.outage_s)


def test_a_port_that_was_never_up_is_no_link() -> None:
    """A port without a cable is not watched, so that it can never have dropped."""
    assert None is port(DOWN, DOWN, INIT, DOWN)


def test_a_drop_between_two_looks_is_told_by_the_kernels_count() -> None:
    """Carrier at both looks, and one loss more by the count: it dropped."""
    record = nic(Told(up=True, carrier=True, downs=3), Told(up=True, carrier=True, downs=4))

    assert record is not None
    assert (True, (0.0,), 0.0) == (record.up, record.drops, record.outage_s)


def test_an_interface_that_is_switched_off_did_not_drop() -> None:
    """Who sets it down means it; the kernel's carrier is unknown then."""
    on, off = Told(up=True, carrier=True, downs=1), Told(up=False, carrier=None, downs=2)
    record = nic(on, off, off)

    assert record is not None
    assert (True, ()) == (record.up, record.drops)


def test_what_is_gone_is_forgotten() -> None:
    """A device that left is no link that is down."""
    watching = Watching()
    watching.take(Answer(ports={"mlx5_0/1": UP}), 0.0)
    watching.take(Answer(), 1.0)

    assert LinkHistory(watched_s=1.0) == watching.seen(1.0)


def test_only_a_change_rings() -> None:
    """An answer is told to change something where it does, and no other."""
    watching = Watching()
    looks = (UP, UP, DOWN, DOWN, INIT, UP, UP)
    rang = [
        watching.take(Answer(ports={"mlx5_0/1": texts}), float(at))
        for at, texts in enumerate(looks)
    ]

    assert [False, False, True, False, False, True, False] == rang


@given(st.lists(st.sampled_from([UP, DOWN, INIT]), min_size=1, max_size=40))
def test_drops_are_what_went_from_up_to_down(looks: list[tuple[str, str, str]]) -> None:
    """Whatever a port does, its drops are the falls of its states without those on the way."""
    states = [texts is UP for texts in looks if texts is not INIT]
    first = states.index(True) if True in states else len(states)
    falls = sum(a and not b for a, b in zip(states[first:], states[first + 1 :], strict=False))
    record = port(*looks)

    assert (falls if True in states else None) == (None if record is None else len(record.drops))


def test_drops_are_kept_for_twelve_hours_and_not_without_end() -> None:
    """Old ones leave, and of a link that flaps each second the last are kept."""
    watching = Watching()
    for at in range(400):
        watching.take(Answer(ports={"mlx5_0/1": UP if at % 2 else DOWN}), float(at))
    many = watching.seen(400.0).of("mlx5_0/1")
    watching.take(Answer(ports={"mlx5_0/1": UP}), 401.0 + KEPT_S)
    later = watching.seen(401.0 + KEPT_S).of("mlx5_0/1")

    assert many is not None
    assert later is not None
    assert (MOST_DROPS, ()) == (len(many.drops), later.drops)


def test_who_waits_has_not_to_ask_again(tmp_path: Path) -> None:
    """Once an answer was waited for, links are told as they stand by then, older by a second."""
    waited = {"kind": "links", "args": {"wait_s": WAIT_S}, "answer": {"ports": {"mlx5_0/1": UP}}}

    watching, node = Watching(), recorded(tmp_path, answers=[waited])

    async def main() -> tuple[object, LinkHistory | Missing]:
        first = await watching.wait(node)
        await node.sleep(1.0)
        return first, await watching.collect(node, Wanted())

    first, seen = asyncio.run(main())
    assert isinstance(seen, LinkHistory)
    assert (False, ["mlx5_0/1"], 1.0) == (first, [one.name for one in seen.links], seen.watched_s)


def test_an_answer_of_another_form_is_no_observation(tmp_path: Path) -> None:
    """A helper that says nonsense is not understood, and no link is down for it."""
    answers = [{"kind": "links", "answer": {"ports": {"mlx5_0/1": [1, 2]}}}]
    seen = asyncio.run(collect(recorded(tmp_path, answers=answers), Wanted()))

    assert isinstance(seen, Missing)
    assert Cause.GARBLED is seen.cause
