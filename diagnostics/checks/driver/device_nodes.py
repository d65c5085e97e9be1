"""Whether the driver's device nodes let a program in."""

from collections import Counter
from collections.abc import Iterator, Mapping

from collectors.facts.observation import Cause, Missing
from collectors.gpu.bus import PciGpus
from collectors.gpu.device_nodes import DeviceNodes, Rights
from diagnostics.check import NODE, check
from diagnostics.finding import Evidence, Finding, NotApplicable, Statement, Unseen, Well, found

CONTROL = "/dev/nvidiactl"
NO_DRIVER = ("ENXIO", "ENODEV", "EIO")


@check(
    "driver.device_nodes",
    stage="driver",
    faults=("gpu_init_failed", "gpu_device_denied"),
    proved="documented",
)
def device_nodes(pci: PciGpus, seen: DeviceNodes) -> Iterator[Statement]:
    """/dev/nvidiactl, the control node of the driver, opens.

    A program that cannot open it fails with an error that reads like a dead GPU (NVML's "Unknown
    Error"). That the node exists proves nothing: the library makes it without any driver.
    """
    if not pci.gpus:
        yield NotApplicable(why="no NVIDIA GPU on the PCI bus")
    elif not seen.live:
        yield NotApplicable(why="no NVIDIA module is live that would answer")
    elif seen.error is None:
        yield Well(message=f"{CONTROL} opens")
    elif seen.error == "ENOENT":
        why = f"no {CONTROL} here: the driver's first user makes it, outside of containers"
        yield NotApplicable(why=why)
    elif seen.error in NO_DRIVER:
        yield _unserved(seen.error)
    elif seen.error == "EPERM":
        yield _refused(seen)
    else:
        yield Unseen(missing=_not_opened(seen))
    yield from _stricter(seen.nodes)


def _unserved(error: str) -> Finding:
    return found(
        "gpu_init_failed",
        "critical",
        NODE,
        "{path} has no driver behind it ({error}) though the module nvidia is live",
        Evidence(source=CONTROL, values={"errno": error}),
        path=CONTROL,
        error=error,
    )


def _refused(seen: DeviceNodes) -> Finding:
    # The permission bits give EACCES; EPERM comes from the device filter of a cgroup.
    return found(
        "gpu_device_denied",
        "warning",
        NODE,
        "the device cgroup that gpudiag runs in refuses {path} (EPERM)",
        Evidence(source=CONTROL, values={"errno": seen.error, "user": seen.user}),
        path=CONTROL,
    )


def _not_opened(seen: DeviceNodes) -> Missing:
    rights = seen.nodes.get(CONTROL)
    if seen.error != "EACCES" or rights is None:
        return Missing(what=CONTROL, cause=Cause.CRASHED, detail=f"open gave {seen.error}")
    detail = f"user {seen.user} may not open it: mode {rights.mode:04o}, owner {rights.uid}"
    return Missing(what=CONTROL, cause=Cause.DENIED, detail=f"{detail}, group {rights.gid}")


def _stricter(nodes: Mapping[str, Rights]) -> Iterator[Statement]:
    """Name the GPUs' nodes whose rights are not those that most of them have."""
    gpus = {path: r for path, r in nodes.items() if path.removeprefix("/dev/nvidia").isdecimal()}
    usual = Counter(gpus.values()).most_common(1)
    odd = [path for path, rights in gpus.items() if rights != usual[0][0]]
    if odd:
        yield found(
            "gpu_device_denied",
            "info",
            NODE,
            "not with the mode, owner and group of the other GPUs' nodes: {paths}",
            Evidence(source=odd[0], values={path: f"{gpus[path].mode:04o}" for path in odd}),
            variant="rights",
            paths=", ".join(odd[:4]),
        )
