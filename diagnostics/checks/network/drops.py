"""Drops of links that were watched: one cable's, or those of a switch that took all its ports down.

A link is watched from when it was first up, for the last 12 hours.
"""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.interfaces import Interfaces
from collectors.network.links import LinkHistory, LinkRecord
from collectors.network.ports import Port, Ports
from diagnostics.check import NODE
from diagnostics.finding import Evidence, Finding, found

# Looks are a second apart, and a switch takes its ports down one after the other.
TOGETHER_S = 5.0
# So many at once share more than a cable: a split cable ends in two.
MANY = 3
SOURCE = "links, looked at every second"
SHOWN = 4


def real(
    history: LinkHistory | Missing, ports: Ports | Missing, interfaces: Interfaces | Missing
) -> list[LinkRecord]:
    """Return each cable's link once: a port's interface and a bond drop with the port below."""
    if isinstance(history, Missing):
        return []
    below = set() if isinstance(ports, Missing) else {n for p in ports.ports for n in p.netdevs}
    virtual = set() if isinstance(ports, Missing) else {p.name for p in ports.ports if p.virtual}
    nics = set()
    if not isinstance(interfaces, Missing):
        nics = {one.name for one in interfaces.interfaces if one.physical or one.role} - below
    return [
        link
        for link in history.links
        if (link.name in nics if link.kind == "nic" else link.name not in virtual)
    ]


def together(links: Sequence[LinkRecord]) -> list[tuple[float, tuple[str, ...]]]:
    """Return (age, names) of each time that many links, or all of two, went down at once."""
    drops = sorted((age, link.name) for link in links for age in link.drops)
    found: list[tuple[float, tuple[str, ...]]] = []
    while drops:
        first = drops[0][0]
        group = tuple(dict.fromkeys(name for age, name in drops if age - first <= TOGETHER_S))
        if len(group) >= min(MANY, max(len(links), 2)):
            found.append((first, group))
            drops = [drop for drop in drops if drop[0] - first > TOGETHER_S]
        else:
            drops = drops[1:]
    return found


def judge(links: Sequence[LinkRecord], ports: Ports | Missing, most: int) -> Iterator[Finding]:
    """Yield a finding for each cable that dropped *most* times or more, one for what is shared."""
    shared = together(links)
    known = {} if isinstance(ports, Missing) else {port.name: port for port in ports.ports}
    for link in links:
        own = [
            age
            for age in link.drops
            if not any(link.name in names and 0 <= age - at <= TOGETHER_S for at, names in shared)
        ]
        if len(own) >= most:
            yield _flapping(link, own, known.get(link.name))
    if len(shared) >= most:
        yield _together(shared)


def _flapping(link: LinkRecord, own: Sequence[float], port: Port | None) -> Finding:
    card = {"netdevs": list(port.netdevs), "pci": port.pci} if port else {}
    return found(
        "ib_port_flapping" if link.kind == "port" else "nic_link_flapping",
        "warning",
        Subject(kind=link.kind, name=link.name),
        "the link of {name} went down {count} times within {hours:g} h, last {ago:g} s ago; no "
        "other link did at these times",
        Evidence(source=SOURCE, values={"drops_s_ago": list(own), "now": link.said, **card}),
        variant="watched",
        kind="event",
        count=len(own),
        name=link.name,
        hours=_hours(own),
        ago=round(own[0]),
    )


def _together(shared: Sequence[tuple[float, tuple[str, ...]]]) -> Finding:
    names = tuple(dict.fromkeys(name for _, group in shared for name in group))
    ages = [age for age, _ in shared]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return found(
        "ib_port_flapping" if all("/" in name for name in names) else "nic_link_flapping",
        "warning",
        NODE,
        "{links} links went down together {count} times within {hours:g} h ({names}): what they "
        "share, a switch or its power, and no single cable",
        Evidence(source=SOURCE, values={"together_s_ago": ages, "links": list(names)}),
        variant="together",
        kind="event",
        confidence=0.8,
        count=len(shared),
        links=len(names),
        hours=_hours(ages),
        names=", ".join(names[:SHOWN]) + more,
    )


def _hours(ages: Sequence[float]) -> float:
    return max(round((max(ages) - min(ages)) / 3600.0, 1), 0.1)
