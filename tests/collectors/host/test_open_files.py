"""Files that GPU processes write."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.host import held, open_files
from collectors.host.open_files import OpenFile, OpenFiles
from collectors.node.protocol import Node
from tests.recording import recorded

DOCKER = f"0::/system.slice/docker-{'5a' * 32}.scope\n"


def holder(
    pid: int, cgroup: str = "0::/system.slice/slurmstepd.scope/job_88123\n"
) -> dict[str, Any]:
    return {
        "pid": pid,
        "start_ticks": 813000,
        "uid": 1000,
        "comm": "python",
        "cgroup": cgroup,
        "devices": ["/dev/nvidia0"],
        "fds": 120,
        "fd_limit": 65536,
    }


async def look(node: Node) -> OpenFiles | Missing:
    return await open_files.collect(node, Wanted(), await held.collect(node, Wanted()))


def collected(tmp_path: Path, *answers: dict[str, Any]) -> OpenFiles | Missing:
    """Collect on a node with one GPU."""
    node = recorded(tmp_path, files={"/dev/nvidia0": ""}, answers=answers)
    return asyncio.run(look(node))


def test_what_the_processes_on_gpus_write(tmp_path: Path) -> None:
    """A process in a container is not asked: its paths are not the node's."""
    seen = collected(
        tmp_path,
        {"kind": "holders", "answer": {"holders": [holder(701), holder(702, DOCKER)]}},
        {"kind": "open_files", "args": {"pids": [701]}, "answer": {"701": ["/data/a.pt"]}},
    )
    files = (OpenFile(pid=701, comm="python", path="/data/a.pt"),)

    assert OpenFiles(devices=1, processes=1, files=files) == seen


def test_a_node_without_gpu(tmp_path: Path) -> None:
    """Nobody is asked."""
    seen = asyncio.run(look(recorded(tmp_path)))

    assert OpenFiles(devices=0) == seen


def test_nobody_on_the_gpus(tmp_path: Path) -> None:
    """An idle node has no files to look at."""
    assert OpenFiles(devices=1) == collected(tmp_path, {"kind": "holders", "answer": {}})


@pytest.mark.parametrize(
    "answer",
    [
        {"missing": {"cause": "denied", "detail": "only root sees this", "verb": "open_files"}},
        {"answer": ["/data/a.pt"]},
    ],
    ids=["denied", "garbled"],
)
def test_no_answer_is_missing(tmp_path: Path, answer: dict[str, Any]) -> None:
    """Unseen files are not "no files"."""
    asked = {"kind": "open_files", "args": {"pids": [701]}, **answer}
    seen = collected(tmp_path, {"kind": "holders", "answer": {"holders": [holder(701)]}}, asked)

    assert isinstance(seen, Missing)
