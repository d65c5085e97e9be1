"""The clock by chrony's word, else by the kernel's."""

import asyncio
import ctypes
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.helpers.children import host
from collectors.host import clock
from collectors.host.clock import Clock
from collectors.node.live import Live
from tests.recording import recorded

ARGV = ["chronyc", "-n", "-c", "tracking"]
TRACKING = (
    "C0000217,192.0.2.23,3,1796053274.113,{offset},0.000012,0.000040,"
    "-11.214,0.001,0.031,0.008110,0.000702,64.5,{leap}\n"
)
KERNEL = {
    "state": 0,
    "status": 0x2001,
    "offset_s": 0.000412,
    "max_error_s": 0.021,
    "estimated_error_s": 0.0009,
}


def collected(tmp_path: Path, kernel: dict[str, Any] | None, stdout: str = "") -> Clock | Missing:
    """Collect from a recording in which chronyc printed *stdout*."""
    answer: dict[str, Any] = {"kind": "clock", "answer": kernel}
    if kernel is None:
        answer = {"kind": "clock", "missing": {"cause": "crashed", "detail": "adjtimex"}}
    command = {"argv": ARGV, "status": 0 if stdout else 1, "stdout": stdout}
    node = recorded(tmp_path, answers=[answer], commands=[command])
    return asyncio.run(clock.collect(node, Wanted()))


def test_chronys_word_goes_first(tmp_path: Path) -> None:
    """The kernel's own offset is 0 under chrony, which steers the clock in another way."""
    line = TRACKING.format(offset="-0.000031", leap="Normal")
    expected = Clock(synchronised=True, offset_s=-0.000031, source="chronyc", text=line.strip())

    assert expected == collected(tmp_path, KERNEL, line)


def test_chrony_without_a_source(tmp_path: Path) -> None:
    """Not synchronised: its offset of 0 says nothing."""
    line = TRACKING.format(offset="0.000000000", leap="Not synchronised")
    seen = collected(tmp_path, KERNEL, line)
    assert isinstance(seen, Clock)

    assert (False, None) == (seen.synchronised, seen.offset_s)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (KERNEL, Clock(synchronised=True, offset_s=0.000412, max_error_s=0.021)),
        (KERNEL | {"status": 0x2000}, Clock(synchronised=True, max_error_s=0.021)),
        (KERNEL | {"state": 5, "status": 0x40}, Clock(synchronised=False)),
        (KERNEL | {"status": 0x2041}, Clock(synchronised=False)),
    ],
    ids=["steered by ntpd or timesyncd", "steered otherwise", "never set", "given up"],
)
def test_the_kernels_word(tmp_path: Path, kernel: dict[str, Any], expected: Clock) -> None:
    """Its offset counts only while a service steers the clock by it."""
    assert expected == collected(tmp_path, kernel)


@pytest.mark.parametrize("kernel", [None, {"state": "well"}], ids=["refused", "garbled"])
def test_no_answer_is_missing(tmp_path: Path, kernel: dict[str, Any] | None) -> None:
    """Neither chrony nor the kernel: nothing is known."""
    assert isinstance(collected(tmp_path, kernel), Missing)


async def test_this_machine() -> None:
    """The real adjtimex(2) answers, and nothing is set by it."""
    node = Live()
    seen = await clock.collect(node, Wanted())
    await node.close()

    assert isinstance(seen, Clock)


def test_the_kernels_own_structure() -> None:
    """The size of `struct timex` on 64-bit Linux; a shorter one would be written past its end."""
    assert ctypes.sizeof(host.Timex) == 208


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever chronyc prints, reading it does not fail."""
    clock.parse(text)


@given(st.floats())
def test_an_offset_is_finite(offset: float) -> None:
    """A line whose offset is no number is no line of chrony."""
    got = clock.parse(TRACKING.format(offset=offset, leap="Normal"))
    finite = offset == offset and abs(offset) != float("inf")  # noqa: PLR0124 - the test for NaN

    assert (got is not None) == finite
