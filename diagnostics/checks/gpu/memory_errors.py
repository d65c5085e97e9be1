"""Errors of GPU memory: what ECC could not repair, and repairs that wait or have failed."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.gpu.health import GpuHealth, GpuReading
from diagnostics.check import Limits, check
from diagnostics.checks.gpu import asked, untold
from diagnostics.finding import Evidence, Finding, Severity, Statement, Well, found

ECC, SRAM = "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetSramEccErrorStatus"
REMAP, RETIRED = "nvmlDeviceGetRemappedRows", "nvmlDeviceGetRetiredPagesPendingStatus"
COUNTER = "ecc.volatile.uncorrected"

UNCORRECTED = "GPU {gpu} had {errors} uncorrected memory {noun} since it was last reset"
WORN = "GPU {gpu} itself says that its SRAM had too many uncorrected errors: the vendor's case"
PENDING = "GPU {gpu} has a memory row that the next reset will remap ({rows} remapped so far)"
FAILED = "GPU {gpu} could not remap a memory row (its failure flag is set): the vendor's case"
WAITING = "GPU {gpu} has memory pages that the next reset will retire ({pages} retired so far)"
RATE = "GPU {gpu} corrects {rate} memory errors a second"


class MemoryErrorsLimits(Limits, frozen=True, kw_only=True):
    """How many corrected errors are told of."""

    corrected_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="corrected errors a second that are told of")
    ] = 10.0
    storm_per_s: Annotated[
        float, msgspec.Meta(gt=0, description="corrected errors a second that slow the driver")
    ] = 1000.0


@check(
    "gpu.memory_errors",
    stage="driver",
    faults=(
        "ecc_uncorrectable",
        "ecc_correctable_rate",
        "row_remap_pending",
        "row_remap_failed",
        "retired_pages_pending",
    ),
    proved="documented",
)
def memory_errors(health: GpuHealth, limits: MemoryErrorsLimits) -> Iterator[Statement]:
    """No GPU had a memory error that ECC could not repair, and no repair waits or has failed.

    An uncorrected error ends the process that meets it, and a GPU whose spare rows are used up has
    the next one soon. Corrected errors are harmless and judged by their rate alone. Counted is
    what happened since the GPU was last reset.
    """
    if (why := asked.asked(health)) is not None:
        yield why
        return
    well: list[GpuReading] = []
    for gpu in health.answering():
        findings = list(_judge(gpu))
        yield from findings
        if not _tells(gpu):
            yield from untold.silent(gpu, COUNTER, "memory errors")
        elif not findings:
            well.append(gpu)
    yield from _corrected(health, limits)
    yield from untold.none_of(health, _tells, "no GPU here counts memory errors")
    if well:
        yield Well(message=f"{asked.some(health, well)}: no uncorrected memory error")


def _tells(gpu: GpuReading) -> bool:
    told = (gpu.ecc.volatile.uncorrected, gpu.remap.pending, gpu.retired.pending)
    return any(value is not None for value in told)


def _judge(gpu: GpuReading) -> Iterator[Finding]:
    if gpu.ecc.sram_threshold_exceeded:
        yield _worn(gpu)
    if errors := gpu.ecc.volatile.uncorrected:
        yield _uncorrected(gpu, errors)
    if gpu.remap.failed:
        yield _remap(gpu, "row_remap_failed", "critical", FAILED)
    if gpu.remap.pending:
        yield _remap(gpu, "row_remap_pending", "warning", PENDING)
    if gpu.retired.pending:
        yield _retired(gpu)


def _worn(gpu: GpuReading) -> Finding:
    aggregate = gpu.ecc.sram_aggregate.uncorrected
    return found(
        "ecc_uncorrectable",
        "critical",
        asked.subject(gpu),
        WORN,
        Evidence(source=SRAM, values={"threshold_exceeded": True, "uncorrected": aggregate}),
        variant="sram",
        confidence=0.98,
        gpu=asked.named(gpu),
    )


def _uncorrected(gpu: GpuReading, errors: int) -> Finding:
    values = {"volatile": errors, "aggregate": gpu.ecc.aggregate.uncorrected}
    return found(
        "ecc_uncorrectable",
        "critical",
        asked.subject(gpu),
        UNCORRECTED,
        Evidence(source=ECC, values=values),
        confidence=0.98,
        gpu=asked.named(gpu),
        errors=errors,
        noun="error" if errors == 1 else "errors",
    )


def _remap(gpu: GpuReading, fault: str, severity: Severity, template: str) -> Finding:
    rows = (gpu.remap.corrected or 0) + (gpu.remap.uncorrected or 0)
    return found(
        fault,
        severity,
        asked.subject(gpu),
        template,
        Evidence(source=REMAP, values=msgspec.structs.asdict(gpu.remap)),
        confidence=0.98,
        gpu=asked.named(gpu),
        rows=rows,
    )


def _retired(gpu: GpuReading) -> Finding:
    pages = (gpu.retired.single_bit or 0) + (gpu.retired.double_bit or 0)
    return found(
        "retired_pages_pending",
        "warning",
        asked.subject(gpu),
        WAITING,
        Evidence(source=RETIRED, values=msgspec.structs.asdict(gpu.retired)),
        confidence=0.98,
        gpu=asked.named(gpu),
        pages=pages,
    )


def _corrected(health: GpuHealth, limits: MemoryErrorsLimits) -> Iterator[Finding]:
    for before, now in health.watched():
        then, later = before.ecc.volatile.corrected, now.ecc.volatile.corrected
        if then is None or later is None or not health.watched_s:
            continue
        rate = (later - then) / health.watched_s
        if rate >= limits.corrected_per_s:
            yield found(
                "ecc_correctable_rate",
                "warning" if rate >= limits.storm_per_s else "info",
                asked.subject(now),
                RATE,
                Evidence(
                    source=ECC,
                    values={"before": then, "now": later, "seconds": health.watched_s},
                ),
                gpu=asked.named(now),
                rate=round(rate),
            )
