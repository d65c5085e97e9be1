"""`gpudiag run` beside a live agent: what is slow or dear to ask is taken from it, with its age."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from agent.cli.local import Refused, Unanswered, ask
from agent.walk.sources import by_shape
from collectors.bmc.controller import Bmc
from collectors.bmc.events import BmcEvents
from collectors.bmc.sensors import BmcSensors
from collectors.catalog import Source
from collectors.facts.observation import Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.health import GpuHealth
from collectors.host.nvme import NvmeDrives
from collectors.jobs.ras import RasStatus
from collectors.network.elsewhere import JobsElsewhere
from collectors.node.protocol import Node
from diagnostics.catalog import WALK
from diagnostics.series.progress import JobProgress
from diagnostics.series.runs import RunsBefore

# A BMC bears one caller at a time and takes seconds, as SMART does; each look at a GPU's health
# takes its driver's locks, which jobs wait for. What runs took before nobody else remembers.
COSTLY: tuple[type[Observation], ...] = (
    *(Bmc, BmcSensors, BmcEvents, GpuHealth, NvmeDrives),
    # Whether a job moves is seen over time, and NCCL is asked once a minute by all of us.
    *(RunsBefore, JobProgress, RasStatus),
    # How a job is set up on its other nodes the aggregator tells the agent alone.
    JobsElsewhere,
)
DEADLINE_S = 2.0

Taken = Mapping[type[Observation], tuple[Observation, float]]


def taken(path: str, wanted: tuple[type[Observation], ...] = COSTLY) -> Taken:
    """Return what the agent at *path* saw last, each with its age in seconds.

    Empty where none answers, where it does not answer us, or what it says is of another version:
    whoever asks looks himself then. Waits on a socket, so not for a loop.
    """
    shapes = {shape.__name__: shape for shape in wanted}
    try:
        answer = ask(
            {"ask": "observations", "names": list(shapes)}, path=path, deadline_s=DEADLINE_S
        )
    except (Unanswered, Refused):
        return {}
    read = {shapes[name]: _read(shapes[name], answer[name]) for name in shapes if name in answer}
    return {shape: seen for shape, seen in read.items() if seen is not None}


def _read(shape: type[Observation], said: Any) -> tuple[Observation, float] | None:  # noqa: ANN401 - JSON
    """Return an observation with its age; what was said is no longer fresh after two periods."""
    try:
        seen: Observation = msgspec.convert(said["seen"], shape, str_keys=True)
        age = float(said["age_s"])
    except (msgspec.ValidationError, KeyError, TypeError, ValueError):
        return None
    return (seen, age) if 0 <= age <= 2 * by_shape()[shape].period_s else None


def sources(seen: Taken) -> dict[type[Observation], Source]:
    """Return the sources of a walk, of which those that were taken are not asked again."""
    return {
        shape: source
        if shape not in seen
        else msgspec.structs.replace(source, collect=partial(_given, seen[shape][0]), after=())
        for shape, source in by_shape().items()
    }


async def _given(seen: Observation, node: Node, wanted: Wanted) -> Observation:
    del node, wanted
    return seen


def ages(seen: Taken) -> dict[str, float]:
    """Return the age of what was taken, by the check that it is shown to."""
    found = {
        check.name: [seen[need.shape][1] for need in check.needs if need.shape in seen]
        for check in WALK
    }
    return {name: max(old) for name, old in found.items() if old}
