"""Slurm's word of the node: state and reason, from what scontrol prints."""

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collectors.facts.observation import Missing
from collectors.facts.wanted import Wanted
from collectors.jobs import node_reason
from collectors.jobs.node_reason import NodeReason
from collectors.jobs.running import JobsOnNode, Source
from tests.recording import recorded

SHOWN = """\
NodeName=gpu-017 Arch=x86_64 CoresPerSocket=48
   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.31
   Gres=gpu:h100:8(S:0-1)
   NodeAddr=gpu-017 NodeHostName=gpu-017 Version=24.05.4
   RealMemory=2063440 AllocMem=0 FreeMem=2001123 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-23T11:02:41 SlurmdStartTime=2026-11-23T11:04:02
   Reason=Kill task failed [root@2026-11-30T02:11:09]
"""
ARGV = ["scontrol", "show", "node", "gpu-017"]
USED = JobsOnNode(sources=(Source(name="slurm"),))


def told(folder: Path, jobs: JobsOnNode, status: int = 0) -> NodeReason | Missing:
    command = {"argv": ARGV, "status": status, "stdout": SHOWN, "stderr": "", "seconds": 0.1}
    node = recorded(folder, commands=[command], tools=["scontrol"])
    return asyncio.run(node_reason.collect(node, Wanted(), jobs))


def test_state_and_reason(tmp_path: Path) -> None:
    """Who drained it and when stand behind the reason."""
    expected = NodeReason(
        name="gpu-017",
        states=("IDLE", "DRAIN"),
        reason="Kill task failed",
        by="root",
        since="2026-11-30T02:11:09",
    )

    assert expected == told(tmp_path, USED)


def test_without_slurm_nobody_is_asked(tmp_path: Path) -> None:
    """A node of no cluster has no reason."""
    assert NodeReason() == told(tmp_path, JobsOnNode())


def test_a_refusal_is_missing(tmp_path: Path) -> None:
    """A controller that does not know the node says nothing of it."""
    assert isinstance(told(tmp_path, USED, status=1), Missing)


def test_a_name_is_a_name(tmp_path: Path) -> None:
    """What is no host name is put on no command line."""
    node = recorded(tmp_path)

    assert isinstance(asyncio.run(node_reason.asked(node, "--help")), Missing)


def test_signs_of_before_21_08_are_flags() -> None:
    """A node that does not answer, and one that waits for its reboot."""
    shown = [SHOWN.replace("IDLE+DRAIN", state) for state in ("DOWN*+DRAIN", "IDLE@")]

    assert [("DOWN", "NOT_RESPONDING", "DRAIN"), ("IDLE", "REBOOT_REQUESTED")] == [
        node_reason.parse("gpu-017", text).states for text in shown
    ]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Whatever scontrol prints, reading it does not fail."""
    node_reason.parse("gpu-017", text)


@given(st.sampled_from(["Kill task failed", "Not responding", "firmware update : again"]))
def test_a_reason_comes_back(reason: str) -> None:
    """A reason may hold colons; one without who gave it is whole."""
    shown = SHOWN.replace("Kill task failed [root@2026-11-30T02:11:09]", reason)

    assert (reason, None) == (
        (seen := node_reason.parse("gpu-017", shown)).reason,
        seen.by,
    )
