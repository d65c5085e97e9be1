"""Whose a process is, as its control groups say: a Slurm job, a container, a session, a service."""

import re
from typing import Literal

import msgspec

from collectors.facts.observation import Observation

OwnerKind = Literal["slurm", "kubernetes", "docker", "podman", "user", "service", "none"]


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The owner of a process; ids are whole, `unit` is a systemd unit's name.

    `user` is a login session or anything below user.slice, containers without root among them:
    the root's runtime does not know those. `none` is a process outside all of these.
    """

    kind: OwnerKind = "none"
    job: str | None = None
    step: str | None = None
    pod: str | None = None
    container: str | None = None
    unit: str | None = None
    uid: int | None = None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the reader's answer to `holders`; `devices` are paths below /dev."""

    pid: int
    start_ticks: int
    uid: int | None
    comm: str
    cgroup: str
    devices: tuple[str, ...]
    fds: int
    fd_limit: int | None = None


class HeldDevices(Observation, frozen=True, kw_only=True):
    """The whole answer to `holders`; `unseen` processes could not be looked at.

    `devices` counts /dev/nvidiaN: without one nobody is asked.
    """

    holders: tuple[Held, ...] = ()
    unseen: int = 0
    devices: int = 0


# 0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0         (v2)
# 4:memory:/slurm/uid_1000/job_88123/step_batch                          (v1)
# 3:cpuset:/slurm_gpu017/uid_1000/job_88123                              (v1, several slurmd)
SLURM = re.compile(
    r"/(?:(?:[^/]+_)?slurmstepd\.scope|slurm(?:_[^/]+)?)(?:/uid_(?P<uid>\d+))?/job_(?P<job>\d+)"
    r"(?:/step_(?P<step>[^/]+))?"
)

# 0::/kubepods.slice/.../kubepods-burstable-pod5a0c_..._11.slice/cri-containerd-<64 hex>.scope
# 5:devices:/kubepods/besteffort/pod5a0c2b1e-6a37-4b62-9a57-0d8d9c0f7e11/<64 hex>
# 0::/system.slice/containerd.service/kubepods-pod5a0c_..._11.slice:cri-containerd:<64 hex>
POD = re.compile(
    r"kubepods.*?pod(?P<pod>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
    r"(?:\.slice)?(?:[/:](?:[a-z-]+[-:])?(?P<container>[0-9a-f]{64}))?"
)

# 0::/system.slice/docker-<64 hex>.scope
# 5:devices:/docker/<64 hex>
DOCKER = re.compile(r"/docker[-/](?P<container>[0-9a-f]{64})")

# 0::/machine.slice/libpod-<64 hex>.scope/container
PODMAN = re.compile(r"/libpod-(?P<container>[0-9a-f]{64})")

# 0::/user.slice/user-1000.slice/session-3.scope
USER = re.compile(
    r"/user\.slice/user-(?P<uid>\d+)\.slice(?:/.*)?/(?P<unit>[^/]+\.(?:scope|service))"
)

# 0::/system.slice/nvidia-persistenced.service
SERVICE = re.compile(r"/system\.slice/(?:.*/)?(?P<unit>[^/:]+\.(?:service|scope))(?:/|$)")

CGROUP_CAP = 65_536


def owner(cgroup: str) -> Owner:
    """Return the owner that the text of /proc/PID/cgroup names.

    All hierarchies of v1 count: the memory controller may sit at the root while another does not.
    """
    paths = [
        line.split(":", 2)[2] for line in cgroup[:CGROUP_CAP].splitlines() if line.count(":") > 1
    ]
    for read in (_slurm, _pod, _container, _user, _service):
        for path in paths:
            if (found := read(path)) is not None:
                return found
    return Owner()


def _slurm(path: str) -> Owner | None:
    hit = SLURM.search(path)
    if hit is None:
        return None
    uid = int(hit["uid"]) if hit["uid"] else None
    return Owner(kind="slurm", job=hit["job"], step=hit["step"], uid=uid)


def _pod(path: str) -> Owner | None:
    hit = POD.search(path)
    if hit is None:
        return None
    return Owner(kind="kubernetes", pod=hit["pod"].replace("_", "-"), container=hit["container"])


def _container(path: str) -> Owner | None:
    if "/user.slice/" in path:
        return None
    if hit := DOCKER.search(path):
        return Owner(kind="docker", container=hit["container"])
    if hit := PODMAN.search(path):
        return Owner(kind="podman", container=hit["container"])
    return None


def _user(path: str) -> Owner | None:
    hit = USER.search(path)
    if hit is None:
        return None
    inner = DOCKER.search(path) or PODMAN.search(path)
    container = inner["container"] if inner else None
    return Owner(kind="user", uid=int(hit["uid"]), unit=hit["unit"], container=container)


def _service(path: str) -> Owner | None:
    hit = SERVICE.search(path)
    return Owner(kind="service", unit=hit["unit"]) if hit else None
