"""What one sample says of a GPU, and of the node."""

import pytest

from collectors.gpu.health import GpuReading
from collectors.gpu.health_parts import Clocks, Heat, Power
from remediations.heat import seen
from remediations.heat.throttle import Held


@pytest.mark.parametrize(
    ("heat", "margin"),
    [
        (Heat(margin_c=-2, gpu_c=70, gpu_max_c=80), -2),
        (Heat(gpu_c=86, gpu_max_c=85, slowdown_c=89), -1),
        (Heat(gpu_c=86, slowdown_c=89), 3),
        (Heat(gpu_c=86), None),
        (Heat(), None),
        (Heat(margin_c=-100), None),
        (Heat(gpu_c=0, gpu_max_c=200), None),
    ],
)
def test_the_margin(heat: Heat, margin: int | None) -> None:
    """The driver's own, else to the highest temperature that it is made for; nonsense is none."""
    assert margin == seen.margin_c(heat)


def test_a_gpu() -> None:
    """Both kinds of thermal slowdown are counted together; limits are the driver's."""
    gpu = GpuReading(
        index=0,
        heat=Heat(margin_c=4),
        power=Power(limit_mw=630_000, default_limit_mw=700_000, min_limit_mw=200_000),
        clocks=Clocks(reasons=0x80, software_thermal_ns=5, hardware_thermal_ns=7),
    )
    told = seen.of_gpu(9.0, gpu, None, "cool", supply_lost=True)

    expected = (4, 12, 630_000, 700_000, 200_000, True, True)
    assert expected == (
        told.margin_c,
        told.slowed_ns,
        told.limit,
        told.default,
        told.least,
        told.braked,
        told.supply_lost,
    )


@pytest.mark.parametrize(("least", "expected"), [(200_000, 600_000), (None, 700_000)])
def test_a_limit_that_the_site_keeps(least: int | None, expected: int) -> None:
    """It takes the place of the default where the driver tells what the GPU can have."""
    power = Power(limit_mw=600_000, default_limit_mw=700_000, min_limit_mw=least)
    gpu = GpuReading(index=0, power=power)
    told = seen.of_gpu(9.0, gpu, None, "none", supply_lost=False, standing=600_000)

    assert expected == told.default


def test_the_node_is_its_hottest_gpu() -> None:
    """The smallest margin counts, and where one GPU says nothing none does."""
    gpus = [
        seen.of_gpu(
            1.0, GpuReading(index=0, heat=Heat(margin_c=margin)), None, "none", supply_lost=False
        )
        for margin in (12, 3)
    ]
    silent = seen.of_gpu(1.0, GpuReading(index=2), None, "none", supply_lost=False)
    node = seen.of_node(1.0, gpus, None, "none", False)  # noqa: FBT003 - as the product calls it
    hidden = seen.of_node(1.0, [*gpus, silent], None, "none", False)  # noqa: FBT003 - same

    assert (3, None) == (node.margin_c, hidden.margin_c)


def test_the_node_in_steps() -> None:
    """Without a cap the node's limit is whole; with one it is the cap's."""
    held = Held(limit=800, before=1000, stepped_s_ago=3.0)
    limits = [seen.of_node(1.0, [], one, "none", False).limit for one in (None, held)]  # noqa: FBT003 - as the product calls it

    assert [1000, 800] == limits
