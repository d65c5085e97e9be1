"""The subnet manager, opensm's unit, the switches; the real tools run in tests/lab/infiniband."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.network.ibping import Said
from collectors.network.neighbours import Hops, Neighbours
from collectors.network.ports import Port, Ports
from collectors.network.subnet import PATIENCE, SELDOM, Managers, SubnetManagers, answer, refused
from collectors.node.recorded import Recorded
from tests.recording import recorded, write

MASTER = (
    "sminfo: sm lid 1 sm guid 0x506b4b0300a1b2c4, activity count 5120 priority 14 "
    "state 3 SMINFO_MASTER\n"
)
SILENT = "/usr/sbin/sminfo: iberror: failed: query\n"
PORT = Port(device="mlx5_0", port=1, state="ACTIVE", lid=20)
PORTS = Ports(ports=(PORT,))
UNIT = "/etc/systemd/system/multi-user.target.wants/opensm.service"
CGROUPS = "/sys/fs/cgroup"
OF_A_PORT = "system-opensm.slice/opensm@0x1.service"


class Counted(Recorded):
    """A recorded node that counts how often it is asked."""

    asked = 0

    async def ask(self, kind: str, /, *, deadline_s: float = 5.0, **args: Any) -> Any:
        self.asked += 1
        return await super().ask(kind, deadline_s=deadline_s, **args)


def says(kind: str, *answers: Any) -> dict[str, Any]:
    return {"kind": kind, "args": {"devices": ["mlx5_0"]}, "answer": list(answers)}


def looked(tmp_path: Path, **parts: Any) -> SubnetManagers:
    node = recorded(tmp_path, answers=[says("sminfo", {"stdout": MASTER})], **parts)
    seen = asyncio.run(Managers().collect(node, Wanted(), PORTS))
    assert isinstance(seen, SubnetManagers)
    return seen


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CGROUPS}/system.slice/opensm.service/cgroup.procs": "901\n"}, True),
        ({f"{CGROUPS}/systemd/system.slice/opensmd.service/cgroup.procs": "901\n"}, True),
        ({f"{CGROUPS}/system.slice/{OF_A_PORT}/cgroup.procs": "9\n"}, True),
        ({f"{CGROUPS}/system.slice/sshd.service/cgroup.procs": "1\n"}, False),
        ({}, None),
    ],
    ids=["cgroup v2", "cgroup v1", "a unit a port", "not running", "no systemd"],
)
def test_whether_opensm_runs(
    tmp_path: Path,
    files: dict[str, str],
    expected: bool | None,  # noqa: FBT001 - a table's column
) -> None:
    """Its unit has a cgroup with a process while it runs, in each layout of cgroups."""
    assert expected is looked(tmp_path, files=files).running


@pytest.mark.parametrize(
    ("defaults", "expected"), [("PORTS=ALL\n", UNIT), ("# x\nPORTS=NONE\n", None)]
)
def test_a_unit_that_serves_no_port_is_not_meant_to_run(
    tmp_path: Path, defaults: str, expected: str | None
) -> None:
    """Debian's unit is enabled by its package, and PORTS=NONE switches it off."""
    files = {UNIT: "", "/etc/default/opensm": defaults}

    assert expected == looked(tmp_path, files=files).enabled


def test_our_servers_are_seen(tmp_path: Path) -> None:
    """The devices on which our unit answers pings are named by their instances."""
    units = [f"{CGROUPS}/system.slice/gpudiag-ibping@mlx5_{n}.service" for n in (0, 3)]
    files = {f"{unit}/cgroup.procs": "77\n" for unit in units}

    assert ("mlx5_0", "mlx5_3") == looked(tmp_path, files=files).serving


def test_a_tool_that_is_not_there_is_no_silence() -> None:
    """Only the tool's own failed query is silence of a manager; all else is our blindness."""
    said = [
        Said(status=255, stdout=SILENT),
        Said(stdout=MASTER),
        Said(status=1, stdout="sminfo: iberror: failed: Failed to open '(null)' port '0'"),
        Said(missing=Cause.NO_TOOL, detail="sminfo is not installed"),
    ]

    causes = [why and why.cause for why in map(refused, said)]
    assert [None, None, Cause.GARBLED, Cause.NO_TOOL] == causes


@given(st.text(), st.text())
def test_any_output_is_read(stdout: str, stderr: str) -> None:
    """No output makes the parser raise, and none without the line counts as an answer."""
    read = answer(PORT, Said(stdout=stdout, stderr=stderr))

    assert not read.answers or "SMINFO_" in stdout


def asked_in(tmp_path: Path, looks: int, said: dict[str, Any]) -> int:
    """Return how often a manager is asked in so many looks."""
    node = Counted(write(tmp_path, answers=[says("sminfo", said)]))

    async def look() -> None:
        managers = Managers()
        for _ in range(looks):
            await managers.collect(node, Wanted(), PORTS)

    asyncio.run(look())
    return node.asked


def test_a_manager_that_never_answers_is_asked_seldom(tmp_path: Path) -> None:
    """Its M_Key may refuse, and each refusal stands in its log: once an hour is enough."""
    silent = asked_in(tmp_path / "silent", 2 * SELDOM + 1, {"status": 255, "stdout": SILENT})
    master = asked_in(tmp_path / "master", 2 * SELDOM + 1, {"stdout": MASTER})

    assert (PATIENCE + 2, 2 * SELDOM + 1) == (silent, master)


INFO = "NodeType:........................Switch\nGuid:............................0x200000\n"


@pytest.mark.parametrize(("info", "asked", "known"), [(INFO, 3, 1), ("", 1, 0)])
def test_an_end_that_refuses_is_left_alone(
    tmp_path: Path, info: str, asked: int, known: int
) -> None:
    """A switch that does not name itself once is not asked again by this agent."""
    entry = {"info": {"stdout": info}, "name": {"stdout": "Node Description:....leaf-03\n"}}
    node = Counted(write(tmp_path, answers=[says("neighbours", entry)]))

    async def look() -> Neighbours | Missing:
        hops = Hops()
        first = await hops.collect(node, Wanted(), PORTS)
        for _ in range(2):
            await hops.collect(node, Wanted(), PORTS)
        return first

    seen = asyncio.run(look())
    assert isinstance(seen, Neighbours)
    assert (asked, known) == (node.asked, len(seen.neighbours))
