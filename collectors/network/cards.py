"""InfiniBand cards on PCI, the RDMA devices that the kernel made of them, and its modules."""

import re

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.node.protocol import Node

PCI = "/sys/bus/pci/devices"
UVERBS = "/sys/class/infiniband_verbs/*/ibdev"
MODULES = ("mlx5_core", "mlx5_ib", "mlx4_core", "mlx4_ib", "ib_uverbs", "ib_umad")

# DRIVER=mlx5_core / PCI_CLASS=20700 / PCI_ID=15B3:1021, one a line
FIELD = re.compile(r"^(DRIVER|PCI_CLASS|PCI_ID)=([0-9A-Za-z_:.-]{1,60})$", re.MULTILINE)
MELLANOX = "15B3:"
# PCI class 0x0207: "InfiniBand controller"; a card set to Ethernet is class 0x0200 and no concern
# here: with RoCE bonding one RDMA device stands for two such functions.
INFINIBAND = "207"


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One PCI function of an InfiniBand card; `device` is its RDMA device (`mlx5_0`).

    A `virtual` function is one that a host keeps for guests.
    """

    pci: str
    pci_id: str
    driver: str | None = None
    device: str | None = None
    virtual: bool = False


class Cards(Observation, frozen=True, kw_only=True):
    """InfiniBand cards by PCI address, the RDMA devices that programs can open, loaded modules."""

    cards: tuple[Card, ...] = ()
    uverbs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


async def collect(node: Node, wanted: Wanted) -> Cards | Missing:
    """Read every PCI function's uevent, and see which have an RDMA device."""
    del wanted
    names = (
        f"{PCI}/*/infiniband/*",
        f"{PCI}/*/physfn",
        *(f"/sys/module/{module}" for module in MODULES),
    )
    seen = await node.files(f"{PCI}/*/uevent", UVERBS, names=names, cap=4096)
    return seen if isinstance(seen, Missing) else parse(seen)


def parse(seen: Files) -> Cards:
    """Return the InfiniBand cards among all PCI functions."""
    devices = {groups[0]: groups[1] for groups, _ in seen.match(f"{PCI}/*/infiniband/*")}
    virtual = set(seen.names(f"{PCI}/*/physfn"))
    cards = []
    for (address,), text in seen.match(f"{PCI}/*/uevent"):
        fields = dict(FIELD.findall(text))
        infiniband = fields.get("PCI_CLASS", "").lstrip("0").startswith(INFINIBAND)
        if not infiniband or not fields.get("PCI_ID", "").startswith(MELLANOX):
            continue
        cards.append(
            Card(
                pci=address,
                pci_id=fields["PCI_ID"],
                driver=fields.get("DRIVER"),
                device=devices.get(address),
                virtual=address in virtual,
            )
        )
    return Cards(
        # Addresses are hexadecimal: 18 stands before 3a, which natural order does not see.
        cards=tuple(sorted(cards, key=lambda card: card.pci)),
        uverbs=tuple(text.strip() for _, text in seen.match(UVERBS)),
        modules=tuple(m for m in MODULES if f"/sys/module/{m}" in seen.texts),
    )
