"""Whether a busy GPU runs at the clock of its siblings, and none is slowed down by hardware."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Annotated

import msgspec

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, Statement, Well, found

IDLE, SETTING, POWER_CAP, SLOWDOWN, SYNC_BOOST = 0x1, 0x2, 0x4, 0x8, 0x10
HEAT_OR_BRAKE = 0x20 | 0x40 | 0x80
# With one of these the clock has its reason: nothing to do, watts, others, or another finding.
EXPLAINED = IDLE | POWER_CAP | SLOWDOWN | SYNC_BOOST | HEAT_OR_BRAKE
# Fewer siblings do not say what is usual.
SIBLINGS = 3


class ClocksLimits(Limits, frozen=True, kw_only=True):
    """When a clock counts as low."""

    below_siblings_percent: Annotated[
        float, msgspec.Meta(gt=0, le=90, description="% below the median SM clock of the siblings")
    ] = 15.0
    busy_percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="% of use that makes a GPU comparable")
    ] = 80.0


@check("gpu.clocks", stage="driver", faults=("gpu_clock_low",), proved="documented")
def clocks(health: GpuHealth, limits: ClocksLimits) -> Iterator[Statement]:
    """No GPU is slowed down by its hardware, and each busy one runs at its siblings' clock.

    In a synchronous job all GPUs wait for the slowest in each step. Compared are GPUs of one
    product that were busy in both readings and that nothing explains: one that uses all the watts
    it may (bit 0x4) clocks by its work, and an idle one says nothing.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    told = [gpu for gpu in health.answering() if gpu.clocks.reasons is not None]
    if not told:
        yield from (asked.unread(gpu, "clock event reasons") for gpu in health.answering())
        return
    pairs = list(health.watched())
    slowed = [now for earlier, now in pairs if _slowdown(earlier) and _slowdown(now)]
    yield from (_hardware(gpu) for gpu in slowed)
    earlier = {now.key: then for then, now in pairs}
    low = list(_low([now for _, now in pairs], earlier, limits))
    yield from low
    if not slowed and not low:
        busy = sum(_busy(now, then, limits) for then, now in pairs)
        yield Well(message=f"{asked.some(health, told)}: no slowdown, {busy} busy")


def _slowdown(gpu: GpuReading) -> bool:
    """Return whether the hardware slows it down, and neither heat nor brake is why."""
    reasons = gpu.clocks.reasons or 0
    return bool(reasons & SLOWDOWN) and not reasons & HEAT_OR_BRAKE


def _busy(now: GpuReading, before: GpuReading, limits: ClocksLimits) -> bool:
    uses = (now.utilisation_percent, before.utilisation_percent)
    return all(use is not None and use >= limits.busy_percent for use in uses)


def _low(
    gpus: Sequence[GpuReading], before: Mapping[str, GpuReading], limits: ClocksLimits
) -> Iterator[Finding]:
    busy = [g for g in gpus if g.clocks.sm_mhz and _busy(g, before[g.key], limits)]
    for group in asked.by_product(busy):
        for gpu in group:
            then = before[gpu.key]
            if ((gpu.clocks.reasons or 0) | (then.clocks.reasons or 0)) & EXPLAINED:
                continue
            others = [other.clocks.sm_mhz or 0 for other in group if other is not gpu]
            mhz = max(gpu.clocks.sm_mhz or 0, then.clocks.sm_mhz or 0)
            line = 1 - limits.below_siblings_percent / 100
            if len(others) >= SIBLINGS and mhz < median(others) * line:
                yield _slow(gpu, mhz, round(median(others)), len(others))


def _slow(gpu: GpuReading, mhz: int, usual: int, others: int) -> Finding:
    setting = bool((gpu.clocks.reasons or 0) & SETTING)
    return found(
        "gpu_clock_low",
        "warning",
        asked.subject(gpu),
        "GPU {gpu} runs at {mhz} MHz, its {others} busy siblings at {usual} MHz (median){setting}",
        _evidence(gpu),
        variant="setting" if setting else "siblings",
        gpu=asked.named(gpu),
        mhz=mhz,
        usual=usual,
        others=others,
        setting="; its clock is set by an application or by hand" if setting else "",
    )


def _hardware(gpu: GpuReading) -> Finding:
    return found(
        "gpu_clock_low",
        "warning",
        asked.subject(gpu),
        "GPU {gpu} is slowed down by its hardware, and names neither heat nor brake: SM clock "
        "{clock} of {most} MHz",
        _evidence(gpu),
        variant="hardware",
        gpu=asked.named(gpu),
        clock=gpu.clocks.sm_mhz,
        most=gpu.clocks.max_sm_mhz,
    )


def _evidence(gpu: GpuReading) -> Evidence:
    return Evidence(
        source=asked.WHAT,
        values={
            "reasons": asked.bits(gpu.clocks.reasons),
            "sm_mhz": gpu.clocks.sm_mhz,
            "max_sm_mhz": gpu.clocks.max_sm_mhz,
            "utilisation_percent": gpu.utilisation_percent,
        },
    )
