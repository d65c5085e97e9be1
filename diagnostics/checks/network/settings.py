"""Are ports of one kind set alike, and do all members of a bond carry."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interface_settings import Bond, InterfaceSettings
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Ports
from diagnostics.check import check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

LACP = "802.3ad"
MANY = 2


@check(
    "network.settings", stage="network", faults=("mtu_mismatch", "bond_degraded"), proved="recorded"
)
def settings(
    seen: InterfaceSettings, ports: Ports, interfaces: Interfaces | Missing
) -> Iterator[Statement]:
    """Interfaces of like ports have one MTU and one mode, and no member of a bond stands aside.

    A rail goes through one port of each node: where one is smaller than the others, its packets are
    cut or dropped, small messages arrive and large ones do not. A bond that lost a member goes on
    at a part of its rate, and nothing fails.
    """
    groups = _groups(ports, interfaces)
    findings = [
        *(one for names in groups for one in _odd(names, seen.mtu, "MTU")),
        *(one for names in groups for one in _odd(names, seen.ipoib, "mode")),
        *(one for bond in seen.bonds for one in _aside(bond)),
    ]
    yield from findings
    compared = sum(len(names) for names in groups)
    if not compared and not seen.bonds:
        yield NotApplicable(why="no two like ports with interfaces, and no bond")
    elif not findings:
        yield Well(message=f"interfaces set alike: {compared}, whole bonds: {len(seen.bonds)}")


def _groups(ports: Ports, interfaces: Interfaces | Missing) -> list[list[str]]:
    """Return the interfaces of like ports that are switched on; members follow their bond's MTU."""
    up = None
    if not isinstance(interfaces, Missing):
        up = {one.name for one in interfaces.interfaces if one.up and one.bond is None}
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for port in ports.ports:
        if port.active and not port.virtual:
            kind = (port.hca_type, port.board_id, port.link_layer, port.role)
            names = [name for name in port.netdevs if up is None or name in up]
            groups.setdefault(kind, []).extend(names[:1])
    return [names for names in groups.values() if len(names) > 1]


def _odd(
    names: Sequence[str], told: Mapping[str, int] | Mapping[str, str], what: str
) -> Iterator[Finding]:
    """Yield who differs from most; of two that differ, nobody knows which is right."""
    values = {name: told[name] for name in names if name in told}
    counted = Counter(values.values()).most_common()
    if len(counted) < MANY:
        return
    usual, count = counted[0]
    known = count > len(values) / 2
    for name, value in values.items():
        if value == usual:
            continue
        yield found(
            "mtu_mismatch",
            "warning" if known and what == "MTU" else "info",
            Subject(kind="nic", name=name),
            "interface {name} has {what} {value}, {most} of {all} like ports have {usual}",
            Evidence(source=f"/sys/class/net/{name}", values={what.lower(): value}),
            variant=what.lower(),
            confidence=0.8 if known else 0.5,
            name=name,
            what=what,
            value=value,
            most=count,
            all=len(values),
            usual=usual,
        )


def _aside(bond: Bond) -> Iterator[Finding]:
    groups = Counter(m.aggregator for m in bond.members if m.mii == "up")
    usual = groups.most_common(1)[0][0] if groups else None
    for member in bond.members:
        apart = bond.mode == LACP and member.mii == "up" and member.aggregator != usual
        if member.mii != "down" and not apart:
            continue
        yield found(
            "bond_degraded",
            "warning",
            Subject(kind="nic", name=member.name),
            "{member} does not carry for {bond} ({mode}): {why}",
            Evidence(
                source=f"/sys/class/net/{member.name}/bonding_slave",
                values={"mii_status": member.mii, "ad_aggregator_id": member.aggregator},
            ),
            variant="apart" if apart else "down",
            member=member.name,
            bond=bond.name,
            mode=bond.mode,
            why="its switch groups it apart from the others" if apart else "its link is down",
        )
