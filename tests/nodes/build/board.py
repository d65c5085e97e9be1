"""What a node says of itself besides its GPUs: firmware, PCI tree, how it was started last."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.nodes.build.folder import Folder, Json

DMI = "/sys/class/dmi/id"
PEER_CLIENTS = "/sys/kernel/mm/memory_peers/*/version"
DEVICES = "/sys/devices"


@dataclass(frozen=True)
class Before:
    """How the boot before ended: `crashes` are files of pstore, `shutdown` is None at a crash.

    `ago_s` is how long before the recording it ended.
    """

    ago_s: float
    shutdown: str | None = "System is rebooting."
    kernel: tuple[str, ...] = ()
    crashes: tuple[Json, ...] = ()


def firmware(folder: Folder, board: Mapping[str, str]) -> None:
    """Write what DMI says of the board."""
    folder.paths.append(DMI)
    for name, value in board.items():
        folder.file(f"{DMI}/{name}", value)


def tree(folder: Folder, places: Mapping[str, str], uevents: Mapping[str, str]) -> None:
    """Write where devices sit: *places* maps an address to the ports above it."""
    folder.paths.append(DEVICES)
    for address, above in places.items():
        folder.file(f"{DEVICES}/{above}/{address}/uevent", uevents[address])


def peer_memory(folder: Folder, kernel: str) -> None:
    """Write what decides whether a card reaches GPU memory; the module itself is the driver's."""
    folder.names += ["/sys/module/nvidia_peermem", "/sys/module/nv_peer_mem"]
    folder.paths += [PEER_CLIENTS, "/proc/sys/kernel/osrelease"]
    folder.file("/proc/sys/kernel/osrelease", kernel)


def peer_paths(folder: Folder, acs: Mapping[str, int]) -> None:
    """Write what the configuration space of PCIe ports says, and a processor that is no guest's."""
    folder.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr pae mce cx8")
    folder.answer("acs", dict(acs))
    folder.paths += ["/proc/cpuinfo", "/sys/bus/pci/devices/*/iommu_group/type"]
    folder.names.append("/sys/module/nvidia")


def last_boot(folder: Folder, before: Before | None, now: float, uptime_s: float) -> None:
    """Write what is kept of the boot before; None where the node keeps no journal."""
    files = list(before.crashes) if before else []
    folder.answer("pstore", {"files": files})
    started = round(now - uptime_s)
    if before is None:
        folder.answer("boot_before", {"journal": None, "wtmp": [{"what": "boot", "time": started}]})
        return
    ended = now - before.ago_s
    boots: list[Json] = [{"what": "boot", "time": started}]
    if before.shutdown:
        boots.insert(0, {"what": "shutdown", "time": round(ended)})
    boots.insert(0, {"what": "boot", "time": round(ended - 2_600_000)})
    journal = {
        "boot_id": "0b6ea5b2c0764d6bb2b2a5dd3c9d4f10",
        "ended": ended,
        "shutdown": before.shutdown,
        "kernel": list(before.kernel),
    }
    folder.answer("boot_before", {"journal": journal, "wtmp": boots}, seconds=0.1)


def scheduled(folder: Folder, slurm: Json | None, kubernetes: Json | None) -> None:
    """Write how many GPUs the schedulers count, and that we run in no job."""
    answer: Json = {"slurm": slurm, "kubernetes": kubernetes, "refused": []}
    folder.answer("scheduled", answer)
    folder.file("/proc/self/cgroup", "0::/user.slice/user-0.slice/session-41.scope")
    folder.paths.append("/proc/self/cgroup")
