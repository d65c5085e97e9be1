"""The GPUs as `gpudiag status --watch` and Prometheus show them: one row each."""

import msgspec

from collectors.facts.observation import Missing
from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.nvml import Gpu, GpuSnapshot
from collectors.host.holders import GpuHolders, Holder

MOST_GPUS = 64


class GpuRow(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; None is "not reported". `margin_c` is how far it is from slowing down of itself.

    `uids` and `jobs` are those of the processes that have it open.
    """

    index: int
    pci: str | None = None
    name: str | None = None
    used_bytes: int | None = None
    total_bytes: int | None = None
    utilisation_percent: int | None = None
    temperature_c: int | None = None
    margin_c: int | None = None
    power_w: float | None = None
    jobs: tuple[str, ...] = ()
    uids: tuple[int, ...] = ()


def rows(
    snapshot: GpuSnapshot | Missing, health: GpuHealth | Missing, holders: GpuHolders | Missing
) -> tuple[GpuRow, ...]:
    """Return one row for each GPU of the newest snapshot."""
    if isinstance(snapshot, Missing):
        return ()
    known = {} if isinstance(health, Missing) else {gpu.pci: gpu for gpu in health.answering()}
    held = () if isinstance(holders, Missing) else holders.holders
    return tuple(
        _row(gpu, known.get(gpu.pci), [h for h in held if gpu.minor in h.minors])
        for gpu in snapshot.gpus[:MOST_GPUS]
    )


def _row(gpu: Gpu, health: GpuReading | None, holders: list[Holder]) -> GpuRow:
    draw = health.power.draw_mw if health else None
    return GpuRow(
        index=gpu.index,
        pci=gpu.pci,
        name=gpu.name,
        used_bytes=gpu.memory_used_bytes,
        total_bytes=gpu.memory_total_bytes,
        utilisation_percent=gpu.utilisation_percent,
        temperature_c=health.heat.gpu_c if health else None,
        margin_c=_margin(health) if health else None,
        power_w=None if draw is None else draw / 1000,
        jobs=tuple(sorted({h.job for h in holders if h.job is not None})),
        uids=tuple(sorted({h.uid for h in holders if h.uid is not None})),
    )


def _margin(health: GpuReading) -> int | None:
    """Return the driver's own margin, or what an older one's limits leave."""
    heat = health.heat
    if heat.margin_c is not None:
        return heat.margin_c
    if heat.gpu_c is None or heat.slowdown_c is None:
        return None
    return heat.slowdown_c - heat.gpu_c
