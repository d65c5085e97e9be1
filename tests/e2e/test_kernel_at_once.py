"""R15: what the kernel says of a GPU is a finding of the running agent within 2 s."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import Agent, agent, until

# So that a line of this test, which is a program, is believed.
SETTINGS = """
[agent]
metrics = ""
walk_s = 60.0
[checks."driver.kernel_log"]
written_lines = true
"""


def lost(one: Agent, name: str) -> list[dict[str, Any]]:
    """Return the findings of a lost GPU of that address."""
    found = one.ask(ask="status")["ok"]["diagnosis"]["findings"]
    return [f for f in found if f["fault"] == "gpu_fell_off_bus" and f["subject"]["name"] == name]


@pytest.mark.root
@pytest.mark.serial
def test_a_lost_gpu_is_a_finding_within_two_seconds(tmp_path: Path) -> None:
    """A walk comes once a minute, and yet the line is judged as soon as it is written."""
    # An address of its own: the ring is the machine's, and keeps what other runs wrote.
    pci = f"{os.getpid() % 0x10000:04x}:5e:00"
    line = f"<3>NVRM: Xid (PCI:{pci}): 79, pid=9051, name=python, GPU has fallen off the bus.\n"
    with agent(tmp_path, SETTINGS) as one:
        one.told("WATCHDOG=1")
        # The agent listens from its start on; what it heard then is searched by now.
        time.sleep(2.0)
        before = lost(one, f"{pci}.0")
        began = time.monotonic()
        Path("/dev/kmsg").write_bytes(line.encode())
        until(lambda: lost(one, f"{pci}.0"), "the GPU is found lost")
        took = time.monotonic() - began

    assert ([], True) == (before, took <= 2.0)
