"""When packages were put in, as both package managers tell it."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.host.changes import (
    ARGV,
    MOST,
    NOTED,
    UPTIME,
    Noted,
    PackageChanges,
    Placed,
    collect,
    placed,
)
from collectors.node.live import Live
from tests.recording import recorded

DPKG = (
    "libnvidia-compute-570 570.133.20-0ubuntu0.24.04.1 1795931117\n"
    "nvidia-settings  \n"
    "linux-image-6.8.0-88-generic 6.8.0-88.89 1795940000\n"
)
OF_DPKG = (
    Placed(name="linux-image-6.8.0-88-generic", version="6.8.0-88.89", time=1_795_940_000.0),
    Placed(
        name="libnvidia-compute-570", version="570.133.20-0ubuntu0.24.04.1", time=1_795_931_117.0
    ),
)


def test_dpkg_tells_when_a_package_was_put_in(tmp_path: Path) -> None:
    """The newest comes first; what is known and not installed is left out."""
    command = {"argv": ["dpkg-query", *ARGV["dpkg-query"]], "stdout": DPKG, "status": 1}
    node = recorded(tmp_path, commands=[command], tools=tuple(ARGV))
    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, PackageChanges)
    assert ("dpkg-query", OF_DPKG) == (seen.tool, seen.packages)


def test_a_removed_package_of_which_settings_are_left_is_no_new_one() -> None:
    """dpkg lists it with the time of its removal, and its state says so."""
    text = "nvidia-driver-565 565.57.01-0ubuntu1 1795930872 config-files\n"
    old = "libnccl2 2.28.7-1 1795930871 installed\n"

    assert [("nvidia-driver-565", True), ("libnccl2", False)] == [
        (one.name, one.removed) for one in placed(text + old)
    ]


def test_what_the_agent_noted_and_when_the_node_was_started(tmp_path: Path) -> None:
    """The agent's file of this node is read, and the start is so long before now."""
    kept = {"schema": "gpudiag.changes/1", "node": "gpu-017", "had": [["a", "b", "c", "d"]]}
    one = {"time": 1.5, "kind": "firmware", "name": "the BMC", "before": "1.2", "after": "1.3"}
    command = {"argv": ["dpkg-query", *ARGV["dpkg-query"]], "stdout": DPKG, "status": 0}
    files = {NOTED: json.dumps({**kept, "changed": [one]}), UPTIME: "100.50 3091212.11\n"}
    node = recorded(tmp_path, files=files, commands=[command], tools=tuple(ARGV))
    seen = asyncio.run(collect(node, Wanted()))

    assert isinstance(seen, PackageChanges)
    assert (
        (Noted(time=1.5, kind="firmware", name="the BMC", before="1.2", after="1.3"),),
        100.5,
    ) == (seen.noted, round(seen.now - (seen.booted or 0.0), 3))


@pytest.mark.parametrize(("status", "cause"), [(2, Cause.CRASHED), (None, Cause.NOT_RECORDED)])
def test_an_error_is_no_list(tmp_path: Path, status: int | None, cause: Cause) -> None:
    """A manager that fails, or was not asked, is missing: no word that nothing changed."""
    argv = ["dpkg-query", *ARGV["dpkg-query"]]
    commands = [] if status is None else [{"argv": argv, "stdout": DPKG, "status": status}]
    tools = () if status is None else tuple(ARGV)
    seen = asyncio.run(collect(recorded(tmp_path, commands=commands, tools=tools), Wanted()))

    assert cause == (seen.cause if isinstance(seen, Missing) else None)


@pytest.mark.tool("dpkg-query")
async def test_the_real_tool_answers_in_this_form() -> None:
    """dpkg of this machine takes the format, and ends as it should."""
    node = Live()
    seen = await collect(node, Wanted())
    await node.close()

    assert isinstance(seen, PackageChanges)
    assert "dpkg-query" == seen.tool


@given(st.text())
def test_arbitrary_text_gives_a_bounded_list(text: str) -> None:
    """Whatever stands there, no more than MOST packages are taken from it."""
    assert len(placed(text)) <= MOST


@given(st.lists(st.sampled_from(OF_DPKG), max_size=8))
def test_each_package_is_told_once(packages: list[Placed]) -> None:
    """What is listed twice is one package."""
    text = "".join(f"{p.name} {p.version} {p.time:.0f}\n" for p in packages)

    assert (set(packages), len(set(packages))) == (set(placed(text)), len(placed(text)))
