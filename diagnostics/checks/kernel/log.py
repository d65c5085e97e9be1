"""What the kernel's own lines of this boot mean."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.gpu.pcie import PciTree
from diagnostics.check import NODE, check
from diagnostics.checks.kernel import gpus, ports, rates
from diagnostics.checks.kernel.words import HOUR, span
from diagnostics.finding import RANK, Evidence, Finding, Severity, Statement, Well, found
from diagnostics.knowledge.codes.recovery import Advice
from diagnostics.rules.kernel import KernelHit, KernelSymptoms, Moment

QUOTED = 4
# The heat of one socket is told by each of its CPUs.
OF_THE_NODE = frozenset({"cpu_thermal_throttle"})
# On a node, other checks judge these lines together with what they saw there themselves.
JUDGED_WITH_PROC = frozenset(
    {"process_oom_killed", "task_blocked_d_state", "segfault", "nccl_segfault"}
)
# network.link_flaps counts how often a link came up.
JUDGED_ELSEWHERE = frozenset({"nic_link_flapping", "ib_port_flapping"})
# What is a note by itself is no cause where another is at hand.
SURE, NOTED = 0.95, 0.85


class KernelLogLimits(rates.CorrectedLimits, frozen=True, kw_only=True):
    """What counts as recent, whose lines are believed, and how many corrected errors are too many.

    Memory: mcelog's shipped configuration acts at 10 of one DIMM in 24 h (ce-error-threshold) and
    at 100 of one socket (mem-ce-error-threshold). PCIe: operators reseat at tens a minute; no
    vendor gives a number.
    """

    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which a line counts as of now")
    ] = 24.0
    written_lines: Annotated[
        bool,
        msgspec.Meta(description="believe what programs write to /dev/kmsg too; for trials only"),
    ] = False


@check(
    "driver.kernel_log",
    stage="driver",
    faults=(
        "gpu_fell_off_bus",
        "gsp_timeout",
        "gpu_init_failed",
        "gpu_reset_required",
        "ecc_uncorrectable",
        "row_remap_pending",
        "row_remap_failed",
        "nvlink_error",
        "nvswitch_sxid_fatal",
        "nvswitch_sxid_nonfatal",
        "xid_other",
        "pcie_error",
        "pcie_correctable_errors",
        "cpu_machine_check",
        "host_memory_uncorrectable",
        "host_memory_correctable",
        "cpu_soft_lockup",
        "cpu_thermal_throttle",
        "storage_io_error",
        "disk_full",
        "read_only_filesystem",
        "storage_hang",
        "ib_hca_fatal",
        "ib_port_down",
        "nic_link_down",
        "ib_cable_overheat",
        "hca_slot_power_low",
        "driver_library_mismatch",
        "driver_hung",
        "nvml_no_devices",
        "fabric_manager_not_ready",
        "peermem_invalid_context",
        "iommu_p2p_fault",
        "pcie_link_degraded",
        "kernel_panic",
        "clock_skew",
        "file_descriptors_exhausted",
        "connection_table_full",
        "raid_degraded",
        "stale_file_handle",
        "disk_latency_high",
        "nic_errors_rate",
        "roce_pfc_storm",
        "host_memory_error",
        "process_oom_killed",
        "task_blocked_d_state",
        "segfault",
        "nccl_segfault",
    ),
    proved="documented",
)
def kernel_log(
    seen: KernelSymptoms, tree: PciTree | Missing, limits: KernelLogLimits
) -> Iterator[Statement]:
    """No line of the kernel's log of this boot means a fault.

    It is the first to know: of a GPU off the bus, of memory that failed, of a disk or adapter that
    no longer answers; what a job reports minutes later follows from it. An event counts for a day,
    a condition until a later line ends it; what is over or older is a note, and so is an error of a
    job's own program on a GPU.
    """
    told = [ports.named(finding, tree) for finding in findings(seen, limits)]
    yield from told
    if not told:
        lost = f", {seen.lost:,} more were lost" if seen.lost else ""
        yield Well(f"none of {seen.records:,} kernel records means a fault{lost}")


def findings(seen: KernelSymptoms, limits: KernelLogLimits) -> Iterator[Finding]:
    """Yield what the lines mean; in a file that a person named, a program's own error counts."""
    hits = gpus.events([hit for hit in seen.hits if hit.by_kernel or limits.written_lines])
    elsewhere = JUDGED_ELSEWHERE | (JUDGED_WITH_PROC if seen.file is None else set())
    hits = [hit for hit in hits if hit.fault not in elsewhere]
    if seen.file is None:
        quiet = (msgspec.structs.replace(h, severity="info") if h.note else h for h in hits)
        hits = list(quiet)
    hits = [rates.judged(hit, limits) for hit in hits]
    hits = gpus.wished(hits, lambda hit: _past(hit, limits))
    for same in _alike(hits):
        yield _told(seen, same, hits, limits)


def _alike(hits: Sequence[KernelHit]) -> Iterator[list[KernelHit]]:
    """Put together what tells of one fault of one thing, by whichever rule it was found."""
    groups: dict[tuple[str, str, str | None], list[KernelHit]] = {}
    for hit in hits:
        name = None if hit.fault in OF_THE_NODE else hit.name
        groups.setdefault((hit.fault, hit.about, name), []).append(hit)
    yield from groups.values()


def _told(
    seen: KernelSymptoms,
    same: Sequence[KernelHit],
    hits: Sequence[KernelHit],
    limits: KernelLogLimits,
) -> Finding:
    """Return one finding; the gravest of its lines is its sentence, the first of them its start."""
    told = max(same, key=lambda hit: RANK[_severity(hit, limits)])
    latest = min(same, key=lambda hit: hit.last.age_s)
    count = sum(hit.count for hit in same)
    advice = gpus.advised(told, same, [hit for hit in hits if not _past(hit, limits)])
    many = "many" if "peak" in told.values else ""
    when, words = _when(told, count, max(hit.first.age_s for hit in same) - latest.last.age_s)
    return found(
        told.fault,
        _severity(told, limits),
        _subject(seen, told),
        told.template + words,
        *(
            _evidence(seen, hit, advice, gpus.echoed(hit, hits))
            for hit in (told, *(hit for hit in same if hit is not told))[:QUOTED]
        ),
        kind=told.kind,
        variant=".".join(filter(None, (told.rule.partition(".")[2], many, when))),
        rule=told.rule,
        count=count,
        confidence=NOTED if told.note else SURE,
        first_seen=min((hit.first.time for hit in same if hit.first.time), default=None),
        last_seen=latest.last.time,
        remedies=tuple(dict.fromkeys(hit.remedy for hit in (told, *same) if hit.remedy)),
        **{
            **told.values,
            "span": span(max(hit.first.age_s for hit in same) - latest.last.age_s),
            "ago": span(told.last.age_s),
        },
    )


def _severity(hit: KernelHit, limits: KernelLogLimits) -> Severity:
    return "info" if _past(hit, limits) else hit.severity


def _past(hit: KernelHit, limits: KernelLogLimits) -> bool:
    return hit.over or (hit.kind == "event" and hit.last.age_s > limits.recent_h * HOUR)


def _when(hit: KernelHit, count: int, span_s: float) -> tuple[str, str]:
    """Return how often and when, as the end of the sentence and of its key."""
    often = " ({count} lines in {span})" if count > 1 and span_s >= 1 else ""
    if hit.over:
        return f"over{'.often' if often else ''}", f"{often}, {{ago}} ago; it is over"
    return ("often" if often else ""), f"{often}, {{ago}} ago"


def _subject(seen: KernelSymptoms, hit: KernelHit) -> Subject:
    if hit.about == "node" or hit.name is None:
        return NODE
    card = seen.cards.get(hit.name)
    pid = hit.values.get("pid")
    return Subject(
        kind=hit.about,
        name=hit.name,
        uuid=card.uuid if card else None,
        serial=card.serial if card else None,
        pid=pid if isinstance(pid, int) else None,
    )


def _evidence(
    seen: KernelSymptoms, hit: KernelHit, advice: Advice | None, echo: int | None
) -> Evidence:
    """Return the line that the sentence rests on: the first one, and where the last one stands."""
    first: Moment = hit.first
    told: dict[str, Any] = {} if echo is None else {"echo_of": echo}
    if hit.over:
        told["over"] = True
    if not hit.by_kernel:
        told["by_program"] = True
    if first.time is None:
        told |= {"age_s": first.age_s, "last_age_s": hit.last.age_s}
    if hit.recovery is not None:
        told["sub_event"] = hit.recovery
    if advice is not None:
        told |= {"recovery": advice.action or advice.raw, "recovery_by": advice.by}
    return Evidence(
        source=seen.file or seen.source,
        line=first.sequence if seen.file else None,
        text=first.text,
        time=first.time,
        time_error_s=first.time_error_s,
        values={
            **hit.values,
            **told,
            "sequence": first.sequence,
            "last_sequence": hit.last.sequence,
            "count": hit.count,
            "lost": seen.lost,
        },
    )
