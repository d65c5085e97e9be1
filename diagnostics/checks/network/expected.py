"""Whether as many InfiniBand ports are in use, at the rate, as somebody expects."""

from collections.abc import Iterator, Sequence

from collectors.facts.subject import Subject
from collectors.jobs.expected import Before, Expected, Stated
from collectors.network.ports import Port, Ports
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

SYSFS = "/sys/class/infiniband"


@check(
    "network.expected",
    stage="network",
    faults=("ib_device_missing", "ib_port_down", "ib_port_rate_low"),
    proved="documented",
)
def expected(should: Expected, seen: Ports) -> Iterator[Statement]:
    """As many ports are there and ACTIVE as the settings expect, each at their rate or more.

    A card that died at boot leaves nothing that could be compared with its siblings, and ports that
    all came up at half of their rate look alike. Only who built the node knows better. Where the
    settings say nothing, the agent compares with what the node had before, which can only warn.
    """
    before = should.before.rates if should.before else {}
    if should.ib_ports is None and should.ib_rate_gbps is None and not before:
        yield NotApplicable(why="nobody expects a number of ports")
        return
    ports = counted(seen.ports)
    active = [port for port in ports if port.active]
    findings = list(_few(should.ib_ports, ports, active)) if should.ib_ports else []
    if (rate := should.ib_rate_gbps) is not None:
        findings += [_slow(port, rate) for port in active if _below(port, rate.number)]
    elif should.before is not None:
        slow = [port for port in active if _below(port, before.get(port.name, 0.0))]
        findings += [_slower(port, should.before) for port in slow]
    yield from findings
    if not findings:
        yield Well(message=f"ports in use: {len(active)}, as {_who(should)}")


def _who(should: Expected) -> str:
    stated = should.ib_ports or should.ib_rate_gbps
    return "this node had" if stated is None or stated.provisional else "the settings expect"


def counted(ports: Sequence[Port]) -> list[Port]:
    """Return the InfiniBand ports; those of RoCE on a node that has no other."""
    real = [port for port in ports if not port.virtual]
    return [port for port in real if port.infiniband] or real


def _few(stated: Stated, ports: Sequence[Port], active: Sequence[Port]) -> Iterator[Finding]:
    number = round(stated.number)
    if len(active) >= number:
        return
    absent = len(ports) < number
    yield found(
        "ib_device_missing" if absent else "ib_port_down",
        "warning" if stated.provisional else "critical",
        NODE,
        "{number} ports expected by {who}; there: {there}, in use: {active}",
        Evidence(source=stated.source, text=stated.text),
        Evidence(source=SYSFS, values={port.name: port.state for port in ports}),
        variant="expected",
        confidence=0.6 if stated.provisional else 0.95,
        number=number,
        who=stated.who,
        there=len(ports),
        active=len(active),
    )


def _below(port: Port, least_gbps: float) -> bool:
    return port.rate_gbps is not None and port.rate_gbps < least_gbps


def _slow(port: Port, stated: Stated) -> Finding:
    return found(
        "ib_port_rate_low",
        "warning",
        Subject(kind="port", name=port.name),
        "port {port} runs at {rate:g} Gb/s; {least:g} Gb/s expected by {who}",
        Evidence(source=stated.source, text=stated.text),
        _rate(port),
        variant="expected",
        port=port.name,
        rate=port.rate_gbps,
        least=stated.number,
        who=stated.who,
    )


def _slower(port: Port, before: Before) -> Finding:
    return found(
        "ib_port_rate_low",
        "warning",
        Subject(kind="port", name=port.name),
        "port {port} runs at {rate:g} Gb/s; it ran at {before:g} Gb/s before",
        Evidence(source=before.source, values={"rate_gbps": before.rates[port.name]}),
        _rate(port),
        variant="before",
        confidence=0.6,
        port=port.name,
        rate=port.rate_gbps,
        before=before.rates[port.name],
    )


def _rate(port: Port) -> Evidence:
    path = f"{SYSFS}/{port.device}/ports/{port.port}/rate"
    return Evidence(source=path, values={"rate_gbps": port.rate_gbps})
