"""The network's part of a node: InfiniBand ports, interfaces, peers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.nodes.build.folder import Folder, Json

IB = "/sys/class/infiniband"
PCI = "/sys/bus/pci/devices"
CORE_MODULES = ("mlx5_core", "mlx5_ib", "ib_uverbs", "ib_umad")
RATES = {"NDR": "400 Gb/sec (4X NDR)", "HDR": "200 Gb/sec (4X HDR)", "SDR": "10 Gb/sec (4X SDR)"}


@dataclass(frozen=True)
class Port:
    """One port of a card with one port (`function` of a dual-port card)."""

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

    def uevent(self) -> str:
        """Return what its PCI function says."""
        ids = f"PCI_CLASS=20700\nPCI_ID={self.pci_id}\nPCI_SUBSYS_ID=15B3:0041"
        return f"DRIVER=mlx5_core\n{ids}\nPCI_SLOT_NAME={self.pci}"


@dataclass(frozen=True)
class Nic:
    """One interface; `members` are those of a bond, `pci` the function of an Ethernet card."""

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
        at_port |= {"link_layer": "InfiniBand", "lid": f"{port.lid:#x}"}
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
    for module in CORE_MODULES if listed else ():
        folder.file(f"/sys/module/{module}/initstate", "live")
    folder.paths += [IB, "/sys/class/infiniband_verbs", f"{PCI}/*/uevent"]
    folder.names += [f"{PCI}/*/infiniband/*", f"{PCI}/*/physfn", f"{IB}/*/device/physfn"]
    folder.names += [f"/sys/module/{m}" for m in (*CORE_MODULES, "mlx4_core", "mlx4_ib")]


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
        if nic.pci:
            ids = f"PCI_CLASS=20000\nPCI_ID={nic.pci_id}\nPCI_SLOT_NAME={nic.pci}"
            folder.file(f"{PCI}/{nic.pci}/uevent", f"DRIVER={nic.driver}\n{ids}")
        said[nic.name] = {"up": nic.up, "running": nic.running, "mtu": nic.mtu}
        said[nic.name] |= {"speed_mbps": nic.speed, "addresses": list(nic.addresses)}
    folder.answer("interfaces", said)
    folder.paths += [f"{base}/*/type", f"{base}/*/bonding/slaves"]
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
