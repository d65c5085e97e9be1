"""Whether the driver's libraries are of the version of the loaded module."""

from collections.abc import Iterator

from collectors.gpu.bus import PciGpus
from collectors.gpu.modules import LIBRARIES, DriverModules, Library
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found

NVML = "libnvidia-ml"


@check("driver.versions", stage="driver", faults=("driver_library_mismatch",), proved="documented")
def versions(pci: PciGpus, driver: DriverModules) -> Iterator[Statement]:
    """Each driver library has a copy of the loaded module's version.

    The module refuses a library of another version: running jobs go on, new ones fail at their
    first CUDA call. Read from file names, so that it is true of a driver that hangs, too.
    """
    nvidia = driver.module("nvidia")
    if not pci.gpus or nvidia is None or nvidia.version is None:
        yield NotApplicable(why="no NVIDIA module with a version is loaded")
        return
    if not driver.libraries:
        yield NotApplicable(why="no driver library in the folders of the system")
        return
    for name in LIBRARIES:
        copies = [library for library in driver.libraries if library.name == name]
        others = [library for library in copies if library.version != nvidia.version]
        if others:
            yield _mismatch(nvidia.version, others, whole=len(others) == len(copies))
        elif copies:
            yield Well(message=f"{name} and the module are both {nvidia.version}")


def _mismatch(module: str, others: list[Library], *, whole: bool) -> Finding:
    name = others[0].name
    # A newer libcuda alone can be the forward compatibility package; NVML has no such thing.
    severity: Severity = "info" if not whole else "critical" if name == NVML else "warning"
    paths = [f"{x.folder}/{x.name}.so.{x.version}" for x in others]
    template = (
        "{library} is {versions} and the loaded module is {module}: new CUDA programs fail"
        if whole
        else "{library} is also here as {versions}, beside the copy of the module's version {module}"
    )
    return found(
        "driver_library_mismatch",
        severity,
        NODE,
        template,
        Evidence(source="/sys/module/nvidia/version", text=module),
        Evidence(source=paths[0], values={"copies": paths}),
        variant="" if whole else "beside",
        confidence=0.95 if name == NVML else 0.7,
        library=name,
        versions=", ".join(sorted({x.version for x in others})),
        module=module,
    )
