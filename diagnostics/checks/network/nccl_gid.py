"""Whether the place that NCCL_IB_GID_INDEX fixes holds an address that RoCE v2 carries."""

from collections.abc import Iterator, Sequence

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.jobs.nccl import NcclSettings, RankSettings
from collectors.network.gids import MOST, Gid, Gids, PortGids
from collectors.network.ports import Port, Ports
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found
from diagnostics.nccl import gid as rules
from diagnostics.nccl import words
from diagnostics.nccl.transport import taken, transport

TWO = 2
BEYOND = Missing(what="Gids", cause=Cause.HELD_BACK, detail=f"only {MOST} places are read")


@check("network.nccl_gid", stage="network", faults=("roce_gid_missing",), proved="documented")
def nccl_gid(seen: NcclSettings, gids: Gids, ports: Ports) -> Iterator[Statement]:
    """Each RoCE port that a job takes has a RoCE v2 address at the index that the job fixes.

    Addresses come in the order in which interfaces got theirs: the index that is right on one node
    is empty, or of version 1, on another. The connection then fails, or no switch marks and routes
    its packets. NCCL 2.21 and newer choose by themselves.
    """
    if seen.unread is not None:
        yield Unseen(missing=seen.unread)
        return
    uses = [use for job, ranks in seen.jobs().items() for use in _uses(job, ranks, gids, ports)]
    if not uses:
        yield NotApplicable(why="no job across nodes fixes a GID index of RoCE ports")
    elif any(use.index >= MOST for use in uses):
        yield Unseen(missing=BEYOND)
    elif told := list(_told(uses)):
        yield from told
    else:
        yield Well(message=f"RoCE v2 addresses at the index that jobs fix: {len(uses)} ports")


class _Use(msgspec.Struct, frozen=True):
    """What ranks of a job with one index do at one port."""

    job: str
    ranks: tuple[RankSettings, ...]
    port: Port
    table: PortGids
    index: int


def _uses(job: str, ranks: Sequence[RankSettings], gids: Gids, ports: Ports) -> Iterator[_Use]:
    if not words.spans_nodes(ranks):
        return
    by_index: dict[int, list[RankSettings]] = {}
    for rank in ranks:
        index = rules.fixed(rank.values())
        if index is not None and rank.host_network:
            by_index.setdefault(index, []).append(rank)
    for index, having in by_index.items():
        values = having[0].values()
        if transport(values, ports.ports) != "ib":
            continue
        for port in taken(ports.ports, values):
            if not port.infiniband and (table := gids.of(port.name)):
                yield _Use(job, tuple(having), port, table, index)


def _v2(table: PortGids) -> list[Gid]:
    return [gid for gid in table.gids if gid.version == TWO and gid.routable]


def _told(uses: Sequence[_Use]) -> Iterator[Finding]:
    """Yield one finding for each job and what is wrong, whatever number of ports it is."""
    groups: dict[tuple[str, int, str], list[_Use]] = {}
    for use in uses:
        if what := _what(use):
            groups.setdefault((use.job, use.index, what), []).append(use)
    yield from (_wrong(what, group) for (_, _, what), group in groups.items())


def _what(use: _Use) -> str | None:
    gid = use.table.at(use.index)
    if gid is None:
        return "empty"
    if gid.version is not None and gid.version != TWO and _v2(use.table):
        return "version"
    return "local" if not gid.routable and _v2(use.table) else None


IS = {
    "empty": "no address",
    "version": "an address of RoCE v1",
    "local": "a link-local address",
}


def _wrong(what: str, uses: Sequence[_Use]) -> Finding:
    use = uses[0]
    setting = words.of(use.ranks, rules.INDEX)
    names = [one.port.name for one in uses]
    places = sorted({str(gid.index) for one in uses for gid in _v2(one.table)})
    alone = Subject(kind="port", name=names[0])
    return found(
        "roce_gid_missing",
        # A link-local address does inside of one subnet.
        "info" if what == "local" else "warning",
        alone if len(names) == 1 else words.subject(use.job, use.ranks),
        "{name}={index} of job {job} is {what} on {ports}; {places}; for the next start: {change}",
        words.evidence(use.ranks, rules.INDEX),
        *(_table(one.table) for one in uses[: words.MOST]),
        variant=what,
        name=rules.INDEX,
        index=use.index,
        job=use.job,
        what=IS[what],
        ports=words.some(names),
        places=f"RoCE v2 is at {', '.join(places)}" if places else "RoCE v2 is nowhere",
        change=words.change(rules.INDEX, setting, None),
    )


def _table(table: PortGids) -> Evidence:
    device, _, number = table.port.partition("/")
    return Evidence(
        source=f"/sys/class/infiniband/{device}/ports/{number}/gid_attrs/types",
        values={str(gid.index): f"v{gid.version or '?'}" for gid in table.gids},
    )
