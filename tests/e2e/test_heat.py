"""Heat, end to end: a file rises, limits fall by the driver and by DCMI, and all is put back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.heated import GPU, SOAK, Heated, until

pytestmark = [
    pytest.mark.root,
    pytest.mark.tool("ipmi_sim", "ipmitool", "cc"),
    pytest.mark.timeout(400),
]
ONE_STEP = (630, 1665)


def hot(node: Heated) -> None:
    """Hot at last, and no cap yet."""
    node.margin(-1)


def floor(node: Heated) -> None:
    """At the lowest limit, and still hot."""
    node.margin(-1)
    until(lambda: node.watts() == 420, "the floor")


def cooling(node: Heated) -> None:
    """Two steps down and one up again."""
    node.margin(-1)
    until(lambda: node.watts() == 560, "two steps down")
    node.margin(20)
    until(lambda: node.watts() == 630, "one step up")


def lying(node: Heated) -> None:
    """Capped, and the BMC tells a temperature far from the driver's."""
    node.margin(-1)
    until(lambda: node.watts() == 630, "one step down")
    node.room(inlet=24, gpu=20)


def braked(node: Heated) -> None:
    """Capped, and the power brake is on."""
    node.margin(-1)
    until(lambda: node.watts() == 630, "one step down")
    node.settings.keep(0, {"clocks.reasons": 0x80})
    until(lambda: node.log("heat_needs_person"), "a person is called")


def blinded(node: Heated) -> None:
    """Capped, and neither the driver nor the BMC tells a temperature any more."""
    node.margin(-1)
    until(lambda: node.limits() == ONE_STEP, "one step down on both")
    node.blind()
    # What reads 0 is no measurement.
    node.room(inlet=0, gpu=0)
    until(lambda: both_blind(node), "a person is called for both")


def both_blind(node: Heated) -> bool:
    """Return whether a person was called for GPU and node, as nobody tells how hot they are."""
    said = [line for line in node.log("heat_needs_person") if "neither" in line["why"]]
    return {GPU, "dcmi"} == {line["subject"] for line in said}


STATES: tuple[Callable[[Heated], None], ...] = (cooling, lying, floor, braked, blinded, hot)
soak = pytest.mark.skipif(not SOAK, reason="make soak goes through every state and kill of heat")


@pytest.fixture(name="node")
def _node(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Heated]:
    """Run a node that is cool."""
    with Heated(tmp_path, getattr(request, "param", 1.0)) as made:
        made.margin(20)
        assert made.agent is not None
        made.agent.told("READY=1")
        yield made


def test_a_temperature_rises_and_falls(node: Heated) -> None:
    """The BMC's files rise while the driver is blind: both limits fall a step, and come back."""
    node.blind()
    node.room(inlet=46, gpu=86)
    until(lambda: node.limits() == ONE_STEP, "one step down on both")
    node.room(inlet=24, gpu=61)
    node.margin(24)
    until(node.free, "both restored")
    causes = [line["why"] for line in node.log("heat_limit_set") if line["order"] == "down"]

    why = "the driver tells no temperature, and two sensors of the BMC agree that it is hot; "
    why += "the air that comes in is too warm, which is the room's matter (Inlet Temp 46 C)"
    assert {why} == set(causes)


@soak
@pytest.mark.parametrize("who", ["both", "agent", "actor"])
def test_killed_while_capped(node: Heated, who: str) -> None:
    """Killed with caps on and started again, it goes on with them, and ends restored."""
    node.margin(-1)
    until(lambda: node.limits() == ONE_STEP, "one step down on both")
    if who in ("agent", "both"):
        node.kill_agent()
    if who in ("actor", "both"):
        node.kill_actor()
        node.start_actor()
    kept = node.limits()
    if who in ("agent", "both"):
        assert node.agent is not None
        node.agent.again()
    node.margin(20)
    until(node.free, "both restored")

    assert ONE_STEP == kept


def test_both_blind(node: Heated) -> None:
    """Where nobody tells a temperature caps are kept, though both are killed, until it is cool."""
    blinded(node)
    left_s = node.left_s()
    until(lambda: node.left_s() > left_s, "renewed while blind")
    kept = [node.limits()]
    restarted(node)
    until(lambda: len(node.log("started")) == 2, "the agent is there again")
    kept.append(node.limits())
    cooled(node)

    assert [ONE_STEP, ONE_STEP] == kept


@pytest.mark.parametrize("node", [1.0 if SOAK else 0.4], indirect=True)
def test_an_agent_that_stays_away(node: Heated) -> None:
    """Nobody renews what a dead agent held: the actor lifts both, a restarted one as well."""
    node.margin(-1)
    until(lambda: node.limits() == ONE_STEP, "one step down on both")
    node.kill_agent()
    node.kill_actor()
    node.start_actor()
    still = node.limits()
    until(node.free, "both lifted")

    assert ONE_STEP == still


def test_disabled(node: Heated) -> None:
    """The line that turned it on is taken out: the actor lifts what is on, and caps no more."""
    node.margin(-1)
    until(lambda: node.limits() == ONE_STEP, "one step down on both")
    node.policy.write_text("users = []\n")
    until(node.free, "both lifted")

    assert ["the policy does not allow it any more"] * 2 == [one["because"] for one in node.ended()]


def test_another_limit_is_left(node: Heated) -> None:
    """A limit that an operator set stays, however hot it is, and a person is called."""
    node.settings.keep(0, {"power.limit_mw": 500_000})
    node.margin(-1)
    until(lambda: [line for line in node.log("heat_needs_person") if line["subject"] == GPU], GPU)

    assert 500 == node.watts()


@soak
@pytest.mark.parametrize("state", STATES)
def test_killed_in_each_state(node: Heated, state: Callable[[Heated], None]) -> None:
    """Agent and actor killed in any state of the controller end restored when it is cool."""
    state(node)
    before = restarted(node)
    cooled(node)

    assert before >= 420


def cooled(node: Heated) -> None:
    """Let all be well again, and wait until nothing is held any more."""
    node.settings.keep(0, {"clocks.reasons": 1})
    node.room(inlet=24, gpu=61)
    node.margin(20)
    until(node.free, "both restored")


def restarted(node: Heated) -> int:
    """Kill agent and actor, and start both again; return what the GPU was held at."""
    assert node.agent is not None
    node.kill_agent()
    node.kill_actor()
    held = node.watts()
    node.start_actor()
    node.agent.again()
    return held
