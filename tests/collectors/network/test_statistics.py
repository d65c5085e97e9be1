"""Statistics of Ethernet cards: what `ethtool -S` prints, and when it is not asked any more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.statistics import EthernetStatistics, Sampling, collect, parse
from collectors.node.live import Live
from tests.recording import recorded

CARD = "/sys/class/net/eth0"
FILES = {f"{CARD}/type": "1\n", f"{CARD}/carrier": "1\n", f"{CARD}/device": ""}
QUIET = KernelLog(records=())
TEXT = """NIC statistics:
     rx_packets: 88120431
     rx_prio3_pause: 12
     tx_prio3_pause_duration: 60221
     rx_crc_errors_phy: 0
     rx0_packets: 5
     [0]: rx_ucast_packets: 91
"""


def said(stdout: str = "", stderr: str = "", status: int = 0, card: str = "eth0") -> dict[str, Any]:
    argv = ["ethtool", "-S", card]
    return {"argv": argv, "status": status, "stdout": stdout, "stderr": stderr}


def log(text: str) -> KernelLog:
    return KernelLog(records=(Record(sequence=1, boot_s=9.0, level=3, facility=0, text=text),))


def test_of_some_thousand_lines_those_of_the_link_are_taken() -> None:
    """Pauses and errors of the wire are; packets and queues are not."""
    expected = {"rx_prio3_pause": 12, "tx_prio3_pause_duration": 60221, "rx_crc_errors_phy": 0}

    assert expected == parse(TEXT)


def test_a_card_with_a_carrier_is_asked_twice(tmp_path: Path) -> None:
    """Where nothing rose, that is what is seen."""
    node = recorded(tmp_path, files=FILES, commands=[said(TEXT)])
    seen = asyncio.run(collect(node, Wanted(), QUIET))

    assert isinstance(seen, EthernetStatistics)
    assert (1, (), 1.0) == (seen.seen, seen.silent, seen.reading_s)


def test_a_card_without_a_carrier_is_not_asked(tmp_path: Path) -> None:
    """There is nothing to see, and no process is started for it."""
    files = {**FILES, f"{CARD}/carrier": "0\n"}

    assert EthernetStatistics() == asyncio.run(
        collect(recorded(tmp_path, files=files), Wanted(), QUIET)
    )


def test_a_refused_register_stops_the_questions(tmp_path: Path) -> None:
    """The kernel's line of this boot is enough: no tool is run, and it says why."""
    line = (
        "mlx5_core 0000:9b:00.0: mlx5_cmd_out_err:834:(pid 4401): ACCESS_REG(0x805) "
        "op_mod(0x1) failed, status bad parameter(0x3), syndrome (0x11c302), err(-22)"
    )
    seen = asyncio.run(collect(recorded(tmp_path, files=FILES), Wanted(), log(line)))

    assert isinstance(seen, Missing)
    assert (Cause.HELD_BACK, True) == (seen.cause, "ACCESS_REG(0x805)" in seen.detail)


def test_another_command_that_failed_stops_nothing(tmp_path: Path) -> None:
    """A card that could not make a queue has nothing to do with reading registers."""
    line = (
        "mlx5_core 0000:9b:00.0: mlx5_cmd_out_err:834:(pid 88): CREATE_QP(0x500) op_mod(0x0) "
        "failed, status limits exceeded(0x8), syndrome (0x0), err(-12)"
    )
    node = recorded(tmp_path, files=FILES, commands=[said(TEXT)])

    assert isinstance(asyncio.run(collect(node, Wanted(), log(line))), EthernetStatistics)


def test_a_refusal_holds_for_the_boot(tmp_path: Path) -> None:
    """Who is not permitted once asks no second time, and says that he does not."""
    refused = said(stderr="Cannot get stats strings information: Operation not permitted\n")
    node = recorded(tmp_path, files=FILES, commands=[{**refused, "status": 71}])

    async def twice() -> list[EthernetStatistics | Missing]:
        sampling = Sampling()
        return [await sampling.collect(node, Wanted(), QUIET) for _ in range(2)]

    first, second = asyncio.run(twice())

    assert isinstance(first, Missing)
    assert isinstance(second, Missing)
    assert (Cause.DENIED, Cause.HELD_BACK) == (first.cause, second.cause)


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    """What a driver prints is numbers by name, or nothing."""
    assert True is all(isinstance(value, int) for value in parse(text).values())


@pytest.mark.tool("ethtool")
def test_this_machines_cards_are_asked() -> None:
    """A real `ethtool` answers, or says why not; it never hangs and never raises."""

    async def look() -> EthernetStatistics | Missing:
        node = Live()
        try:
            return await collect(node, Wanted(sample_s=0.2), QUIET)
        finally:
            await node.close()

    assert isinstance(asyncio.run(look()), EthernetStatistics | Missing)
