"""A live agent and a real link: told within 3 s when it goes down, until it has settled."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents import Agent, agent, until

SOON_S = 3.0
SETTLE_S = 2.0
SETTINGS = f"""
[agent]
metrics = ""
walk_s = 10

[network.roles]
compute = ["near"]

[checks."network.interfaces"]
settle_s = {SETTLE_S}
"""
# The agent's own process goes into the namespace, with a /sys that shows its interfaces.
INSIDE = """
import os, sys
argv = ["ip", "netns", "exec", {name!r}, sys.executable, "-I", "-m", "agent", *sys.argv[1:]]
os.execvp("ip", argv)
"""


@pytest.fixture
def space() -> Iterator[str]:
    """A network namespace with two ends of a cable, both up."""
    name = f"agent{os.getpid()}"

    def run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True)

    run("ip", "netns", "add", name)
    try:
        run(*("ip", "-n", name, "link", "add", "near", "type", "veth", "peer", "name", "far"))
        for end in ("near", "far", "lo"):
            run("ip", "-n", name, "link", "set", end, "up")
        yield name
    finally:
        run("ip", "netns", "delete", name)


def findings(one: Agent) -> list[dict[str, Any]]:
    """Return what the agent says of the interface now."""
    diagnosis = one.ask(ask="status")["ok"]["diagnosis"] or {}
    told: list[dict[str, Any]] = diagnosis.get("findings", [])
    return [f for f in told if f["fault"] == "nic_link_down" and f["severity"] != "info"]


def waited(one: Agent, *, told: bool) -> float:
    """Return after how long the link's fault was told, or was not told any more."""
    began = time.monotonic()
    until(lambda: bool(findings(one)) is told, f"fault told: {told}")
    return time.monotonic() - began


@pytest.mark.root
@pytest.mark.tool("ip")
@pytest.mark.serial
def test_a_pulled_cable_is_told_at_once_and_cleared_when_it_has_settled(
    tmp_path: Path, space: str
) -> None:
    """Down: within 3 s. Up again: still told until it was up for the settling time, then not."""
    far = ("ip", "-n", space, "link", "set", "far")
    with agent(tmp_path, SETTINGS, ("-c", INSIDE.format(name=space))) as one:
        one.told("WATCHDOG=1")
        before = findings(one)
        subprocess.run((*far, "down"), check=True)
        took = waited(one, told=True)
        name = findings(one)[0]["subject"]["name"]
        subprocess.run((*far, "up"), check=True)
        cleared = waited(one, told=False)

    assert ([], True, "near", True) == (
        before,
        took <= SOON_S,
        name,
        cleared >= SETTLE_S,
    )
