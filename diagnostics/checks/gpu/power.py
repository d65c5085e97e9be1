"""Whether something holds a GPU's power down: the brake of the chassis, or a limit that is set."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import NODE, Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, Severity, Statement, Well, found

BRAKE = 0x80

LIMIT = "GPU {gpu} may draw {limit} W, {default} W is its default{others}"


class PowerLimits(Limits, frozen=True, kw_only=True):
    """When a power limit counts as low."""

    below_default_percent: Annotated[
        float, msgspec.Meta(gt=0, le=90, description="% below the default, or the siblings' limit")
    ] = 5.0


@check(
    "gpu.power",
    stage="driver",
    faults=("gpu_power_brake", "gpu_power_cap_low"),
    proved="documented",
)
def power(health: GpuHealth, limits: PowerLimits) -> Iterator[Statement]:
    """No GPU is braked from outside, and none has a lower power limit than its siblings.

    The brake is a wire from the power supplies or the BMC: clocks fall to a fraction, and only a
    person at the chassis can find out why. A limit below the default on all GPUs is somebody's
    choice; on one alone it makes a straggler of every job here. That a GPU draws all that its
    limit allows (bit 0x4) is what training looks like.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    braked = [now for earlier, now in health.watched() if _braked(earlier) and _braked(now)]
    if len(braked) > 1:
        yield _brakes(braked, health)
    else:
        yield from (_brake(gpu) for gpu in braked)
    told = [gpu for gpu in health.answering() if gpu.power.limit_mw is not None]
    low: list[GpuReading] = []
    for group in asked.by_product(told):
        findings = [f for gpu in group if (f := _limited(gpu, group, limits))]
        low += group if findings else []
        yield from _folded(findings, group)
    if not braked and not low and told:
        yield Well(message=f"{asked.some(health)}: no brake, {_limits(told)}")
    elif not told and not braked and any(gpu.clocks.reasons is None for gpu in health.answering()):
        yield from (asked.unread(gpu, "power limit") for gpu in health.answering())
    elif not told and not braked:
        yield Well(message=f"{asked.some(health)}: no brake, no limit is told")


def _braked(gpu: GpuReading) -> bool:
    return bool((gpu.clocks.reasons or 0) & BRAKE)


def _brake(gpu: GpuReading) -> Finding:
    return found(
        "gpu_power_brake",
        "critical",
        asked.subject(gpu),
        "GPU {gpu} is held down by the power brake of the chassis: {draw}SM clock {clock}",
        _evidence(gpu),
        confidence=0.95,
        gpu=asked.named(gpu),
        draw=f"{_watts(gpu.power.draw_mw)} W, " if gpu.power.draw_mw else "",
        clock=f"{gpu.clocks.sm_mhz} of {gpu.clocks.max_sm_mhz} MHz",
    )


def _brakes(braked: Sequence[GpuReading], health: GpuHealth) -> Finding:
    """Return one finding: the wire goes to all boards, and what pulls it is of the chassis."""
    return found(
        "gpu_power_brake",
        "critical",
        NODE,
        "{gpus} are held down by the power brake of the chassis: SM clocks up to {clock}",
        Evidence(source=asked.WHAT, values={asked.address(gpu): _clock(gpu) for gpu in braked}),
        variant="several",
        confidence=0.95,
        gpus=asked.some(health, braked),
        clock=f"{max(gpu.clocks.sm_mhz or 0 for gpu in braked)} of "
        f"{max(gpu.clocks.max_sm_mhz or 0 for gpu in braked)} MHz",
    )


def _clock(gpu: GpuReading) -> dict[str, object]:
    return {"sm_mhz": gpu.clocks.sm_mhz, "reasons": asked.bits(gpu.clocks.reasons)}


def _limited(gpu: GpuReading, group: Sequence[GpuReading], limits: PowerLimits) -> Finding | None:
    """Compare with the default; with the siblings, to tell a choice from an odd one out."""
    limit, default = gpu.power.limit_mw or 0, gpu.power.default_limit_mw
    share = 1 - limits.below_default_percent / 100
    if default is None or limit >= default * share:
        return None
    siblings = asked.usual(other.power.limit_mw for other in group if other is not gpu)
    odd = siblings is not None and limit < siblings * share
    # What is set cannot be below the least that can be set: the board itself holds it down.
    under = gpu.power.min_limit_mw is not None and limit < gpu.power.min_limit_mw
    severity: Severity = "warning" if odd or under else "info"
    others = f"; its siblings may draw {_watts(siblings)} W" if odd else ""
    least = f"; {_watts(gpu.power.min_limit_mw)} W is the least one can set" if under else ""
    return found(
        "gpu_power_cap_low",
        severity,
        asked.subject(gpu),
        LIMIT,
        _evidence(gpu),
        variant="odd" if odd else "",
        gpu=asked.named(gpu),
        limit=_watts(limit),
        default=_watts(default),
        others=others + least,
    )


def _folded(findings: list[Finding], group: Sequence[GpuReading]) -> Iterator[Finding]:
    """Yield the findings; one note where all GPUs of a product have the same low limit."""
    values = {gpu.power.limit_mw for gpu in group}
    if len(findings) == len(group) > 1 and len(values) == 1 and findings[0].severity == "info":
        gpu = group[0]
        yield found(
            "gpu_power_cap_low",
            "info",
            asked.subject(gpu),
            "all {number} GPUs of this product may draw {limit} W, {default} W is their default",
            _evidence(gpu),
            variant="all",
            number=len(group),
            limit=_watts(gpu.power.limit_mw),
            default=_watts(gpu.power.default_limit_mw),
        )
    else:
        yield from findings


def _watts(milliwatts: int | None) -> int:
    return round((milliwatts or 0) / 1000)


def _limits(gpus: Sequence[GpuReading]) -> str:
    values = sorted({_watts(gpu.power.limit_mw) for gpu in gpus})
    return f"limit {' and '.join(map(str, values))} W"


def _evidence(gpu: GpuReading) -> Evidence:
    values = {key: value for key, value in msgspec.structs.asdict(gpu.power).items() if value}
    return Evidence(source=asked.WHAT, values={**values, "reasons": asked.bits(gpu.clocks.reasons)})
