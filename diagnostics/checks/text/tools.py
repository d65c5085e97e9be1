"""What the output of tools means: nvidia-smi, dcgmi, the fabric manager, Slurm and Kubernetes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from collectors.facts import pci
from collectors.facts.subject import Subject
from diagnostics.check import Limits, check
from diagnostics.checks.training.given import evidence
from diagnostics.finding import RANK, Finding, NotApplicable, Severity, Statement, Well, found
from diagnostics.rules.fold import Hit
from diagnostics.rules.seen import LogSeen, TrainingLogs

# One such line is nothing; many of one thing are.
COUNTED = "systemd.carrier_lost"
OFTEN = " again and again ({count} times)"
DAY = 86_400.0
# A consequence that the same text gives a cause for is told as a note.
FOLLOWS: Mapping[str, str] = {"k8s_device_plugin_unhealthy": "xid_"}


class ToolLimits(Limits, frozen=True, kw_only=True):
    """How often a carrier may be lost: Azure's node health check calls 5 times a day flapping."""

    carriers_lost: Annotated[
        int, msgspec.Meta(ge=1, description="times a day that one interface lost its carrier")
    ] = 5


@check(
    "text.tools",
    stage="driver",
    faults=(
        "gpu_handle_undetermined",
        "gpu_lost",
        "nvml_no_devices",
        "driver_not_loaded",
        "driver_library_mismatch",
        "gpu_device_denied",
        "gpu_init_failed",
        "gpu_reset_required",
        "gpu_inforom_corrupted",
        "row_remap_pending",
        "row_remap_failed",
        "retired_pages_pending",
        "ecc_uncorrectable",
        "gpu_thermal_throttle",
        "gpu_power_brake",
        "nvlink_down",
        "nic_link_flapping",
        "nvswitch_sxid_fatal",
        "nvswitch_sxid_nonfatal",
        "fabric_manager_not_ready",
        "gpu_count_mismatch",
        "xid_other",
        "host_memory_missing",
        "unexpected_reboot",
        "slurm_kill_task_failed",
        "slurmd_not_responding",
        "k8s_pod_evicted",
        "k8s_node_not_ready",
        "k8s_device_plugin_unhealthy",
        "bmc_event",
        "storage_io_error",
    ),
    proved="documented",
)
def tools(seen: TrainingLogs, limits: ToolLimits) -> Iterator[Statement]:
    """No line of a tool's output in the given text means a fault.

    What nvidia-smi or the scheduler said is often all that a report holds: the node itself is gone,
    reset or given to somebody else. Each fault of each thing is one finding with its first line.
    """
    # What of a log could not be read is for training.symptoms to say, once.
    told = False
    for log in seen.logs:
        hits = [_weighed(hit, limits) for hit in log.hits if hit.source == "tool"]
        for same in _alike(hits):
            yield _finding(log, same, hits)
            told = True
    lines = sum(log.lines for log in seen.logs)
    if lines and not told:
        yield Well(f"none of {lines:,} lines is a tool's word of a fault")
    elif not lines:
        yield NotApplicable(why="no text was given: --log FILE")


def _weighed(hit: Hit, limits: ToolLimits) -> Hit:
    """Return the hit, as a note where its line came too seldom to mean something."""
    if hit.rule != COUNTED:
        return hit
    began, ended = hit.first_seen, hit.last_seen
    days = 1.0 if began is None or ended is None else max((ended - began) / DAY, 1.0)
    if hit.count / days >= limits.carriers_lost:
        return msgspec.structs.replace(hit, template=hit.template + OFTEN)
    return msgspec.structs.replace(hit, severity="info")


def _alike(hits: Sequence[Hit]) -> Iterator[list[Hit]]:
    """Put together what tells of one fault of one thing."""
    groups: dict[tuple[str, str | None], list[Hit]] = {}
    for hit in hits:
        groups.setdefault((_fault(hit), hit.name), []).append(hit)
    yield from groups.values()


def _fault(hit: Hit) -> str:
    return hit.fault.format(**hit.values)


def _finding(log: LogSeen, same: Sequence[Hit], hits: Sequence[Hit]) -> Finding:
    """Return one finding; the gravest of its lines is its sentence."""
    told = max(same, key=lambda hit: RANK[_severity(hit, hits)])
    return found(
        _fault(told),
        _severity(told, hits),
        _subject(log, told),
        told.template,
        *evidence(log, [told, *(hit for hit in same if hit is not told)]),
        kind=told.kind,
        variant=told.rule.partition(".")[2],
        rule=told.rule,
        count=sum(hit.count for hit in same),
        confidence=0.95,
        remedies=tuple(dict.fromkeys(hit.remedy for hit in (told, *same) if hit.remedy)),
        **told.values,
    )


def _severity(hit: Hit, hits: Sequence[Hit]) -> Severity:
    cause = FOLLOWS.get(hit.fault)
    explained = cause is not None and any(
        _fault(other).startswith(cause) and other.name == hit.name for other in hits
    )
    return "info" if hit.over or explained else hit.severity


def _subject(log: LogSeen, hit: Hit) -> Subject:
    """Return the thing by its address where the text gives one, by its number or UUID else."""
    if hit.name is None or hit.about in ("log", "rank", "node"):
        return Subject(kind="log", name=log.name)
    values: Mapping[str, Any] = hit.values
    uuid, index = values.get("gpu_uuid"), values.get("index")
    return Subject(
        kind=hit.about,
        name=pci.function(hit.name),
        uuid=uuid if isinstance(uuid, str) else None,
        index=index if isinstance(index, int) else None,
    )
