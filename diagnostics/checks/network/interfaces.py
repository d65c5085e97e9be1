"""Has every network interface that is in use a carrier, at the speed of its bond."""

from collections.abc import Iterator, Sequence

from collectors.facts.subject import Subject
from collectors.network.interfaces import Interface, Interfaces
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

LINK_LOCAL = ("169.254.", "fe80:")


@check(
    "network.interfaces",
    stage="network",
    faults=("nic_link_down", "ipoib_down", "nic_speed_low"),
    proved="recorded",
)
def interfaces(seen: Interfaces) -> Iterator[Statement]:
    """Each interface with an address or in a bond has a carrier.

    Rendezvous, NCCL's bootstrap, storage and the scheduler all use these addresses: one without a
    carrier shows as a connect timeout of a job, minutes later and on another node.
    """
    physical = [one for one in seen.interfaces if one.physical]
    used = [one for one in physical if one.up and (_addresses(one) or one.bond)]
    if not used:
        yield NotApplicable(why="no physical interface has an address or is in a bond")
        return
    for one in used:
        if not one.running:
            yield _no_carrier(one)
        elif fast := _faster(one, used):
            yield _slow(one, fast)
    carried = sum(one.running for one in used)
    if carried:
        yield Well(message=f"{carried} of {len(used)} interfaces in use have a carrier")


def _addresses(one: Interface) -> list[str]:
    """Return the addresses that somebody gave; link-local ones make themselves."""
    return [address for address in one.addresses if not address.startswith(LINK_LOCAL)]


def _no_carrier(one: Interface) -> Finding:
    return found(
        "ipoib_down" if one.infiniband else "nic_link_down",
        "warning",
        Subject(kind="nic", name=one.name),
        "interface {name} is switched on and has no carrier; it {use}",
        Evidence(source=f"/sys/class/net/{one.name}", values={"up": True, "running": False}),
        name=one.name,
        use=f"is in {one.bond}" if one.bond else f"has the address {_addresses(one)[0]}",
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
