"""End one process that holds a GPU after its job: by its own identity, and never by a name.

A pid alone may be another process by now. So the process is pinned by a pidfd first, and then its
start time, user and control group are compared with what was seen; whoever owned it is asked again.
"""

import hashlib
import os
import re
import select
import signal
import time
from pathlib import Path
from typing import NamedTuple

from collectors.helpers.children import processes as seen
from remediations.actor import controller
from remediations.actor.registry import Refused, Turn, question, verb
from remediations.actor.run import Unsure, run

FIRST_USER = 1000
# Between TERM and KILL, and until the kernel has taken a killed one down.
GRACE_S, DOWN_S = 30.0, 20.0
ASK_S = 10.0
# All times by this factor: 1 but in a rehearsal.
factor = 1.0
# States of a job that may still have a process somewhere.
ALIVE = frozenset(
    {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING"}
)
GPU = re.compile(r"/dev/nvidia\d+")
# 0::/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0
JOB = re.compile(r"/(?:[^/\n]*slurm[^/\n]*)/(?:uid_\d+/)?job_(\d{1,10})(?:/|$)", re.MULTILINE)
CONTAINER = re.compile(r"[-/:]([0-9a-f]{64})(?:\.scope)?(?:/|$)", re.MULTILINE)
# By what a path of its control group says: who knows whether the container runs.
RUNTIMES = (("kubepods", "crictl"), ("docker", "docker"), ("libpod", "podman"))


class Process(NamedTuple):
    """What the kernel says of a process; `uids` are all four of them."""

    start_ticks: int
    state: str
    uids: frozenset[int]
    cgroup: str
    devices: tuple[str, ...]


def look(pid: int) -> Process:
    """Read one process; OSError or ValueError where it is not there any more."""
    folder = f"/proc/{pid}"
    rest = seen.read(f"{folder}/stat").rpartition(") ")[2].split()
    uids = re.search(r"^Uid:((?:\s+\d+){4})$", seen.read(f"{folder}/status"), re.MULTILINE)
    if uids is None or len(rest) < 20:  # noqa: PLR2004 - the start time is the 20th after the name
        raise ValueError(pid)
    links = (seen.DEVICE.fullmatch(seen.link(str(path))) for path in Path(folder, "fd").iterdir())
    return Process(
        start_ticks=int(rest[19]),
        state=rest[0],
        uids=frozenset(int(uid) for uid in uids[1].split()),
        cgroup=seen.read(f"{folder}/cgroup"),
        devices=tuple(sorted({hit[1] for hit in links if hit})),
    )


def digest(cgroup: str) -> str:
    """Return by what a process's control groups are told: a line, whatever their number."""
    return hashlib.sha256(cgroup.encode()).hexdigest()[:32]


@question
def process_ended(state: Path, pid: int, start_ticks: int, uid: int, cgroup: str) -> bool:
    """Return whether this very process is gone; one that nobody has waited for yet is."""
    del state, uid, cgroup
    try:
        there = look(pid)
    except (OSError, ValueError):
        return True
    return there.start_ticks != start_ticks or there.state in "ZX"


@verb("process.end_orphan")
def end_process(turn: Turn, pid: int, start_ticks: int, uid: int, cgroup: str) -> str:
    """End it by TERM, and by KILL after a grace; Refused where it is not surely an orphan."""
    if uid < FIRST_USER:
        raise Refused("denied", f"uid {uid} is no user's: only those of {FIRST_USER} and above")
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return "it was gone already"
    except OSError as problem:
        raise Refused("denied", f"pid {pid}: {problem.strerror}") from None
    try:
        if objection := _objection(pid, start_ticks, uid, cgroup):
            raise Refused("denied", objection)
        return _end(handle, min(turn.left_s, GRACE_S * factor))
    finally:
        os.close(handle)


def _objection(pid: int, start_ticks: int, uid: int, cgroup: str) -> str | None:
    """Return why the pinned process is not the one, or not to be ended."""
    try:
        there = look(pid)
    except (OSError, ValueError):
        return f"pid {pid} cannot be read: it may just be ending"
    ids = ", ".join(map(str, sorted(there.uids)))
    against = {
        "is another process by now": there.start_ticks != start_ticks,
        f"runs as {ids}, and not as {uid} alone": there.uids != {uid},
        "was moved to another control group": digest(there.cgroup) != cgroup,
        "waits in the kernel (state D): no signal ends it": there.state == "D",
        "has no GPU open any more": not any(map(GPU.fullmatch, there.devices)),
    }
    said = next((words for words, so in against.items() if so), None)
    return owned(pid, there.cgroup) if said is None else f"pid {pid} {said}"


def owned(pid: int, cgroup: str) -> str | None:
    """Ask again, now, whoever owned it; return why it is no orphan, or that nobody can tell."""
    if (job := JOB.search(cgroup)) is not None:
        return _by_slurm(pid, job[1])
    for word, tool in RUNTIMES:
        if word in cgroup and (hit := CONTAINER.search(cgroup)) is not None:
            return _by_runtime(tool, hit[1])
    return f"no job and no container owned pid {pid}: whose it is only a person knows"


def _by_slurm(pid: int, job: str) -> str | None:
    """Return whether the job still has something here, by its steps and by the controller."""
    rows = controller.processes()
    if any(row[0] == pid for row in rows):
        return f"Slurm says that pid {pid} is of job {job}"
    if any(row[1] == job for row in rows):
        return f"job {job} still has a step on this node"
    known = controller.job(job)
    alive = known is not None and known.state in ALIVE
    return f"job {job} is {known.state}, by the controller" if known and alive else None


def _by_runtime(tool: str, container: str) -> str | None:
    listed = run(tool, "ps", "-q", "--no-trunc", seconds=ASK_S)
    if listed.status != 0:
        return f"it is not known whether its container is over: {tool}: {listed.said}"
    runs = container in listed.stdout.split()
    return f"container {container[:12]} runs, by {tool}" if runs else None


def _end(handle: int, grace_s: float) -> str:
    signal.pidfd_send_signal(handle, signal.SIGTERM)
    if _ended(handle, grace_s):
        return "it ended by TERM"
    signal.pidfd_send_signal(handle, signal.SIGKILL)
    if _ended(handle, DOWN_S * factor):
        return f"it ended by KILL, {grace_s:.0f} s after TERM"
    raise Unsure("killed, and still in the kernel: it may wait for a device or a file server")


def _ended(handle: int, seconds: float) -> bool:
    """Wait until the process has ended; a pidfd is readable then."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            return True
    return bool(poll.poll(0))
