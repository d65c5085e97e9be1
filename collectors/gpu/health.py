"""What the driver says of each GPU's health, read twice so that counters give rates."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from collectors.facts.kernel_log import KernelLog
from collectors.facts.observation import Cause, Missing, Observation
from collectors.facts.wanted import Wanted
from collectors.gpu.asking import FIRST_S, LONGEST_S, Driver, driver
from collectors.gpu.health_parts import (
    Clocks,
    Ecc,
    Fabric,
    Heat,
    Memory,
    Modes,
    Nvlink,
    Pcie,
    Power,
    Remap,
    Retired,
)
from collectors.gpu.nvml import GpuSnapshot
from collectors.node.protocol import Node

Inforom = Literal["valid", "corrupted"]


class GpuReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One GPU; a field that the driver did not give is None, and `failed` holds NVML's code for it.

    `error` is NVML's code where the GPU gave no handle: all else is unknown then. `inforom` is the
    version of its image; `recovery_action` is raw (0 to 4 mean the same in every driver, 5 and
    above do not).
    """

    index: int
    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None
    name: str | None = None
    vbios: str | None = None
    inforom: str | None = None
    inforom_state: Inforom | None = None
    board_part: str | None = None
    minor: int | None = None
    module_id: int | None = None
    numa_node: int | None = None
    utilisation_percent: int | None = None
    recovery_action: int | None = None
    memory: Memory = Memory()
    ecc: Ecc = Ecc()
    remap: Remap = Remap()
    retired: Retired = Retired()
    heat: Heat = Heat()
    power: Power = Power()
    clocks: Clocks = Clocks()
    pcie: Pcie = Pcie()
    nvlink: Nvlink = Nvlink()
    modes: Modes = Modes()
    fabric: Fabric = Fabric()
    error: int | None = None
    failed: Mapping[str, int | None] = {}

    @property
    def key(self) -> str:
        """Return what names this GPU for as long as the driver is loaded."""
        return self.pci or self.uuid or f"index {self.index}"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two GPUs by their addresses, and how far apart they are on PCIe.

    `ancestor` by nvml.h: 0 same board, 10 one PCIe switch, 20 several switches, 30 one host bridge,
    40 one NUMA node, 50 across NUMA nodes. `nvlink` and `peer_read` are P2P codes, 0 is possible.
    """

    one: str
    other: str
    ancestor: int | None = None
    nvlink: int | None = None
    peer_read: int | None = None


class GpuHealth(Observation, frozen=True, kw_only=True):
    """All GPUs, and what changes of them as it was `watched_s` before.

    `loaded` is False on a node without the NVIDIA driver. `init_error` is NVML's code where the
    library did not start. `before` holds what changes: memory, ECC, heat, power, clocks, PCIe,
    NVLink and use; it is empty where there was one reading. `held_back` are addresses of GPUs that
    fell off the bus by the kernel's word and are not asked; `stuck` are those of which a call did
    not return, with the function's name: neither are in `gpus`.
    """

    loaded: bool = True
    driver: str | None = None
    nvml: str | None = None
    count: int | None = None
    gpus: tuple[GpuReading, ...] = ()
    before: tuple[GpuReading, ...] = ()
    watched_s: float = 0.0
    pairs: tuple[Pair, ...] = ()
    init_error: int | None = None
    held_back: tuple[str, ...] = ()
    stuck: Mapping[str, str] = {}
    failed: Mapping[str, int | None] = {}

    def answering(self) -> Iterator[GpuReading]:
        """Yield the GPUs that could be asked."""
        return (gpu for gpu in self.gpus if gpu.error is None)

    def watched(self) -> Iterator[tuple[GpuReading, GpuReading]]:
        """Yield (before, now) of each GPU that was read twice."""
        before = {gpu.key: gpu for gpu in self.before}
        return ((before[gpu.key], gpu) for gpu in self.answering() if gpu.key in before)


class Looking:
    """GPUs looked at again and again: each reading is compared with the one before."""

    def __init__(self) -> None:
        self._before: tuple[float, tuple[GpuReading, ...]] | None = None

    async def collect(
        self, node: Node, wanted: Wanted, log: KernelLog | Missing, use: GpuSnapshot | Missing
    ) -> GpuHealth | Missing:
        """Read all; the first time what changes before; not from a driver that hung just before."""
        before, self._before = self._before, None
        asked = await _driver(node, wanted, log, use)
        if not isinstance(asked, Driver):
            return asked
        stuck = {} if isinstance(use, Missing) else use.stuck
        refused = await asked.go_on_without(stuck)
        if refused is not None:
            return refused
        if before is None or node.monotonic() - before[0] > LONGEST_S:
            first = await _brief(asked, node)
            if isinstance(first, GpuHealth | Missing):
                return first
            before = first
        return await self._compared(asked, node, wanted, before)

    async def _compared(
        self,
        asked: Driver,
        node: Node,
        wanted: Wanted,
        before: tuple[float, tuple[GpuReading, ...]],
    ) -> GpuHealth | Missing:
        at, then = before
        await node.sleep(max(wanted.sample_s - (node.monotonic() - at), 0.0))
        watched_s = round(node.monotonic() - at, 1)
        now = await asked.ask(GpuHealth, "nvml_health", deadline_s=FIRST_S, brief=False)
        if isinstance(now, Missing):
            return now
        self._before = (at + watched_s, now.gpus)
        return msgspec.structs.replace(
            now,
            before=then,
            watched_s=watched_s,
            held_back=asked.held_back,
            stuck=asked.stuck,
        )


async def _driver(
    node: Node, wanted: Wanted, log: KernelLog | Missing, use: GpuSnapshot | Missing
) -> Driver | GpuHealth | Missing:
    """Return the driver to ask, or what there is to tell without asking it."""
    if isinstance(use, GpuSnapshot):
        asked = await driver(node, wanted, log, loaded=True) if use.loaded else None
    else:
        asked = await driver(node, wanted, log)
        if isinstance(asked, Driver) and use.cause is Cause.TIMEOUT:
            return use
    return GpuHealth(loaded=False) if asked is None else asked


async def _brief(
    asked: Driver, node: Node
) -> tuple[float, tuple[GpuReading, ...]] | GpuHealth | Missing:
    """Return when what changes was read, and what; an answer without GPUs is all there is."""
    first = await asked.ask(GpuHealth, "nvml_health", deadline_s=FIRST_S, brief=True)
    if isinstance(first, Missing) or not first.gpus:
        return first
    return node.monotonic(), first.gpus


async def collect(
    node: Node, wanted: Wanted, log: KernelLog | Missing, use: GpuSnapshot | Missing
) -> GpuHealth | Missing:
    """Read what changes, and *sample_s* later all; not from a driver that hung just before."""
    return await Looking().collect(node, wanted, log, use)
