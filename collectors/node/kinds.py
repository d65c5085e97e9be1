"""The typed questions that helpers answer, and which helper answers each."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Child = Literal["reader", "nvml", "interfaces"]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of question.

    `resource` names what can hang; questions of one resource are asked one at a time, and `{arg}`
    in it is filled from the question. `privileged` kinds are asked of the root reader when we are
    not root ourselves. `files` kinds can be answered below `--root`.
    """

    child: Child = "reader"
    resource: str
    privileged: bool = False
    files: bool = False


KINDS: Mapping[str, Kind] = {
    "kernel_log": Kind(resource="kernel_log", privileged=True),
    "pstore": Kind(resource="pstore", privileged=True, files=True),
    "boot_before": Kind(resource="boot_before", privileged=True),
    "holders": Kind(resource="proc", privileged=True, files=True),
    "open_files": Kind(resource="proc", privileged=True, files=True),
    # These two wait for a lock of the process that they ask about, and it may be a stuck one.
    "environ": Kind(resource="proc-memory", privileged=True, files=True),
    "blocked": Kind(resource="proc-stack", privileged=True, files=True),
    # What a job writes may lie on a file server that is gone.
    "job_logs": Kind(resource="job-logs", privileged=True),
    "job_log": Kind(resource="job-log:{device}", privileged=True),
    "pod_logs": Kind(resource="pod-logs", privileged=True),
    "pod_log": Kind(resource="pod-logs", privileged=True),
    "dumps": Kind(resource="dumps", privileged=True),
    "activity": Kind(resource="proc", privileged=True),
    # A home may lie on a file server that is gone.
    "nccl_conf": Kind(resource="nccl-conf", privileged=True),
    "ras": Kind(resource="ras"),
    "nvml": Kind(child="nvml", resource="nvml"),
    "nvml_health": Kind(child="nvml", resource="nvml"),
    # It keeps a descriptor for each file that it reads, and the socket on which the kernel tells.
    "links": Kind(resource="links", files=True),
    "rdma_nodes": Kind(resource="files"),
    "clock": Kind(resource="files"),
    # Sites keep /etc/slurm on a network file system, whose server may be gone.
    "scheduled": Kind(resource="scheduled", files=True),
    "statfs": Kind(resource="mount:{point}"),
    "statfs_local": Kind(resource="mounts"),
    "statfs_root": Kind(resource="mount-root:{point}", privileged=True),
    "smart": Kind(resource="smart:{device}", privileged=True),
    "device_nodes": Kind(resource="device_nodes"),
    "interfaces": Kind(child="interfaces", resource="interfaces"),
    "mlxlink": Kind(resource="mlxlink:{device}"),
    "ibping": Kind(resource="ibping", privileged=True),
    "sminfo": Kind(resource="subnet", privileged=True),
    "neighbours": Kind(resource="subnet", privileged=True),
    "tcp": Kind(resource="tcp"),
    "acs": Kind(resource="pci", privileged=True),
    "module": Kind(resource="module:{device}", privileged=True),
    "bmc_info": Kind(resource="bmc", privileged=True),
    "bmc_sensors": Kind(resource="bmc", privileged=True),
    "bmc_sel": Kind(resource="bmc", privileged=True),
}

# Whoever answers these has devices of the driver open.
DRIVER = ("nvml", "device_nodes")


def resource(kind: str, args: Mapping[str, Any]) -> str:
    """Return the name of the one thing that this question can hang on."""
    return KINDS[kind].resource.format(**args)
