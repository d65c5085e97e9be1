"""Well nodes cut down to what the driver stage asks: one for each product, and each oddity."""

from dataclasses import replace

from tests.nodes.build import bmc
from tests.nodes.build.board import Before
from tests.nodes.build.boot import boot
from tests.nodes.build.gpus import FOLDERS, MODULES, Driver, Gpu
from tests.nodes.build.host import Process
from tests.nodes.build.jobs import training
from tests.nodes.build.models import a100, h100
from tests.nodes.build.network import Nic
from tests.nodes.build.node import Node
from tests.nodes.build.parts import DRIVER, gpus, persistenced
from tests.nodes.build.system import KTHREADS, LOOPBACK

SYSTEMD = Process(1, "systemd", ppid=0, start_s=0.0)
MANAGER = Process(1290, "nv-fabricmanage", start_s=43.1)
PERSISTENCED = Process(1702, "nvidia-persiste", start_s=41.2)


def cut(node: Node) -> Node:
    """Return an eight-GPU node of Slurm with one disk, one interface, no fabric, no peers, no BMC.

    What is away is away on the node as well, so that nothing is blind for it.
    """
    lean = replace(
        node,
        processes=(*KTHREADS[:3], SYSTEMD, MANAGER, PERSISTENCED, Process(1511, "slurmd")),
        mounts=tuple(m for m in node.mounts if m.point in ("/", "/dev/shm")),
        fstab=node.fstab.partition("\n")[0],
        drives=node.drives[:1],
        mdstat="Personalities : \nunused devices: <none>",
        nics=(LOOPBACK, Nic("eno1", ("192.0.2.17",), speed=25000)),
        governor=(*node.governor[:3], 0),
        places={},
        dmi={},
        bmc=None,
        ports=(),
        peers=(),
        expect={},
        holders=tuple(h for h in node.holders if h.comm != "nv-hostengine"),
    )
    return booted(lean)


def booted(node: Node) -> Node:
    """Return the node whose kernel has said what its parts say at boot, and no more."""
    kmsg = boot(node.gpus, node.ports, node.drives, node.driver, node.uptime_s)
    return replace(node, kmsg=kmsg)


def idle() -> Node:
    """Return an H100 node with nobody on it."""
    return cut(h100())


def busy() -> Node:
    """Return an H100 node whose eight GPUs are full to 99 % and compute."""
    return training(idle())


def other(cards: tuple[Gpu, ...], driver: Driver, switches: int = 0) -> Node:
    """Return the lean node with other GPUs; without NVSwitches it has no fabric manager."""
    node = idle()
    every = persistenced(len(cards))[:1]
    fabric = (MANAGER,) if switches else ()
    well = tuple(p for p in node.processes if p != MANAGER)
    count = {**(node.slurm or {}), "gpus": len(cards)}
    count["text"] = f"NodeName=gpu-[001-256] Gres=gpu:{len(cards)}"
    node = replace(
        node,
        gpus=cards,
        driver=driver,
        manager=driver.version if switches else None,
        switches=node.switches[:switches],
        processes=(*well, *fabric),
        holders=every,
        slurm=count,
    )
    return booted(node)


def replay_150() -> Node:
    """PCIe packets were sent again 150 times since the driver was loaded, and none now."""
    return idle().all_say(pcie__replays=150)


def a100_at_rest() -> Node:
    """Idle A100 let their PCIe link rest at generation 1."""
    return cut(a100()).all_say(pcie__generation=1)


def l40s_x8() -> Node:
    """All cards have half of their lanes: that is how this board is made."""
    driver = Driver("570.172.08", modules=MODULES[:3])
    cards = gpus(8, device="26B9", model="l40s")
    return other(cards, driver).all_say(pcie__width=8)


def b200() -> Node:
    """Eight B200 without persistence; nothing keeps them initialised."""
    cards = gpus(8, device="2901", model="b200")
    node = other(cards, DRIVER)
    # Their NVSwitches are not on the PCI bus of the node; the manager talks to them over NVLink.
    return replace(
        node,
        manager=DRIVER.version,
        processes=(*(p for p in node.processes if p != PERSISTENCED), MANAGER),
        holders=(),
    )


def desktop() -> Node:
    """Two GeForce that rest: lanes and generation given back; no serial number, no ECC."""
    driver = Driver("575.64.03", modules=MODULES[:4])
    cards = tuple(
        Gpu(n, f"0000:0{n + 1}:00.0", device="2684", model="rtx-4090", display=not n)
        for n in range(2)
    )
    node = other(cards, driver).says(1, pcie__width=8)
    processes = (*KTHREADS[:3], SYSTEMD, Process(2210, "Xorg", start_s=52.0))
    return replace(node, processes=processes, holders=(), slurm=None, jobs=None, before=None)


def liquid_cooled() -> Node:
    """No fan turns in this node; coolant takes the heat."""
    return replace(idle(), bmc=bmc.liquid_cooled())


def gb200() -> Node:
    """Four GPUs of a rack, on two ARM processors; their NVSwitches are in other trays."""
    driver = Driver("580.173.02", folder=FOLDERS[1], machine="aarch64")
    places = ("0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0")
    cards = tuple(
        Gpu(n, at, device="2941", model="gb200", serial=f"17505250440{n:02d}")
        for n, at in enumerate(places)
    )
    node = other(cards, driver)
    return replace(node, kernel="6.8.0-1032-nvidia-64k", memory_gib=(1700, 1640.0))


def t4(**says: object) -> Node:
    """Four T4; one of them has retired three pages in its life, and none waits."""
    driver = Driver("570.172.08", modules=MODULES[:2])
    cards = gpus(4, device="1EB8", model="t4")
    pages = {"retired__single_bit": [70_119_424, 81_002_496], "retired__double_bit": [9_961_472]}
    return other(cards, driver).says(2, **pages, retired__pending=0, **says)


def h200() -> Node:
    """Eight H200 that train."""
    cards = gpus(8, device="2335", model="h200-sxm")
    driver = Driver("570.158.01")
    node = training(other(cards, driver, switches=4), used_mib=140_210)
    return replace(node, before=Before(node.uptime_s + 240.0))


HEALTHY = {
    "h100-busy-99": busy,
    "a100-gen1-idle": a100_at_rest,
    "h100-replay-150": replay_150,
    "l40s-x8": l40s_x8,
    "b200-persistence-off": b200,
    "rtx4090-desktop": desktop,
    "liquid-cooled-no-fans": liquid_cooled,
    "gb200-4gpu": gb200,
    "t4-retired-pages": t4,
    "h200-training": h200,
}
