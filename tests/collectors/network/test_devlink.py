"""Adapters' own health and firmware by `devlink`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.answers import Output
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.devlink import (
    AdapterFirmware,
    AdapterHealth,
    Looking,
    Reporter,
    collect,
    firmwares,
    parse,
    reporters,
)
from collectors.network.ports import Port, Ports
from tests.recording import recorded

QUIET = KernelLog(records=())
PCI = "0000:1a:00.0"
CARD = Ports(ports=(Port(device="mlx5_0", port=1, pci=PCI),))
HEALTH = {
    "health": {
        f"pci/{PCI}": [
            {"reporter": "fw", "state": "healthy", "error": 0, "recover": 0},
            {"reporter": "fw_fatal", "state": "error", "error": 2, "recover": 1,
             "grace_period": 60000, "auto_recover": True},
        ],
        f"pci/{PCI}/65535": [{"reporter": "tx", "state": "healthy", "error": 0, "recover": 0}],
        "auxiliary/mlx5_core.eth.0": [{"reporter": "tx", "state": "healthy"}],
    }
}  # fmt: skip
INFO = {
    "info": {
        f"pci/{PCI}": {
            "driver": "mlx5_core",
            "versions": {
                "fixed": {"fw.psid": "MT_0000000838"},
                "running": {"fw.version": "28.41.1008", "fw": "28.41.1008"},
                "stored": {"fw.version": "28.43.2026", "fw": "28.43.2026"},
            },
        }
    }
}
REPORTERS = (
    Reporter(pci=PCI, name="fw", state="healthy"),
    Reporter(pci=PCI, name="fw_fatal", state="error", errors=2, recoveries=1),
    Reporter(pci=PCI, name="tx", state="healthy"),
)
FIRMWARE = AdapterFirmware(pci=PCI, psid="MT_0000000838", running="28.41.1008", stored="28.43.2026")


def said(words: str, answer: object = None, stderr: str = "") -> dict[str, Any]:
    stdout = "" if answer is None else json.dumps(answer)
    argv = ["devlink", "-j", *words.split()]
    return {"argv": argv, "status": int(bool(stderr)), "stdout": stdout, "stderr": stderr}


def test_reporters_and_firmware_are_read(tmp_path: Path) -> None:
    """Of functions and of their ports; another bus has no address to tell it by."""
    node = recorded(tmp_path, commands=[said("health show", HEALTH), said("dev info", INFO)])

    assert AdapterHealth(reporters=REPORTERS, firmware=(FIRMWARE,)) == asyncio.run(
        collect(node, Wanted(), CARD, QUIET)
    )


def test_firmware_that_differs_waits_for_a_reset() -> None:
    """Where flash and adapter have the same, or one is not told, nothing waits."""
    same = AdapterFirmware(pci=PCI, running="28.43.2026", stored="28.43.2026")
    untold = AdapterFirmware(pci=PCI, running="28.43.2026")

    assert [True, False, False] == [one.pending for one in (FIRMWARE, same, untold)]


@pytest.mark.parametrize("ports", [(), (Port(device="mlx5_4", port=1, virtual=True),)])
def test_without_an_adapter_nothing_is_asked(tmp_path: Path, ports: tuple[Port, ...]) -> None:
    """A guest's functions refuse registers, and log each refusal: they are not asked."""
    node = recorded(tmp_path)

    assert AdapterHealth() == asyncio.run(collect(node, Wanted(), Ports(ports=ports), QUIET))


def test_who_may_not_ask_asks_once(tmp_path: Path) -> None:
    """A refusal holds for the boot."""
    why = "kernel answers: Operation not permitted\n"
    node = recorded(
        tmp_path, commands=[said("health show", stderr=why), said("dev info", stderr=why)]
    )

    async def twice() -> list[Cause | None]:
        looking = Looking()
        seen = [await looking.collect(node, Wanted(), CARD, QUIET) for _ in range(2)]
        return [one.cause if isinstance(one, Missing) else None for one in seen]

    assert [Cause.DENIED, Cause.HELD_BACK] == asyncio.run(twice())


def test_one_silent_answer_leaves_the_other(tmp_path: Path) -> None:
    """Reporters are judged though no firmware was told, and the gap is named."""
    words = "Failed to connect to devlink Netlink"
    node = recorded(
        tmp_path, commands=[said("health show", HEALTH), said("dev info", stderr=f"{words}\n")]
    )
    seen = asyncio.run(collect(node, Wanted(), CARD, QUIET))

    assert isinstance(seen, AdapterHealth)
    gap = Missing(what="devlink dev info", cause=Cause.GARBLED, detail=words)
    assert (REPORTERS, (), (gap,)) == (seen.reporters, seen.firmware, seen.silent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_any_json_is_read(one: object, other: object) -> None:
    """Whatever stands at a handle, it is rows of the known shape or none at all."""
    text = json.dumps({"health": {f"pci/{PCI}": one, "pci/x": other}})
    table = parse("devlink", Output(argv=("devlink",), status=0, stdout=text, stderr=""))
    assert not isinstance(table, Missing)

    found = {row.pci for row in reporters(table)} | {row.pci for row in firmwares(table)}
    assert {PCI} >= found
