"""Software RAID arrays."""

from collections.abc import Iterator

from collectors.facts.subject import Subject
from collectors.host.raid import PATH, Array, RaidArrays
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found


@check("storage.raid", stage="processes", faults=("raid_degraded",), proved="recorded")
def raid(seen: RaidArrays) -> Iterator[Statement]:
    """Every array has all its members.

    The scratch of a node is often one stripe over all drives: it is gone with the first of them. A
    mirror under the system goes on, but not through a second loss.
    """
    arrays = [array for array in seen.arrays if not array.container]
    ill = [finding for array in arrays if (finding := _judge(array))]
    yield from ill
    if not arrays:
        yield NotApplicable(why="no software RAID array (/proc/mdstat lists none)")
    elif not ill:
        working = [f"{a.name} {a.work} {a.work_percent or 0:g} %" for a in arrays if a.work]
        yield Well(message=f"arrays with all their members: {len(arrays)}{_listed(working)}")


def _listed(working: list[str]) -> str:
    return f"; {', '.join(working)}" if working else ""


def _judge(array: Array) -> Finding | None:
    if array.state == "broken":
        return _found(array, "critical", "{array} ({level}) is broken: a member is gone")
    if array.state == "inactive":
        return _found(array, "warning", "{array} did not start: it is inactive", "inactive")
    if not array.missing and not array.failed:
        return None
    if array.work in ("recovery", "resync"):
        return _found(
            array,
            "info",
            "{array} ({level}) lacks {missing} of {wanted} members and is rebuilt: {percent} done",
            "rebuilding",
        )
    return _found(
        array,
        "warning",
        "{array} ({level}) runs without {missing} of {wanted} members{failed}",
        "member",
    )


def _found(array: Array, severity: Severity, template: str, variant: str = "") -> Finding:
    failed = f", failed: {', '.join(array.failed)}" if array.failed else ""
    return found(
        "raid_degraded",
        severity,
        Subject(kind="disk", name=array.name),
        template,
        Evidence(source=PATH, text=array.text),
        variant=variant,
        array=array.name,
        level=array.level or "level unknown",
        missing=array.missing or len(array.failed),
        wanted=array.wanted or len(array.members),
        failed=failed,
        percent="0 %" if array.work_percent is None else f"{array.work_percent:g} %",
    )
