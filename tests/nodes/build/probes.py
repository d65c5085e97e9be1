"""What the other probes of peers say, and the subnet manager and the switches of the ports."""

from collections.abc import Sequence

from collectors.network.full_mtu import OPTIONS
from collectors.network.subnet import DEFAULTS, RUNNING, SERVERS, SLICES, UNITS
from tests.nodes.build.folder import Folder
from tests.nodes.build.network import Nic, Peer, Port

MANAGER = 0x506B4B0300A1B000
SWITCHES = 0x506B4B0300A1C000
SYSTEM = "/sys/fs/cgroup/system.slice"


def over_ip(folder: Folder, listed: Sequence[Peer], nics: Sequence[Nic]) -> None:
    """Write what packets of full size and TCP say of each peer with an address."""
    up = [nic for nic in nics if nic.physical and nic.running]
    given = [nic for nic in up if any(":" not in address for address in nic.addresses)]
    folder.tools.append("ip")
    for peer in listed:
        if peer.address is None or not given or not peer.ip_answers:
            continue
        nic = given[0]
        route = f'[{{"dst":"{peer.address}","dev":"{nic.name}","uid":0,"cache":[]}}]\n'
        folder.command("ip", "-j", "route", "get", peer.address, stdout=route)
        argv = ("ping", *OPTIONS, "-s", str(nic.mtu - 28), peer.address)
        said = f"--- {peer.address} ping statistics ---\n3 packets transmitted, 3 received, "
        folder.command(*argv, stdout=f"{said}0% packet loss, time 402ms\n", seconds=0.42)
        answer = {"connected": True, "refused": False, "banner": "SSH-2.0-OpenSSH_9.6", "error": ""}
        asked = {"address": peer.address, "port": 22}
        folder.answer("tcp", {**answer, "seconds": 0.004}, asked)
    folder.kinds.append("tcp")


def fabric(folder: Folder, listed: Sequence[Port]) -> None:
    """Write who manages the subnet, and which switch each port in use is on."""
    active = [p for p in listed if p.state == "4: ACTIVE" and p.link == "InfiniBand"]
    folder.paths += [DEFAULTS, *RUNNING, *SERVERS]
    folder.names += [*UNITS, *SLICES]
    folder.kinds += ["sminfo", "neighbours"]
    folder.file(SYSTEM)
    if not active:
        return
    devices = {"devices": [port.device for port in active]}
    said = f"sminfo: sm lid 1 sm guid {MANAGER:#x}, activity count 48211 priority 14 state 3"
    manager = {"status": 0, "stdout": f"{said} SMINFO_MASTER\n", "stderr": "", "seconds": 0.006}
    folder.answer("sminfo", [manager for _ in active], devices)
    folder.answer("neighbours", [_neighbour(port, n) for n, port in enumerate(active)], devices)


def _neighbour(port: Port, number: int) -> dict[str, object]:
    """Return what smpquery says of the leaf switch of one rail."""
    info = {
        "NodeType": "Switch",
        "NumPorts": "64",
        "Guid": f"{SWITCHES + number:#x}",
        "LocalPort": str(1 + port.lid % 32),
    }
    text = "".join(f"{name}:{'.' * (32 - len(name))}{value}\n" for name, value in info.items())
    name = f"Node Description:{'.' * 28}leaf-{number:02}\n"
    said = {"status": 0, "stderr": "", "seconds": 0.006}
    return {"info": {**said, "stdout": text}, "name": {**said, "stdout": name}}
