"""What happens to the well nodes: storage, network, code, and the rights to look."""

from dataclasses import replace

from tests.nodes.build import logs
from tests.nodes.build.boot import NOTE, WARNING
from tests.nodes.build.folder import Folder
from tests.nodes.build.host import Mount
from tests.nodes.build.jobs import FIRST_PID, training
from tests.nodes.build.models import h100
from tests.nodes.build.node import Node
from tests.nodes.build.sick import denied, stuck

WAITS = ("rpc_wait_bit_killable", "__rpc_execute", "nfs4_do_open", "nfs4_file_open")


def nfs_dead() -> Node:
    """The file server does not answer; the ranks that save their checkpoint wait for it."""
    node = training(h100())
    mounts = (replace(m, waits=9) if m.point == "/data" else m for m in node.mounts)
    node = replace(node, mounts=tuple(mounts))
    at = node.uptime_s - 411.0
    node = node.told(
        (at, NOTE, "nfs: server nas-2 not responding, still trying"),
        (at + 180, NOTE, "nfs: server nas-2 not responding, still trying"),
    )
    node = stuck(node, dict.fromkeys((FIRST_PID, FIRST_PID + 4), WAITS[0]), 405.0, WAITS)
    where = f"pid 300120, state D, in {WAITS[0]}"
    why = {"cause": "timeout", "detail": "no answer in 2 s", "stuck": where}
    return node.also(lambda folder: folder.silence("statfs", why, {"point": "/data"}, seconds=2.0))


def scratch() -> Node:
    """A drive of the scratch has died, and what is left of it is full."""
    node = h100()
    drives = tuple(replace(d, state="dead") if d.name == "nvme3" else d for d in node.drives)
    full = Mount("/scratch", "xfs", "/dev/md0", "9:0", 7150, 4.2, "rw,noatime")
    at = node.uptime_s - 7300.0
    return replace(
        node,
        drives=drives,
        mounts=tuple(full if m.point == "/scratch" else m for m in node.mounts),
        mdstat="Personalities : [raid10]\n"
        "md0 : active raid10 nvme4n1[3] nvme3n1[2](F) nvme2n1[1] nvme1n1[0]\n"
        "      7501211136 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]\n"
        "      bitmap: 12/56 pages [48KB], 65536KB chunk\n\nunused devices: <none>",
    ).told(
        (
            at,
            WARNING,
            "nvme nvme3: I/O tag 211 (10d3) opcode 0x2 (I/O Cmd) QID 9 timeout, reset controller",
        ),
        (at + 61, WARNING, "nvme nvme3: Device not ready; aborting reset, CSTS=0x1"),
        (at + 61, NOTE, "nvme nvme3: Disabling device after reset failure: -19"),
        (at + 61, WARNING - 2, "md/raid10:md0: Disk failure on nvme3n1, disabling device."),
        (at + 61, WARNING - 2, "md/raid10:md0: Operation continuing on 3 devices."),
    )


def port_down() -> Node:
    """One of eight ports has lost its link, and a peer answers only a part of the pings."""
    node = h100()
    down = {"state": "1: DOWN", "phys": "2: Polling", "rate": "SDR", "sm_lid": 1}
    ports = tuple(replace(p, **down) if p.device == "mlx5_3" else p for p in node.ports)  # type: ignore[arg-type]  # parts by name
    nics = tuple(replace(n, running=False) if n.name == "ib3" else n for n in node.nics)
    peers = (node.peers[0], replace(node.peers[1], ib_answers=6))
    at = node.uptime_s - 93.0
    return replace(node, ports=ports, nics=nics, peers=peers).told(
        (at, NOTE, "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged"),
        (at + 0.2, NOTE, "mlx5_core 0000:5c:00.0 ib3: Link down"),
    )


def no_subnet_manager() -> Node:
    """All ports have their link, and nobody has configured them since they came up."""
    node = h100()
    ports = tuple(replace(p, state="2: INIT", lid=0, sm_lid=0) for p in node.ports)
    peers = tuple(replace(peer, ib_answers=0) for peer in node.peers)
    return replace(node, ports=ports, peers=peers)


def nan_loss() -> Node:
    """The loss of the running job is NaN, and the node has nothing to do with it."""
    node = training(h100())
    return replace(node, logs={"train-88123.log": logs.not_a_number()})


def unseen_as_user() -> Node:
    """The walk of an ordinary user on a node without the reader."""
    node = training(h100())

    def user(folder: Folder) -> None:
        for kind in ("holders", "kernel_log", "environ", "open_files"):
            folder.first.answers = [a for a in folder.first.answers if a["kind"] != kind]
        for kind in ("holders", "kernel_log"):
            folder.silence(kind, denied(kind))
        for drive in node.drives:
            folder.silence("smart", denied("smart"), {"device": drive.name})
        folder.silence("acs", denied("acs"))
        folder.silence("module", denied("module"), {"device": "eno1"})
        folder.first.kmsg.clear()
        targets = [str(peer.lid) for peer in node.peers]
        for target in targets:
            argv = ("ibping", "-f", "-c", "10", "-t", "200", "-L", target)
            closed = "ibping: iberror: failed: Failed to open '(null)' port '0'\n"
            folder.command(*argv, stderr=closed, status=1)
        folder.silence("ibping", denied("ibping"), {"targets": targets})
        devices = {"devices": [port.device for port in node.ports]}
        for kind in ("sminfo", "neighbours"):
            folder.silence(kind, denied(kind), devices)

    return node.also(user)
