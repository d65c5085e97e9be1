"""NVMe drives on PCI, their controllers and their health."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import nvme
from collectors.host.nvme import Drive, Health, NvmeDrives
from collectors.node.live import Live
from tests.recording import recorded

LOG = {
    "critical_warning": 0,
    "temperature": 38,
    "available_spare": 97,
    "available_spare_threshold": 10,
    "percentage_used": 12,
    "data_units_read": 911204,
    "media_errors": 0,
    "temperature_sensors": [38, 44],
}


def function(address: str, *, driver: str = "", kind: str = "10802") -> dict[str, str]:
    bound = f"DRIVER={driver}\n" if driver else ""
    text = f"{bound}PCI_CLASS={kind}\nPCI_ID=144D:A80A\nPCI_SLOT_NAME={address}\n"
    return {f"/sys/bus/pci/devices/{address}/uevent": text}


def controller(name: str, address: str, state: str, transport: str = "pcie") -> dict[str, str]:
    values = {
        "address": address,
        "state": state,
        "transport": transport,
        "model": "MODEL 3T84          ",
        "serial": "S0000000000001      ",
    }
    return {f"/sys/class/nvme/{name}/{key}": f"{value}\n" for key, value in values.items()}


def test_pci_is_joined_with_controllers(tmp_path: Path) -> None:
    """Live, dead, unbound and given away; SMART is asked of the live one alone."""
    files = {
        **function("0000:21:00.0", driver="nvme"),
        **function("0000:22:00.0", driver="nvme"),
        **function("0000:23:00.0"),
        **function("0000:24:00.0", driver="vfio-pci"),
        **function("0000:4e:00.0", driver="nvidia", kind="30200"),
        **controller("nvme0", "0000:21:00.0", "live"),
        **controller("nvme1", "0000:22:00.0", "dead"),
        **controller("nvme2", "traddr=192.0.2.9,trsvcid=4420", "live", "tcp"),
    }
    answer = {"kind": "smart", "args": {"device": "nvme0"}}
    answer |= {"answer": {"nvme_smart_health_information_log": LOG}}
    node = recorded(tmp_path, files=files, answers=[answer])
    drive = partial(Drive, driver="nvme", model="MODEL 3T84", serial="S0000000000001")
    health = Health(
        critical_warning=0,
        available_spare=97,
        available_spare_threshold=10,
        percentage_used=12,
        media_errors=0,
        temperature=38,
    )
    expected = NvmeDrives(
        drives=(
            drive(address="0000:21:00.0", name="nvme0", state="live", health=health),
            drive(address="0000:22:00.0", name="nvme1", state="dead"),
            Drive(address="0000:23:00.0"),
            Drive(address="0000:24:00.0", driver="vfio-pci"),
        )
    )

    assert expected == asyncio.run(nvme.collect(node, Wanted()))


def test_a_drive_that_smartctl_cannot_ask(tmp_path: Path) -> None:
    """The reason stands at the drive; the others are judged."""
    files = {
        **function("0000:21:00.0", driver="nvme"),
        **controller("nvme0", "0000:21:00.0", "live"),
        **function("0000:22:00.0", driver="nvme"),
        **controller("nvme1", "0000:22:00.0", "live"),
    }
    timeout = {"cause": "timeout", "detail": "no answer in 10 s"}
    node = recorded(
        tmp_path,
        files=files,
        answers=[
            {"kind": "smart", "args": {"device": "nvme0"}, "missing": timeout},
            {"kind": "smart", "args": {"device": "nvme1"}, "answer": {"smart_status": {}}},
        ],
    )
    seen = asyncio.run(nvme.collect(node, Wanted()))
    assert isinstance(seen, NvmeDrives)
    expected = [("SMART of nvme0", "timeout"), ("SMART of nvme1", "garbled")]

    assert expected == [(d.missing.what, d.missing.cause) for d in seen.drives if d.missing]


async def test_this_machine() -> None:
    """Whatever drives there are here, they are listed."""
    node = Live()
    seen = await nvme.collect(node, Wanted())
    await node.close()

    assert not isinstance(seen, Missing)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON | st.builds(lambda log: {"nvme_smart_health_information_log": log}, JSON))
def test_any_answer_is_read(answer: Any) -> None:
    """Whatever smartctl's JSON holds, reading it does not fail."""
    nvme.parse(answer)


@given(st.fixed_dictionaries(dict.fromkeys(Health.__struct_fields__, st.integers(0, 2**64))))
def test_numbers_come_back(log: dict[str, int]) -> None:
    """What the drive reports is what is read."""
    assert Health(**log) == nvme.parse({"nvme_smart_health_information_log": log})
