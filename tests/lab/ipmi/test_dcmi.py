"""The node's power limit by real DCMI: read first, read back, and only then activated."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from collectors.helpers.children import tools
from collectors.helpers.children.loop import Refused
from remediations.actor import caps, clock, dcmi
from remediations.actor.registry import Kept
from remediations.policy import parse
from tests.lab.ipmi.bmc import Bmc

pytestmark = [pytest.mark.tool("ipmi_sim", "ipmitool", "cc"), pytest.mark.root]

ALLOWED = """allow_unproved = ["gpu.power_cap"]
[mode]
"gpu.power_cap" = "act"
[heat]
dcmi = true
"""
# As the simulated BMC is made: log only, 1 s to come down, 60 s of statistics.
GIVEN = ("Log Event to SEL", 1000, 60)
WHY = "two sensors agree that it is hot"


@pytest.fixture
def limited(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bmc]:
    """Run a BMC that can limit the node's power."""
    del kept
    folder = tmp_path / "bmc"
    folder.mkdir()
    with Bmc(folder, dcmi=True) as running:
        monkeypatch.setattr(tools, "given", {"ipmitool": running.tool})
        yield running


@pytest.fixture
def lent(tmp_path: Path, limited: Bmc, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Return what the gate gives, on a clock that stands 5 min further at each look."""
    del limited
    moments = itertools.count(10_000.0, 301.0)
    monkeypatch.setattr(clock, "up_s", lambda: next(moments))
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return Kept(state, parse(ALLOWED))


def tool(bmc: Bmc, *words: str) -> str:
    """Run the real ipmitool, as an operator would."""
    return run([bmc.tool, *words], capture_output=True, text=True, check=True).stdout


def limit(bmc: Bmc) -> dcmi.Limit:
    """Return what the BMC says now."""
    return dcmi.limit(tool(bmc, "dcmi", "power", "get_limit"))


def requests(bmc: Bmc) -> list[str]:
    """Return the limits that were set, as the BMC got them."""
    path = bmc.values / "dcmi-set"
    return path.read_text().splitlines() if path.exists() else []


def ended(kept: Kept) -> list[dict[str, Any]]:
    """Return how caps ended."""
    found: list[dict[str, Any]] = json.loads((kept.state / "caps.json").read_text())["ended"]
    return found


def test_a_limit_of_the_node(limited: Bmc, lent: Kept) -> None:
    """One step is 90 % of what was drawn; the action is none, other fields stay as they were."""
    answer = caps.cap_node(lent, 1, WHY)

    now = limit(limited)
    expected = dcmi.Limit(
        active=True, watts=1665, action="No Action", correction_ms=1000, sampling_s=60
    )
    assert ({"limit": 1665, "before": 1850}, expected) == (answer, now)
    assert ["dc 00 00 00 00 81 06 e8 03 00 00 00 00 3c 00"] == requests(limited)


def test_down_up_and_away(limited: Bmc, lent: Kept) -> None:
    """Two steps down, one up, and the last one deactivates the limit: there was none before."""
    watts = [caps.cap_node(lent, steps, WHY)["limit"] for steps in (1, 2, 1)]
    active = limit(limited).active
    caps.cap_node(lent, 0, WHY)

    expected = ([1665, 1480, 1665], True, False, "restored to 1850 W")
    assert expected == (watts, active, limit(limited).active, ended(lent)[-1]["how"])


@pytest.mark.parametrize("watts", ["0", "1700"])
def test_what_the_bmc_kept_is_kept_again(limited: Bmc, lent: Kept, watts: str) -> None:
    """A limit and an action that were set and not active are the BMC's again after ours."""
    tool(limited, "dcmi", "power", "set_limit", "limit", watts)
    tool(limited, "dcmi", "power", "set_limit", "action", "power_off")
    before = limit(limited)
    caps.cap_node(lent, 1, WHY)
    during = limit(limited)
    caps.lift_caps(lent)

    assert ("Hard Power Off & Log Event to SEL", "No Action") == (before.action, during.action)
    assert before == limit(limited)


def test_another_limit_is_respected(limited: Bmc, lent: Kept) -> None:
    """A limit that an operator activated is neither changed nor taken away."""
    tool(limited, "dcmi", "power", "set_limit", "limit", "1400")
    tool(limited, "dcmi", "power", "activate")
    with pytest.raises(Refused) as no:
        caps.cap_node(lent, 1, WHY)

    said = "another's limit of 1400 W is in force, and is left as it is"
    assert (said, 1400, True, 1) == (
        no.value.detail,
        limit(limited).watts,
        limit(limited).active,
        len(requests(limited)),
    )


def test_another_sets_it_meanwhile(limited: Bmc, lent: Kept) -> None:
    """An operator's limit that came after ours is left when ours ends."""
    caps.cap_node(lent, 1, WHY)
    tool(limited, "dcmi", "power", "set_limit", "limit", "1400")
    caps.lift_caps(lent)

    how = "left: another's limit of 1400 W is in force"
    assert (how, True, 1400) == (
        ended(lent)[-1]["how"],
        limit(limited).active,
        limit(limited).watts,
    )


def test_lifted_where_nobody_renews(limited: Bmc, lent: Kept) -> None:
    """The actor itself deactivates the limit when its lease has run out."""
    caps.cap_node(lent, 1, WHY)
    for _ in range(4):
        caps.caps_tick(lent.state, lent.policy)

    assert (False, "nobody renewed it") == (limit(limited).active, ended(lent)[-1]["because"])


def test_a_bmc_that_says_yes_and_does_nothing(limited: Bmc, lent: Kept) -> None:
    """What is not read back as it was set is not activated, and no cap is on."""
    (limited.values / "dcmi-fault").write_text("deaf")
    with pytest.raises(Refused, match="was set: not activated"):
        caps.cap_node(lent, 1, WHY)
    caps.caps_tick(lent.state, lent.policy)

    assert (False, GIVEN, []) == (
        limit(limited).active,
        (limit(limited).action, limit(limited).correction_ms, limit(limited).sampling_s),
        caps.caps(lent.state)["held"],
    )


def test_a_bmc_that_refuses(limited: Bmc, lent: Kept) -> None:
    """A completion code is told, and nothing was set."""
    (limited.values / "dcmi-fault").write_text("refuse")
    with pytest.raises(Refused) as no:
        caps.cap_node(lent, 1, WHY)

    assert "the BMC answers DCMI command 0x04 with code 0xd4" == no.value.detail
    assert [] == requests(limited)


def test_without_dcmi(tmp_path: Path, bmc: Bmc) -> None:
    """A BMC that has no DCMI is told so in one line, and nothing is kept."""
    del bmc
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    with pytest.raises(Refused):
        caps.cap_node(Kept(state, parse(ALLOWED)), 1, WHY)

    assert [] == caps.caps(state)["held"]


def test_not_opted_in(lent: Kept, limited: Bmc) -> None:
    """Where the site did not say dcmi, the BMC's limit is not touched."""
    policy = parse(ALLOWED.partition("[heat]")[0])
    with pytest.raises(Refused, match="allows no limit of the BMC"):
        caps.cap_node(Kept(lent.state, policy), 1, WHY)

    assert [] == requests(limited)


@pytest.mark.parametrize("steps", [-1, 5, 100])
def test_no_such_steps(lent: Kept, steps: int) -> None:
    """Below 60 % there is nothing to ask for."""
    with pytest.raises(Refused, match="end below the floor"):
        caps.cap_node(lent, steps, WHY)


class Killed(BaseException):
    """The actor is killed here."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("command", [dcmi.SET, dcmi.ACTIVATE])
def test_killed_in_the_middle(
    limited: Bmc, lent: Kept, monkeypatch: pytest.MonkeyPatch, *, command: int, after: bool
) -> None:
    """Killed before or after any request that changes something, nothing stays active for good."""
    real = dcmi._ask

    def kill(asked: int, *data: int) -> bytes:
        if asked == command and not after:
            raise Killed
        answer = real(asked, *data)
        if asked == command:
            raise Killed
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(dcmi, "_ask", kill)
        with pytest.raises(Killed):
            caps.cap_node(lent, 1, WHY)
    for _ in range(4):
        caps.caps_tick(lent.state, lent.policy)

    assert (False, []) == (limit(limited).active, caps.caps(lent.state)["held"])
