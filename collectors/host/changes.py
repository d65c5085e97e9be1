"""What was changed on a node lately: packages by their manager, the rest as the agent noted it."""

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
# Written by the agent: what it saw to be otherwise than before, with the time of that look.
NOTED = "/var/lib/gpudiag/changes.json"
UPTIME = "/proc/uptime"
MOST_NOTED, FILE_CAP = 256, 1 << 20
DPKG = "${Package} ${Version} ${db-fsys:Last-Modified} ${db:Status-Status}"
# Both programs read `\n` in a format themselves.
ARGV = {
    "dpkg-query": ("-W", "-f", rf"{DPKG}\n", *NAMES),
    "rpm": ("-qa", "--qf", r"%{NAME} %{VERSION}-%{RELEASE} %{INSTALLTIME}\n", *NAMES),
}
# dpkg-query ends with 1 where one of the patterns names no package it knows, with 2 on an error.
ANSWERED = (0, 1)

# libnvidia-compute-570 570.133.20-0ubuntu0.24.04.1 1795931117 installed
# nvidia-driver-565 565.57.01-0ubuntu0.24.04.1 1795930872 config-files        removed then
# kmod-nvidia-open-dkms 3:580.95.05-1.el9 1795931120
# nvidia-settings   not-installed                       known, and not installed
PACKAGE = re.compile(
    r"([A-Za-z0-9][\w.+-]{0,99}) ([\w.+:~^-]{1,99}) (\d{9,10})(?: (?P<status>[a-z-]{1,30}))?",
    re.ASCII,
)
REMOVED = "config-files"
# 812041.40 3091212.11
UP = re.compile(r"(\d{1,12}(?:\.\d{1,3})?) ")


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A package with its version, and when that was put in (epoch seconds), or `removed`."""

    name: str
    version: str
    time: float
    removed: bool = False


class Noted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the agent saw to be otherwise at `time` (epoch seconds) than when it looked before.

    `subject` is the thing as findings name it (`gpu 0000:18:00.0`), empty for the node. `kind` is
    firmware, driver, part, setting, package or image; `after` is None for what is gone, `before`
    for what is new. Of a part the two serial numbers stand in `serial`: by that name a recording
    knows them for what they are.
    """

    time: float
    kind: str
    name: str
    subject: str = ""
    before: str | None = None
    after: str | None = None
    serial: tuple[str, str] | None = None


class _File(msgspec.Struct, frozen=True):
    node: str | None = None
    changed: tuple[Noted, ...] = ()


class PackageChanges(Observation, frozen=True, kw_only=True):
    """The packages as `tool` lists them, the newest first; None where no such tool is.

    `now` is the node's wall clock at the look, `booted` when the node was started. `noted` is empty
    where no agent has run.
    """

    tool: str | None = None
    packages: tuple[Placed, ...] = ()
    noted: tuple[Noted, ...] = ()
    booted: float | None = None
    now: float = 0.0


async def collect(node: Node, wanted: Wanted) -> PackageChanges | Missing:
    """Ask the first package manager that is there, and read what the agent noted."""
    del wanted
    return await found(node, NOTED)


async def found(node: Node, path: str) -> PackageChanges | Missing:
    """Do so with the notes of an agent that keeps them at *path*."""
    now = node.now()
    told = PackageChanges(
        noted=noted(await _text(node, path), (await node.identity()).node),
        booted=_booted(await _text(node, UPTIME), now),
        now=now,
    )
    for tool, args in ARGV.items():
        got = await node.command(tool, *args, deadline_s=DEADLINE_S)
        if not isinstance(got, Missing):
            if got.status not in ANSWERED:
                detail = f"{tool} ended with status {got.status}"
                return Missing(what=WHAT, cause=Cause.CRASHED, detail=detail)
            return msgspec.structs.replace(told, tool=tool, packages=placed(got.stdout))
        if got.cause is not Cause.NO_TOOL:
            return msgspec.structs.replace(got, what=WHAT)
    return told


async def _text(node: Node, path: str) -> str:
    """Return a file's text, empty where it cannot be seen: it only adds to what is known."""
    seen = await node.files(path, cap=FILE_CAP)
    return "" if isinstance(seen, Missing) else seen.get(path) or ""


def placed(text: str) -> tuple[Placed, ...]:
    """Return the packages that are or were installed, each once, the newest first."""
    hits = (PACKAGE.fullmatch(line) for line in text.splitlines())
    found = dict.fromkeys(
        (-float(hit[3]), hit[1], hit[2], hit["status"] == REMOVED) for hit in hits if hit
    )
    return tuple(
        Placed(name=name, version=version, time=-time, removed=removed)
        for time, name, version, removed in sorted(found)
    )[:MOST]


def noted(text: str, node: str) -> tuple[Noted, ...]:
    """Return what the agent of this node noted; a disk that was copied tells of another one."""
    try:
        kept = msgspec.json.decode(text, type=_File)
    except msgspec.DecodeError:
        return ()
    return kept.changed[-MOST_NOTED:] if kept.node == node else ()


def _booted(uptime: str, now: float) -> float | None:
    hit = UP.match(uptime)
    return now - float(hit[1]) if hit else None
