"""The network's part of a node: InfiniBand ports, interfaces, peers."""

import ipaddress
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.nodes.build import counted
from tests.nodes.build.folder import Folder, Json

IB = "/sys/class/infiniband"
PCI = "/sys/bus/pci/devices"
CORE_MODULES = ("mlx5_core", "mlx5_ib", "ib_uverbs", "ib_umad")
RATES = {
    "NDR": "400 Gb/sec (4X NDR)",
    "NDR2X": "200 Gb/sec (2X NDR)",
    "HDR": "200 Gb/sec (4X HDR)",
    "SDR": "10 Gb/sec (4X SDR)",
    "SDR1X": "2.5 Gb/sec (1X SDR)",
}
PCI_CLASSES = {"InfiniBand": "20700", "Ethernet": "20000"}


@dataclass(frozen=True)
class Port:
    """One port of a card with one port (`function` of a dual-port card).

    `counts` are its counters now, `rises` by how much each rises in the second after; `whole` has
    all counters that the driver shows, and not only those that most nodes need. `gids` are the
    addresses in its table, each in both versions unless `versions` says otherwise. `ill` are its
    health reporters in error, each with its count; `stored` is firmware that waits for a reset.
    """

    device: str
    pci: str
    lid: int
    state: str = "4: ACTIVE"
    phys: str = "5: LinkUp"
    rate: str = "NDR"
    sm_lid: int = 1
    hca_type: str = "MT4129"
    board: str = "MT_0000000838"
    firmware: str = "28.43.2026"
    pci_id: str = "15B3:1021"
    link: str = "InfiniBand"
    netdev: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    rises: Mapping[str, int] = field(default_factory=dict)
    whole: bool = False
    gids: tuple[str, ...] = ()
    versions: tuple[str, ...] = ("IB/RoCE v1", "RoCE v2")
    ill: Mapping[str, int] = field(default_factory=dict)
    stored: str | None = None

    def uevent(self) -> str:
        """Return what its PCI function says."""
        kind = PCI_CLASSES[self.link]
        ids = f"PCI_CLASS={kind}\nPCI_ID={self.pci_id}\nPCI_SUBSYS_ID=15B3:0041"
        return f"DRIVER=mlx5_core\n{ids}\nPCI_SLOT_NAME={self.pci}"


@dataclass(frozen=True)
class Nic:
    """One interface; `members` are those of a bond, `pci` the function of an Ethernet card.

    `statistics` are what the card counts, and `rises` by how much each rises within a second.
    """

    name: str
    addresses: tuple[str, ...] = ()
    up: bool = True
    running: bool = True
    mtu: int = 1500
    speed: int | None = None
    kind: str = "1"
    physical: bool = True
    members: tuple[str, ...] = ()
    pci: str | None = None
    driver: str = "ice"
    pci_id: str = "8086:1592"
    mii: str = "up"
    statistics: Mapping[str, int] = field(default_factory=dict)
    rises: Mapping[str, int] = field(default_factory=dict)
    celsius: float = 44.5
    fec: str = "RS"

    def module(self) -> str:
        """Return what its module says."""
        lines = {"Vendor PN": "FS-100G-SR4", "Module temperature": self.celsius}
        lines |= {"Module temperature high alarm threshold": 75.0}
        lines |= {"Module temperature high warning threshold": 70.0}
        return "".join(
            f"\t{name:<42}: {value}{'' if isinstance(value, str) else ' degrees C'}\n"
            for name, value in lines.items()
        )


@dataclass(frozen=True)
class Peer:
    """One peer of the settings, and how many of its pings come back (of 10 and of 5)."""

    name: str
    lid: int | None = None
    address: str | None = None
    ib_answers: int = 10
    ip_answers: int = 5


def ports(folder: Folder, listed: Sequence[Port]) -> None:
    """Write the RDMA devices with their one port each, and the modules behind them."""
    for number, port in enumerate(listed):
        base, one = f"{IB}/{port.device}", f"{IB}/{port.device}/ports/1"
        at_port = {"state": port.state, "phys_state": port.phys, "rate": RATES[port.rate]}
        at_port |= {"link_layer": port.link, "lid": f"{port.lid:#x}"}
        at_port |= {"sm_lid": f"{port.sm_lid:#x}"}
        at_card = {"node_type": "1: CA", "fw_ver": port.firmware, "board_id": port.board}
        at_card |= {"hca_type": port.hca_type, "device/uevent": port.uevent()}
        for name, value in at_port.items():
            folder.file(f"{one}/{name}", value)
        for name, value in at_card.items():
            folder.file(f"{base}/{name}", value)
        folder.file(f"{PCI}/{port.pci}/uevent", port.uevent())
        folder.file(f"{PCI}/{port.pci}/infiniband/{port.device}")
        folder.file(f"/sys/class/infiniband_verbs/uverbs{number}/ibdev", port.device)
        folder.file(f"/sys/class/infiniband_verbs/uverbs{number}/dev", f"231:{192 + number}")
        if port.netdev:
            folder.file(f"{base}/device/net/{port.netdev}")
        counted.write(folder, one, port.counts, port.rises, whole=port.whole)
        _gids(folder, one, port)
    if listed:
        nodes = [
            {"name": f"uverbs{n}", "mode": 0o666, "number": f"231:{192 + n}"}
            for n in range(len(listed))
        ]
        folder.answer("rdma_nodes", nodes)
    for module in CORE_MODULES if listed else ():
        folder.file(f"/sys/module/{module}/initstate", "live")
    folder.paths += [IB, "/sys/class/infiniband_verbs", "/sys/class/infiniband_mad"]
    folder.paths.append(f"{PCI}/*/uevent")
    folder.names += [f"{PCI}/*/infiniband/*", f"{PCI}/*/physfn", f"{IB}/*/device/physfn"]
    folder.names += [f"/sys/module/{m}" for m in (*CORE_MODULES, "mlx4_core", "mlx4_ib")]


def _gids(folder: Folder, one: str, port: Port) -> None:
    """Write a table as the kernel fills it: each address once for each version."""
    places = [(address, version) for address in port.gids for version in port.versions]
    for place, (address, version) in enumerate(places):
        given = ipaddress.ip_address(address)
        six = f"::ffff:{given}" if given.version == 4 else address
        folder.file(f"{one}/gids/{place}", ipaddress.IPv6Address(six).exploded)
        folder.file(f"{one}/gid_attrs/types/{place}", version)
        folder.file(f"{one}/gid_attrs/ndevs/{place}", port.netdev or "")


def routes(folder: Folder, listed: Sequence[Nic], more: Sequence[tuple[str, str]]) -> None:
    """Write the routing table: each IPv4 address's network of 256, and the default by the first."""
    given = [
        (nic.name, address)
        for nic in listed
        for address in nic.addresses
        if ":" not in address and not address.startswith("127.")
    ]
    rows = [(name, f"{address.rpartition('.')[0]}.0/24") for name, address in given]
    rows = [*((name, "0.0.0.0/0") for name, _ in given[:1]), *rows, *more]
    head = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT"
    lines = ["\t".join(head.split())]
    for name, text in rows:
        network = ipaddress.IPv4Network(text)
        to, mask = (_digits(a) for a in (network.network_address, network.netmask))
        first, flags = ("010200C0", "0003") if not network.prefixlen else ("00000000", "0001")
        lines.append(f"{name}\t{to}\t{first}\t{flags}\t0\t0\t0\t{mask}\t0\t0\t0")
    folder.file("/proc/net/route", "\n".join(lines))
    folder.paths += ["/proc/net/route", "/sys/class/net/*/ifindex"]


def _digits(address: ipaddress.IPv4Address) -> str:
    """Return an address as the kernel prints it: the bytes of the network, read on a PC."""
    return f"{struct.unpack('<I', address.packed)[0]:08X}"


def statistics(folder: Folder, listed: Sequence[Nic]) -> None:
    """Write what `ethtool -S` says of each Ethernet card that has a carrier."""
    folder.tools.append("ethtool")
    for nic in listed:
        if nic.physical and nic.running and nic.kind == "1":
            folder.file(f"/sys/class/net/{nic.name}/carrier", "1")
            lines = {"rx_packets": 88_120_431, "tx_packets": 90_112_774, **nic.statistics}
            text = "".join(f"     {name}: {value}\n" for name, value in lines.items())
            argv = ("ethtool", "-S", nic.name)
            folder.command(*argv, stdout=f"NIC statistics:\n{text}", seconds=0.0)
            said = {"status": 0, "stdout": nic.module(), "stderr": ""}
            folder.answer("module", said, {"device": nic.name}, seconds=0.02)
            for second in counted.SECONDS if nic.rises else ():
                later = {name: n + second * nic.rises.get(name, 0) for name, n in lines.items()}
                text = "".join(f"     {name}: {value}\n" for name, value in later.items())
                folder.command(*argv, stdout=f"NIC statistics:\n{text}", seconds=0.0, at=second)
    folder.paths.append("/sys/class/net/*/carrier")


def locked(folder: Folder, ranks: Sequence[int], most: str) -> None:
    """Write how much memory each rank may lock."""
    head = f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}Units"
    for pid in ranks:
        line = f"{'Max locked memory':<26}{most:<21}{most:<21}bytes"
        folder.file(f"/proc/{pid}/limits", f"{head}\n{line}")


def interfaces(folder: Folder, listed: Sequence[Nic]) -> None:
    """Write the interfaces: sysfs, and what the helper says of flags and addresses."""
    base = "/sys/class/net"
    said: dict[str, Json] = {}
    for nic in listed:
        folder.file(f"{base}/{nic.name}/type", nic.kind)
        if nic.physical:
            folder.file(f"{base}/{nic.name}/device")
        if nic.members:
            folder.file(f"{base}/{nic.name}/bonding/slaves", " ".join(nic.members))
            folder.file(f"{base}/{nic.name}/bonding/mode", "802.3ad 4")
            for member in nic.members:
                mii = next((one.mii for one in listed if one.name == member), "up")
                folder.file(f"{base}/{member}/bonding_slave/mii_status", mii)
                folder.file(f"{base}/{member}/bonding_slave/ad_aggregator_id", "1")
        if nic.physical and nic.up:
            folder.file(f"{base}/{nic.name}/mtu", str(nic.mtu))
        if nic.pci:
            ids = f"PCI_CLASS=20000\nPCI_ID={nic.pci_id}\nPCI_SLOT_NAME={nic.pci}"
            folder.file(f"{PCI}/{nic.pci}/uevent", f"DRIVER={nic.driver}\n{ids}")
        said[nic.name] = {"up": nic.up, "running": nic.running, "mtu": nic.mtu}
        said[nic.name] |= {"speed_mbps": nic.speed, "addresses": list(nic.addresses)}
    folder.answer("interfaces", said)
    held = ("type", "mtu", "mode", "bonding/mode", "bonding/slaves")
    folder.paths += [f"{base}/*/{name}" for name in held]
    folder.paths += [
        f"{base}/*/bonding_slave/{name}" for name in ("mii_status", "ad_aggregator_id")
    ]
    folder.names.append(f"{base}/*/device")


def peers(folder: Folder, listed: Sequence[Peer], expect: Mapping[str, float]) -> None:
    """Write the settings: peers with what the tools said of each, and what the node should have."""
    folder.paths.append("/etc/gpudiag/gpudiag.toml")
    folder.tools += ["ibping", "ping"]
    lines: list[str] = []
    if expect:
        lines += ["[expect]", *(f"{name} = {value:g}" for name, value in expect.items()), ""]
    if listed:
        lines.append("# Peers on other leaf switches; each runs `ibping -S`.")
    for peer in listed:
        lines += ["", "[[network.peers]]", f'name = "{peer.name}"']
        lines += [f"lid = {peer.lid}"] * (peer.lid is not None)
        lines += [f'address = "{peer.address}"'] * (peer.address is not None)
        if peer.lid is not None:
            _ibping(folder, peer.lid, peer.ib_answers)
        if peer.address is not None:
            _ping(folder, peer.address, peer.ip_answers)
    if lines:
        folder.file("/etc/gpudiag/gpudiag.toml", "\n".join(lines))


def _ibping(folder: Folder, lid: int, answers: int) -> None:
    lost = 10 * (10 - answers)
    took = 2 + 600 * (10 - answers)
    head = f"\n--- (Lid {lid}) ibping statistics ---\n10 packets transmitted, {answers} received"
    times = "rtt min/avg/max = 0.008/0.011/0.019 ms\n" if answers else ""
    text = f"{head}, {lost}% packet loss, time {took} ms\n{times}"
    argv = ("ibping", "-f", "-c", "10", "-t", "200", "-L", str(lid))
    folder.command(*argv, stdout=text, seconds=took / 1000)


def _ping(folder: Folder, address: str, answers: int) -> None:
    lost = 20 * (5 - answers)
    head = (
        f"PING {address} ({address}) 56(84) bytes of data.\n\n--- {address} ping statistics ---\n"
    )
    line = f"5 packets transmitted, {answers} received, {lost}% packet loss, time 813ms\n"
    rtt = "rtt min/avg/max/mdev = 0.091/0.118/0.164/0.027 ms\n" if answers else ""
    argv = ("ping", "-n", "-q", "-c", "5", "-i", "0.2", "-W", "1", address)
    folder.command(*argv, stdout=head + line + rtt, status=int(not answers), seconds=0.9)
