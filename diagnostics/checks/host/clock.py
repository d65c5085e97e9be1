"""The wall clock."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.processes import ProcessTable
from collectors.host.clock import Clock
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, NotApplicable, Statement, Unseen, Well, found

# The kernel cuts names at 15 characters. phc2sys is not here: old ones never set the kernel's mark.
SERVICES = {"chronyd": "chronyd", "ntpd": "ntpd", "systemd-timesyn": "systemd-timesyncd"}


class ClockLimits(Limits, frozen=True, kw_only=True):
    """How far a clock may be off."""

    offset_ms: Annotated[float, msgspec.Meta(gt=0, description="distance from the time source")] = (
        100.0
    )
    settle_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds after boot that a service may need")
    ] = 900.0


@check("host.clock", stage="processes", faults=("clock_skew",), proved="recorded")
def clock(seen: Clock, table: ProcessTable | Missing, limits: ClockLimits) -> Iterator[Statement]:
    """Time on the node is within the limit of its source.

    Log lines of ranks on many nodes are put in order by it, and munge, Kerberos and TLS refuse a
    node that is minutes off. Without a time service it is not judged: nothing knows the offset.
    """
    evidence = Evidence(source=seen.source, text=seen.text, values={"offset_s": seen.offset_s})
    if seen.offset_s is not None:
        offset = round(abs(seen.offset_s) * 1e3, 3)
        if offset <= limits.offset_ms:
            yield Well(message=f"the clock is {offset:g} ms off its source")
            return
        yield found(
            "clock_skew",
            "warning",
            NODE,
            "the clock is {offset:g} ms off its time source (limit {limit:g} ms)",
            evidence,
            offset=offset,
            limit=limits.offset_ms,
        )
    elif seen.synchronised:
        yield Well(message="the kernel's clock is synchronised")
    elif isinstance(table, Missing):
        yield Unseen(missing=table)
    else:
        yield _unsynchronised(table, limits, evidence)


def _unsynchronised(table: ProcessTable, limits: ClockLimits, evidence: Evidence) -> Statement:
    service = next((p for p in table.processes if p.comm in SERVICES), None)
    if service is None:
        return NotApplicable(
            why="no time service runs here, so nothing knows how far the clock is off"
        )
    settling = table.uptime_s - service.start_s < limits.settle_s
    return found(
        "clock_skew",
        "info" if settling else "warning",
        NODE,
        "{service} has run for {minutes} min, yet the clock is not synchronised",
        evidence,
        variant="unsynchronised",
        service=SERVICES[service.comm],
        minutes=round((table.uptime_s - service.start_s) / 60),
    )
