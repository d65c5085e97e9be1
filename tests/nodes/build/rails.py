"""Nodes told for their network: eight rails of InfiniBand or RoCE, and what befalls them.

The ports of the well ones show all that the driver shows; the rest is cut down to what it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from tests.nodes.build.boot import NOTE, boot
from tests.nodes.build.gpus import Driver
from tests.nodes.build.host import Mount
from tests.nodes.build.jobs import training
from tests.nodes.build.lean import idle
from tests.nodes.build.network import Nic, Port
from tests.nodes.build.node import Node
from tests.nodes.build.parts import baseboard, gpus, ports
from tests.nodes.build.system import LOOPBACK

RAILS = 8
# Two ports of a card for storage, which stands beside no GPU; 198.51.100.0/24 is its network.
STORE = "198.51.100.40:/export/data"
REDIRECT = 0x1D


def _storage() -> Port:
    return Port(
        device="mlx5_8",
        pci="0000:c8:00.0",
        lid=0,
        sm_lid=0,
        rate="NDR2X",
        firmware="32.43.2026",
        link="Ethernet",
        netdev="ens8f0",
        gids=("198.51.100.17",),
        hca_type="MT41692",
        board="MT_0000000884",
        pci_id="15B3:A2DC",
    )


def _with(node: Node, listed: tuple[Port, ...], nics: tuple[Nic, ...]) -> Node:
    data = Mount("/data", "nfs4", STORE, "0:61", 409600, 91340, network=True)
    options = "rw,vers=4.2,hard,proto=tcp,addr=198.51.100.40"
    node = replace(
        node,
        ports=listed,
        nics=(
            LOOPBACK,
            Nic("eno1", ("192.0.2.17",), speed=25000, pci="0000:04:00.0"),
            *nics,
            Nic("ens8f0", ("198.51.100.17",), mtu=9000, speed=200000, driver="mlx5_core"),
        ),
        mounts=(*node.mounts, replace(data, state=options)),
        places=baseboard(RAILS, RAILS),
        acs=dict.fromkeys(_switch_ports(), 0),
    )
    return replace(node, kmsg=boot(node.gpus, listed, node.drives, node.driver, node.uptime_s))


def _switch_ports() -> list[str]:
    above = {port for path in baseboard(RAILS, RAILS).values() for port in path.split("/")[1:]}
    return sorted(above)


def infiniband(*, whole: bool = False) -> Node:
    """Return eight rails of NDR, each below one switch with its GPU, and a card for storage."""
    rails = tuple(replace(port, whole=whole) for port in ports(RAILS))
    nics = tuple(
        Nic(f"ib{n}", (f"203.0.113.{17 + n}",), kind="32", mtu=4092, speed=400000)
        for n in range(RAILS)
    )
    return _with(idle(), (*rails, _storage()), nics)


def roce(*, whole: bool = False) -> Node:
    """Return eight rails of 400 Gb/s Ethernet, lossless on priority 3, and a card for storage."""
    counts = {"np_cnp_sent": 40_118, "np_ecn_marked_roce_packets": 51_004}
    counts |= {"rp_cnp_handled": 38_771, "rp_cnp_ignored": 0}
    rails = tuple(
        replace(
            port,
            link="Ethernet",
            lid=0,
            sm_lid=0,
            board="MT_0000000970",
            netdev=f"rail{n}",
            gids=(f"fe80::5aa2:e1ff:fe31:{n + 1:x}", f"203.0.113.{17 + n}"),
            counts=counts if whole else {},
            whole=whole,
        )
        for n, port in enumerate(ports(RAILS))
    )
    paused = {"tx_prio3_pause": 1_204, "tx_prio3_pause_duration": 60_221, "rx_crc_errors_phy": 0}
    nics = tuple(
        Nic(
            f"rail{n}",
            (f"203.0.113.{17 + n}",),
            mtu=9000,
            speed=400000,
            driver="mlx5_core",
            statistics=paused,
        )
        for n in range(RAILS)
    )
    return _with(idle(), (*rails, _storage()), nics)


def of_h200(node: Node) -> Node:
    """Return the node with H200 in the places of its GPUs."""
    cards = gpus(len(node.gpus), device="2335", model="h200-sxm")
    driver = Driver("570.158.01")
    kmsg = boot(cards, node.ports, node.drives, driver, node.uptime_s)
    manager = driver.version if node.manager else None
    return replace(node, gpus=cards, driver=driver, manager=manager, kmsg=kmsg)


def change(node: Node, device: str, **parts: object) -> Node:
    """Return the node with one port changed."""
    listed = tuple(
        replace(port, **parts) if port.device == device else port  # type: ignore[arg-type]  # parts by name
        for port in node.ports
    )
    return replace(node, ports=listed)


def change_nic(node: Node, name: str, **parts: object) -> Node:
    """Return the node with one interface changed."""
    listed = tuple(
        replace(nic, **parts) if nic.name == name else nic  # type: ignore[arg-type]  # parts by name
        for nic in node.nics
    )
    return replace(node, nics=listed)


def narrow() -> Node:
    """One rail has lost two of its four lanes."""
    return change(infiniband(), "mlx5_5", rate="NDR2X")


def one_lane() -> Node:
    """One rail has come up with one lane at the lowest speed."""
    return change(of_h200(infiniband()), "mlx5_5", rate="SDR1X")


def symbols() -> Node:
    """One rail loses 340 symbols a second, and packets with them."""
    counts = {"symbol_error": 88_410, "port_rcv_errors": 4_120}
    rises = {"symbol_error": 340, "port_rcv_errors": 21, "packet_seq_err": 17}
    return change(infiniband(), "mlx5_2", counts=counts, rises=rises)


def old_errors() -> Node:
    """A cable was bad last week and is a new one now: high counters, of which none rises."""
    counts = {"symbol_error": 7_118_204, "link_downed": 9, "link_error_recovery": 212}
    return change(infiniband(), "mlx5_2", counts=counts)


def flapping() -> Node:
    """One rail's link has gone down and come back five times within two hours."""
    node = infiniband()
    at = node.uptime_s - 7_000.0
    lines = []
    for n in range(5):
        lines += [
            (at + 1_500.0 * n, NOTE, "mlx5_core 0000:99:00.0 ib4: Link down"),
            (at + 1_500.0 * n + 9.0, NOTE, "mlx5_core 0000:99:00.0 ib4: Link up"),
        ]
    return node.told(*lines)


def over_compute() -> Node:
    """The data is mounted over a rail, though the node has a card for it."""
    node = infiniband()
    other = "203.0.113.200"
    mounts = tuple(
        replace(m, source=f"{other}:/export/data", state=f"rw,hard,addr={other}")
        if m.point == "/data"
        else m
        for m in node.mounts
    )
    return replace(node, mounts=mounts)


def small_mtu() -> Node:
    """One rail has the MTU of ordinary Ethernet."""
    return change_nic(roce(), "rail6", mtu=1500)


def no_gid() -> Node:
    """One rail's table has lost its IPv4 address, which the interface still has."""
    return change(roce(), "mlx5_3", gids=("fe80::5aa2:e1ff:fe31:4",))


def pause_storm() -> Node:
    """This host stops its switch on the lossless priority for a third of the time."""
    rises = {"tx_prio3_pause": 9_120, "tx_prio3_pause_duration": 331_000}
    rises |= {"tx_pause_storm_error_events": 1}
    node = change_nic(roce(), "rail1", rises=rises)
    counted = {"tx_pause_storm_error_events": 0, "tx_prio3_pause": 77, "tx_prio3_pause_duration": 9}
    return change_nic(node, "rail1", statistics=counted)


def hot_module() -> Node:
    """The module of one rail is hotter than it may be."""
    return change_nic(roce(), "rail4", celsius=78.2)


def locked() -> Node:
    """The ranks of a job may lock what a login shell may."""
    return replace(training(infiniband()), memlock="8388608")


def redirected() -> Node:
    """Firmware was set up for virtual machines: PCIe ports send peer traffic upwards."""
    return replace(roce(), acs=dict.fromkeys(_switch_ports(), REDIRECT))


def down() -> Node:
    """A RoCE rail has no link."""
    node = change(roce(), "mlx5_7", state="1: DOWN", phys="3: Disabled", rate="SDR")
    return change_nic(node, "rail7", running=False)


def no_fec() -> Node:
    """Rails of 200 Gb/s, of which one was set to go without error correction, and stayed so.

    What the adapters say has the shape of the well nodes' here.
    """
    node = roce()
    cards = {"hca_type": "MT4123", "pci_id": "15B3:101B", "firmware": "20.43.2026"}
    for n in range(RAILS):
        node = change(node, f"mlx5_{n}", rate="HDR", board="MT_0000000223", whole=not n, **cards)
        node = change_nic(node, f"rail{n}", speed=200000)
    return change_nic(node, "rail3", fec="Off")


def adapter_error() -> Node:
    """An adapter's firmware told of an error days ago; another's new firmware waits for a reset.

    The driver cannot recover what `fw` reports, so that it stands; the kernel's ring has lost it.
    """
    node = change(infiniband(), "mlx5_0", whole=True)
    node = change(node, "mlx5_3", ill={"fw": 1})
    return change(node, "mlx5_6", stored="28.45.1020")


HEALTHY: Mapping[str, Callable[[], Node]] = {
    "h100-rails-infiniband": partial(infiniband, whole=True),
    "h100-rails-roce": partial(roce, whole=True),
    "h100-rails-old-errors": old_errors,
}
SICK: Mapping[str, Callable[[], Node]] = {
    "rail-narrow": narrow,
    "rail-one-lane": one_lane,
    "rail-symbol-errors": symbols,
    "rail-flapping": flapping,
    "rail-storage-on-compute": over_compute,
    "rail-small-mtu": small_mtu,
    "rail-no-gid": no_gid,
    "rail-pause-storm": pause_storm,
    "rail-hot-module": hot_module,
    "rail-memlock": locked,
    "rail-acs-redirect": redirected,
    "rail-down": down,
    "rail-no-fec": no_fec,
    "rail-adapter-error": adapter_error,
}
