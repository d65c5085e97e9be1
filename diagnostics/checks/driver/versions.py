"""Whether the driver's libraries and packages are of the version of the loaded module."""

import re
from collections.abc import Iterator

from collectors.facts.observation import Missing
from collectors.gpu.bus import PciGpus
from collectors.gpu.modules import DriverModules, Library
from collectors.gpu.packages import DriverPackages
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Severity, Statement, Well, found

NVML = "libnvidia-ml"
# 550.54.15 and 550.54, of few digits: what is compared as numbers
VERSION = re.compile(r"\d{3,4}(\.\d{1,3}){1,2}", re.ASCII)


@check("driver.versions", stage="driver", faults=("driver_library_mismatch",), proved="documented")
def versions(
    pci: PciGpus, driver: DriverModules, packages: DriverPackages | Missing
) -> Iterator[Statement]:
    """Each driver library has a copy of the loaded module's version.

    The module refuses a library of another version: running jobs go on, new ones fail at their
    first CUDA call. Read from file names, so that it is true of a driver that hangs, too.
    Packages are a note: newer than the module, they are what the next boot loads.
    """
    nvidia = driver.module("nvidia")
    if not pci.gpus:
        yield NotApplicable(why="no NVIDIA GPU on the PCI bus")
        return
    if nvidia is None or nvidia.version is None:
        yield NotApplicable(why="no NVIDIA module with a version is loaded")
        return
    if not isinstance(packages, Missing):
        yield from _packages(nvidia.version, packages)
    if not driver.libraries:
        yield NotApplicable(why="no driver library in the folders of the system")
        return
    well = [x for x in driver.libraries if x.version == nvidia.version]
    others = [x for x in driver.libraries if x.version != nvidia.version]
    matched = {x.name for x in well}
    beside = [x for x in others if x.name in matched]
    wrong = [x for x in others if x.name not in matched]
    if wrong:
        yield _wrong(nvidia.version, wrong)
    if beside:
        yield _beside(nvidia.version, beside)
    if well and not others:
        yield Well(message=f"{_names(well)} and the module are {nvidia.version}")


def _wrong(module: str, wrong: list[Library]) -> Finding:
    # A newer libcuda alone can be the forward compatibility package; NVML has no such thing.
    nvml = any(x.name == NVML for x in wrong)
    severity: Severity = "critical" if nvml else "warning"
    return found(
        "driver_library_mismatch",
        severity,
        NODE,
        "{library} here: {versions}; the loaded kernel module: {module}",
        Evidence(source="/sys/module/nvidia/version", text=module),
        Evidence(source=_path(wrong[0]), values={"copies": [_path(x) for x in wrong]}),
        confidence=0.98 if nvml else 0.7,
        library=_names(wrong),
        versions=_versions(wrong),
        module=module,
    )


def _beside(module: str, beside: list[Library]) -> Finding:
    return found(
        "driver_library_mismatch",
        "info",
        NODE,
        "{library} is also here as {versions}, beside the copy of the module's version {module}",
        Evidence(source=_path(beside[0]), values={"copies": [_path(x) for x in beside]}),
        variant="beside",
        library=_names(beside),
        versions=_versions(beside),
        module=module,
    )


def _packages(module: str, told: DriverPackages) -> Iterator[Finding]:
    # Packages of several versions do not tell which of them the next boot loads.
    versions = sorted({package.version for package in told.packages})
    if len(versions) != 1 or not _newer(versions[0], module):
        return
    listed = [f"{package.name} {package.version}" for package in told.packages]
    yield found(
        "driver_library_mismatch",
        "info",
        NODE,
        "the driver's packages are {version}, newer than the loaded module {module}: "
        "the next boot loads {version}",
        Evidence(source="/sys/module/nvidia/version", text=module),
        Evidence(source=told.tool or "packages", values={"installed": listed}),
        variant="package",
        version=versions[0],
        module=module,
    )


def _newer(version: str, module: str) -> bool:
    both = (version, module)
    if not all(VERSION.fullmatch(one) for one in both):
        return False
    first, second = ([int(part) for part in one.split(".")] for one in both)
    return first > second


def _names(libraries: list[Library]) -> str:
    return " and ".join(sorted({x.name for x in libraries}))


def _versions(libraries: list[Library]) -> str:
    return ", ".join(sorted({x.version for x in libraries}))


def _path(library: Library) -> str:
    return f"{library.folder}/{library.name}.so.{library.version}"
