"""Is every InfiniBand and RoCE port that is meant to carry traffic up, at its full rate."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Cause, Missing
from collectors.facts.subject import Subject
from collectors.network.links import LinkHistory, LinkRecord
from collectors.network.ports import Port, Ports
from diagnostics.check import NODE, Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

# A LID that no subnet manager gave: 0 after reset, 0xffff what mlx5 shows on a port never up.
NO_LID = (None, 0, 0xFFFF)
SHOWN = 4
# Physical states in which the other end of a cable was heard.
HEARD = ("LinkUp", "PortConfigurationTraining", "LinkErrorRecovery")


class PortsLimits(Limits, frozen=True, kw_only=True):
    """When the other ports say what this one should be."""

    siblings: Annotated[
        int, msgspec.Meta(ge=1, description="like ports up that make a down one a fault")
    ] = 2
    settle_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds up after which a drop is over")
    ] = 30.0


@check(
    "network.ports",
    stage="network",
    faults=("ib_port_down", "ib_subnet_manager_missing", "ib_port_rate_low"),
    proved="real-tool",
)
def ports(seen: Ports, history: LinkHistory | Missing, limits: PortsLimits) -> Iterator[Statement]:
    """Each port that was up or whose like are up is ACTIVE, at the width of its like.

    NCCL spreads one ring over all ports of a node: the slowest sets the pace of the whole job, and
    a port that goes down ends it after about 7 s of retries. Nodes have ports without a cable too;
    so a port counts as meant to be up if it was given a LID, hears the other end, or sits where
    the ports of other such cards are up, or was seen to go down. One that came back counts as down
    until it has been up for a while.
    """
    real = [port for port in seen.ports if not port.virtual]
    if not real:
        yield NotApplicable(why="no InfiniBand or RoCE port in sysfs")
        return
    yield from _unread(real)
    yield from _unmanaged(real)
    for port in real:
        like = [p for p in real if p is not port and _place(p) == _place(port) and _active(p)]
        if port.state in ("DOWN", "ARMED"):
            yield from _down(port, like, _record(history, port), limits)
        elif _active(port):
            yield from _settling(port, _record(history, port), limits)
            yield from _slow(port, like)
    if active := [port for port in real if _active(port)]:
        yield Well(message=_rates(active))
    else:
        yield NotApplicable(why="no InfiniBand or RoCE port is in use")


def _record(history: LinkHistory | Missing, port: Port) -> LinkRecord | None:
    return None if isinstance(history, Missing) else history.of(port.name)


def _settling(port: Port, record: LinkRecord | None, limits: PortsLimits) -> Iterator[Finding]:
    if record is None or not record.drops or not record.up or record.for_s >= limits.settle_s:
        return
    yield found(
        "ib_port_down",
        "warning",
        _subject(port),
        "port {port} went down and is up again for {up:g} s; it counts as down until it has been "
        "up for {settle:g} s",
        _evidence(port),
        variant="settling",
        confidence=0.9,
        port=port.name,
        up=round(record.for_s),
        settle=limits.settle_s,
    )


def _active(port: Port) -> bool:
    return (port.state or "").startswith("ACTIVE")


def _place(port: Port) -> tuple[str | None, ...]:
    """Return what ports must share to be compared: the card's kind and the place on the card.

    The second port of a dual-port card is its PCI function 1, and is often left without a cable.
    """
    function = (port.pci or "").rpartition(".")[2]
    return (port.hca_type, port.board_id, port.link_layer, function, str(port.port))


def _unread(real: Sequence[Port]) -> Iterator[Statement]:
    for port in real:
        if port.state is None:
            detail = f"/sys/class/infiniband/{port.device}/ports/{port.port}/state is unreadable"
            missing = Missing(what="port state", cause=Cause.GARBLED, detail=detail)
            yield Unseen(missing=missing, subject=_subject(port))


def _unmanaged(real: Sequence[Port]) -> Iterator[Finding]:
    waiting = [port for port in real if port.state == "INIT" and port.infiniband]
    if not waiting:
        return
    never = all(port.sm_lid in NO_LID for port in waiting)
    names = ", ".join(port.name for port in waiting[:SHOWN])
    more = f" and {len(waiting) - SHOWN} more" if len(waiting) > SHOWN else ""
    yield found(
        "ib_subnet_manager_missing",
        "critical" if never else "warning",
        NODE,
        "no subnet manager has configured {ports}: link up, state INIT, {known}",
        *(_evidence(port) for port in waiting),
        variant="never" if never else "left",
        confidence=0.95 if never else 0.7,
        ports=names + more,
        known="SM LID 0" if never else f"last known SM LID {max(p.sm_lid or 0 for p in waiting)}",
    )


def _down(
    port: Port, like: Sequence[Port], record: LinkRecord | None, limits: PortsLimits
) -> Iterator[Finding]:
    was_up = port.infiniband and port.lid not in NO_LID
    heard = port.infiniband and port.phys_state in HEARD
    siblings = len(like) >= limits.siblings
    went = record is not None and bool(record.drops) and not record.up
    reasons = [
        (was_up, "it had LID {lid} before"),
        (heard, "it hears the other end of its cable"),
        (siblings, "{like} like ports are up"),
        (went, "it was up until {ago:g} s ago"),
    ]
    meant = [text for holds, text in reasons if holds]
    if not meant:
        return
    yield found(
        "ib_port_down",
        "critical" if was_up else "warning",
        _subject(port),
        "port {port} is {state} ({phys}), though " + " and ".join(meant),
        _evidence(port),
        variant="".join("yn"[not holds] for holds, _ in reasons[:3]) + "y" * went,
        confidence=0.95 if was_up or went else 0.8,
        port=port.name,
        state=port.state,
        phys=port.phys_state or "physical state unknown",
        lid=port.lid,
        like=len(like),
        ago=round(record.for_s) if record is not None and went else None,
    )


def _slow(port: Port, like: Sequence[Port]) -> Iterator[Finding]:
    """Compare with the usual rate of like ports: lost lanes are a fault, speed may be a choice."""
    rates = Counter((p.rate_gbps, p.width) for p in like if p.rate_gbps)
    if port.rate_gbps is None or not rates:
        return
    (usual, width), count = rates.most_common(1)[0]
    if not usual or port.rate_gbps >= usual or count <= len(like) / 2:
        return
    narrow = port.width is not None and width is not None and port.width < width
    yield found(
        "ib_port_rate_low",
        "warning" if narrow and count > 1 else "info",
        _subject(port),
        "port {port} runs at {rate:g} Gb/s on {width} lanes; {faster} of {like} like ports run at "
        "{usual:g} Gb/s on {lanes} lanes",
        _evidence(port),
        confidence=0.9 if narrow else 0.5,
        port=port.name,
        rate=port.rate_gbps,
        width=port.width or "?",
        faster=count,
        like=len(like),
        usual=usual,
        lanes=width or "?",
    )


def _rates(active: Sequence[Port]) -> str:
    rates = Counter(port.rate_gbps or 0.0 for port in active)
    parts = [
        f"{count} {'port' if count == 1 else 'ports'} at {rate:g} Gb/s"
        for rate, count in sorted(rates.items(), reverse=True)
    ]
    return ", ".join(parts)


def _subject(port: Port) -> Subject:
    return Subject(kind="port", name=port.name)


def _evidence(port: Port) -> Evidence:
    return Evidence(
        source=f"/sys/class/infiniband/{port.device}/ports/{port.port}",
        values={
            "state": port.state,
            "phys_state": port.phys_state,
            "rate_gbps": port.rate_gbps,
            "width": port.width,
            "lid": port.lid,
            "sm_lid": port.sm_lid,
            "netdevs": list(port.netdevs),
            "pci": port.pci,
        },
    )
