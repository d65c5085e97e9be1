"""Does the subnet manager answer, and is it the one that it was."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.neighbours import Neighbours
from collectors.network.ports import Ports
from collectors.network.subnet import Change, Manager, SubnetManagers
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

SHOWN = 4


class SubnetLimits(Limits, frozen=True, kw_only=True):
    """How long a change is told."""

    told_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds for which a change is told")
    ] = 3600.0


@check(
    "network.subnet",
    stage="network",
    faults=(
        "ib_subnet_manager_missing",
        "ib_subnet_manager_changed",
        "ib_lid_changed",
        "opensm_not_running",
    ),
    proved="real-tool",
)
def subnet(
    seen: SubnetManagers, ports: Ports | Missing, hops: Neighbours | Missing, limits: SubnetLimits
) -> Iterator[Statement]:
    """Each active InfiniBand port has a subnet manager that answers, the one that it was.

    Ports that are up stay up without it: what fails is each new connection, and whatever should
    be routed around a link that goes down meanwhile. A manager that never answered this agent may
    refuse by its M_Key, so silence is a fault only of one that did. Where opensm is enabled on
    this node it runs.
    """
    if seen.enabled and seen.running is False and _infiniband(ports):
        yield _stopped(seen.enabled)
    yield from (_changed(one) for one in seen.changes if one.ago_s <= limits.told_s)
    if seen.unasked is not None:
        yield Unseen(missing=seen.unasked)
        return
    if not seen.managers:
        yield NotApplicable(why="no InfiniBand port is in use")
        return
    yield from (_silent(one, seen) for one in seen.managers if not one.answers)
    if answering := [one for one in seen.managers if one.answers]:
        yield Well(message=_managed(answering, hops))
    else:
        yield Well(message="no subnet manager answers this node's questions")


def _infiniband(ports: Ports | Missing) -> bool:
    return not isinstance(ports, Missing) and any(port.infiniband for port in ports.ports)


def _silent(one: Manager, seen: SubnetManagers) -> Finding:
    lost = one.port in seen.answered
    return found(
        "ib_subnet_manager_missing",
        "warning" if lost else "info",
        Subject(kind="port", name=one.port),
        "the subnet manager of {port} answered before and does not any more"
        if lost
        else "the subnet manager of {port} gives no answer; that it ever did is not known",
        Evidence(source="sminfo", text=one.said),
        variant="lost" if lost else "silent",
        confidence=0.9 if lost else 0.4,
        port=one.port,
    )


def _changed(one: Change) -> Finding:
    manager = one.what == "manager"
    return found(
        "ib_subnet_manager_changed" if manager else "ib_lid_changed",
        "info",
        Subject(kind="port", name=one.port),
        "the subnet manager of {port} changed from {before} to {after} {ago} s ago"
        if manager
        else "the LID of {port} changed from {before} to {after} {ago} s ago",
        Evidence(
            source="sminfo" if manager else f"/sys/class/infiniband/{_lid(one.port)}",
            values={"before": one.before, "after": one.after},
        ),
        kind="event",
        port=one.port,
        before=one.before,
        after=one.after,
        ago=round(one.ago_s),
    )


def _lid(port: str) -> str:
    device, _, number = port.partition("/")
    return f"{device}/ports/{number}/lid"


def _stopped(enabled: str) -> Finding:
    return found(
        "opensm_not_running",
        "warning",
        NODE,
        "opensm is enabled on this node and does not run",
        Evidence(source=enabled),
    )


def _managed(answering: Sequence[Manager], hops: Neighbours | Missing) -> str:
    guids = sorted({one.guid or "?" for one in answering})
    said = f"the subnet manager of {len(answering)} ports answers ({', '.join(guids[:SHOWN])})"
    switches = [] if isinstance(hops, Missing) else sorted({one.switch for one in hops.neighbours})
    if switches:
        more = len(switches) - SHOWN
        said += f"; on {', '.join(switches[:SHOWN])}" + (f" and {more} more" if more > 0 else "")
    return said
