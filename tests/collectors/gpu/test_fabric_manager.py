"""The fabric manager's version."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.gpu.fabric_manager import TOOL, FabricManager, collect, version
from tests.recording import recorded

GPU = {"/sys/bus/pci/devices/0000:4e:00.0/uevent": "PCI_CLASS=30200\nPCI_ID=10DE:2330\n"}


def command(stdout: str, **more: Any) -> dict[str, Any]:
    return {"argv": [TOOL, "--version"], "stdout": stdout, **more}


@pytest.mark.parametrize(
    ("files", "commands", "expected"),
    [
        (GPU, [command("Fabric Manager version is : 580.95.05\n")], "580.95.05"),
        (GPU, [], None),
        ({}, [command("Fabric Manager version is : 580.95.05\n")], None),
    ],
)
def test_version(
    files: dict[str, str], commands: list[dict[str, Any]], expected: str | None, tmp_path: Path
) -> None:
    """The program tells its version; where it is absent, or no GPU is, there is none."""
    node = recorded(tmp_path, files=files, commands=commands, tools=[TOOL])
    assert FabricManager(version=expected) == asyncio.run(collect(node, Wanted()))


@pytest.mark.parametrize(
    ("told", "cause"),
    [(command("usage: ..."), Cause.GARBLED), (command("", seconds=9.0), Cause.TIMEOUT)],
)
def test_no_version(told: dict[str, Any], cause: Cause, tmp_path: Path) -> None:
    """A program that says something else, or nothing in time, leaves the version unknown."""
    node = recorded(tmp_path, files=GPU, commands=[told], tools=[TOOL])
    got = asyncio.run(collect(node, Wanted()))
    assert isinstance(got, Missing)
    assert cause is got.cause


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """What is found is a part of the text."""
    assert (version(text) or "") in text
