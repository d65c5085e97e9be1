"""How far each GPU is from the temperature at which it slows itself down."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Heat
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import RANK, Evidence, Finding, Severity, Statement, Well, found

SOFTWARE, HARDWARE = 0x20, 0x40
# Where a GPU tells a margin and not at which one its hardware slows down: -2 on most products.
HARD_MARGIN_C = -2


class HeatLimits(Limits, frozen=True, kw_only=True):
    """When a GPU counts as hot."""

    margin_c: Annotated[
        int, msgspec.Meta(ge=0, le=30, description="C left until slowdown that make a warning")
    ] = 2
    without_limits_c: Annotated[
        int, msgspec.Meta(ge=50, le=110, description="C for a GPU that tells no limit of its own")
    ] = 85


class Reach(msgspec.Struct, frozen=True):
    """A limit that a temperature has come to; `text` says which, with its numbers."""

    severity: Severity
    variant: str
    text: str


@check(
    "gpu.heat",
    stage="driver",
    faults=("gpu_thermal_margin_low", "gpu_thermal_throttle"),
    proved="documented",
)
def heat(health: GpuHealth, limits: HeatLimits) -> Iterator[Statement]:
    """Each GPU is below the temperature at which it slows down, by its own limits.

    A GPU that slows itself down sets the pace of every GPU of the job. Products, and boards of one
    product, differ by 10 C in what they bear, so that one number for all would be wrong for most.
    What is hot in one of two readings only is no finding.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    before = {gpu.key: gpu for gpu in health.before}
    cool: list[GpuReading] = []
    for gpu in health.answering():
        if gpu.heat.gpu_c is None and gpu.heat.margin_c is None:
            yield asked.unread(gpu, "temperature")
        elif (finding := _judge(gpu, before.get(gpu.key), limits)) is not None:
            yield finding
        else:
            cool.append(gpu)
    if cool:
        yield Well(message=f"{asked.some(health, cool)}: {_warmest(cool)}")


def _judge(gpu: GpuReading, before: GpuReading | None, limits: HeatLimits) -> Finding | None:
    reach = _reach(gpu.heat, limits)
    if before is not None:
        earlier = _reach(_with_limits(before.heat, gpu.heat), limits)
        reach = min((reach, earlier), key=_rank) if reach and earlier else None
        if bits := (gpu.clocks.reasons or 0) & (before.clocks.reasons or 0) & (SOFTWARE | HARDWARE):
            return _slowed(gpu, bits, reach)
    return _hot(gpu, reach) if reach else None


def _with_limits(before: Heat, now: Heat) -> Heat:
    """Return the earlier temperatures beside the limits, which are read once."""
    return msgspec.structs.replace(
        now, gpu_c=before.gpu_c, memory_c=before.memory_c, margin_c=before.margin_c
    )


def _rank(reach: Reach) -> int:
    return RANK[reach.severity]


def _reach(heat: Heat, limits: HeatLimits) -> Reach | None:
    """Return the limit that the GPU has reached, the memory's where the GPU is cool."""
    return _core(heat, limits) or _memory(heat)


def _core(heat: Heat, limits: HeatLimits) -> Reach | None:
    if heat.margin_c is not None:
        hard = HARD_MARGIN_C if heat.slowdown_margin_c is None else heat.slowdown_margin_c
        text = f"{heat.margin_c} C left until it slows down; its hardware does so at {hard} C"
        if heat.margin_c <= hard:
            return Reach("critical", "margin", text)
        return Reach("warning", "margin", text) if heat.margin_c <= limits.margin_c else None
    now, slowdown, most = heat.gpu_c or 0, heat.slowdown_c or 0, heat.gpu_max_c or 0
    if slowdown > 0 and now >= slowdown:
        return Reach("critical", "slowdown", f"{now} C; its hardware slows down at {slowdown} C")
    if most > 0 or slowdown > 0:
        line = most if most > 0 else slowdown - limits.margin_c
        known = f"made to run at {line} C at most" if most > 0 else f"it slows down at {slowdown} C"
        return Reach("warning", "most", f"{now} C; {known}") if now >= line else None
    line = limits.without_limits_c
    text = f"{now} C; it tells no limit of its own, {line} C is assumed"
    return Reach("warning", "assumed", text) if now >= line else None


def _memory(heat: Heat) -> Reach | None:
    most = heat.memory_max_c or 0
    if heat.memory_c is None or most <= 0 or heat.memory_c < most:
        return None
    return Reach("warning", "memory", f"memory at {heat.memory_c} C, made for {most} C at most")


def _hot(gpu: GpuReading, reach: Reach) -> Finding:
    return found(
        "gpu_thermal_margin_low",
        reach.severity,
        asked.subject(gpu),
        "GPU {gpu}: {reach}",
        _evidence(gpu),
        variant=reach.variant,
        gpu=asked.named(gpu),
        reach=reach.text,
    )


def _slowed(gpu: GpuReading, bits: int, reach: Reach | None) -> Finding:
    hard = bool(bits & HARDWARE) or (reach is not None and reach.severity == "critical")
    temperature = f" at {gpu.heat.gpu_c} C" if gpu.heat.gpu_c is not None else ""
    return found(
        "gpu_thermal_throttle",
        "critical" if hard else "warning",
        asked.subject(gpu),
        "GPU {gpu} runs slower because of heat{temperature}: {by} slowdown, SM clock {clock}",
        _evidence(gpu),
        variant="hardware" if bits & HARDWARE else "software",
        gpu=asked.named(gpu),
        temperature=temperature,
        by="hardware" if bits & HARDWARE else "software",
        clock=f"{gpu.clocks.sm_mhz} of {gpu.clocks.max_sm_mhz} MHz",
    )


def _evidence(gpu: GpuReading) -> Evidence:
    values = {key: value for key, value in msgspec.structs.asdict(gpu.heat).items() if value}
    return Evidence(source=asked.WHAT, values={**values, "reasons": asked.bits(gpu.clocks.reasons)})


def _warmest(cool: list[GpuReading]) -> str:
    margins = [gpu.heat.margin_c for gpu in cool if gpu.heat.margin_c is not None]
    if len(margins) == len(cool):
        return f"at least {min(margins)} C left until slowdown"
    return f"warmest at {max(gpu.heat.gpu_c or 0 for gpu in cool)} C"
