"""The GPUs as the driver's library tells of them: memory, use and the processes that compute."""

from collections.abc import Mapping

import msgspec

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.asking import FIRST_S, LONGEST_S, NEXT_S, driver
from collectors.node.protocol import Node


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
    GPUs that were not asked, for what the kernel log says of them; `stuck` are those of which a
    call did not return, with the function's name. Neither are in `gpus`.
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
    stuck: Mapping[str, str] = {}


class Looking:
    """GPUs looked at again and again: their use is told with that of the look before."""

    def __init__(self) -> None:
        self._before: tuple[float, GpuSnapshot] | None = None

    async def collect(
        self, node: Node, wanted: Wanted, log: KernelLog | Missing
    ) -> GpuSnapshot | Missing:
        """Ask once more; the first time twice, so that use is not judged by one moment."""
        before, self._before = self._before, None
        asked = await driver(node, wanted, log)
        if asked is None:
            return GpuSnapshot(loaded=False)
        if isinstance(asked, Missing):
            return asked
        deadline_s = FIRST_S
        if before is None or node.monotonic() - before[0] > LONGEST_S:
            first = await asked.ask(GpuSnapshot, "nvml", deadline_s=FIRST_S)
            if isinstance(first, Missing) or not first.gpus:
                return first
            before, deadline_s = (node.monotonic(), first), NEXT_S
        at, then = before
        await node.sleep(max(wanted.sample_s - (node.monotonic() - at), 0.0))
        watched_s = round(node.monotonic() - at, 1)
        now = await asked.ask(GpuSnapshot, "nvml", deadline_s=deadline_s)
        if isinstance(now, Missing):
            return now
        self._before = (at + watched_s, now)
        return msgspec.structs.replace(
            _joined(then, now, watched_s), held_back=asked.held_back, stuck=asked.stuck
        )


async def collect(node: Node, wanted: Wanted, log: KernelLog | Missing) -> GpuSnapshot | Missing:
    """Ask twice, *sample_s* apart, so that use is not judged by one moment."""
    return await Looking().collect(node, wanted, log)


def _joined(first: GpuSnapshot, second: GpuSnapshot, watched_s: float) -> GpuSnapshot:
    before = {gpu.uuid or gpu.index: gpu.utilisation_percent for gpu in first.gpus}
    gpus = tuple(
        msgspec.structs.replace(gpu, utilisation_before_percent=before.get(gpu.uuid or gpu.index))
        for gpu in second.gpus
    )
    return msgspec.structs.replace(second, gpus=gpus, watched_s=watched_s)
