"""Heat, end to end: a file rises, limits fall by the driver and by DCMI, and all is put back."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.heated import GPU, Heated, until

pytestmark = [
    pytest.mark.serial,
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


STATES: tuple[Callable[[Heated], None], ...] = (cooling, lying, floor, braked, hot)
# A soak goes through all of them, and kills each alone; a test run through one of both.
SOAK = int(os.environ.get("GPUDIAG_KILLS", "5")) > 5
MANY, WHO = (len(STATES), ("both", "agent", "actor")) if SOAK else (1, ("both",))


@pytest.fixture(name="node")
def _node(tmp_path: Path) -> Iterator[Heated]:
    """Run a node that is cool."""
    with Heated(tmp_path) as made:
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


@pytest.mark.parametrize("who", WHO)
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


@pytest.mark.parametrize("state", STATES[:MANY])
def test_killed_in_each_state(node: Heated, state: Callable[[Heated], None]) -> None:
    """Agent and actor killed in any state of the controller end restored when it is cool."""
    state(node)
    node.kill_agent()
    node.kill_actor()
    before = node.watts()
    node.start_actor()
    assert node.agent is not None
    node.agent.again()
    node.settings.keep(0, {"clocks.reasons": 1})
    node.room(inlet=24, gpu=61)
    node.margin(20)
    until(node.free, "both restored")

    assert before >= 420
