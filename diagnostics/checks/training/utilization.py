"""Why the GPUs of a run that is well compute less than they could."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.nvml import GpuSnapshot
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.training.steps import alike, quote
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series.middle import median
from diagnostics.series.point import Point

NVML = "nvmlDeviceGetUtilizationRates"
# The steps of a log that say where time goes.
STEPS = 20


class UtilizationLimits(Limits, frozen=True, kw_only=True):
    """Below which use a run is looked at, and which share of a step explains it."""

    least_percent: Annotated[
        float, msgspec.Meta(ge=0, le=100, description="median use of GPUs with processes")
    ] = 40.0
    data_share: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="wait for data of a step")
    ] = 0.2
    sync_share: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="gradient synchronisation of a step")
    ] = 0.4


@check("training.utilization", stage="training", faults=("utilization_low",), proved="documented")
def utilization(
    gpus: GpuSnapshot | Missing, seen: TrainingLogs, limits: UtilizationLimits
) -> Iterator[Statement]:
    """GPUs whose processes train are in use most of the time.

    Low use is no cause: it is told with where the run's own log says that time goes, data or
    communication; with neither, the processors that feed the GPUs are next to be looked at. An
    evaluation looks the same for a while, so it is a note.
    """
    if not any(p.step_ms for log in seen.logs for p in alike(log)):
        yield NotApplicable(why="no log says where the time of a step goes")
        return
    if isinstance(gpus, Missing):
        yield Unseen(missing=gpus)
        return
    busy = [gpu for gpu in gpus.gpus if gpu.processes]
    read = (use for g in busy for use in (g.utilisation_percent, g.utilisation_before_percent))
    used = [use for use in read if use is not None]
    if not used:
        yield NotApplicable(why="no GPU with a process tells its use")
        return
    middle = median(used)
    if middle >= limits.least_percent:
        yield Well(f"GPUs with processes are {middle:.0f} % in use (median)")
        return
    cause, proof = _cause(seen, limits)
    yield found(
        "utilization_low",
        "info",
        NODE,
        "GPUs with processes are {use} % in use (median of {readings} readings): {cause}",
        Evidence(source=NVML, values={"percent": middle}),
        *proof,
        use=round(middle),
        readings=len(used),
        cause=cause,
    )


def _cause(seen: TrainingLogs, limits: UtilizationLimits) -> tuple[str, tuple[Evidence, ...]]:
    """Return the class of low use by the shares of a step, with the line that shows it."""
    for log in seen.logs:
        points = [p for p in alike(log) if p.step_ms][-STEPS:]
        for cause, share, least in (
            ("data", _share(points, [p.data_ms for p in points]), limits.data_share),
            ("communication", _share(points, [p.sync_ms for p in points]), limits.sync_share),
        ):
            if share is not None and share >= least:
                said = f"{cause} takes {100 * share:.0f} % of a step"
                return said, (quote(log, points[-1]),)
    return "neither data nor communication takes that much of a step: look at the CPUs", ()


def _share(points: Sequence[Point], parts: Sequence[float | None]) -> float | None:
    shares = [part / p.step_ms for p, part in zip(points, parts, strict=True) if part and p.step_ms]
    return median(shares) if shares else None
