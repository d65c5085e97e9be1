"""NVMe drives: there, alive, and well by their own word."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.subject import Subject
from collectors.host.nvme import UEVENT, Drive, Health, NvmeDrives
from diagnostics.check import Limits, check
from diagnostics.finding import (
    RANK,
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)

# Byte 0 of the SMART / health log, NVM Express base specification.
WARNINGS: tuple[tuple[int, Severity, str], ...] = (
    (0x01, "critical", "spare blocks are below their threshold"),
    (0x02, "warning", "temperature is past its threshold"),
    (0x04, "critical", "reliability is degraded by media or internal errors"),
    (0x08, "critical", "all media are read-only"),
    (0x10, "warning", "the backup of its volatile memory has failed"),
    (0x20, "warning", "its persistent memory region has become unreliable"),
)
# A controller passes through these when it is reset or probed; one look does not make it ill.
PASSING = frozenset({"new", "resetting", "connecting"})


class NvmeLimits(Limits, frozen=True, kw_only=True):
    """When a drive is worn."""

    percentage_used: Annotated[
        int, msgspec.Meta(ge=1, description="of the endurance that the vendor vouches for")
    ] = 100


@check(
    "storage.nvme", stage="processes", faults=("nvme_missing", "nvme_failing"), proved="recorded"
)
def nvme(seen: NvmeDrives, limits: NvmeLimits) -> Iterator[Statement]:
    """Every NVMe drive on PCI has a live controller and reports itself well.

    Local scratch is striped over all of them: with one drive gone, jobs lose their data cache or do
    not start. What left PCI altogether is not seen here.
    """
    if not seen.drives:
        yield NotApplicable(why="no NVMe drive on PCI")
        return
    siblings = any(drive.state == "live" for drive in seen.drives)
    findings = [
        f for d in seen.drives for f in (_gone(d, siblings=siblings), _health(d, limits)) if f
    ]
    yield from findings
    yield from _unseen(seen.drives)
    live = sum(drive.state == "live" for drive in seen.drives)
    asked = sum(drive.health is not None for drive in seen.drives)
    if live and asked and not findings:
        yield Well(
            message=f"{live} of {len(seen.drives)} NVMe drives live, {asked} report themselves well"
        )


def _subject(drive: Drive) -> Subject:
    return Subject(kind="disk", name=drive.name or drive.address, serial=drive.serial)


def _gone(drive: Drive, *, siblings: bool) -> Finding | None:
    if drive.state == "live" or drive.driver not in (None, "nvme"):
        # Another driver (vfio-pci, uio) has it: given away on purpose.
        return None
    severity: Severity = "critical"
    template = "the NVMe drive {drive} has no live controller (state {state})"
    if drive.state in PASSING:
        severity = "info"
        template = "the controller of the NVMe drive {drive} is {state}"
    elif drive.driver is None:
        severity = "warning" if siblings else "info"
        template = "no driver holds the NVMe drive at {address}"
    return found(
        "nvme_missing",
        severity,
        _subject(drive),
        template,
        Evidence(
            source=UEVENT.replace("*", drive.address),
            values={"driver": drive.driver, "state": drive.state},
        ),
        variant="unbound" if drive.driver is None else drive.state or "",
        address=drive.address,
        drive=f"{drive.name} at {drive.address}" if drive.name else f"at {drive.address}",
        state=drive.state or "none",
    )


def _health(drive: Drive, limits: NvmeLimits) -> Finding | None:
    reasons = list(_reasons(drive.health, limits)) if drive.health else []
    if not reasons:
        return None
    return found(
        "nvme_failing",
        max((severity for severity, _ in reasons), key=RANK.__getitem__),
        _subject(drive),
        "{drive} reports: {reasons}",
        Evidence(source=f"smartctl /dev/{drive.name}", values=msgspec.to_builtins(drive.health)),
        drive=drive.name,
        reasons="; ".join(text for _, text in reasons),
    )


def _reasons(health: Health, limits: NvmeLimits) -> Iterator[tuple[Severity, str]]:
    for bit, severity, text in WARNINGS:
        if (health.critical_warning or 0) & bit:
            yield severity, text
    spare, least = health.available_spare, health.available_spare_threshold
    if spare is not None and least is not None and spare < least <= 100:  # noqa: PLR2004 - per cent
        yield "critical", f"{spare} % spare is left, the threshold is {least} %"
    if health.percentage_used is not None and health.percentage_used >= limits.percentage_used:
        yield "warning", f"{health.percentage_used} % of its rated endurance is used"
    if health.media_errors:
        yield "info", f"{health.media_errors} media errors in its life"


def _unseen(drives: Sequence[Drive]) -> Iterator[Unseen]:
    """Yield each blind drive; all blind for one reason is one statement."""
    blind = [(drive, drive.missing) for drive in drives if drive.missing is not None]
    causes = {missing.cause for _, missing in blind}
    if len(blind) > 1 and len(causes) == 1:
        what = f"SMART of {len(blind)} NVMe drives"
        yield Unseen(missing=msgspec.structs.replace(blind[0][1], what=what))
        return
    for drive, missing in blind:
        yield Unseen(missing=missing, subject=_subject(drive))
