"""Which InfiniBand and RoCE ports the ranks of a job take, beside those that they could."""

from collections.abc import Iterator, Sequence

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.pcie import PciTree
from collectors.jobs.nccl import NcclSettings, RankSettings
from collectors.network.ports import Port, Ports
from diagnostics.check import check
from diagnostics.checks.network.roles import rails
from diagnostics.finding import (
    Evidence,
    Finding,
    NotApplicable,
    Severity,
    Statement,
    Unseen,
    Well,
    found,
)
from diagnostics.nccl import words
from diagnostics.nccl.transport import DEVICES, chosen, taken, transport


@check(
    "network.nccl_devices",
    stage="network",
    faults=("nccl_wrong_interface",),
    proved="documented",
)
def nccl_devices(seen: NcclSettings, ports: Ports, tree: PciTree | Missing) -> Iterator[Statement]:
    """Each job that spans nodes takes the ports beside its GPUs, as far as it has ranks for them.

    NCCL_IB_HCA is a list of beginnings of names: one that is too short loses rails, and with them
    their part of the bandwidth; one that fits nothing leaves the data to TCP sockets. The job runs
    all the same, and logs no error.
    """
    if seen.unread is not None:
        yield Unseen(missing=seen.unread)
        return
    active = [port for port in ports.ports if port.active]
    jobs = {name: ranks for name, ranks in seen.jobs().items() if words.spans_nodes(ranks)}
    if not active or not jobs:
        why = "no InfiniBand or RoCE port is in use" if not active else "no job spans nodes"
        yield NotApplicable(why=why)
        return
    for name, ranks in jobs.items():
        yield from _judge(_Use(name, ranks, ports.ports), rails(ports.ports, tree))


class _Use(msgspec.Struct, frozen=True):
    """A job, its ranks here, and the ports of the node."""

    job: str
    ranks: tuple[RankSettings, ...]
    ports: tuple[Port, ...]

    @property
    def named(self) -> str:
        """Return NCCL_IB_HCA of the first rank that has it."""
        setting = words.of(self.ranks, DEVICES)
        return setting.value if setting else ""

    def otherwise(self) -> bool:
        """Return whether something else than the list keeps ranks from verbs."""
        rest = [{n: v for n, v in one.values().items() if n != DEVICES} for one in self.ranks]
        return any(transport(values, self.ports) != "ib" for values in rest)

    def taken(self) -> list[Port]:
        """Return the ports that some rank takes; each rank may be given one of its own."""
        every = [taken(self.ports, rank.values()) for rank in self.ranks]
        return [port for port in self.ports if any(port in one for one in every)]


def _judge(use: _Use, lanes: Sequence[Port]) -> Iterator[Statement]:
    mine = use.taken()
    if not all(rank.host_network for rank in use.ranks):
        yield NotApplicable(why=f"job {use.job} has devices of its own, which are not looked into")
    elif use.otherwise():
        # Sockets by another setting are told by network.nccl_settings, a plugin takes its own.
        yield NotApplicable(why=f"job {use.job} does not use NCCL's own InfiniBand transport")
    elif not mine:
        yield _nothing(use, lanes)
    elif lost := _lost(use, mine, lanes):
        yield _fewer(use, mine, lost, lanes)
    else:
        rate = sum(port.rate_gbps or 0 for port in mine)
        yield Well(message=f"job {use.job} takes {_count(mine)}, {rate:g} Gb/s together")
        yield from _names(use)


def _count(ports: Sequence[Port]) -> str:
    return "1 port" if len(ports) == 1 else f"{len(ports)} ports"


def _lost(use: _Use, mine: Sequence[Port], lanes: Sequence[Port]) -> list[Port]:
    """Return the rails that are left out although there are ranks to use them."""
    lost = [port for port in lanes if port not in mine]
    used = len(lanes) - len(lost)
    return lost if used < min(len(lanes), len(use.ranks)) else []


def _nothing(use: _Use, lanes: Sequence[Port]) -> Finding:
    return found(
        "nccl_wrong_interface",
        "warning",
        words.subject(use.job, use.ranks),
        "{name}={value} of job {job} fits none of the ports in use ({there}): TCP sockets carry "
        "the data, at a tenth of the speed or less; for the next start: {change}",
        words.evidence(use.ranks, DEVICES),
        _ports(lanes),
        variant="none",
        confidence=0.8,
        name=DEVICES,
        value=use.named,
        job=use.job,
        there=words.some([port.name for port in lanes]),
        change=_change(use, lanes),
    )


def _fewer(use: _Use, mine: Sequence[Port], lost: Sequence[Port], lanes: Sequence[Port]) -> Finding:
    have = sum(port.rate_gbps or 0 for port in mine)
    could = sum(port.rate_gbps or 0 for port in lanes)
    return found(
        "nccl_wrong_interface",
        "warning",
        words.subject(use.job, use.ranks),
        "{name}={value} of job {job} leaves out {lost} of {lanes} ports beside the GPUs ({which}): "
        "{have:g} of {could:g} Gb/s between nodes; for the next start: {change}",
        words.evidence(use.ranks, DEVICES),
        _ports(lanes),
        variant="fewer",
        confidence=0.8,
        name=DEVICES,
        value=use.named,
        job=use.job,
        lost=len(lost),
        lanes=len(lanes),
        which=words.some([port.name for port in lost]),
        have=have,
        could=could,
        change=_change(use, lanes),
    )


def _names(use: _Use) -> Iterator[Finding]:
    """Yield what the list names and the node has not, and what it means besides."""
    selection = chosen({DEVICES: use.named})
    if selection.exclude:
        return
    devices = list(dict.fromkeys(port.device for port in use.ports))
    absent = [
        entry.name
        for entry in selection.entries
        if not any(selection.matches(entry, p.device, p.port) for p in use.ports)
    ]
    here = len(selection.entries) - len(absent)
    # A list that is mostly another kind of node's was made for several.
    severity: Severity = "warning" if len(absent) < here < len(use.ranks) else "info"
    if absent:
        yield _named(
            use,
            severity,
            "absent",
            "{name} of job {job} names {which}, which this node does not have",
            absent,
        )
    besides = [
        device
        for entry in selection.entries
        for device in devices
        if entry.name in devices and device != entry.name and selection.matches(entry, device)
    ]
    listed = {entry.name for entry in selection.entries}
    if more := [device for device in besides if device not in listed]:
        yield _named(
            use,
            "info",
            "besides",
            "{name}={value} of job {job} means {which} as well: names are beginnings, "
            "and `={value}` is exact",
            more,
        )


def _named(use: _Use, severity: Severity, variant: str, told: str, names: Sequence[str]) -> Finding:
    return found(
        "nccl_wrong_interface",
        severity,
        words.subject(use.job, use.ranks),
        told,
        words.evidence(use.ranks, DEVICES),
        _ports(use.ports),
        variant=variant,
        confidence=0.7,
        name=DEVICES,
        value=use.named,
        job=use.job,
        which=words.some(names),
    )


def _change(use: _Use, lanes: Sequence[Port]) -> str:
    names = dict.fromkeys(port.device for port in lanes)
    return words.change(DEVICES, words.of(use.ranks, DEVICES), f"={','.join(names)}")


def _ports(ports: Sequence[Port]) -> Evidence:
    return Evidence(
        source="/sys/class/infiniband", values={port.name: port.rate_gbps for port in ports}
    )
