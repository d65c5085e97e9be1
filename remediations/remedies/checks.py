"""The checks that are run again after a repair: what it changed must be whole and well."""

# Count and identity, no new kernel line, recovery action none, links, fabric, width, versions.
GPUS = (
    "driver.kernel_log",
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
SCHEDULER = ("jobs.node_reason",)
