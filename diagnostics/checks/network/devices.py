"""Has every InfiniBand card become a device that programs can open."""

from collections.abc import Iterator, Sequence

from collectors.facts.observation import Missing
from collectors.facts.subject import Subject
from collectors.network.cards import Card, Cards
from collectors.network.rdma_nodes import RdmaNode, RdmaNodes
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Well, found


@check(
    "network.devices",
    stage="network",
    faults=("ib_device_missing", "ib_module_missing", "ib_device_denied"),
    proved="recorded",
)
def devices(seen: Cards, nodes: RdmaNodes | Missing) -> Iterator[Statement]:
    """Each InfiniBand card on PCI has its RDMA device, and programs can open it.

    NCCL counts the devices that it can open. With one fewer it goes on slower, with none it falls
    back to TCP sockets: the job runs, at a tenth of its speed, and logs no error.
    """
    cards = [card for card in seen.cards if not card.virtual and not _given_away(card)]
    present = [card for card in cards if card.device]
    absent = [card for card in cards if not card.device]
    if not cards and not seen.uverbs:
        yield NotApplicable(why="no InfiniBand card on PCI")
        return
    module = _lacking(seen, present)
    if module:
        yield _no_module(module, cards)
    if module is None or present:
        yield from (_no_device(card, present) for card in absent)
    closed = [] if isinstance(nodes, Missing) else list(_closed(nodes))
    yield from closed
    if present and not absent and not module and not closed:
        count = len(present)
        what = (
            "1 InfiniBand card has its device"
            if count == 1
            else f"all {count} InfiniBand cards have their devices"
        )
        yield Well(message=what)
    elif not cards:
        yield NotApplicable(why="no InfiniBand card on PCI, RoCE only")


def _closed(seen: RdmaNodes) -> Iterator[Finding]:
    """Yield what keeps programs from a device: no node, another device's, or one of root alone.

    Only uverbs are for jobs; umad belongs to root on most nodes.
    """
    there = {node.name: node for node in seen.nodes}
    for name, number in seen.wanted.items():
        node = there.get(name)
        if node is None:
            yield _denied(name, number, None, "is not there")
        elif node.number != number:
            yield _denied(name, number, node, f"is device {node.number}, not {number}")
        elif name.startswith("uverbs") and not (node.mode & 0o006 == 0o006 or node.mode & 0o060):  # noqa: PLR2004 - rw
            yield _denied(name, number, node, f"is root's alone (mode {node.mode:04o})")


def _denied(name: str, number: str, node: RdmaNode | None, why: str) -> Finding:
    return found(
        "ib_device_denied",
        "warning",
        NODE,
        "/dev/infiniband/{name} {why}: programs cannot open this InfiniBand device by it",
        Evidence(
            source=f"/dev/infiniband/{name}",
            values={"mode": f"{node.mode:04o}" if node else None, "number": number},
        ),
        name=name,
        why=why,
    )


def _given_away(card: Card) -> bool:
    """Return whether the card is bound to vfio-pci, and thus a guest's."""
    return (card.driver or "").startswith("vfio")


def _lacking(seen: Cards, present: Sequence[Card]) -> str | None:
    """Return the module whose absence keeps programs from every card.

    A module that is built into the kernel may not show in /sys/module: with devices there, only
    what stands in their class counts.
    """
    if present:
        return None if seen.uverbs else "ib_uverbs"
    drivers = {card.driver for card in seen.cards} - {None}
    for core, rdma in (("mlx5_core", "mlx5_ib"), ("mlx4_core", "mlx4_ib")):
        if core in drivers and rdma not in seen.modules:
            return rdma
    return None if drivers or {"mlx5_core", "mlx4_core"} & set(seen.modules) else "mlx5_core"


def _no_module(module: str, cards: Sequence[Card]) -> Finding:
    return found(
        "ib_module_missing",
        "warning",
        NODE,
        "kernel module {module} is not loaded: no program can use {cards}",
        Evidence(source="/sys/module", values={"absent": module}),
        module=module,
        cards="the InfiniBand card" if len(cards) == 1 else f"the {len(cards)} InfiniBand cards",
    )


def _no_device(card: Card, present: Sequence[Card]) -> Finding:
    return found(
        "ib_device_missing",
        "critical" if present else "warning",
        Subject(kind="nic", name=card.pci),
        "the InfiniBand card at {pci} has no RDMA device ({driver}); {present}",
        Evidence(
            source=f"/sys/bus/pci/devices/{card.pci}",
            values={"driver": card.driver, "pci_id": card.pci_id, "infiniband": None},
        ),
        pci=card.pci,
        driver=f"driver {card.driver}" if card.driver else "no driver is bound to it",
        present=f"{len(present)} other cards have one" if present else "no other card has one",
    )
