"""Modules by `ethtool -m`: heat and limits, cables that tell none, and who may ask."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.children.loop import Refused
from collectors.helpers.children.optics import module
from collectors.network.optics import Looking, Module, Optics, collect, parse
from tests.recording import recorded

CARD = "/sys/class/net/eth0"
FILES = {f"{CARD}/type": "1\n", f"{CARD}/carrier": "1\n", f"{CARD}/device": ""}
QUIET = KernelLog(records=())
TEXT = """\tIdentifier                                : 0x19 (OSFP 8X Pluggable Transceiver)
\tVendor name                               : Accelight
\tVendor PN                                 : OSFP-400G-DR4
\tModule temperature                        : 51.37 degrees C / 124.47 degrees F
\tModule temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F
\tModule temperature low alarm threshold    : -5.00 degrees C / 23.00 degrees F
\tModule temperature high warning threshold : 70.00 degrees C / 158.00 degrees F
"""
HOT = Module(
    name="eth0",
    part="Accelight OSFP-400G-DR4",
    celsius=51.37,
    warning_celsius=70.0,
    alarm_celsius=75.0,
)


def answer(stdout: str = "", stderr: str = "") -> dict[str, Any]:
    said = {"status": 0, "stdout": stdout, "stderr": stderr}
    return {"kind": "module", "args": {"device": "eth0"}, "answer": said}


def test_heat_and_its_limits_are_read() -> None:
    """The module's temperature and its high thresholds; low ones are no limits of heat."""
    assert HOT == parse("eth0", TEXT)


def test_each_card_with_a_carrier_is_asked(tmp_path: Path) -> None:
    """The reader answers, and what it says is the module."""
    node = recorded(tmp_path, files=FILES, answers=[answer(TEXT)])

    assert Optics(modules=(HOT,)) == asyncio.run(collect(node, Wanted(), QUIET))


def test_a_cage_that_tells_nothing_is_no_module(tmp_path: Path) -> None:
    """A board's own port has none, and that is no refusal."""
    said = answer(stderr="netlink error: Operation not supported\n")
    node = recorded(tmp_path, files=FILES, answers=[said])

    assert Optics() == asyncio.run(collect(node, Wanted(), QUIET))


def test_who_may_not_ask_asks_once(tmp_path: Path) -> None:
    """A refusal holds for the boot."""
    said = answer(stderr="netlink error: Operation not permitted\n")
    node = recorded(tmp_path, files=FILES, answers=[said])

    async def twice() -> list[Cause | None]:
        looking = Looking()
        seen = [await looking.collect(node, Wanted(), QUIET) for _ in range(2)]
        return [one.cause if isinstance(one, Missing) else None for one in seen]

    assert [Cause.DENIED, Cause.HELD_BACK] == asyncio.run(twice())


def test_a_reader_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    """No card has refused anything: it is asked again when the reader runs."""
    why = {"cause": "denied", "detail": "no reader is running", "verb": "module"}
    silent = {"kind": "module", "args": {"device": "eth0"}, "missing": why}
    node = recorded(tmp_path, files=FILES, answers=[silent])

    async def twice() -> list[Cause | None]:
        looking = Looking()
        seen = [await looking.collect(node, Wanted(), QUIET) for _ in range(2)]
        return [one.cause if isinstance(one, Missing) else None for one in seen]

    assert [Cause.DENIED, Cause.DENIED] == asyncio.run(twice())


@given(st.text(max_size=300))
def test_any_text_is_a_module(text: str) -> None:
    """What a tool prints has a temperature of three digits, or none."""
    celsius = parse("eth0", text).celsius

    assert True is (celsius is None or -1000 < celsius < 1000)


@pytest.mark.parametrize("name", ["", "-m", "eth0;reboot", "../eth0", "a" * 16])
def test_only_a_name_of_an_interface_is_asked_for(name: str) -> None:
    """What could be an option, a path or a command is refused before a tool is started."""
    with pytest.raises(Refused) as refused:
        module(name)

    assert "garbled" == refused.value.cause


@pytest.mark.root
@pytest.mark.tool("ethtool")
def test_a_real_tool_says_that_loopback_has_no_module() -> None:
    """The text that the kernel's refusal becomes is among those that are known."""
    said = module("lo")

    assert True is ("not supported" in said["stderr"] or "No such device" in said["stderr"])
