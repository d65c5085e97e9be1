"""A training job on a node: its processes, what it holds, what it does to GPUs and disks."""

from collections.abc import Sequence
from dataclasses import replace

from tests.nodes.build.bmc import at_work
from tests.nodes.build.gpus import Holder
from tests.nodes.build.host import Process
from tests.nodes.build.node import Node

CGROUP = "0::/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_{task}"
FIRST_PID = 218_731
USED_MIB, CONTEXT_MIB = 80_610, 540
# An H100 that trains: it draws what it may, so that the power cap (0x4) sets its clock.
BUSY = {
    "performance_state": 0,
    "clocks.sm_mhz": 1755,
    "clocks.graphics_mhz": 1755,
    "clocks.reasons": 4,
    "power.draw_mw": 691_000,
    "power.average_mw": 691_000,
    "power.instant_mw": 698_400,
    "temperature.gpu_c": 62,
    "temperature.margin_c": 25,
    "temperature.memory_c": 71,
}


def draws(milliwatts: int) -> dict[str, int]:
    """Return what a GPU says that draws so much, for Node.says."""
    return {f"power__{name}_mw": milliwatts for name in ("draw", "average", "instant")}


def training(
    node: Node,
    *,
    job: str = "88123",
    first: int = FIRST_PID,
    gpus: Sequence[int] = tuple(range(8)),
    used_mib: int = USED_MIB,
) -> Node:
    """Return the node with a job that has filled its GPUs and computes on them.

    It has run for six hours; rank n of this node is pid *first* + n, rank 8 + n of the job.
    """
    started = node.uptime_s - 21_600.0
    step = Process(first - 20, "slurmstepd", start_s=started)
    launcher = Process(first - 8, "torchrun", ppid=step.pid, start_s=started + 2)
    ranks = [
        Process(
            first + n,
            "python",
            state="R",
            ppid=launcher.pid,
            start_s=started + 9,
            cpu=n,
            threads=61,
        )
        for n in gpus
    ]
    for n in gpus:
        used = {
            "used_mib": used_mib,
            "use": 99,
            "computes": ((first + n, used_mib - CONTEXT_MIB),),
            "says": BUSY,
        }
        node = node.change_gpu(n, **used)
    held = tuple(_holder(first + n, n, job, started + 9, gpus) for n in gpus)
    return replace(
        node,
        processes=(*node.processes, step, launcher, *ranks),
        holders=(*node.holders, *held),
        bmc=at_work(node.bmc) if node.bmc else None,
        jobs=(
            *(node.jobs or ()),
            (launcher.pid, job, "0"),
            *((rank.pid, job, "0") for rank in ranks),
        ),
        drives=tuple(
            replace(drive, mib_per_s=2800, wait_ms=1.9) if drive.name != "nvme0" else drive
            for drive in node.drives
        ),
    )


def _holder(pid: int, n: int, job: str, start_s: float, gpus: Sequence[int]) -> Holder:
    environ = {
        "LOCAL_RANK": str(n),
        "MASTER_ADDR": "gpu-016",
        "NCCL_DEBUG": "WARN",
        "NCCL_IB_HCA": "mlx5",
        "RANK": str(8 + n),
        "SLURM_JOB_ID": job,
        "SLURM_STEP_ID": "0",
        "WORLD_SIZE": "64",
    }
    saved = (f"/data/runs/{job}/global_step41000/mp_rank_00_model_states.pt",) if n == 0 else ()
    return Holder(
        pid,
        "python",
        start_s,
        CGROUP.format(job=job, task=n),
        # Without --gpus-per-task each rank opens all devices that the job was given.
        tuple(gpus),
        uid=1000,
        fds=412,
        fd_limit=131072,
        environ=tuple(environ.items()),
        files=(f"/scratch/{job}/cache/rank{n}.bin", *saved),
    )
