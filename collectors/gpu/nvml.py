"""The GPUs as the driver's library tells of them: memory, use and the processes that compute."""

from collections.abc import Mapping, Sequence

import msgspec

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu import bus
from collectors.gpu.breaker import breaker
from collectors.node.protocol import Node

# /dev/nvidiactl proves nothing (the library makes it when root asks); this file is the driver's.
DRIVER = "/proc/driver/nvidia/version"
WHAT = "NVML"
# Without persistence the first contact takes seconds a GPU; a stage has 20 s in all.
FIRST_S, NEXT_S = 15.0, 5.0


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process with a compute context; None where the driver does not say how much it uses."""

    pid: int
    used_bytes: int | None = None


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; a field that the driver did not give is None, and `failed` holds NVML's code for it.

    `error` is NVML's code where the GPU gave no handle: all else is unknown then.
    `utilisation_before_percent` is of `GpuSnapshot.watched_s` earlier.
    """

    index: int
    pci: str | None = None
    uuid: str | None = None
    minor: int | None = None
    name: str | None = None
    serial: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    utilisation_percent: int | None = None
    utilisation_before_percent: int | None = None
    mig: bool | None = None
    processes: tuple[GpuProcess, ...] | None = None
    error: int | None = None
    failed: Mapping[str, int | None] = {}


class GpuSnapshot(Observation, frozen=True, kw_only=True):
    """All GPUs; `loaded` is False on a node whose kernel has no NVIDIA driver, which is not asked.

    `init_error` is NVML's code where the library did not start. `held_back` are the addresses of
    GPUs that were not asked, for what the kernel log says of them.
    """

    loaded: bool = True
    driver: str | None = None
    nvml: str | None = None
    count: int | None = None
    gpus: tuple[Gpu, ...] = ()
    init_error: int | None = None
    watched_s: float = 0.0
    failed: Mapping[str, int | None] = {}
    held_back: tuple[str, ...] = ()


async def collect(node: Node, wanted: Wanted, log: KernelLog | Missing) -> GpuSnapshot | Missing:
    """Ask twice, *sample_s* apart, so that use is not judged by one moment."""
    seen = await node.files(names=(DRIVER,))
    if isinstance(seen, Missing):
        return seen
    if seen.get(DRIVER) is None:
        return GpuSnapshot(loaded=False)
    forbidden = breaker(log)
    if not isinstance(log, Missing) and (held := forbidden.held_back(WHAT, log)):
        return held
    of = await _others(node, wanted, forbidden.lost) if forbidden.lost else {}
    return of if isinstance(of, Missing) else await _twice(node, wanted, of, forbidden.lost)


async def _twice(
    node: Node, wanted: Wanted, of: Mapping[str, list[str]], lost: tuple[str, ...]
) -> GpuSnapshot | Missing:
    first = _snapshot(await node.ask("nvml", deadline_s=FIRST_S, **of))
    if isinstance(first, Missing) or not first.gpus:
        return first
    await node.sleep(wanted.sample_s)
    second = _snapshot(await node.ask("nvml", deadline_s=NEXT_S, **of))
    if isinstance(second, Missing):
        return second
    return msgspec.structs.replace(_joined(first, second, wanted.sample_s), held_back=lost)


async def _others(
    node: Node, wanted: Wanted, lost: Sequence[str]
) -> dict[str, list[str]] | Missing:
    """Return whom to ask where a GPU fell off the bus: the driver's others, by address.

    The order of NVML's own indices is not promised, so that an index could be the lost one's.
    """
    seen = await bus.collect(node, wanted)
    if isinstance(seen, Missing):
        return seen
    others = [g.address for g in seen.gpus if g.driver == "nvidia" and g.address not in lost]
    if not others:
        detail = "the kernel log says that every GPU of the driver fell off the bus"
        return Missing(what=WHAT, cause=Cause.HELD_BACK, detail=detail)
    return {"only": others}


def _snapshot(answer: object) -> GpuSnapshot | Missing:
    if isinstance(answer, Missing):
        return msgspec.structs.replace(answer, what=WHAT)
    try:
        return msgspec.convert(answer, GpuSnapshot)
    except msgspec.ValidationError as problem:
        return Missing(what=WHAT, cause=Cause.GARBLED, detail=str(problem))


def _joined(first: GpuSnapshot, second: GpuSnapshot, watched_s: float) -> GpuSnapshot:
    before = {gpu.uuid or gpu.index: gpu.utilisation_percent for gpu in first.gpus}
    gpus = tuple(
        msgspec.structs.replace(gpu, utilisation_before_percent=before.get(gpu.uuid or gpu.index))
        for gpu in second.gpus
    )
    return msgspec.structs.replace(second, gpus=gpus, watched_s=watched_s)
