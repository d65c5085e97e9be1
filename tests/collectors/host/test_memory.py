"""Host memory and its pressure."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.host import memory
from collectors.host.memory import HostMemory
from collectors.node.live import Live
from tests.recording import recorded

MEMINFO = (
    "MemTotal:       2113928240 kB\nMemFree:         9012844 kB\nMemAvailable:   1886232524 kB\n"
)
PRESSURE = (
    "some avg10=2.71 avg60=1.43 avg300=0.61 total=6924189\n"
    "full avg10=1.02 avg60=0.57 avg300=0.20 total=2200411\n"
)


def test_both_files(tmp_path: Path) -> None:
    """Bytes, and the last minute's shares with the line that says so."""
    node = recorded(tmp_path, files={"/proc/meminfo": MEMINFO, "/proc/pressure/memory": PRESSURE})
    expected = HostMemory(
        total_bytes=2113928240 * 1024,
        available_bytes=1886232524 * 1024,
        some_percent=1.43,
        full_percent=0.57,
        pressure_text="full avg10=1.02 avg60=0.57 avg300=0.20 total=2200411",
    )

    assert expected == asyncio.run(memory.collect(node, Wanted()))


@pytest.mark.parametrize("errors", [{}, {"/proc/pressure/memory": "EOPNOTSUPP"}])
def test_a_kernel_without_pressure(tmp_path: Path, errors: dict[str, str]) -> None:
    """Built without it the file is absent, switched off it cannot be read: not reported."""
    node = recorded(tmp_path, files={"/proc/meminfo": MEMINFO}, errors=errors)
    seen = asyncio.run(memory.collect(node, Wanted()))
    assert isinstance(seen, HostMemory)

    assert (None, None, None) == (seen.some_percent, seen.full_percent, seen.pressure_text)


def test_no_meminfo_is_missing(tmp_path: Path) -> None:
    """Without MemAvailable nothing is known."""
    seen = asyncio.run(memory.collect(recorded(tmp_path), Wanted()))
    assert isinstance(seen, Missing)

    assert seen.cause is Cause.GARBLED


async def test_this_machine() -> None:
    """A real kernel's files are understood."""
    node = Live()
    seen = await memory.collect(node, Wanted())
    await node.close()
    assert isinstance(seen, HostMemory)

    assert 0 < seen.available_bytes <= seen.total_bytes


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Nothing that stands in the files makes reading them fail."""
    memory.parse_meminfo(text)
    memory.parse_pressure(text)


@given(st.integers(0, 10**15 - 1), st.integers(0, 10_000))
def test_numbers_come_back(kib: int, hundredths: int) -> None:
    """What the kernel prints is what is read."""
    share = f"{hundredths // 100}.{hundredths % 100:02}"
    line = f"full avg10=0.00 avg60={share} avg300=0.00 total=1"

    assert {"MemTotal": kib * 1024} == memory.parse_meminfo(f"MemTotal: {kib:>12} kB")
    assert {"full": float(share)} == memory.parse_pressure(line)
