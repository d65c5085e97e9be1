"""One fault each of what is around the GPUs, on lean nodes: chassis, board, and the last boot."""

from dataclasses import replace

from tests.nodes.build import bmc, lean
from tests.nodes.build.board import Before
from tests.nodes.build.boot import NOTE, WARNING
from tests.nodes.build.folder import Folder
from tests.nodes.build.node import Node

ERROR, EMERGENCY = WARNING - 1, 0
TAKEN = 1_796_005_327.0
PANIC = "Kernel panic - not syncing: Fatal machine check on current CPU"


def chassis() -> Node:
    """Return a lean node with a BMC."""
    return replace(lean.idle(), bmc=bmc.air_cooled())


def _watched(node: Node, name: str, **parts: object) -> Node:
    return replace(node, bmc=(node.bmc or bmc.air_cooled()).change(name, **parts))


def panicked() -> Node:
    """The kernel panicked, and the node came up by itself: the firmware kept the text."""
    text = (
        "Panic#2 Part1\n"
        "<2>[812041.311027] mce: [Hardware Error]: CPU 31: Machine Check Exception: 5 Bank 4: "
        "f200000000070f0f\n<2>[812041.311031] mce: [Hardware Error]: PROCESSOR 0:c06f2\n"
        f"<0>[812041.402203] {PANIC}\n<0>[812042.105110] Kernel Offset: 0x1a000000\n"
    )
    crash = {
        "path": "/var/lib/systemd/pstore/1795999/dmesg.txt",
        "mtime": TAKEN - 1500,
        "text": text,
    }
    return _restarted(Before(1512.0, shutdown=None, crashes=(crash,)))


def rebooted() -> Node:
    """The node went down in the middle of everything and came up again: power, by all signs."""
    last = ("perf: interrupt took too long (3921 > 3917), lowering rate",)
    return _restarted(Before(1620.0, shutdown=None, kernel=last))


def _restarted(before: Before) -> Node:
    node = replace(lean.idle(), uptime_s=1290.4, before=before)
    return lean.booted(node)


def aer() -> Node:
    """A PCIe port above a GPU reports errors that are not corrected."""
    node = lean.idle()
    at, root, port = node.uptime_s - 840.0, "0000:a7:01.0", "0000:a9:01.0"
    layer = "severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)"
    status = "device [1000:c030] error status/mask=00040000/00180000"
    return node.told(
        (at, ERROR, f"pcieport {root}: AER: Uncorrected (Fatal) error received: {port}"),
        (at + 0.001, ERROR, f"pcieport {port}: PCIe Bus Error: {layer}"),
        (at + 0.001, ERROR, f"pcieport {port}:   {status}"),
        (at + 0.001, ERROR, f"pcieport {port}:    [18] MalfTLP                (First)"),
        (at + 0.2, NOTE, f"pcieport {port}: AER: device recovery successful"),
    )


def mce() -> Node:
    """Host memory had an error that could not be corrected; the kernel took the page out of use."""
    node = lean.idle()
    at = node.uptime_s - 3000.0
    check = "CPU 88: Machine Check: 0 Bank 19: be00000200a00091"
    where = "CPU_SrcID#1_MC#2_Chan#0_DIMM#0 (channel:4 slot:0 page:0x3c91a20 offset:0x740 grain:32)"
    page = "Memory failure: 0x3c91a20: recovery action for dirty LRU page: Recovered"
    return node.told(
        (at, EMERGENCY, f"mce: [Hardware Error]: {check}"),
        (at + 0.1, ERROR, f"EDAC MC6: 1 UE memory read error on {where}"),
        (at + 0.2, ERROR, page),
    )


def inlet_hot() -> Node:
    """Warm air comes in, and takes the margin of all GPUs of a running job."""
    node = _watched(
        replace(lean.busy(), bmc=bmc.at_work(bmc.air_cooled())),
        "Inlet Temp",
        value=43.0,
        crossed=("unc", "uc"),
    )
    for gpu in range(8):
        warm = {"temperature__gpu_c": 85 + gpu % 2, "temperature__margin_c": 1 + gpu % 2}
        node = node.says(gpu, **warm)
    return node


def fan_failed() -> Node:
    """One fan stands still, the others do its work."""
    still = {"value": 0.0, "crossed": ("lc",)}
    node = replace(chassis(), bmc=replace(bmc.air_cooled(), faults=("cooling_fault",)))
    return _watched(node, "FAN5", **still)


def supply_lost() -> Node:
    """One supply has no input any more; the log says since when."""
    lost = (bmc.supply_lost(4, TAKEN - 2711.0),)
    node = replace(chassis(), bmc=replace(bmc.air_cooled(), events=lost))
    node = _watched(node, "PS4 Status", states=(0, 3))
    return _watched(node, "PS Redundancy", states=(1,))


def leak() -> Node:
    """Coolant drips on the sensor below the second plate."""
    return _watched(replace(lean.idle(), bmc=bmc.liquid_cooled()), "Leak 2", states=(1,))


def silent() -> Node:
    """The BMC does not answer any more."""
    why = {"cause": "timeout", "detail": "ipmitool did not end in 10 s"}

    def quiet(folder: Folder) -> None:
        folder.silence("bmc_info", why, seconds=10.0)

    return chassis().also(quiet)


NODES = {
    "kernel-panic-last-boot": panicked,
    "unexpected-reboot": rebooted,
    "aer-uncorrected": aer,
    "mce-uncorrected": mce,
    "inlet-hot": inlet_hot,
    "fan-failed": fan_failed,
    "psu-lost": supply_lost,
    "coolant-leak": leak,
    "bmc-silent": silent,
}
