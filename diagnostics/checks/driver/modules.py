"""Whether the NVIDIA kernel module runs where there are GPUs for it."""

from collections.abc import Iterator, Sequence

from collectors.gpu.bus import PciFunction, PciGpus
from collectors.gpu.modules import DriverModules
from diagnostics.check import NODE, check
from diagnostics.checks.driver.owners import guests, listed
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found

BUS = "/sys/bus/pci/devices"


@check("driver.modules", stage="driver", faults=("driver_not_loaded",), proved="documented")
def modules(pci: PciGpus, driver: DriverModules) -> Iterator[Statement]:
    """Where there are GPUs for it, the module nvidia is loaded and live.

    Without it no CUDA program starts, and each rank of a job on this node fails at its first call.
    A GPU that is bound to a guest's driver is not this node's to use.
    """
    if not pci.gpus:
        yield NotApplicable(why="no NVIDIA GPU on the PCI bus")
        return
    away = guests(pci.gpus)
    ours = [gpu for gpu in pci.gpus if gpu not in away]
    if away:
        yield _given_away(away)
    if driver.live:
        gpus = "1 GPU" if len(ours) == 1 else f"{len(ours)} GPUs"
        yield Well(message=f"{gpus} on the bus, {_named(driver)} is live")
    elif ours:
        yield _not_live(ours, driver)


def _named(driver: DriverModules) -> str:
    nvidia = driver.module("nvidia")
    version = nvidia and nvidia.version
    kind = "open module" if driver.open_source else "module"
    return f"{kind} nvidia {version or 'of no known version'}"


def _given_away(away: Sequence[PciFunction]) -> Finding:
    return found(
        "driver_not_loaded",
        "info",
        NODE,
        "GPUs that are kept for a guest, bound to {drivers}: {addresses}",
        Evidence(source=BUS, values={gpu.address: gpu.driver for gpu in away}),
        variant="guest",
        drivers=", ".join(sorted({gpu.driver or "" for gpu in away})),
        addresses=listed(away),
    )


def _not_live(ours: Sequence[PciFunction], driver: DriverModules) -> Finding:
    nvidia = driver.module("nvidia")
    if nvidia is not None:
        return found(
            "driver_not_loaded",
            # A module stays `coming` for some seconds while it starts.
            "warning",
            NODE,
            "the module nvidia is {state}, not live; GPUs that wait for it: {addresses}",
            Evidence(source="/sys/module/nvidia/initstate", text=nvidia.state),
            variant="state",
            state=nvidia.state,
            addresses=listed(ours),
        )
    others = sorted({gpu.driver for gpu in ours if gpu.driver})
    # A screen driven by nouveau is a desktop until somebody says that CUDA is expected of it.
    desktop = bool(others) and all(gpu.display and gpu.driver for gpu in ours)
    severity: Severity = "warning" if desktop else "critical"
    values = {gpu.address: gpu.driver for gpu in ours}
    if others:
        return found(
            "driver_not_loaded",
            severity,
            NODE,
            "the module nvidia is not loaded, and {drivers} drives its GPUs: {addresses}",
            Evidence(source=BUS, values=values),
            variant="other",
            drivers=", ".join(others),
            addresses=listed(ours),
        )
    return found(
        "driver_not_loaded",
        severity,
        NODE,
        "the module nvidia is not loaded; GPUs that wait for it: {addresses}",
        Evidence(source=BUS, values=values),
        variant="absent",
        addresses=listed(ours),
    )
