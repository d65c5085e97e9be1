"""When the packages that a training node lives on were last put in, by the package manager."""

import re

import msgspec

from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

WHAT = "PackageChanges"
DEADLINE_S = 4.0
MOST = 400
# Driver, CUDA and NCCL, kernel, network, firmware, scheduler, containers.
NAMES = (
    *("nvidia-*", "libnvidia-*", "cuda-*", "libcuda*", "libnccl*", "libcudnn*", "kmod-nvidia*"),
    *("datacenter-gpu-manager*", "linux-image-*", "linux-modules-*", "kernel", "kernel-core"),
    *("kernel-modules*", "mlnx-*", "ofed-*", "doca-*", "rdma-core", "libibverbs*", "libmlx5*"),
    *("linux-firmware*", "slurm*", "docker*", "containerd*", "kubelet*", "lustre-client*"),
)
# Both programs read `\n` in a format themselves.
ARGV = {
    "dpkg-query": ("-W", "-f", r"${Package} ${Version} ${db-fsys:Last-Modified}\n", *NAMES),
    "rpm": ("-qa", "--qf", r"%{NAME} %{VERSION}-%{RELEASE} %{INSTALLTIME}\n", *NAMES),
}
# dpkg-query ends with 1 where one of the patterns names no package it knows, with 2 on an error.
ANSWERED = (0, 1)

# libnvidia-compute-570 570.133.20-0ubuntu0.24.04.1 1795931117
# kmod-nvidia-open-dkms 3:580.95.05-1.el9 1795931120
# nvidia-settings                                       known, and not installed
PACKAGE = re.compile(r"([A-Za-z0-9][\w.+-]{0,99}) ([\w.+:~^-]{1,99}) (\d{9,10})", re.ASCII)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A package with its version, and when that was put in (epoch seconds)."""

    name: str
    version: str
    time: float


class PackageChanges(Observation, frozen=True, kw_only=True):
    """The packages as `tool` lists them, the newest first; None where no such tool is.

    `now` is the node's wall clock at the look.
    """

    tool: str | None = None
    packages: tuple[Placed, ...] = ()
    now: float = 0.0


async def collect(node: Node, wanted: Wanted) -> PackageChanges | Missing:
    """Ask the first package manager that is there."""
    del wanted
    for tool, args in ARGV.items():
        got = await node.command(tool, *args, deadline_s=DEADLINE_S)
        if not isinstance(got, Missing):
            if got.status not in ANSWERED:
                detail = f"{tool} ended with status {got.status}"
                return Missing(what=WHAT, cause=Cause.CRASHED, detail=detail)
            return PackageChanges(tool=tool, packages=placed(got.stdout), now=node.now())
        if got.cause is not Cause.NO_TOOL:
            return msgspec.structs.replace(got, what=WHAT)
    return PackageChanges(now=node.now())


def placed(text: str) -> tuple[Placed, ...]:
    """Return the installed packages, each once, the newest first."""
    hits = (PACKAGE.fullmatch(line) for line in text.splitlines())
    found = dict.fromkeys((-float(hit[3]), hit[1], hit[2]) for hit in hits if hit)
    return tuple(Placed(name=n, version=v, time=-t) for t, n, v in sorted(found))[:MOST]
