"""Whether each GPU has the PCIe lanes and speed of its siblings, and loses no packets."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.pcie import PciDevice, PciTree
from collectors.jobs.expected import Before, Expected
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked
from diagnostics.finding import Evidence, Finding, Severity, Statement, Well, found
from diagnostics.knowledge.models import of_name
from diagnostics.series.usual import REPLAYS, usual

# Desktop cards also give lanes back while they idle; cards for servers keep theirs.
DESKTOP = "GeForce"
# Siblings are proof; what the node once had may have been changed by a person.
CONFIDENCE = {"lanes": 0.9, "before": 0.6, "alone": 0.3}

NARROW = "GPU {gpu} has {width} of {most} PCIe lanes{others}{drives}"
ALIKE = "all {number} GPUs of this product have {width} of {most} PCIe lanes{had}"
SLOW = "GPU {gpu} runs its PCIe link at generation {now} {when}, {usual} is {whose}"


class PcieLimits(Limits, frozen=True, kw_only=True):
    """When a link counts as slow or lossy."""

    replays_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="packets a second that are sent again")
    ] = 5.0
    usual_times: Annotated[
        float, msgspec.Meta(gt=1, description="an hour's mean against that of most hours")
    ] = 10.0
    usual_per_s: Annotated[
        float, msgspec.Meta(ge=0, description="an hour's mean below this is none")
    ] = 0.1
    busy_percent: Annotated[
        float, msgspec.Meta(gt=0, le=100, description="% of use at which the generation counts")
    ] = 50.0


@check(
    "gpu.pcie",
    stage="driver",
    faults=("pcie_link_degraded", "pcie_replay_rate"),
    proved="documented",
)
def pcie(
    health: GpuHealth, tree: PciTree | Missing, expected: Expected | Missing, limits: PcieLimits
) -> Iterator[Statement]:
    """Each GPU's PCIe link is as wide and fast as its siblings', and repeats no packets.

    Data loading, checkpoints and network traffic all pass it. An idle GPU lowers its generation to
    save power; many boards give each GPU half of the lanes it could use; and a replay counter has
    counted since boot. So only what differs from the siblings, or grows now, is a fault; what the
    same GPU had before, as the agent keeps it, can only warn.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    before = {gpu.key: gpu for gpu in health.before}
    had = None if isinstance(expected, Missing) else expected.before
    told = [gpu for gpu in health.answering() if gpu.pcie.width]
    findings: list[Finding] = []
    for group in asked.by_product(told):
        findings += _narrow(group, tree, had)
        for gpu in group:
            findings += _slow(gpu, before.get(gpu.key), group, limits) or _slower(gpu, had)
    for then, now in health.watched():
        if one := _replays(then, now, health, limits) or _unusual(now, had, limits):
            findings.append(one)
    yield from findings
    if not told:
        yield from (asked.unread(gpu, "PCIe width") for gpu in health.answering())
    elif not findings:
        yield Well(message=f"{asked.some(health, told)}: {_links(told)}")


def _narrow(
    group: Sequence[GpuReading], tree: PciTree | Missing, had: Before | None
) -> Iterator[Finding]:
    """Yield what is narrower than its siblings, or than it was; one note where all are alike."""
    widths = {gpu.pcie.width for gpu in group}
    if len(widths) == 1 and len(group) > 1:
        gpu = group[0]
        least = min((_before(gpu, had) for gpu in group), default=0)
        if (gpu.pcie.width or 0) < max(gpu.pcie.max_width or 0, least):
            yield _alike(gpu, len(group), least, had)
        return
    for gpu in group:
        usual = asked.usual(other.pcie.width for other in group if other is not gpu)
        width, most, then = gpu.pcie.width or 0, gpu.pcie.max_width or 0, _before(gpu, had)
        if usual is not None and width < usual:
            yield _lanes(gpu, usual, f", its siblings have {usual}", "lanes", tree)
        elif width < then:
            yield _lanes(gpu, then, f", before it had {then}", "before", tree)
        elif width < most and usual is None:
            yield _lanes(gpu, None, "", "alone", tree)


def _before(gpu: GpuReading, had: Before | None) -> int:
    """Return the lanes that the GPU had before, 0 where nobody knows."""
    return had.widths.get(asked.address(gpu), 0) if had else 0


def _saving(gpu: GpuReading) -> bool:
    return DESKTOP in (gpu.name or "") and not gpu.utilisation_percent


def _alike(gpu: GpuReading, number: int, least: int, had: Before | None) -> Finding:
    lost = (gpu.pcie.width or 0) < least and not _saving(gpu)
    kept = (Evidence(source=had.source, values={"widths": dict(had.widths)}),) if had else ()
    return found(
        "pcie_link_degraded",
        "warning" if lost else "info",
        asked.subject(gpu),
        ALIKE,
        _evidence(gpu),
        *(kept if lost else ()),
        variant="alike_before" if lost else "alike",
        confidence=0.6 if lost else 0.3,
        number=number,
        width=gpu.pcie.width,
        most=max(gpu.pcie.max_width or 0, least),
        had=f", before they had {least}" if lost else "",
    )


def _lanes(
    gpu: GpuReading, usual: int | None, others: str, variant: str, tree: PciTree | Missing
) -> Finding:
    severity: Severity = "info" if usual is None or _saving(gpu) else "warning"
    near = _drives(gpu, tree)
    model = of_name(gpu.name)
    # NVML's maximum is that of GPU and slot; the table's, where it is known, that of the GPU.
    most = max(gpu.pcie.max_width or 0, usual or 0, (model and model.pcie_width) or 0)
    places = ", ".join(drive.address for drive in near)
    return found(
        "pcie_link_degraded",
        severity,
        asked.subject(gpu),
        NARROW,
        _evidence(gpu),
        *(
            Evidence(source="/sys/devices/" + "/".join((*drive.above, drive.address)))
            for drive in near
        ),
        variant=variant,
        confidence=CONFIDENCE[variant] if severity == "warning" else 0.3,
        gpu=asked.named(gpu),
        width=gpu.pcie.width,
        most=most,
        others=others,
        drives=f"; NVMe at the same port or slot: {places}" if near else "",
    )


def _drives(gpu: GpuReading, tree: PciTree | Missing) -> list[PciDevice]:
    """Return the drives below the GPU's root port, or below another port of the same slot.

    A slot whose lanes the firmware has divided shows as ports 01.0, 01.1 and so on, of one device.
    """
    place = None if isinstance(tree, Missing) else tree.at(asked.address(gpu))
    if isinstance(tree, Missing) or place is None or place.root_port is None:
        return []
    slot = place.root_port.rpartition(".")[0]
    return [d for d in tree.of("nvme") if (d.root_port or "").rpartition(".")[0] == slot]


def _slow(
    gpu: GpuReading, before: GpuReading | None, group: Sequence[GpuReading], limits: PcieLimits
) -> list[Finding]:
    """Return a maximum below the siblings', else a generation that stays low under load."""
    others = [other for other in group if other is not gpu]
    usual = asked.usual(other.pcie.max_generation for other in others)
    most, now = gpu.pcie.max_generation, gpu.pcie.generation
    if usual is not None and most is not None and most < usual:
        return [_generation(gpu, most, usual, "at most", "what its siblings can")]
    if before is not None and most is not None and now is not None:
        reached = max(now, before.pcie.generation or 0)
        if reached < most and _busy(gpu, limits) and _busy(before, limits):
            alike = asked.usual(other.pcie.generation for other in others if _busy(other, limits))
            if alike is None or alike > reached:
                sure = alike is not None
                return [_generation(gpu, reached, most, "under load", "its maximum", sure=sure)]
    return []


def _slower(gpu: GpuReading, had: Before | None) -> list[Finding]:
    """Return a maximum below the one that the same GPU had before."""
    then = had.generations.get(asked.address(gpu), 0) if had else 0
    most = gpu.pcie.max_generation
    if most is None or most >= then:
        return []
    return [_generation(gpu, most, then, "at most", "what it could before")]


def _busy(gpu: GpuReading, limits: PcieLimits) -> bool:
    return (gpu.utilisation_percent or 0) >= limits.busy_percent


def _generation(
    gpu: GpuReading, now: int, usual: int, when: str, whose: str, *, sure: bool = True
) -> Finding:
    return found(
        "pcie_link_degraded",
        "warning" if sure else "info",
        asked.subject(gpu),
        SLOW,
        _evidence(gpu),
        variant="maximum" if when == "at most" else "load",
        gpu=asked.named(gpu),
        now=now,
        when=when,
        usual=usual,
        whose=whose,
    )


def _replays(
    then: GpuReading, now: GpuReading, health: GpuHealth, limits: PcieLimits
) -> Finding | None:
    if then.pcie.replays is None or now.pcie.replays is None or health.watched_s <= 0:
        return None
    more = now.pcie.replays - then.pcie.replays
    rate = more / health.watched_s
    if rate < limits.replays_per_s:
        return None
    return found(
        "pcie_replay_rate",
        "warning",
        asked.subject(now),
        "GPU {gpu} sent {more} PCIe packets again in {seconds:g} s; {total} since its driver began",
        _evidence(now),
        gpu=asked.named(now),
        more=more,
        seconds=health.watched_s,
        total=now.pcie.replays,
    )


def _unusual(gpu: GpuReading, had: Before | None, limits: PcieLimits) -> Finding | None:
    """Return that a link repeated more in the last hour than this node's hours have."""
    known = None if had is None else usual(had.usual.get(REPLAYS + gpu.key, ()))
    if had is None or known is None or not known.above(limits.usual_times, limits.usual_per_s):
        return None
    return found(
        "pcie_replay_rate",
        "info" if known.provisional else "warning",
        asked.subject(gpu),
        "GPU {gpu} sent {lately} PCIe packets a second again in the last hour, and {middle} in "
        "most hours before",
        Evidence(
            source=had.source,
            text=REPLAYS + gpu.key,
            values={"hours": known.hours, "provisional": known.provisional},
        ),
        variant="usual",
        gpu=asked.named(gpu),
        lately=round(known.lately, 2),
        middle=round(known.middle, 2),
    )


def _evidence(gpu: GpuReading) -> Evidence:
    return Evidence(source=asked.WHAT, values=msgspec.structs.asdict(gpu.pcie))


def _links(told: Sequence[GpuReading]) -> str:
    widths = sorted({gpu.pcie.width or 0 for gpu in told})
    return f"{' and '.join(map(str, widths))} PCIe lanes"
