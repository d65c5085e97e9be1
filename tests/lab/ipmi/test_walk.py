"""The BMC's checks in a whole walk: real ipmitool, run by the reader, on a simulated BMC."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.walk.walk import Selection, walk
from collectors.facts.answers import Files
from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.node.live import Live
from diagnostics.catalog import DRIVER
from diagnostics.check import Result
from tests.lab.ipmi.bmc import Bmc

pytestmark = [pytest.mark.tool("ipmi_sim", "ipmitool"), pytest.mark.root]
CHECKS = tuple(check.name for check in DRIVER if check.name.startswith("bmc."))


class InBand(Live):
    """This machine, with the device of a BMC that it does not have."""

    async def files(
        self, *patterns: str, names: Sequence[str] = (), **more: Any
    ) -> Files | Missing:
        seen = await super().files(*patterns, names=names, **more)
        assert isinstance(seen, Files)
        if "/dev/ipmi0" in names:
            return Files(texts={**seen.texts, "/dev/ipmi0": ""}, errors=seen.errors)
        return seen


async def judged(tool: str, *checks: str) -> dict[str, Result]:
    """Walk the node for some checks, with *tool* as its ipmitool."""
    node = InBand(tools={"ipmitool": tool})
    try:
        stages = await walk(node, Wanted(), Selection(checks=checks or CHECKS), {})
    finally:
        await node.close()
    return {result.check: result for stage in stages for result in stage.results}


def told(results: dict[str, Result]) -> dict[str, tuple[str, str]]:
    """Return verdict and message of each check."""
    return {name: (result.verdict, result.message) for name, result in results.items()}


async def test_a_well_node(bmc: Bmc) -> None:
    """Each check says what it saw, with its numbers."""
    expected = {
        "bmc.answers": ("ok", "the BMC answers, firmware 9.08"),
        "bmc.inlet": ("ok", "inlet air at 24 C"),
        "bmc.chassis": ("ok", "1 GPU sensor of the BMC, the hottest at 61 C"),
        "bmc.fans": ("ok", "2 fans at 7100 to 7200 RPM"),
        "bmc.coolant": ("not_applicable", "the BMC lists no coolant sensor"),
        "bmc.power": ("ok", "2 of 2 supplies deliver, PSU Power 1850 W"),
        "bmc.events": ("ok", "2 entries of the last 24 h in the event log, none of harm"),
    }
    bmc.logged(2)

    assert expected == told(await judged(bmc.tool))


async def test_everything_at_once(bmc: Bmc) -> None:
    """Heat, a slow fan and a supply without input, each in its own words."""
    for name, value, raw in (("Inlet Temp", 46, 46), ("GPU0 Temp", 86, 86), ("FAN2", 300, 3)):
        bmc.set(name, value)
        bmc.shows(name, raw)
    bmc.set("PS2 Status", 0b1001)
    bmc.shows_states("PS2 Status", 0b1001)
    past = "the BMC reports"
    expected = {
        "bmc.inlet": (
            "fault",
            f"inlet air is at 46 C: {past} Inlet Temp past its upper critical threshold of 45 C",
        ),
        "bmc.chassis": (
            "warning",
            "the BMC reports GPU0 Temp at 86 C, past its upper non-critical threshold of 85 C",
        ),
        "bmc.fans": (
            "fault",
            f"FAN2 turns at 300 RPM: {past} it below its lower critical threshold of 500 RPM",
        ),
        "bmc.power": ("fault", "power supply PS2 Status reports its input lost"),
    }

    assert expected == told(await judged(bmc.tool, *expected))


async def test_nonsense_is_unknown(bmc: Bmc) -> None:
    """A sensor at the end of its range measures nothing, though the BMC finds it hot."""
    bmc.set("Inlet Temp", 255)
    bmc.shows("Inlet Temp", 255)
    expected = {
        "bmc.inlet": ("unknown", "failed: Inlet Temp: 255 C (raw 255) is no measurement"),
    }

    assert expected == told(await judged(bmc.tool, "bmc.inlet"))


async def test_a_wrong_password(bmc: Bmc) -> None:
    """What ipmitool says is the reason; the sensors are unknown and no fault."""
    tool = bmc.wrapper("stranger", password="other")  # noqa: S106 - of the simulated BMC
    why = "Error: Unable to establish IPMI v2 / RMCP+ session"
    expected = {
        "bmc.answers": ("warning", f"the BMC does not answer in band: {why}"),
        "bmc.inlet": ("unknown", f"failed: {why}"),
    }

    assert expected == told(await judged(tool, *expected))


async def test_a_silent_bmc(bmc: Bmc) -> None:
    """A BMC that is silent for 20 s costs the walk 10 s once, whatever else is asked of it."""
    bmc.stop()
    unknown = ("unknown", "no answer in time: ipmitool did not end in 10 s")
    why = "the BMC does not answer in band: ipmitool did not end in 10 s"
    expected = {**dict.fromkeys(CHECKS, unknown), "bmc.answers": ("warning", why)}

    assert expected == told(await judged(bmc.tool))
