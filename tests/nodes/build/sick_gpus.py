"""One fault each of GPUs, on lean nodes: what their driver says of them, and the kernel."""

from dataclasses import replace

from tests.nodes.build import lean
from tests.nodes.build.boot import NOTE, WARNING
from tests.nodes.build.folder import Folder
from tests.nodes.build.jobs import FIRST_PID, draws
from tests.nodes.build.node import Node, Told
from tests.nodes.build.parts import baseboard
from tests.nodes.build.scenario import Nvml

ERROR = WARNING - 1
DEFECTIVE = 5


def xid(node: Node, gpu: int, ago_s: float, *texts: str) -> tuple[Told, ...]:
    """Return the kernel's lines of Xids of one GPU, a tenth of a second apart."""
    at, address = node.uptime_s - ago_s, node.gpus[gpu].pci[:-2]
    line = f"NVRM: Xid (PCI:{address}): "
    return tuple((at + n / 10, ERROR, line + text) for n, text in enumerate(texts))


def seven_of_eight() -> Node:
    """A GPU did not come up at boot: neither bus nor driver know of it, Slurm counts on it."""
    node = lean.idle()
    there = tuple(gpu for gpu in node.gpus if gpu.index != DEFECTIVE)
    cards = tuple(replace(gpu, index=n) for n, gpu in enumerate(there))
    return replace(node, gpus=cards)


def handle_999() -> Node:
    """A GPU is on the bus, and a new process gets no handle of it."""
    return lean.idle().says(3, call__nvmlDeviceGetHandleByIndex_v2__returns=999)


def uncorrectable() -> Node:
    """A memory error ended a rank; the row is to be replaced, and the driver wants a reset."""
    node = lean.idle()
    said = f"pid={FIRST_PID + 2}, name=python"
    lines = xid(
        node,
        2,
        1440.0,
        f"63, {said}, Row Remapper: New row (0x000000021c40a080) marked for remapping, "
        "reset gpu to activate.",
        f"95, {said}, Uncontained: FBHUB (0x4, 0x0). RST: Yes, D-RST: No",
        "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    )
    errors = {"ecc__volatile__dram_uncorrected": 1, "ecc__aggregate__dram_uncorrected": 1}
    return node.told(*lines).says(2, **errors, remap__pending=1, recovery_action=1)


def remap_pending() -> Node:
    """A row that was corrected too often is replaced at the next reset."""
    node = lean.idle()
    said = "Row Remapper: New row (0x0000000b73e0c040) marked for remapping, reset gpu to activate."
    lines = xid(node, 6, 9000.0, f"63, pid='<unknown>', name=<unknown>, {said}")
    return node.told(*lines).says(6, remap__pending=1, remap__corrected=1)


def remap_failed() -> Node:
    """All spare rows of a bank are used up."""
    node = lean.idle()
    said = "Row Remapper Error: (0x0000000b73e0c040) - All reserved rows for bank are remapped"
    lines = xid(node, 6, 9000.0, f"64, pid='<unknown>', name=<unknown>, {said}")
    full = {"remap__max": 2551, "remap__high": 6, "remap__partial": 2, "remap__none": 1}
    return node.told(*lines).says(6, remap__failure=1, remap__uncorrected=9, **full)


def pages_pending() -> Node:
    """A page waits for the next reset to be taken out of use."""
    return lean.t4().says(2, retired__pending=1)


def throttled() -> Node:
    """One GPU of a running job is at its limit and slowed down by its hardware."""
    hot = {"temperature__gpu_c": 89, "temperature__margin_c": -2, "temperature__memory_c": 94}
    slow = {"clocks__sm_mhz": 1095, "clocks__graphics_mhz": 1095, "clocks__reasons": 0x48}
    return lean.busy().says(4, **hot, **slow, **draws(431_000))


def braked() -> Node:
    """Something in the chassis pulls the brake of all GPUs; the BMC reports nothing."""
    node = lean.busy()
    slow = {"clocks__sm_mhz": 345, "clocks__graphics_mhz": 345, "clocks__reasons": 0x88}
    for gpu in range(8):
        node = node.says(gpu, **slow, **draws(204_000))
    return node


def slow_sibling() -> Node:
    """One GPU of a running job has a low clock and gives no reason."""
    slow = {"clocks__sm_mhz": 1260, "clocks__graphics_mhz": 1260, "clocks__reasons": 0}
    node = lean.busy()
    for gpu in range(8):
        node = node.says(gpu, clocks__reasons=0, **draws(612_000))
    return node.says(5, **slow, **draws(388_000))


def narrow() -> Node:
    """A drive in the slot beside took half of a GPU's lanes."""
    node = lean.idle()
    drive = replace(node.drives[0], name="nvme1", pci="0000:ad:00.0")
    bridge = "pci0000:a8/0000:a8:01.{}"
    places = {
        **baseboard(8, 0),
        node.gpus[DEFECTIVE].pci: bridge.format(0),
        drive.pci: bridge.format(1),
    }
    node = replace(node, drives=(*node.drives, drive), places=places)
    return node.says(DEFECTIVE, pcie__width=8, pcie__max_width=8)


def replays() -> Node:
    """A GPU's link to its port repeats packets all the time."""
    node = lean.busy().says(1, pcie__replays=48_211)
    for at in range(1, 9):
        node = node.later(at * 0.5, {1: {"pcie.replays": 48_211 + at * 210}})
    return node


def nvlink_down() -> Node:
    """Two links of one GPU are down."""
    node = lean.idle()
    address = "fatal error detected on link 11(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
    lines = xid(node, 7, 2460.0, f"74, pid='<unknown>', name=<unknown>, NVLink: {address}")
    down = {"nvlink__link__10__active": False, "nvlink__link__11__active": False}
    return node.told(*lines).says(7, **down)


def no_fabric() -> Node:
    """The fabric manager has not started: the links are up, and no CUDA program can use them."""
    node = lean.idle().all_say(fabric__state=2)
    gone = tuple(p for p in node.processes if p.comm != "nv-fabricmanage")
    kept = tuple(h for h in node.holders if h.comm != "nv-fabricmanage")
    return replace(node, processes=gone, holders=kept)


def reset_wanted() -> Node:
    """The driver wants a GPU to be reset, and nothing else is known."""
    node = lean.idle()
    text = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    return node.told(*xid(node, 0, 5100.0, text)).says(0, recovery_action=1)


def mixed_firmware() -> Node:
    """One GPU was exchanged and kept the VBIOS that it came with."""
    return lean.idle().says(2, vbios="96.00.74.00.01")


def inforom() -> Node:
    """The small memory on one board does not add up."""
    return lean.idle().says(1, inforom_valid=False)


def init_18() -> Node:
    """NVML refuses to start, and the files do not show why: a container brings its own library."""
    return replace(lean.idle(), nvml=Nvml(calls={"nvmlInitWithFlags.returns": 18}))


def init_9() -> Node:
    """The module is loaded, and the library reaches no driver."""
    return replace(lean.idle(), nvml=Nvml(calls={"nvmlInitWithFlags.returns": 9}))


def blocked_call() -> Node:
    """One call to one GPU never returns; the others answer."""
    return lean.idle().says(4, call__nvmlDeviceGetPowerUsage__blocks_s=-1)


def nouveau() -> Node:
    """Nouveau drives the GPUs since the kernel was upgraded: NVIDIA's module was not built."""
    node = lean.idle()
    lines = ((11.2, NOTE, f"nouveau {node.gpus[0].pci}: NVIDIA GH100 (180000a1)"),)
    kept = [p for p in node.processes if p.comm not in ("nv-fabricmanage", "nvidia-persiste")]
    bare = replace(node, driver=None, owner="nouveau", holders=(), processes=tuple(kept))
    quiet = tuple(t for t in bare.kmsg if "nvidia" not in t[2] and "NVRM" not in t[2])

    def loaded(folder: Folder) -> None:
        folder.file("/sys/module/nouveau/initstate", "live")
        folder.file("/sys/module/nouveau/refcnt", "8")

    return replace(bare, kmsg=quiet).told(*lines).also(loaded)


NODES = {
    "gpu-count-7-of-8": seven_of_eight,
    "handle-999": handle_999,
    "ecc-uncorrectable": uncorrectable,
    "row-remap-pending": remap_pending,
    "row-remap-failed": remap_failed,
    "retired-pages-pending": pages_pending,
    "thermal-throttle": throttled,
    "power-brake": braked,
    "clock-low-sibling": slow_sibling,
    "pcie-x8-nvme": narrow,
    "pcie-replay-rate": replays,
    "nvlink-down": nvlink_down,
    "fabric-not-ready": no_fabric,
    "recovery-action-reset": reset_wanted,
    "firmware-mixed": mixed_firmware,
    "inforom-corrupted": inforom,
    "init-18": init_18,
    "init-9": init_9,
    "blocked-gpu-call": blocked_call,
    "nouveau-bound": nouveau,
}
