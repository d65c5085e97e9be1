"""Can every RoCE port be reached under an address that RoCE v2 carries."""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.gids import Gids, PortGids
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Port, Ports
from diagnostics.check import check
from diagnostics.checks.network.interfaces import given
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found

SHOWN = 4
V2 = 2


@check("network.roce", stage="network", faults=("roce_gid_missing",), proved="documented")
def roce(seen: Gids, ports: Ports, interfaces: Interfaces | Missing) -> Iterator[Statement]:
    """Each RoCE port in use has a GID of version 2 with a routable address, as its like have.

    NCCL names a place of this table. Where the address is gone, the place is empty or holds a
    link-local one: the connection fails, or leaves by version 1, which no router carries.
    """
    active = {p.name: p for p in ports.ports if p.active and not p.infiniband and not p.virtual}
    tables = {table.port: table for table in seen.ports if table.port in active}
    if not tables:
        yield NotApplicable(why="no RoCE port is in use")
        return
    usable = [name for name, table in tables.items() if _usable(table)]
    lacking = [
        _lacks(active[name], table, usable, why)
        for name, table in tables.items()
        if name not in usable and (why := _meant(active[name], usable, active, interfaces))
    ]
    yield from lacking
    if usable and not lacking:
        yield Well(message=f"{len(usable)} of {len(tables)} RoCE ports have a GID of version 2")
    elif not lacking:
        yield NotApplicable(why="no RoCE port of this node has an address")


def _usable(table: PortGids) -> bool:
    return any(gid.version == V2 and gid.routable for gid in table.gids)


def _meant(
    port: Port, usable: Sequence[str], active: dict[str, Port], interfaces: Interfaces | Missing
) -> str | None:
    """Return why the port is meant to have an address, None where nothing says so."""
    if not isinstance(interfaces, Missing):
        for nic in interfaces.interfaces:
            if nic.name in port.netdevs and (has := given(nic)):
                return f"its interface {nic.name} has the address {has[0]}"
    like = [n for n in usable if _kind(active[n]) == _kind(port)]
    if len(like) > 1:
        return f"{len(like)} like ports have one"
    return None


def _kind(port: Port) -> tuple[str | None, ...]:
    return (port.hca_type, port.board_id, (port.pci or "").rpartition(".")[2])


def _lacks(port: Port, table: PortGids, usable: Sequence[str], why: str) -> Finding:
    has = [f"v{gid.version or '?'} {gid.address}" for gid in table.gids][:SHOWN]
    return found(
        "roce_gid_missing",
        "warning",
        Subject(kind="port", name=port.name),
        "port {port} has no GID of RoCE v2 with a routable address, though {why}; its table holds "
        "{has}",
        Evidence(
            source=f"/sys/class/infiniband/{port.device}/ports/{port.port}/gids",
            values={"gids": has, "usable_ports": list(usable)},
        ),
        port=port.name,
        why=why,
        has=", ".join(has) or "nothing",
    )
