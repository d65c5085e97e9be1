"""The driver as modules and files show it."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.wanted import Wanted
from collectors.gpu.modules import DriverModules, Library, Module, collect, proc_version
from collectors.node.live import Live
from tests.recording import recorded

CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.173.02  Tue Jun 23 08:38:17 UTC 2026\n"
    "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2)\n"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.173  Release Build  (root@b)\n"
    "GCC version:  gcc version 13.3.0\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLOSED, "580.173.02"),
        (OPEN, "580.173"),
        ("GCC version:  gcc version 113.3.0\n", None),
        ("", None),
    ],
)
def test_both_spellings_name_their_version(text: str, expected: str | None) -> None:
    """The compiler's version on line 2 is never taken for the driver's."""
    assert expected == proc_version(text)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    """A version is digits and points, or none."""
    got = proc_version("NVRM version:" + text)

    assert got is None or got in text


def test_modules_and_libraries_of_a_node(tmp_path: Path) -> None:
    """States and versions from /sys/module; links that name no version are no copies."""
    lib = "/usr/lib/x86_64-linux-gnu"
    files = {
        "/sys/module/nvidia/initstate": "live\n",
        "/sys/module/nvidia/refcnt": "214\n",
        "/sys/module/nvidia_uvm/initstate": "coming\n",
        "/sys/module/nvidia_uvm/version": "580.173.02\n",
        "/sys/module/nvidia_drm/parameters/modeset": "N\n",
        "/proc/driver/nvidia/version": CLOSED,
        f"{lib}/libcuda.so": "",
        f"{lib}/libcuda.so.1": "",
        f"{lib}/libcuda.so.580.173.02": "",
        f"{lib}/libnvidia-ml.so.1": "",
        "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.580.65.06": "",
    }
    expected = DriverModules(
        modules=(
            Module(name="nvidia", state="live", version="580.173.02", users=214),
            Module(name="nvidia_uvm", state="coming", version="580.173.02"),
        ),
        libraries=(
            Library(folder=lib, name="libcuda", version="580.173.02"),
            Library(
                folder="/run/nvidia/driver/usr/lib64", name="libnvidia-ml", version="580.65.06"
            ),
        ),
        open_source=False,
    )

    assert expected == asyncio.run(collect(recorded(tmp_path, files=files), Wanted()))


async def test_this_machine_answers() -> None:
    """The real file system is read without an error."""
    node = Live()
    got = await collect(node, Wanted())
    await node.close()

    assert isinstance(got, DriverModules)
    assert got.live == Path("/sys/module/nvidia/initstate").exists()  # noqa: ASYNC240 - one stat
