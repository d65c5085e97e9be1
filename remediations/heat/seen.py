"""What one sample says of one GPU, or of the node, as `throttle` takes it."""

from collections.abc import Sequence

import msgspec

from collectors.gpu.health import GpuReading
from collectors.gpu.health_parts import Heat, Power
from remediations.heat import causes, lease
from remediations.heat.throttle import Bmc, Held, Seen

# Outside of these a margin is no measurement.
COLDEST_C, HOTTEST_C = -60.0, 130.0
# The node as a whole is stepped in tenths of what it drew when it began.
WHOLE, LEAST = 1_000, 600


def margin_c(heat: Heat) -> float | None:
    """Return the C that are left until the driver slows the GPU down; None where it says nothing.

    Where no margin is told, it is counted to the highest temperature that the GPU is made for.
    """
    margin: int | None = heat.margin_c
    if margin is None and heat.gpu_c is not None:
        most = heat.gpu_max_c or heat.slowdown_c
        margin = most - heat.gpu_c if most else None
    believed = margin is not None and COLDEST_C <= margin <= HOTTEST_C
    return margin if believed else None


def slowed_ns(gpu: GpuReading) -> int | None:
    """Return the time spent in thermal slowdown, by software and hardware."""
    counts = (gpu.clocks.software_thermal_ns, gpu.clocks.hardware_thermal_ns)
    told = [count for count in counts if count is not None]
    return sum(told) if told else None


def base_mw(power: Power, standing: int | None) -> int | None:
    """Return the limit that the GPU has where nobody holds it down."""
    if power.default_limit_mw is None or power.min_limit_mw is None:
        return power.default_limit_mw
    return lease.base(power.default_limit_mw, power.min_limit_mw, standing)


def of_gpu(
    at_s: float,
    gpu: GpuReading,
    held: Held | None,
    bmc: Bmc,
    *,
    supply_lost: bool,
    standing: int | None = None,
) -> Seen:
    """Return what is known of one GPU; *standing* is the limit in mW that its site keeps on it."""
    return Seen(
        at_s=at_s,
        margin_c=margin_c(gpu.heat),
        slowed_ns=slowed_ns(gpu),
        limit=gpu.power.limit_mw,
        default=base_mw(gpu.power, standing),
        least=gpu.power.min_limit_mw,
        held=held,
        bmc=bmc,
        braked=causes.braked(gpu),
        supply_lost=supply_lost,
    )


def by_clocks(said: Seen, gpu: GpuReading) -> Seen:
    """Return the same where its clocks are held instead, in MHz: nobody tells to what."""
    most = gpu.clocks.max_graphics_mhz
    limit = said.held.limit if said.held else most
    return msgspec.structs.replace(said, limit=limit, default=most, least=0)


def of_node(at_s: float, gpus: Sequence[Seen], held: Held | None, bmc: Bmc, lost: bool) -> Seen:  # noqa: FBT001 - as the sample says it
    """Return what is known of the node: its hottest GPU, and a limit in thousandths."""
    margins = [gpu.margin_c for gpu in gpus if gpu.margin_c is not None]
    counts = [gpu.slowed_ns for gpu in gpus if gpu.slowed_ns is not None]
    return Seen(
        at_s=at_s,
        # One GPU whose driver says nothing hides the hottest one.
        margin_c=min(margins) if margins and len(margins) == len(gpus) else None,
        slowed_ns=sum(counts) if counts else None,
        limit=held.limit if held else WHOLE,
        default=WHOLE,
        least=LEAST,
        held=held,
        bmc=bmc,
        braked=any(gpu.braked for gpu in gpus),
        supply_lost=lost,
    )
