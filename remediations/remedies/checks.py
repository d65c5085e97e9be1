"""The checks that are run again after a repair: what it changed must be whole and well."""

# Count and identity, recovery action none, links, fabric, width. The kernel's log is not among
# them: what it told before a reset stands in it until the next boot.
GPUS = (
    "driver.answers",
    "driver.bus",
    "gpu.count",
    "gpu.recovery",
    "gpu.memory_errors",
    "gpu.pcie",
    "gpu.nvlink",
    "gpu.fabric",
    "gpu.identity",
    "gpu.modes",
)
NODE = (*GPUS, "driver.versions", "network.ports", "storage.mounts")
BOOTED = ("driver.kernel_log", *NODE)
