"""What adapters say of themselves: error correction, health reporters, firmware.

Written for nodes whose ports show all that the driver shows; on others the recording holds none.
"""

import json
from collections.abc import Sequence

from tests.nodes.build.folder import Folder
from tests.nodes.build.network import Nic, Port

FAST_MBPS = 100_000


def fec(folder: Folder, listed: Sequence[Nic]) -> None:
    """Write what `ethtool --show-fec` says of each fast Ethernet port."""
    for nic in listed:
        ethernet = nic.physical and nic.running and nic.kind == "1"
        if ethernet and (nic.speed or 0) >= FAST_MBPS:
            asked = "Off" if nic.fec == "Off" else "Auto"
            text = f"FEC parameters for {nic.name}:\nSupported/Configured FEC encodings: {asked}\n"
            text += f"Active FEC encoding: {nic.fec}\n"
            folder.command("ethtool", "--show-fec", nic.name, stdout=text, seconds=0.0)


def devlink(folder: Folder, listed: Sequence[Port]) -> None:
    """Write what `devlink` says of each adapter's reporters and firmware."""
    if not listed:
        return
    health = {
        f"pci/{port.pci}": [_reporter(name, port.ill.get(name, 0)) for name in ("fw", "fw_fatal")]
        for port in listed
    }
    info = {f"pci/{port.pci}": _info(port) for port in listed}
    for words, said in (
        (("health", "show"), {"health": health}),
        (("dev", "info"), {"info": info}),
    ):
        folder.command("devlink", "-j", *words, stdout=f"{json.dumps(said)}\n", seconds=0.03)


def _reporter(name: str, errors: int) -> dict[str, object]:
    state = "error" if errors else "healthy"
    return {"reporter": name, "state": state, "error": errors, "recover": 0}


def _info(port: Port) -> dict[str, object]:
    versions = {"fw.version": port.firmware, "fw": port.firmware}
    fixed = {"fw.psid": port.board}
    waits = dict.fromkeys(versions, port.stored or port.firmware)
    kinds = {"fixed": fixed, "running": versions, "stored": waits}
    return {"driver": "mlx5_core", "versions": kinds}
