"""The firmware of NVSwitches is what the kernel module wrote of them."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.switches import NvSwitch, NvSwitches, bios, collect
from collectors.node.live import Live
from tests.recording import recorded

DEVICES = "/proc/driver/nvidia-nvswitch/devices"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                f"{DEVICES}/0000:07:00.0/information": "BIOS Version: 96.10.5a.00.03\n",
                f"{DEVICES}/0000:08:00.0/information": "BIOS Version: N/A\n",
            },
            (
                NvSwitch(address="0000:07:00.0", bios="96.10.5a.00.03"),
                NvSwitch(address="0000:08:00.0"),
            ),
        ),
        ({f"{DEVICES}/odd/information": "BIOS Version: 96.10.5a.00.03\n"}, ()),
        ({"/proc/driver/nvidia-nvswitch/permissions": "DeviceFileMode: 438\n"}, ()),
        ({}, ()),
    ],
)
def test_seen(files: dict[str, str], expected: tuple[NvSwitch, ...], tmp_path: Path) -> None:
    """Each switch by its address; one that was not initialised has no version."""
    got = asyncio.run(collect(recorded(tmp_path, files=files), Wanted()))

    assert NvSwitches(switches=expected) == got


async def test_live() -> None:
    """Whatever this machine has, the question has an answer."""
    node = Live()
    got = await collect(node, Wanted())
    await node.close()

    assert not isinstance(got, Missing)


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """What is not a version is none."""
    assert bios(text) is None


@given(st.lists(st.integers(0, 255), min_size=5, max_size=5))
def test_every_version_comes_back(parts: list[int]) -> None:
    """Five bytes, as the module writes them."""
    version = ".".join(f"{part:02x}" for part in parts)

    assert version == bios(f"BIOS Version: {version}\n")
