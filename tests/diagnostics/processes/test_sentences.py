"""What the checks of GPU processes say: each sentence names process, job and GPU."""

from collections.abc import Mapping, Sequence

import pytest

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.owner import Owner
from collectors.facts.processes import Process, ProcessTable
from collectors.gpu.bus import PciFunction, PciGpus
from collectors.gpu.nvml import Gpu, GpuProcess, GpuSnapshot
from collectors.host.blocked import BlockedTasks, Task
from collectors.host.holders import GpuHolders, Holder
from collectors.jobs.running import JobsOnNode, Source
from diagnostics.check import Check
from diagnostics.checks.driver.answers import answers
from diagnostics.checks.processes.blocked import blocked
from diagnostics.checks.processes.gpu_memory import gpu_memory
from diagnostics.checks.processes.orphaned import orphaned
from diagnostics.checks.processes.sharing import sharing
from diagnostics.checks.processes.zombie import zombie

GIB = 1 << 30
RANK = Holder(
    pid=4100,
    comm="python",
    start_s=900.0,
    uid=1000,
    minors=(3,),
    owner=Owner(kind="slurm", job="88123", step="0"),
    job="88123",
    rank=3,
)
LEFT = Holder(
    pid=3900,
    comm="python3",
    start_s=300.0,
    uid=1042,
    minors=(3,),
    owner=Owner(kind="slurm", job="77001", step="0"),
    job="77001",
)
HELD = GpuHolders(devices=8, holders=(RANK, LEFT))
JOBS = JobsOnNode(sources=(Source(name="slurm", running=("88123",)),), still_holding=(3900, 4100))
BOTH = JobsOnNode(sources=(Source(name="slurm", running=("88123", "77001")),))
GPU = Gpu(
    index=3,
    pci="0000:4e:00.0",
    minor=3,
    memory_total_bytes=80 * GIB,
    memory_used_bytes=79 * GIB,
    processes=(GpuProcess(pid=4100, used_bytes=4 * GIB), GpuProcess(pid=3900, used_bytes=74 * GIB)),
)
GPUS = GpuSnapshot(count=1, gpus=(GPU,))
TABLE = ProcessTable(
    uptime_s=9000.0,
    processes=(
        Process(pid=4000, comm="torchrun", state="S", ppid=1, start_s=890.0),
        Process(pid=4100, comm="python", state="D", ppid=4000, start_s=900.0),
    ),
)
STUCK = Task(pid=4100, comm="python", state="D", ppid=4000, still_s=312.4, wchan="nv_lock")
DEAD = Task(
    pid=4101, comm="python", state="Z", ppid=4000, still_s=400.0, owner=RANK.owner, threads=2
)
LOG = KernelLog(
    records=(
        Record(
            sequence=1,
            boot_s=8900.0,
            level=3,
            facility=0,
            text="INFO: task pt_main_thread:4188 blocked for more than 245 seconds.",
        ),
    )
)
HUNG = Missing(
    what="NVML", cause=Cause.TIMEOUT, detail="no answer in 15 s", stuck="pid 47, state D"
)
NOT_ASKED = Missing(what="NVML", cause=Cause.NOT_RECORDED, detail="the health was not asked")
LOST = GpuSnapshot(
    count=2, gpus=(Gpu(index=0, pci="0000:1b:00.0", minor=0), Gpu(index=3, error=15))
)
BUS = PciGpus(
    gpus=(
        PciFunction(address="0000:1b:00.0", model="2330", driver="nvidia"),
        PciFunction(address="0000:4e:00.0", model="2330", driver="nvidia"),
    ),
    minors=(0, 3),
)


@pytest.mark.parametrize(
    ("check", "facts", "expected"),
    [
        pytest.param(
            orphaned,
            (HELD, JOBS, TABLE, GPUS),
            "python3 (pid 3900, uid 1042) has GPU 3 (0000:4e:00.0) open, and job 77001 has no "
            "step left here",
            id="orphan",
        ),
        pytest.param(
            zombie,
            (BlockedTasks(tasks=(DEAD,)), HELD, JOBS, TABLE),
            "python (pid 4101, job 88123) has been dead for at least 400 s, and its parent "
            "torchrun (pid 4000) does not reap it",
            id="zombie",
        ),
        pytest.param(
            blocked,
            (BlockedTasks(tasks=(STUCK,)), TABLE, KernelLog(records=()), HELD),
            "python (pid 4100, rank 3 of job 88123) has slept uninterruptibly for at least 312 s, "
            "in nv_lock",
            id="asleep",
        ),
        pytest.param(
            blocked,
            (BlockedTasks(tasks=()), TABLE, LOG, HELD),
            "100 s ago the kernel said that pt_main_thread (task 4188) had been blocked for over "
            "245 s",
            id="told by the kernel",
        ),
        pytest.param(
            sharing,
            (GPUS, HELD, BOTH),
            "GPU 3 (0000:4e:00.0) is used by 2 jobs at once: job 88123 (python, pid 4100), job "
            "77001 (python3, pid 3900)",
            id="two jobs",
        ),
        pytest.param(
            gpu_memory,
            (GPUS, HELD, JOBS),
            "GPU 3 (0000:4e:00.0) uses 79.0 of 80.0 GiB (98.8 %): python3 (pid 3900, job 77001) "
            "holds 74.0 GiB of it, and job 88123 holds 4.0 GiB",
            id="memory of another",
        ),
        pytest.param(
            answers,
            (HUNG, NOT_ASKED, BUS, HELD, TABLE),
            "the driver did not answer NVML (no answer in 15 s): pid 47, state D",
            id="hung",
        ),
        pytest.param(
            answers,
            (LOST, NOT_ASKED, BUS, HELD, TABLE),
            "NVML reports GPU 3 (0000:4e:00.0) as lost (code 15); python (pid 4100, job 88123) and "
            "1 more have it open",
            id="lost",
        ),
    ],
)
def test_sentence(check: Check, facts: Sequence[Observation | Missing], expected: str) -> None:
    """An operator reads who, whose and where, and needs no second look-up."""
    shapes = [need.shape for need in check.needs]
    seen: Mapping[type[Observation], Observation | Missing] = dict(zip(shapes, facts, strict=True))

    assert [expected] == [finding.message for finding in check.run(seen).findings]
