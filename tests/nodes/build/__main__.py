"""Write the recordings: all of them, or those that are named."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tests.nodes.build import (
    cascades,
    kubernetes,
    lean,
    logs,
    models,
    no_fault,
    rails,
    sick,
    sick_around,
    sick_chassis,
    sick_gpus,
    sick_nccl,
)
from tests.nodes.build.host import Process
from tests.nodes.build.jobs import training
from tests.nodes.build.node import Node

NODES = Path(__file__).parents[1]


def _training() -> Node:
    node = replace(training(models.h100()), logs={"train-88123.log": logs.healthy()})
    # One that waits for a disk while we look and one that was not yet reaped: no faults.
    busy = Process(219_904, "tar", state="D", ppid=990, start_s=1_209_000.0, switches=(9120, 9877))
    ended = Process(219_955, "logrotate", state="Z", ppid=1020, start_s=1_209_621.0, cpu=4)
    return replace(node, processes=(*node.processes, busy, ended))


ALL: Mapping[str, Callable[[], Node]] = {
    "h100-training": _training,
    "h100-idle": models.h100,
    "a100-idle": models.a100,
    "rtx4090-workstation": models.workstation,
    "cpu-only": models.cpu_only,
    "k8s-l40s": kubernetes.l40s,
    "h100-gpu-lost": sick.gpu_lost,
    "h100-gpu-lost-unlogged": sick.lost_unlogged,
    "h100-gsp-timeout": sick.gsp_timeout,
    "h100-driver-hung": sick.driver_hung,
    "h100-orphan": sick.orphan,
    "h100-two-jobs-one-gpu": sick.two_jobs,
    "h100-oom": sick.oom,
    "library-mismatch": sick.library_mismatch,
    "blind-driver-stage": sick.blind_driver_stage,
    "nfs-dead": sick_around.nfs_dead,
    "scratch-full-raid-degraded": sick_around.scratch,
    "ib-port-down": sick_around.port_down,
    "ib-no-sm": sick_around.no_subnet_manager,
    "nan-loss": sick_around.nan_loss,
    "unseen-as-user": sick_around.unseen_as_user,
    **lean.HEALTHY,
    **sick_gpus.NODES,
    **sick_chassis.NODES,
    **rails.HEALTHY,
    **rails.SICK,
    **sick_nccl.HEALTHY,
    **sick_nccl.SICK,
    **cascades.NODES,
    **no_fault.HEALTHY,
    **no_fault.WORKED_ON,
}


def main(names: list[str]) -> int:
    """Write the named recordings, or all."""
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.stderr.write(f"error: no such node: {unknown[0]}\nhelp: one of {', '.join(ALL)}\n")
        return 64
    for name in names or ALL:
        ALL[name]().recording().write(NODES / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
