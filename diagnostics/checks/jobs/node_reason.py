"""Why Slurm took this node out of use."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from collectors.facts.observation import Missing
from collectors.jobs.lost_steps import LostSteps
from collectors.jobs.node_reason import NodeReason
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found

# In these a node takes no job; DRAIN alone is also what an administrator does on purpose.
OUT = frozenset({"DRAIN", "DRAINED", "DRAINING", "DOWN", "FAIL", "FAILING", "INVAL", "INVALID_REG"})


class Meaning(msgspec.Struct, frozen=True):
    """What one of Slurm's own reasons means; a person's are in a person's words."""

    pattern: re.Pattern[str]
    fault: str
    severity: Severity
    template: str


KILL = "Slurm took this node out of use: the processes of a job could not be killed"
SILENT = "Slurm got no answer from this node's slurmd"
GPUS = "Slurm found {present} GPUs on this node and wants {wanted}"
MEMORY = "Slurm found less memory on this node than its settings say"
BOOT = "Slurm saw that this node had started anew without being asked to"

MEANINGS = (
    # Kill task failed; with UnkillableStepProgram also: Unkillable step
    Meaning(
        re.compile(r"Kill task failed|Unkillable step"), "slurm_kill_task_failed", "warning", KILL
    ),
    Meaning(re.compile(r"Not responding"), "slurmd_not_responding", "warning", SILENT),
    # gres/gpu count reported lower than configured (7 < 8)
    Meaning(
        re.compile(
            r"gres/gpu\S{0,60} count (?:reported lower than configured|too low)"
            r" \((?P<present>\d{1,4}) < (?P<wanted>\d{1,4})\)"
        ),
        "gpu_count_mismatch",
        "critical",
        GPUS,
    ),
    # Low RealMemory (reported:1031720 < 100.00% of configured:2063440)
    Meaning(re.compile(r"Low RealMemory"), "host_memory_missing", "warning", MEMORY),
    Meaning(re.compile(r"Node unexpectedly rebooted"), "unexpected_reboot", "warning", BOOT),
)


@check(
    "jobs.node_reason",
    stage="processes",
    faults=tuple(meaning.fault for meaning in MEANINGS),
    proved="real-tool",
)
def node_reason(seen: NodeReason, lost: LostSteps | Missing) -> Iterator[Statement]:
    """Slurm has not taken this node out of use for a fault that it saw.

    Its reason is often the first word of a fault, hours before anybody looks: a task that cannot be
    killed stands in a driver or a file system, and a count that is too low is a GPU that is gone.
    """
    if seen.name is None:
        yield NotApplicable(why="no slurmd runs here")
        return
    if not OUT & set(seen.states) or seen.reason is None:
        yield Well(f"Slurm's state of this node: {'+'.join(seen.states) or 'not told'}")
        return
    told = [one for meaning in MEANINGS if (one := _told(seen, seen.reason, meaning))]
    yield from told
    if not told:
        # Whoever drained it knows why: said, and not judged.
        dead = [] if isinstance(lost, Missing) else [one.job for one in lost.steps]
        if dead:
            yield Well(f"no process is left here of job {dead[0]}; it drains: {seen.reason}")
        else:
            yield Well(f"out of use by {seen.by or 'somebody'}: {seen.reason}")


def _told(seen: NodeReason, reason: str, meaning: Meaning) -> Finding | None:
    hit = meaning.pattern.search(reason)
    if hit is None:
        return None
    said: dict[str, Any] = hit.groupdict()
    return found(
        meaning.fault,
        meaning.severity,
        NODE,
        meaning.template,
        Evidence(
            source="scontrol show node",
            text=f"Reason={reason}",
            values={"state": "+".join(seen.states), "since": seen.since, **said},
        ),
        variant="slurm",
        **said,
    )
