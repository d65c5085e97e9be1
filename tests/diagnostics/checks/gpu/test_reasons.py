"""Clock event reasons: each bit alone has one meaning, and no two checks tell of the same bit."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.gpu.health import GpuHealth, GpuReading
from collectors.gpu.health_parts import Clocks, Heat, Power
from diagnostics.checks.gpu import clocks, heat, power

TOLD = {
    0x8: {("gpu_clock_low", "warning")},
    0x20: {("gpu_thermal_throttle", "warning")},
    0x40: {("gpu_thermal_throttle", "critical")},
    0x80: {("gpu_power_brake", "critical")},
}


def reading(reasons: int) -> GpuReading:
    """Return a cool, busy GPU with these reasons."""
    return GpuReading(
        index=0,
        pci="0000:4e:00.0",
        utilisation_percent=100,
        heat=Heat(gpu_c=61, margin_c=26),
        power=Power(limit_mw=700_000, default_limit_mw=700_000),
        clocks=Clocks(sm_mhz=1755, max_sm_mhz=1980, reasons=reasons),
    )


def told(before: int, now: int) -> set[tuple[str, str]]:
    """Return (fault, severity) of all three checks."""
    health = GpuHealth(before=(reading(before),), gpus=(reading(now),), watched_s=1.0, count=1)
    results = [check.run({GpuHealth: health}) for check in (heat.heat, power.power, clocks.clocks)]
    return {(f.fault, f.severity) for result in results for f in result.findings}


@given(st.integers(0, 40).map(lambda bit: 1 << bit))
def test_each_bit_alone(bit: int) -> None:
    """Heat, brake and hardware slowdown are told; idle, power cap and what is unknown are not."""
    assert TOLD.get(bit, set()) == told(bit, bit)


@given(st.integers(0, 0xFFFF))
def test_a_bit_of_one_reading_alone_is_not_told(reasons: int) -> None:
    """What was there a second ago and is gone, or came just now, may be a moment's."""
    assert set() == told(reasons, 0) | told(0, reasons)


@given(st.integers(0, 0xFFFF))
def test_the_parent_bit_is_told_with_its_child_alone(reasons: int) -> None:
    """Bit 0x8 stands beside 0x40 and 0x80: then these say why, and 0x8 says nothing more."""
    both = reasons | 0x8
    expected = set() if both & (0x20 | 0x40 | 0x80) else {("gpu_clock_low", "warning")}
    assert expected == {one for one in told(both, both) if one[0] == "gpu_clock_low"}
