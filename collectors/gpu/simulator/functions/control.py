"""What root may set: kept as an action, and shown by the getter as on a real GPU."""

from typing import TYPE_CHECKING

from collectors.gpu.simulator.functions.answer import (
    INVALID_ARGUMENT,
    UINT,
    Failed,
    Gpu,
    device,
)

if TYPE_CHECKING:
    from collectors.gpu.simulator.library import Simulator


@device("nvmlDeviceSetPersistenceMode", UINT)
def _persistence(simulator: "Simulator", gpu: Gpu, mode: int) -> None:
    if mode > 1:
        raise Failed(INVALID_ARGUMENT)
    simulator.act("nvmlDeviceSetPersistenceMode", gpu, mode)
    simulator.set(gpu, "persistence", mode)


@device("nvmlDeviceSetPowerManagementLimit", UINT)
def _power_limit(simulator: "Simulator", gpu: Gpu, limit_mw: int) -> None:
    values = gpu.values
    if not values["power.min_limit_mw"] <= limit_mw <= values["power.max_limit_mw"]:
        raise Failed(INVALID_ARGUMENT)
    simulator.act("nvmlDeviceSetPowerManagementLimit", gpu, limit_mw)
    simulator.set(gpu, "power.limit_mw", limit_mw)


@device("nvmlDeviceSetGpuLockedClocks", UINT, UINT)
def _lock_clocks(simulator: "Simulator", gpu: Gpu, low_mhz: int, high_mhz: int) -> None:
    if low_mhz > high_mhz:
        raise Failed(INVALID_ARGUMENT)
    simulator.act("nvmlDeviceSetGpuLockedClocks", gpu, low_mhz, high_mhz)
    simulator.set(gpu, "clocks.locked_mhz", high_mhz)


@device("nvmlDeviceResetGpuLockedClocks")
def _unlock_clocks(simulator: "Simulator", gpu: Gpu) -> None:
    simulator.act("nvmlDeviceResetGpuLockedClocks", gpu)
    simulator.set(gpu, "clocks.locked_mhz", 0)
