"""Why the GPUs of a run that is well compute less than they could."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.health import GpuHealth
from collectors.gpu.nvml import GpuSnapshot
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.training.steps import alike, quote
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found
from diagnostics.rules.seen import TrainingLogs
from diagnostics.series.middle import median
from diagnostics.series.point import Point
from diagnostics.series.progress import JobProgress

NVML = "nvmlDeviceGetUtilizationRates"
# The steps of a log that say where time goes.
STEPS = 20
# Why a clock is not higher, as nvml.h numbers it: power, hardware, heat by software and hardware,
# and the power brake.
CAPPED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80

Cause = tuple[str, tuple[Evidence, ...]]


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
    cpu_share: Annotated[
        float, msgspec.Meta(gt=0, description="of one processor that a rank takes")
    ] = 0.9


@check("training.utilization", stage="training", faults=("utilization_low",), proved="documented")
def utilization(
    gpus: GpuSnapshot | Missing,
    seen: TrainingLogs,
    health: GpuHealth | Missing,
    progress: JobProgress | Missing,
    limits: UtilizationLimits,
) -> Iterator[Statement]:
    """GPUs whose processes train are in use most of the time.

    Low use is no cause: it is told with its class. Data and communication are read in the run's own
    log; a cap in why the clocks are low; the CPU in what the ranks take of it; idle is what does
    nothing at all. An evaluation looks the same for a while, so it is a note.
    """
    jobs = () if isinstance(progress, Missing) else progress.jobs
    if not jobs and not any(p.step_ms for log in seen.logs for p in alike(log)):
        yield NotApplicable(why="no log says where the time of a step goes, and no rank runs here")
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
    cause, proof = (
        _of_log(seen, limits)
        or _capped(health)
        or _by_cpu(progress, limits)
        or _idle(used)
        or ("neither data, communication, a cap nor the CPUs explain it", ())
    )
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


def _of_log(seen: TrainingLogs, limits: UtilizationLimits) -> Cause | None:
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
    return None


def _capped(health: GpuHealth | Missing) -> Cause | None:
    """Return that at least half of the GPUs are slowed down, by what and how many."""
    told = [] if isinstance(health, Missing) else health.answering()
    reasons = {gpu.key: gpu.clocks.reasons or 0 for gpu in told}
    capped = [key for key, bits in reasons.items() if bits & CAPPED]
    if not capped or 2 * len(capped) < len(reasons):
        return None
    said = f"a cap holds {len(capped)} of {len(reasons)} GPUs down (power, heat or hardware)"
    values = {key: f"0x{reasons[key]:x}" for key in capped}
    return said, (Evidence(source="nvmlDeviceGetCurrentClocksEventReasons", values=values),)


def _by_cpu(progress: JobProgress | Missing, limits: UtilizationLimits) -> Cause | None:
    """Return that ranks keep a processor each, which their GPUs wait for."""
    jobs = () if isinstance(progress, Missing) else progress.jobs
    shares = [share for job in jobs for share in job.busy.values()]
    if not shares or median(shares) < limits.cpu_share:
        return None
    said = f"the CPU: each rank keeps {median(shares):.1f} processors busy"
    return said, (Evidence(source="/proc", values={"processors": median(shares)}),)


def _idle(used: Sequence[float]) -> Cause | None:
    return ("idle: nothing runs on them", ()) if not any(used) else None


def _share(points: Sequence[Point], parts: Sequence[float | None]) -> float | None:
    shares = [part / p.step_ms for p, part in zip(points, parts, strict=True) if part and p.step_ms]
    return median(shares) if shares else None
