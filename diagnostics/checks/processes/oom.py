"""What the kernel killed for want of memory."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from collectors.facts.kernel_log import KernelLog, Record
from collectors.facts.subject import Subject
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, Finding, Statement, Well, found

# oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,
#   oom_memcg=/slurm/uid_1000/job_88123,task_memcg=/slurm/uid_1000/job_88123/step_0,
#   task=python,pid=4242,uid=1000
CONSTRAINT = re.compile(
    r"oom-kill:constraint=\w+,.*?,task_memcg=(?P<cgroup>/.*),task=.*,pid=(?P<pid>\d{1,10}),uid=\d+"
)
# Memory cgroup out of memory: Killed process 4242 (python) total-vm:201444kB, anon-rss:124000kB
# Out of memory: Killed process 4242 (python), UID 1000, total-vm:201444kB, anon-rss:124000kB
# Out of memory: Kill process 4242 (python) score 987 or sacrifice child        (before Linux 5.3)
KILL = re.compile(
    r"(?P<scope>Memory cgroup out of memory|Out of memory(?: \(oom_kill_allocating_task\))?)"
    r": Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<comm>.*)\)(?:,| total-vm:| score )"
    r"(?:.*?anon-rss:(?P<rss_kb>\d{1,15})kB)?"
)
# /slurm/uid_1000/job_88123/step_0, /system.slice/slurmstepd.scope/job_88123/step_0/user/task_3
SLURM_JOB = re.compile(r"/job_(\d+)(?:/|$)")

AT_LIMIT = (
    "the kernel killed process {pid} ({comm}) of {owner}: its cgroup's memory limit was reached"
)
NODE_FULL = "the kernel killed process {pid} ({comm}) of {owner}: the node had no memory left"
# The kernel's clock runs free of NTP, and /proc/stat gives the time of boot in whole seconds.
CLOCK_ERROR_S = 2.0


class OomLimits(Limits, frozen=True, kw_only=True):
    """What counts as recent, and whose lines are believed."""

    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which a kill stays a warning")
    ] = 24.0
    written_lines: Annotated[
        bool,
        msgspec.Meta(description="believe what programs write to /dev/kmsg too; for trials only"),
    ] = False


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One process killed; `cgroup` is None where the kernel did not name it."""

    record: Record
    own_limit: bool
    pid: int
    comm: str
    cgroup: str | None
    held_gib: float | None

    @property
    def job(self) -> str | None:
        """Return the Slurm job by the cgroup's path."""
        hit = SLURM_JOB.search(self.cgroup or "")
        return hit[1] if hit else None


@check("processes.oom", stage="processes", faults=("process_oom_killed",), proved="documented")
def oom(log: KernelLog, limits: OomLimits) -> Iterator[Statement]:
    """No process was killed by the kernel for want of memory.

    A killed rank leaves its peers waiting in a collective until their timeout, which then reads
    like a network fault. A cgroup at its own limit is the job's affair, a full node is not.
    """
    kills = tuple(parse(log.by_kernel(or_programs=limits.written_lines)))
    for same in _alike(kills):
        yield _told(log, same, limits)
    if not kills:
        yield Well(message=f"no kill in {len(log.records)} kernel records")


def parse(records: Iterable[Record]) -> Iterator[Kill]:
    """Yield the kills; the line before each names the cgroup of the process that was chosen."""
    cgroups: dict[int, str] = {}
    for record in records:
        if hit := CONSTRAINT.match(record.text):
            cgroups[int(hit["pid"])] = hit["cgroup"]
        elif hit := KILL.match(record.text):
            pid = int(hit["pid"])
            yield Kill(
                record=record,
                own_limit=hit["scope"].startswith("Memory cgroup"),
                pid=pid,
                comm=hit["comm"],
                cgroup=cgroups.pop(pid, None),
                held_gib=round(int(hit["rss_kb"]) / (1 << 20), 1) if hit["rss_kb"] else None,
            )


def _alike(kills: Iterable[Kill]) -> Iterable[tuple[Kill, ...]]:
    """Put together what was killed by one name, in one cgroup, for one reason."""
    groups: dict[tuple[bool, str, str | None], list[Kill]] = {}
    for kill in kills:
        groups.setdefault((kill.own_limit, kill.comm, kill.cgroup), []).append(kill)
    return map(tuple, groups.values())


def _told(log: KernelLog, same: tuple[Kill, ...], limits: OomLimits) -> Finding:
    kill = same[-1]
    hours = log.age_s(kill.record) / 3600
    time = log.wall(kill.record)
    return found(
        "process_oom_killed",
        "warning" if hours <= limits.recent_h else "info",
        Subject(kind="process", name=str(kill.pid), pid=kill.pid, job=kill.job),
        AT_LIMIT if kill.own_limit else NODE_FULL,
        Evidence(
            source="kmsg",
            text=kill.record.text,
            time=time,
            time_error_s=None if time is None else CLOCK_ERROR_S,
            values={
                "sequence": kill.record.sequence,
                "hours_ago": round(hours, 1),
                "held_gib": kill.held_gib,
                "cgroup": kill.cgroup,
            },
        ),
        kind="event",
        variant="cgroup" if kill.own_limit else "node",
        count=len(same),
        first_seen=log.wall(same[0].record),
        last_seen=time,
        pid=kill.pid,
        comm=kill.comm,
        owner=f"job {kill.job}" if kill.job else kill.cgroup or "an unnamed cgroup",
    )
