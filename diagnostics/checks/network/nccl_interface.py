"""Over which interface the ranks of a job meet, and over which the data goes without InfiniBand."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.jobs.nccl import ENVIRONMENT, NcclSettings, RankSettings
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.ports import Ports
from collectors.network.routes import Routes
from diagnostics.check import Limits, check
from diagnostics.checks.network.interfaces import LINK_LOCAL
from diagnostics.checks.network.libraries import INSIDE, beside
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found
from diagnostics.nccl import sockets, words
from diagnostics.nccl.transport import transport

MASTER = "MASTER_ADDR"
CHANGED = Missing(what="Routes", cause=Cause.STALE, detail="an interface came while we looked")
MEGA = 1000


class InterfaceLimits(Limits, frozen=True, kw_only=True):
    """When an interface is too slow for the data of a job."""

    times_slower: Annotated[
        float, msgspec.Meta(gt=1, description="times faster that another interface here must be")
    ] = 4.0


@check(
    "network.nccl_interface",
    stage="network",
    faults=("nccl_wrong_interface", "nccl_no_socket_interface"),
    proved="documented",
)
def nccl_interface(
    seen: NcclSettings,
    interfaces: Interfaces,
    routes: Routes | Missing,
    ports: Ports | Missing,
    limits: InterfaceLimits,
) -> Iterator[Statement]:
    """Each job meets over an interface that leads to the other nodes, and is fast enough.

    NCCL takes the first interface that fits NCCL_SOCKET_IFNAME, or its own order. On docker0 or
    loopback the job never starts: each node has the same address there. Where sockets carry the
    data too, a slow interface makes each step many times longer.
    """
    if seen.unread is not None:
        yield Unseen(missing=seen.unread)
        return
    told: list[str] = []
    for job, ranks in seen.jobs().items():
        if not words.spans_nodes(ranks):
            told.append(f"job {job} runs on this node alone")
        elif not all(rank.host_network for rank in ranks):
            told.append(f"job {job} has a network of its own, which is not looked into")
        else:
            yield from _judge(_Job(job, ranks), _ordered(interfaces, routes), routes, ports, limits)
            yield from beside(job, ranks, interfaces, ports)
    if told:
        yield NotApplicable(why=words.some(told))
    elif not seen.ranks:
        yield NotApplicable(why="no rank of a job runs here")


class _Job(msgspec.Struct, frozen=True):
    name: str
    ranks: tuple[RankSettings, ...]


def _ordered(seen: Interfaces, routes: Routes | Missing) -> tuple[Interface, ...] | None:
    """Return the interfaces as the kernel lists them, None where their order is not known."""
    index: Mapping[str, int] = {} if isinstance(routes, Missing) else routes.index
    if any(one.name not in index for one in seen.interfaces):
        return None
    return tuple(sorted(seen.interfaces, key=lambda one: index[one.name]))


def _judge(
    job: _Job,
    ordered: tuple[Interface, ...] | None,
    routes: Routes | Missing,
    ports: Ports | Missing,
    limits: InterfaceLimits,
) -> Iterator[Statement]:
    if ordered is None:
        yield Unseen(missing=routes if isinstance(routes, Missing) else CHANGED)
        return
    groups: dict[sockets.Choice, list[RankSettings]] = {}
    for rank in job.ranks:
        groups.setdefault(sockets.choose(ordered, rank.values()), []).append(rank)
    for choice, ranks in groups.items():
        at = _Choice(job.name, choice, tuple(ranks), _better(ordered, ranks[0], routes))
        if not choice.hinted:
            yield _none(at, ordered) or _inside(at) or _slow(at, ports, limits) or _well(at)


class _Choice(msgspec.Struct, frozen=True):
    """What some ranks of a job take, and what they should."""

    job: str
    choice: sockets.Choice
    ranks: tuple[RankSettings, ...]
    better: Interface | None

    @property
    def first(self) -> Interface:
        return self.choice.interfaces[0]

    @property
    def change(self) -> str:
        """Return the line for the next start."""
        if self.better is None:
            return "name an interface with an address that the other nodes can reach"
        return words.change(
            sockets.NAMED, words.of(self.ranks, sockets.NAMED), f"={self.better.name}"
        )

    @property
    def how(self) -> str:
        """Return by what they came to it."""
        setting = words.of(self.ranks, sockets.NAMED)
        if setting is None or self.choice.by != setting.value:
            return f"{sockets.NAMED} is not set"
        where = "" if setting.source == ENVIRONMENT else f" in {setting.source}"
        return f"{sockets.NAMED}={setting.value}{where}"


def _reaches_others(one: Interface) -> bool:
    given = [address for address in one.addresses if not address.startswith(LINK_LOCAL)]
    return bool(given) and INSIDE.fullmatch(one.name) is None


def _better(
    ordered: Sequence[Interface], rank: RankSettings, routes: Routes | Missing
) -> Interface | None:
    """Return the interface to name: where packets to the master leave, else the fastest."""
    able = [one for one in ordered if one.up and one.running and _reaches_others(one)]
    able = [one for one in able if one.role != "management"] or able
    master = rank.settings.get(MASTER)
    if master and not isinstance(routes, Missing):
        way = routes.to(master.value)
        if found := next((one for one in able if one.name == way), None):
            return found
    return max(able, key=lambda one: one.speed_mbps or 0, default=None)


def _none(at: _Choice, ordered: Sequence[Interface]) -> Finding | None:
    if at.choice.interfaces:
        return None
    able = [one.name for one in ordered if one.up and one.running and one.addresses]
    return found(
        "nccl_no_socket_interface",
        "warning",
        words.subject(at.job, at.ranks),
        "no interface in use here fits job {job} ({how}); there are {able}; "
        "for the next start: {change}",
        words.evidence(at.ranks, sockets.NAMED, sockets.FAMILY),
        _seen(ordered),
        confidence=0.8,
        job=at.job,
        how=at.how,
        able=words.some(able),
        change=at.change,
    )


def _inside(at: _Choice) -> Finding | None:
    if _reaches_others(at.first):
        return None
    return found(
        "nccl_wrong_interface",
        "warning",
        words.subject(at.job, at.ranks),
        "the ranks of job {job} meet over {name} ({how}), which leads to no other node; "
        "for the next start: {change}",
        words.evidence(at.ranks, sockets.NAMED, MASTER),
        _seen(at.choice.interfaces),
        variant="inside",
        confidence=0.8,
        job=at.job,
        name=at.first.name,
        how=at.how,
        change=at.change,
    )


def _slow(at: _Choice, ports: Ports | Missing, limits: InterfaceLimits) -> Finding | None:
    """Judge speed and purpose where sockets carry the data; the bootstrap alone needs neither."""
    listed = () if isinstance(ports, Missing) else ports.ports
    best, data = at.better, at.choice.interfaces
    if isinstance(ports, Missing) or transport(at.ranks[0].values(), listed) != "socket":
        return None
    speed = max((one.speed_mbps or 0 for one in data), default=0)
    managed = all(one.role == "management" for one in data)
    faster = best and speed and (best.speed_mbps or 0) >= limits.times_slower * speed
    if best is None or best in data or not (faster or managed):
        return None
    return found(
        "nccl_wrong_interface",
        "warning",
        words.subject(at.job, at.ranks),
        "sockets carry the data of job {job} over {name} at {speed:g} Gb/s ({how}); "
        "{best} has {fast:g} Gb/s; for the next start: {change}",
        words.evidence(at.ranks, sockets.NAMED),
        _seen((*data, best)),
        variant="slow",
        job=at.job,
        name=words.some([one.name for one in data]),
        speed=speed / MEGA,
        how=at.how,
        best=best.name,
        fast=(best.speed_mbps or 0) / MEGA,
        change=at.change,
    )


def _seen(interfaces: Sequence[Interface]) -> Evidence:
    return Evidence(
        source="/sys/class/net", values={one.name: one.speed_mbps for one in interfaces}
    )


def _well(at: _Choice) -> Well:
    return Well(message=f"job {at.job} meets the other nodes over {at.first.name}")
