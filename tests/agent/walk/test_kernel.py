"""The kernel log of a walk: searched once, judged, and believed only where the kernel wrote it."""

import asyncio
import os
from pathlib import Path

import pytest

from agent.walk.kernel import collect
from agent.walk.walk import Selection, walk
from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing
from collectors.facts.wanted import Wanted
from collectors.kernel import log
from collectors.node.live import Live
from collectors.node.recorded import Recorded
from diagnostics.check import Limits
from diagnostics.checks.kernel.log import KernelLogLimits
from diagnostics.finding import Finding
from diagnostics.rules.kernel import KernelSymptoms
from tests.recording import recorded, write

CHECK = "driver.kernel_log"
FALLEN = "NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def test_a_log_that_cannot_be_read_is_missing_under_its_name(tmp_path: Path) -> None:
    """What the log lacks, its symptoms lack."""
    missing = Missing(what="KernelLog", cause=Cause.DENIED, detail="x", verb="kernel_log")

    assert missing == asyncio.run(collect(recorded(tmp_path), Wanted(), missing))


def test_a_recorded_log_of_100_000_lines_is_one_finding(tmp_path: Path) -> None:
    """A flood costs a walk no more than the search of it, and reads as one sentence."""
    write(tmp_path, files={"/proc/uptime": "200000.00 1.00\n"})
    lines = (
        f"3,{n},{100_000_000_000 + n},-;NVRM: Xid (PCI:0000:4e:00): 31, pid=8100, Ch {n:08x}\n"
        for n in range(100_000)
    )
    (tmp_path / "kmsg.log").write_text("".join(lines))
    node = Recorded(tmp_path)
    (stage,) = asyncio.run(walk(node, Wanted(), Selection(checks=(CHECK,)), {}))
    (finding,) = stage.results[0].findings

    assert ("xid_31", "info", 100_000) == (finding.fault, finding.severity, finding.count)


async def told(limits: Limits) -> list[Finding]:
    """Return what the check says of this machine's own ring."""
    node = Live()
    try:
        (stage,) = await walk(node, Wanted(), Selection(checks=(CHECK,)), {CHECK: limits})
    finally:
        await node.close()
    return list(stage.results[0].findings)


@pytest.mark.root
@pytest.mark.serial
async def test_a_line_written_to_the_real_ring_is_believed_in_trials_only() -> None:
    """/dev/kmsg itself: what a program writes has its facility, and only a setting believes it."""
    # An address of its own: the ring is the machine's, and keeps what other runs wrote.
    pci = f"{os.getpid() % 0x10000:04x}:4e:00"
    with open("/dev/kmsg", "wb", buffering=0) as ring:  # noqa: ASYNC230, PTH123 - a device, not a file
        ring.write(f"<3>{FALLEN.format(pci=pci)}\n".encode())
    plain = await told(KernelLogLimits())
    trial = await told(KernelLogLimits(written_lines=True))
    mine = [f for f in trial if f.subject.name == f"{pci}.0"]

    assert [] == [f for f in plain if f.subject.name == f"{pci}.0"]
    assert [("gpu_fell_off_bus", "critical", "kmsg")] == [
        (f.fault, f.severity, f.evidence[0].source) for f in mine
    ]
    assert mine[0].evidence[0].time_error_s is not None


async def test_this_machines_ring_is_searched() -> None:
    """The real log as it is: an observation with a number for each record, or why there is none."""
    node = Live()
    try:
        ring = await log.collect(node, Wanted())
        seen = await collect(node, Wanted(), ring)
    finally:
        await node.close()
    count = len(ring.records) if isinstance(ring, KernelLog) else None

    assert count == (seen.records if isinstance(seen, KernelSymptoms) else None)
