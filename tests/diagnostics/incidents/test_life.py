"""An incident lives on until it was seen to be over for a while, and comes back as itself."""

from hypothesis import given
from hypothesis import strategies as st

from diagnostics.incidents import life
from diagnostics.incidents.life import REOPEN_S, SETTLE_S, Life

PORT = {"aa": "network.ports"}
BLIND = frozenset({"network.ports"})


def test_it_is_resolved_after_the_settling_time() -> None:
    """Seen well once it settles, seen well for 300 s it is resolved."""
    known = life.advance({}, PORT, 100.0)
    once = life.advance(known, {}, 130.0)
    later = life.advance(once, {}, 130.0 + SETTLE_S)

    assert [("open", None), ("open", None), ("resolved", 430.0)] == [
        (lives["aa"].state, lives["aa"].resolved) for lives in (known, once, later)
    ]


def test_blindness_resolves_nothing_and_settling_begins_anew() -> None:
    """While its check sees nothing an incident stays, and the time before does not count."""
    lives = life.advance(life.advance({}, PORT, 0.0), {}, 30.0)
    blind = life.advance(lives, {}, 30.0 + SETTLE_S, blind=BLIND)
    seen = life.advance(blind, {}, 60.0 + SETTLE_S)

    assert [("open", None), ("open", 360.0)] == [
        (one["aa"].state, one["aa"].cleared) for one in (blind, seen)
    ]


def test_what_another_incident_explains_is_not_over() -> None:
    """A timeout whose lost GPU is found a look later is within that incident, and not well."""
    lives = life.advance({}, {"aa": "training.collectives"}, 0.0)
    for at in (30.0, 60.0 + SETTLE_S):
        lives = life.advance(lives, {"bb": "driver.kernel_log"}, at, within=("aa", "bb"))

    assert Life(first_seen=0.0, check="training.collectives") == lives["aa"]


def test_it_comes_back_as_itself_within_a_week() -> None:
    """What is resolved and found again is reopened, with its first time; later it is new."""
    known = life.advance({}, PORT, 0.0)
    for at in (30.0, 30.0 + SETTLE_S):
        known = life.advance(known, {}, at)
    soon = life.advance(known, PORT, 1000.0)
    forgotten = life.advance(known, {}, 31.0 + SETTLE_S + REOPEN_S)

    assert (("reopened", 0.0), {}) == ((soon["aa"].state, soon["aa"].first_seen), forgotten)


def test_what_is_acknowledged_stays_so_until_it_is_over() -> None:
    """A person's word outlives looks; resolved and back, it wants a look again."""
    known = {"aa": life.acknowledge(Life(first_seen=0.0, check="network.ports"))}
    still = life.advance(known, PORT, 30.0)
    for at in (60.0, 60.0 + SETTLE_S):
        known = life.advance(known, {}, at)
    back = life.advance(known, PORT, 1000.0)

    assert ["acknowledged", "resolved", "reopened"] == [
        lives["aa"].state for lives in (still, known, back)
    ]


LOOKS = st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(1, 400)), max_size=20)


@given(LOOKS)
def test_without_a_look_that_saw_nothing_is_resolved(looks: list[tuple[bool, bool, float]]) -> None:
    """Whatever looks come between: it is resolved only where two that saw it well span 300 s."""
    lives, at, well = life.advance({}, PORT, 0.0), 0.0, None
    for there, blind, seconds in looks:
        at += seconds
        lives = life.advance(lives, PORT if there else {}, at, blind=BLIND if blind else ())
        if there or blind:
            well = None
        elif well is None:
            well = at
        if lives["aa"].state == "resolved":
            break

    settled = well is not None and at - well >= SETTLE_S

    assert settled == (lives["aa"].state == "resolved")
