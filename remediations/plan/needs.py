"""Which repair an incident needs: by the driver's word and the codes, else by its fault."""

from typing import Literal

from diagnostics.finding import Finding
from diagnostics.incidents import recovery
from diagnostics.knowledge.aliases import named
from diagnostics.knowledge.codes.tables import Recovery
from remediations.plan.actions import Situation

# `out` takes the node from who schedules on it; the others repair it once it is out.
Repair = Literal["out", "reset", "reset_all", "fabric_manager", "reboot"]

BY_WORD: dict[Recovery, tuple[Repair, ...]] = {
    "restart_fabric_manager": ("out", "fabric_manager"),
    "run_diagnostics": ("out",),
    "call_vendor": ("out",),
    "reset_gpu": ("out", "reset"),
    "drain_and_reset": ("out", "reset"),
    "reset_fabric": ("out", "reset_all"),
    "reboot_node": ("out", "reboot"),
    "check_power_and_cables": ("out",),
}

# Where no code and no driver says it. A fault of storage that others share, of a job or of a
# setting is in none: taking the node out would move it to the next node.
BY_FAULT: dict[str, tuple[Repair, ...]] = {
    "gpu_fell_off_bus": ("out", "reboot"),
    "gpu_lost": ("out", "reboot"),
    "driver_hung": ("out", "reboot"),
    "gpu_init_failed": ("out", "reboot"),
    "gsp_timeout": ("out", "reset"),
    "gpu_reset_required": ("out", "reset"),
    "ecc_uncorrectable": ("out", "reset"),
    "nvlink_down": ("out", "reset_all"),
    "nvlink_error": ("out", "reset_all"),
    "nvswitch_sxid_fatal": ("out", "reset_all"),
    "fabric_manager_not_ready": ("out", "fabric_manager"),
    "gpu_count_mismatch": ("out",),
    "gpu_handle_undetermined": ("out",),
    "driver_not_loaded": ("out",),
    "driver_library_mismatch": ("out",),
    "nvml_no_devices": ("out",),
    "read_only_filesystem": ("out",),
    "row_remap_failed": ("out",),
    "pcie_error": ("out",),
    "nvme_missing": ("out",),
    "nvme_failing": ("out",),
    "host_memory_uncorrectable": ("out",),
    "ib_hca_fatal": ("out",),
    "ib_port_down": ("out",),
    "ib_device_missing": ("out",),
    "coolant_leak_detected": ("out",),
}
# Whatever its code asks for: rows that can no longer be remapped are for who replaces the card.
LEFT_OUT = frozenset({"row_remap_failed"})


def repairs(situation: Situation, root: Finding) -> tuple[Repair, ...]:
    """Return what the root needs, in order; nothing where it is no such fault, or not critical."""
    by_fault = BY_FAULT.get(named(root.fault), ())
    if root.severity != "critical" or root.stage == "training" or not by_fault:
        return ()
    if named(root.fault) in LEFT_OUT:
        return by_fault
    advised = recovery.advice(root, situation.findings)
    # A driver that asks for nothing is believed: a person decides what is left of it.
    told = None if advised is None or advised.action is None else BY_WORD.get(advised.action, ())
    return by_fault if told is None else told


def fit(situation: Situation) -> bool:
    """Return whether no incident stands but of what jobs did themselves, or what is repaired.

    A line of before a reset stands in the kernel's log until the next boot; the driver's own word
    that the GPU needs nothing is newer.
    """
    roots = [situation.finding(incident.root) for incident in situation.incidents]
    return all(root is not None and _over(situation, root) for root in roots)


def _over(situation: Situation, root: Finding) -> bool:
    if root.stage == "training":
        return True
    advised = recovery.advice(root, situation.findings)
    return advised is not None and (advised.action, advised.by) == ("none", "driver")
