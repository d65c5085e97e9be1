"""Has every network interface that is in use a carrier, at the speed of its bond."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interfaces import Interface, Interfaces
from collectors.network.links import LinkHistory, LinkRecord
from collectors.network.ports import Port, Ports
from diagnostics.check import Limits, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

LINK_LOCAL = ("169.254.", "fe80:")


class InterfaceLimits(Limits, frozen=True, kw_only=True):
    """When a carrier that was lost counts as back."""

    settle_s: Annotated[
        float, msgspec.Meta(ge=0, description="seconds with carrier after which a drop is over")
    ] = 30.0


@check(
    "network.interfaces",
    stage="network",
    faults=("nic_link_down", "ipoib_down", "nic_speed_low"),
    proved="recorded",
)
def interfaces(
    seen: Interfaces,
    history: LinkHistory | Missing,
    ports: Ports | Missing,
    limits: InterfaceLimits,
) -> Iterator[Statement]:
    """Each interface with an address, in a bond or with a role has a carrier.

    Rendezvous, NCCL's bootstrap, storage and the scheduler all use these addresses: one without a
    carrier shows as a connect timeout of a job, minutes later and on another node. A
    carrier that came back counts as lost until it has held for a while.
    """
    ours = [one for one in seen.interfaces if one.physical or one.role]
    used = [one for one in ours if one.up and (given(one) or one.bond or one.role)]
    if not used:
        yield NotApplicable(why="no physical interface has an address or a role or is in a bond")
        return
    listed = () if isinstance(ports, Missing) else ports.ports
    below = {name: port for port in listed for name in port.netdevs}
    for one in used:
        port = below.get(one.name)
        record = None if isinstance(history, Missing) else history.of(one.name)
        if not one.running:
            yield _no_carrier(one, record, port)
        elif record and record.drops and record.up and record.for_s < limits.settle_s:
            yield _settling(one, record, port, limits)
        elif fast := _faster(one, used):
            yield _slow(one, fast)
    carried = sum(one.running for one in used)
    if carried:
        yield Well(message=f"{carried} of {len(used)} interfaces in use have a carrier")


def given(one: Interface) -> list[str]:
    """Return the addresses that somebody gave; link-local ones make themselves."""
    return [address for address in one.addresses if not address.startswith(LINK_LOCAL)]


def _use(one: Interface) -> str:
    if one.bond:
        return f"is in {one.bond}"
    addresses = given(one)
    return (
        f"has the address {addresses[0]}" if addresses else f"is a {one.role} port by the settings"
    )


def _card(port: Port | None) -> dict[str, str | None]:
    return {"pci": port.pci, "device": port.device} if port else {}


def _no_carrier(one: Interface, record: LinkRecord | None, port: Port | None) -> Finding:
    went = record is not None and bool(record.drops) and not record.up
    return found(
        "ipoib_down" if one.infiniband else "nic_link_down",
        "warning",
        Subject(kind="nic", name=one.name),
        "interface {name} is switched on and has no carrier; it {use}"
        + (" and had one until {ago:g} s ago" if went else ""),
        Evidence(
            source=f"/sys/class/net/{one.name}",
            values={"up": True, "running": False, **_card(port)},
        ),
        variant="went" if went else "",
        name=one.name,
        use=_use(one),
        ago=round(record.for_s) if record is not None and went else None,
    )


def _settling(
    one: Interface, record: LinkRecord, port: Port | None, limits: InterfaceLimits
) -> Finding:
    return found(
        "ipoib_down" if one.infiniband else "nic_link_down",
        "warning",
        Subject(kind="nic", name=one.name),
        "interface {name} lost its carrier and has it again for {up:g} s; it counts as down until "
        "it has had it for {settle:g} s",
        Evidence(
            source=f"/sys/class/net/{one.name}",
            values={"up": True, "running": True, "outage_s": record.outage_s, **_card(port)},
        ),
        variant="settling",
        name=one.name,
        up=round(record.for_s),
        settle=limits.settle_s,
    )


def _faster(one: Interface, used: Sequence[Interface]) -> Interface | None:
    bonded = [o for o in used if one.bond and o.bond == one.bond and o.speed_mbps]
    fastest = max(bonded, key=lambda o: o.speed_mbps or 0, default=None)
    if fastest is None or not one.speed_mbps or one.speed_mbps >= (fastest.speed_mbps or 0):
        return None
    return fastest


def _slow(one: Interface, fast: Interface) -> Finding:
    return found(
        "nic_speed_low",
        "info",
        Subject(kind="nic", name=one.name),
        "interface {name} runs at {speed} Mb/s, {other} in the same bond at {faster} Mb/s",
        Evidence(source=f"/sys/class/net/{one.name}", values={"speed_mbps": one.speed_mbps}),
        name=one.name,
        speed=one.speed_mbps,
        other=fast.name,
        faster=fast.speed_mbps,
    )
