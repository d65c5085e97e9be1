"""Links that go down and up again, by the kernel's own lines and by what was watched."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interfaces import Interfaces
from collectors.network.links import LinkHistory
from collectors.network.ports import Ports
from diagnostics.check import Limits, check
from diagnostics.checks.kernel.words import HOUR, span
from diagnostics.checks.network import drops
from diagnostics.finding import Evidence, Finding, Statement, Well, found
from diagnostics.rules.kernel_seen import KernelHit, KernelSymptoms

UP = frozenset({"nic_link_flapping", "ib_port_flapping"})
DOWN = {"nic_link_down": "nic_link_flapping", "ib_port_down": "ib_port_flapping"}


class FlapLimits(Limits, frozen=True, kw_only=True):
    """How often a link may come back.

    Three flaps in 12 h are gpud's threshold for InfiniBand ports; Azure's node health check takes
    five lost carriers in 24 h.
    """

    flaps: Annotated[int, msgspec.Meta(ge=1, description="times a link came back")] = 3
    within_h: Annotated[float, msgspec.Meta(gt=0, description="hours in which it did")] = 12.0
    recent_h: Annotated[
        float, msgspec.Meta(gt=0, description="hours for which flaps count as of now")
    ] = 24.0


@check(
    "network.link_flaps",
    stage="network",
    faults=("nic_link_flapping", "ib_port_flapping"),
    proved="documented",
)
def link_flaps(
    seen: KernelSymptoms,
    history: LinkHistory | Missing,
    ports: Ports | Missing,
    interfaces: Interfaces | Missing,
    limits: FlapLimits,
) -> Iterator[Statement]:
    """No link goes down and comes back again and again.

    Each flap stops all connections over it for seconds; a collective waits, and after some of them
    its timeout ends the job. A cable, its optics or the switch's port is loose, dirty or dying.
    Links that went down together point at what they share: a switch or its power, and no cable.
    """
    groups: dict[tuple[str, str, str | None], list[KernelHit]] = {}
    for hit in seen.hits:
        fault = hit.fault if hit.fault in UP else DOWN.get(hit.fault)
        if fault and hit.by_kernel and hit.name is not None:
            groups.setdefault((fault, hit.about, hit.name), []).append(hit)
    told = [one for key, hits in groups.items() if (one := _judge(seen, key, hits, limits))]
    links = drops.real(history, ports, interfaces)
    names = {one.subject.name for one in told}
    told += [
        one for one in drops.judge(links, ports, limits.flaps) if one.subject.name not in names
    ]
    yield from told
    if not told:
        yield Well(f"links that the kernel tells of: {len(groups)}, none of them flaps")


def _judge(
    seen: KernelSymptoms,
    key: tuple[str, str, str | None],
    hits: Sequence[KernelHit],
    limits: FlapLimits,
) -> Finding | None:
    ups = sum(hit.count for hit in hits if hit.fault in UP)
    downs = sum(hit.count for hit in hits if hit.fault in DOWN)
    # The first time that it comes up is its start.
    flaps = max(ups - 1, downs)
    first = max(hit.first.age_s for hit in hits)
    last = min(hit.last.age_s for hit in hits)
    windows = max((first - last) / (limits.within_h * HOUR), 1.0)
    if flaps < limits.flaps or flaps / windows < limits.flaps:
        return None
    fault, about, name = key
    start = max(hits, key=lambda hit: hit.first.age_s).first
    return found(
        fault,
        "warning" if last <= limits.recent_h * HOUR else "info",
        Subject(kind=about, name=str(name)),
        "the link of {name} came back {flaps} times within {span}, last {ago} ago",
        Evidence(
            source=seen.file or seen.source,
            line=start.sequence if seen.file else None,
            text=start.text,
            time=start.time,
            time_error_s=start.time_error_s,
            values={**hits[0].values, "ups": ups, "downs": downs},
        ),
        kind="event",
        rule=hits[0].rule,
        count=flaps,
        name=name,
        flaps=flaps,
        span=span(first - last),
        ago=span(last),
    )
