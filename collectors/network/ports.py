"""InfiniBand and RoCE ports: state, rate and addresses as the kernel shows them in sysfs."""

import re

import msgspec

from collectors.facts.answers import Files
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import NO_ROLES, Role, Roles, Wanted
from collectors.node.protocol import Node

CLASS = "/sys/class/infiniband"
PORT_FILES = ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
DEVICE_FILES = ("node_type", "fw_ver", "board_id", "hca_type", "device/uevent")
PATTERNS = (
    *(f"{CLASS}/*/ports/*/{name}" for name in PORT_FILES),
    *(f"{CLASS}/*/{name}" for name in DEVICE_FILES),
)
# A function of SR-IOV has a link to the one that it belongs to.
NAMES = (f"{CLASS}/*/device/physfn", f"{CLASS}/*/device/net/*")

# 4: ACTIVE        5: LinkUp        1: CA
NUMBERED = re.compile(r"\d+: (\S.{0,60})")
# 400 Gb/sec (4X NDR)        2.5 Gb/sec (1X SDR)        100 Gb/sec (4X EDR)
RATE = re.compile(
    r"(?P<gbps>\d{1,6}(?:\.\d{1,3})?) Gb/sec(?: \((?P<width>\d{1,2})X(?P<speed>.*)\))?"
)
# 0x4
LID = re.compile(r"0x([0-9a-fA-F]{1,4})")
# PCI_SLOT_NAME=0000:18:00.0
SLOT = re.compile(
    r"^PCI_SLOT_NAME=([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$", re.MULTILINE
)
# MODALIAS=auxiliary:mlx5_core.sf
SUBFUNCTION = "MODALIAS=auxiliary:"

# On the way to ACTIVE: a healthy port is in these for part of a second after its link came up.
PASSING = ("INIT", "ARMED")


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """One port; `rate_gbps` in Gb/s, `width` in lanes, `lid` 0 before a subnet manager gave one.

    `virtual` ports belong to an SR-IOV or scalable function. `pci` is the card's address, `netdevs`
    are the interfaces of its function. `role` stands where the settings give it one.
    """

    device: str
    port: int
    state: str | None = None
    phys_state: str | None = None
    rate_gbps: float | None = None
    width: int | None = None
    link_layer: str = "InfiniBand"
    lid: int | None = None
    sm_lid: int | None = None
    node_type: str | None = None
    hca_type: str | None = None
    board_id: str | None = None
    fw_ver: str | None = None
    pci: str | None = None
    netdevs: tuple[str, ...] = ()
    role: Role | None = None
    virtual: bool = False

    @property
    def name(self) -> str:
        """Return the port's natural key, `mlx5_0/1`."""
        return f"{self.device}/{self.port}"

    @property
    def active(self) -> bool:
        """Return whether it is in use: configured by a subnet manager, or an Ethernet link up."""
        return (self.state or "").startswith("ACTIVE")

    @property
    def infiniband(self) -> bool:
        """Return whether a subnet manager, not an Ethernet switch, is on the other side."""
        return self.link_layer == "InfiniBand"


class Ports(Observation, frozen=True, kw_only=True):
    """All ports of all RDMA devices, in natural order; none on a node without such a device."""

    ports: tuple[Port, ...] = ()


async def collect(node: Node, wanted: Wanted) -> Ports | Missing:
    """Read all ports in one question, once more where one is on its way up."""
    first = await _read(node, wanted.roles)
    if isinstance(first, Missing) or all(port.state not in PASSING for port in first.ports):
        return first
    await node.sleep(wanted.sample_s)
    return await _read(node, wanted.roles)


async def _read(node: Node, roles: Roles) -> Ports | Missing:
    seen = await node.files(*PATTERNS, names=NAMES, cap=4096)
    return seen if isinstance(seen, Missing) else parse(seen, roles)


def parse(seen: Files, roles: Roles = NO_ROLES) -> Ports:
    """Return the ports that the files of sysfs describe; what is unreadable in one is None."""
    found = dict.fromkeys(groups[:2] for groups, _ in seen.match(f"{CLASS}/*/ports/[0-9]*/*"))
    return Ports(
        ports=tuple(_port(seen, roles, device, int(n)) for device, n in found if n.isdecimal())
    )


def _port(seen: Files, roles: Roles, device: str, number: int) -> Port:
    base = f"{CLASS}/{device}"
    port = f"{base}/ports/{number}"
    rate = RATE.fullmatch(seen.get(f"{port}/rate") or "")
    uevent = seen.get(f"{base}/device/uevent") or ""
    slot = SLOT.search(uevent)
    netdevs = tuple(name for (name,), _ in seen.match(f"{base}/device/net/*"))
    return Port(
        device=device,
        port=number,
        state=_named(seen.get(f"{port}/state")),
        phys_state=_named(seen.get(f"{port}/phys_state")),
        rate_gbps=float(rate["gbps"]) if rate else None,
        width=int(rate["width"]) if rate and rate["width"] else None,
        link_layer=seen.get(f"{port}/link_layer") or "InfiniBand",
        lid=_lid(seen.get(f"{port}/lid")),
        sm_lid=_lid(seen.get(f"{port}/sm_lid")),
        node_type=_named(seen.get(f"{base}/node_type")),
        hca_type=seen.get(f"{base}/hca_type"),
        board_id=seen.get(f"{base}/board_id"),
        fw_ver=seen.get(f"{base}/fw_ver"),
        pci=slot[1] if slot else None,
        netdevs=netdevs,
        role=roles.of(device, f"{device}/{number}", *netdevs),
        virtual=f"{base}/device/physfn" in seen.texts or SUBFUNCTION in uevent,
    )


def _named(text: str | None) -> str | None:
    hit = NUMBERED.fullmatch(text or "")
    return hit[1] if hit else None


def _lid(text: str | None) -> int | None:
    hit = LID.fullmatch(text or "")
    return int(hit[1], 16) if hit else None
