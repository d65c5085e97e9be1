"""What each port is for: training traffic, storage or management.

The settings go first. Without them: a card that shares a PCIe switch with a GPU carries training
traffic, and so do its like. On boards without such switches it is the ports on a NUMA node with a
GPU, and where that is not told the InfiniBand ports; of these, the speed class that has most of the
bandwidth. What the default route leaves by, and is not of these, is for management; what storage is
reached over, for storage.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from collectors.facts.observation import Missing
from collectors.facts.wanted import Role
from collectors.gpu.pcie import PciDevice, PciTree
from collectors.host.mounts import Mount, Mounts
from collectors.network.interfaces import Interfaces
from collectors.network.ports import Port, Ports
from collectors.network.routes import Routes

# nfs: addr=192.0.2.40   lustre: 192.0.2.41@o2ib:192.0.2.42@o2ib:/fs   192.0.2.43:/export
STATED = "addr="
DEDICATED_GBPS = 100.0
EVERYWHERE = "0.0.0.0/0"


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What roles are read off; what could not be seen is None."""

    ports: Ports
    tree: PciTree | None = None
    interfaces: Interfaces | None = None
    routes: Routes | None = None
    mounts: Mounts | None = None


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """The role of ports (`mlx5_0/1`) and of interfaces by name, and the reason of each."""

    of: Mapping[str, Role] = {}
    why: Mapping[str, str] = {}


def network(
    ports: Ports,
    tree: PciTree | Missing,
    interfaces: Interfaces | Missing,
    routes: Routes | Missing,
    mounts: Mounts | Missing,
) -> Network:
    """Return what was seen of all this."""
    return Network(
        ports=ports,
        tree=None if isinstance(tree, Missing) else tree,
        interfaces=None if isinstance(interfaces, Missing) else interfaces,
        routes=None if isinstance(routes, Missing) else routes,
        mounts=None if isinstance(mounts, Missing) else mounts,
    )


def roles(seen: Network) -> Roles:
    """Return the roles of all ports and interfaces of which something is known."""
    told: dict[str, tuple[Role, str]] = {}
    real = [port for port in seen.ports.ports if not port.virtual]
    for port in real:
        if port.role:
            told[port.name] = (port.role, "by the settings")
    for name, why in _compute(real, seen.tree):
        told.setdefault(name, ("compute", why))
    _interfaces(seen, real, told)
    for name in sorted(_default(seen)):
        told.setdefault(name, ("management", "the default route leaves by it"))
    for mount, device in stored(seen):
        told.setdefault(device, ("storage", f"{mount.point} is reached over it"))
    return Roles(
        of={name: role for name, (role, _) in told.items()},
        why={name: why for name, (_, why) in told.items()},
    )


def _interfaces(seen: Network, real: Sequence[Port], told: dict[str, tuple[Role, str]]) -> None:
    """Give interfaces the role of the settings, of their port, and of their bond or its members."""
    for port in real:
        if port.name in told:
            told |= {name: told[port.name] for name in port.netdevs if name not in told}
    for nic in seen.interfaces.interfaces if seen.interfaces else ():
        if nic.role:
            told[nic.name] = (nic.role, "by the settings")
    for nic in seen.interfaces.interfaces if seen.interfaces else ():
        if nic.bond and nic.name in told:
            told.setdefault(nic.bond, told[nic.name])
        elif nic.bond and nic.bond in told:
            told[nic.name] = told[nic.bond]


def _default(seen: Network) -> frozenset[str]:
    routes = seen.routes.routes if seen.routes else ()
    return frozenset(route.interface for route in routes if route.network == EVERYWHERE)


def _compute(real: Sequence[Port], tree: PciTree | None) -> Iterator[tuple[str, str]]:
    """Yield the ports that stand beside a GPU, and their like of the same card and link layer."""
    beside = {p.name: gpu for p in real if (gpu := _gpu(p, tree)) is not None}
    if not beside:
        yield from _fabric(real, tree)
        return
    classes = Counter(_class(port) for port in real if port.name in beside)
    most = max(classes.values(), default=0)
    # A card for storage can stand on a GPU's switch as well, but not one for every other GPU.
    like = {one for one, count in classes.items() if count * 2 >= most}
    for port in real:
        if _class(port) in like:
            gpu = beside.get(port.name)
            why = f"on one PCIe switch with GPU {gpu}" if gpu else "like the ports beside the GPUs"
            yield port.name, why


def _fabric(real: Sequence[Port], tree: PciTree | None) -> Iterator[tuple[str, str]]:
    """Yield the ports that can only be told by their NUMA node and their speed."""
    near = {port.name: node for port in real if (node := _numa(port, tree)) is not None}
    able = [port for port in real if port.infiniband]
    # A board's own ports can do RoCE as well: without a switch, slow ones say nothing.
    able = able or [p for p in real if p.name in near and (p.rate_gbps or 0) >= DEDICATED_GBPS]
    able = [port for port in able if port.name in near] or able
    rates: Counter[float] = Counter()
    for port in able:
        rates[port.rate_gbps or 0.0] += round(port.rate_gbps or 0.0)
    most = max(rates, key=lambda rate: rates[rate], default=0.0)
    like = {_class(port) for port in able if (port.rate_gbps or 0.0) == most}
    for port in real:
        if _class(port) in like:
            yield port.name, _why(near.get(port.name), bool(near))


def _why(node: int | None, told: bool) -> str:  # noqa: FBT001 - whether any port has a node
    if node is not None:
        return f"on NUMA node {node} with a GPU"
    return "like the ports on a GPU's NUMA node" if told else "InfiniBand"


def _numa(port: Port, tree: PciTree | None) -> int | None:
    """Return the NUMA node that *port*'s card shares with a GPU."""
    card = tree.at(port.pci) if tree is not None and port.pci else None
    if tree is None or card is None or card.numa is None or card.numa < 0:
        return None
    return card.numa if any(gpu.numa == card.numa for gpu in tree.of("gpu")) else None


def rails(ports: Sequence[Port], tree: PciTree | Missing) -> tuple[Port, ...]:
    """Return the ports in use over which a job's data goes; without any known, the fastest."""
    real = [port for port in ports if not port.virtual]
    known = dict(_compute(real, None if isinstance(tree, Missing) else tree))
    able = [port for port in real if port.active and port.role in (None, "compute")]
    if near := [port for port in able if port.role == "compute" or port.name in known]:
        return tuple(near)
    fastest = max((port.rate_gbps or 0 for port in able), default=0)
    return tuple(port for port in able if (port.rate_gbps or 0) == fastest)


def beside(address: str, ports: Sequence[Port], tree: PciTree | Missing) -> tuple[str, ...]:
    """Return the ports for a job's data below the switch of the GPU at *address*.

    Where no switch is shared it is those on its NUMA node; without any known, none.
    """
    gpu = None if isinstance(tree, Missing) else tree.at(address)
    if isinstance(tree, Missing) or gpu is None:
        return ()
    cards = [(port, tree.at(port.pci or "")) for port in rails(ports, tree)]
    near = [port.name for port, card in cards if card is not None and _switch(card, gpu)]
    told = gpu.numa is not None and gpu.numa >= 0
    return tuple(near or [p.name for p, card in cards if told and card and card.numa == gpu.numa])


def _class(port: Port) -> tuple[str | None, ...]:
    return (port.board_id, port.hca_type, port.link_layer)


def _gpu(port: Port, tree: PciTree | None) -> str | None:
    """Return a GPU below the same switch as *port*'s card; a root port alone is none."""
    card = tree.at(port.pci) if tree is not None and port.pci else None
    if tree is None or card is None:
        return None
    return next((gpu.address for gpu in tree.of("gpu") if _switch(card, gpu)), None)


def _switch(one: PciDevice, other: PciDevice) -> bool:
    """Return whether both hang below one upstream side of a switch: host bridge, root port, it."""
    return len(one.above) > 2 and one.above[:3] == other.above[:3]  # noqa: PLR2004 - see above


def stored(seen: Network) -> Iterator[tuple[Mount, str]]:
    """Yield each network mount with the interface over which its server is reached."""
    if seen.routes is None or seen.mounts is None:
        return
    for mount in seen.mounts.mounts:
        server = address(mount) if mount.network else None
        if server is not None and (device := seen.routes.to(server)):
            yield mount, device


def address(mount: Mount) -> str | None:
    """Return the address of a mount's server, None where only its name is known."""
    stated = [option[len(STATED) :] for option in mount.state if option.startswith(STATED)]
    source = mount.source.partition("@")[0]
    for text in (*stated, source, source.rpartition(":/")[0].strip("[]")):
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            continue
    return None


def apart(seen: Network, found: Roles) -> bool:
    """Return whether this node has a fast port that is not for training traffic."""
    fast = [p for p in seen.ports.ports if p.active and (p.rate_gbps or 0.0) >= DEDICATED_GBPS]
    return any(found.of.get(port.name) != "compute" for port in fast if not port.virtual)
