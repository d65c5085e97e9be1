"""Causes on one stage and what they lead to on the later ones, each on another kind of node.

Each function's docstring says what happened; where its shape comes from stands
in truth.toml.
"""

from dataclasses import replace

from tests.nodes.build import bmc, cascade_logs, lean
from tests.nodes.build.boot import NOTE
from tests.nodes.build.folder import Folder
from tests.nodes.build.jobs import FIRST_PID, draws, training
from tests.nodes.build.lately import changed
from tests.nodes.build.models import a100, h100, workstation
from tests.nodes.build.node import Node
from tests.nodes.build.rails import change, change_nic, infiniband
from tests.nodes.build.scenario import Nvml
from tests.nodes.build.sick_gpus import ERROR, xid

LOG = "train-88123.log"
AT_REST = "READ: 31020 31020 0 6142020 812430218 1201 31020 41022 0"


def ended(node: Node) -> Node:
    """Return the node whose job has ended: nobody computes on its GPUs."""
    gone = {FIRST_PID + n for n in range(-20, 8)}
    node = replace(
        node,
        processes=tuple(p for p in node.processes if p.pid not in gone),
        holders=tuple(h for h in node.holders if h.pid not in gone),
        jobs=(),
    )
    for gpu in node.gpus:
        node = node.change_gpu(gpu.index, used_mib=4, use=0, computes=(), says={})
    return node


def cable() -> Node:
    """A cable lost symbols, then its link; a rank's packets got no answer, and all timed out."""
    node = ended(training(infiniband()))
    counts = {"symbol_error": 90_318, "link_downed": 3, "link_error_recovery": 41}
    node = change(node, "mlx5_2", state="1: DOWN", phys="2: Polling", rate="SDR", counts=counts)
    node = change_nic(node, "ib2", running=False)
    at, where = node.uptime_s - 640.0, next(p.pci for p in node.ports if p.device == "mlx5_2")
    node = node.told((at, NOTE, f"mlx5_core {where} ib2: Link down"))
    firmware = [
        {"kind": "firmware", "name": f"port {name}/1", "subject": f"port {name}/1"}
        | {"before": "28.43.1014", "after": "28.43.2026"}
        for name in ("mlx5_2", "mlx5_7")
    ]
    image = {"kind": "image", "name": "megatron-26.10.sif"}
    noted = [*((19_400.0, one) for one in firmware), (22_010.0, image)]
    node = changed(node, noted=noted)
    return replace(node, logs={LOG: cascade_logs.retried(10, "mlx5_2")})


def hot_straggler() -> Node:
    """A fan stands still, the GPU in its way is slowed down, and its rank holds up the others."""
    chassis = bmc.at_work(bmc.air_cooled()).change("FAN5", value=0.0, crossed=("lc",))
    node = replace(lean.h200(), bmc=replace(chassis, faults=("cooling_fault",)))
    hot = {"temperature__gpu_c": 90, "temperature__margin_c": -3, "temperature__memory_c": 96}
    slow = {"clocks__sm_mhz": 1020, "clocks__graphics_mhz": 1020, "clocks__reasons": 0x48}
    node = node.says(5, **hot, **slow, **draws(402_000))
    return replace(node, logs={LOG: cascade_logs.slower(13, 1.7)})


def bad_module() -> Node:
    """Host memory failed under a rank, the kernel killed it, and its peers were cut off."""
    pid = FIRST_PID + 6
    node = ended(training(lean.cut(a100())))
    at = node.uptime_s - 664.0
    where = "CPU_SrcID#0_MC#3_Chan#1_DIMM#0 (channel:7 slot:0 page:0x61b0c7 offset:0x3c0 grain:32)"
    kill = f"Memory failure: 0x61b0c7: Sending SIGBUS to python:{pid} due to hardware memory "
    node = node.told(
        (at, 0, "mce: [Hardware Error]: CPU 41: Machine Check: 0 Bank 1: bd80000000100134"),
        (at + 0.1, ERROR, f"EDAC MC3: 1 UE memory read error on {where}"),
        (at + 0.2, ERROR, f"{kill}corruption"),
        (at + 0.2, ERROR, "Memory failure: 0x61b0c7: recovery action for dirty LRU page: Failed"),
    )
    return replace(node, logs={LOG: cascade_logs.closed_by_peer(14, 6, pid)})


def upgraded() -> Node:
    """The night's upgrade replaced the driver's files under the loaded module; new jobs fail."""
    node = workstation()
    assert node.driver is not None
    driver = replace(node.driver, library="575.57.08")
    at = node.uptime_s - 9_100.0
    loaded = f"NVRM: this kernel module has the version {driver.version}."
    node = replace(
        node,
        driver=driver,
        nvml=Nvml(calls={"nvmlInitWithFlags.returns": 18}),
        logs={"finetune.log": cascade_logs.no_library()},
    )
    version = "575.57.08-0ubuntu0.24.04.1"
    packages = [(f"{name}-575", version) for name in ("libnvidia-compute", "nvidia-utils")]
    node = changed(node, *((*one, 9_240.0 - n) for n, one in enumerate(packages)))
    return node.told(
        (at, ERROR, "NVRM: API mismatch: the client has the version 575.57.08, but"),
        (at, ERROR, loaded),
    )


def full_disk() -> Node:
    """The scratch is full, and the job that wanted to save its checkpoint there has ended."""
    node = h100()
    mounts = (replace(m, free_gib=0.0) if m.point == "/scratch" else m for m in node.mounts)
    return replace(node, mounts=tuple(mounts), logs={LOG: cascade_logs.not_saved()})


def double_bit() -> Node:
    """A GPU's memory failed under a rank, which died; the other ranks waited ten minutes for it."""
    node = ended(training(h100()))
    who = f"pid={FIRST_PID + 5}, name=python"
    where = "in the framebuffer at physAddr 0x9d41c2b60 partition 5, subpartition 1."
    lines = xid(
        node,
        5,
        669.0,
        f"48, {who}, An uncorrectable double bit error (DBE) has been detected on GPU {where}",
        f"63, {who}, Row Remapper: New row (0x00000009d41c2b60) marked for remapping, "
        "reset gpu to activate.",
        "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
    )
    lines += xid(node, 5, 668.0, *(f"45, {who}, Ch 0000000{n}" for n in range(8)))
    errors = {"ecc__volatile__dram_uncorrected": 1, "ecc__aggregate__dram_uncorrected": 1}
    node = node.told(*lines).says(5, **errors, remap__pending=1, recovery_action=4)
    return replace(node, logs={LOG: cascade_logs.corrected_by_death(13)})


def slow_server() -> Node:
    """The file server answers slowly; ranks wait for their batches, and GPUs for the ranks."""
    node = training(h100())
    for gpu in range(8):
        node = node.change_gpu(gpu, use=21)

    def slow(folder: Folder) -> None:
        text = folder.first.files["/proc/1/mountstats"]
        before, point, after = text.partition("mounted on /data ")
        for second in range(1, 9):
            sent = 31_020 + 60 * second
            waited, done = 31_020 + 41_000 * second, 41_022 + 41_400 * second
            read = f"READ: {sent} {sent} 0 6142020 812430218 1201 {waited} {done} 0"
            now = after.replace(AT_REST, read, 1)
            folder.file("/proc/1/mountstats", before + point + now, at=second)

    return replace(node, logs={LOG: cascade_logs.starved()}).also(slow)


NODES = {
    "cascade-cable": cable,
    "cascade-fan-straggler": hot_straggler,
    "cascade-memory-killed": bad_module,
    "cascade-upgrade": upgraded,
    "cascade-full-disk": full_disk,
    "cascade-ecc-timeout": double_bit,
    "cascade-slow-storage": slow_server,
}
